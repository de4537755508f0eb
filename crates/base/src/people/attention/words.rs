//! Writes the texts of the items that need a person: title, detail and commands. Secrets and hidden characters in texts
//! of agents are not shown.

use engine::Timestamp;
use wire::visible::decided;

use super::cause::{ApprovalWish, AttentionCause, RestingAgent};
use super::{AttentionAct, AttentionFact, AttentionItem, TITLE_CHARS_MAX, TaskLabel};
use crate::ground::local_time::LocalClock;
use crate::ground::words::{self, CostKnowledge, count};

/// The maximum number of characters of a program's text, such as the last line of a check. The rest is cut.
const PART_CHARS_MAX: usize = 120;
/// The separator between the parts of the line below an item's title.
const BETWEEN: &str = " · ";

/// The texts and commands of one item that needs a person.
struct ItemWords {
    title: String,
    headline: String,
    detail: String,
    note: Option<String>,
    acts: Vec<AttentionAct>,
}

impl ItemWords {
    fn new(title: String, detail: Vec<Option<String>>, acts: Vec<AttentionAct>) -> Self {
        let detail = detail.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(BETWEEN);
        Self { headline: title.clone(), title, detail, note: None, acts }
    }

    fn headline(self, headline: String) -> Self {
        Self { headline, ..self }
    }
}

pub(super) fn item(fact: &AttentionFact, clock: &LocalClock) -> AttentionItem {
    let words = words_of(fact, clock);
    let kind = fact.cause.kind();
    AttentionItem {
        name: super::identity::item_name(fact),
        kind,
        title: cut(&words.title, TITLE_CHARS_MAX),
        headline: cut(&words.headline, TITLE_CHARS_MAX),
        note: words.note.unwrap_or_else(|| words.detail.clone()),
        detail: words.detail,
        acts: words.acts,
        task: fact.task.clone(),
        subject: super::AttentionSubject::of(&fact.cause),
        since: fact.since,
        behind: fact.behind,
        stops_agents: kind.stops_agents(),
        put_off_until: fact.put_off_until,
    }
}

