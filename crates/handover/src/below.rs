//! Finds out whether this process runs below an agent, that is, whether an agent started it directly or through other
//! processes. Only a person may decide approvals and operate Handover; agents do the work.
//!
//! Each of three signs is enough: an environment variable that marks programs of agents; an ancestor process that is an
//! agent's client, a turn host (the process in which Handover hosts an agent's program) or a git process that Handover
//! started; an ancestor process that started a `handover mcp` process that is still alive. Ancestors are read from
//! `/proc`. On systems without `/proc` only the environment variables count.
//!
//! This check keeps agents from deciding by accident or because of a text that they read. It is not a security
//! boundary: a program of the same user can detach from its ancestors and clear its environment.

mod ancestry;
mod client;
mod record;

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use engine::id::{SessionId, TurnId};
use runner::turn_proof;

pub use record::ClientRecord;
use record::McpParent;

/// The environment variables that the shell tools of agent clients, and also Handover's runner, set for the programs
/// that they start. One name per line.
const MARKS: &str = include_str!("below/marks.txt");

/// The evidence that a process runs below an agent, that is, that an agent started it directly or through other
/// processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BelowAgent {
    /// The first sign of an agent that was found; there may be more signs.
    pub sign: AgentSign,
    /// The sessions of the live `handover mcp` processes that an ancestor of this process started, nearest ancestor
    /// first.
    pub sessions: Vec<SessionId>,
}

/// One sign that an agent started this process, directly or through other processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSign {
    /// The name of an environment variable that is set for this process and marks programs below an agent, see
    /// [`marks`].
    Mark(&'static str),
    /// An ancestor of this process: the process that Handover's runner starts to host one turn (one run of an agent's
    /// program).
    TurnHost { pid: u32 },
    /// An ancestor of this process: a git process that Handover started. Git runs programs that the repository's
    /// configuration names, and an agent can write that configuration.
    OurGit { pid: u32 },
    /// An ancestor of this process: the program of an agent client that Handover knows, such as `claude`.
    KnownClient { name: &'static str, pid: u32 },
    /// An ancestor of this process: a program that started a `handover mcp` process that is still alive.
    McpClient { name: String, pid: u32 },
}

impl fmt::Display for AgentSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(name) => write!(f, "the environment variable {name} is set, which marks commands of agents"),
            Self::TurnHost { pid } => write!(f, "this command was started by a turn of the runner (pid {pid})"),
            Self::OurGit { pid } => write!(f, "this command was started by a git process of Handover (pid {pid})"),
            Self::KnownClient { name, pid } => write!(f, "this command was started by {name} (pid {pid})"),
            Self::McpClient { name, pid } => {
                write!(
                    f,
                    "this command was started by {name} (pid {pid}), which also started a `handover mcp` that \
                    still runs"
                )
            }
        }
    }
}

/// Returns the names of the environment variables that only agents' programs have.
pub fn marks() -> impl Iterator<Item = &'static str> {
    MARKS.lines().filter(|line| !line.is_empty())
}

/// Returns the evidence that an agent started this process, directly or through other processes, or `None` without
/// evidence. `live` is the folder in which the running Handover processes of a store keep their session files.
pub fn look(live: Option<&Path>) -> Option<BelowAgent> {
    let mark = marked(|name| std::env::var_os(name));
    let ancestors = ancestry::ancestors();
    let clients = live.filter(|_| !ancestors.is_empty()).map(record::living).unwrap_or_default();
    let started =
        |ancestor: &ancestry::Ancestor| clients.iter().filter(|client| client.is(ancestor)).collect::<Vec<_>>();
    let sessions = ancestors.iter().flat_map(started).filter_map(|client| client.session()).collect();
    let parents = ancestors.iter().skip(1).map(Some).chain([None]);
    let sign = mark.or_else(|| {
        ancestors.iter().zip(parents).find_map(|(ancestor, parent)| {
            if parent.is_some_and(|parent| client::is_our_git(ancestor, parent)) {
                return Some(AgentSign::OurGit { pid: ancestor.pid });
            }
            if client::is_turn_host(ancestor) {
                return Some(AgentSign::TurnHost { pid: ancestor.pid });
            }
            if let Some(name) = client::known(ancestor) {
                return Some(AgentSign::KnownClient { name, pid: ancestor.pid });
            }
            let name = || ancestor.name().chars().filter(|letter| !letter.is_control()).take(64).collect();
            (!started(ancestor).is_empty()).then(|| AgentSign::McpClient { name: name(), pid: ancestor.pid })
        })
    })?;
    Some(BelowAgent { sign, sessions })
}

