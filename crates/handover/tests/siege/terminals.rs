//! Tests that a person can decide an approval in the places where people work: in tmux, in the terminal of an editor,
//! over ssh, and in a shell with environment variables that configure agents. An agent in the person's tmux cannot
//! decide.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::approvals::Asked;
use crate::busy::patience;
use crate::place::Place;
use crate::security::{Team, word};

/// The longest time that the test waits for the output of a program that it started.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The first message of an MCP client.
const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// A test project with a pending approval, and a folder for the output of the commands that the test types.
struct Waiting {
    team: Team,
    asked: Asked,
    folder: tempfile::TempDir,
}

/// The exit code and the output of a command that was typed into a terminal.
#[derive(Debug)]
struct Typed {
    code: String,
    words: String,
}

impl Waiting {
    fn new() -> Self {
        let team = Team::new();
        let asked = Asked::new(&team, "push");
        Self { team, asked, folder: tempfile::tempdir().unwrap() }
    }

    fn place(&self) -> &Place {
        &self.team.place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the shell line that approves the pending approval request. The line writes its output and its exit code
    /// into files.
    fn line(&self, name: &str) -> String {
        let (program, approval) = (env!("CARGO_BIN_EXE_handover"), &self.asked.approval);
        let (out, half, code) = (self.file(name), self.file("half"), self.file(&format!("{name}.code")));
        let (out, half, code) = (out.display(), half.display(), code.display());
        format!("{program} approval approve {approval} >{out} 2>&1; echo $? >{half}; mv {half} {code}")
    }

    /// Waits until a typed line has ended, and returns its exit code and output.
    fn typed(&self, name: &str) -> Typed {
        let code = wait_for(&self.file(&format!("{name}.code")));
        Typed { code: code.trim().to_owned(), words: std::fs::read_to_string(self.file(name)).unwrap() }
    }

    fn status(&self) -> String {
        word(&self.place().json(&["approval", "show", &self.asked.approval, "--json"])["status"])
    }

    /// Checks that the approval request is approved and that the task is in progress again.
    fn was_approved(self, ran: &Typed) {
        assert_eq!((ran.code.as_str(), self.status().as_str()), ("0", "approved"), "{ran:?}");
        let task = self.team.server.must("task_get", &json!({"id": self.asked.task}));
        assert_eq!(word(&task["status"]), "in_progress");
        self.team.server.stop();
    }
}

/// Waits until a file exists and is not empty, and returns its content.
fn wait_for(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            Ok(_) | Err(_) => {}
        }
        assert!(begun.elapsed() < patience(WAIT_MAX), "nothing came to {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A tmux server for one test. Dropping the value ends the server.
struct Tmux<'a> {
    waiting: &'a Waiting,
}

impl<'a> Tmux<'a> {
    /// Starts the tmux server with one shell.
    fn start(waiting: &'a Waiting) -> Self {
        let tmux = Self { waiting };
        tmux.must(&["new-session", "-d", "-x", "120", "-y", "40", "/bin/sh"]);
        tmux
    }

    fn command(&self) -> Command {
        let mut command = self.waiting.place().program_of(Path::new("tmux"));
        command.arg("-S").arg(self.waiting.file("tmux")).args(["-f", "/dev/null"]);
        command.env_remove("TMUX").env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        command
    }

