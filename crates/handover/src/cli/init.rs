//! `handover init`: shows the agents and commands that Handover found for a repository, asks whether they may run,
//! tries the setup and the checks, and writes the settings files.

mod found;
mod layout;
mod report;
mod screen;
mod trial;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use base::project::effective;
use base::project::files::{self, InitPlan, InitResult};
use base::project::place;
use base::project::trust::{self, TrustView};
use clap::Args;
use git::facts::{CheckoutFacts, RepositoryFacts, facts};
use git::{FOLDER, Git};
use runner::claim::trial::ProjectTrial;

use super::failure::CommandFailure;
use super::show::plain;
use super::work::ask;
use super::{say, say_json};
use found::FoundProject;

pub(super) const HELP: &str = "\
Handover looks at the files of the repository and at the programs that are installed: agents, the commands that prepare a
worktree, and the command that runs the tests. It shows them and asks you once whether it may run them on this machine. Then
it tries setup and check on a fresh worktree. Ctrl-C skips that.

It writes .handover/config.toml for the team, .handover/local.toml with your agents, and .handover/.gitignore. Files that
exist are kept. Without a terminal it asks nothing, accepts nothing and runs nothing: accept the commands with `handover trust`.

To change what was found: handover check set COMMAND, handover agent add NAME -- PROGRAM, or edit .handover/config.toml.";

/// The error message for a folder that is not a git repository.
pub(super) const NO_REPOSITORY: &str = "This folder is not a git repository. Handover shows you a diff before anything \
     changes, so it needs one: git init && git add -A && git commit -m start";
/// The error message for a repository without a commit.
pub(super) const NO_COMMIT: &str =
    "This repository has no commit. Agents start from a commit: git add -A && git commit -m start";

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Also write example cards, skills, contracts and templates into .handover/
    #[arg(long)]
    examples: bool,
    /// Print what was found and written as JSON; asks nothing and accepts nothing
    #[arg(long)]
    json: bool,
}

/// The person's decision whether the commands in the settings may run on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitConsent {
    /// The person accepted all commands in an earlier call, or there is nothing to accept.
    Known,
    /// The person accepted the commands in this call.
    Given,
    /// The person was asked and did not agree.
    Refused,
    /// No question was asked, because this process has no terminal or an agent started it.
    NotAsked,
}

/// The data of one call of `handover init`: the repository, the planned settings files, and the project with its
/// agents.
struct InitCall {
    root: PathBuf,
    data: PathBuf,
    checkout: CheckoutFacts,
    plan: InitPlan,
    view: TrustView,
    found: FoundProject,
}

pub(super) async fn run(named: Option<&str>, asked: &InitArguments) -> anyhow::Result<ExitCode> {
    let call = InitCall::look().await?;
    if asked.json {
        let written = call.written(&call.plan, asked)?;
        say_json(&report::json(&call.found, &call.view, &relative(&call.root, &written)))?;
        return Ok(ExitCode::SUCCESS);
    }
    for line in screen::shown(&call.found, &call.view) {
        say(&line)?;
    }
    let consent = call.consent()?;
    if consent == InitConsent::Refused {
        screen::refused().iter().try_for_each(|line| say(line))?;
        return Ok(ExitCode::from(1));
    }
    if consent == InitConsent::Given {
        // `call.view` has the texts from which the printed lines were made, so the person accepts exactly the shown
        // settings.
        trust::accept(&call.data, &call.view).context("save what was accepted")?;
    }
    let is_tried = consent == InitConsent::Given || (consent == InitConsent::Known && call.plan.has_new_config);
    let plan = if is_tried && can_ask() { call.tried(named).await? } else { call.plan.clone() };
    let written = call.written(&plan, asked)?;
    screen::ended(&call.found, &relative(&call.root, &written), consent == InitConsent::NotAsked)
        .iter()
        .try_for_each(|line| say(line))?;
    Ok(ExitCode::SUCCESS)
}

/// Tells whether a person sees the output and can answer.
fn can_ask() -> bool {
    std::io::stdout().is_terminal() && ask::can_ask()
}

