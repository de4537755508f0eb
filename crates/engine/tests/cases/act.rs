//! Runs the command that one line of a test script gives, and shows its answer as text.

use std::collections::BTreeMap;

use engine::agent::Origin;
use engine::command::{Register, Target};
use engine::task::{BlockKind, Status};
use engine::{Caller, Command, Reply};

use crate::bench::{Bench, Words};
use crate::show;
use crate::verbs::{command, many};

pub(crate) fn act(bench: &mut Bench, who: &str, mut words: Words) -> Result<String, String> {
    let verb = words.word("a verb")?;
    if verb == "try" {
        return try_all(bench, who, words);
    }
    if verb == "register" {
        return register(bench, who, words);
    }
    let caller = bench.caller(who, &mut words)?;
    let bound = words.named("as");
    let command = match command(bench, &verb, &mut words)? {
        Ok(command) => command,
        Err(refusal) => return Ok(show::refusal(bench, &refusal)),
    };
    words.done()?;
    let answer = bench.execute(&caller, &command)?;
    if let Ok(reply) = &answer {
        bind(bench, &command, reply, bound.as_deref());
    }
    Ok(show::answer(bench, &command, &answer))
}

/// Registers an agent under the name that the script gives it: `a register`, or `a@c1 register role=pm` over the
/// connection `c1`.
fn register(bench: &mut Bench, who: &str, mut words: Words) -> Result<String, String> {
    let (name, connection) = who.split_once('@').map_or((who, String::new()), |(name, at)| (name, format!("@{at}")));
    let caller = bench.caller(&connection, &mut words)?;
    let origin = Origin { conversation: words.named("in"), part: None, call: words.named("call") };
    let caller = Caller { origin, ..caller };
    let command = Command::Register(Register {
        name: words.named("name").unwrap_or_else(|| name.to_owned()),
        runtime: words.named("runtime").unwrap_or_else(|| "custom".to_owned()),
        role: words.named("role"),
        slug: words.named("slug"),
        capabilities: words.list("can").iter().flat_map(|text| many(text)).collect(),
        workflow: words.named("workflow").map(|name| bench.workflow(&name)),
        workspace_path: words.named("path"),
        metadata: words.json("metadata"),
    });
    words.done()?;
    let answer = bench.execute(&caller, &command)?;
    if let Ok(Reply::Registered { agent, resumed: false, .. }) = &answer {
        bench.bind("ag", name, agent);
    }
    Ok(show::answer(bench, &command, &answer))
}

/// Tries to move a task to each of the eight statuses, and discards the effect of each try. Shows the allowed moves,
/// then the refused moves with their codes.
fn try_all(bench: &mut Bench, who: &str, mut words: Words) -> Result<String, String> {
    let task = words.word("a task")?;
    let task = bench.task(&task);
    let attempt = words.number("attempt")?;
    let caller = bench.caller(who, &mut words)?;
    words.done()?;
    let before = (bench.tables.clone(), bench.log.len());
    let mut allowed = Vec::new();
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for status in Status::ALL {
        let to = target(*status, Some("text".to_owned()), BlockKind::SpecGap);
        match bench.execute(&caller, &Command::Move { task, attempt, to })? {
            Ok(Reply::Moved { status: found }) if found == *status => allowed.push(status.to_string()),
            Ok(other) => allowed.push(format!("{status} ({other:?})")),
            Err(refusal) => refused.entry(refusal.code()).or_default().push(status.as_str()),
        }
        bench.tables = before.0.clone();
        bench.log.truncate(before.1);
    }
    let refused = refused.iter().map(|(code, to)| format!("{code} {}", to.join(" ")));
    let may = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(" ") };
    Ok(std::iter::once(may).chain(refused).collect::<Vec<_>>().join(" | "))
}

pub(crate) fn target(status: Status, text: Option<String>, kind: BlockKind) -> Target {
    match status {
        Status::Pending => Target::Pending { reason: text },
        Status::Planning => Target::Planning,
        Status::InProgress => Target::InProgress { answer: text },
        Status::Paused => Target::Paused { reason: text },
        Status::Blocked => Target::Blocked { kind, reason: text.unwrap_or_default(), role: None },
        Status::Failed => Target::Failed { error: text, detail: None },
        Status::Completed => Target::Completed { outcome: text, detail: None, delivery: None },
        Status::Skipped => Target::Skipped { reason: text },
    }
}

/// Remembers the ids in a reply under the short names that the test script uses for them.
fn bind(bench: &mut Bench, command: &Command, reply: &Reply, bound: Option<&str>) {
    match (command, reply) {
        (Command::CreateWorkflow(create), Reply::WorkflowCreated { workflow, .. }) => {
            bench.bind("wf", bound.unwrap_or(&create.name), workflow);
        }
        (_, Reply::ListOpened { workflow, .. }) => bench.bind("wf", "Tasks", workflow),
        // Read the tasks from the state in memory, because the reply has at most one page of the plan's tasks, or no
        // tasks at all.
        (Command::Replan { workflow, .. } | Command::StagePlan { workflow, .. }, _)
        | (_, Reply::PlanSet { workflow, .. }) => {
            let of = bench.tables.tasks.values().filter(|task| task.workflow == *workflow);
            let found: Vec<_> = of.map(|task| (task.name.clone(), task.id)).collect();
            found.iter().for_each(|(name, id)| bench.bind("tk", name, id));
        }
        (Command::AddTask { task, .. }, Reply::TaskAdded { task: id, .. }) => bench.bind("tk", &task.name, id),
        (Command::CreateWorkspace(create), Reply::WorkspaceCreated { workspace }) => {
            bench.bind("ws", bound.unwrap_or(&create.branch), workspace);
        }
        (Command::RegisterRepository { path, .. }, Reply::RepositoryRegistered { repository })
        | (Command::AttachRepository { path, .. }, Reply::RepositoryAttached { repository, .. }) => {
            bench.bind("rp", path, repository);
        }
        (Command::CreateTemplate { name, .. }, Reply::TemplateCreated { template }) => {
            bench.bind("tmpl", bound.unwrap_or(name), template);
        }
        (_, _) => {}
    }
}
