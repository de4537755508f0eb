//! Error responses as problem details (RFC 9457), with the error codes of the tools.

use axum::response::{IntoResponse, Response};
use engine::Refusal;
use http::{HeaderValue, StatusCode, Uri, header};
use wire::json::{Object, Value};
use wire::lifecycle::{NamedId, ToolError};

/// An error response: the HTTP status, and the reason why the request failed.
#[derive(Debug, Clone)]
pub(super) struct HttpProblem {
    pub(super) status: StatusCode,
    pub(super) said: ToolError,
}

/// Returns the HTTP status with which a refusal is answered, by the refusal's code.
pub(super) fn status(code: &str) -> StatusCode {
    match code {
        "INVALID_INPUT" | "INVALID_WIRE" => StatusCode::UNPROCESSABLE_ENTITY,
        "NOT_PERMITTED" | "AGENT_ELSEWHERE" | "PROTECTED" | "CODE_INVALID" | "KEY_UNKNOWN" => StatusCode::FORBIDDEN,
        code if code.ends_with("_NOT_FOUND") => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    }
}

impl HttpProblem {
    pub(super) fn refused(said: ToolError) -> Self {
        Self { status: status(said.code), said }
    }

    /// Returns the response to a fault of the machine. Its status is 503, so that a client may retry.
    pub(super) fn failed(said: ToolError) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, said }
    }

    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>, next: &str) -> Self {
        let (message, suggestion) = (message.into(), next.to_owned());
        Self { status, said: ToolError { code, message, recoverable: false, suggestion, details: None } }
    }

    pub(super) fn fault(error: &base::Error) -> Self {
        match error {
            base::Error::Refused(refusal) => Self::refused(wire::lifecycle::refusal(refusal)),
            base::Error::Fault(_) | base::Error::Random(_) => {
                Self::failed(wire::lifecycle::fault(&error.told(), false))
            }
        }
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let title = self.said.code.to_ascii_lowercase().replace('_', " ");
        let mut members: Object = vec![
            ("type".to_owned(), "about:blank".into()),
            ("title".to_owned(), title.into()),
            ("status".to_owned(), u64::from(self.status.as_u16()).into()),
            ("detail".to_owned(), self.said.message.as_str().into()),
        ];
        if let Value::Object(said) = self.said.render() {
            members.extend(said);
        }
        let mut response = (self.status, Value::Object(members).to_string()).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Returns the response to a request with an invalid parameter, field or body.
pub(super) fn invalid(message: impl Into<String>) -> HttpProblem {
    HttpProblem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "INVALID_INPUT",
        message,
        "correct the request and send it again",
    )
}

/// Reads an id from the path of a request. A text that is not an id is refused in the same way as an id that does not
/// exist. `missing` returns that refusal.
pub(super) fn named<T: NamedId + Copy>(text: &str, missing: fn(T) -> Refusal) -> Result<T, HttpProblem> {
    text.parse().map_err(|_| {
        let id = T::stand_in(text);
        let said = wire::lifecycle::refusal(&missing(id));
        HttpProblem::refused(said.with_given_texts(&[(id.to_string(), text.to_owned())]))
    })
}

/// Returns an HTTP response with this value as its JSON body.
pub(super) fn json(value: &Value) -> Response {
    let mut response = value.to_string().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) async fn nowhere(uri: Uri) -> HttpProblem {
    nowhere_at(uri.path())
}

/// Returns the response to a request for a path that this server does not have.
pub(super) fn nowhere_at(path: &str) -> HttpProblem {
    let path: String = path.chars().take(200).collect();
    HttpProblem::new(
        StatusCode::NOT_FOUND,
        "ROUTE_NOT_FOUND",
        format!("this server has no route {path}"),
        "/api/v1/openapi.json lists the routes",
    )
}
