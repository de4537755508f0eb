//! The verbs (command words) of test scripts that show the state and change nothing.

use engine::approval::ApprovalState;
use engine::inbox::{MailboxOwner, MessageState};
use engine::list::{SpentQuery, TokenQuery, Whose};
use engine::offer::{self, OfferQuery};
use engine::task::{Task, TaskState};
use engine::token::AccessTokenKind;
use engine::world::{CheckpointNeed, InboxNeed, PutOffNeed, TaskIdNeed};
use engine::{TypedQuestion, World};

use crate::bench::{Bench, Words};
use crate::show::{list, named, time};

const VIEWS: [&str; 15] = [
    "conditions",
    "delivery",
    "numbers",
    "state",
    "detail",
    "offers",
    "inbox",
    "checkpoints",
    "holds",
    "log",
    "fill",
    "review",
    "tokens",
    "put_offs",
    "spent",
];

pub(crate) fn is_view(word: &str) -> bool {
    VIEWS.contains(&word)
}

pub(crate) fn view(bench: &mut Bench, what: &str, words: &mut Words) -> Result<String, String> {
    if what == "log" {
        return Ok(log(bench));
    }
    if what == "conditions" {
        let rows = ask(bench, &engine::list::ConditionQuery { limit: 500 });
        let shown = rows.iter().map(|row| {
            let (since, updated) = (time(row.since), time(row.updated));
            format!(
                "{} {}: {} {} since {since}, updated {updated}",
                row.kind,
                row.subject,
                row.title,
                row.detail.as_str()
            )
        });
        return Ok(or_none(shown.collect::<Vec<_>>().join("; ")));
    }
    if what == "numbers" {
        return Ok(numbers(bench));
    }
    if what == "tokens" {
        return Ok(tokens(bench));
    }
    if what == "put_offs" {
        let rows = ask(bench, &PutOffNeed);
        let shown = rows.iter().map(|row| format!("{} until {} by {}", row.item, time(row.until), row.by));
        return Ok(or_none(shown.collect::<Vec<_>>().join("; ")));
    }
    let name = words.word("a name")?;
    let text = match what {
        "state" => state(bench, &name)?,
        "detail" => detail(bench, &name),
        "delivery" => delivery(bench, &name),
        "offers" => offers(bench, &name, words)?,
        "inbox" => inbox(bench, &name, words.flag("all")),
        "checkpoints" => checkpoints(bench, &name),
        "fill" => fill(bench, &name, words),
        "review" => review(bench, &name)?,
        "spent" => spent(bench, &name),
        _ => {
            let agent = bench.agent(&name);
            list(&ask(bench, &TaskIdNeed::HeldBy(agent)))
        }
    };
    words.done()?;
    Ok(named(bench, &text))
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

/// Returns the cost of a task's turns: dollars, tokens, tokens in and tokens out. An unknown number is shown as `?`.
fn spent(bench: &mut Bench, name: &str) -> String {
    let task = bench.task(name);
    let spent = ask(bench, &SpentQuery(Whose::Task(task)));
    let number = |amount: Option<u64>| amount.map_or("?".to_owned(), |amount| amount.to_string());
    let [usd, all, read, written] = [spent.usd_micros, spent.tokens, spent.tokens_in, spent.tokens_out].map(number);
    let apart = if spent.tokens_apart().is_some() { "apart" } else { "not apart" };
    format!("{usd} micros, {all} tokens, {read} in, {written} out, {apart}, {} turns", spent.turns)
}

fn ask<Q: TypedQuestion<Answer: Clone>>(bench: &Bench, question: &Q) -> Q::Answer {
    let mut world = World::default();
    bench.tables.answer(&question.need(), &mut world);
    let Ok(answer) = world.ask(question) else { panic!("the tables did not answer {:?}", question.need()) };
    answer.clone()
}

/// Shows the state of the work of a task, or of a whole workflow, in git.
fn delivery(bench: &mut Bench, name: &str) -> String {
    if let Some(workflow) = bench.known("wf", name).and_then(|id| id.parse().ok()) {
        let found = bench.tables.workflow_deliveries.get(&workflow);
        return found.map_or("none".to_owned(), |row| crate::deliveries::state(&row.state));
    }
    let task = bench.task(name);
    bench.tables.deliveries.get(&task).map_or("none".to_owned(), crate::deliveries::shown)
}

/// Shows the numbers of all tasks, and the last number that was given to a task.
fn numbers(bench: &Bench) -> String {
    let mut tasks: Vec<&Task> = bench.tables.tasks.values().collect();
    tasks.sort_by_key(|task| task.number);
    let shown: Vec<String> = tasks.iter().map(|task| format!("{} {}", task.number, task.name)).collect();
    format!("{}; last {}", list(&shown), bench.tables.last_task_number)
}

/// Shows a review and its findings as one line of text.
fn review(bench: &Bench, name: &str) -> Result<String, String> {
    let id = bench.known("review", name).and_then(|id| id.parse().ok()).ok_or("no such review")?;
    let found = bench.read(|world| engine::view::review(world, id))?;
    let finding = |row: &engine::review::Finding| {
        let told =
            row.decided().and_then(|decided| decided.told).map_or(String::new(), |round| format!(" told {round}"));
        format!("{} {}{told}", row.name, row.status())
    };
    let findings = found.findings.iter().map(finding).collect::<Vec<_>>().join(", ");
    let findings = if findings.is_empty() { findings } else { format!(": {findings}") };
    let row = &found.review;
    Ok(format!("{}, {} rounds, {} open{findings}", row.status, row.rounds, row.open))
}

/// Shows the state of the task, workflow, agent, workspace or approval that has this short name in the script.
fn state(bench: &mut Bench, name: &str) -> Result<String, String> {
    let id = |kind| bench.known(kind, name);
    if let Some(task) = id("tk").and_then(|id| bench.tables.tasks.get(&id.parse().ok()?)) {
        return Ok(task_state(task));
    }
    if let Some(found) = id("wf").and_then(|id| bench.tables.workflows.get(&id.parse().ok()?)) {
        let mut parts = vec![found.status.to_string(), format!("{} tasks, {} open", found.tasks, found.open)];
        parts.extend(found.standing.then(|| "standing".to_owned()));
        parts.extend(found.archived.then(|| "archived".to_owned()));
        parts.extend(found.branch.as_ref().map(|branch| format!("on {branch}")));
        parts.extend(found.parallel_max.map(|limit| format!("limit {limit}")));
        let lock = found.lock.as_ref().filter(|lock| lock.until > bench.now);
        parts.extend(lock.map(|lock| format!("locked by {} until {}", lock.owner, time(lock.until))));
        let detail = bench.tables.workflow_details.get(&found.id).cloned().unwrap_or_default();
        parts.extend(detail.config.map(|config| format!("config {}", config.as_str())));
        return Ok(parts.join(", "));
    }
    if let Some(found) = id("ag").and_then(|id| bench.tables.agents.get(&id.parse().ok()?)) {
        let busy = !ask(bench, &TaskIdNeed::HeldBy(found.id)).is_empty();
        let presence = format!("{:?}", found.presence(busy, &[], bench.now)).to_lowercase();
        let mut parts = vec![presence, format!("slug {}", found.slug), format!("role {}", found.role)];
        parts.push(format!("seen {}", time(found.seen)));
        parts.extend(found.session.map(|session| format!("on {session}")));
        parts.extend(found.left.map(|left| format!("left {}", time(left))));
        parts.extend(found.metadata.as_ref().map(|metadata| format!("metadata {}", metadata.as_str())));
        return Ok(parts.join(", "));
    }
    if let Some(found) = id("ws").and_then(|id| bench.tables.workspaces.get(&id.parse().ok()?)) {
        let mut parts = vec![found.status.to_string(), format!("branch {}", found.branch)];
        parts.extend(found.merge_commit.as_ref().map(|commit| format!("commit {commit}")));
        parts.extend(found.pr_url.as_ref().map(|url| format!("pr {url}")));
        parts.extend(found.config.as_ref().map(|config| format!("config {}", config.as_str())));
        return Ok(parts.join(", "));
    }
    if let Some(found) = id("ap").and_then(|id| bench.tables.approvals.get(&id.parse().ok()?)) {
        return Ok(approval_state(&found.state));
    }
    Err(format!("nothing is named {name}"))
}

fn approval_state(state: &ApprovalState) -> String {
    let status = state.status();
    let because = |reason: Option<&str>| reason.map_or(String::new(), |reason| format!(": {reason}"));
    match state {
        ApprovalState::Pending { until } => format!("{status} until {}", time(*until)),
        ApprovalState::Approved { until, .. } => until.map_or_else(
            || format!("{status} until its turn goes on"),
            |until| format!("{status} until {}", time(until)),
        ),
        ApprovalState::Rejected { by, reason, .. } => format!("{status} by {by}{}", because(Some(reason))),
        ApprovalState::Revoked { by, reason, .. } => format!("{status} by {by}{}", because(reason.as_deref())),
        ApprovalState::Consumed { by, at, given } => {
            let given = given.map_or_else(String::new, |(by, at)| format!(", given by {by} at {}", time(at)));
            format!("{status} by {by} at {}{given}", time(*at))
        }
        ApprovalState::Expired { at } => format!("{status} at {}", time(*at)),
    }
}

fn task_state(task: &Task) -> String {
    let mut parts = vec![task.status().to_string()];
    match &task.state {
        TaskState::Pending { .. } | TaskState::Planning { .. } | TaskState::InProgress { .. } => {}
        TaskState::Paused { reason, .. } => parts.extend(reason.clone()),
        TaskState::Blocked(block) => {
            parts.push(format!("{} by {} for {}: {}", block.kind, block.by, block.role, block.reason))
        }
        TaskState::Failed { by, error: text }
        | TaskState::Completed { by, outcome: text }
        | TaskState::Skipped { by, reason: text } => {
            parts.push(format!("by {by}: {text}"));
        }
    }
    if let Some(lease) = task.state.lease() {
        let until = task.state.running_lease().map_or("the answer".to_owned(), |lease| time(lease.until));
        parts.push(format!("held by {} until {until}", lease.agent));
    }
    parts.push(format!("attempt {}", task.attempt));
    parts.extend((task.crashes > 0).then(|| format!("crashes {}", task.crashes)));
    parts.extend((task.unmet > 0).then(|| format!("waits for {}", task.unmet)));
    parts.extend(task.workspace.map(|place| format!("in {place}")));
    parts.join(", ")
}

fn detail(bench: &mut Bench, name: &str) -> String {
    let task = bench.task(name);
    let detail = bench.tables.details.get(&task).cloned().unwrap_or_default();
    let fields = [("plan", detail.plan), ("context", detail.context), ("outcome_detail", detail.outcome_detail)];
    let shown = fields.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?.as_str())));
    let from = (!detail.context_from.is_empty()).then(|| format!("context from {}", list(&detail.context_from)));
    list(&shown.chain(from).collect::<Vec<_>>())
}

