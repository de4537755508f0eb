//! The clients, and what one of their files is to us.

use std::path::PathBuf;

use clap::ValueEnum;

use super::section::Marks;
use super::want::Want;

/// The name of our server in every client.
pub(super) const SERVER: &str = "handover";

/// A program that talks to a model and can use our tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Client {
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

impl Client {
    pub const ALL: &[Self] =
        &[Self::ClaudeCode, Self::Opencode, Self::Codex, Self::Gemini, Self::Copilot, Self::Goose, Self::Qwen];

    /// What starts it.
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

    /// The word on the command line.
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

/// One file of a client.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) path: PathBuf,
    pub(super) about: &'static str,
    pub(super) form: Form,
    /// A token is in it: it must be the user's alone, and git must not take it.
    pub(super) private: bool,
}

#[derive(Debug)]
pub(super) enum Form {
    Json(Vec<Want>),
    Toml(Vec<Want>),
    Yaml(Vec<Want>),
    Section(Marks),
}

/// All files of a client, the one that names the server first, and what its user should know.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) pieces: Vec<Piece>,
    /// What goes further than was asked for, and comes back just as far.
    pub(super) wide: Option<&'static str>,
    pub(super) notes: Vec<&'static str>,
}
