//! Moves a task from one status to another. For each move, the rules in this file say which callers may make it, which
//! conditions it needs, and which changes it makes.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::check;
use crate::checkpoint::{Checkpoint, Kind};
use crate::command::{Actor, Note, Rights, Target};
use crate::delivery::Delivery;
use crate::event::{Event, Moved};
use crate::id::TaskId;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::claim::dependencies_met;
use crate::rules::protect::{self, Loosening};
use crate::rules::{approval, block, delivery, review, workflow};
use crate::sent_back::SentBack;
use crate::task::{Lease, Status, Task, TaskBlock, TaskState};
use crate::workflow::Workflow;
use crate::world::DecisionStop;

pub(crate) fn move_task(
    case: &mut Case<'_>,
    id: TaskId,
    attempt: Option<u32>,
    to: &Target,
) -> Result<Reply, DecisionStop> {
    check_target(to)?;
    let (task, workflow) = case.task(id)?;
    case.names_an_agent(Some(task))?;
    let (from, target) = (task.status(), to.status());
    if from == target {
        return stay(case, task, attempt, to);
    }
    if !from.targets().contains(&target) {
        return Err(Refusal::InvalidTransition { from, to: target }.into());
    }
    case.unlocked(workflow)?;
    if let Some(loosening) = loosens(task, target) {
        protect::task(case, task, loosening)?;
    }
    let actor = may_move(case, task, attempt, target)?;
    // Check the dependencies only for a task that no agent holds. A held task was checked when it was claimed, and its
    // holder may continue even if a dependency was sent back after the claim.
    if from == Status::Pending && target != Status::Skipped && task.holder().is_none() {
        dependencies_met(case, task)?;
    }
    let step = StatusStep { task, workflow, actor };
    let moved = next_state(case, &step, to)?;
    let delivery = delivered(case, task, to)?;
    if let Actor::Agent(agent) = actor {
        case.touch(agent)?;
    }
    pass_through(case, task, target);
    let reply = finish(case, &step, moved)?;
    case.events.extend(delivery.map(|delivery| Event::Delivered { delivery: Box::new(delivery) }));
    Ok(reply)
}

/// Returns the delivery (the record of the work in git) that a runner reports when it completes a task. Returns `None`
/// for other moves, and for a task without work in git.
fn delivered(case: &Case<'_>, task: &Task, to: &Target) -> Result<Option<Delivery>, DecisionStop> {
    let Target::Completed { delivery: Some(report), .. } = to else { return Ok(None) };
    let agent = task.holder().ok_or_else(|| Refusal::state("no agent holds the task; claim it first"))?;
    delivery::reported(case, task, agent, report).map(Some)
}

/// Returns the act by which a change of the status can loosen a task's protections, such as a required review: skipping
/// the task or unblocking it. Returns `None` for other changes.
fn loosens(task: &Task, target: Status) -> Option<Loosening> {
    match (task.status(), target) {
        (_, Status::Skipped) => Some(Loosening::Skip),
        (Status::Blocked, _) => Some(Loosening::Unblock),
        _ => None,
    }
}

/// The input for a change of a task's status: the task, its workflow, and the actor that makes the change.
pub(crate) struct StatusStep<'a> {
    pub(crate) task: &'a Task,
    pub(crate) workflow: &'a Workflow,
    pub(crate) actor: Actor,
}

fn check_target(to: &Target) -> Result<(), Refusal> {
    // A blank text counts as missing. A missing text is refused later, so that other problems are reported first. Here
    // only the size of the text is checked.
    let text = |field, text: &Option<String>| {
        check::optional(text.as_deref(), |text| check::size(field, text, limits::SUMMARY_BYTES_MAX))
    };
    match to {
        Target::Planning => Ok(()),
        Target::InProgress { answer } => text("answer", answer),
        Target::Completed { outcome, detail, delivery: _ } => {
            text("outcome", outcome)?;
            check::json("outcome_detail", detail.as_ref())
        }
        Target::Failed { error, detail } => {
            text("error", error)?;
            check::json("outcome_detail", detail.as_ref())
        }
        Target::Paused { reason } | Target::Skipped { reason } | Target::Pending { reason } => text("reason", reason),
        Target::Blocked { reason, role, .. } => {
            check::size("reason", reason, limits::SUMMARY_BYTES_MAX)?;
            check::optional(role.as_deref(), |text| check::label("role", text))
        }
    }
}

