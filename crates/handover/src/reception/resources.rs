//! Serves workflows, tasks and inboxes as MCP resources.

use tokio::sync::watch;

use super::Reception;
use crate::desk::{ToolOutcome, Visitor};
use base::service::feed::WatchedSubject;
use mcp::{BackendProblem, Resource, ResourcePage, UriTemplate};

const SCHEME: &str = "handover://";

pub(super) fn templates() -> Vec<UriTemplate> {
    let template = |path: &str, name: &str, about: &str| UriTemplate {
        uri_template: format!("{SCHEME}{path}"),
        name: name.to_owned(),
        title: None,
        description: about.to_owned(),
    };
    vec![
        template("workflow/{id}", "workflow", "A workflow with the first page of its tasks"),
        template("task/{id}", "task", "A task with its newest checkpoints"),
        template("inbox/{agent}", "inbox", "Unread messages of an agent, by id or slug"),
    ]
}

/// Splits a URI such as `handover://task/tk_0123456789ab` into its kind and its id. Refuses other URIs.
fn named(uri: &str) -> Result<(&str, &str), BackendProblem> {
    let path = uri.strip_prefix(SCHEME).and_then(|path| path.split_once('/'));
    match path {
        Some((kind @ ("workflow" | "task" | "inbox"), id)) if is_plain(id) => Ok((kind, id)),
        _ => Err(BackendProblem::NotFound(format!(
            "{uri} is not a resource; the resources are {SCHEME}workflow/{{id}}, {SCHEME}task/{{id}} and \
             {SCHEME}inbox/{{agent}}"
        ))),
    }
}

/// Tells whether a text has only the characters of ids and slugs, so that it can be put into JSON without escapes.
fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl Reception {
    pub(super) async fn list_resources(
        &self,
        visitor: &Visitor,
        cursor: Option<&str>,
    ) -> Result<ResourcePage<Resource>, BackendProblem> {
        let cursor =
            cursor.map(|cursor| format!(",\"cursor\":{}", serde_json::Value::from(cursor))).unwrap_or_default();
        let text = self.ask(visitor, "workflow_list", &format!("{{\"limit\":50{cursor}}}")).await?;
        let reply: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let rows = reply.get("workflows").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
        let text = |row: &serde_json::Value, name: &str| {
            row.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let items = rows.iter().map(|row| Resource {
            uri: format!("{SCHEME}workflow/{}", text(row, "id")),
            name: text(row, "name"),
            title: None,
            description: Some(format!("workflow, {}", text(row, "status"))),
        });
        let next = reply.get("next_cursor").and_then(serde_json::Value::as_str).map(str::to_owned);
        Ok(ResourcePage { items: items.collect(), next_cursor: next })
    }

    pub(super) async fn read_resource(&self, visitor: &Visitor, uri: &str) -> Result<String, BackendProblem> {
        match named(uri)? {
            ("workflow", id) => {
                self.ask(visitor, "workflow_get", &format!("{{\"id\":\"{id}\",\"include_tasks\":true}}")).await
            }
            ("task", id) => {
                self.ask(visitor, "task_get", &format!("{{\"id\":\"{id}\",\"include_checkpoints\":true}}")).await
            }
            (_, agent) => self.ask(visitor, "inbox_read", &format!("{{\"agent_id\":\"{agent}\"}}")).await,
        }
    }

    pub(super) async fn watch_resource(
        &self,
        visitor: &Visitor,
        uri: &str,
    ) -> Result<watch::Receiver<u64>, BackendProblem> {
        // Read the resource first: a caller may watch only a resource that it may read.
        self.read_resource(visitor, uri).await?;
        let subject = match named(uri)? {
            ("workflow", id) => WatchedSubject::Workflow(id.to_owned()),
            ("task", id) => WatchedSubject::Task(id.to_owned()),
            (_, agent) => WatchedSubject::Inbox(self.slug(visitor, agent).await?),
        };
        self.feed.watch(subject).await.map_err(|unwatched| BackendProblem::Fault(unwatched.to_string()))
    }

    /// Returns the slug (the short name) of an agent that is given by its id or slug. The slug is needed because it
    /// names the log of the agent's inbox.
    async fn slug(&self, visitor: &Visitor, agent: &str) -> Result<String, BackendProblem> {
        if !agent.starts_with("ag_") {
            return Ok(agent.to_owned());
        }
        let text = self.ask(visitor, "agent_get", &format!("{{\"id\":\"{agent}\"}}")).await?;
        let reply: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(reply.get("slug").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned())
    }

    async fn ask(&self, visitor: &Visitor, tool: &str, arguments: &str) -> Result<String, BackendProblem> {
        match self.desk.call(visitor, tool, arguments.as_bytes(), None).await {
            ToolOutcome::Done(value) => Ok(value.to_string()),
            ToolOutcome::Refused(said) if said.code.ends_with("_NOT_FOUND") => {
                Err(BackendProblem::NotFound(said.message))
            }
            ToolOutcome::Refused(said) => Err(BackendProblem::Invalid(said.message)),
            ToolOutcome::Failed(said) => Err(BackendProblem::Fault(said.message)),
            ToolOutcome::UnknownTool => Err(BackendProblem::Fault(format!("there is no tool {tool}"))),
        }
    }
}
