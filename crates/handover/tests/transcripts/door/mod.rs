//! Defines the interfaces (doors) over which a transcript is played.

pub(crate) mod command;
pub(crate) mod http;
mod library;
pub(crate) mod stdio;

use std::path::{Path, PathBuf};

use engine::Rights;

pub(crate) use library::Library;

use crate::script::Answer;
use crate::terminal::unmark;

/// The names that transcripts use for the interfaces.
pub(crate) const NAMES: [&str; 7] = ["library", "stdio", "modern", "api", "session", "single", "command"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `Desk`, the code behind all interfaces, called as a library.
    Library,
    /// `handover mcp` in the MCP version of 2025-11-25.
    Stdio,
    /// `handover mcp` in the MCP version of 2026-07-28: each request is complete without a session.
    Modern,
    /// The endpoint `POST /api/v1/tools/{tool}`.
    Api,
    /// MCP over HTTP at `/mcp`, in a session.
    Session,
    /// MCP over HTTP at `/mcp` without a session, as in the MCP version of 2026-07-28.
    Single,
    /// The command line `handover NOUN VERB --json`, one process per step.
    Command,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Stdio => "stdio",
            Self::Modern => "modern",
            Self::Api => "api",
            Self::Session => "session",
            Self::Single => "single",
            Self::Command => "command",
        }
    }
}

/// The caller of one step of a transcript.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    /// The name of the caller's connection in the transcript.
    pub(crate) name: &'a str,
    /// The agent that the connection registered last.
    pub(crate) agent: Option<&'a str>,
}

impl Who<'_> {
    /// Returns the rights of the caller.
    pub(crate) fn rights(&self) -> Rights {
        match self.name {
            "person" => Rights::Person,
            "coordinator" => Rights::Coordinator,
            _ => Rights::Agent,
        }
    }

    /// Returns the name of the caller's rights on a command line and in a token.
    fn scope(&self) -> &'static str {
        match self.name {
            "person" => "person",
            "coordinator" => "coordinator",
            _ => "agent",
        }
    }
}

/// The folder and the store in which a world (a sequence of steps) is played.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// An empty folder outside of any repository.
    pub(crate) folder: PathBuf,
    pub(crate) store: String,
}

pub(crate) trait Door {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer;

    /// Ends the connection of a caller. When this function returns, the store has recorded the end.
    fn close(&mut self, who: &str);
}

/// An interface that starts at its first call, so that it finds the files that earlier steps of the transcript created.
pub(crate) struct Lazy {
    kind: Kind,
    place: Place,
    door: Option<Box<dyn Door>>,
}

impl Lazy {
    pub(crate) fn new(kind: Kind, place: &Place) -> Self {
        Self { kind, place: place.clone(), door: None }
    }

    fn open(&mut self) -> &mut dyn Door {
        let (kind, place) = (self.kind, &self.place);
        self.door.get_or_insert_with(|| open(kind, place)).as_mut()
    }
}

impl Door for Lazy {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        self.open().call(who, tool, arguments)
    }

    fn close(&mut self, who: &str) {
        self.open().close(who);
    }
}

fn open(kind: Kind, place: &Place) -> Box<dyn Door> {
    match kind {
        Kind::Library => Box::new(Library::alone(place)),
        Kind::Stdio => Box::new(stdio::Stdio::new(place, stdio::Era::Old)),
        Kind::Modern => Box::new(stdio::Stdio::new(place, stdio::Era::New)),
        Kind::Api => Box::new(http::Api::new(place)),
        Kind::Session => Box::new(http::Mcp::new(place, stdio::Era::Old)),
        Kind::Single => Box::new(http::Mcp::new(place, stdio::Era::New)),
        Kind::Command => Box::new(command::CommandLine::new(place)),
    }
}

/// Returns the command that runs the tested program in this folder, on this store.
pub(crate) fn program(folder: &Path, store: &str) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_handover"));
    command.current_dir(folder).env("HANDOVER_STORE", store).env("XDG_DATA_HOME", folder);
    unmark(&mut command);
    command
}
