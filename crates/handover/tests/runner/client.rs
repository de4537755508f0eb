//! An agent over a pipe: a shell that stands in for an agent's client and starts `handover mcp`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::scene::{Scene, program};

/// The script of the stand-in client. It starts the server as a child and prints the server's process id.
const CLIENT: &str = "exec 3<&0; \"$@\" <&3 3<&- & echo $!; exec 3<&-; wait $!";

/// A stand-in client process and its `handover mcp` server process.
#[derive(Debug)]
pub(crate) struct StdioAgent {
    client: Child,
    server: u32,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    calls: u64,
    pub(crate) id: String,
}

impl StdioAgent {
    /// Starts the client and its server on a real or simulated machine, and registers an agent.
    pub(crate) fn start(scene: &Scene, machine: &Machine, name: &str, role: &str) -> Self {
        let server = machine.handover(scene, &["mcp", "--tools", "full"]);
        let mut client: Command = program("sh");
        client.args(["-c", CLIENT, "client"]).arg(server.get_program()).args(server.get_args()).env_clear();
        client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(scene.project());
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(client.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let (server, input) = (line.trim().parse().unwrap(), client.stdin.take());
        let mut agent = Self { client, server, input, output, calls: 0, id: String::new() };
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
        agent.request("initialize", &hello);
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let register = json!({"name": name, "runtime": "test", "role": role});
        agent.id = agent.call("agent_register", &register)["id"].as_str().unwrap().to_owned();
        agent
    }

    /// Returns the process ids of the client and the server.
    pub(crate) fn processes(&self) -> [u32; 2] {
        [self.client.id(), self.server]
    }

    fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended during {method}");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.calls {
                return answer["result"].clone();
            }
        }
    }

    /// Calls a tool. A refusal is returned as an object with `code`.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        match result["isError"] == true {
            true => serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap(),
            false => result["structuredContent"].clone(),
        }
    }

    /// Claims a task. Returns the number of the claim, or the reply that names the agent that holds the task.
    pub(crate) fn claim(&mut self, task: &str) -> Result<u64, Value> {
        let claimed = self.call("task_claim", &json!({"task_id": task}));
        claimed["attempt"].as_u64().filter(|_| claimed["success"] == true).ok_or(claimed)
    }

    pub(crate) fn complete(&mut self, task: &str) -> Value {
        self.call("task_update_status", &json!({"id": task, "status": "completed", "outcome": "done"}))
    }

    /// Closes the connection as a client does, and waits until the client has ended.
    pub(crate) fn leave(mut self) {
        drop(self.input.take());
        self.client.wait().unwrap();
    }
}

impl Drop for StdioAgent {
    /// Kills the client and the server when a test fails. A server that `SIGSTOP` has stopped would not end when its
    /// pipe is closed.
    fn drop(&mut self) {
        // Hold the pipe until the processes are killed. A server whose pipe is closed first would end by itself.
        if let Some(_open) = self.input.take() {
            for pid in [self.server, self.client.id()] {
                let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap());
                let _gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
            }
            let _gone = self.client.wait();
        }
    }
}
