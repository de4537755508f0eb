//! Handles calls from processes that the runner started for a turn. Such a caller acts as the turn's agent, and only on
//! the turn's task. It holds no claim: the runner holds it.
//!
//! The list `BELOW_TURN` says what each tool may do in such a process. A tool that is not on the list is refused.

use engine::command::Target;
use engine::id::{AgentId, TaskId, TurnId};
use engine::{Command, Need, Refusal, Reply, Rights, Standing, limits};
use wire::lifecycle::{self, Call, Effect, ToolError};

use super::{Desk, Stopped, ToolAnswer, ToolRequest, Visitor, answered};
use crate::error::Error;
use crate::trust;
use crate::turn_proof;
use agents::host;

/// The turn that a caller's process belongs to, with the turn's agent, task and attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnSeat {
    pub turn: TurnId,
    pub agent: AgentId,
    pub task: TaskId,
    pub attempt: u32,
}

/// The way in which a tool's call is handled when it comes from a process of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BelowTurn {
    /// The call is performed as for any agent.
    Goes,
    /// The call must be about the turn's task, and is then performed as for any agent.
    OwnTask,
    /// The call succeeds and changes nothing: the runner has registered the agent and holds the claim.
    Unchanged,
    /// The call is performed if the agent has `plans = true` in the settings. Otherwise it is refused.
    Plans,
    /// The call is refused.
    Refused,
}

/// The way in which each tool's call is handled when it comes from a process of a turn.
pub(super) const BELOW_TURN: &[(&str, BelowTurn)] = &[
    ("agent_register", BelowTurn::Unchanged),
    ("agent_heartbeat", BelowTurn::Unchanged),
    ("agent_unregister", BelowTurn::Unchanged),
    ("task_claim", BelowTurn::Unchanged),
    ("task_next", BelowTurn::Unchanged),
    ("task_release", BelowTurn::Unchanged),
    ("checkpoint_add", BelowTurn::OwnTask),
    ("task_set_plan", BelowTurn::OwnTask),
    ("task_update_status", BelowTurn::OwnTask),
    ("review_request", BelowTurn::Goes),
    ("review_answer", BelowTurn::Goes),
    ("review_status", BelowTurn::Goes),
    ("inbox_read", BelowTurn::Goes),
    ("inbox_ack", BelowTurn::Goes),
    ("message_send", BelowTurn::Goes),
    ("message_broadcast", BelowTurn::Goes),
    ("message_list", BelowTurn::Goes),
    ("message_get", BelowTurn::Goes),
    ("message_mark_read", BelowTurn::Goes),
    ("message_archive", BelowTurn::Goes),
    ("message_count_unread", BelowTurn::Goes),
    // Of the documents that `wire_post` takes, `TurnSeat::allows` lets only `blocked` and `inbox` through.
    ("wire_post", BelowTurn::Goes),
    ("task_load_context", BelowTurn::Goes),
    ("task_get", BelowTurn::Goes),
    ("task_get_available", BelowTurn::Goes),
    ("task_check_dependencies", BelowTurn::Goes),
    ("task_wait", BelowTurn::Goes),
    ("checkpoint_list", BelowTurn::Goes),
    ("workflow_list", BelowTurn::Goes),
    ("workflow_get", BelowTurn::Goes),
    ("workflow_progress", BelowTurn::Goes),
    ("workflow_next_tasks", BelowTurn::Goes),
    ("workflow_get_summary", BelowTurn::Goes),
    ("workflow_execution_status", BelowTurn::Goes),
    ("workflow_check_merge", BelowTurn::Goes),
    ("workflow_lock_info", BelowTurn::Goes),
    ("workflow_list_repositories", BelowTurn::Goes),
    ("workspace_list", BelowTurn::Goes),
    ("repository_list", BelowTurn::Goes),
    ("repository_get", BelowTurn::Goes),
    ("template_list", BelowTurn::Goes),
    ("agent_get", BelowTurn::Goes),
    ("agent_list", BelowTurn::Goes),
    ("workflow_add_task", BelowTurn::Plans),
    ("agent_update", BelowTurn::Refused),
    ("task_replan", BelowTurn::Refused),
    ("task_assign_workspace", BelowTurn::Refused),
    ("workflow_create", BelowTurn::Refused),
    ("workflow_set_plan", BelowTurn::Refused),
    ("workflow_replan", BelowTurn::Refused),
    ("workflow_remove_task", BelowTurn::Refused),
    ("workflow_update_status", BelowTurn::Refused),
    ("workflow_start", BelowTurn::Refused),
    ("workflow_suspend", BelowTurn::Refused),
    ("workflow_resume", BelowTurn::Refused),
    ("workflow_set_parallelism", BelowTurn::Refused),
    ("workflow_set_config", BelowTurn::Refused),
    ("workflow_lock", BelowTurn::Refused),
    ("workflow_unlock", BelowTurn::Refused),
    ("workflow_add_repository", BelowTurn::Refused),
    ("workflow_remove_repository", BelowTurn::Refused),
    ("workspace_create", BelowTurn::Refused),
    ("workspace_update", BelowTurn::Refused),
    ("repository_register", BelowTurn::Refused),
    ("template_create", BelowTurn::Refused),
    ("template_apply", BelowTurn::Refused),
];