fn offers(bench: &mut Bench, name: &str, words: &mut Words) -> Result<String, String> {
    let after = words.named("after").map(|name| bench.task(&name)).and_then(|id| bench.tables.tasks.get(&id));
    let after = after.map(|task| (task.priority.get(), task.sequence, task.id));
    let ask = OfferQuery {
        workflow: bench.workflow(name),
        agent: words.named("for").map(|name| bench.agent(&name)),
        include_failed: words.flag("failed"),
        after,
        limit: words.number("limit")?.unwrap_or(50),
    };
    let page = match bench.read(|world| offer::next(world, &ask, bench.now)) {
        Ok(page) => page,
        Err(refused) => return Ok(refused),
    };
    let mut text = list(&page.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>());
    if let Some((_, _, id)) = page.next {
        text.push_str(&format!(", more after {id}"));
    }
    if page.limit_reached {
        text.push_str(", limit reached");
    }
    Ok(text)
}

fn inbox(bench: &mut Bench, name: &str, all: bool) -> String {
    let owner = if name == "human" { MailboxOwner::Human } else { MailboxOwner::Agent(bench.agent(name)) };
    let messages = ask(bench, &InboxNeed { owner, unread: !all, after: 0, limit: 500 });
    let mut shown = Vec::new();
    for message in messages {
        let name = bench.numbered("msg", "m", &message.id);
        let state = match message.state {
            MessageState::Unread => "",
            MessageState::Read { .. } => " (read)",
            MessageState::Archived { .. } => " (archived)",
        };
        let (draft, from) = (&message.draft, message.from);
        let subject = draft.subject.as_ref().map(|text| format!("{text}: ")).unwrap_or_default();
        let (number, priority) = (message.sequence, draft.priority.get());
        shown.push(format!("{name} {number} p{priority} {} {from} \"{subject}{}\"{state}", draft.kind, draft.body));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join("; ") }
}

