//! `handover hook`: the command that agents' clients call. People do not type it.

use std::process::ExitCode;

use clap::Args;
use handover::hook::{self, HookEvent};

/// The text at the end of `handover hook --help`.
pub(crate) const HELP: &str = "\
The payload is one JSON object on standard input, as Claude Code and Codex send it.

Exit code: 0 with a JSON object on standard output, or 2 with the reason on standard error; no other code.

Example:
  handover hook PreToolUse < payload.json";

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// The event, by the client's name for it, such as SessionStart, PreToolUse, PostToolUse, Stop, SubagentStop,
    /// SessionEnd
    #[arg(value_name = "EVENT", value_parser = HookEvent::parse)]
    event: HookEvent,
}

pub(crate) fn run(store: Option<&str>, asked: &HookArguments) -> ExitCode {
    hook::run(asked.event, store)
}
