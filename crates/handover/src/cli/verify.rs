//! `handover task verify`: verifies the output of a task and completes the task. It is for agents whose program was not
//! started by the runner (`handover run`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::host::TURN;
use anyhow::Context as _;
use base::Error;
use base::ground::random;
use base::project::place;
use base::project::settings;
use base::project::trust;
use clap::{ArgMatches, Args, FromArgMatches as _};
use engine::id::{AgentId, TaskId};
use handover::below;
use handover::desk::ClientAgents;
use handover::desk::{ToolOutcome, Visitor};
use handover::keeper;
use handover::office::Office;
use handover::person;
use runner::claim::open;
use runner::complete::{CompletionOrder, Finished, Unfinished, finish};
use runner::verify::{EvaluatorQuestion, VerificationProgress};
use wire::json::{Value, object};
use wire::lifecycle::ToolError;

use super::show::{self, plain};

/// The word after `handover` in the command `handover task verify`. Most other commands that begin with `handover task`
/// call tools.
pub(crate) const NOUN: &str = "task";
const VERB: &str = "verify";

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The task: its id, such as tk_0123456789ab
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// The output: a path in the worktree, the URL of a pull request, a commit, or a message, as the brief asks for
    #[arg(long, value_name = "REF")]
    output_ref: String,
    /// The outcome in one sentence, as a statement that is true now
    #[arg(long)]
    outcome: Option<String>,
    /// The agent that holds the task, by its name or id; a person may leave this option out
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// The worktree with the output; without it, the current one
    #[arg(long, value_name = "FOLDER")]
    worktree: Option<PathBuf>,
    /// Print the reply as JSON on one line
    #[arg(long)]
    json: bool,
}

pub(crate) fn command() -> clap::Command {
    let about = "Check the output of a task against its output contract, and complete the task when it passes";
    Verify::augment_args(clap::Command::new(VERB).about(about))
}

/// Returns the arguments of `handover task verify`; `None` when another command was typed.
pub(crate) fn asked(matches: &ArgMatches) -> Option<Verify> {
    let (noun, inner) = matches.subcommand()?;
    let (verb, inner) = inner.subcommand().filter(|_| noun == NOUN)?;
    Verify::from_arg_matches(inner).ok().filter(|_| verb == VERB)
}

pub(crate) async fn run(office: &Office, asked: &Verify) -> anyhow::Result<ExitCode> {
    match prepared(office, asked).await? {
        Ok(prepared) => verify(office, asked, &prepared).await,
        Err(said) => show::outcome(VERB, &ToolOutcome::Refused(said), asked.json, false),
    }
}

struct Prepared {
    agent: Option<AgentId>,
    root: PathBuf,
    worktree: PathBuf,
    team: settings::TeamSettings,
}

/// Finds the agent, the project and the worktree for a verification. Refuses unless a person accepted the commands that
/// this clone's settings name.
async fn prepared(office: &Office, asked: &Verify) -> anyhow::Result<Result<Prepared, ToolError>> {
    if std::env::var_os(TURN).is_some_and(|turn| !turn.is_empty()) {
        let message = "a turn of the runner started this command, and the runner verifies the output when the turn \
            ends";
        return Ok(Err(said("NOT_PERMITTED", message, "end your turn with your output")));
    }
    let agent = match worker(office, asked.agent_id.as_deref()).await? {
        Ok(agent) => agent,
        Err(said) => return Ok(Err(said)),
    };
    let data = base::project::place::data_folder();
    let Some(root) = office.place.root.clone() else {
        return Ok(Err(said(
            "NOT_TRUSTED",
            "there is no project here, so no command for the verification is accepted",
            TRUST_IT,
        )));
    };
    let team = match trust::accepted(&root, data.as_deref()) {
        Ok(accepted) => accepted.settings.team,
        Err(trust::Untrusted::Settings(problem)) => return Err(problem.into()),
        Err(refused) => return Ok(Err(coded(&refused.to_string(), TRUST_IT))),
    };
    let here = std::env::current_dir().context("find the current folder")?;
    let folder = asked.worktree.as_ref().map_or(here.clone(), |named| here.join(named));
    let folder = folder.canonicalize().with_context(|| format!("find {}", folder.display()))?;
    if place::root(&folder).and_then(|found| found.canonicalize().ok()) != root.canonicalize().ok() {
        let message = format!("{} is not a worktree of {}", folder.display(), root.display());
        return Ok(Err(said("NOT_TRUSTED", &message, TRUST_IT)));
    }
    let worktree = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&root).to_owned();
    Ok(Ok(Prepared { agent, root, worktree, team }))
}