fn checkpoints(bench: &mut Bench, name: &str) -> String {
    let task = bench.task(name);
    let found = ask(bench, &CheckpointNeed { task, after: 0, limit: 500 });
    let shown: Vec<_> = found
        .iter()
        .map(|found| format!("{} {} by {}: {}", found.sequence, found.note.kind, found.by, found.note.summary))
        .collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join("; ") }
}

/// Shows the tasks of a template after its variables are replaced by the values in the script line.
fn fill(bench: &mut Bench, name: &str, words: &mut Words) -> String {
    let id = bench.template(name);
    let Some(template) = bench.tables.templates.get(&id) else {
        return "none".to_owned();
    };
    let pairs = words.list("with");
    let values = pairs.iter().filter_map(|pair| pair.split_once(':')).map(|(k, v)| (k.to_owned(), v.to_owned()));
    match template.body.fill(&values.collect()) {
        Ok(tasks) => {
            list(&tasks.iter().map(|task| format!("{}<{}>", task.name, task.depends_on.join(" "))).collect::<Vec<_>>())
        }
        Err(refusal) => crate::show::refusal(bench, &refusal),
    }
}

/// Shows the events that were logged since the script's last `log` line, grouped by topic (log).
fn log(bench: &mut Bench) -> String {
    let mut shown: Vec<String> = Vec::new();
    let entries = std::mem::take(&mut bench.log);
    for topic in entries.chunk_by(|one, other| one.0 == other.0) {
        let names: Vec<&str> = topic.iter().map(|(_, name)| name.as_str()).collect();
        shown.extend(topic.first().map(|(topic, _)| format!("{topic}: {}", names.join(" "))));
    }
    let text = if shown.is_empty() { "nothing".to_owned() } else { shown.join("; ") };
    named(bench, &text)
}

/// Returns all tokens: the number of each, its name, its kind, and when a browser's key was last used.
fn tokens(bench: &mut Bench) -> String {
    let rows = ask(bench, &TokenQuery { revoked: true, after: None, limit: 500 });
    let shown = rows.iter().map(|row| {
        let kind = match row.kind {
            AccessTokenKind::Secret => "secret".to_owned(),
            AccessTokenKind::EnrolmentCode => "code".to_owned(),
            AccessTokenKind::BrowserKey { used } => format!("key used {}", time(used)),
        };
        let revoked = if row.revoked.is_some() { ", revoked" } else { "" };
        format!("{} {}: {kind}{revoked}", bench.numbered("tok", "token", &row.id), row.name)
    });
    let shown = shown.collect::<Vec<_>>().join("; ");
    if shown.is_empty() { "none".to_owned() } else { shown }
}
