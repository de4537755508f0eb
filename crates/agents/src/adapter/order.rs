//! What a turn is started with, and what has to be started for it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Which program is spoken to. The names are those of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Claude,
    Opencode,
    Codex,
    Gemini,
    Acp,
    Exec,
}

impl Kind {
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

/// What the agent may do. `docs/permissions.md` says what that is for each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    Read,
    /// Edit files and run commands in the worktree.
    #[default]
    Edit,
    All,
}

/// Whose settings, keys and conversations the program uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    User,
    /// A folder that lasts as long as the agent, because its conversations are in it.
    Own(PathBuf),
}

/// Our MCP server, as the program has to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl Server {
    /// The name it has in every program's configuration, and so in the names of its tools.
    pub const NAME: &'static str = "handover";
}

/// One turn. No text of `system`, `message` or `input` travels in an argument or in the environment: one of them over
/// 128 KiB cannot start.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub kind: Kind,
    /// The program and its own first arguments.
    pub command: Vec<String>,
    /// Appended to what the adapter says.
    pub args: Vec<String>,
    pub model: Option<String>,
    pub system: String,
    /// For `exec` the input envelope as one line.
    pub message: String,
    /// The INPUT of the handoff contract. Only `exec` has a place of its own for it.
    pub input: Option<String>,
    pub worktree: PathBuf,
    /// Private to this turn.
    pub folder: PathBuf,
    pub server: Server,
    /// The conversation of an earlier turn.
    pub resume: Option<String>,
    pub permissions: Permissions,
    pub home: Home,
    pub usd_left: Option<f64>,
}

/// What the turn host starts, with the worktree as its working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub program: String,
    pub arguments: Vec<String>,
    /// Added to what the program inherits.
    pub environment: Vec<(String, String)>,
    /// Made before the start where they are missing.
    pub folders: Vec<PathBuf>,
    /// Written before the start, readable by the owner only.
    pub files: Vec<(PathBuf, String)>,
    pub input: Input,
}

/// What the program reads on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Nothing,
    File(PathBuf),
    /// A conversation both ways: `acp::converse` holds it.
    Relay,
}

/// Why a turn cannot be started at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlaunchable {
    #[error("the agent's command is empty")]
    NoCommand,
    #[error("a path is not UTF-8 and the program's settings cannot name it: {0}")]
    NotText(PathBuf),
}

impl Order {
    /// The program with the home it is to use, and nothing said to it.
    pub(super) fn start(&self) -> Result<Launch, Unlaunchable> {
        let (program, arguments) = self.command.split_first().ok_or(Unlaunchable::NoCommand)?;
        let mut launch = Launch {
            program: program.clone(),
            arguments: arguments.to_vec(),
            environment: Vec::new(),
            folders: Vec::new(),
            files: Vec::new(),
            input: Input::Nothing,
        };
        // opencode believes this variable more than the system, and would work where the runner was started.
        launch.set("PWD", path_text(&self.worktree)?);
        if let Home::Own(home) = &self.home {
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

    /// System prompt and message as one text, for programs that keep no system prompt of ours apart. It is said anew
    /// with each turn, because it can differ from the last one: mail that is shown counts as delivered.
    pub(super) fn spoken(&self) -> String {
        format!("{}\n\n---\n\n{}\n", self.system.trim_end(), self.message.trim_end())
    }
}

impl Launch {
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    pub(super) fn say(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
    }

    /// Puts a file into the turn's folder and answers its path as the program is told it.
    pub(super) fn write(&mut self, order: &Order, name: &str, text: impl Into<String>) -> Result<String, Unlaunchable> {
        let path = order.folder.join(name);
        let told = path_text(&path)?.to_owned();
        self.files.push((path, text.into()));
        Ok(told)
    }
}

pub(super) fn path_text(path: &Path) -> Result<&str, Unlaunchable> {
    path.to_str().ok_or_else(|| Unlaunchable::NotText(path.to_owned()))
}

/// Every place one of the programs looks for its settings. Codex refuses to start when its folder is missing.
const HOMES_THEMSELVES: &[&str] = &["HOME", "GEMINI_CLI_HOME"];
const HOMES_BELOW: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
];