impl Desk {
    /// Returns the turn that this process belongs to. Returns `None` if the turn is not in this store, or if the
    /// process cannot prove that it belongs to the turn.
    pub async fn seat(&self) -> Result<Option<TurnSeat>, Error> {
        let Some(turn) = std::env::var(host::TURN).ok().and_then(|text| text.parse::<TurnId>().ok()) else {
            return Ok(None);
        };
        match self.service.view(move |world| world.turn(turn).cloned()).await {
            // The process must prove that it belongs to a running turn. For an ended turn no proof is needed, because
            // every call is refused there.
            Ok(row) if row.ended().is_none() && !self.belongs_to(turn) => Ok(None),
            Ok(row) => Ok(Some(TurnSeat { turn, agent: row.agent, task: row.task, attempt: row.attempt })),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells whether this process can prove that it belongs to a turn.
    pub(crate) fn belongs_to(&self, turn: TurnId) -> bool {
        self.surroundings.state.as_deref().is_some_and(|state| turn_proof::holds(state, turn))
    }

    /// Refuses the call when the caller's turn has ended and its program still runs.
    pub(super) async fn still_runs(&self, seat: TurnSeat) -> Result<(), Stopped> {
        let ended = self.service.view(move |world| world.turn(seat.turn).map(|turn| turn.ended().is_some())).await?;
        if !ended {
            return Ok(());
        }
        Err(Refusal::ClaimLost { task: seat.task, holder: None, attempt: seat.attempt }.into())
    }

    /// Handles a call from a process of a turn. Returns `None` when the call is then performed as for any agent.
    pub(super) async fn below_turn(
        &self,
        seat: TurnSeat,
        request: &ToolRequest<'_>,
        call: &Call,
    ) -> Option<ToolAnswer> {
        let reads = lifecycle::Tool::find(call.tool()).is_some_and(|tool| tool.effect == Effect::Reads);
        if request.caller.agent != Some(seat.agent) && !reads {
            // The call names another agent than the turn's. The engine refuses such a call with the right code.
            if let Err(stopped) = self.acting(request).await {
                return Some(Err(stopped));
            }
        }
        let found = BELOW_TURN.iter().find(|(tool, _)| *tool == call.tool()).map(|(_, below)| *below);
        match found {
            Some(BelowTurn::Goes) => None,
            Some(BelowTurn::OwnTask) => seat.own_task(call).err().map(Err),
            // In a turn, `task_next` does not claim a task. It returns the turn's own task with its context, so it is
            // performed.
            Some(BelowTurn::Unchanged) if matches!(call, Call::TaskNext(_)) => None,
            Some(BelowTurn::Unchanged) => Some(self.unchanged(seat, call).await),
            Some(BelowTurn::Plans) => match self.may_plan(seat).await {
                Ok(true) => None,
                Ok(false) => Some(Err(seat.refused(call.tool()))),
                Err(stopped) => Some(Err(stopped)),
            },
            Some(BelowTurn::Refused) | None => Some(Err(seat.refused(call.tool()))),
        }
    }

    /// Answers a call for a step that the runner has done already, such as claiming the task. The call changes nothing.
    async fn unchanged(&self, seat: TurnSeat, call: &Call) -> ToolAnswer {
        let reply = match call.command() {
            Some(Command::Unregister) => Reply::Unregistered { released: 0 },
            Some(Command::Heartbeat { .. }) => Reply::Alive { next_heartbeat_ms: limits::HEARTBEAT_MS },
            Some(Command::Release { task, .. }) if task == seat.task => Reply::Released,
            Some(Command::Claim { task }) if task == seat.task => {
                let found = self.service.view(move |world| world.task(task).cloned()).await?;
                let until = found.state.lease().map_or_else(|| self.service.now(), |lease| lease.until);
                Reply::Claimed { task, attempt: seat.attempt, until, review: found.review }
            }
            Some(Command::Claim { .. }) => return Err(seat.elsewhere()),
            Some(Command::Register(_)) => {
                let registered = self.service.view(move |world| {
                    world.want([Need::Agent(seat.agent), Need::Held(seat.agent)])?;
                    let agent = world.agent(seat.agent)?;
                    let note = Some(format!("this turn belongs to the agent {}, whatever name is given", agent.slug));
                    let (slug, name) = (agent.slug.clone(), agent.name.clone());
                    Ok(Reply::Registered { agent: agent.id, slug, name, resumed: true, note, holds: vec![seat.task] })
                });
                registered.await?
            }
            _ => return Err(seat.refused(call.tool())),
        };
        answered(call, &reply)
    }

    /// Tells whether the settings allow the turn's agent to add tasks.
    async fn may_plan(&self, seat: TurnSeat) -> Result<bool, Stopped> {
        let slug = self.service.view(move |world| world.agent(seat.agent).map(|agent| agent.name.clone())).await?;
        let Some(root) = &self.surroundings.root else { return Ok(false) };
        let settings = trust::basics(root, self.surroundings.data.as_deref()).ok();
        Ok(settings.is_some_and(|found| found.team.agents.iter().any(|agent| agent.slug == slug && agent.plans)))
    }
}

impl Visitor {
    /// Returns the caller for a process of a turn.
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
    /// Refuses a call about another task than the turn's. Also refuses to set a status that only the runner sets, from
    /// the turn's output.
    fn own_task(self, call: &Call) -> Result<(), Stopped> {
        let (task, to) = match call.command() {
            Some(Command::AddCheckpoint { task, .. } | Command::SetTaskPlan { task, .. }) => (task, None),
            Some(Command::Move { task, to, .. }) => (task, Some(to)),
            _ => return Err(self.refused(call.tool())),
        };
        if task != self.task {
            return Err(self.refused(call.tool()));
        }
        match to {
            // An agent may report with a call that it is blocked. Every other end of the task comes from the turn's
            // output, and the runner records it.
            None | Some(Target::Planning | Target::InProgress { .. } | Target::Blocked { .. }) => Ok(()),
            Some(Target::Completed { .. }) => Err(self.by_output("VERIFICATION_REQUIRED")),
            Some(Target::Failed { .. } | Target::Paused { .. } | Target::Skipped { .. } | Target::Pending { .. }) => {
                Err(self.by_output("NOT_PERMITTED"))
            }
        }
    }

    /// Refuses a command of a posted document, unless it blocks the turn's task or sends mail.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a list of what goes; every other command is refused")]
    pub(super) fn allows(self, command: &Command) -> Result<(), Stopped> {
        let goes = match command {
            Command::Send { .. } => true,
            Command::Move { task, to: Target::Blocked { .. }, .. } => *task == self.task,
            _ => false,
        };
        if goes { Ok(()) } else { Err(self.refused("wire_post")) }
    }

    fn elsewhere(self) -> Stopped {
        Stopped::Said(ToolError {
            code: "NOT_ELIGIBLE",
            message: format!("this turn is for {} and no other task", self.task),
            recoverable: false,
            suggestion: "work on your task, and end your turn with its output".to_owned(),
            details: None,
        })
    }

    fn by_output(self, code: &'static str) -> Stopped {
        Stopped::Said(ToolError {
            code,
            message: format!("the runner holds {} and decides by the output of your turn", self.task),
            recoverable: false,
            suggestion: "end your turn with the output you were asked for; say in it what is done and what is not"
                .to_owned(),
            details: None,
        })
    }

    fn refused(self, tool: &str) -> Stopped {
        Stopped::Said(ToolError {
            code: "NOT_PERMITTED",
            message: format!("{tool} is not for a program below a turn, which works on {} only", self.task),
            recoverable: false,
            suggestion: "work on your task; say in your output what else should be done, or send `human` a message"
                .to_owned(),
            details: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_on_the_list_once() {
        for tool in wire::lifecycle::TOOLS {
            let found = BELOW_TURN.iter().filter(|(name, _)| *name == tool.name).count();
            assert_eq!(found, 1, "{} must be in BELOW_TURN once", tool.name);
        }
        for (name, below) in BELOW_TURN {
            let tool = wire::lifecycle::Tool::find(name).unwrap_or_else(|| panic!("there is no tool {name}"));
            let reads = tool.effect == wire::lifecycle::Effect::Reads;
            assert!(!reads || *below == BelowTurn::Goes, "{name} only reads");
        }
    }
}
