//! Random plans and texts, with the values that a database might store wrongly.

use std::collections::BTreeMap;

use engine::Json;
use engine::id::{Ids, WorkflowId};
use engine::plan::{Plan, PlanPiece, PlanPlace, PlanTask};
use engine::tables::Tables;
use engine::task::Priority;
use engine::time::Timestamp;

use super::chance::Chance;

pub(super) const ROLES: [&str; 4] = ["worker", "infra", "pm", "ba"];
pub(super) const SKILLS: [&str; 3] = ["rust", "sql", "Ä\"ö"];
const GLOBS: [&str; 6] = ["src/**", "src/a.rs", "src/b/*.rs", "docs/{a,b}.md", "docs/a.md", "*.toml"];

/// Returns a random text, mostly a plain one. Some texts are difficult to quote, encode or sort, and the engine's rules
/// refuse a few of them.
pub(super) fn text(chance: &mut Chance) -> String {
    match chance.below(24) {
        0 => "O'Brien said \"no\"; -- $1 \\ %s".to_owned(),
        1 => "zwölf Boxkämpfer 日本 🦀 e\u{301}".to_owned(),
        2 => "line one\nline two\r\n\ttab \u{1} \u{7f}".to_owned(),
        3 => "x".repeat(9_000),
        4 => "  ".to_owned(),
        5 => "zero \0 byte".to_owned(),
        6 => "null".to_owned(),
        _ => format!("text {}", chance.below(5)),
    }
}

pub(super) fn maybe_text(chance: &mut Chance) -> Option<String> {
    chance.percent(85).then(|| text(chance))
}

pub(super) fn json(chance: &mut Chance) -> Json {
    let value = match chance.below(6) {
        0 => serde_json::json!({ "b": 1, "a": [1.5, -7, 1e30, null, true], "ü": "\u{1f980}\u{0}" }),
        1 => serde_json::json!([]),
        2 => serde_json::json!("just text"),
        3 => serde_json::json!({ "nested": { "deep": [{ "x": text(chance) }] } }),
        _ => serde_json::json!({ format!("key {}", chance.below(4)): chance.below(1_000) }),
    };
    Json::from(&value)
}

pub(super) fn maybe_json(chance: &mut Chance) -> Option<Json> {
    chance.percent(25).then(|| json(chance))
}

/// Returns a random task that may depend on any task of `earlier`.
pub(super) fn task(chance: &mut Chance, name: String, earlier: &[String], tables: &Tables) -> PlanTask {
    let mut task = PlanTask::named(name);
    for _ in 0..chance.below(3) {
        // The loop may add the same dependency twice. The engine must count it once.
        task.depends_on.extend(chance.pick(earlier));
    }
    if chance.percent(15) {
        task.context_from.extend(chance.pick(earlier));
    }
    task.priority = Priority::try_from(u8::try_from(chance.between(1, 3)).unwrap_or(2)).unwrap_or(Priority::DEFAULT);
    task.role = chance.percent(20).then(|| chance.word_of(&ROLES));
    task.capabilities = if chance.percent(20) { vec![chance.word_of(&SKILLS)] } else { Vec::new() };
    task.touches = if chance.percent(30) { vec![chance.word_of(&GLOBS)] } else { Vec::new() };
    task.group = chance.percent(20).then(|| "group".to_owned());
    task.attempts_max = chance.between(1, 3);
    task.verify = chance.percent(15);
    task.review = chance.percent(10);
    task.gate = chance.percent(10);
    task.repository = if chance.percent(10) { chance.key(&tables.repositories) } else { None };
    if chance.percent(30) {
        task.description = maybe_text(chance);
        task.brief = maybe_json(chance);
        task.context = maybe_json(chance);
        task.extra = maybe_json(chance);
    }
    task
}

/// Returns the tasks of a random plan. A few plans have a cycle of dependencies, so the engine's rules refuse them.
pub(super) fn tasks(chance: &mut Chance, prefix: &str, tables: &Tables) -> Vec<PlanTask> {
    let mut names: Vec<String> = Vec::new();
    let mut tasks_made = Vec::new();
    for number in 0..chance.between(1, 9) {
        let name = format!("{prefix}{number}");
        tasks_made.push(task(chance, name.clone(), &names, tables));
        names.push(name);
    }
    if chance.percent(3)
        && let (Some(first), Some(last)) = (tasks_made.first_mut(), names.last())
    {
        first.depends_on.push(last.clone());
    }
    tasks_made
}

/// Returns the database rows of a plan, or `None` when the rules refuse the plan. The service checks a whole plan
/// before it sends a part of it to the store, so a refused plan never reaches a store.
pub(super) fn rows(tasks: Vec<PlanTask>, workflow: WorkflowId, now: Timestamp, seed: u128) -> Option<PlanPiece> {
    let place = PlanPlace { workflow, sequence: 0, now, existing: &BTreeMap::new() };
    Plan::whole(tasks).ok()?.lay_out(&place, &mut Ids::new(seed)).ok()
}