/// Handles a move to the status that the task already has. A caller that repeats its own request gets the same reply. A
/// request of a caller that may not change the task, or a request with a different text, is refused.
fn stay(case: &mut Case<'_>, task: &Task, attempt: Option<u32>, to: &Target) -> Result<Reply, DecisionStop> {
    let reply = Reply::Moved { status: task.status() };
    let (by, recorded, asked) = match (&task.state, to) {
        (TaskState::Completed { by, outcome }, Target::Completed { outcome: asked, .. }) => (by, outcome, asked),
        (TaskState::Failed { by, error }, Target::Failed { error: asked, .. }) => (by, error, asked),
        (TaskState::Skipped { by, reason }, Target::Skipped { reason: asked }) => (by, reason, asked),
        (TaskState::Blocked(block), Target::Blocked { .. }) => {
            let same = case.may_override() || Actor::Agent(case.agent(Some(task))?) == block.by;
            return if same { Ok(reply) } else { Err(lost(case, task)?) };
        }
        _ => {
            if task.holder().is_some() {
                let actor = case.owner(task, attempt)?;
                case.sign_of_life(actor, task, case.world.workflow(task.workflow)?)?;
            }
            return Ok(reply);
        }
    };
    if !case.may_override() {
        let mine = *by == Actor::Agent(case.agent(Some(task))?);
        if !mine || attempt.is_some_and(|attempt| attempt != task.attempt) {
            return Err(lost(case, task)?);
        }
    }
    if asked.as_ref().is_some_and(|asked| asked != recorded) {
        // Refuse a request that repeats an earlier one with a different text. If the reply reported success, the caller
        // would not learn that the new text was not stored.
        return Err(Refusal::InvalidTransition { from: task.status(), to: to.status() }.into());
    }
    Ok(reply)
}

fn lost(case: &Case<'_>, task: &Task) -> Result<DecisionStop, DecisionStop> {
    Ok(Refusal::ClaimLost { task: task.id, holder: case.live_holder(task)?, attempt: task.attempt }.into())
}

/// Returns the actor under whose name the change of the task's status is recorded. Refuses a caller that may not make
/// this change.
fn may_move(case: &Case<'_>, task: &Task, attempt: Option<u32>, target: Status) -> Result<Actor, DecisionStop> {
    let refused = |problem: &str| Err(Refusal::NotPermitted { problem: problem.to_owned() }.into());
    match (&task.state, target) {
        (TaskState::Pending { .. }, Status::Skipped) => match case.live_holder(task)? {
            Some(_) => case.owner(task, attempt),
            None => case.actor(),
        },
        (TaskState::Failed { .. }, _) => case.actor(),
        (TaskState::Blocked(block), _) => {
            if case.may_override() {
                return case.actor();
            }
            let agent = case.present(None)?;
            if case.world.agent(agent)?.role == block.role {
                return Ok(Actor::Agent(agent));
            }
            refused(&format!(
                "only a person, the coordinator or an agent with the role {} may unblock this task",
                block.role
            ))
        }
        (TaskState::Paused { .. }, Status::Pending | Status::Blocked) if !case.may_override() => {
            refused("only a person or the coordinator may give back or block a paused task")
        }
        (TaskState::Paused { .. }, target) => {
            let actor = case.owner(task, attempt)?;
            let decides = match case.rights {
                Rights::Person | Rights::Engine => true,
                // A coordinator or a script may take the paused task away from its holder. It may not answer in place
                // of a person, so its other moves are refused while the task waits for an approval.
                Rights::Coordinator | Rights::Script => {
                    matches!(target, Status::Pending | Status::Blocked | Status::Failed)
                }
                Rights::Agent | Rights::Runner => false,
            };
            if decides {
                return Ok(actor);
            }
            not_asked(case, task)?;
            Ok(actor)
        }
        _ => case.owner(task, attempt),
    }
}

