//! A visitor below a turn of the runner: it acts as the turn's agent, on the turn's task, and owns nothing. Only the runner
//! holds the claim.
//!
//! There is a list of what goes below a turn. A tool that is on no list is refused there.

use engine::command::Target;
use engine::id::{AgentId, TaskId, TurnId};
use engine::{Command, Need, Refusal, Reply, Rights, Standing, limits};
use wire::lifecycle::{self, Call, Effect, Said};

use super::{Answer, Desk, Request, Stopped, Visitor, answered};
use crate::error::Error;
use crate::trust;
use crate::turn_proof;
use agents::host;

/// What the runner gave its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    pub turn: TurnId,
    pub agent: AgentId,
    pub task: TaskId,
    pub attempt: u32,
}

/// What becomes of a tool's call below a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BelowTurn {
    /// It is done as for any agent.
    Goes,
    /// It is about the turn's own task, and done as for any agent.
    OwnTask,
    /// It succeeds and changes nothing: the runner registered the agent and holds the claim.
    Unchanged,
    /// It is done for agents whose settings say `plans = true`.
    Plans,
    /// It is refused.
    Refused,
}

/// What goes below a turn, for every tool.
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
    // Of its documents only `blocked` and `inbox`.
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
    /// The turn this process runs below, if it is one of this store and this process belongs to it.
    pub async fn seat(&self) -> Result<Option<Seat>, Error> {
        let Some(turn) = std::env::var(host::TURN).ok().and_then(|text| text.parse::<TurnId>().ok()) else {
            return Ok(None);
        };
        match self.service.view(move |world| world.turn(turn).cloned()).await {
            // A turn that ended needs no proof, because everything below it is refused.
            Ok(row) if row.ended().is_none() && !self.belongs_to(turn) => Ok(None),
            Ok(row) => Ok(Some(Seat { turn, agent: row.agent, task: row.task, attempt: row.attempt })),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether this process belongs to a turn.
    pub(crate) fn belongs_to(&self, turn: TurnId) -> bool {
        self.surroundings.state.as_deref().is_some_and(|state| turn_proof::holds(state, turn))
    }

    /// A program that outlived its turn has nothing to say any more.
    pub(super) async fn still_runs(&self, seat: Seat) -> Result<(), Stopped> {
        let ended = self.service.view(move |world| world.turn(seat.turn).map(|turn| turn.ended().is_some())).await?;
        if !ended {
            return Ok(());
        }
        Err(Refusal::ClaimLost { task: seat.task, holder: None, attempt: seat.attempt }.into())
    }

    /// Decides on a call below a turn. `None` when it is to be done as for any agent.
    pub(super) async fn below_turn(&self, seat: Seat, request: &Request<'_>, call: &Call) -> Option<Answer> {
        let reads = lifecycle::Tool::find(call.tool()).is_some_and(|tool| tool.effect == Effect::Reads);
        if request.caller.agent != Some(seat.agent) && !reads {
            // Another agent is named: the engine says that this is none of the caller's.
            if let Err(stopped) = self.acting(request).await {
                return Some(Err(stopped));
            }
        }
        let found = BELOW_TURN.iter().find(|(tool, _)| *tool == call.tool()).map(|(_, below)| *below);
        match found {
            Some(BelowTurn::Goes) => None,
            Some(BelowTurn::OwnTask) => seat.own_task(call).err().map(Err),
            // The next task below a turn is its own, with its context.
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

    /// Answers a step of the lifecycle that the runner has done already.
    async fn unchanged(&self, seat: Seat, call: &Call) -> Answer {
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

    /// Whether the settings let the turn's agent add tasks.
    async fn may_plan(&self, seat: Seat) -> Result<bool, Stopped> {
        let slug = self.service.view(move |world| world.agent(seat.agent).map(|agent| agent.name.clone())).await?;
        let Some(root) = &self.surroundings.root else { return Ok(false) };
        let settings = trust::basics(root, self.surroundings.data.as_deref()).ok();
        Ok(settings.is_some_and(|found| found.team.agents.iter().any(|agent| agent.slug == slug && agent.plans)))
    }
}

impl Visitor {
    /// Somebody below a turn.
    pub fn seated(seat: Seat) -> Self {
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

impl Seat {
    /// Refuses what is about another task, and ends of the own task that follow from the turn's output.
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
            // An obstacle is the agent's to name; all else follows from its output.
            None | Some(Target::Planning | Target::InProgress { .. } | Target::Blocked { .. }) => Ok(()),
            Some(Target::Completed { .. }) => Err(self.by_output("VERIFICATION_REQUIRED")),
            Some(Target::Failed { .. } | Target::Paused { .. } | Target::Skipped { .. } | Target::Pending { .. }) => {
                Err(self.by_output("NOT_PERMITTED"))
            }
        }
    }

    /// Whether a command of a posted document may be given from here: what blocks the own task, and mail.
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
        Stopped::Said(Said {
            code: "NOT_ELIGIBLE",
            message: format!("this turn is for {} and no other task", self.task),
            recoverable: false,
            suggestion: "work on your task, and end your turn with its output".to_owned(),
            details: None,
        })
    }

    fn by_output(self, code: &'static str) -> Stopped {
        Stopped::Said(Said {
            code,
            message: format!("the runner holds {} and decides by the output of your turn", self.task),
            recoverable: false,
            suggestion: "end your turn with the output you were asked for; say in it what is done and what is not"
                .to_owned(),
            details: None,
        })
    }

    fn refused(self, tool: &str) -> Stopped {
        Stopped::Said(Said {
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
