//! The entry point of the `handover` program: runs the command line and returns its exit code.

mod begin;
mod check;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A turn host is the process that hosts an agent's program for one turn (one run of the program). It runs as long
    // as the turn and needs none of the code below, so its command is handled first.
    if let Some(code) = agents::host::command(std::env::args_os()) {
        return code;
    }
    // An agent client runs `handover hook` before every tool call, so this command must be fast. Therefore it is
    // handled here, without the parser of the other commands.
    if let Some(code) = handover::hook::command(std::env::args_os()) {
        return code;
    }
    match cli::run() {
        Ok(code) => code,
        Err(error) if is_unread(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("handover: {error:#}");
            ExitCode::from(error.chain().find_map(code).unwrap_or(2))
        }
    }
}

/// Tells whether the error means that the reader of our output closed the pipe, as `head` does after its last line.
fn is_unread(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Returns the exit code for an error: 1 when a rule refuses the command, 2 when the caller can fix the cause (a wrong
/// store URL, an unreadable file), 3 for a fault of the machine or of Handover.
fn code(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    let fault = |fault: &store::Fault| if matches!(fault, store::Fault::Url { .. }) { 2 } else { 3 };
    if let Some(closed) = cause.downcast_ref::<handover::office::OfficeClosed>()
        && closed.is_refusal()
    {
        return Some(1);
    }
    match cause.downcast_ref::<base::Error>() {
        Some(base::Error::Refused(_)) => Some(1),
        Some(base::Error::Fault(found)) => Some(fault(found)),
        Some(base::Error::Random(_)) => Some(3),
        None => cause.downcast_ref::<store::Fault>().map(fault),
    }
}
