//! Arguments in, exit code out.

mod begin;
mod check;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A turn's host is started for every program and stays beside it: it needs nothing of the rest.
    if let Some(code) = agents::host::command(std::env::args_os()) {
        return code;
    }
    // A client asks before every call of a tool: what the configuration decides needs no whole command line.
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

/// Whoever reads what we write has seen enough, such as `head`.
fn is_unread(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What the rules refuse is 1. A wrong address or an unreadable file is the caller's to mend, 2; a fault is not, 3.
fn code(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    let fault = |fault: &store::Fault| if matches!(fault, store::Fault::Url { .. }) { 2 } else { 3 };
    if let Some(closed) = cause.downcast_ref::<handover::office::Closed>()
        && closed.is_refusal()
    {
        return Some(1);
    }
    match cause.downcast_ref::<handover::Error>() {
        Some(handover::Error::Refused(_)) => Some(1),
        Some(handover::Error::Fault(found)) => Some(fault(found)),
        Some(handover::Error::Random(_)) => Some(3),
        None => cause.downcast_ref::<store::Fault>().map(fault),
    }
}
