//! `handover worktree`: shows the worktrees in which agents work, and empties worktrees that no task uses.

use std::process::ExitCode;

use base::ground::words;
use clap::{Args, Subcommand};
use engine::Refusal;
use engine::id::TaskId;
use git::GitProblem;
use git::slot::{SlotInfo, SlotReset, SlotUse};
use handover::office::Office;
use runner::attempt::slot_owner::SlotOwner;
use wire::json::{Value, object};
use work::WorkSite;

use super::super::show::{plain, table};
use super::super::{say, say_json};
use super::site::work_site;

pub(in crate::cli) const COLUMNS: [&str; 5] = ["worktree", "status", "task", "since_at", "path"];

const RESET_HELP: &str = "\
The worktree is deleted, with its dependencies and build results. The next task that uses it gets a new one, in which the
setup runs again. Branches and commits stay. A worktree that belongs to a task is not emptied.";

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WorktreeVerb {
    /// List the worktrees, with the task to which each of them belongs
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Empty a worktree that no task uses
    #[command(after_long_help = RESET_HELP)]
    Reset(ResetArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ResetArguments {
    /// The number of the worktree; without it, the only worktree that no task uses
    #[arg(value_name = "NUMBER")]
    number: Option<u32>,
    /// Empty all worktrees that no task uses
    #[arg(long, conflicts_with = "number")]
    all: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The work to which a worktree belongs, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnerName {
    /// The number of the task. `None` when the worktree belongs to no task of this store.
    number: Option<u32>,
    text: String,
}

pub(super) async fn run(office: &Office, verb: &WorktreeVerb) -> anyhow::Result<ExitCode> {
    let site = match work_site(office).await? {
        Ok(site) => site,
        Err(code) => return Ok(code),
    };
    match verb {
        WorktreeVerb::List { json } => list(office, &site, *json).await,
        WorktreeVerb::Reset(asked) => reset(office, &site, asked).await,
    }
}

async fn list(office: &Office, site: &WorkSite<'_>, json: bool) -> anyhow::Result<ExitCode> {
    let slots = site.slots.pool.list()?;
    let mut rows = Vec::new();
    for slot in &slots {
        rows.push(row(slot, owner(office, site, slot).await?.as_ref()));
    }
    if json {
        say_json(&object([("worktrees", Value::List(rows))]))?;
    } else if rows.is_empty() {
        say("There are no worktrees yet. `handover run` makes them.")?;
    } else {
        say(&table(&COLUMNS, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(slot: &SlotInfo, owner: Option<&OwnerName>) -> Value {
    object([
        ("worktree", u64::from(slot.number).into()),
        ("status", status(slot).into()),
        ("task", owner.map(|owner| owner.text.clone()).into()),
        ("task_number", owner.and_then(|owner| owner.number).map(u64::from).into()),
        ("branch", slot.record.used.branch().into()),
        ("since_at", slot.record.since_ms.and_then(|ms| u64::try_from(ms).ok()).into()),
        ("path", slot.path.display().to_string().into()),
    ])
}

fn status(slot: &SlotInfo) -> &'static str {
    match (&slot.record.used, slot.record.kept) {
        (SlotUse::Free, _) => "free",
        (SlotUse::Making { .. } | SlotUse::Used { .. }, true) => "waiting",
        (SlotUse::Making { .. } | SlotUse::Used { .. }, false) => "working",
    }
}

/// Returns the name of the work to which a worktree belongs. Returns `None` for a free worktree.
async fn owner(office: &Office, site: &WorkSite<'_>, slot: &SlotInfo) -> anyhow::Result<Option<OwnerName>> {
    let Some(name) = slot.record.used.owner() else { return Ok(None) };
    let text = |text: &str| Ok(Some(OwnerName { number: None, text: text.to_owned() }));
    match site.slots.owner_named(name) {
        SlotOwner::Task { task, .. } => of_task(office, task).await.map(Some),
        SlotOwner::Checks => text("checks beside the tasks"),
        SlotOwner::OtherStore => text("a task of another store"),
    }
}

async fn of_task(office: &Office, id: TaskId) -> anyhow::Result<OwnerName> {
    match office.desk.service().view(move |world| world.task(id).cloned()).await {
        Ok(task) => Ok(OwnerName { number: Some(task.number), text: format!("{} {}", task.number, plain(&task.name)) }),
        Err(base::Error::Refused(Refusal::TaskNotFound { .. })) => {
            Ok(OwnerName { number: None, text: "a task that no longer exists".to_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

async fn reset(office: &Office, site: &WorkSite<'_>, asked: &ResetArguments) -> anyhow::Result<ExitCode> {
    let slots = site.slots.pool.list()?;
    let free: Vec<u32> =
        slots.iter().filter(|slot| slot.record.used == SlotUse::Free).map(|slot| slot.number).collect();
    let which = match (asked.number, free.as_slice()) {
        (Some(number), _) => SlotReset::Number(number),
        (None, _) if asked.all => SlotReset::AllFree,
        (None, [only]) => SlotReset::Number(*only),
        (None, []) => {
            eprintln!(
                "No worktree is free, so there is nothing to empty. Which task has which: handover worktree list"
            );
            return Ok(ExitCode::from(2));
        }
        (None, several) => {
            let numbers = several.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            eprintln!("Several worktrees are free: {numbers}. Name one, or empty all: handover worktree reset --all");
            return Ok(ExitCode::from(2));
        }
    };
    let done = match site.slots.pool.reset(&site.git, &site.root, which).await {
        Ok(done) => done,
        Err(GitProblem::SlotInUse { number, kept, .. }) => {
            let slot = slots.iter().find(|slot| slot.number == number);
            let owner = match slot {
                Some(slot) => owner(office, site, slot).await?,
                None => None,
            };
            eprintln!("{}", in_use(number, kept, owner.as_ref()));
            return Ok(ExitCode::from(1));
        }
        Err(GitProblem::InvalidInput { .. }) if asked.number.is_some_and(|number| !has(&slots, number)) => {
            eprintln!(
                "There is no worktree {}. All worktrees: handover worktree list",
                asked.number.unwrap_or_default()
            );
            return Ok(ExitCode::from(2));
        }
        Err(problem) => return Err(problem.into()),
    };
    let left = slots.len().saturating_sub(free.len());
    if asked.json {
        let numbers = done.iter().map(|number| u64::from(*number).into()).collect();
        say_json(&object([("success", true.into()), ("emptied", Value::List(numbers))]))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&emptied(&done))?;
    if asked.all && left > 0 {
        let (count, verb) = (words::count(left, "worktree"), if left == 1 { "belongs" } else { "belong" });
        say(&format!("{count} {verb} to tasks and stay as they are: handover worktree list"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn has(slots: &[SlotInfo], number: u32) -> bool {
    slots.iter().any(|slot| slot.number == number)
}

fn emptied(done: &[u32]) -> String {
    match done {
        [] => "No worktree was free.".to_owned(),
        [one] => format!("Worktree {one} is empty. The next task that uses it runs the setup again."),
        several => {
            let numbers = several.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("Worktrees {numbers} are empty. The next tasks that use them run the setup again.")
        }
    }
}

/// Returns the text for a worktree that is not emptied, because it belongs to a task.
fn in_use(number: u32, kept: bool, owner: Option<&OwnerName>) -> String {
    let Some(OwnerName { number: task, text }) = owner else {
        return format!("Worktree {number} is in use, so it is not emptied. Look: handover worktree list");
    };
    match (task, kept) {
        (Some(task), true) => format!(
            "Worktree {number} has the work of {text}, which waits for you, so it is not emptied.\nMerge it, send it back \
             or drop it first: handover diff {task}"
        ),
        (Some(task), false) => format!(
            "Worktree {number} is used by {text}, so it is not emptied. Stop the task first: handover stop {task}"
        ),
        (None, _) => format!("Worktree {number} is used by {text}, so it is not emptied. Try again when they ended."),
    }
}
