//! `handover plan`: an agent reads the repository and drafts a plan, a person looks at it and starts it.

mod editor;
mod offer;
mod table;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use base::project::place::{absolute, data_folder};
use base::project::plan_file::{DocumentFormat, PlanFile};
use base::project::settings::TeamSettings;
use base::project::team::NotReady;
use base::project::trust::{self, Untrusted};
use clap::Args;
use engine::turn::Spent;
use handover::office::Office;
use handover::person;
use handover::plan_file::make_workflow;
use runner::plan_draft::{self, DraftEnd, DraftOrder, DraftedPlan, ReadingRoom};
use runner::review::{NoProvider, Provider};

use self::offer::PlanOffer;
use super::run::plan_text;
use super::show::{plain, plain_lines};
use super::{review, say, tools};

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The goal: the result of the work
    #[arg(required_unless_present = "file")]
    goal: Option<String>,
    /// The agent that drafts the plan; without it, the first agent that answers
    #[arg(long, value_name = "SLUG")]
    agent: Option<String>,
    /// The largest number of tasks in the plan
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=200))]
    tasks: u32,
    /// Write the plan as YAML to this file, and ask nothing
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use the plan in this file instead of a new draft; starts no agent
    #[arg(long, value_name = "FILE", conflicts_with_all = ["goal", "agent", "tasks", "output"])]
    file: Option<PathBuf>,
}

pub(super) const HELP: &str = "\
The agent reads a fresh worktree of the last commit and may change nothing. At a terminal you see its plan as a table and
start it, edit it or leave it. Without a terminal the plan is printed as YAML. docs/plans.md describes the format.

With --file no agent is asked: the plan is checked and stored as a workflow. At a terminal you are asked first.

Examples:
  handover plan 'Users can log in with a passkey'     draft a plan, look at it, start it
  handover plan 'Faster tests' --tasks 5 > plan.yaml  save a plan of at most five tasks
  handover plan --file plan.yaml                      check a plan and store it as a workflow";

/// A plan that is ready to be shown, with the agent that wrote it.
struct OfferedPlan {
    text: String,
    plan: PlanFile,
    /// The slug (the short name) of the agent that drafted the plan. `None` for a plan from a file.
    author: Option<String>,
    /// The sentence that says which agent drafted the plan, how long it worked and how much it cost. It is empty for a
    /// plan from a file.
    cost: String,
}

