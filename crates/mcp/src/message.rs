//! Checks the text of one message. Only requests and notifications that are strict JSON and have a known shape reach
//! `rmcp` (the MCP library).
//!
//! This module splits a tool call into its parts. The arguments stay text, because converting them to a tree and back
//! would cost time.

mod shape;

use std::borrow::Cow;
use std::fmt;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, Extensions, JsonObject,
    JsonRpcMessage, RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::json::{self, JsonKind, JsonNode, Span};

/// The result of checking a message that a client sent.
#[derive(Debug)]
pub(super) enum Incoming<'t> {
    Call(McpToolCall<'t>),
    Other(Box<ClientJsonRpcMessage>),
    /// A message that gets no answer. It is a malformed notification, or a response, which is unexpected because this
    /// server sends no requests.
    Answer,
    Refused(Box<Refused>),
}

#[derive(Debug)]
pub(super) struct McpToolCall<'t> {
    pub(super) id: RequestId,
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    /// The metadata (`_meta`) of the call: the text of a JSON object, as the client wrote it.
    meta: Option<&'t str>,
    /// The position of the arguments in the text of the message. `None` when the call has no arguments.
    pub(super) span: Option<Span>,
}

/// The arguments of a tool call as a compact JSON object. They bypass `rmcp` (the MCP library) as text.
#[derive(Debug, Clone)]
pub(super) struct Arguments(pub(super) String);

/// The refusal of a client's message, with the error for the client. `id` is the id of the message, if it could be
/// read.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
}

impl Refused {
    pub(super) fn into_message(self) -> ServerJsonRpcMessage {
        JsonRpcMessage::error(self.error, self.id)
    }
}

impl McpToolCall<'_> {
    pub(super) fn into_message(self) -> ClientJsonRpcMessage {
        let mut extensions = Extensions::new();
        let meta: Option<JsonObject> = self.meta.and_then(|meta| serde_json::from_str(meta).ok());
        extensions.insert(RequestMetaObject::from(meta.unwrap_or_default()));
        extensions.insert(self.arguments);
        let params = CallToolRequestParams::new(self.tool);
        let mut call = CallToolRequest::new(params);
        call.extensions = extensions;
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), self.id)
    }
}

/// Checks the bytes of a message that a client sent. The bytes may be anything, even invalid UTF-8.
pub(super) fn read(bytes: &[u8]) -> Incoming<'_> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let words = format!("not UTF-8 text, at byte {}; send UTF-8", error.valid_up_to());
            return Incoming::Refused(refused(None, ErrorData::parse_error(words, None)));
        }
    };
    match json::parse(text) {
        Ok(node) => envelope(text, &node).unwrap_or_else(Incoming::Refused),
        Err(error) => Incoming::Refused(not_strict(text, &error)),
    }
}

pub(super) fn too_long(id: Option<RequestId>, bytes_max: usize) -> Box<Refused> {
    let words = format!("the message is longer than {bytes_max} bytes; send less at a time");
    refused(id, ErrorData::invalid_request(words, None))
}

/// Returns the refusal of a client's message. The refusal is boxed, because it is rare and large.
pub(super) fn refused(id: Option<RequestId>, error: ErrorData) -> Box<Refused> {
    Box::new(Refused { id, error })
}

fn envelope<'t>(text: &'t str, node: &JsonNode<'_>) -> Result<Incoming<'t>, Box<Refused>> {
    let invalid = |id, words: &'static str| refused(id, ErrorData::invalid_request(words, None));
    if node.list().is_some() {
        return Err(invalid(None, "batches are not accepted; send each message by itself"));
    }
    if node.members().is_none() {
        return Err(invalid(None, "a message is a JSON object with jsonrpc, method and, for a request, id"));
    }
    let id = node.get("id");
    let known = id.and_then(|id| request_id(id));
    if node.get("jsonrpc").and_then(JsonNode::text) != Some("2.0") {
        return Err(invalid(known, "jsonrpc must be \"2.0\""));
    }
    let Some(method) = node.get("method") else {
        if node.get("result").is_some() || node.get("error").is_some() {
            return Ok(Incoming::Answer);
        }
        return Err(invalid(known, "method is missing"));
    };
    let Some(method) = method.text() else { return Err(invalid(known, "method must be a string")) };
    if id.is_some() && known.is_none() {
        return Err(invalid(None, "id must be a string or an integer of 64 bits"));
    }
    match known {
        Some(id) if method == "tools/call" => tool_call(text, node, id).map(Incoming::Call),
        known => shape::read(text, method, node, known),
    }
}

