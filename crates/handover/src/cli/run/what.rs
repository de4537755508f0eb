//! Finds the work that `handover run WHAT` means: a task, a plan, or a plan file.

use std::path::Path;

use base::people::task_choice::NamedWork;
use base::project::plan_file::{DocumentFormat, PlanFile};
use base::project::settings::TeamSettings;
use engine::id::WorkflowId;
use handover::desk::Visitor;
use handover::office::Office;
use handover::plan_file::make_workflow;
use runner::claim::lack::{TaskLack, unreviewed};
use runner::claim::over::RunScope;

use super::super::failure::CommandFailure;
use super::super::show::plain_lines;
use super::super::work::{ChoiceText, Chosen, chosen_work};
use super::RunArguments;

const CHOICE: ChoiceText<'_> = ChoiceText { command: "handover run", nothing: "" };

/// Returns the tasks on which a run works. A plan file makes a new workflow with each run.
pub(super) async fn scope(
    office: &Office,
    asked: &RunArguments,
    settings: &TeamSettings,
) -> anyhow::Result<Chosen<RunScope>> {
    if let Some(path) = &asked.plan {
        return Ok(Ok(RunScope::Workflow(from_file(office, path, (asked, settings)).await?)));
    }
    let Some(named) = &asked.what else {
        no_file_options(asked)?;
        return Ok(Ok(RunScope::Ready));
    };
    let path = Path::new(named);
    let is_plan = ["yaml", "yml", "json"].iter().any(|end| path.extension().is_some_and(|found| found == *end));
    if is_plan && path.is_file() {
        return Ok(Ok(RunScope::Workflow(from_file(office, path, (asked, settings)).await?)));
    }
    no_file_options(asked)?;
    if let Ok(id) = named.parse::<WorkflowId>() {
        office.desk.service().view(move |world| world.workflow(id).map(|_| ())).await?;
        return Ok(Ok(RunScope::Workflow(id)));
    }
    if is_plan {
        let text = format!("there is no file {named}; write the path of a plan file, a task, or the name of a plan");
        return Err(CommandFailure::unusable(&text).into());
    }
    Ok(chosen_work(office, Some(named), CHOICE).await?.map(|work| match work {
        NamedWork::Task(task) => RunScope::Task(task.id),
        NamedWork::Plan(plan) => RunScope::Workflow(plan.id),
    }))
}

/// Refuses the options `--var` and `--without-review`, because they need a plan file and the person named none.
fn no_file_options(asked: &RunArguments) -> anyhow::Result<()> {
    if !asked.variables.is_empty() {
        let text = "--var fills a plan file; name one: handover run --plan FILE --var NAME=VALUE";
        return Err(CommandFailure::unusable(text).into());
    }
    if asked.without_review {
        let text = "--without-review is for a plan file; name one: handover run FILE --without-review";
        return Err(CommandFailure::unusable(text).into());
    }
    Ok(())
}

/// Makes a workflow from a plan file. Fails without making one if the plan has a task that no agent can review.
async fn from_file(
    office: &Office,
    path: &Path,
    (asked, settings): (&RunArguments, &TeamSettings),
) -> anyhow::Result<WorkflowId> {
    let text = super::plan_text(path)?;
    let shown = path.display().to_string();
    let file = PlanFile::read(&text, DocumentFormat::of_path(path), &asked.variables);
    let file = file.map_err(|problems| anyhow::anyhow!("{}", problems.at(&shown)))?;
    let file = if asked.without_review { file.without_review() } else { file };
    let lacks: Vec<String> = unreviewed(&file, settings, path).iter().map(TaskLack::sentence).collect();
    if !lacks.is_empty() {
        return Err(CommandFailure::missing("NO_REVIEWER", &plain_lines(&lacks.join("\n"))).into());
    }
    let made = make_workflow(&office.desk, &Visitor::person(), &file).await;
    made.map_err(|problem| anyhow::anyhow!("{shown}: {problem}"))
}
