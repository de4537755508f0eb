//! Prepares Handover's MCP server for the program of a turn (one run of an agent's program), and waits for the
//! conditions that stop the program.

use std::time::Duration;

use agents::adapter::McpServerLaunch;
use agents::host;
use agents::program::CutReason;
use engine::Actor;
use engine::id::TurnId;
use engine::task::TaskState;
use tokio::sync::watch;

use super::shared::RunnerOrder;
use super::{AttemptError, AttemptRun};
use crate::turn_proof;

/// The time between two checks that the agent still holds the task.
const LOOK: Duration = Duration::from_secs(2);

impl AttemptRun {
    /// Returns the command that starts Handover's MCP server for this agent and attempt. The store's address may
    /// contain a password, so it is passed in the environment, not as an argument.
    pub(crate) fn server(&self, turn: TurnId, proof: &str) -> Result<McpServerLaunch, AttemptError> {
        let program = std::env::current_exe()?;
        let program = program
            .to_str()
            .ok_or_else(|| AttemptError::Other("the path of this program is not UTF-8 text".to_owned()))?
            .to_owned();
        let environment = vec![
            (host::TURN.to_owned(), turn.to_string()),
            (turn_proof::PROOF.to_owned(), proof.to_owned()),
            ("HANDOVER_STORE".to_owned(), self.shared.store.clone()),
        ];
        Ok(McpServerLaunch { program, arguments: vec!["mcp".to_owned()], environment })
    }

    /// Waits until the program of a turn must be stopped, and returns the reason.
    pub(crate) async fn cut(&self, mut exceeded: watch::Receiver<Option<String>>) -> CutReason {
        let mut wish = self.shared.wish.clone();
        loop {
            // Checks the claim at an interval. If this loop checked at every change of the store, hundreds of running
            // turns would all read the store at each change.
            tokio::select! {
                _ = wish.wait_for(|wish| *wish == RunnerOrder::Stop) => return CutReason::Cancelled,
                Ok(over) = exceeded.wait_for(Option::is_some) => return CutReason::OverBudget(over.clone().unwrap_or_default()),
                () = tokio::time::sleep(LOOK) => {}
            }
            if !self.is_ours().await {
                return CutReason::ClaimLost;
            }
        }
    }

    /// Returns true when the agent still holds the task. Returns true when the store does not answer, because that
    /// alone is no reason to end the program.
    async fn is_ours(&self) -> bool {
        let (task, agent, attempt) = (self.task, self.worker.agent, self.attempt);
        let found = self.shared.service.view(move |world| {
            let task = world.task(task)?;
            let held = task.attempt == attempt && task.holder() == Some(agent);
            // If the agent itself blocked the task during this turn, it may finish the turn.
            let own = matches!(&task.state, TaskState::Blocked(block) if block.by == Actor::Agent(agent));
            Ok((held || (own && task.attempt == attempt), task.attempt == attempt && task.holder().is_none()))
        });
        match found.await {
            // While this machine slept, the lease may have expired. Asks the store for the claim again before the
            // program is ended.
            Ok((false, true)) => self.regain().await,
            Ok((ours, _)) => ours,
            Err(base::Error::Refused(_)) => false,
            Err(_) => true,
        }
    }
}
