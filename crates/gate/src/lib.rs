//! Gates decide which commands and writes of an interactive agent wait for a person, and which are refused.
//!
//! ```text
//! tool call          ── tool ─────────> a command text, or the paths that the tool writes
//! command text       ── shell, walk ──> every command and every write in it
//! command            ── programs ─────> the files that it writes, and the commands that it runs
//! command or write   ── rule, judge ──> allow, ask or deny; the strictest decision counts
//! ```
//!
//! A gate can only restrict a tool call, never permit more: a call that cannot be read needs the approval of a person.
//! A gate is not a sandbox: an agent's client reports each tool call before the call runs, and the gate checks only the
//! reported calls.

mod command;
mod glob;
mod guard;
mod judge;
mod patch;
mod place;
mod programs;
#[cfg(test)]
mod real_tests;
mod rule;
mod shell;
mod spot;
mod strictest;
mod tool;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;
use wire::json::Value;

use command::{FoundActs, PathWrite, WriteCause};
use judge::Judge;
pub use rule::GateRule;
pub use tool::COMMAND_FIELDS;
use tool::GatedAct;

/// The stack size, in bytes, of the thread that reads a command. A large stack costs little, because the operating
/// system gives memory only to the part that is used.
const STACK_BYTES: usize = 64 << 20;
/// The longest time for reading a command. A person must approve a command that takes longer, because the agent's
/// client waits during this time. A command of usual length takes less than a thousandth of this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// A decision about a tool call, from the mildest to the strictest. `Ask` means that a person must approve the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateDecision {
    Allow,
    Ask,
    Deny,
}

/// A tool call that an agent's client is about to make, as the client's hook reports it.
#[derive(Debug, Clone, Copy)]
pub struct GateCall<'a> {
    /// The name of the tool in the client, such as `Bash`.
    pub tool: &'a str,
    pub input: &'a Value,
    /// The folder where the client works, as an absolute path.
    pub directory: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateVerdict {
    pub decision: GateDecision,
    /// The reason for the decision: the gate rule or the part of the command that led to it, and the next step for the
    /// agent. Empty when the call is allowed.
    pub reason: String,
}

impl GateVerdict {
    pub fn allow() -> Self {
        Self { decision: GateDecision::Allow, reason: String::new() }
    }
}

/// The gates of a configuration: its table `[gates]` and all its `[[gate]]` rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    default: Option<Otherwise>,
    opaque: Option<Otherwise>,
    rules: Vec<GateRule>,
}

/// The table `[gates]` of a configuration file, with the decisions for calls to which no gate rule applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basics {
    default: Option<Otherwise>,
    /// The decision for programs that cannot be analyzed, such as an unknown script.
    opaque: Option<Otherwise>,
}

/// The decision for commands and writes that no gate rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Otherwise {
    Ask,
    Allow,
}

impl Gates {
    pub fn new(basics: Basics, rules: Vec<GateRule>) -> Result<Self, String> {
        if rules.len() > rule::RULES_MAX {
            return Err(format!("there are more than {} gates", rule::RULES_MAX));
        }
        Ok(Self { default: basics.default, opaque: basics.opaque, rules })
    }

    /// Tells whether these gates allow every call: there are no rules, and no default decision is `ask`.
    pub fn is_empty(&self) -> bool {
        let asks = Some(Otherwise::Ask);
        self.rules.is_empty() && self.default != asks && self.opaque != asks
    }

