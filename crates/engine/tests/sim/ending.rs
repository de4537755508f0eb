//! The end of a run of the simulator: all agents are gone, and their expired leases are ended. Then new agents must be
//! able to claim and complete every task whose claim nothing prevents.

use engine::approval::{ApprovalDecision, Source};
use engine::command::{EndRound, OpenReview, RoundAnswer, RoundEnd, StartRound, Target};
use engine::id::{AgentId, TaskId};
use engine::review::ReviewedVersion;
use engine::task::{Status, Task, TaskState};
use engine::touches::overlap;
use engine::turn::{Spent, StoredObject};
use engine::workflow::WorkflowStatus;
use engine::{Caller, Command, Reply, Rights, Timestamp};

use crate::check::hold;
use crate::crew::Crew;
use crate::machine::{Broken, Machine, Step, Verdict};
use crate::plans::{ROLES, SKILLS};

/// A time span, in milliseconds, after which every lease and lock of the simulated run has expired, on every clock.
const LATER_MS: i64 = 25 * 3_600_000;

pub(crate) fn run(machine: &mut Machine, crew: &mut Crew) -> Verdict {
    crew.now += LATER_MS;
    // Let all open approvals expire. The tasks that were paused because of them resume.
    while let Some(Reply::ApprovalsExpired { more: true, .. }) =
        act(machine, crew, Caller::with_rights(Rights::Engine), Command::ExpireApprovals)?
    {}
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
    let mut finishers = Vec::new();
    for role in ROLES {
        finishers.push((role, finisher(machine, crew, role)?));
    }
    // Each iteration completes one task, so there are at most as many iterations as tasks.
    while let Some(task) = machine.tables.tasks.values().find(|task| is_forgotten(machine, task)).cloned() {
        let fits = |(role, _): &&(&str, AgentId)| task.role.as_deref().is_none_or(|wanted| wanted == *role);
        let agent = finishers.iter().find(fits).map_or(AgentId::FIRST, |(_, agent)| *agent);
        finish(machine, crew, agent, &task)?;
    }
    machine.audit()
}

fn act(machine: &mut Machine, crew: &mut Crew, caller: Caller, command: Command) -> Result<Option<Reply>, Broken> {
    let step = Step { caller, command, now: Timestamp(crew.now), seed: crew.rng.seed() };
    machine.act(&step).map(Result::ok)
}

fn finisher(machine: &mut Machine, crew: &mut Crew, role: &str) -> Result<AgentId, Broken> {
    let register = engine::command::Register {
        role: Some(role.to_owned()),
        capabilities: SKILLS.iter().map(|skill| (*skill).to_owned()).collect(),
        ..engine::command::Register::named(format!("finisher {role}"), "exec")
    };
    match act(machine, crew, Caller::with_rights(Rights::Agent), Command::Register(register))? {
        Some(Reply::Registered { agent, .. }) => Ok(agent),
        other => Err(Broken { rule: "(c) an agent can register", what: format!("{other:?}") }),
    }
}

/// Claims the next task of the workflow to which this ready task belongs, and completes the claimed task.
fn finish(machine: &mut Machine, crew: &mut Crew, agent: AgentId, ready: &Task) -> Verdict {
    let runner = || Caller { rights: Rights::Runner, ..Caller::agent(agent) };
    if ready.gate {
        open_gate(machine, crew, ready)?;
    }
    let next = Command::ClaimNext { workflow: ready.workflow, include_failed: true };
    let reply = act(machine, crew, runner(), next)?;
    let Some(Reply::Claimed { task, attempt, .. }) = reply else {
        hold!(false, "(c) what is ready can be claimed", "{ready:?}, but {reply:?}");
        return Ok(());
    };
    if machine.tables.tasks.get(&task).is_some_and(|task| task.review) {
        review(machine, crew, agent, (task, attempt))?;
    }
    let to = Target::Completed { outcome: Some("finished".to_owned()), detail: None, delivery: None };
    let reply = act(machine, crew, runner(), Command::Move { task, attempt: Some(attempt), to })?;
    hold!(reply.is_some(), "(c) who holds a task can complete it", "{task}");
    Ok(())
}

/// Opens a review for the work of a claim and records that the reviewing agent found nothing.
fn review(machine: &mut Machine, crew: &mut Crew, agent: AgentId, claim: (TaskId, u32)) -> Verdict {
    let runner = || Caller { rights: Rights::Runner, ..Caller::agent(agent) };
    let open = OpenReview { provider: "critic".to_owned(), gate: Some(claim), rounds_max: None };
    let reply = act(machine, crew, runner(), Command::OpenReview(open))?;
    let Some(Reply::ReviewOpened { review }) = reply else {
        hold!(false, "(d) what is held can be reviewed", "{claim:?}, but {reply:?}");
        return Ok(());
    };
    let request = StoredObject { hash: "00".to_owned(), bytes: 2 };
    let artifact = ReviewedVersion { media_type: "text/plain".to_owned(), reference: None, request };
    let (host, until) = ("here".to_owned(), Timestamp(crew.now + LATER_MS));
    let start = StartRound { review, number: 1, turn: None, artifact, decisions: Vec::new(), host, until };
    act(machine, crew, runner(), Command::StartRound(Box::new(start)))?;
    let answer = RoundAnswer {
        confidence: "high".to_owned(),
        summary: "fine".to_owned(),
        found: Vec::new(),
        conversation: None,
        response: None,
        spent: Spent::default(),
    };
    let end = EndRound { review, number: 1, tries: 1, end: RoundEnd::Answered(answer) };
    act(machine, crew, runner(), Command::EndRound(Box::new(end))).map(|_| ())
}

/// Requests an approval for the next claim of a gated task, and approves the request as a person.
fn open_gate(machine: &mut Machine, crew: &mut Crew, task: &Task) -> Verdict {
    let ask = crew.asked(Source::ExecGate, Some((task.id, task.attempt + 1)));
    let reply = act(machine, crew, Caller::with_rights(Rights::Engine), ask)?;
    let Some(Reply::ApprovalAsked { approval, .. }) = reply else {
        hold!(false, "(k) a gate that is closed can be asked for", "{task:?}, but {reply:?}");
        return Ok(());
    };
    let approve = Command::DecideApproval { approval, decision: ApprovalDecision::Approve };
    act(machine, crew, Caller::with_rights(Rights::Person), approve).map(|_| ())
}

/// Returns true when a task is not finished although nothing prevents an agent from claiming it.
fn is_forgotten(machine: &Machine, task: &Task) -> bool {
    let tables = &machine.tables;
    let running = tables.workflows.get(&task.workflow).is_some_and(|workflow| workflow.status.is_running());
    let open = match &task.state {
        TaskState::Pending { .. } => true,
        TaskState::Failed { .. } => task.crashes < task.attempts_max,
        TaskState::Planning { .. } | TaskState::InProgress { .. } => true,
        TaskState::Paused { .. } | TaskState::Blocked(_) | TaskState::Completed { .. } | TaskState::Skipped { .. } => {
            false
        }
    };
    // While a task is paused, no agent can claim another task that changes the same files.
    let busy = |other: &Task| {
        other.workflow == task.workflow && other.status() == Status::Paused && overlap(&task.touches, &other.touches)
    };
    running && open && crate::recount::unmet(tables, task.id) == 0 && !tables.tasks.values().any(busy)
}
