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
        Err(error) => cli::failure::tell(&error),
    }
}