impl InitCall {
    /// Looks at the repository of the current folder and at this machine. Writes nothing.
    async fn look() -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("find the current folder")?;
        let checkout = match facts(&Git::default(), &here).await? {
            RepositoryFacts::NotARepository => return Err(CommandFailure::needed(NO_REPOSITORY).into()),
            RepositoryFacts::NoCommit => return Err(CommandFailure::needed(NO_COMMIT).into()),
            RepositoryFacts::Ready(checkout) => checkout,
        };
        let root = crate::begin::root()?;
        let data = place::data_folder().context("there is no folder for this user's data; set HOME")?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = real(&here).strip_prefix(real(&root)).map(Path::to_owned).unwrap_or_default();
        let (project, defaults) = effective::find_here_in(&root, &folder);
        let plan = InitPlan::of(&root, defaults).context("read the settings")?;
        // Use the texts of `plan.files` and do not read the files again. So the person sees, accepts and gets the same
        // texts.
        let view = trust::view_of(&root, Some(&data), plan.files.clone()).context("read the settings")?;
        let found = FoundProject::look((&root, &data), (&checkout, project), &view).await;
        Ok(Self { root, data, checkout, plan, view, found })
    }

    /// Asks the person whether the commands may run, unless the person accepted them earlier.
    fn consent(&self) -> anyhow::Result<InitConsent> {
        if self.view.is_trusted() || self.view.list.lines().is_empty() {
            return Ok(InitConsent::Known);
        }
        if !can_ask() {
            return Ok(InitConsent::NotAsked);
        }
        let agrees = ask::agrees(&screen::question(&self.found, &self.view))?;
        Ok(if agrees { InitConsent::Given } else { InitConsent::Refused })
    }

    /// Tries the setup and the checks. Returns a plan in which slow checks run only once, on the merged result of all
    /// tasks.
    async fn tried(&self, named: Option<&str>) -> anyhow::Result<InitPlan> {
        let team = &self.view.written.team;
        if team.worktree.setup.is_empty() && team.verify.checks.is_empty() {
            return Ok(self.plan.clone());
        }
        say("")?;
        let tried = match trial::run(named, &self.checkout.commit, &self.view).await {
            Ok(ProjectTrial::Ended(tried)) => tried,
            Ok(ProjectTrial::Stopped) => return Ok(self.plan.clone()),
            // Continue when the trial fails, because the settings files are useful without a trial.
            Err(problem) => {
                say(&format!("  not tried: {}", plain(&format!("{problem:#}"))))?;
                return Ok(self.plan.clone());
            }
        };
        trial::advice(&tried, self.checkout.branch.as_deref(), self.plan.has_new_config)
            .iter()
            .try_for_each(|line| say(line))?;
        let Some(plan) = self.plan.with_checks_at_end(&|check| trial::is_slow(&tried, check)) else {
            return Ok(self.plan.clone());
        };
        let view = trust::view_of(&self.root, Some(&self.data), plan.files.clone()).context("read the settings")?;
        trust::accept(&self.data, &view).context("save what was accepted")?;
        Ok(plan)
    }

    /// Writes the settings files that do not exist yet and, with `--examples`, the example files.
    fn written(&self, plan: &InitPlan, asked: &InitArguments) -> anyhow::Result<Vec<InitResult>> {
        let root = &self.root;
        let mut written = plan.write(root).with_context(|| format!("write into {}", root.display()))?;
        if asked.examples {
            let examples = files::init_examples(root).with_context(|| format!("write into {}", root.display()))?;
            written.extend(examples);
        }
        Ok(written)
    }
}

/// A file in the folder `.handover`. `name` is its path relative to the root of the project. `kept` is true when the
/// file existed before this call.
struct ShownFile {
    name: String,
    kept: bool,
}

fn relative(root: &Path, written: &[InitResult]) -> Vec<ShownFile> {
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    written.iter().map(|file| ShownFile { name: name(&file.path), kept: file.kept }).collect()
}

/// Returns the path of a settings file as it is shown.
fn settings_file(name: &str) -> String {
    format!("{FOLDER}/{name}")
}