/// Refuses a change of the task's status while the task waits for an approval. Otherwise an agent could continue as if
/// a person had answered its request.
pub(crate) fn not_asked(case: &Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    match approval::waited_for(case, task)? {
        Some(approval) => Err(Refusal::ApprovalRequired { task: task.id, approval: Some(approval) }.into()),
        None => Ok(()),
    }
}

fn next_state(case: &mut Case<'_>, step: &StatusStep<'_>, to: &Target) -> Result<Moved, DecisionStop> {
    let StatusStep { task, actor: by, .. } = *step;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let mut moved = blank(task);
    moved.state = match to {
        Target::Planning => TaskState::Planning { lease: lease(case, step)? },
        Target::InProgress { answer } => resume(case, step, given(answer), &mut moved)?,
        Target::Completed { outcome, detail, delivery: _ } => {
            if task.verify && case.rights != Rights::Runner {
                return Err(Refusal::VerificationRequired { task: task.id }.into());
            }
            review::is_passed(case, task)?;
            moved.outcome_detail.clone_from(detail);
            TaskState::Completed { by, outcome: given(outcome).ok_or(Refusal::MissingOutcome)? }
        }
        Target::Failed { error, detail } => {
            moved.outcome_detail.clone_from(detail);
            TaskState::Failed { by, error: given(error).ok_or(Refusal::MissingError)? }
        }
        Target::Paused { reason } => TaskState::Paused { lease: lease(case, step)?, reason: given(reason) },
        Target::Blocked { kind, reason, role } => {
            let role = role.clone().unwrap_or_else(|| kind.default_role().to_owned());
            let reason = given(&Some(reason.clone())).ok_or(Refusal::MissingReason)?;
            TaskState::Blocked(TaskBlock { by, kind: *kind, reason, role })
        }
        Target::Skipped { reason } => TaskState::Skipped { by, reason: given(reason).ok_or(Refusal::MissingReason)? },
        Target::Pending { reason } => {
            moved.forgiven = retry(case, task)?;
            let note = given(reason).map(|reason| Note::plain(Kind::Decision, reason));
            moved.checkpoint = note.map(|note| Checkpoint::after(task, &mut case.ids, by, note, case.now));
            TaskState::Pending { lease: None }
        }
    };
    if moved.outcome_detail.is_some() {
        case.world.detail(task.id)?;
    }
    Ok(moved)
}

/// Returns the record of a move of this task to the status `pending`, without an outcome, a plan or a checkpoint. A
/// function that makes another move replaces the status and fills in these fields.
pub(crate) fn blank(task: &Task) -> Moved {
    Moved {
        task: task.id,
        workflow: task.workflow,
        attempt: task.attempt,
        from: task.status(),
        state: TaskState::Pending { lease: None },
        outcome_detail: None,
        plan: None,
        checkpoint: None,
        forgiven: false,
        freed: Vec::new(),
        freed_count: 0,
    }
}

/// Returns the lease of the task in its new status. A change of the status by the holder is a sign of life and extends
/// the lease. A change by another actor does not extend the lease.
fn lease(case: &Case<'_>, step: &StatusStep<'_>) -> Result<Lease, DecisionStop> {
    let held = step.task.state.lease();
    let mut lease = held.cloned().ok_or_else(|| Refusal::state("no agent holds the task; claim it first"))?;
    if step.actor == Actor::Agent(lease.agent) {
        lease.until = lease.until.max(case.now + step.workflow.lease_ms);
    }
    Ok(lease)
}