fn request_id(node: &JsonNode<'_>) -> Option<RequestId> {
    match &node.kind {
        JsonKind::Text(text) => Some(RequestId::String(text.as_ref().into())),
        JsonKind::Number(number) => number.parse().ok().map(RequestId::Number),
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::List(_) | JsonKind::Object(_) => None,
    }
}

fn tool_call<'t>(text: &'t str, node: &JsonNode<'_>, id: RequestId) -> Result<McpToolCall<'t>, Box<Refused>> {
    let wrong =
        |words: fmt::Arguments<'_>| refused(Some(id.clone()), ErrorData::invalid_params(words.to_string(), None));
    let params = node.get("params").ok_or_else(|| wrong(format_args!("params is missing; tools/call needs name")))?;
    if params.members().is_none() {
        return Err(wrong(format_args!("params must be an object, found {}", params.noun())));
    }
    let name = params.get("name").ok_or_else(|| wrong(format_args!("params.name is missing: the tool to call")))?;
    let tool = name
        .text()
        .ok_or_else(|| wrong(format_args!("params.name must be a string, found {}", name.noun())))?
        .to_owned();
    let arguments = params.get("arguments").filter(|arguments| !arguments.is_null());
    if let Some(found) = arguments.filter(|arguments| arguments.members().is_none()) {
        return Err(wrong(format_args!("params.arguments must be an object, found {}", found.noun())));
    }
    let meta = params.get("_meta");
    if let Some(found) = meta.filter(|meta| meta.members().is_none()) {
        return Err(wrong(format_args!("params._meta must be an object, found {}", found.noun())));
    }
    let meta = meta.map(|meta| meta.span.of(text));
    let compacted = arguments.map_or(Cow::Borrowed("{}"), |arguments| compact(text, arguments));
    let span = params.get("arguments").map(|arguments| arguments.span);
    Ok(McpToolCall { id, tool, arguments: Arguments(compacted.into_owned()), meta, span })
}

/// Returns the text of a JSON value without white space. Most clients write compact JSON, and such text is borrowed
/// instead of copied.
fn compact<'t>(text: &'t str, node: &JsonNode<'_>) -> Cow<'t, str> {
    let written = node.span.of(text);
    if written.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        Cow::Owned(node.to_string())
    } else {
        Cow::Borrowed(written)
    }
}

/// The id of a message that is refused. The other members of the message are not read, because the answer needs only
/// the id.
#[derive(Deserialize)]
struct Loose<'t> {
    #[serde(borrow, default)]
    id: Option<&'t RawValue>,
}

/// Returns the refusal of a message that is not strict JSON. A lenient parser finds the id of the message, so that the
/// client knows which call failed and does not wait for a timeout.
fn not_strict(text: &str, error: &json::SyntaxError) -> Box<Refused> {
    let words = error.to_string();
    let Ok(Loose { id }) = serde_json::from_str(text) else {
        return refused(None, ErrorData::parse_error(words, None));
    };
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    // The lenient parser accepted the text, the strict one did not. So the problem is a duplicate key, half of a
    // surrogate pair, or too many levels of nesting.
    let error = if id.is_none() || depth(text) > json::DEPTH_MAX {
        ErrorData::parse_error(words, None)
    } else {
        ErrorData::invalid_params(words, None)
    };
    refused(id, error)
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut inside, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
