//! Finds the version and the login state of the installed clients (agent programs). This sends nothing over the network
//! and costs nothing: it reads variables and files, and starts programs only with arguments that they surely know.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use spawn::{StartEnvironment, StartFolder};
use tokio::process::{Child, Command};

use super::clients::{InstalledClient, LoginRule};
use crate::project::environment::{self, ProgramKind};
use crate::project::settings::{DetectedAgent, EnvironmentSettings};

/// The longest time that an agent program may take to print one answer. Programs in JavaScript need about a second to
/// start.
const PATIENCE: Duration = Duration::from_secs(3);
/// The maximum number of retries when a program cannot be started because its file is being written, and the pause
/// before each retry.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(50);
/// The largest file of an agent program, in bytes, that is read to find a login. A larger file counts as no login.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The version and the login state of an installed client (an agent program).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientState {
    /// The version, such as `2.1.325`. `None` when the program did not print it in time.
    pub version: Option<String>,
    pub login: LoginState,
}

/// The answer to the question whether a person is logged in to a client (an agent program).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    LoggedIn,
    /// No person is logged in. `hint` is the command with which the person logs in.
    NotLoggedIn {
        hint: String,
    },
    /// The login state is not known: the client cannot be asked without a request to its vendor, or it did not answer.
    Unknown,
}

/// The home folder and the variables in which the login to an agent program is searched.
#[derive(Debug, Clone, Copy)]
pub struct LoginPlace<'a> {
    pub home: &'a Path,
    /// The environment variables that are set and not empty.
    pub variables: &'a BTreeMap<String, OsString>,
}

/// Asks all clients (agent programs) at the same time for their version and login state. Returns one state for each
/// client, in the same order.
pub async fn ask_clients(clients: &[InstalledClient], place: LoginPlace<'_>) -> Vec<ClientState> {
    let mut asked = Vec::new();
    for installed in clients {
        let known = looked_up(&installed.client.login, place);
        let (installed, home) = (installed.clone(), place.home.to_owned());
        asked.push(tokio::spawn(async move { ask_one(&installed, &home, known).await }));
    }
    let mut states = Vec::new();
    for answer in asked {
        states.push(answer.await.unwrap_or(ClientState { version: None, login: LoginState::Unknown }));
    }
    states
}

/// Asks all clients (agent programs) like `ask_clients`, with the home folder and the variables of this process.
pub async fn ask_clients_here(clients: &[InstalledClient]) -> Vec<ClientState> {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let variables: BTreeMap<String, OsString> =
        set.filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let home = variables.get("HOME").map(PathBuf::from).unwrap_or_default();
    ask_clients(clients, LoginPlace { home: &home, variables: &variables }).await
}

async fn ask_one(installed: &InstalledClient, home: &Path, known: LoginState) -> ClientState {
    let (rule, program) = (&installed.client.login, AskedClient { installed, home });
    let version = program.run(&["--version".to_owned()]).await.and_then(|output| version(&output));
    if known == LoginState::LoggedIn || rule.ask.is_empty() {
        return ClientState { version, login: known };
    }
    let is_safe = version.as_deref().and_then(numbers).is_some_and(|found| found >= rule.since);
    let output = if is_safe { program.run(&rule.ask).await } else { None };
    let login = output.map_or(known, |output| told(&output, &rule.hint));
    ClientState { version, login }
}

/// Finds out from variables and files whether a person is logged in to an agent program.
fn looked_up(rule: &LoginRule, place: LoginPlace<'_>) -> LoginState {
    let has_variable = rule.variables.iter().any(|name| place.variables.contains_key(name));
    let path = |file: &String| {
        let moved = rule.folder.as_ref().and_then(|folder| {
            let rest = Path::new(file).strip_prefix(&folder.instead_of).ok()?;
            Some(PathBuf::from(place.variables.get(&folder.variable)?).join(rest))
        });
        moved.unwrap_or_else(|| place.home.join(file))
    };
    let has_file = || rule.files.iter().any(|file| has_content(&path(file)));
    if has_variable || has_file() { LoginState::LoggedIn } else { LoginState::Unknown }
}

/// Returns true when a file holds a JSON object that is not empty. After a logout, agent programs leave a file with an
/// empty object.
fn has_content(path: &Path) -> bool {
    let is_small = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX);
    let text = is_small.then(|| std::fs::read_to_string(path).ok()).flatten().unwrap_or_default();
    serde_json::from_str::<serde_json::Map<String, Value>>(&text).is_ok_and(|object| !object.is_empty())
}

/// Reads the login state from the output of an agent program: the member `loggedIn` in JSON (Claude Code), or a
/// sentence (Codex).
fn told(output: &Output, hint: &str) -> LoginState {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy);
    let not_logged_in = || LoginState::NotLoggedIn { hint: hint.to_owned() };
    if let Ok(Value::Object(answer)) = serde_json::from_str(&text[0]) {
        return match answer.get("loggedIn").and_then(Value::as_bool) {
            Some(true) => LoginState::LoggedIn,
            Some(false) => not_logged_in(),
            None => LoginState::Unknown,
        };
    }
    let says = |words: &str| text.iter().any(|text| text.to_lowercase().contains(words));
    match (says("not logged in"), says("logged in") && output.status.success()) {
        (true, _) => not_logged_in(),
        (false, true) => LoginState::LoggedIn,
        (false, false) => LoginState::Unknown,
    }
}

/// Finds the version in the output of a program: the first word that begins with a digit and has a dot.
fn version(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().map(|word| word.trim_start_matches('v').trim_end_matches([',', '.', ')']));
    let mut versions =
        words.filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.'));
    versions.next().filter(|_| output.status.success()).map(str::to_owned)
}

/// Returns the three numbers of a version. A missing third number counts as 0.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = plain.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?])
}

/// Starts a program. Tries again while the program's file is being written, which happens during an update of the
/// program.
async fn started(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => tokio::time::sleep(BUSY_PAUSE).await,
            Ok(child) => return Ok(child),
            Err(error) => return Err(error),
        }
    }
    command.spawn()
}

/// An installed agent program that is started to get an answer.
struct AskedClient<'a> {
    installed: &'a InstalledClient,
    home: &'a Path,
}

impl AskedClient<'_> {
    /// Runs the program to its end. Returns `None` when the program cannot be started or takes too long. In that case,
    /// the program and everything that it started are killed.
    async fn run(&self, arguments: &[String]) -> Option<Output> {
        let client = &self.installed.client;
        let (slug, command) = (client.name.clone(), client.command.clone());
        let agent = DetectedAgent { slug, adapter: client.adapter, command, max_parallel: 1 }.settings();
        let inherited = environment::inherited_here(ProgramKind::Agent(&agent), &EnvironmentSettings::default());
        let names: Vec<&str> = inherited.iter().map(String::as_str).collect();
        // Start the program in the home folder, so that it reads no settings of a repository.
        let folder = StartFolder::At(self.home);
        let mut command: Command =
            spawn::command(&self.installed.program, folder, StartEnvironment::Only(&names)).into();
        command.args(arguments).env("HOME", self.home);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let child = started(&mut command).await.ok()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        if let (Err(_late), Some(group)) = (&ended, group) {
            // Ignore the error: the processes may have ended already.
            let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        ended.ok()?.ok()
    }
}

#[cfg(test)]
mod tests;
