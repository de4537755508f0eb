//! Runs `handover run` while another process already works on the same store. This process starts no agents, and only
//! shows the work of the other process.

use std::process::ExitCode;
use std::time::Duration;

use base::people::principal;
use base::project::effective;
use base::project::settings::TeamSettings;
use base::project::trust;
use handover::office::Office;
use runner::attempt::shared::RunnerOrder;
use runner::claim::follow::RunFollower;
use runner::claim::lock;
use runner::claim::over::{RunEnded, RunScope};
use runner::screen::Screen;
use tokio::sync::watch;

use super::super::say;
use super::end::EndedRun;

/// The maximum time between two reads of the store. A change in the store ends the wait earlier.
const LOOK: Duration = Duration::from_millis(500);
/// The number of successive reads of the store that must show that the work is over. One read is not enough, because
/// the process that does the work may be about to claim a task.
const QUIET_LOOKS: u32 = 4;

/// The reason why this process no longer follows the process that does the work.
pub(super) enum FollowEnd {
    /// The work is over, and the summary was printed.
    Over(ExitCode),
    /// The process that did the work ended, and work is left.
    RunnerGone,
}

/// Shows the work of the process that runs the agents, until the work is over.
pub(super) async fn follow(
    office: &Office,
    scope: RunScope,
    mut order: watch::Receiver<RunnerOrder>,
    json: bool,
) -> anyhow::Result<FollowEnd> {
    let service = office.desk.service();
    let settings = settings(office)?;
    let host = principal::host();
    let mut follower = RunFollower::from_now(service.clone(), settings.clone(), scope).await?;
    let (look, width) = super::look(json);
    let mut screen = Screen::new(anstream::stdout(), look, width);
    if !json {
        say("Another process here works already. This one starts nothing and follows it.")?;
    }
    let (mut bell, mut quiet) = (service.bell(), 0);
    let ended = loop {
        for found in follower.next().await? {
            quiet = 0;
            screen.tell(&found)?;
        }
        match follower.ended().await? {
            Some(ended) => {
                quiet += 1;
                if quiet >= QUIET_LOOKS {
                    break ended;
                }
            }
            None => quiet = 0,
        }
        if quiet == 0 && !lock::is_held(&office.live, &host)? {
            // A runner of version 0.1 holds another lock, so the caller may find that a runner is still alive and call
            // this function again. Wait before returning, so that the caller does not retry without a pause.
            tokio::time::sleep(LOOK).await;
            return Ok(FollowEnd::RunnerGone);
        }
        tokio::select! {
            _ = bell.changed(LOOK) => {}
            _ = order.changed() => break RunEnded::Stopped,
        }
        screen.draw()?;
    };
    screen.end(&[])?;
    if ended == RunEnded::Stopped && !json {
        say("Stopped following. The other process continues the work; Ctrl-C there stops it.")?;
        return Ok(FollowEnd::Over(ExitCode::from(130)));
    }
    let run = EndedRun { service, settings: &settings, scope, ended };
    let mut summary = screen.summary(run.needs().await?, run.summary_end());
    summary.plans = run.plans(&summary).await?;
    Ok(FollowEnd::Over(run.tell(&summary, json)?))
}

/// Returns the accepted settings of the project.
pub(super) fn settings(office: &Office) -> anyhow::Result<TeamSettings> {
    let Some(root) = office.place.root.as_deref() else { return Ok(TeamSettings::default()) };
    let data = base::project::place::data_folder();
    Ok(trust::require_with(root, data.as_deref(), &effective::find_here(root))?.settings.team)
}
