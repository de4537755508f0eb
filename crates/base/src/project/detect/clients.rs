//! Finds the agent programs that are installed on this machine. The programs are not started.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agents::adapter::AdapterKind;
use serde::Deserialize;

const CLIENTS: &str = include_str!("clients.toml");

/// An agent program that Handover can start without any settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownClient {
    /// The name of the program. It is also the slug (short name) of the agent.
    pub name: String,
    pub adapter: AdapterKind,
    /// The command that starts the program, with the arguments that the adapter needs. The adapter is Handover's code
    /// for this kind of program.
    pub command: Vec<String>,
    /// The rule that finds out whether a person is logged in. The default rule finds out nothing.
    #[serde(default)]
    pub login: LoginRule,
}

/// The rule that finds out whether a person is logged in to a client (an agent program). It sends no request to the
/// vendor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoginRule {
    /// The names of environment variables. When one of them is set, the agent program needs no login.
    pub variables: Vec<String>,
    /// The arguments with which the program prints whether a person is logged in.
    pub ask: Vec<String>,
    /// The first version of the program that surely knows the arguments in `ask`. An older version could take them for
    /// a prompt, which costs money.
    pub since: [u32; 3],
    /// Files that exist only after a login, relative to the home folder.
    pub files: Vec<String>,
    pub folder: Option<LoginFolder>,
    /// The command with which a person logs in.
    pub hint: String,
}

/// An environment variable that changes the folder in which an agent program keeps its files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginFolder {
    pub variable: String,
    /// The beginning of a file's path. The value of the variable replaces it.
    pub instead_of: String,
}

/// An agent program that Handover knows and that is installed on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledClient {
    pub client: KnownClient,
    pub program: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientTable {
    client: Vec<KnownClient>,
}

/// Returns the agent programs in `clients.toml`. Empty when the file cannot be parsed; a test fails in that case.
pub fn known_clients() -> &'static [KnownClient] {
    static READ: OnceLock<ClientTable> = OnceLock::new();
    &READ.get_or_init(|| toml::from_str(CLIENTS).unwrap_or_default()).client
}

/// Returns the agent programs of `known` that are installed, in the same order. `path` is the value of `PATH`.
pub fn installed_clients(path: &OsStr, known: &[KnownClient]) -> Vec<InstalledClient> {
    let found = |client: &KnownClient| {
        let program = find_program(path, client.command.first()?)?;
        Some(InstalledClient { client: client.clone(), program })
    };
    known.iter().filter_map(found).collect()
}

/// Finds a program by its name in the folders of `path`, the value of `PATH`. Folders with a relative path are skipped,
/// because such a path could lead to a program of the repository.
pub fn find_program(path: &OsStr, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|program| is_program(program))
}

/// Returns true when a path is a file that may be executed.
pub(in crate::project) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_seven_clients_with_their_commands() {
        let lines: Vec<String> = known_clients()
            .iter()
            .map(|client| format!("{}: {} {}", client.name, client.adapter.name(), client.command.join(" ")))
            .collect();
        assert_eq!(
            lines,
            [
                "claude: claude claude",
                "codex: codex codex",
                "opencode: opencode opencode",
                "gemini: gemini gemini",
                "copilot: acp copilot --acp --disable-builtin-mcps --no-auto-update",
                "goose: acp goose acp",
                "qwen: acp qwen --acp",
            ]
        );
        for client in known_clients() {
            assert!(engine::agent::is_slug(&client.name) && !engine::agent::is_reserved(&client.name));
            assert_eq!(client.command.first(), Some(&client.name));
        }
    }

    #[test]
    fn only_executable_files_in_absolute_folders_are_installed() {
        let place = tempfile::tempdir().unwrap();
        let file = |path: &str, mode: u32| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        file("a/claude", 0o755);
        file("a/codex", 0o644);
        file("b/codex", 0o755);
        file("b/claude", 0o755);
        std::fs::create_dir_all(place.path().join("a/gemini")).unwrap();
        let (a, b) = (place.path().join("a"), place.path().join("b"));
        let folders = [Path::new("relative"), Path::new(""), &a, Path::new("/no/such/folder"), &b];
        let path = std::env::join_paths(folders).unwrap();
        let found = installed_clients(&path, known_clients());
        let programs: Vec<PathBuf> = found.into_iter().map(|found| found.program).collect();
        assert_eq!(programs, [a.join("claude"), b.join("codex")]);
        assert_eq!(installed_clients(OsStr::new(""), known_clients()), []);
        assert_eq!(find_program(&path, "goose"), None);
    }
}