    fn must(&self, words: &[&str]) {
        let ran = self.command().args(words).output();
        let ran = ran.unwrap_or_else(|error| panic!("tmux: {error}; scripts/test installs it"));
        assert!(ran.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Types a line into the active pane and presses Enter.
    fn types(&self, line: &str) {
        self.must(&["send-keys", "-l", line]);
        self.must(&["send-keys", "Enter"]);
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // The tmux server may have ended already, so ignore a failure.
        let _over = self.command().arg("kill-server").output();
    }
}

#[test]
fn a_person_in_tmux_decides_and_an_agent_in_it_does_not() {
    let waiting = Waiting::new();
    let tmux = Tmux::start(&waiting);
    // tmux starts an agent's MCP server. The server holds both ends of the fifo, so its input stays open.
    let (input, opening, out) = (waiting.file("in"), waiting.file("opening"), waiting.file("out"));
    std::fs::write(&opening, format!("{OPENING}\n")).unwrap();
    let program = env!("CARGO_BIN_EXE_handover");
    let (input, opening) = (input.display(), opening.display());
    let server =
        format!("mkfifo {input}; exec 3<>{input}; cat {opening} >&3; exec {program} mcp <&3 >{}", out.display());
    tmux.must(&["new-window", "-d", &server]);
    wait_for(&out);
    // Run an agent's shell in a pane of the person's tmux.
    let claude = waiting.file("claude");
    std::fs::copy("/bin/sh", &claude).unwrap();
    let below = waiting.file("below.sh");
    std::fs::write(&below, format!("{}\n", waiting.line("below"))).unwrap();
    tmux.types(&format!("{} {}", claude.display(), below.display()));
    let refused = waiting.typed("below");
    assert!(
        refused.code == "1" && refused.words.contains("NOT_A_PERSON this command was started by claude (pid "),
        "{refused:?}"
    );
    assert_eq!(waiting.status(), "pending");
    tmux.types(&waiting.line("person"));
    let ran = waiting.typed("person");
    drop(tmux);
    waiting.was_approved(&ran);
}

/// The clients goose and opencode ask people to set environment variables in their shells. Handover must not take a
/// person with these variables for an agent.
#[test]
fn a_person_whose_shell_has_agents_settings_decides() {
    let waiting = Waiting::new();
    let tmux = Tmux::start(&waiting);
    for setting in [
        "AGENT_SESSION_ID=20261117_1",
        "GOOSE_PROVIDER=openai",
        "GOOSE_MODEL=m",
        "GOOSE_MODE=approve",
        "OPENCODE_CONFIG=$HOME/opencode.json",
        "OPENCODE_CONFIG_DIR=$HOME/.config/opencode",
        "OPENCODE_DISABLE_AUTOUPDATE=true",
        "OPENCODE_PERMISSION='{}'",
    ] {
        tmux.types(&format!("export {setting}"));
    }
    tmux.types(&waiting.line("person"));
    let ran = waiting.typed("person");
    drop(tmux);
    waiting.was_approved(&ran);
}

/// Tests a person who types into vim's terminal, while vim also runs an agent's MCP server as a job.
#[test]
fn a_person_in_the_terminal_of_vim_decides() {
    let waiting = Waiting::new();
    let tmux = Tmux::start(&waiting);
    let (ready, out, script) = (waiting.file("ready"), waiting.file("out"), waiting.file("setup.vim"));
    let program = env!("CARGO_BIN_EXE_handover");
    let commands = [
        format!(
            "let g:server = job_start(['{program}', 'mcp'], {{'out_io': 'file', 'out_name': '{}'}})",
            out.display()
        ),
        format!("call ch_sendraw(g:server, '{OPENING}' .. \"\\n\")"),
        format!("call term_start(['/bin/sh', '-c', 'echo ready >{}; exec /bin/sh'])", ready.display()),
    ];
    std::fs::write(&script, commands.join("\n")).unwrap();
    tmux.types(&format!("vim -Nu NONE -n -i NONE -S {}", script.display()));
    wait_for(&ready);
    wait_for(&out);
    tmux.types(&waiting.line("person"));
    let ran = waiting.typed("person");
    drop(tmux);
    waiting.was_approved(&ran);
}

/// Tests a person who decides over ssh. The test runs `sshd -i` for one connection, as inetd would start it. Such a
/// server needs no port and ends with its client.
#[test]
fn a_person_over_ssh_decides() {
    let waiting = Waiting::new();
    for name in ["host", "user"] {
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(waiting.file(name)).output();
        let made = made.unwrap_or_else(|error| panic!("ssh-keygen: {error}; scripts/test installs it"));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    // When sshd runs as root, it needs the folder `/run/sshd`. Usually the system's service for sshd creates this
    // folder.
    if rustix::process::getuid().is_root() {
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
    let config = waiting.file("sshd_config");
    let lines = [
        format!("HostKey {}", waiting.file("host").display()),
        format!("AuthorizedKeysFile {}", waiting.file("user.pub").display()),
        "StrictModes no\nUsePAM no\nPidFile none\nPrintMotd no\nPrintLastLog no".to_owned(),
    ];
    std::fs::write(&config, lines.join("\n") + "\n").unwrap();
    let command = format!(
        "cd {} && export HOME={home} XDG_DATA_HOME={home}/data && {}",
        waiting.place().root().display(),
        waiting.line("person"),
        home = waiting.place().outside().display(),
    );
    let mut ssh = waiting.place().program_of(Path::new("ssh"));
    ssh.arg("-F").arg("none").arg("-tt").arg("-i").arg(waiting.file("user"));
    ssh.args(["-o", &format!("ProxyCommand=/usr/sbin/sshd -i -e -f {}", config.display())]);
    ssh.args(["-o", &format!("UserKnownHostsFile={}", waiting.file("known").display())]);
    ssh.args(["-o", "StrictHostKeyChecking=no", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "here"])
        .arg(command);
    let ended = ssh.output().unwrap();
    assert!(waiting.file("person.code").exists(), "{}", String::from_utf8_lossy(&ended.stderr));
    let ran = waiting.typed("person");
    waiting.was_approved(&ran);
}
