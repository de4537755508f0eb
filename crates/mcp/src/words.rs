//! Converts the answers of the backend to the types of `rmcp` (the MCP library).

use rmcp::model::{
    CacheScope, CallToolResult, ContentBlock, GetPromptResult, ListResourcesResult, PromptMessage, ProtocolVersion,
    Resource, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::backend::{self, BackendProblem, CallerIdentity, PromptText, ResourcePage, Speaker};
use super::limits::LIST_FRESH_MS;

pub(super) fn error(problem: BackendProblem) -> ErrorData {
    match problem {
        BackendProblem::NotFound(words) => ErrorData::resource_not_found(words, None),
        BackendProblem::Invalid(words) => ErrorData::invalid_params(words, None),
        BackendProblem::Fault(words) => ErrorData::internal_error(words, None),
    }
}

/// Converts a problem with a prompt to an error for the client. A missing prompt is reported as a wrong parameter, not
/// as a missing resource.
pub(super) fn prompt_error(problem: BackendProblem) -> ErrorData {
    match problem {
        BackendProblem::NotFound(words) => error(BackendProblem::Invalid(words)),
        BackendProblem::Invalid(_) | BackendProblem::Fault(_) => error(problem),
    }
}

/// Returns the time for which a client may cache a list that does not change, and the scope of the cache. Returns
/// `None` for the time and for the scope when the client is of the old era (before revision 2026-07-28), because its
/// protocol has no fields for them.
pub(super) fn freshness(context: &RequestContext<RoleServer>) -> (Option<u64>, Option<CacheScope>) {
    let is_new = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if is_new { (Some(LIST_FRESH_MS), Some(CacheScope::Private)) } else { (None, None) }
}

/// Returns the reply of a tool as text and as structured content. Over a pipe, the structured content is null here, and
/// the module `outbox` later writes the text in its place. Over HTTP, `rmcp` (the MCP library) writes the answer and
/// needs the parsed value.
pub(super) fn reply(text: String, who: &CallerIdentity) -> CallToolResult {
    let structured = match who {
        CallerIdentity::Pipe => Value::Null,
        CallerIdentity::Http { .. } => serde_json::from_str(&text).unwrap_or(Value::Null),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

pub(super) fn failed(text: String) -> CallToolResult {
    // A failure gets no structured content, because clients would check that content against the schema of a success
    // and would hide the error.
    CallToolResult::error(vec![ContentBlock::text(text)])
}

pub(super) fn resources(page: ResourcePage<backend::Resource>) -> ListResourcesResult {
    let items = page.items.into_iter().map(|resource| {
        let mut listed = Resource::new(resource.uri, resource.name).with_mime_type("application/json");
        (listed.title, listed.description) = (resource.title, resource.description);
        listed
    });
    let list = ListResourcesResult::with_all_items(items.collect());
    ListResourcesResult { next_cursor: page.next_cursor, ..list }
}

pub(super) fn prompt(said: Vec<PromptText>) -> GetPromptResult {
    let messages = said.into_iter().map(|said| {
        let role = match said.by {
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
        };
        PromptMessage::new_text(role, said.text)
    });
    GetPromptResult::new(messages.collect())
}
