//! Handles calls from processes that the runner started for a turn, that is, for one run of an agent's program on a
//! task. Such a caller acts as the turn's agent, and only on the turn's task. The runner holds the claim on the task,
//! not the caller.
//!
//! `BelowTurn::of` says for each tool how its call is handled in such a process.

use engine::command::Target;
use engine::id::{AgentId, TaskId, TurnId};
use engine::world::TaskIdNeed;
use engine::{Need, Refusal, Reply, Rights, Standing, limits};
use wire::lifecycle::{Call, Effect, ToolError};
use wire::message::WirePayload;

use super::{Desk, Stopped, ToolAnswer, ToolRequest, Visitor, answered};
use agents::host;
use base::error::Error;
use base::project::trust;

/// The turn (one run of an agent's program by Handover's runner) that a caller's process belongs to. Includes the
/// turn's agent and task, and the attempt, that is, the number of the claim on the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnSeat {
    pub turn: TurnId,
    pub agent: AgentId,
    pub task: TaskId,
    pub attempt: u32,
}

/// The way in which a tool's call is handled when it comes from a process that Handover's runner started for a turn. A
/// turn is one run of an agent's program.
#[derive(Debug)]
enum BelowTurn {
    /// The call of a turn's program (a program that the runner started for one run) is performed like the call of any
    /// agent.
    Goes,
    /// The call of a turn's program (a program that the runner started for one run) is performed like the call of any
    /// agent. This needs two conditions: `task` is the turn's task, and the program may set the status `to`.
    OwnTask { task: TaskId, to: Option<Target> },
    /// The runner has already done this step, such as the claim on the task, for the program that it started. The call
    /// succeeds and changes nothing.
    Done(RunnerStep),
    /// The call adds tasks. It is performed if the agent that makes the call has `plans = true` in the settings.
    /// Otherwise it is refused.
    Plans,
    /// The call is refused, because a program that the runner started may not make it.
    Refused,
}

/// A step that the runner does for a program that it started. If the program also asks for this step, its call changes
/// nothing.
#[derive(Debug)]
enum RunnerStep {
    Register,
    Heartbeat,
    Unregister,
    Claim(TaskId),
    Release(TaskId),
}

impl BelowTurn {
    fn of(call: &Call) -> Self {
        match call {
            // In a turn (one run of an agent's program by the runner), `task_next` claims no task. It returns the
            // turn's own task with its context.
            Call::TaskNext(_) => Self::Goes,
            // These calls include `wire_post`. Of the documents that it can post, `TurnSeat::allows` accepts only the
            // kinds `blocked` and `inbox`.
            Call::ReviewRequest(_)
            | Call::ReviewAnswer(_)
            | Call::ReviewStatusGet(_)
            | Call::InboxRead(_)
            | Call::InboxAck(_)
            | Call::MessageSend(_)
            | Call::MessageBroadcast(_)
            | Call::MessageList(_)
            | Call::MessageGet(_)
            | Call::MessageMarkRead(_)
            | Call::MessageArchive(_)
            | Call::MessageCountUnread(_)
            | Call::WirePost(_)
            | Call::TaskLoadContext(_)
            | Call::TaskGet(_)
            | Call::TaskGetAvailable(_)
            | Call::TaskCheckDependencies(_)
            | Call::TaskWait(_)
            | Call::CheckpointList(_)
            | Call::WorkflowList(_)
            | Call::WorkflowGet(_)
            | Call::WorkflowProgress(_)
            | Call::WorkflowNextTasks(_)
            | Call::WorkflowGetSummary(_)
            | Call::WorkflowExecutionStatus(_)
            | Call::WorkflowCheckMerge(_)
            | Call::WorkflowLockInfo(_)
            | Call::WorkflowListRepositories(_)
            | Call::WorkspaceList(_)
            | Call::RepositoryList(_)
            | Call::RepositoryGet(_)
            | Call::TemplateList(_)
            | Call::AgentGet(_)
            | Call::AgentList(_) => Self::Goes,
            Call::CheckpointAdd(asked) => Self::OwnTask { task: asked.task_id, to: None },
            Call::TaskSetPlan(asked) => Self::OwnTask { task: asked.id, to: None },
            Call::TaskUpdateStatus(asked) => Self::OwnTask { task: asked.id, to: Some(asked.target()) },
            Call::AgentRegister(_) => Self::Done(RunnerStep::Register),
            Call::AgentHeartbeat(_) => Self::Done(RunnerStep::Heartbeat),
            Call::AgentUnregister(_) => Self::Done(RunnerStep::Unregister),
            Call::TaskClaim(asked) => Self::Done(RunnerStep::Claim(asked.task_id)),
            Call::TaskRelease(asked) => Self::Done(RunnerStep::Release(asked.task_id)),
            Call::WorkflowAddTask(_) => Self::Plans,
            Call::AgentUpdate(_)
            | Call::TaskReplan(_)
            | Call::TaskAssignWorkspace(_)
            | Call::WorkflowCreate(_)
            | Call::WorkflowSetPlan(_)
            | Call::WorkflowReplan(_)
            | Call::WorkflowRemoveTask(_)
            | Call::WorkflowUpdateStatus(_)
            | Call::WorkflowStart(_)
            | Call::WorkflowSuspend(_)
            | Call::WorkflowResume(_)
            | Call::WorkflowSetParallelism(_)
            | Call::WorkflowSetConfig(_)
            | Call::WorkflowLock(_)
            | Call::WorkflowUnlock(_)
            | Call::WorkflowAddRepository(_)
            | Call::WorkflowRemoveRepository(_)
            | Call::WorkspaceCreate(_)
            | Call::WorkspaceUpdate(_)
            | Call::RepositoryRegister(_)
            | Call::TemplateCreate(_)
            | Call::TemplateApply(_) => Self::Refused,
        }
    }
}

