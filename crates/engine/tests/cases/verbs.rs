//! The verbs (command words) of test scripts, one function per subject. Each function turns the words of a line into a
//! command.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::checkpoint::Kind;
use engine::command::{Course, CreateWorkflow, CreateWorkspace, Note, SessionEnd, Target, UpdateWorkspace};
use engine::condition::ConditionKind;
use engine::id::Ids;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::plan::{Plan, PlanPiece, PlanPlace};
use engine::task::{BlockKind, Priority, Status};
use engine::template::TemplateBody;
use engine::time::Millis;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;
use engine::{Command, Json, Refusal};

use crate::act::target;
use crate::bench::{Bench, Words};
use crate::plans;

/// Reads a command from the words of a script line. The inner result is a refusal when the plan in the line has
/// mistakes, so that no command can be made from it.
pub(crate) fn command(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Result<Command, Refusal>, String> {
    if let Some(status) = Status::parse(verb) {
        return Ok(Ok(moving(bench, status, words)?));
    }
    match verb {
        "plan" | "stage" | "commit" | "begin" | "clear" | "add" | "remove" | "replan" | "template" => {
            planning(bench, verb, words)
        }
        "heartbeat" | "update" | "unregister" | "renew" | "close" | "kill" => agent(bench, verb, words).map(Ok),
        "condition" | "uncondition" => {
            let kind = ConditionKind::parse(&words.word("a kind")?).ok_or("no such kind of condition")?;
            let subject = words.word("a subject")?;
            if verb == "uncondition" {
                return Ok(Ok(Command::ClearCondition { kind, subject }));
            }
            let detail = words.json("detail").unwrap_or_else(|| Json::from_stored("{}".to_owned()));
            Ok(Ok(Command::SetCondition { kind, subject, title: words.word("a title")?, detail }))
        }
        "open_list" => Ok(Ok(Command::OpenList)),
        "take_branch" => {
            let name = words.word("a workflow")?;
            Ok(Ok(Command::TakeBranch { workflow: bench.workflow(&name), branch: words.word("a branch")? }))
        }
        "put_away" | "bring_back" => {
            let name = words.word("a workflow")?;
            Ok(Ok(Command::ArchiveWorkflow { workflow: bench.workflow(&name), archived: verb == "put_away" }))
        }
        "workflow" | "status" | "steer" | "parallel" | "config" | "lock" | "unlock" | "attach" | "detach" | "sweep"
        | "forget" => workflow(bench, verb, words).map(Ok),
        "claim" | "next" | "release" | "crash" | "regain" | "taskplan" | "taskreplan" | "checkpoint" => {
            task(bench, verb, words).map(Ok)
        }
        "repository" | "workspace" | "place" | "assign" | "untemplate" => place(bench, verb, words).map(Ok),
        "token" | "revoke" => token(bench, verb, words).map(Ok),
        "offer" | "enrol" | "use" => browser(verb, words).map(Ok),
        "hear" | "over" | "sendback" | "goeson" | "gate" => crate::conversations::command(bench, verb, words).map(Ok),
        "turn" | "ended" | "verified" | "runner" | "gone" | "section" | "ask" | "approve" | "reject"
        | "revoke_approval" | "consume" | "expire" | "see" | "take" | "settle" | "tell" | "untell" | "put_off"
        | "show_item" => crate::turns::command(bench, verb, words).map(Ok),
        "send_back" | "take_as_is" | "merge" | "drop" | "wait_again" | "deliver" => {
            crate::deliveries::command(bench, verb, words).map(Ok)
        }
        "review" | "round" | "answered" | "fails" | "decide" => crate::reviews::command(bench, verb, words).map(Ok),
        "send" | "broadcast" | "answer" | "read" | "archive" => message(bench, verb, words).map(Ok),
        other => Err(format!("no verb {other}")),
    }
}

fn agent(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    Ok(match verb {
        "heartbeat" => Command::Heartbeat { current_task: words.maybe().map(|name| bench.task(&name)) },
        "update" => Command::UpdateAgent { workspace_path: words.named("path"), metadata: words.json("metadata") },
        "unregister" => Command::Unregister,
        "renew" => Command::Renew,
        other => {
            let session = words.word("a connection")?;
            let end = if other == "kill" { SessionEnd::Killed } else { SessionEnd::Closed };
            Command::CloseSession { session: bench.session(&session), end }
        }
    })
}

/// Reads a command about tokens. Scripts name tokens by their number: `token1` is the first token that was created.
fn token(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let name = words.word("a name")?;
    if verb == "revoke" {
        let token = bench.known("tok", &name).and_then(|id| id.parse().ok()).unwrap_or(engine::id::TokenId::LAST);
        return Ok(Command::RevokeToken { token });
    }
    let scope = words.named("scope").unwrap_or_else(|| "agent".to_owned());
    Ok(Command::CreateToken {
        hash: words.named("hash").unwrap_or_else(|| name.clone()),
        scope: engine::token::Scope::parse(&scope).ok_or("no such scope")?,
        agent: words.named("agent").map(|agent| bench.agent(&agent)),
        name,
    })
}

/// Reads a command about the codes and keys of browsers. The hash of a code or of a key is its name in the script.
fn browser(verb: &str, words: &mut Words) -> Result<Command, String> {
    let first = words.word("a code or a key")?;
    Ok(match verb {
        "offer" => Command::OfferCode { hash: first },
        "use" => Command::UseBrowserKey { key: first },
        _ => Command::EnrolBrowser { code: first, key: words.word("a key")?, name: words.word("a name")? },
    })
}

fn moving(bench: &mut Bench, status: Status, words: &mut Words) -> Result<Command, String> {
    let task = words.word("a task")?;
    let (task, attempt) = (bench.task(&task), words.number("attempt")?);
    let (given, asked_role) = (words.json("detail"), words.named("role"));
    let kind = if status == Status::Blocked { words.word("a kind")? } else { "spec_gap".to_owned() };
    let kind = BlockKind::parse(&kind).ok_or("no such kind of obstacle")?;
    let mut to = target(status, words.maybe(), kind);
    if let Target::Completed { detail, .. } | Target::Failed { detail, .. } = &mut to {
        *detail = given;
    }
    if let Target::Completed { delivery, .. } = &mut to {
        *delivery = crate::deliveries::report(words)?.map(Box::new);
    }
    if let Target::Blocked { role, .. } = &mut to {
        *role = asked_role;
    }
    Ok(Command::Move { task, attempt, to })
}

fn task(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let name = words.word("a task")?;
    let attempt = words.number("attempt")?;
    Ok(match verb {
        "claim" => Command::Claim { task: bench.task(&name) },
        "next" => Command::ClaimNext { workflow: bench.workflow(&name), include_failed: words.flag("failed") },
        "crash" => {
            let attempt = attempt.ok_or("which attempt")?;
            Command::Crash { task: bench.task(&name), attempt, reason: words.word("a reason")? }
        }
        "regain" => Command::Regain { task: bench.task(&name), attempt: attempt.ok_or("which attempt")? },
        "release" => Command::Release { task: bench.task(&name), attempt, reason: words.maybe() },
        "taskplan" => {
            let plan = Json::from_stored(words.word("a plan")?);
            Command::SetTaskPlan { task: bench.task(&name), attempt, plan, context: words.json("context") }
        }
        "taskreplan" => {
            let (reason, plan) = (words.word("a reason")?, Json::from_stored(words.word("a plan")?));
            Command::ReplanTask { task: bench.task(&name), attempt, reason, plan }
        }
        _ => {
            let kind = Kind::parse(&words.word("a kind")?).ok_or("no such kind of checkpoint")?;
            let (summary, detail) = (words.word("a summary")?, words.json("detail"));
            let files = words.list("files").iter().flat_map(|text| many(text)).collect();
            Command::AddCheckpoint { task: bench.task(&name), attempt, note: Note { kind, summary, detail, files } }
        }
    })
}

/// Expands `x*3` to a list that has the text `x` three times.
pub(crate) fn many(text: &str) -> Vec<String> {
    let split = text.split_once('*').and_then(|(text, times)| Some((text, times.parse::<usize>().ok()?)));
    split.map_or_else(|| vec![text.to_owned()], |(text, times)| vec![text.to_owned(); times])
}

fn workflow(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    if verb == "forget" {
        return Ok(Command::ForgetKeys);
    }
    let name = words.word("a workflow")?;
    if verb == "workflow" {
        return Ok(Command::CreateWorkflow(CreateWorkflow {
            name,
            source_type: words.named("source").unwrap_or_else(|| "prompt".to_owned()),
            source_ref: words.named("ref"),
            source_content: words.named("content").unwrap_or_default(),
            parallel_max: words.number("limit")?,
            lease_ms: words.number("lease")?.map(Millis),
            auto_workspaces: words.flag("auto"),
            config: words.json("config"),
            repositories: words.named("repository").into_iter().collect(),
        }));
    }
    let workflow = bench.workflow(&name);
    Ok(match verb {
        "status" => {
            let status = WorkflowStatus::parse(&words.word("a status")?).ok_or("no such status")?;
            Command::SetWorkflowStatus { workflow, status, reason: words.maybe() }
        }
        "steer" => {
            let course = match words.word("a course")?.as_str() {
                "start" => Course::Start,
                "suspend" => Course::Suspend,
                "resume" => Course::Resume,
                other => return Err(format!("no course {other}")),
            };
            Command::Steer { workflow, course }
        }
        "parallel" => {
            let limit = words.word("a limit")?;
            let parallel_max = if limit == "none" { None } else { Some(limit.parse().map_err(|_| "no number")?) };
            Command::SetParallelism { workflow, parallel_max, auto_workspaces: words.flag("auto").then_some(true) }
        }
        "config" => Command::SetConfig { workflow, config: Json::from_stored(words.word("a value")?) },
        "lock" | "unlock" => {
            let owner = words.word("an owner")?;
            let owner = bench.lock_owner(&owner);
            if verb == "lock" {
                Command::LockWorkflow { workflow, owner }
            } else {
                Command::UnlockWorkflow { workflow, owner }
            }
        }
        "attach" => Command::AttachRepository { workflow, path: words.word("a path")? },
        "detach" => {
            let path = words.word("a path")?;
            Command::DetachRepository { workflow, repository: bench.repository(&path) }
        }
        _ => Command::Sweep { workflow },
    })
}

fn planning(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Result<Command, Refusal>, String> {
    let name = words.word("a name")?;
    let tasks = plans::tasks(bench, &words.tasks)?;
    if verb == "template" {
        let defaults = words.list("defaults");
        let pairs = defaults.iter().flat_map(|text| many(text)).enumerate().map(|(number, pair)| {
            let (name, value) = pair.split_once(':').unwrap_or((&pair, ""));
            (name.replace('#', &number.to_string()), value.to_owned())
        });
        let body = TemplateBody { tasks, defaults: pairs.collect(), settings: None };
        return Ok(Ok(Command::CreateTemplate { name, description: words.named("description"), body }));
    }
    let workflow = bench.workflow(&name);
    let summary = words.named("summary").unwrap_or_else(|| "a summary".to_owned());
    Ok(Ok(match verb {
        "plan" => match lay_out(bench, workflow, tasks) {
            Ok((piece, groups)) => Command::SetPlan { workflow, summary, piece: Arc::new(piece), groups },
            Err(refusal) => return Ok(Err(refusal)),
        },
        "begin" => Command::BeginPlan { workflow, token: words.word("a token")? },
        "clear" => Command::ClearDraft { workflow, token: words.word("a token")? },
        "stage" => match lay_out(bench, workflow, tasks) {
            Ok((piece, _)) => Command::StagePlan { workflow, token: words.word("a token")?, piece: Arc::new(piece) },
            Err(refusal) => return Ok(Err(refusal)),
        },
        "commit" => {
            let token = words.word("a token")?;
            let of: Vec<_> = bench.tables.tasks.values().filter(|task| task.workflow == workflow).collect();
            let task_ids: Vec<_> = of.iter().map(|task| (task.name.clone(), task.id)).collect();
            let tasks = u32::try_from(of.len()).unwrap_or(u32::MAX);
            Command::CommitPlan { workflow, token, summary, tasks, groups: Vec::new(), task_ids }
        }
        "add" => {
            let task = tasks.into_iter().next().ok_or("a task is missing")?;
            Command::AddTask { workflow, task: Box::new(task), after: words.named("behind") }
        }
        "remove" => {
            let task = words.word("a task")?;
            Command::RemoveTask { workflow, task: bench.task(&task) }
        }
        _ => Command::Replan { workflow, summary, reason: words.word("a reason")?, tasks },
    }))
}

/// Turns a plan into database rows, as a real caller does before it gives the command.
fn lay_out(
    bench: &mut Bench,
    workflow: engine::id::WorkflowId,
    tasks: Vec<engine::plan::PlanTask>,
) -> Result<(PlanPiece, Vec<String>), Refusal> {
    let staged = bench.tables.tasks.values().filter(|task| task.workflow == workflow).count();
    let sequence = u32::try_from(staged).unwrap_or(u32::MAX);
    let plan = Plan::whole(tasks)?;
    let groups = plan.groups();
    let place = PlanPlace { workflow, sequence, now: bench.now, existing: &BTreeMap::new() };
    let seed = bench.seed();
    Ok((plan.lay_out(&place, &mut Ids::new(seed))?, groups))
}

fn place(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let name = words.word("a name")?;
    Ok(match verb {
        "repository" => Command::RegisterRepository { path: name, name: words.named("name") },
        "workspace" => {
            let workflow = words.word("a workflow")?;
            let tasks = words.list("tasks").iter().flat_map(|text| many(text)).collect::<Vec<_>>();
            Command::CreateWorkspace(CreateWorkspace {
                workflow: bench.workflow(&workflow),
                path: words.named("path").unwrap_or_else(|| format!("/trees/{name}")),
                branch: name,
                base_branch: words.named("base"),
                repository_path: words.named("repository"),
                tasks: tasks.iter().map(|task| bench.task(task)).collect(),
                created_by_us: true,
            })
        }
        "place" => {
            let status = words.maybe().map(|text| WorkspaceStatus::parse(&text).ok_or("no such status")).transpose()?;
            Command::UpdateWorkspace(UpdateWorkspace {
                workspace: bench.workspace(&name),
                status,
                merge_commit: words.named("commit"),
                pr_url: words.named("pr"),
                config: words.json("config"),
                cleaned: None,
            })
        }
        "assign" => {
            let workspace = words.word("a workspace")?;
            Command::AssignWorkspace { task: bench.task(&name), workspace: bench.workspace(&workspace) }
        }
        _ => Command::RemoveTemplate { template: bench.template(&name) },
    })
}

fn message(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    if verb == "read" || verb == "archive" {
        let mut messages = Vec::new();
        while let Some(name) = words.maybe() {
            messages.extend(many(&name).iter().map(|name| bench.message(name)));
        }
        return Ok(if verb == "read" { Command::MarkRead { messages } } else { Command::Archive { messages } });
    }
    if verb == "answer" {
        let message = words.word("a message")?;
        return Ok(Command::Answer { message: bench.message(&message), text: words.word("a text")? });
    }
    let to = if verb == "send" {
        match words.word("a recipient")? {
            name if name == "human" => Recipients::One(MailboxOwner::Human),
            name => match name.strip_prefix('~') {
                Some(slug) => Recipients::Slug(slug.to_owned()),
                None => Recipients::One(MailboxOwner::Agent(bench.agent(&name))),
            },
        }
    } else {
        Recipients::All(RecipientMatch {
            role: words.named("role"),
            runtime: words.named("runtime"),
            workflow: words.named("workflow").map(|name| bench.workflow(&name)),
            include_silent: words.flag("silent"),
        })
    };
    let kind = MessageKind::parse(&words.word("a kind")?).ok_or("no such kind of message")?;
    let priority = words.number::<u8>("priority")?.map_or(Ok(Priority::DEFAULT), Priority::try_from)?;
    let mut draft = MessageDraft::text(kind, priority, words.word("a body")?);
    draft.subject = words.named("subject");
    draft.task = words.named("task").map(|name| bench.task(&name));
    draft.workflow = words.named("about").map(|name| bench.workflow(&name));
    draft.reply_to = words.named("reply").map(|name| bench.message(&name));
    Ok(Command::Send { to, draft })
}
