//! `handover take`: a person accepts the work of a task as it is, although its check failed or it changed no file.

use std::process::ExitCode;

use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::Command;
use engine::delivery::DeliveredWork;
use engine::list::{TurnQuery, Whose};
use engine::task::{Status, Task};
use git::branch::{self, Author, CommitResult, TaskWorkspace, task_branch};
use git::changes::changes;
use git::program::GitCall;
use git::repository::{GitRepository, reference};
use handover::office::Office;
use wire::json::object;

use super::super::show::refused;
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::numbered;
use super::send_back::agent_of;
use super::site::{WorkSite, decider};

/// The number of a task's newest turns (runs of agents' programs) that are counted as tries of the task.
const TURNS_MAX: u32 = 100;

const CHOICE: ChoiceText<'_> = ChoiceText { command: "handover take", nothing: "No task waits that you could take." };

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(in crate::cli) struct TakeArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Why you take the work although it was not checked, in quotes; it is recorded under your name
    #[arg(required = true)]
    reason: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &TakeArguments) -> anyhow::Result<ExitCode> {
    let caller = match decider(office).await? {
        Ok(caller) => caller,
        Err(code) => return Ok(code),
    };
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Take, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let work = if task.status() == Status::Blocked {
        match WorkSite::find(office).await? {
            Ok(site) => work_of(office, &site, &task).await?,
            Err(code) => return Ok(code),
        }
    } else {
        None
    };
    let (has_work, reason) = (work.is_some(), asked.reason.clone().unwrap_or_default());
    let command = Command::TakeAsIs { task: task.id, reason, work: work.map(Box::new) };
    if let Err(error) = office.desk.service().execute(caller, command).await {
        return refused("take", error, asked.json);
    }
    let number = task.number;
    if asked.json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(number).into()),
            ("has_work", has_work.into()),
        ]))?;
    } else if has_work {
        say(&numbered(number, &format!("taken as it is, unchecked. Merge it: handover merge {number}")))?;
    } else {
        say(&numbered(number, "taken as it is; there is nothing to merge"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the work of a blocked task in git: commits everything in the task's worktree to its branch. Returns `None`
/// when the task changed nothing.
async fn work_of(office: &Office, site: &WorkSite, task: &Task) -> anyhow::Result<Option<DeliveredWork>> {
    let repository = GitRepository::find(&site.git, &site.root).await?;
    let owner = site.slots.owner(task.id, task.attempt);
    let slot = site.slots.pool.find(&site.git, &site.root, &owner).await?;
    let (branch, base) = match slot {
        Some(slot) => {
            let slug = agent_of(office, task).await?.unwrap_or_else(|| "agent".to_owned());
            let author = Author { name: slug.clone(), slug };
            let workspace = TaskWorkspace { repository: site.root.clone(), path: slot.path, branch: slot.branch };
            let message = format!("{} (taken as it is)", task.name);
            let committed = branch::commit(&site.git, &workspace, &message, &author).await?;
            if let CommitResult::Unmended { .. } = committed {
                anyhow::bail!("the files of task {} still have conflict markers; send it back instead", task.number);
            }
            (workspace.branch, Some(slot.base_commit))
        }
        None => (task_branch(&task.id.to_string(), task.attempt), None),
    };
    let Some(commit) = repository.commit(&site.git, &reference(&branch)).await? else { return Ok(None) };
    let head = repository.commit(&site.git, "HEAD").await?;
    let base = match (base, head) {
        (Some(base), _) => Some(base),
        (None, Some(head)) => repository.fork(&site.git, &head, &commit).await?,
        (None, None) => None,
    };
    let Some(base) = base.filter(|base| *base != commit) else { return Ok(None) };
    let found = changes(&site.git, &site.root, &base, &commit).await?;
    let tree =
        GitCall::read(&site.root, &["rev-parse", "--verify", "--end-of-options"]).and(format!("{commit}^{{tree}}"));
    let tree = tree.run(&site.git).await?.whole()?.text();
    let name = git::changes::base_name(&site.git, &site.root, &base).await?;
    let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let query = TurnQuery::Of { of: Whose::Task(task.id), before: None, limit: TURNS_MAX };
    let turns = office.desk.service().ask(query).await?;
    let tries = turns.iter().filter(|turn| turn.attempt == task.attempt && !turn.purpose.is_a_look()).count();
    Ok(Some(DeliveredWork {
        branch,
        base_branch: name.split_once(" at ").map(|(branch, _)| branch.to_owned()),
        base,
        commit,
        tree,
        files: u32::try_from(found.files).unwrap_or(u32::MAX),
        added: whole(found.added),
        removed: whole(found.removed),
        tries: u32::try_from(tries).unwrap_or(u32::MAX),
    }))
}
