//! The rules for turns (runs of an agent's program) and for the verifications of their outputs. Only the runner records
//! turns and verifications. If an agent could record them, it could record a passed verification that never ran, and
//! complete its task.

use crate::case::Case;
use crate::check;
use crate::command::{Actor, RecordVerification, Rights, StartTurn};
use crate::event::Event;
use crate::id::{AgentId, TaskId, TurnId};
use crate::limits;
use crate::list::VerificationQuery;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::lapse;
use crate::runner::Runner;
use crate::task::Task;
use crate::turn::{Turn, TurnResult, TurnState};
use crate::verification::Verification;
use crate::world::{DecisionStop, Need, NumberNeed};

fn by_the_runner(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Runner | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Coordinator | Rights::Script | Rights::Person => {
            Err(Refusal::NotPermitted { problem: "only the runner records turns and verifications".to_owned() }.into())
        }
    }
}

/// Returns the agent that holds the task in this attempt. Refuses the number of an earlier attempt, because a program
/// runs only for the task's last claim.
fn holder(case: &Case<'_>, task: &Task, attempt: u32) -> Result<AgentId, DecisionStop> {
    match case.owner(task, Some(attempt))? {
        Actor::Agent(agent) => Ok(agent),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => {
            Err(Refusal::ClaimLost { task: task.id, holder: case.live_holder(task)?, attempt: task.attempt }.into())
        }
    }
}

pub(crate) fn start(case: &mut Case<'_>, start: &StartTurn) -> Result<Reply, DecisionStop> {
    by_the_runner(case)?;
    check::label("adapter", &start.adapter)?;
    check::name("runner", &start.runner)?;
    let (task, workflow) = case.task(start.task)?;
    let holder = holder(case, task, start.attempt)?;
    let agent = start.agent.map_or(Ok(holder), |agent| case.world.agent(agent).map(|found| found.id))?;
    case.world.want([NumberNeed::Turns(task.id).into(), Need::TurnRunning(task.id)])?;
    // Only a running turn (run of a program) of this attempt prevents a new turn. A turn of an earlier claim can be
    // ended only by its runner, and that runner may never come back.
    let running = case.world.running_turn(task.id)?.filter(|turn| turn.attempt == start.attempt);
    if !start.purpose.is_a_look()
        && let Some(running) = running
    {
        return Err(Refusal::state(format!("the turn {} of {} has not ended yet", running.id, task.id)).into());
    }
    let number = case.world.ask(&NumberNeed::Turns(task.id))? + 1;
    if number > limits::TURNS_MAX {
        return Err(
            Refusal::state(format!("{} has had {} turns, which is the limit", task.id, limits::TURNS_MAX)).into()
        );
    }
    let turn = Turn {
        id: TurnId::next(&mut case.ids),
        task: task.id,
        workflow: task.workflow,
        agent,
        attempt: start.attempt,
        number,
        purpose: start.purpose,
        adapter: start.adapter.clone(),
        runner: start.runner.clone(),
        started: case.now,
        state: TurnState::Running,
    };
    case.sign_of_life(Actor::Agent(holder), task, workflow)?;
    if !start.purpose.is_a_look() {
        lapse::take_up(case, holder, Some(task.id))?;
    }
    let reply = Reply::TurnStarted { turn: turn.id, number };
    case.events.push(Event::TurnStarted { turn: Box::new(turn) });
    Ok(reply)
}

/// Records the end of a turn (a run of an agent's program), even when the claim that it worked on has ended in the
/// meantime.
pub(crate) fn end(case: &mut Case<'_>, id: TurnId, ended: &TurnResult) -> Result<Reply, DecisionStop> {
    by_the_runner(case)?;
    check::optional(ended.reason.as_deref(), |text| check::size("reason", text, limits::SUMMARY_BYTES_MAX))?;
    check::optional(ended.conversation.as_deref(), |text| check::name("conversation", text))?;
    check::json("verdict", ended.verdict.as_ref())?;
    check::optional(ended.model.as_deref(), |text| check::name("model", text))?;
    let turn = case.world.turn(id)?;
    match &turn.state {
        TurnState::Running => {}
        TurnState::Ended(known) if **known == *ended => return Ok(Reply::TurnEnded),
        TurnState::Ended(known) => {
            return Err(Refusal::state(format!("{id} has ended already: {}", known.end)).into());
        }
    }
    let turn = Turn { state: TurnState::Ended(Box::new(ended.clone())), ..turn.clone() };
    case.events.push(Event::TurnEnded { turn: Box::new(turn) });
    Ok(Reply::TurnEnded)
}

pub(crate) fn verify(case: &mut Case<'_>, found: &RecordVerification) -> Result<Reply, DecisionStop> {
    by_the_runner(case)?;
    check::optional(found.output_ref.as_deref(), |text| check::size("output_ref", text, limits::SUMMARY_BYTES_MAX))?;
    check::json("evidence", Some(&found.evidence))?;
    let (task, workflow) = case.task(found.task)?;
    let agent = holder(case, task, found.attempt)?;
    let number = case.world.ask(&NumberNeed::Verifications(task.id))? + 1;
    let verification = Verification {
        task: task.id,
        workflow: task.workflow,
        number,
        attempt: found.attempt,
        turn: found.turn,
        by: Actor::Runner,
        mechanical: found.mechanical,
        semantic: found.semantic,
        output_ref: found.output_ref.clone(),
        evidence: found.evidence.clone(),
        at: case.now,
    };
    let failures = earlier_failures(case, task.id, found.attempt, number)? + u32::from(!verification.has_passed());
    case.sign_of_life(Actor::Agent(agent), task, workflow)?;
    case.events.push(Event::Verified { verification: Box::new(verification) });
    Ok(Reply::VerificationRecorded { number, failures })
}

/// Counts the earlier failed verifications of this attempt. Only the last 20 verifications of the task are read. This
/// is enough, because a task is blocked after its second failure.
fn earlier_failures(case: &Case<'_>, task: TaskId, attempt: u32, number: u32) -> Result<u32, DecisionStop> {
    const LAST: u32 = 20;
    let list = VerificationQuery { task, after: number.saturating_sub(LAST), limit: LAST };
    let failed = case.world.ask(&list)?.iter().filter(|row| row.attempt == attempt && !row.has_passed()).count();
    Ok(u32::try_from(failed).unwrap_or(u32::MAX))
}

pub(crate) fn see_runner(
    case: &mut Case<'_>,
    name: &str,
    host: &str,
    pid: u32,
    agents: &[String],
) -> Result<Reply, DecisionStop> {
    by_the_runner(case)?;
    check::name("name", name)?;
    check::name("host", host)?;
    check::count("agents", agents.len(), limits::RUNNER_AGENTS_MAX)?;
    agents.iter().try_for_each(|agent| check::label("agents", agent))?;
    let known = case.world.runner(name)?;
    let since = known.filter(|known| known.pid == pid && known.host == host).map_or(case.now, |known| known.since);
    let runner =
        Runner { name: name.to_owned(), host: host.to_owned(), pid, agents: agents.to_vec(), since, seen: case.now };
    case.events.push(Event::RunnerSeen { runner: Box::new(runner) });
    Ok(Reply::RunnerSeen)
}

pub(crate) fn forget_runner(case: &mut Case<'_>, name: &str) -> Result<Reply, DecisionStop> {
    by_the_runner(case)?;
    check::name("name", name)?;
    case.events.push(Event::RunnerGone { name: name.to_owned() });
    Ok(Reply::RunnerForgotten)
}
