//! Runs the command that the settings name for notices to people. The command runs without a shell and for a limited
//! time, and gets the notice on its standard input.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base::project::settings::EnvironmentSettings;
use tokio::io::AsyncWriteExt as _;

use crate::side_program;

/// The longest run of the notification command. After this time the command is killed. To open a window or to send a
/// mail, a command needs less time.
const RUN_MAX: Duration = Duration::from_secs(20);

/// The folder and the environment of a program that sends notices.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoticeSite<'a> {
    pub(super) root: &'a Path,
    /// The section `[env]` of the settings that a person accepted.
    pub(super) environment: &'a EnvironmentSettings,
}

pub(super) async fn run(site: NoticeSite<'_>, words: &[String], told: &str) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("notify.command names no program")?;
    let mut command = side_program::notice_command(&super::program(site.root, program), site.root, site.environment);
    command.args(arguments).stdout(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    // The time limit also covers writing the notice, because a program that does not read its standard input would
    // block us.
    let mut input = child.stdin.take();
    let line = format!("{told}\n");
    let ended = tokio::time::timeout(RUN_MAX, async {
        if let Some(input) = &mut input {
            let _closed = input.write_all(line.as_bytes()).await;
        }
        drop(input.take());
        child.wait().await
    });
    match ended.await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{program} ended with {status}")),
        Ok(Err(error)) => Err(format!("{program}: {error}")),
        Err(_late) => {
            side_program::kill(&child);
            Err(format!("{program} was stopped because it ran longer than {} s", RUN_MAX.as_secs()))
        }
    }
}
