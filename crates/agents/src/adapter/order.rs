//! Defines the order for a turn, and the launch that the turn host needs for it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A kind of agent program. The names are those of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterKind {
    Claude,
    Opencode,
    Codex,
    Gemini,
    Acp,
    Exec,
}

impl AdapterKind {
    pub const ALL: [Self; 6] = [Self::Claude, Self::Opencode, Self::Codex, Self::Gemini, Self::Acp, Self::Exec];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Opencode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
            Self::Exec => "exec",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The permissions of an agent. `docs/permissions.md` says what each one allows in each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    Read,
    /// Edit files and run commands in the worktree.
    #[default]
    Edit,
    All,
}

/// The home with the settings, keys and conversations that the program uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramHome {
    User,
    /// A folder that lasts as long as the agent, because its conversations are in it.
    Own(PathBuf),
}

/// Our MCP server: the command with which the agent's program starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerLaunch {
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl McpServerLaunch {
    /// The name of our server in every program's configuration, and so in the names of its tools.
    pub const NAME: &'static str = "handover";
}

/// The order for one turn. The texts `system`, `message` and `input` never travel in an argument or in the
/// environment, because a program with one over 128 KiB cannot start.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOrder {
    pub kind: AdapterKind,
    /// The program and its own first arguments.
    pub command: Vec<String>,
    /// Arguments that are appended to those of the adapter.
    pub args: Vec<String>,
    pub model: Option<String>,
    pub system: String,
    /// The message of the turn. For `exec` it is the input envelope as one line.
    pub message: String,
    /// The INPUT of the handoff contract. Only `exec` passes it separately.
    pub input: Option<String>,
    pub worktree: PathBuf,
    /// A folder that only this turn uses.
    pub folder: PathBuf,
    pub server: McpServerLaunch,
    /// The conversation of an earlier turn, to resume it.
    pub resume: Option<String>,
    pub permissions: Permissions,
    pub home: ProgramHome,
    pub usd_left: Option<f64>,
}

/// A program for the turn host to start, with the worktree as its working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLaunch {
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables that are added to the inherited ones.
    pub environment: Vec<(String, String)>,
    /// Folders to create before the start if they are missing.
    pub folders: Vec<PathBuf>,
    /// Files to write before the start, readable by the owner only.
    pub files: Vec<(PathBuf, String)>,
    pub input: ProgramInput,
}

/// The standard input of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramInput {
    Nothing,
    File(PathBuf),
    /// A conversation in both directions, which `acp::converse` holds.
    Relay,
}

/// The reasons why a turn cannot be started at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlaunchable {
    #[error("the agent's command is empty")]
    NoCommand,
    #[error("a path is not UTF-8 and the program's settings cannot name it: {0}")]
    NotText(PathBuf),
}

impl TurnOrder {
    /// Returns a launch with the program and its home, without any arguments of the adapter.
    pub(super) fn start(&self) -> Result<ProgramLaunch, Unlaunchable> {
        let (program, arguments) = self.command.split_first().ok_or(Unlaunchable::NoCommand)?;
        let mut launch = ProgramLaunch {
            program: program.clone(),
            arguments: arguments.to_vec(),
            environment: Vec::new(),
            folders: Vec::new(),
            files: Vec::new(),
            input: ProgramInput::Nothing,
        };
        // opencode trusts `PWD` more than its real working folder. It would work in the folder where the runner was
        // started.
        launch.set("PWD", path_text(&self.worktree)?);
        if let ProgramHome::Own(home) = &self.home {
            launch.folders.push(home.clone());
            for name in HOMES_THEMSELVES {
                launch.set(name, path_text(home)?);
            }
            for (name, below) in HOMES_BELOW {
                let folder = home.join(below);
                launch.set(name, path_text(&folder)?);
                launch.folders.push(folder);
            }
        }
        Ok(launch)
    }

    /// Returns the system prompt and the message as one text, for programs that keep no separate system prompt of
    /// ours. The prompt is repeated in each turn because it can differ from the last one: mail that is shown counts as
    /// delivered.
    pub(super) fn spoken(&self) -> String {
        format!("{}\n\n---\n\n{}\n", self.system.trim_end(), self.message.trim_end())
    }
}

impl ProgramLaunch {
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    pub(super) fn say(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
    }

    /// Adds a file in the turn's folder to the launch and returns its path as a text for the program.
    pub(super) fn write(
        &mut self,
        order: &TurnOrder,
        name: &str,
        text: impl Into<String>,
    ) -> Result<String, Unlaunchable> {
        let path = order.folder.join(name);
        let told = path_text(&path)?.to_owned();
        self.files.push((path, text.into()));
        Ok(told)
    }
}

pub(super) fn path_text(path: &Path) -> Result<&str, Unlaunchable> {
    path.to_str().ok_or_else(|| Unlaunchable::NotText(path.to_owned()))
}

/// The variables that name the home itself. With `HOMES_BELOW` these are all places where the programs look for their
/// settings. Codex refuses to start when its folder is missing.
const HOMES_THEMSELVES: &[&str] = &["HOME", "GEMINI_CLI_HOME"];
const HOMES_BELOW: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
];
