//! A visitor below a turn of the runner: it acts as the turn's agent, on the turn's task, and owns nothing. Only the runner
//! holds the claim.

use engine::command::Target;
use engine::id::{AgentId, TaskId, TurnId};
use engine::{Command, Refusal, Reply, Rights};
use wire::lifecycle::{Call, Said};

use super::{Answer, Desk, Stopped, Visitor, answered};
use crate::error::Error;
use crate::runner::host;

/// What the runner gave its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    pub turn: TurnId,
    pub agent: AgentId,
    pub task: TaskId,
    pub attempt: u32,
}

impl Desk {
    /// The turn this process runs below, if it is one of this store.
    pub async fn seat(&self) -> Result<Option<Seat>, Error> {
        let Some(turn) = std::env::var(host::TURN).ok().and_then(|text| text.parse::<TurnId>().ok()) else {
            return Ok(None);
        };
        match self.service.view(move |world| world.turn(turn).cloned()).await {
            Ok(row) => Ok(Some(Seat { turn, agent: row.agent, task: row.task, attempt: row.attempt })),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A program that outlived its turn has nothing to say any more.
    pub(super) async fn still_runs(&self, seat: Seat) -> Result<(), Stopped> {
        let ended = self.service.view(move |world| world.turn(seat.turn).map(|turn| turn.ended().is_some())).await?;
        if !ended {
            return Ok(());
        }
        Err(Refusal::ClaimLost { task: seat.task, holder: None, attempt: seat.attempt }.into())
    }
}

impl Visitor {
    /// Somebody below a turn.
    pub fn seated(seat: Seat) -> Self {
        Self {
            rights: Rights::Agent,
            agent: Some(seat.agent),
            bound: true,
            owner: seat.turn.to_string(),
            seat: Some(seat),
            ..Self::person()
        }
    }
}

impl Seat {
    /// Calls that end nothing here, although they would elsewhere.
    pub(super) fn answers(call: &Call, command: &Command) -> Option<Answer> {
        matches!(command, Command::Unregister).then(|| answered(call, &Reply::Unregistered { released: 0 }))
    }

    /// Whether a command may be given from here.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other commands are any agent's")]
    pub(super) fn allows(self, command: &Command) -> Result<(), Stopped> {
        match command {
            Command::Claim { task } if *task != self.task => Err(self.elsewhere()),
            Command::ClaimNext { .. } => Err(self.elsewhere()),
            Command::Release { .. } => Err(held()),
            Command::ReplanTask { task, .. } if *task == self.task => Err(held()),
            Command::Move { task, to, .. } if *task == self.task => match to {
                Target::Completed { .. } => Err(Refusal::VerificationRequired { task: self.task }.into()),
                // An obstacle is the agent's to name; all else follows from its output.
                Target::Planning | Target::InProgress { .. } | Target::Blocked { .. } => Ok(()),
                Target::Failed { .. } | Target::Paused { .. } | Target::Skipped { .. } | Target::Pending { .. } => {
                    Err(held())
                }
            },
            _ => Ok(()),
        }
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
}

fn held() -> Stopped {
    let problem = "the runner holds this task; end your turn, and say in its output that you are blocked";
    Refusal::NotPermitted { problem: problem.to_owned() }.into()
}
