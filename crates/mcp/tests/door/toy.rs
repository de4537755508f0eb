//! The toy backend of the tests of the MCP server. It reports every event as a line of text.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use mcp::{
    Argument, Backend, BackendProblem, CallOutcome, CallerIdentity, Hints, McpCall, McpClient, McpTool, Prompt,
    PromptText, Resource, ResourcePage, ServerInfo, Speaker, UriTemplate, limits,
};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Toy {
    tools: Vec<McpTool>,
    templates: Vec<UriTemplate>,
    prompts: Vec<Prompt>,
    light: watch::Sender<u64>,
    told: mpsc::Sender<String>,
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn tool(name: &str, description: &str) -> McpTool {
    McpTool {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: object(&json!({"type": "object"})),
        output_schema: Some(object(&json!({"type": "object"}))),
        hints: Hints { read_only: name == "echo", destructive: false, idempotent: true },
        always_load: name == "echo",
    }
}

fn name_of(who: &CallerIdentity) -> String {
    match who {
        CallerIdentity::Pipe => "pipe".to_owned(),
        CallerIdentity::Http { session, parts } => {
            let agent = parts.headers.get("x-agent").and_then(|agent| agent.to_str().ok()).unwrap_or("nobody");
            format!("{agent} {}", if session.is_some() { "in a session" } else { "without a session" })
        }
    }
}

impl Toy {
    pub(crate) fn new(told: mpsc::Sender<String>) -> Self {
        let mut tools = vec![
            tool("echo", "gives its arguments back"),
            tool("whoami", "says who calls"),
            tool("refuse", "says no"),
            tool("fail", "breaks"),
            tool("wait", "takes `ms`, tells how it goes every tenth of it"),
            tool("touch", "changes toy://light"),
            tool("workflow_set_plan", "takes long messages"),
        ];
        tools.extend((0..150).map(|number| tool(&format!("extra_{number:03}"), "one of many")));
        let template = UriTemplate {
            uri_template: "toy://{name}".to_owned(),
            name: "thing".to_owned(),
            title: None,
            description: "a thing".to_owned(),
        };
        let argument = Argument { name: "name".to_owned(), description: "whom".to_owned(), required: true };
        let prompt = Prompt {
            name: "greet".to_owned(),
            title: Some("Greet".to_owned()),
            description: "says hello".to_owned(),
            arguments: vec![argument],
        };
        Self { tools, templates: vec![template], prompts: vec![prompt], light: watch::channel(0).0, told }
    }

    /// Reports an event as a line. An error is ignored, because the receiver may already be gone.
    fn tell(&self, line: String) {
        let _unheard = self.told.send(line);
    }

    async fn wait(&self, call: McpCall) -> CallOutcome {
        let ms =
            serde_json::from_str::<Value>(&call.arguments).ok().and_then(|all| all.get("ms")?.as_u64()).unwrap_or(0);
        let going = Going { told: Some(self.told.clone()) };
        for tenth in 0..=10 {
            if let Some(progress) = &call.progress {
                progress.send(tenth, "waiting").await;
            }
            let pause = tokio::time::sleep(Duration::from_millis(ms / 10));
            tokio::select! {
                () = call.act.waiting(pause) => {}
                () = call.closing.cancelled() => {
                    going.done();
                    return CallOutcome::Reply(r#"{"waited":"until closing"}"#.to_owned());
                }
            }
        }
        going.done();
        CallOutcome::Reply(r#"{"waited":"to the end"}"#.to_owned())
    }
}

/// A guard that reports when the call of the tool `wait` is dropped before its end.
struct Going {
    told: Option<mpsc::Sender<String>>,
}

impl Going {
    fn done(mut self) {
        self.told = None;
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(told) = &self.told {
            let _unheard = told.send("dropped wait".to_owned());
        }
    }
}

impl Backend for Toy {
    fn server(&self) -> ServerInfo {
        ServerInfo {
            name: "toy".to_owned(),
            title: "Toy".to_owned(),
            version: "1".to_owned(),
            instructions: "Play.".to_owned(),
        }
    }

    fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn tools(&self) -> Vec<McpTool> {
        self.tools.clone()
    }

    fn message_bytes_max(&self, tool: &str) -> usize {
        if tool == "workflow_set_plan" { limits::MESSAGE_BYTES_MAX } else { limits::MESSAGE_BYTES_DEFAULT }
    }

    async fn call(&self, call: McpCall) -> CallOutcome {
        match call.tool.as_str() {
            "echo" => CallOutcome::Reply(call.arguments),
            "whoami" => CallOutcome::Reply(json!({"who": name_of(&call.who), "meta": call.meta}).to_string()),
            "refuse" => CallOutcome::Refused(r#"{"code":"NO","message":"no","recoverable":false}"#.to_owned()),
            "fail" => {
                CallOutcome::Fault(r#"{"code":"INTERNAL_ERROR","message":"it broke","recoverable":true}"#.to_owned())
            }
            "wait" => self.wait(call).await,
            "touch" => {
                self.light.send_modify(|version| *version += 1);
                // This tool has changed the resource. It waits before it answers, so that a server that sends notices
                // too early has time to do so. The server must send the notice of the change only after the answer.
                call.act_slowly().await;
                CallOutcome::Reply(r#"{"touched":true}"#.to_owned())
            }
            "workflow_set_plan" => CallOutcome::Reply(json!({"bytes": call.arguments.len()}).to_string()),
            _ => CallOutcome::UnknownTool,
        }
    }

    async fn resources(
        &self,
        _who: &CallerIdentity,
        cursor: Option<&str>,
    ) -> Result<ResourcePage<Resource>, BackendProblem> {
        let resource = |name: &str| Resource {
            uri: format!("toy://{name}"),
            name: name.to_owned(),
            title: None,
            description: None,
        };
        match cursor {
            None => Ok(ResourcePage { items: vec![resource("light")], next_cursor: Some("2".to_owned()) }),
            Some("2") => Ok(ResourcePage { items: vec![resource("door")], next_cursor: None }),
            Some(_) => Err(BackendProblem::Invalid("unknown cursor".to_owned())),
        }
    }

    fn templates(&self) -> &[UriTemplate] {
        &self.templates
    }

    async fn read(&self, _who: &CallerIdentity, uri: &str) -> Result<String, BackendProblem> {
        match uri {
            "toy://light" => Ok(json!({"touched": *self.light.borrow()}).to_string()),
            _ => Err(BackendProblem::NotFound(format!("no resource {uri}"))),
        }
    }

    /// Waits a short time before it subscribes. If the server confirmed the subscription too early, the test would
    /// change the resource during this time, and the notice of the change would be lost.
    async fn watch(&self, _who: &CallerIdentity, uri: &str) -> Result<watch::Receiver<u64>, BackendProblem> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        match uri {
            "toy://light" => Ok(self.light.subscribe()),
            _ => Err(BackendProblem::NotFound(format!("no resource {uri}"))),
        }
    }

    fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    async fn prompt(
        &self,
        _who: &CallerIdentity,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Vec<PromptText>, BackendProblem> {
        if name != "greet" {
            return Err(BackendProblem::NotFound(format!("unknown prompt: {name}")));
        }
        let whom =
            arguments.get("name").ok_or_else(|| BackendProblem::Invalid("arguments.name is missing".to_owned()))?;
        Ok(vec![PromptText { by: Speaker::User, text: format!("Greet {whom}.") }])
    }

    fn opened(&self, who: &CallerIdentity) {
        self.tell(format!("opened {}", name_of(who)));
    }

    fn introduced(&self, _who: &CallerIdentity, client: McpClient) {
        self.tell(format!("introduced {} {}", client.name, client.version));
    }

    async fn closed(&self, who: &CallerIdentity) {
        self.tell(format!("closed {}", name_of(who)));
    }
}

trait Slowly {
    async fn act_slowly(&self);
}

impl Slowly for McpCall {
    async fn act_slowly(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}