/// Returns the agent for which the task is verified; `None` for a person who names no agent. If a client started this
/// process, the agent must be one of the client's agents.
async fn worker(office: &Office, named: Option<&str>) -> anyhow::Result<Result<Option<AgentId>, ToolError>> {
    let service = office.desk.service();
    let named = match named {
        None => None,
        Some(name) => match service.agent_by_slug(name).await?.or_else(|| name.parse().ok()) {
            Some(agent) => Some(agent),
            None => return Ok(Err(said("AGENT_NOT_FOUND", &format!("there is no agent {name}"), NAME_IT))),
        },
    };
    let Some(below) = below::look(Some(&office.live)) else {
        let Some(agent) = named else { return Ok(Ok(None)) };
        // A person may name only an agent that was registered on the command line. The log records the named agent as
        // the one that acted. So an agent of another connection must not be named, because it did not act.
        let visitor = Visitor::at_command_line(person::rights(service).await?);
        return Ok(match office.desk.check_named(&visitor, agent).await {
            Ok(()) => Ok(Some(agent)),
            Err(Error::Refused(refusal)) => Err(wire::lifecycle::refusal(&refusal)),
            Err(error) => return Err(error.into()),
        });
    };
    let agents = ClientAgents::find(service, &below).await?;
    Ok(match named {
        None => agents.only().map(Some),
        Some(agent) if agents.has(agent) => Ok(Some(agent)),
        Some(agent) => {
            let message = format!("the client that started this command has not registered {agent}");
            Err(said(
                "AGENT_ELSEWHERE",
                &message,
                "leave --agent-id out: Handover finds your agent by your client's \
                connection",
            ))
        }
    })
}

const NAME_IT: &str = "name the agent that holds the task with --agent-id";
const TRUST_IT: &str = "ask a person to accept the commands with `handover trust`";

async fn verify(office: &Office, asked: &Verify, prepared: &Prepared) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let mark = format!("verify_{}", random::token()?);
    let folder = office.state.join("verify").join(&mark);
    let order = CompletionOrder {
        task: asked.task,
        agent: prepared.agent,
        output_ref: Some(&asked.output_ref),
        said: None,
        outcome: asked.outcome.as_deref(),
        worktree: &prepared.worktree,
        root: &prepared.root,
        state: &office.state,
        folder: &folder,
        mark: &mark,
    };
    let has_evaluator = prepared.team.evaluator.is_some();
    let evaluate = has_evaluator.then_some(async |asking: EvaluatorQuestion| {
        Box::pin(open::judge(office.run_site(), asked.task, &asking)).await
    });
    let is_silent = asked.json;
    let mut progress = |progress: VerificationProgress<'_>| {
        if !is_silent {
            tell(progress);
        }
    };
    let finished = finish(office.desk.service(), &prepared.team, order, evaluate, &mut progress).await;
    remove(&folder);
    let outcome = match finished {
        Ok(Finished::Completed(completed)) => {
            let Value::Object(mut members) = completed.to_value() else { return Ok(ExitCode::from(3)) };
            members.insert(0, ("success".to_owned(), true.into()));
            members.insert(1, ("status".to_owned(), "completed".into()));
            ToolOutcome::Done(Value::Object(members))
        }
        Ok(Finished::Failed { complaints, is_blocked }) => {
            if !asked.json {
                complaints.iter().for_each(|(code, text)| eprintln!("{code} {}", show::plain_lines(text)));
            }
            ToolOutcome::Refused(failed(&complaints, is_blocked))
        }
        Err(unfinished) => ToolOutcome::Refused(refused(unfinished)?),
    };
    show::outcome(VERB, &outcome, asked.json, false)
}