/// Returns the sessions of the live `handover mcp` processes, except those that belong to the agent client that started
/// this process. Returns none when the ancestors of this process cannot be read.
pub fn foreign_sessions(live: &Path) -> Vec<SessionId> {
    let ancestors = ancestry::ancestors();
    if ancestors.is_empty() {
        return Vec::new();
    }
    let is_above = |process: &ancestry::Ancestor| {
        ancestors.iter().any(|above| (above.pid, above.start) == (process.pid, process.start))
    };
    // A wrapper (`npx`, a shell) may be between the client and its `handover mcp`. So look for the nearest common
    // ancestor of this process and the `handover mcp`. If that ancestor is a client, both processes belong to this
    // client. If it is another program, such as a terminal, they do not.
    let shares_client = |parent: &McpParent| {
        let chain = ancestry::from(parent.pid());
        let is_the_parent = chain.first().is_some_and(|first| parent.is(first));
        let common = chain.iter().find(|process| is_above(process));
        is_the_parent && common.is_some_and(|common| client::known(common).is_some())
    };
    let is_own = |parent: &McpParent| ancestors.iter().any(|above| parent.is(above)) || shares_client(parent);
    record::living(live).iter().filter(|parent| !is_own(parent)).filter_map(McpParent::session).collect()
}

/// Tells whether this process belongs to a turn, that is, to one run of an agent's program by Handover's runner. The
/// proof is a random text in the environment, or the turn's host process among the ancestors of this process.
pub fn is_part_of_turn(state: &Path, turn: TurnId) -> bool {
    turn_proof::is_shown(state, turn) || is_below_host_of(&turn_proof::turn_folder(state, turn))
}

/// Tells whether an ancestor of this process is the host process of a turn, that is, of one run of an agent's program
/// by Handover's runner. The files of the turn are in `folder`.
pub fn is_below_host_of(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let is_its = |named: &String| Path::new(named).canonicalize().is_ok_and(|named| named == folder);
    ancestry::ancestors().iter().any(|above| client::is_turn_host(above) && above.arguments.get(2).is_some_and(is_its))
}

/// Returns a sign that an agent started this process: the first environment variable of [`marks`] that is set. Only
/// agents' programs have these variables. A variable with an empty value counts as set.
fn marked(variable: impl Fn(&str) -> Option<OsString>) -> Option<AgentSign> {
    marks().find(|name| variable(name).is_some()).map(AgentSign::Mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_by_its_exact_name_whatever_its_value() {
        let set = |wanted: &'static str, value: &'static str| {
            marked(move |name| (name == wanted).then(|| OsString::from(value)))
        };
        for mark in marks() {
            assert_eq!(set(mark, "1"), Some(AgentSign::Mark(mark)));
            assert_eq!(set(mark, ""), Some(AgentSign::Mark(mark)), "an empty {mark} is a mark");
        }
        // People have these variables in their own shells, so they must not count as signs of an agent.
        let peoples = [
            "AGENT_SESSION_ID",
            "AGENT",
            "GOOSE_PROVIDER",
            "GOOSE_MODEL",
            "OPENCODE_CONFIG",
            "OPENCODE_CONFIG_CONTENT",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CODEX_HOME",
            "GEMINI_API_KEY",
            "GEMINI_CLI_HOME",
            "COPILOT_MODEL",
            "CURSOR_TRACE_ID",
            "HANDOVER_STORE",
            "HANDOVER_TOKEN",
            "TERM_PROGRAM",
            "VSCODE_PID",
            "ZED_TERM",
        ];
        for name in peoples {
            assert_eq!(set(name, "1"), None, "{name}");
        }
        assert!(marks().all(|name| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')));
    }
}
