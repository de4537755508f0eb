//! An agent's client with a shell tool: a shell that starts `handover mcp`, calls tools over it, and runs commands.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest time that the client waits for an answer of the server.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// The client's shell script: starts `handover mcp` with a named pipe as input and a file as output. Then it runs each
/// line that it reads and prints the exit code.
const SCRIPT: &str = r#"
"$1" mcp --tools full < "$2/in" > "$2/out" 2> "$2/err" & server=$!
echo "$server"
while IFS= read -r line; do eval "$line"; echo "$?"; done
kill "$server" 2> /dev/null
wait
"#;

#[derive(Debug)]
pub(crate) struct AgentClient {
    child: Child,
    commands: ChildStdin,
    codes: BufReader<ChildStdout>,
    input: Option<File>,
    folder: tempfile::TempDir,
    number: usize,
}

/// The exit code and the output of a command of the shell tool.
#[derive(Debug)]
pub(crate) struct ShellRan {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl AgentClient {
    /// Starts the client. The given shell command already has its folder and environment, and its program may have
    /// another name than `sh`.
    pub(crate) fn start(mut shell: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in");
        rustix::fs::mkfifoat(rustix::fs::CWD, &input, rustix::fs::Mode::RWXU).unwrap();
        shell.args(["-c", SCRIPT, "client", env!("CARGO_BIN_EXE_handover")]).arg(folder.path());
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let commands = child.stdin.take().unwrap();
        let mut codes = BufReader::new(child.stdout.take().unwrap());
        codes.read_line(&mut String::new()).unwrap();
        let input = Some(File::options().write(true).open(input).unwrap());
        let mut client = Self { child, commands, codes, input, folder, number: 0 };
        let opening =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.request("initialize", &opening);
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let begun = Instant::now();
        loop {
            let said = std::fs::read_to_string(self.folder.path().join("out")).unwrap_or_default();
            let mut answers = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(answer) = answers.find(|answer| answer["id"] == id) {
                return answer["result"].clone();
            }
            assert!(begun.elapsed() < ANSWER_MAX, "{method}: {}", self.complaints());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn complaints(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("err")).unwrap_or_default()
    }

    /// Calls a tool and panics when it is refused.
    pub(crate) fn must(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Runs `handover` with these arguments, as the client's shell tool does. When `terminal` is given, standard input
    /// is that terminal.
    pub(crate) fn shell(&mut self, words: &[&str], terminal: Option<&Path>) -> ShellRan {
        self.number += 1;
        let file = |what: &str| self.folder.path().join(format!("{}.{what}", self.number));
        let (out, err) = (file("out"), file("err"));
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let path = |path: &PathBuf| quoted(path.to_str().unwrap());
        let program = [env!("CARGO_BIN_EXE_handover")].into_iter().chain(words.iter().copied()).map(quoted);
        let line = program.collect::<Vec<_>>().join(" ");
        let input = terminal.map_or("/dev/null", |path| path.to_str().unwrap());
        writeln!(self.commands, "{line} < {input} > {} 2> {}", path(&out), path(&err)).unwrap();
        let mut code = String::new();
        self.codes.read_line(&mut code).unwrap();
        let text = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        ShellRan { code: code.trim().parse().unwrap(), out: text(out), err: text(err) }
    }

    /// Ends the `handover mcp` server. The client keeps running.
    pub(crate) fn end_server(&mut self) {
        drop(self.input.take());
        writeln!(self.commands, "wait \"$server\"").unwrap();
        self.codes.read_line(&mut String::new()).unwrap();
    }
}

impl Drop for AgentClient {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = writeln!(self.commands, "exit");
        let _status = self.child.wait();
    }
}
