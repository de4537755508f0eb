//! The agent clients that setup can configure, and the types that describe their files.

use std::path::PathBuf;

use clap::ValueEnum;

use super::section::Marks;
use super::want::Want;

/// The name of Handover's MCP server in every client's configuration.
pub(super) const SERVER: &str = "handover";

/// A program that talks to a model and can use Handover's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientProgram {
    /// Claude Code, by Anthropic
    ClaudeCode,
    /// opencode
    Opencode,
    /// Codex CLI, by OpenAI
    Codex,
    /// Gemini CLI, by Google
    Gemini,
    /// GitHub Copilot CLI
    Copilot,
    /// goose
    Goose,
    /// Qwen Code
    Qwen,
}

impl ClientProgram {
    pub const ALL: &[Self] =
        &[Self::ClaudeCode, Self::Opencode, Self::Codex, Self::Gemini, Self::Copilot, Self::Goose, Self::Qwen];

    /// Returns the name of the program that starts the client.
    pub fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Opencode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
        }
    }

    /// Returns the name of the client on Handover's command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Opencode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
        }
    }
}

/// One configuration file of a client, with the entries that Handover needs in it.
#[derive(Debug)]
pub(super) struct ClientFile {
    pub(super) path: PathBuf,
    pub(super) about: &'static str,
    pub(super) form: Form,
    /// `true` if the client's file holds a token. Then only the user may read it, and git must not track it.
    pub(super) private: bool,
}

#[derive(Debug)]
pub(super) enum Form {
    Json(Vec<Want>),
    Toml(Vec<Want>),
    Yaml(Vec<Want>),
    Section(Marks),
}

/// All files of a client that setup configures, and notes for its user. The file with the entry for Handover's server
/// comes first.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) pieces: Vec<ClientFile>,
    /// A note for the user when Handover's entry applies to all projects, although the user asked for one project; else
    /// `None`. `--undo` then also affects all projects.
    pub(super) wide: Option<&'static str>,
    pub(super) notes: Vec<&'static str>,
}
