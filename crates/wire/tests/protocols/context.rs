//! Tests the reply of `task_load_context`: it never costs more tokens than the caller allows, and it lists every piece
//! that is missing.

use engine::Actor;
use std::path::Path;

use engine::checkpoint::Kind;
use engine::command::Note;
use engine::context::ContextFacts;
use engine::id::Ids;
use engine::task::TaskState;
use wire::context::{MAX_TOKENS_DEFAULT, MAX_TOKENS_MIN, fit, rows_wanted};
use wire::json::{Value, object, parse};
use wire::lifecycle::{Include, Within};
use wire::tokens::estimate;

use crate::facts;
use crate::tokens::real;
use chance::SeededRandom;

fn nothing_said() -> Include {
    Include {
        workflow_plan: None,
        workflow_summary: None,
        prior_task_outcomes: None,
        prior_task_full: None,
        sibling_status: None,
        dependency_outcomes: None,
        all_checkpoints: None,
        recent_checkpoints: None,
        extra: Vec::new(),
    }
}

fn any_include(chance: &mut SeededRandom) -> Option<Include> {
    let said = |chance: &mut SeededRandom| [None, Some(true), Some(false)][chance.below(3)];
    let include = Include {
        workflow_plan: said(chance),
        workflow_summary: said(chance),
        prior_task_outcomes: said(chance),
        prior_task_full: said(chance),
        sibling_status: said(chance),
        dependency_outcomes: said(chance),
        all_checkpoints: said(chance),
        recent_checkpoints: [None, Some(0), Some(1), Some(20), Some(1_000)][chance.below(5)].map(Within),
        extra: Vec::new(),
    };
    (chance.below(4) > 0).then_some(include)
}

/// Returns the names of the parts that the reply of `task_load_context` lists as cut.
fn cut(reply: &Value) -> Vec<String> {
    let entries = reply.get("cut").and_then(Value::as_list).unwrap_or_default();
    let parts = entries.iter().map(|entry| entry.get("part").unwrap().as_text().unwrap());
    parts.flat_map(|part| part.split(", ").map(str::to_owned)).collect()
}

fn at<'v>(reply: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(reply, |value, name| value.get(name).unwrap_or(&Value::Null))
}

fn said(value: &Value) -> u64 {
    let Value::Number(number) = value else { panic!("{value} is no number") };
    number.as_u64().unwrap()
}

fn below(chance: &mut SeededRandom, bound: usize) -> u32 {
    u32::try_from(chance.below(bound)).unwrap()
}

/// Builds a reply of `task_load_context` and checks the properties that every reply must have, such as the token limit.
/// Returns the reply.
fn hold(facts: &ContextFacts, include: Option<&Include>, max_tokens: u32) -> Value {
    let reply = fit(facts, include, max_tokens);
    let text = reply.to_string();
    assert_eq!(text, fit(facts, include, max_tokens).to_string(), "the same facts give the same bytes");
    let all = estimate(&text);
    let max = usize::try_from(max_tokens).unwrap();
    assert!(all <= max, "{all} of {max_tokens}");
    assert!(real(&text) <= max, "{} of {max_tokens}, estimated {all}", real(&text));
    assert_eq!(at(&reply, &["token_estimate"]).to_string(), all.to_string());
    assert_eq!(parse(&text).unwrap().to_value(), reply);
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    assert_eq!(at(&reply, &["current_task", "id"]), &Value::from(facts.task.id.to_string()));
    every_cut_is_listed(facts, &reply);
    newest_is_there(facts, &reply);
    reply
}

fn newest_is_there(facts: &ContextFacts, reply: &Value) {
    let Some(newest) = facts.checkpoints.last() else { return };
    let last = at(reply, &["current_task", "checkpoints"]).as_list().unwrap().last().unwrap().to_string();
    let words: Vec<&str> = newest.note.summary.split_whitespace().take(1).collect();
    let begins = words.first().map_or(String::new(), |word| word.chars().take(3).collect());
    let begins = Value::from(begins.as_str()).to_string();
    assert!(last.contains(begins.trim_matches('"')), "{begins} in {last}");
}

