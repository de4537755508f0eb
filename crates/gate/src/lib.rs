//! Gates: which commands and writes of an interactive agent wait for a person, and which are refused.
//!
//! ```text
//! tool call ── tool ──> acts: a command | paths written | neither
//! command   ── text ──> words and a plain text ── brush-parser ──> walk ──> every simple command, every write
//!                                                                 effect: by the program's table; wrappers unwrapped
//! each      ── rule ──> allow | ask | deny; the strictest counts
//! ```
//!
//! A gate narrows and never widens: what cannot be read asks. It is no sandbox, only a second look at what an agent says it will do.

mod command;
mod effect;
mod git;
mod glob;
mod guard;
mod judge;
mod options;
mod patch;
mod place;
mod program;
#[cfg(test)]
mod real_tests;
mod rule;
mod script;
mod strictest;
mod table;
mod tool;
mod walk;
mod word;
mod wrapper;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;
use wire::json::Value;

use command::{By, Found, Write};
use judge::Judge;
pub use rule::Rule;
use tool::Act;
pub use tool::COMMAND_FIELDS;

/// Of the thread that reads a command; only what is used of it costs.
const STACK_BYTES: usize = 64 << 20;
/// A client waits for us; no command that a person can read takes a thousandth of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// What a client is about to do, as its hook says it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The client's own name of the tool.
    pub tool: &'a str,
    pub input: &'a Value,
    /// Where the client works; absolute.
    pub directory: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// Which rule or which construct, and what to do; empty when allowed.
    pub reason: String,
}

impl Verdict {
    pub fn allow() -> Self {
        Self { decision: Decision::Allow, reason: String::new() }
    }
}

/// `[gates]` and every `[[gate]]` of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    default: Option<Otherwise>,
    opaque: Option<Otherwise>,
    rules: Vec<Rule>,
}

/// `[gates]`, as it is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basics {
    default: Option<Otherwise>,
    /// What holds for programs that cannot be looked into.
    opaque: Option<Otherwise>,
}

/// What holds for commands and writes that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Otherwise {
    Ask,
    Allow,
}

impl Gates {
    pub fn new(basics: Basics, rules: Vec<Rule>) -> Result<Self, String> {
        if rules.len() > rule::RULES_MAX {
            return Err(format!("there are more than {} gates", rule::RULES_MAX));
        }
        Ok(Self { default: basics.default, opaque: basics.opaque, rules })
    }

    /// Nothing is gated: no call needs to be looked at.
    pub fn is_empty(&self) -> bool {
        let asks = Some(Otherwise::Ask);
        self.rules.is_empty() && self.default != asks && self.opaque != asks
    }

    /// What is to become of a call. It reads links on the disk, writes nothing and never panics.
    pub fn judge(&self, call: &Call<'_>) -> Verdict {
        if self.is_empty() {
            return Verdict::allow();
        }
        let decision = |otherwise: Otherwise| match otherwise {
            Otherwise::Ask => Decision::Ask,
            Otherwise::Allow => Decision::Allow,
        };
        let otherwise = self.default.map_or(Decision::Ask, decision);
        // In a list of what is allowed a program that cannot be looked into asks, too, unless a rule names it.
        let opaque = self.opaque.map_or(otherwise, decision);
        // What other servers do is theirs to judge by default, and ours where a rule names it.
        let defaults =
            if tool::is_foreign(call.tool) { (Decision::Allow, Decision::Allow) } else { (otherwise, opaque) };
        let mut judge = Judge::new(&self.rules, defaults, call.directory);
        for act in tool::acts(call) {
            match act {
                Act::Text(..) | Act::Words(..) | Act::Writes(..) | Act::Suspect(..) | Act::MayWrite(..)
                    if !call.directory.is_absolute() =>
                {
                    judge.decide(Decision::Ask, "ask: the folder of the call is not known");
                }
                Act::Unseen(reason) => judge.decide(Decision::Ask, format!("ask: {reason}")),
                Act::Writes(paths, folder) => judge.found(&written(&paths, &folder, By::Itself)),
                Act::MayWrite(paths, folder) => judge.found(&written(&paths, &folder, By::Program)),
                Act::Suspect(text, folder) => judge.suspect(&aside(move || walk::text(&text, &folder))),
                Act::Name(words) => judge.named_after(&words, tool::is_foreign(call.tool)),
                Act::Text(text, folder) => judge.found(&aside(move || walk::text(&text, &folder))),
                Act::Words(words, folder) => judge.found(&aside(move || walk::words(&words, &folder))),
            }
        }
        judge.verdict()
    }
}

/// Paths that a tool writes.
fn written(paths: &[String], folder: &Path, by: By) -> Found {
    let folders = command::Folders::Known(vec![folder.to_owned()]);
    let write = |path: &String| Write {
        spot: Some(command::Spot::At(path.clone())),
        folders: folders.clone(),
        tree: false,
        by,
    };
    Found { writes: paths.iter().map(write).collect(), ..Found::default() }
}

/// Whether writing a file asks wherever a gate is configured.
pub fn is_guarded(path: &Path, root: &Path) -> bool {
    guard::paths().iter().any(|guarded| guarded.is_written(path, &[root.to_owned()], false, None))
}

/// Every command that a text would run, word by word; `None` stands for a word that is not known before it runs. An error
/// says what asks before any rule is looked at.
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

/// Reads on a thread of its own: the parser recurses, and a text that it takes too long or too deep for only asks.
fn aside(read: impl FnOnce() -> Found + Send + 'static) -> Found {
    let ask = |reason: &str| Found { asks: vec![reason.to_owned()], ..Found::default() };
    let (tell, told) = mpsc::sync_channel(1);
    let started = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody listens any more when it took too long.
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