/// Deletes the temporary folder of the processes that ran the checks. It is no longer needed, because the stored
/// verification contains the output of the checks.
fn remove(folder: &Path) {
    let _kept = std::fs::remove_dir_all(folder);
}

fn tell(progress: VerificationProgress<'_>) {
    match progress {
        VerificationProgress::Output => {}
        VerificationProgress::Check { number, of, command } => {
            eprintln!("check {number}/{of}: {}", plain(&command.join(" ")))
        }
        VerificationProgress::Checked { check, .. } => eprintln!("  {}", plain(&check.told())),
    }
}

fn failed(complaints: &[(String, String)], is_blocked: bool) -> ToolError {
    let codes: Vec<&str> = complaints.iter().map(|(code, _)| code.as_str()).collect();
    let problem =
        |(code, text): &(String, String)| object([("code", code.as_str().into()), ("message", text.as_str().into())]);
    let suggestion = if is_blocked {
        "the task is blocked; wait until a person or a supervisor unblocks it"
    } else {
        "fix the output and verify again; a second failure blocks the task"
    };
    let details =
        object([("problems", Value::List(complaints.iter().map(problem).collect())), ("blocked", is_blocked.into())]);
    ToolError { details: Some(details), ..said("VERIFICATION_FAILED", &codes.join(", "), suggestion) }
}

fn refused(unfinished: Unfinished) -> anyhow::Result<ToolError> {
    let message = unfinished.to_string();
    Ok(match unfinished {
        Unfinished::Error(Error::Refused(refusal)) => wire::lifecycle::refusal(&refusal),
        Unfinished::NoContract(_) => said(
            "NO_OUTPUT_CONTRACT",
            &message,
            "complete the task with `handover task status TASK completed \
                --outcome TEXT`",
        ),
        Unfinished::CheckChanged(approval) => {
            let suggestion = format!(
                "ask a person to decide with `handover approval approve {approval}`, then \
                verify again"
            );
            said("CHECK_CHANGED", &message, &suggestion)
        }
        Unfinished::EvaluatorNeeded => {
            said("EVALUATOR_NEEDED", &message, "name an agent as [evaluator] in .handover/config.toml")
        }
        Unfinished::Unresolved(_) => said(
            "CONTRACT_UNUSABLE",
            &message,
            "fix the contract in .handover/, then \
            verify again",
        ),
        Unfinished::Brief(_) => said(
            "BRIEF_INVALID",
            &message,
            "replan the task with a valid brief (`handover task \
            replan`)",
        ),
        Unfinished::NotEvaluated(_) => said("NOT_EVALUATED", &message, "verify again"),
        fault @ (Unfinished::Error(Error::Fault(_) | Error::Random(_))
        | Unfinished::Fault(_)
        | Unfinished::Git(_)
        | Unfinished::Binary(_)) => return Err(fault.into()),
    })
}

/// Makes a refusal with the code `NOT_TRUSTED`. If the message begins with this code, removes it from the text.
fn coded(message: &str, suggestion: &str) -> ToolError {
    let (code, rest) = message.split_once(' ').unwrap_or(("NOT_TRUSTED", message));
    if code == "NOT_TRUSTED" { said("NOT_TRUSTED", rest, suggestion) } else { said("NOT_TRUSTED", message, suggestion) }
}

fn said(code: &'static str, message: &str, suggestion: &str) -> ToolError {
    ToolError { code, message: message.to_owned(), recoverable: true, suggestion: suggestion.to_owned(), details: None }
}