/// Resumes a task. A paused task gets a fresh lease. If the agent of a paused task has unregistered, the task becomes
/// pending, and the agent that claims the task next gets the answer.
fn resume(
    case: &mut Case<'_>,
    step: &StatusStep<'_>,
    answer: Option<String>,
    moved: &mut Moved,
) -> Result<TaskState, DecisionStop> {
    let (task, held) = (step.task, lease(case, step)?);
    if !matches!(task.state, TaskState::Paused { .. }) {
        return Ok(TaskState::InProgress { lease: held });
    }
    let gone = case.world.agent(held.agent)?.left.is_some();
    let kind = if gone { Kind::Recovery } else { Kind::Decision };
    let summary = match (answer, gone) {
        (Some(answer), _) => Some(answer),
        (None, true) => Some(format!("{} unregistered while the task was paused", held.agent)),
        (None, false) => None,
    };
    let mut note = summary.map(|summary| Note::plain(kind, summary));
    if let (true, Some(note)) = (gone, &mut note) {
        // The agent of the task has unregistered here. This record lets the agent continue with the same attempt if it
        // registers again before another agent claims the task.
        note.detail = SentBack { agent: Some(held.agent), notes: Vec::new(), work: None }.json();
    }
    moved.checkpoint = note.map(|note| Checkpoint::after(task, &mut case.ids, step.actor, note, case.now));
    if gone {
        return Ok(TaskState::Pending { lease: None });
    }
    Ok(TaskState::InProgress { lease: case.fresh_lease(held.agent, step.workflow) })
}

/// Returns true when the retry of a failed task sets its number of used attempts back to 0. That is so for a caller
/// that may act on tasks of others. Any other caller may retry only while the task has attempts left.
fn retry(case: &Case<'_>, task: &Task) -> Result<bool, DecisionStop> {
    if task.status() != Status::Failed {
        return Ok(false);
    }
    // The retry clears the outcome of the failed attempt, which is stored in the task's detail. So the detail must be
    // loaded, although its content does not matter here.
    case.world.detail(task.id)?;
    if !task.has_attempts_left() && !case.may_override() {
        let problem = "the task's attempts are used up; only a person or the coordinator may retry or replan it";
        return Err(Refusal::state(problem).into());
    }
    Ok(case.may_override())
}

/// Returns true when the move skips the status `in_progress`: an agent holds the task, and the task goes from `pending`
/// or `planning` directly to a later status. The log then shows `in_progress` between the two statuses.
fn passes_through(task: &Task, target: Status) -> bool {
    let begins = matches!(task.status(), Status::Pending | Status::Planning);
    let ends = matches!(target, Status::Completed | Status::Failed | Status::Paused | Status::Blocked);
    begins && ends && task.state.lease().is_some()
}

fn pass_through(case: &mut Case<'_>, task: &Task, target: Status) {
    if let (true, Some(lease)) = (passes_through(task, target), task.state.lease()) {
        let state = TaskState::InProgress { lease: lease.clone() };
        case.events.push(Event::Moved(Box::new(Moved { state, ..blank(task) })));
    }
}

/// Records a change of a task's status with its consequences: freed tasks, messages about a block, and the status of
/// the workflow.
pub(crate) fn finish(case: &mut Case<'_>, step: &StatusStep<'_>, mut moved: Moved) -> Result<Reply, DecisionStop> {
    let StatusStep { task, workflow, .. } = *step;
    let status = moved.state.status();
    if passes_through(task, status) {
        moved.from = Status::InProgress;
    }
    let blocked = match &moved.state {
        TaskState::Blocked(block) => Some(block.clone()),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Failed { .. }
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => None,
    };
    let waiting = if status == Status::Skipped { protect::keep_dependencies(case, task)? } else { BTreeSet::new() };
    let freed = if status.is_met() { block::free_dependents(case, task, &waiting, &mut moved)? } else { Vec::new() };
    case.events.push(Event::Moved(Box::new(moved)));
    for task in freed {
        case.events.push(task);
    }
    if let Some(found) = blocked {
        block::route(case, task, &found)?;
    }
    if status.is_met() {
        workflow::settle(case, workflow, workflow.open.saturating_sub(1))?;
    }
    Ok(Reply::Moved { status })
}
