//! Sends the files of the dashboard's page. They hold no data of the project, so they need no token.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use base::ground::digest;
use dashboard::{CONTENT_SECURITY_POLICY, INDEX, PageFile};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::problem;

/// The addresses of the page. The server sends the same file for all of them, and the page shows the right part.
pub(super) const ADDRESSES: [&str; 14] = [
    "/",
    "/t/{task}",
    "/w",
    "/w/{workflow}",
    "/turn/{turn}",
    "/approvals",
    "/approvals/{approval}",
    "/time",
    "/spend",
    "/agents",
    "/inbox",
    "/memory",
    "/reviews",
    "/log",
];

/// The headers that every file of the page has, besides its type.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // A browser asks again at each visit, so that it never shows the page of an older version.
    (header::CACHE_CONTROL, "no-cache"),
];

/// Sends the document of the page.
pub(super) async fn index(headers: HeaderMap) -> Response {
    match dashboard::file(INDEX) {
        Some(file) => sent(file, &headers),
        None => problem::nowhere_at("/").into_response(),
    }
}

/// Sends a script, a style sheet or a picture of the page.
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match dashboard::file(&name) {
        Some(file) => sent(file, &headers),
        None => problem::nowhere_at(&format!("/assets/{name}")).into_response(),
    }
}

fn sent(file: &'static PageFile, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", digest::sha256(file.bytes));
    let is_known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { file.bytes.into_response() };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
