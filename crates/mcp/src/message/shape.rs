//! Checks the parameters of all requests and notifications except tool calls, by parsing them as types of `rmcp` (the
//! MCP library).
//!
//! For a known method with wrong parameters, `rmcp` itself would report an unknown method, or ignore optional
//! parameters. This module refuses a message with wrong parameters and gives the reason.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, GetPromptRequestParams, InitializeRequestParams, PaginatedRequestParams,
    ReadResourceRequestParams, RequestId, SubscribeRequestParams, SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wire::json::JsonNode;

use super::{Incoming, Refused, refused};

/// A function that checks the parameters of one method. It returns the error, or `None` when the parameters are right.
type ShapeReason = fn(&str) -> Option<String>;

const KNOWN: &[(&str, ShapeReason)] = &[
    ("initialize", reason::<InitializeRequestParams>),
    ("prompts/get", reason::<GetPromptRequestParams>),
    ("prompts/list", reason::<PaginatedRequestParams>),
    ("resources/list", reason::<PaginatedRequestParams>),
    ("resources/templates/list", reason::<PaginatedRequestParams>),
    ("resources/read", reason::<ReadResourceRequestParams>),
    ("resources/subscribe", reason::<SubscribeRequestParams>),
    ("resources/unsubscribe", reason::<UnsubscribeRequestParams>),
    ("subscriptions/listen", reason::<SubscriptionsListenRequestParams>),
    ("tools/list", reason::<PaginatedRequestParams>),
    ("logging/setLevel", reason::<Map<String, Value>>),
    ("server/discover", reason::<Map<String, Value>>),
    ("ping", reason::<Map<String, Value>>),
];

pub(super) fn read<'t>(
    text: &str,
    method: &str,
    node: &JsonNode<'_>,
    id: Option<RequestId>,
) -> Result<Incoming<'t>, Box<Refused>> {
    let params = node.get("params").filter(|params| !params.is_null()).map_or("{}", |params| params.span.of(text));
    let known = KNOWN.iter().find(|(name, _)| *name == method);
    if let (Some(id), Some((_, reason))) = (&id, known)
        && let Some(reason) = reason(params)
    {
        let error = ErrorData::invalid_params(format!("params of {method}: {reason}"), None);
        return Err(refused(Some(id.clone()), error));
    }
    match serde_json::from_str::<ClientJsonRpcMessage>(text) {
        Ok(message) => Ok(Incoming::Other(Box::new(message))),
        // A message without an id is a notification. It gets no answer, even when it is malformed.
        Err(_) if id.is_none() => Ok(Incoming::Answer),
        Err(error) => Err(refused(id, ErrorData::invalid_request(error.to_string(), None))),
    }
}

fn reason<T: DeserializeOwned>(params: &str) -> Option<String> {
    let error = serde_json::from_str::<T>(params).err()?.to_string();
    // Cuts off the position in the error, because it would mislead the client: it counts from the beginning of the
    // parameters and not from the beginning of the message.
    Some(error.split(" at line ").next().unwrap_or_default().to_owned())
}