pub(super) async fn run(office: &Office, asked: &PlanArguments) -> anyhow::Result<ExitCode> {
    let draft = match (&asked.file, &asked.goal) {
        (Some(path), _) => read(path)?,
        (None, Some(goal)) => match drafted(office, goal, asked).await? {
            Ok(draft) => draft,
            Err(code) => return Ok(code),
        },
        (None, None) => anyhow::bail!("say what the plan is for: handover plan 'GOAL'"),
    };
    if let Some(path) = &asked.output {
        std::fs::write(path, &draft.text).with_context(|| format!("write {}", path.display()))?;
        say(&format!("{}\nStart it: handover run --plan {}", draft.cost, offer::quoted(path)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_person = person::at_a_terminal().is_ok() && std::io::stdout().is_terminal();
    match (is_person, &asked.file) {
        (true, file) => PlanOffer { office, draft, file: file.clone() }.ask().await,
        (false, Some(_)) => stored(office, &draft.plan).await,
        (false, None) => {
            eprintln!("handover: {}", draft.cost);
            std::io::stdout().write_all(draft.text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read(path: &Path) -> anyhow::Result<OfferedPlan> {
    let text = plan_text(path)?;
    let plan = PlanFile::read(&text, DocumentFormat::of_path(path), &[]);
    let plan = plan.map_err(|problems| anyhow::anyhow!("{}", problems.at(&path.display().to_string())))?;
    Ok(OfferedPlan { text, plan, author: None, cost: String::new() })
}

/// Stores a plan as a workflow in the name of the caller, who may be an agent. Does not start the workflow.
async fn stored(office: &Office, plan: &PlanFile) -> anyhow::Result<ExitCode> {
    let visitor = match tools::visitor(office, tools::NeedsAgent::Yes).await? {
        Ok(visitor) => visitor,
        Err(said) => {
            eprintln!("{} {}", said.code, plain(&said.message));
            return Ok(ExitCode::from(1));
        }
    };
    match make_workflow(&office.desk, &visitor, plan).await {
        Ok(workflow) => {
            say(&format!("{workflow}: {} with {} tasks", plain(plan.name()), plan.tasks().len()))?;
            say(&format!("Start it: handover run {workflow}"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(problem) => {
            eprintln!("{}", plain(&problem.to_string()));
            Ok(ExitCode::from(1))
        }
    }
}

/// Lets an agent draft a plan. If no agent delivers a plan, prints the reason and returns the exit code.
async fn drafted(office: &Office, goal: &str, asked: &PlanArguments) -> anyhow::Result<Result<OfferedPlan, ExitCode>> {
    let Some(root) = office.place.root.as_deref() else {
        eprintln!("handover: there is no project here; run this command in a git repository");
        return Ok(Err(ExitCode::from(2)));
    };
    let settings = match accepted(root)? {
        Ok(settings) => settings,
        Err(code) => return Ok(Err(code)),
    };
    let slugs = asked.agent.clone().map_or_else(|| plan_draft::planners(&settings), |slug| vec![slug]);
    if slugs.is_empty() {
        eprintln!("{}", NotReady::NoAgent);
        return Ok(Err(ExitCode::from(2)));
    }
    let (git, data) = (git::Git::default(), data_folder());
    let room = ReadingRoom::enter(&git, root, data.as_deref()).await?;
    let (state, store) = (office.state.as_path(), absolute(&office.place.store));
    let order = DraftOrder { goal, tasks_max: asked.tasks, room: room.path(), state, store: &store };
    let found = first_plan(root, &slugs, order).await;
    room.leave(&git).await?;
    found
}

/// Returns the agents' settings if a person accepted them. If they are not accepted yet, first asks the person at the
/// terminal to accept them.
fn accepted(root: &Path) -> anyhow::Result<Result<TeamSettings, ExitCode>> {
    let require = || trust::require(root, data_folder().as_deref());
    let mut found = require();
    if matches!(found, Err(Untrusted::Never { .. } | Untrusted::Changed { .. })) && super::trust::ask_here(root)? {
        found = require();
    }
    match found {
        Ok(view) => Ok(Ok(view.settings.team)),
        Err(Untrusted::Settings(problem)) => Err(anyhow::Error::from(problem).context("read the settings")),
        Err(untrusted) => {
            eprintln!("handover: {untrusted}");
            Ok(Err(ExitCode::from(1)))
        }
    }
}

/// Asks the agents one after the other until one of them answers. An agent whose program is missing, cannot start or is
/// not logged in is skipped with a notice.
async fn first_plan(
    root: &Path,
    slugs: &[String],
    order: DraftOrder<'_>,
) -> anyhow::Result<Result<OfferedPlan, ExitCode>> {
    for slug in slugs {
        let provider = match Provider::find(Some(root), data_folder().as_deref(), slug) {
            Ok(provider) => provider,
            Err(problem @ NoProvider::NotReady(_)) => {
                eprintln!("handover: {problem}");
                continue;
            }
            Err(problem) => {
                eprintln!("handover: {:#}", anyhow::Error::from(problem));
                return Ok(Err(ExitCode::from(2)));
            }
        };
        eprintln!("{slug} reads the repository and drafts a plan; press Ctrl-C to stop");
        let result = plan_draft::draft(&provider, order, Box::pin(review::told_to_stop())).await?;
        match result.end {
            DraftEnd::Drafted(drafted) => {
                let DraftedPlan { text, plan } = *drafted;
                let cost = cost(slug, result.spent);
                return Ok(Ok(OfferedPlan { text, plan, author: Some(slug.clone()), cost }));
            }
            DraftEnd::Invalid { problems, repairs } => {
                eprintln!("handover: the plan of {slug} is still not valid after {repairs} repairs:");
                problems.iter().for_each(|problem| eprintln!("  {}", plain(problem)));
                eprintln!("{}", cost(slug, result.spent));
                return Ok(Err(ExitCode::from(1)));
            }
            DraftEnd::Silent { end, reason } => {
                let reason = reason.map_or_else(|| end.to_string(), |reason| wire::visible::redacted(&reason));
                eprintln!("handover: {slug} gave no plan: {}", plain_lines(&reason));
            }
            DraftEnd::Cut => return Ok(Err(ExitCode::from(130))),
        }
    }
    eprintln!("handover: no agent gave a plan; fix the cause above, or name another agent with --agent");
    Ok(Err(ExitCode::from(1)))
}

/// Returns the sentence that says how long an agent worked on the draft of a plan and what it cost.
fn cost(slug: &str, spent: Spent) -> String {
    let seconds = spent.ms.div_ceil(1_000);
    let time = if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) };
    let cost = spent.usd_micros.map_or_else(
        || "cost unknown".to_owned(),
        |micros| format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    );
    let repairs = match spent.turns {
        0 | 1 => String::new(),
        2 => ", 1 repair".to_owned(),
        turns => format!(", {} repairs", turns - 1),
    };
    format!("{slug} drafted this plan in {time} ({cost}{repairs}).")
}
