//! The commands with which a person gives work to agents and takes their work: `add`, `diff`, `merge`, `send-back`,
//! `drop`, `answer` and similar ones. Each command takes a task by its number, its name or the beginning of either.

mod add;
mod answer;
mod approve;
mod archive;
pub(super) mod ask;
mod checks;
mod choose;
mod diff;
mod drop;
mod editor;
mod landing_words;
mod logs;
mod merge;
mod push;
mod send_back;
mod site;
mod stat;
mod steer;
mod take;
mod undo;
pub(super) mod worktree;

use std::process::ExitCode;

use clap::Subcommand;
use handover::keeper;
use work::WorkError;

pub(super) use choose::{ChoiceText, Chosen, agent_named, chosen_work, plan_named, task_id, task_named};

/// The commands about single tasks and their work. All of them need the store.
#[derive(Debug, Subcommand)]
pub(super) enum WorkVerb {
    /// Add tasks to the list; `handover run` lets the agents work on them
    #[command(after_long_help = add::HELP)]
    Add(add::AddArguments),
    /// Show the work of a task or a plan: who did it, whether it was checked, and the diff
    #[command(after_long_help = diff::HELP)]
    Diff(diff::DiffArguments),
    /// Show what the agents of a task said and did, as readable lines
    #[command(after_long_help = logs::HELP)]
    Logs(logs::LogsArguments),
    /// Merge finished work into your branch, as one commit for each task
    #[command(after_long_help = merge::HELP)]
    Merge(merge::MergeArguments),
    /// Give a task back to its agent and say what to change; it continues in the same conversation and folder
    #[command(after_long_help = send_back::HELP)]
    SendBack(send_back::SendBackArguments),
    /// Answer the question of an agent, so that its task continues
    Answer(answer::AnswerArguments),
    /// Drop the work of a task; it is kept for 14 days
    #[command(after_long_help = drop::HELP)]
    Drop(drop::DropArguments),
    /// Take the work of a task as it is, although its check failed or it changed no file
    Take(take::TakeArguments),
    /// Let a blocked or failed task start again
    Retry(steer::RetryArguments),
    /// End the running turn of a task and give the task back, so that an agent can claim it again
    Stop(steer::StopArguments),
    /// Allow what a task asks for, once
    Approve(approve::ApproveArguments),
    /// Reject what a task asks for; the agent sees your reason
    Reject(approve::RejectArguments),
    /// Put plans that are over out of sight; nothing is deleted
    #[command(after_long_help = archive::HELP)]
    Archive(archive::ArchiveArguments),
    /// Show and empty the worktrees in which agents work
    Worktree {
        #[command(subcommand)]
        command: worktree::WorktreeVerb,
    },
}

pub(super) async fn run(named: Option<&str>, verb: WorkVerb) -> anyhow::Result<ExitCode> {
    let office = super::open_office(named).await?;
    keeper::once(&office.desk).await;
    match verb {
        WorkVerb::Add(asked) => add::run(&office, &asked).await,
        WorkVerb::Diff(asked) => diff::run(&office, &asked).await,
        WorkVerb::Logs(asked) => logs::run(&office, &asked).await,
        WorkVerb::Merge(asked) => merge::run(&office, &asked).await,
        WorkVerb::SendBack(asked) => send_back::run(&office, &asked).await,
        WorkVerb::Answer(asked) => answer::run(&office, &asked).await,
        WorkVerb::Drop(asked) => drop::run(&office, &asked).await,
        WorkVerb::Take(asked) => take::run(&office, &asked).await,
        WorkVerb::Retry(asked) => steer::retry(&office, &asked).await,
        WorkVerb::Stop(asked) => steer::stop(&office, &asked).await,
        WorkVerb::Approve(asked) => approve::approve(&office, &asked).await,
        WorkVerb::Reject(asked) => approve::reject(&office, &asked).await,
        WorkVerb::Archive(asked) => archive::run(&office, &asked).await,
        WorkVerb::Worktree { command } => worktree::run(&office, &command).await,
    }
}

/// Returns a line that begins with the number of a task, as all commands show tasks: ` 1  Fix the login`.
pub(super) fn numbered(number: u32, text: &str) -> String {
    format!("{number:>2}  {}", super::show::plain(text))
}

/// Returns the refusal of an act on work as a failure, in the same form as a tool's refusal. Any other error is returned
/// unchanged.
pub(super) fn refused_work(noun: &str, error: WorkError, json: bool) -> anyhow::Result<ExitCode> {
    match error {
        WorkError::Service(error) => super::show::refused(noun, error, json),
        other @ (WorkError::Git(_) | WorkError::Merged(_) | WorkError::Settings(_) | WorkError::File { .. }) => {
            Err(other.into())
        }
    }
}
