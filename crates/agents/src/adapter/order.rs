//! Defines the order for one turn (one run of an agent's program), and the launch that is made from the order: a
//! command line and the files that the program needs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A kind of agent program. In the configuration, each kind has the name of its variant in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// The permissions of an agent. `docs/permissions.md` says what each permission allows in each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    Read,
    /// The agent may edit files and run commands in the worktree.
    #[default]
    Edit,
    All,
}

/// The home folder of an agent's program, with its settings, keys and conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramHome {
    User,
    /// A separate folder of the agent. It is kept as long as the agent exists, because it holds the agent's
    /// conversations.
    Own(PathBuf),
}

/// The command with which the agent's program starts Handover's own MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerLaunch {
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl McpServerLaunch {
    /// The name of our MCP server in the configuration of every program. Programs also put it into the names of the
    /// server's tools.
    pub const NAME: &'static str = "handover";
}

/// The order for one turn, that is, for one run of an agent's program. The texts `system`, `message` and `input` are
/// never passed as an argument or an environment variable, because neither can have more than 128 KiB.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOrder {
    pub kind: AdapterKind,
    /// The agent's program and its first arguments, as the settings name them.
    pub command: Vec<String>,
    /// Arguments from the configuration. They are appended to the arguments that Handover makes for this kind of
    /// program.
    pub args: Vec<String>,
    pub model: Option<String>,
    pub system: String,
    /// The message that the agent's program gets in this turn (one run of the program). For the kind `exec` it is the
    /// input envelope, as one line of JSON, unless `is_plain` is true.
    pub message: String,
    /// True when `message` is the task as plain text and not an input envelope. Only the kind `exec` uses this field.
    pub is_plain: bool,
    /// The facts about the task for the agent, as JSON (the INPUT document of the handoff protocol); `None` when this
    /// run of the agent's program has no such document. Only programs of the kind `exec` get it as a separate file.
    pub input: Option<String>,
    pub worktree: PathBuf,
    /// A folder for the files of this turn (one run of an agent's program), such as its prompt. No other turn uses it.
    pub folder: PathBuf,
    pub server: McpServerLaunch,
    /// The id of the conversation that this turn (one run of an agent's program) resumes. An earlier turn began it.
    /// None when the turn starts a new conversation.
    pub resume: Option<String>,
    pub permissions: Permissions,
    pub home: ProgramHome,
    pub usd_left: Option<f64>,
}

/// A program to start for one turn (one run of an agent's program), with its arguments, its variables and its files.
/// Its working folder is the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLaunch {
    pub program: String,
    pub arguments: Vec<String>,
    /// Environment variables that the agent's program gets in addition to the inherited ones.
    pub environment: Vec<(String, String)>,
    /// Folders that are created, if they are missing, before the agent's program starts.
    pub folders: Vec<PathBuf>,
    /// Files to write before the program starts, each as a path and a text. Only the owner can read them.
    pub files: Vec<(PathBuf, String)>,
    pub input: ProgramInput,
}

/// The source of the standard input of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramInput {
    Nothing,
    File(PathBuf),
    /// The runner and the agent's program hold a conversation over pipes (see `acp::converse`).
    Relay,
}

/// The reasons why an agent's program cannot be started at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlaunchable {
    #[error("the agent's `command` is empty")]
    NoCommand,
    #[error("a path is not UTF-8 and the program's settings cannot name it: {0}")]
    NotText(PathBuf),
}

impl TurnOrder {
    /// Returns a launch with the program, its first arguments and the variables for its home folder. The code for each
    /// kind of program adds further arguments later.
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
        // opencode works in the folder that `PWD` names, and not in its real working folder. Without this variable it
        // would work in the folder where the runner was started.
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

    /// Returns the system prompt and the message as one text, for programs that have no separate place for a system
    /// prompt. Every turn sends the system prompt again, because it can change: it shows each message from another
    /// agent only once.
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

    /// Adds a file in the folder of the turn (one run of the program) to the launch. Returns the file's path as a text
    /// that can be an argument.
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

/// Environment variables whose value is the agent's home folder itself. `HOMES_BELOW` has the variables whose value is
/// a folder in the home folder. Together they cover all places where the programs look for their settings. The folders
/// are created before the program starts, because Codex refuses to start when its folder is missing.
const HOMES_THEMSELVES: &[&str] = &["HOME", "GEMINI_CLI_HOME"];
const HOMES_BELOW: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
];