#[expect(clippy::too_many_lines, reason = "one match with the words of every kind")]
fn words_of(fact: &AttentionFact, clock: &LocalClock) -> ItemWords {
    let name = fact.task.as_ref().map(|task| decided(&task.name)).unwrap_or_default();
    let number = fact.task.as_ref().map(|task| task.number.to_string()).unwrap_or_default();
    let named = format!("{number} {name}").trim().to_owned();
    let task = fact.task.as_ref();
    match &fact.cause {
        AttentionCause::Approval { .. } => approval(fact, &named),
        AttentionCause::Question { agent, text, message } => {
            let behind = behind(fact.behind, "behind it");
            let waits = [Some(format!("waits {}", words::age(fact.since, clock.now()))), behind];
            let waits = waits.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let command = task.map_or_else(
                || format!("handover inbox reply {message} \"...\""),
                |task| format!("handover answer {} \"...\"", task.number),
            );
            let title = format!("{agent} asks: {}", decided(text));
            let note = self::behind(fact.behind, "behind it").map(|_| effect(fact.behind));
            let words = ItemWords::new(title, vec![Some(named), Some(waits)], vec![act("answer", command)]);
            ItemWords { note: Some(note.unwrap_or_default()), ..words }
        }
        AttentionCause::AgentRests { agent, waiting } => {
            let waiting = (*waiting > 0).then(|| format!("{} for it", verb(*waiting, "task", "wait")));
            let said = part(&agent.said).map(|said| format!("it said: \"{said}\""));
            ItemWords::new(rests(agent), vec![waiting, said], vec![act("retry", "handover run")])
        }
        AttentionCause::SetupFailed { command, how, last_line } => {
            let last = part(last_line).map(|line| format!("last line: \"{line}\""));
            let title = format!("Setup failed: `{}` {how}", decided(command));
            let effect = Some("nothing can start until it works".to_owned());
            ItemWords::new(title, vec![effect, last], vec![act("retry", "handover run")])
        }
        AttentionCause::SettingsChanged { changes, commit } => {
            let noun = if changes.iter().all(|change| change.starts_with("+ ")) { "new command" } else { "change" };
            let title = format!("Settings changed: {} to accept", count(changes.len(), noun));
            let commit = commit.as_ref().map(|commit| format!(" (commit {commit})")).unwrap_or_default();
            let first = changes.first().map(|first| format!("`{}`{commit}", cut(&decided(first), PART_CHARS_MAX)));
            let more = (changes.len() > 1).then(|| format!("and {} more", changes.len() - 1));
            ItemWords::new(title, vec![first, more], vec![act("show", "handover trust")])
        }
        AttentionCause::CheckFailed { failures, check, last_line, agent, tries } => {
            let kept = agent.as_ref().map(|agent| format!("{agent}'s {} kept", count(*tries, "try")));
            let times = times(*failures);
            let words = ItemWords::new(
                format!("Check failed {times}: {named}"),
                vec![part(check), part(last_line), kept],
                acts(task, &["logs", "send-back", "take", "drop"]),
            );
            words.headline(format!("check failed {times}: {name}"))
        }
        AttentionCause::Conflict { path, other, agent, tries } => {
            let tried = agent.as_ref().map(|agent| format!("{agent} tried {}", times(*tries)));
            let title = format!("cannot be merged: conflict in {}", decided(path));
            let words = ItemWords::new(
                format!("{number} {title}"),
                vec![other.clone(), tried],
                acts(task, &["logs", "send-back", "drop"]),
            );
            words.headline(title)
        }
        AttentionCause::NoChanges { said, agent, tries, usd_micros } => {
            let cost = words::cost(*usd_micros, CostKnowledge::Complete);
            let who = agent.as_ref().map(|agent| format!("{agent}, {}, {cost}", count(*tries, "try")));
            let title = format!("changed no file: \"{}\"", decided(said));
            let acts = acts(task, &["logs", "send-back", "take", "drop"]);
            ItemWords::new(format!("{number} {title}"), vec![who], acts).headline(title)
        }
        AttentionCause::TipFailed { command, branch, merged } => {
            let since = count(merged.len(), "merge");
            let title = format!("`{}` fails on {} since {since}", decided(command), decided(branch));
            let names = format!("merged since the last good tip: {}", decided(&merged.join(", ")));
            ItemWords::new(title, vec![Some(names)], vec![make_pass(command)])
        }
        AttentionCause::CheckChanged { approval, scripts } => {
            let title = format!("changed its own check: {}", decided(scripts));
            let detail = Some("the result counts once you have seen the difference".to_owned());
            let show = act("show", format!("handover approval show {approval}"));
            let acts = std::iter::once(show).chain(acts(task, &["approve", "reject"])).collect();
            ItemWords::new(format!("{number} {title}"), vec![detail], acts).headline(title)
        }
        AttentionCause::Budget { limit, turns, files } => {
            let files = files.map(|files| format!("has {}", count(files, "changed file")));
            let detail = vec![Some(decided(limit)), Some(count(*turns, "turn")), files];
            let words =
                ItemWords::new(format!("Stopped at the limit: {named}"), detail, acts(task, &["logs", "take", "drop"]));
            words.headline(format!("stopped at the limit: {name}"))
        }
        AttentionCause::Stuck { why } => {
            let since = clock.short(fact.since).map(|since| format!("ready since {since}"));
            ItemWords::new(format!("{number} {why}"), vec![since], acts(task, &["drop"])).headline(why.clone())
        }
        AttentionCause::Blocked { agent, reason, kind } => {
            let who = agent.as_deref().map_or_else(|| "The task".to_owned(), str::to_owned);
            let title = format!("{who} is blocked: \"{}\"", decided(reason));
            let kind = Some(format!("kind: {}", kind.replace('_', " ")));
            ItemWords::new(title, vec![Some(named), kind], acts(task, &["send-back", "drop"]))
        }
        AttentionCause::Failed { crashes, error } => {
            let how = if *crashes > 0 { format!("Crashed {}", times(*crashes)) } else { "Failed".to_owned() };
            let last = part(error).map(|error| format!("last words: \"{error}\""));
            let words = ItemWords::new(format!("{how}: {named}"), vec![last], acts(task, &["retry", "logs", "drop"]));
            words.headline(format!("{}: {name}", how.to_lowercase()))
        }
        AttentionCause::Finding { review, open, reviewer, blocking } => {
            let place = |name: &str| if name.is_empty() { String::new() } else { format!(" in {name}") };
            let findings = format!("{} to decide", count(*open, "finding"));
            let blocking = blocking.map(|blocking| format!(", {blocking} blocking")).unwrap_or_default();
            let show = act("show", format!("handover review show {review}"));
            let title = format!("{findings}{}", place(&named));
            let words = ItemWords::new(title, vec![Some(format!("{}{blocking}", decided(reviewer)))], vec![show]);
            words.headline(format!("{findings}{}", place(&name)))
        }
        AttentionCause::Merge { .. } => merge(fact, (&named, &name)),
        AttentionCause::Baseline { command, branch, unchecked } => {
            let place = branch.as_ref().map_or_else(|| "before any change".to_owned(), |branch| format!("on {branch}"));
            let verb = if *unchecked == 1 { "is" } else { "are" };
            let effect =
                (*unchecked > 0).then(|| format!("{} {verb} unchecked because of it", count(*unchecked, "task")));
            let title = format!("`{}` already fails {place}", decided(command));
            ItemWords::new(title, vec![effect], vec![make_pass(command)])
        }
    }
}

