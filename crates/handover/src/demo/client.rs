//! A small MCP client for the demo's agents. It starts a server and sends one request at a time over the pipe.

use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::Failed;
use crate::side_program;
use agents::host::TURN;
use runner::turn_proof::PROOF;

pub(super) struct DemoClient {
    _server: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    number: u64,
}

impl DemoClient {
    /// Starts `handover mcp` in a folder and opens the connection, as an agent's client does.
    pub(super) async fn start(program: &Path, folder: &Path, name: &str) -> Result<Self, Failed> {
        let mut command = side_program::command(program, folder);
        command.args(["mcp", "--tools", "full"]);
        // The runner started this agent for a turn (one run of the agent's program). Pass on the two environment
        // variables that name and prove the turn, so that the server knows the turn, too.
        command.envs([TURN, PROOF].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        // Put the server into the process group of this agent, so that the server ends together with the agent when the
        // demo lets the agent crash.
        command.process_group(own_group());
        let mut server = command.spawn()?;
        let lost = || Failed::Step("the server has no pipes".to_owned());
        let input = server.stdin.take().ok_or_else(lost)?;
        let output = BufReader::new(server.stdout.take().ok_or_else(lost)?).lines();
        let mut client = Self { _server: server, input, output, number: 0 };
        let client_info = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
        let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info});
        client.request("initialize", opening).await?;
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    /// Calls a tool. The outer `Err` means that the connection failed, the inner `Err` that the tool refused the call.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Result<Value, Value>, Failed> {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            return Ok(Err(serde_json::from_str(text).unwrap_or_default()));
        }
        Ok(Ok(result["structuredContent"].clone()))
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failed> {
        self.number += 1;
        let number = self.number;
        self.write(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})).await?;
        while let Some(line) = self.output.next_line().await? {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == number {
                return match message.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(Failed::Step(format!("{method}: {}", message["error"]["message"]))),
                };
            }
        }
        Err(Failed::Step("the server has gone".to_owned()))
    }

    async fn write(&mut self, message: &Value) -> Result<(), Failed> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }
}

fn own_group() -> i32 {
    rustix::process::getpgrp().as_raw_nonzero().get()
}