fn every_cut_is_listed(facts: &ContextFacts, reply: &Value) {
    let cut = cut(reply);
    let text = reply.to_string();
    let listed = |part: &str| cut.iter().any(|known| known == part);
    let task = at(reply, &["current_task"]);
    let kept = |name: &str, whole: Option<Value>| {
        let path = format!("current_task.{name}");
        let whole = whole.unwrap_or(Value::Null);
        let same =
            task.get(name).is_some_and(|found| *found == whole) || (whole == Value::Null && task.get(name).is_none());
        assert_ne!(same, listed(&path), "{path}, listed {cut:?}");
    };
    kept("name", Some(facts.task.name.as_str().into()));
    kept("description", facts.detail.description.as_deref().map(Value::from));
    kept("blocked_by", (!facts.blocked_by.is_empty()).then(|| facts.blocked_by.clone().into()));
    kept("touches", (!facts.task.touches.is_empty()).then(|| facts.task.touches.clone().into()));
    if let Some(workflow) = reply.get("workflow") {
        let whole = Value::from(facts.workflow_detail.source_content.as_str());
        assert_ne!(workflow.get("source_summary") == Some(&whole), listed("workflow.source_summary"));
    }
    let shown = at(task, &["checkpoints"]).as_list().unwrap().len();
    let missing = usize::try_from(facts.task.checkpoints).unwrap() - shown;
    assert_eq!(missing > 0, listed("checkpoints"));
    assert_eq!(task.get("earlier_checkpoints").map_or(0, said), u64::try_from(missing).unwrap());
    for (name, tasks, more) in [
        ("prior_tasks", facts.prior.len(), facts.prior_more),
        ("sibling_tasks", facts.siblings.len(), facts.siblings_more),
        ("dependency_outcomes", facts.dependencies.len(), facts.dependencies_more),
    ] {
        if let Some(list) = reply.get(name).and_then(Value::as_list) {
            assert_eq!(list.len() < tasks || more > 0, listed(name), "{name}");
        }
    }
    if cut.is_empty() {
        assert!(!text.contains("characters]\""), "cut without a word");
    }
}

#[test]
fn any_facts_fit_any_budget() {
    for seed in 0..50 {
        let chance = &mut SeededRandom::new(seed);
        let facts = facts::any(chance);
        for _ in 0..2 {
            let include = any_include(chance);
            let max_tokens = match chance.below(4) {
                0 => MAX_TOKENS_MIN + below(chance, 100),
                1 => MAX_TOKENS_MIN + below(chance, 3_000),
                2 => MAX_TOKENS_DEFAULT,
                _ => MAX_TOKENS_MIN + below(chance, 100_000),
            };
            let held = std::panic::catch_unwind(|| hold(&facts, include.as_ref(), max_tokens));
            assert!(held.is_ok(), "seed {seed}, {max_tokens} tokens, {include:?}");
        }
    }
}

#[test]
fn nothing_is_cut_when_everything_fits() {
    for seed in 0..25 {
        let chance = &mut SeededRandom::new(seed);
        let mut facts = facts::any(chance);
        facts.task.checkpoints = u32::try_from(facts.checkpoints.len()).unwrap();
        (facts.prior_more, facts.siblings_more, facts.dependencies_more) = (0, 0, 0);
        let include = any_include(chance);
        let whole = fit(&facts, include.as_ref(), u32::MAX);
        assert_eq!(cut(&whole), Vec::<String>::new(), "seed {seed}");
        let needed = u32::try_from(said(at(&whole, &["token_estimate"]))).unwrap();
        if needed >= MAX_TOKENS_MIN {
            assert_eq!(fit(&facts, include.as_ref(), needed), whole, "seed {seed}: exactly enough is enough");
            assert_ne!(cut(&fit(&facts, include.as_ref(), needed - 1)), Vec::<String>::new(), "seed {seed}");
        }
    }
}

#[test]
fn a_budget_is_used_while_something_is_cut() {
    let mut worst = (1.0, 0, 0);
    for seed in 0..40 {
        let chance = &mut SeededRandom::new(seed);
        let facts = facts::any(chance);
        let max_tokens = 1_000 + below(chance, 20_000);
        let reply = fit(&facts, None, max_tokens);
        let whole = u32::try_from(said(at(&fit(&facts, None, u32::MAX), &["token_estimate"]))).unwrap();
        let used = said(at(&reply, &["token_estimate"])) as f64 / f64::from(max_tokens.min(whole));
        if used < worst.0 {
            worst = (used, seed, max_tokens);
        }
    }
    assert!(worst.0 > 0.8, "{worst:?}");
}

#[test]
fn a_long_history_keeps_its_newest_end() {
    let mut facts = facts::plain(1);
    let detail =
        || object([("reason", "the provider changed its callback and the old one answers with an error".into())]);
    facts::record(
        &mut facts,
        (1..=100).map(|number| Note {
            kind: Kind::Progress,
            summary: format!("Step {number}: moved one more handler to the new session store and ran its tests"),
            detail: Some(facts::json(&detail())),
            files: vec![format!("src/auth/handler_{number}.ts")],
        }),
    );
    let reply = hold(&facts, None, 2_000);
    let shown = at(&reply, &["current_task", "checkpoints"]).as_list().unwrap();
    let shape = |value: &Value| match value {
        Value::Object(members) if members.len() == 9 => 'F',
        Value::Object(_) => 's',
        Value::Text(_) => '-',
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) => '?',
    };
    let shapes: String = shown.iter().map(shape).collect();
    assert!(shapes.ends_with("FFFFF"), "{shapes}");
    assert_eq!(shapes.trim_start_matches('-').trim_start_matches('s'), "FFFFF", "{shapes}");
    assert!(shapes.starts_with("--"), "{shapes}");
    let whole = hold(&facts, None, MAX_TOKENS_DEFAULT);
    assert_eq!(cut(&whole), Vec::<String>::new(), "a hundred summaries and five details fit the default");

    let mut all = nothing_said();
    all.all_checkpoints = Some(true);
    let reply = hold(&facts, Some(&all), MAX_TOKENS_DEFAULT);
    let shown = at(&reply, &["current_task", "checkpoints"]).as_list().unwrap();
    let detailed = shown.iter().filter(|row| row.get("detail").is_some()).count();
    assert!(shown.len() == 100 && detailed > 40, "{} shown, {detailed} with detail", shown.len());
}

