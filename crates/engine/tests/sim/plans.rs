//! Makes random plans for the simulator. Most of these plans have no cycles. The tasks use every field that decides
//! which agent may claim a task.

use engine::id::{Ids, WorkflowId};
use engine::plan::{Plan, PlanPiece, PlanPlace, PlanTask};
use engine::task::Priority;
use engine::time::Timestamp;

use chance::SeededRandom;

pub(crate) const ROLES: [&str; 3] = ["worker", "infra", "pm"];
pub(crate) const SKILLS: [&str; 2] = ["rust", "sql"];
const GLOBS: [&str; 6] = ["src/**", "src/a.rs", "src/b/*.rs", "docs/{a,b}.md", "docs/a.md", "*.toml"];

/// Creates one random task of a plan. It may wait for any task of `earlier`.
pub(crate) fn task(rng: &mut SeededRandom, name: String, earlier: &[String]) -> PlanTask {
    let mut task = PlanTask::named(name);
    for _ in 0..rng.below(3) {
        if let Some(name) = rng.pick(earlier) {
            // The loop may pick the same dependency twice. The engine must count it once.
            task.depends_on.push(name.clone());
        }
    }
    if rng.percent(2) {
        task.depends_on.push("nowhere".to_owned());
    }
    task.priority = Priority::try_from(u8::try_from(rng.between(1, 3)).unwrap_or(2)).unwrap_or(Priority::DEFAULT);
    task.role = if rng.percent(25) { rng.pick(&ROLES).map(|role| (*role).to_owned()) } else { None };
    task.capabilities = if rng.percent(20) { vec![SKILLS[rng.below(SKILLS.len())].to_owned()] } else { Vec::new() };
    task.touches = if rng.percent(35) { vec![GLOBS[rng.below(GLOBS.len())].to_owned()] } else { Vec::new() };
    task.attempts_max = u32::try_from(rng.between(1, 3)).unwrap_or(1);
    task.verify = rng.percent(20);
    task.gate = rng.percent(14);
    task.review = rng.percent(8);
    task.limited = rng.percent(8);
    if rng.percent(30) {
        task.description = Some("does it".to_owned());
    }
    task
}

/// Creates the tasks of a random plan, sometimes with a mistake that the engine must refuse.
pub(crate) fn tasks(rng: &mut SeededRandom, prefix: &str) -> Vec<PlanTask> {
    let mut names: Vec<String> = Vec::new();
    let mut tasks = Vec::new();
    for number in 0..rng.between(1, 9) {
        let name = format!("{prefix}{number}");
        tasks.push(task(rng, name.clone(), &names));
        names.push(name);
    }
    if rng.percent(3)
        && let (Some(first), Some(last)) = (tasks.first_mut(), names.last())
    {
        first.depends_on.push(last.clone());
    }
    tasks
}

/// Returns the database rows of a plan, or `None` when the plan has a mistake. A real caller also finds the mistake
/// before it sends a command.
pub(crate) fn rows(tasks: Vec<PlanTask>, workflow: WorkflowId, now: Timestamp, seed: u128) -> Option<PlanPiece> {
    let place = PlanPlace { workflow, sequence: 0, now, existing: &std::collections::BTreeMap::new() };
    Plan::whole(tasks).ok()?.lay_out(&place, &mut Ids::new(seed)).ok()
}