fn approval(fact: &AttentionFact, named: &str) -> ItemWords {
    let AttentionCause::Approval { approval, agent, wish, folder, expires_in_ms } = &fact.cause else {
        return ItemWords::new(String::new(), Vec::new(), Vec::new());
    };
    let title = match (agent, wish) {
        (Some(agent), ApprovalWish::Run(command)) => format!("{agent} wants to run `{}`", decided(command)),
        (Some(agent), ApprovalWish::Act(text)) => format!("{agent} asks for approval: {}", decided(text)),
        (None, ApprovalWish::Run(text) | ApprovalWish::Act(text)) => format!("Your approval: {}", decided(text)),
    };
    let expires = expires_in_ms.map(|ms| format!("expires in {}", age(ms)));
    let of = (!named.is_empty()).then(|| format!("for {named}"));
    let folder = folder.as_ref().map(|folder| format!("in {}", decided(folder)));
    let read = act("read", format!("handover approval show {approval}"));
    let decide = [
        act("approve", format!("handover approve {approval}")),
        act("reject", format!("handover reject {approval} \"...\"")),
    ];
    ItemWords::new(title, vec![of, folder, expires], std::iter::once(read).chain(decide).collect())
}

fn merge(fact: &AttentionFact, (named, name): (&str, &str)) -> ItemWords {
    let AttentionCause::Merge { plan, agent, ms, usd_micros, result, check, size } = &fact.cause else {
        return ItemWords::new(String::new(), Vec::new(), Vec::new());
    };
    let plan = plan.as_ref().map(|plan| decided(plan));
    let (named, name) = plan.as_deref().map_or((named, name), |plan| (plan, plan));
    let cost = words::cost(*usd_micros, CostKnowledge::Complete);
    let who = agent.as_ref().map_or_else(|| cost.clone(), |agent| format!("{agent}, {}, {cost}", age(*ms)));
    let argument = match (&plan, &fact.task) {
        (Some(plan), _) => format!("\"{plan}\""),
        (None, Some(task)) => task.number.to_string(),
        (None, None) => String::new(),
    };
    let mut acts =
        vec![act("diff", format!("handover diff {argument}")), act("merge", format!("handover merge {argument}"))];
    // The work of a whole plan cannot be sent back. A person sends back the tasks of the plan instead.
    if plan.is_none() {
        acts.push(act("send_back", format!("handover send-back {argument} \"...\"")));
    }
    let title = format!("Ready: {named}{BETWEEN}{result}{BETWEEN}{size}");
    let words = ItemWords::new(title, vec![Some(who), Some(decided(check))], acts);
    // Shorten the name and not the result or the size, so that these two stay readable in a short line.
    let room = TITLE_CHARS_MAX.saturating_sub(format!("ready to merge: , {result}, {size}").chars().count());
    let headline = format!("ready to merge: {}, {result}, {size}", cut(name, room));
    ItemWords { note: Some(String::new()), ..words.headline(headline) }
}

fn rests(agent: &RestingAgent) -> String {
    let (slug, trouble) = (&agent.slug, &agent.trouble);
    if trouble.starts_with("not ") {
        format!("{slug} is {trouble}")
    } else if trouble.starts_with("no ") {
        format!("{slug} has {trouble}")
    } else {
        format!("{slug} rests: {trouble}")
    }
}

fn act(name: &'static str, command: impl Into<String>) -> AttentionAct {
    AttentionAct { name, command: command.into() }
}

fn make_pass(command: &str) -> AttentionAct {
    act("add", format!("handover add \"Make {} pass\"", decided(command).replace('"', "'")))
}

/// Returns the commands that a person can give about a task. A command that needs a text ends with `"..."` as a
/// placeholder.
fn acts(task: Option<&TaskLabel>, verbs: &[&'static str]) -> Vec<AttentionAct> {
    let Some(task) = task else { return Vec::new() };
    let command = |verb: &&'static str| {
        let text = if matches!(*verb, "send-back" | "take" | "reject") { " \"...\"" } else { "" };
        let name = if *verb == "send-back" { "send_back" } else { verb };
        act(name, format!("handover {verb} {}{text}", task.number))
    };
    verbs.iter().map(command).collect()
}

/// Returns the number of tasks that wait, as a part of a sentence: `2 tasks behind it`.
fn behind(tasks: u32, place: &str) -> Option<String> {
    (tasks > 0).then(|| format!("{} {place}", count(tasks, "task")))
}

/// Returns a sentence that says how many tasks wait for this task: `2 tasks wait behind it.`
fn effect(tasks: u32) -> String {
    format!("{} behind it.", verb(tasks, "task", "wait"))
}

fn verb(number: u32, noun: &str, verb: &str) -> String {
    format!("{} {verb}{}", count(number, noun), if number == 1 { "s" } else { "" })
}

fn times(number: u32) -> String {
    match number {
        0 | 1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

fn age(ms: u64) -> String {
    words::age(Timestamp(0), Timestamp(i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// Returns the first line of a program's text, cut to `PART_CHARS_MAX` characters. Returns `None` for an empty text.
fn part(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut(&decided(line), PART_CHARS_MAX))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