    /// Decides about a tool call. The function reads links and folders on the disk and runs git to list files. It
    /// writes nothing and never panics.
    pub fn judge(&self, call: &GateCall<'_>) -> GateVerdict {
        if self.is_empty() {
            return GateVerdict::allow();
        }
        let decision = |otherwise: Otherwise| match otherwise {
            Otherwise::Ask => GateDecision::Ask,
            Otherwise::Allow => GateDecision::Allow,
        };
        let otherwise = self.default.map_or(GateDecision::Ask, decision);
        // `opaque` is the decision for a program that cannot be analyzed. If the configuration does not set it, use the
        // default decision for commands that no gate rule names.
        let opaque = self.opaque.map_or(otherwise, decision);
        // Tools of MCP servers other than Handover's are allowed unless a gate rule names them, because each server
        // decides itself about the calls of its tools.
        let defaults =
            if tool::is_foreign(call.tool) { (GateDecision::Allow, GateDecision::Allow) } else { (otherwise, opaque) };
        let mut judge = Judge::new(&self.rules, defaults, call.directory);
        for act in tool::acts(call) {
            match act {
                GatedAct::Text(..)
                | GatedAct::Words(..)
                | GatedAct::Writes(..)
                | GatedAct::Suspect(..)
                | GatedAct::MayWrite(..)
                    if !call.directory.is_absolute() =>
                {
                    judge.decide(GateDecision::Ask, "ask: the folder of the call is not known");
                }
                GatedAct::Unseen(reason) => judge.decide(GateDecision::Ask, format!("ask: {reason}")),
                GatedAct::Writes(paths, folder) => judge.found(&written(&paths, &folder, WriteCause::Itself)),
                GatedAct::MayWrite(paths, folder) => judge.found(&written(&paths, &folder, WriteCause::Program)),
                GatedAct::Suspect(text, folder) => judge.suspect(&aside(move || walk::text(&text, &folder))),
                GatedAct::Name(words) => judge.named_after(&words, tool::is_foreign(call.tool)),
                GatedAct::Text(text, folder) => judge.found(&aside(move || walk::text(&text, &folder))),
                GatedAct::Words(words, folder) => judge.found(&aside(move || walk::words(&words, &folder))),
            }
        }
        judge.verdict()
    }
}

/// Turns the paths that a tool writes into `FoundActs`, so that they are judged like the writes of a command.
fn written(paths: &[String], folder: &Path, by: WriteCause) -> FoundActs {
    let folders = command::CommandFolders::Known(vec![folder.to_owned()]);
    let write = |path: &String| PathWrite {
        spot: Some(crate::spot::PathSpot::At(path.clone())),
        folders: folders.clone(),
        tree: false,
        by,
    };
    FoundActs { writes: paths.iter().map(write).collect(), ..FoundActs::default() }
}

/// Tells whether a file is guarded, that is, controls agents, hooks or git. Writing it needs a person's approval as
/// soon as the configuration has any gate.
pub fn is_guarded(path: &Path, root: &Path) -> bool {
    guard::paths().iter().any(|guarded| guarded.is_written(path, &[root.to_owned()], false, None))
}

/// Returns every command that a shell text would run, each as a list of words. `None` stands for a word whose value is
/// unknown before the command runs. An error is the reason why the text needs a person's approval regardless of the
/// gate rules.
pub fn commands(text: &str, directory: &Path) -> Result<Vec<Vec<Option<String>>>, String> {
    let (text, directory): (String, PathBuf) = (text.to_owned(), directory.to_owned());
    let found = aside(move || walk::text(&text, &directory));
    if !found.asks.is_empty() {
        return Err(found.asks.join("; "));
    }
    let levels = || found.commands.iter().flat_map(|seen| &seen.levels);
    if let Some(reason) = levels().find_map(|level| level.ask.clone()) {
        return Err(reason);
    }
    Ok(levels().map(|level| level.words.iter().map(|word| word.text.clone()).collect()).collect())
}

/// Runs `read` on a thread with a large stack, because the parser of commands recurses deeply. If the thread fails or
/// takes too long, the command needs a person's approval.
fn aside(read: impl FnOnce() -> FoundActs + Send + 'static) -> FoundActs {
    let ask = |reason: &str| FoundActs { asks: vec![reason.to_owned()], ..FoundActs::default() };
    let (tell, told) = mpsc::sync_channel(1);
    let started = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // If reading took too long, the receiver no longer exists, so a failed send is ignored.
        let _: Result<(), _> = tell.send(read());
    });
    if started.is_err() {
        return ask("there is no thread to read the command on");
    }
    match told.recv_timeout(PATIENCE) {
        Ok(found) => found,
        Err(mpsc::RecvTimeoutError::Timeout) => ask("a command that takes too long to read"),
        Err(mpsc::RecvTimeoutError::Disconnected) => ask("a command that cannot be read"),
    }
}