impl Desk {
    /// Returns the turn (one run of an agent's program by Handover's runner) that this process belongs to. Returns
    /// `None` if the turn is not in this store, or if the process cannot prove that it belongs to the turn.
    pub async fn seat(&self) -> Result<Option<TurnSeat>, Error> {
        let Some(turn) = std::env::var(host::TURN).ok().and_then(|text| text.parse::<TurnId>().ok()) else {
            return Ok(None);
        };
        match self.service.view(move |world| world.turn(turn).cloned()).await {
            // The process must prove that it belongs to a running turn (a run of an agent's program by the runner). For
            // an ended turn no proof is needed, because every call in an ended turn is refused.
            Ok(row) if row.ended().is_none() && !self.belongs_to(turn) => Ok(None),
            Ok(row) => Ok(Some(TurnSeat { turn, agent: row.agent, task: row.task, attempt: row.attempt })),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells whether this process can prove that it belongs to a turn, that is, to a run of an agent's program by the
    /// runner.
    pub(crate) fn belongs_to(&self, turn: TurnId) -> bool {
        self.surroundings.state.as_deref().is_some_and(|state| crate::below::is_part_of_turn(state, turn))
    }

    /// Refuses the call when the runner has ended the caller's turn (its run of the agent's program), but the program
    /// still runs.
    pub(super) async fn still_runs(&self, seat: TurnSeat) -> Result<(), Stopped> {
        let ended = self.service.view(move |world| world.turn(seat.turn).map(|turn| turn.ended().is_some())).await?;
        if !ended {
            return Ok(());
        }
        Err(Refusal::ClaimLost { task: seat.task, holder: None, attempt: seat.attempt }.into())
    }

    /// Handles a call from a process that the runner started for a turn (one run of an agent's program). Returns `None`
    /// if the call is to be performed like the call of any agent.
    pub(super) async fn below_turn(
        &self,
        seat: TurnSeat,
        request: &ToolRequest<'_>,
        call: &Call,
    ) -> Option<ToolAnswer> {
        let tool = call.tool();
        if request.caller.agent != Some(seat.agent) && tool.effect != Effect::Reads {
            // A program that the runner started for a turn (one run of an agent's program) may act only as the turn's
            // agent. If the call names another agent, return the refusal of `acting`, because it has the right error
            // code.
            if let Err(stopped) = self.acting(request).await {
                return Some(Err(stopped));
            }
        }
        // A program that the runner started may read everything that an agent may read.
        let below = if tool.effect == Effect::Reads { BelowTurn::Goes } else { BelowTurn::of(call) };
        match below {
            BelowTurn::Goes => None,
            BelowTurn::OwnTask { task, to } => seat.check_own(tool.name, task, to.as_ref()).err().map(Err),
            BelowTurn::Done(step) => {
                let reply = self.done_step(seat, tool.name, &step).await;
                Some(reply.and_then(|reply| answered(call, &reply)))
            }
            BelowTurn::Plans => match self.may_plan(seat).await {
                Ok(true) => None,
                Ok(false) => Some(Err(seat.refused(tool.name))),
                Err(stopped) => Some(Err(stopped)),
            },
            BelowTurn::Refused => Some(Err(seat.refused(tool.name))),
        }
    }

    /// Returns the reply when a program that the runner started asks for a step that the runner has done already, such
    /// as a claim.
    async fn done_step(&self, seat: TurnSeat, tool: &str, step: &RunnerStep) -> Result<Reply, Stopped> {
        match step {
            RunnerStep::Register => self.registered(seat).await,
            RunnerStep::Heartbeat => Ok(Reply::Alive { next_heartbeat_ms: limits::HEARTBEAT_MS }),
            RunnerStep::Unregister => Ok(Reply::Unregistered { released: 0 }),
            RunnerStep::Claim(task) if *task == seat.task => self.claimed(seat).await,
            RunnerStep::Claim(_) => Err(seat.elsewhere()),
            RunnerStep::Release(task) if *task == seat.task => Ok(Reply::Released),
            RunnerStep::Release(_) => Err(seat.refused(tool)),
        }
    }

    /// Returns the reply when a program that the runner started registers an agent. The reply names the agent for which
    /// the runner started the program.
    async fn registered(&self, seat: TurnSeat) -> Result<Reply, Stopped> {
        let registered = self.service.view(move |world| {
            world.want([Need::Agent(seat.agent), TaskIdNeed::HeldBy(seat.agent).into()])?;
            let agent = world.agent(seat.agent)?;
            let note = Some(format!(
                "this turn belongs to the agent {}, so you are that agent whatever name you give",
                agent.slug
            ));
            let (slug, name) = (agent.slug.clone(), agent.name.clone());
            Ok(Reply::Registered { agent: agent.id, slug, name, resumed: true, note, holds: vec![seat.task] })
        });
        Ok(registered.await?)
    }

    /// Returns the reply when a program that the runner started claims its own task. The reply describes the claim that
    /// the runner holds.
    async fn claimed(&self, seat: TurnSeat) -> Result<Reply, Stopped> {
        let task = seat.task;
        let found = self.service.view(move |world| world.task(task).cloned()).await?;
        let until = found.state.lease().map_or_else(|| self.service.now(), |lease| lease.until);
        Ok(Reply::Claimed { task, attempt: seat.attempt, until, review: found.review })
    }

    /// Tells whether the settings allow the agent of a turn (a run of its program by the runner) to add tasks.
    async fn may_plan(&self, seat: TurnSeat) -> Result<bool, Stopped> {
        // The runner registers an agent under a name that is the agent's slug (its short name) in the settings. So
        // compare the name and not the slug in the store: that slug may end with a number, when another agent had the
        // same slug before.
        let name = self.service.view(move |world| world.agent(seat.agent).map(|agent| agent.name.clone())).await?;
        let Some(root) = &self.surroundings.root else { return Ok(false) };
        let settings = trust::basics(root, self.surroundings.data.as_deref()).ok();
        Ok(settings.is_some_and(|found| found.team.agents.iter().any(|agent| agent.slug == name && agent.plans)))
    }
}

impl Visitor {
    /// Returns the caller for a process that the runner started for a turn (one run of an agent's program).
    pub fn seated(seat: TurnSeat) -> Self {
        Self {
            rights: Rights::Agent,
            standing: Standing::Client,
            agent: Some(seat.agent),
            bound: true,
            owner: seat.turn.to_string(),
            seat: Some(seat),
            ..Self::person()
        }
    }
}

impl TurnSeat {
    /// Refuses a call about another task than the one for which the runner started the program. Also refuses to set a
    /// status that only the runner sets, after it has read the output of the program.
    fn check_own(self, tool: &str, task: TaskId, to: Option<&Target>) -> Result<(), Stopped> {
        if task != self.task {
            return Err(self.refused(tool));
        }
        match to {
            // A program that the runner started may report with a call that its task is blocked. The runner records
            // every other end of the task, after it has read the output of the program.
            None | Some(Target::Planning | Target::InProgress { .. } | Target::Blocked { .. }) => Ok(()),
            Some(Target::Completed { .. }) => Err(self.by_output("VERIFICATION_REQUIRED")),
            Some(Target::Failed { .. } | Target::Paused { .. } | Target::Skipped { .. } | Target::Pending { .. }) => {
                Err(self.by_output("NOT_PERMITTED"))
            }
        }
    }

    /// Refuses a document of the Agent Wire protocol that a program of the runner posts, unless the document blocks the
    /// program's own task or sends mail.
    pub(super) fn allows(self, payload: &WirePayload) -> Result<(), Stopped> {
        let goes = match payload {
            WirePayload::Inbox(_) => true,
            WirePayload::Blocked(blocked) => blocked.task_id.as_str() == self.task.to_string(),
            WirePayload::Brief(_) | WirePayload::Complete(_) | WirePayload::Claim(_) => false,
        };
        if goes { Ok(()) } else { Err(self.refused("wire_post")) }
    }

    fn elsewhere(self) -> Stopped {
        Stopped::Said(ToolError {
            code: "NOT_ELIGIBLE",
            message: format!("this turn works only on {}, so it cannot claim another task", self.task),
            recoverable: false,
            suggestion: "work on your task, and end your turn with its output".to_owned(),
            details: None,
        })
    }

    fn by_output(self, code: &'static str) -> Stopped {
        Stopped::Said(ToolError {
            code,
            message: format!("the runner holds {} and sets its status from the output of your turn", self.task),
            recoverable: false,
            suggestion: "end your turn with the output you were asked for; say in it what is done and what is not"
                .to_owned(),
            details: None,
        })
    }

    fn refused(self, tool: &str) -> Stopped {
        Stopped::Said(ToolError {
            code: "NOT_PERMITTED",
            message: format!("a turn may not call {tool}: it works only on {}", self.task),
            recoverable: false,
            suggestion: "work on your task; say in your output what else should be done, or send `human` a message"
                .to_owned(),
            details: None,
        })
    }
}