#[test]
fn a_long_history_is_quick() {
    let mut facts = facts::plain(1);
    facts::record(&mut facts, (0..2_000).map(|_| Note::plain(Kind::Progress, "word ".repeat(400))));
    let mut all = nothing_said();
    all.all_checkpoints = Some(true);
    hold(&facts, Some(&all), 100_000);
    hold(&facts, None, MAX_TOKENS_MIN);
}

/// Compares a reply of `task_load_context` with the file `name` in `fixtures/context`. With `UPDATE=1`, writes the
/// reply to the file first.
fn reads_like(name: &str, reply: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/context").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, reply.pretty()).unwrap();
    }
    assert_eq!(reply.pretty(), std::fs::read_to_string(&file).unwrap(), "{name}; run this test with UPDATE=1");
}

#[test]
fn a_context_reads_like_this() {
    let mut facts = facts::plain(5);
    let ids = &mut Ids::new(9);
    let done = |text: &str| TaskState::Completed { by: Actor::Runner, outcome: text.to_owned() };
    let first = facts::task(ids, facts.workflow.id, "Session store", done("Sessions live in the database"));
    facts.dependencies = vec![first.clone()];
    facts.prior = vec![engine::context::Prior { task: first, outcome_detail: None }];
    facts.task.touches = vec!["src/auth/**".to_owned()];
    facts.detail.description = Some("Handle the callback and make a session.".to_owned());
    facts.detail.plan = Some(facts::json(&object([("approach", "one handler".into()), ("budget", 1_u64.into())])));
    let note = Note {
        kind: Kind::Decision,
        summary: "Signed cookies, no server-side state".to_owned(),
        detail: Some(facts::json(&object([("reason", "the API has no affinity".into())]))),
        files: vec!["src/auth/cookie.ts".to_owned()],
    };
    facts::record(&mut facts, [Note::plain(Kind::Plan, "Read the provider's documentation"), note]);
    let mut one = nothing_said();
    (one.recent_checkpoints, one.sibling_status) = (Some(Within(1)), Some(false));
    let reply = hold(&facts, Some(&one), MAX_TOKENS_DEFAULT);
    reads_like("whole.json", &reply);

    facts.detail.description = Some("All about the callback. ".repeat(4_000));
    facts.prior_more = 12;
    facts::record(&mut facts, (0..60).map(|_| Note::plain(Kind::Progress, "Another provider, another test")));
    reads_like("cut.json", &hold(&facts, None, 1_000));
    reads_like("least.json", &hold(&facts, None, MAX_TOKENS_MIN));
}

#[test]
fn parts_are_given_as_asked() {
    let facts = facts::plain(3);
    let has = |include: Include, name: &str| fit(&facts, Some(&include), MAX_TOKENS_DEFAULT).get(name).is_some();
    let workflow = |plan, summary| {
        let include = Include { workflow_plan: plan, workflow_summary: summary, ..nothing_said() };
        let reply = fit(&facts, Some(&include), MAX_TOKENS_DEFAULT);
        (reply.get("workflow").is_some(), at(&reply, &["workflow", "plan_summary"]) != &Value::Null)
    };
    assert_eq!(workflow(None, None), (true, true));
    assert_eq!(workflow(Some(true), Some(false)), (true, true));
    assert_eq!(workflow(Some(false), Some(true)), (true, false));
    assert_eq!(workflow(Some(false), None), (false, false));
    assert_eq!(workflow(None, Some(false)), (false, false));
    assert!(has(nothing_said(), "prior_tasks") && has(nothing_said(), "dependency_outcomes"));
    assert!(!has(Include { prior_task_outcomes: Some(false), ..nothing_said() }, "prior_tasks"));
    assert!(!has(Include { dependency_outcomes: Some(false), ..nothing_said() }, "dependency_outcomes"));
    assert!(!has(nothing_said(), "sibling_tasks"), "a task without a group has none");
}

#[test]
fn rows_are_bounded() {
    let all = Include { all_checkpoints: Some(true), ..nothing_said() };
    let many = Include { recent_checkpoints: Some(Within(1_000)), ..nothing_said() };
    assert_eq!(rows_wanted(None, MAX_TOKENS_DEFAULT), 100);
    assert_eq!(rows_wanted(None, MAX_TOKENS_MIN), 50);
    assert_eq!(rows_wanted(Some(&all), MAX_TOKENS_DEFAULT), 800);
    assert_eq!(rows_wanted(Some(&all), 1_000_000), 2_000);
    assert_eq!(rows_wanted(Some(&many), 1_000_000), 1_000);
}
