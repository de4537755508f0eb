//! The end of a run: everyone is gone, the sweep comes by, and what can be done gets done.

use engine::command::Target;
use engine::id::AgentId;
use engine::task::{State, Status, Task};
use engine::touches::overlap;
use engine::workflow::WorkflowStatus;
use engine::{Caller, Command, Reply, Rights, Timestamp};

use crate::check::hold;
use crate::crew::Crew;
use crate::machine::{Broken, Machine, Step, Verdict};
use crate::plans::{ROLES, SKILLS};

/// Later than every lease, lock and clock of the run.
const LATER_MS: i64 = 24 * 3_600_000;

pub(crate) fn run(machine: &mut Machine, crew: &mut Crew) -> Verdict {
    crew.now += LATER_MS;
    let workflows: Vec<_> = machine.tables.workflows.keys().copied().collect();
    for workflow in &workflows {
        act(machine, crew, Caller::with_rights(Rights::Engine), Command::Sweep { workflow: *workflow })?;
    }
    let dead = machine.tables.tasks.values().find(|task| task.state.running_lease().is_some());
    hold!(dead.is_none(), "(c) nothing is held by the dead", "{dead:?}");
    for workflow in &workflows {
        if machine.tables.workflows[workflow].status == WorkflowStatus::Paused {
            let resume =
                Command::SetWorkflowStatus { workflow: *workflow, status: WorkflowStatus::InProgress, reason: None };
            act(machine, crew, Caller::with_rights(Rights::Person), resume)?;
        }
    }
    let finishers = ROLES.map(|role| finisher(machine, crew, role));
    for agent in finishers {
        finishers_work(machine, crew, agent?, &workflows)?;
    }
    // What one finishes may free what another may do.
    for _ in 0..machine.tables.tasks.len() {
        let steps = machine.tables.tasks.values().filter(|task| task.status() == Status::Completed).count();
        for agent in finishers_of(machine) {
            finishers_work(machine, crew, agent, &workflows)?;
        }
        if machine.tables.tasks.values().filter(|task| task.status() == Status::Completed).count() == steps {
            break;
        }
    }
    let left = machine.tables.tasks.values().find(|task| is_forgotten(machine, task));
    hold!(left.is_none(), "(c) what is ready can be claimed", "{left:?}");
    machine.audit()
}

fn act(machine: &mut Machine, crew: &mut Crew, caller: Caller, command: Command) -> Result<Option<Reply>, Broken> {
    let step = Step { caller, command, now: Timestamp(crew.now), seed: crew.rng.seed() };
    machine.act(&step).map(Result::ok)
}

fn finisher(machine: &mut Machine, crew: &mut Crew, role: &str) -> Result<AgentId, Broken> {
    let register = engine::command::Register {
        name: format!("finisher {role}"),
        runtime: "exec".to_owned(),
        role: Some(role.to_owned()),
        slug: None,
        capabilities: SKILLS.iter().map(|skill| (*skill).to_owned()).collect(),
        workflow: None,
        workspace_path: None,
        metadata: None,
    };
    match act(machine, crew, Caller::with_rights(Rights::Agent), Command::Register(register))? {
        Some(Reply::Registered { agent, .. }) => Ok(agent),
        other => Err(Broken { rule: "(c) an agent can register", what: format!("{other:?}") }),
    }
}

fn finishers_of(machine: &Machine) -> Vec<AgentId> {
    let named = machine.tables.agents.values().filter(|agent| agent.name.starts_with("finisher"));
    named.map(|agent| agent.id).collect()
}

fn finishers_work(
    machine: &mut Machine,
    crew: &mut Crew,
    agent: AgentId,
    workflows: &[engine::id::WorkflowId],
) -> Verdict {
    let runner = || Caller { rights: Rights::Runner, ..Caller::agent(agent) };
    for workflow in workflows {
        while let Some(Reply::Claimed { task, attempt, .. }) =
            act(machine, crew, runner(), Command::ClaimNext { workflow: *workflow, include_failed: true })?
        {
            let to = Target::Completed { outcome: Some("finished".to_owned()), detail: None };
            let reply = act(machine, crew, runner(), Command::Move { task, attempt: Some(attempt), to })?;
            hold!(reply.is_some(), "(c) who holds a task can complete it", "{task}");
        }
    }
    Ok(())
}

/// Open, with nothing in its way.
fn is_forgotten(machine: &Machine, task: &Task) -> bool {
    let tables = &machine.tables;
    let running = tables.workflows.get(&task.workflow).is_some_and(|workflow| workflow.status.is_running());
    let open = match &task.state {
        State::Pending { .. } => true,
        State::Failed { .. } => task.crashes < task.attempts_max,
        State::Planning { .. } | State::InProgress { .. } => true,
        State::Paused { .. } | State::Blocked(_) | State::Completed { .. } | State::Skipped { .. } => false,
    };
    // A paused task keeps its files.
    let busy = |other: &Task| {
        other.workflow == task.workflow && other.status() == Status::Paused && overlap(&task.touches, &other.touches)
    };
    running && open && crate::recount::unmet(tables, task.id) == 0 && !tables.tasks.values().any(busy)
}
