//! Starts the agent's program by way of Handover's own binary, which asks the kernel to kill the program when the turn
//! host, its parent, dies.
//!
//! Only a process itself can ask for this death signal, and code between fork and exec cannot be safe Rust. So the host
//! starts `handover turn-host --child`, which asks for the signal and then becomes the program. The request does not
//! apply to children of the program and to set-user-ID programs. `sweep` ends these processes.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitCode, Stdio};

use rustix::process::Pid;
use spawn::{StartEnvironment, StartFolder};

use super::{HostInput, HostLaunch, Inherit, TURN, record};

pub(super) const CHILD: &str = "--child";
/// The exit code with which shells report that a command could not be started.
const CODE_REFUSED: u8 = 127;

#[derive(Debug)]
pub(super) struct Program {
    pub(super) pid: Pid,
    /// A handle of the process that becomes readable when the program ends. None on a kernel without such handles.
    pub(super) handle: Option<OwnedFd>,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// Starts the program. Call it on a thread that runs as long as this process (the turn host), because the kernel kills
/// the program when that thread ends.
pub(super) fn start(folder: &Path, launch: &HostLaunch) -> Result<Program, String> {
    // A missing folder gives the same error as a missing program, so the folder is checked first.
    if !launch.directory.is_dir() {
        return Err(format!("{} is not a folder", launch.directory.display()));
    }
    let mut command = stage(folder, launch);
    command.process_group(0);
    command.envs(&launch.environment).env(TURN, &launch.turn);
    command.stdin(input(&launch.input)?).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| format!("{} cannot be started: {error}", launch.program.display());
    let mut child = command.spawn().map_err(failed)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let streams = (child.stdout.take(), child.stderr.take());
    let (Some(pid), (Some(stdout), Some(stderr))) = (pid, streams) else {
        return Err("the program has no process id or no pipes".to_owned());
    };
    let (stdout, stderr) = (File::from(OwnedFd::from(stdout)), File::from(OwnedFd::from(stderr)));
    Ok(Program { pid, handle: handle(pid), stdin: child.stdin.take(), stdout, stderr })
}

/// Asks the kernel to kill this process when its parent, the turn host (the process that watches over the program),
/// dies. Then replaces this process by the agent's program. Returns only when one of these two steps fails.
pub(super) fn become_it(folder: &Path, parent: &OsStr) -> ExitCode {
    if !is_bound(parent) {
        return ExitCode::from(CODE_REFUSED);
    }
    let why = match record::launch(folder) {
        Ok(launch) => {
            // This process already has the working folder and the environment that the launch names.
            let mut command = spawn::command(&launch.program, StartFolder::Own, StartEnvironment::Whole);
            let error = command.args(&launch.arguments).exec();
            format!("{} cannot be started: {error}", launch.program.display())
        }
        Err(error) => format!("{} cannot be read: {error}", record::LAUNCH),
    };
    drop(record::write(folder, record::REFUSAL, &why));
    ExitCode::from(CODE_REFUSED)
}

/// Returns the reason why the child process could not be replaced by the agent's program. Returns None when it was
/// replaced.
pub(super) fn refusal(folder: &Path, code: i32) -> Option<String> {
    if code == i32::from(CODE_REFUSED) { record::read(folder, record::REFUSAL).ok() } else { None }
}

fn input(input: &HostInput) -> Result<Stdio, String> {
    match input {
        HostInput::Nothing => Ok(Stdio::null()),
        HostInput::Relay => Ok(Stdio::piped()),
        HostInput::File(path) => match File::open(path) {
            Ok(file) => Ok(Stdio::from(file)),
            Err(error) => Err(format!("the input {} cannot be read: {error}", path.display())),
        },
    }
}

/// Returns a command that runs Handover's own binary, which then becomes the agent's program. The command works even if
/// the binary's file was replaced or deleted after the start.
#[cfg(target_os = "linux")]
fn stage(folder: &Path, launch: &HostLaunch) -> Command {
    let mut command = chosen(Path::new("/proc/self/exe"), launch);
    command.arg0("handover").args([super::COMMAND, CHILD]).arg(folder).arg(std::process::id().to_string());
    command
}

/// Returns the command of the agent's program itself. Handover's binary is not started in between, because this system
/// cannot kill a process automatically when its parent dies.
#[cfg(not(target_os = "linux"))]
fn stage(_folder: &Path, launch: &HostLaunch) -> Command {
    let mut command = chosen(&launch.program, launch);
    command.args(&launch.arguments);
    command
}

/// Returns a command for the program, in the folder and with the inherited variables that the launch names.
fn chosen(program: &Path, launch: &HostLaunch) -> Command {
    let names: Vec<&str> = match &launch.inherit {
        Inherit::Only(names) => names.iter().map(String::as_str).collect(),
        Inherit::All => return spawn::command(program, StartFolder::At(&launch.directory), StartEnvironment::Whole),
    };
    spawn::command(program, StartFolder::At(&launch.directory), StartEnvironment::Only(&names))
}

/// Asks the kernel to kill this process when its parent, the turn host (the process that watches over the program),
/// dies. Returns false when the host has already ended.
#[cfg(target_os = "linux")]
fn is_bound(parent: &OsStr) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let parent = parent.to_str().and_then(|parent| parent.parse().ok()).and_then(Pid::from_raw);
    set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && parent.is_some() && getppid() == parent
}

#[cfg(not(target_os = "linux"))]
fn is_bound(_parent: &OsStr) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn handle(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn handle(_pid: Pid) -> Option<OwnedFd> {
    None
}
