//! Checks the agents as `handover run` does, and says which tasks no agent takes and which plans are stalled.

use std::path::Path;

use base::people::untaken::{self, TaskSeeker, WaitKind};
use base::people::workload;
use base::project::team::NotReady;
use engine::list::WorkflowFilter;
use engine::view;
use engine::workflow::WorkflowStatus;
use runner::claim::open::{NotOpened, accepted_team};

use super::{DoctorFinding, chain};
use crate::office::Office;
use base::ground::words::count;

/// The maximum number of plans whose tasks are checked.
const PLANS_MAX: u32 = 20;

/// Checks whether the agents of the project can work. Uses the same function as `handover run`.
pub(super) fn agents(root: Option<&Path>) -> Vec<DoctorFinding> {
    let Some(root) = root else { return Vec::new() };
    match accepted_team(root) {
        Ok((_, team)) => {
            let names: Vec<&str> = team.members.iter().map(|member| member.settings.slug.as_str()).collect();
            let ready = DoctorFinding::good(
                "agents",
                format!("{} can work: {}", count(names.len(), "agent"), names.join(", ")),
            );
            let notice = |text: &String| {
                DoctorFinding::notice("agents", text.clone(), "`handover run` works without this agent")
            };
            std::iter::once(ready).chain(team.notices.iter().map(notice)).collect()
        }
        // The checks of the settings and of the trust already report these problems.
        Err(NotOpened::Untrusted(_) | NotOpened::NoProject) => Vec::new(),
        Err(NotOpened::NotReady(problem @ NotReady::NoAgent)) => {
            vec![DoctorFinding::notice("agents", problem.to_string(), "agents that work over MCP need no entry here")]
        }
        Err(NotOpened::NotReady(NotReady::Problems(problems))) => {
            let finding = |problem: &String| {
                DoctorFinding::bad("agents", problem.clone(), "`handover run` starts when this is fixed")
            };
            problems.iter().map(finding).collect()
        }
        Err(problem) => vec![DoctorFinding::bad("agents", chain(&problem), "`handover run` starts when this is fixed")],
    }
}

/// Checks whether tasks wait for a skill that no agent has, and whether a plan is stalled.
pub(super) async fn tasks(office: &Office) -> Vec<DoctorFinding> {
    let service = office.desk.service();
    let team = office.place.root.as_deref().map(untaken::skills_of_project).unwrap_or_default();
    let (now, seeker) = (service.now(), TaskSeeker { own: None, team });
    let causes = service.view(move |world| {
        let statuses = vec![WorkflowStatus::InProgress, WorkflowStatus::Ready];
        let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
        let page = view::workflows(world, &filter, None, 0, PLANS_MAX)?;
        let plans: Vec<_> = page.rows.iter().map(|(row, _)| row.id).collect();
        untaken::causes(world, &plans, &seeker, now)
    });
    let work = workload::read(service, now);
    let (causes, work) = match (causes.await, work.await) {
        (Ok(causes), Ok(work)) => (causes, work),
        (Err(error), _) | (_, Err(error)) => {
            return vec![DoctorFinding::bad(
                "tasks",
                chain(&error),
                "the store cannot be read; see the findings above",
            )];
        }
    };
    let mut found = Vec::new();
    for cause in causes.iter().filter(|cause| cause.kind == WaitKind::Role) {
        let advice = "give an agent this role in .handover/local.toml, or drop the task with `handover drop NUMBER`";
        found.push(DoctorFinding::notice("tasks", cause.words.clone(), advice));
    }
    for plan in &work.stalled {
        let seen = format!("the plan {} is stalled: {}", plan.name, plan.words());
        found.push(DoctorFinding::notice("tasks", seen, "see what needs you with `handover status`"));
    }
    if found.is_empty() {
        found.push(DoctorFinding::good("tasks", "no task waits for a skill that no agent has, and no plan is stalled"));
    }
    found
}
