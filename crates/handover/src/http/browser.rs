//! `/api/v1/browser`: a person's browser enrols its key with a one-time code, and gets short-lived tokens for signatures.
//!
//! ```text
//!   handover open ──> code ──> POST keys {code, public_key, name}              the key may act for the person
//!                              POST challenge ──> nonce ──┐
//!   page signs origin and nonce                           └──> POST token {public_key, nonce, signature} ──> token
//! ```
//!
//! These routes need no token. The signature contains the origin of the page, so that a program that took the port of an
//! earlier server cannot pass the signature on to a server on another port.

mod memory;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Router, middleware};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::limits::BROWSER_KEY_MS;
use engine::token::Scope;
use http::{HeaderMap, StatusCode, header};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use wire::json::{Value, object};

use super::problem::{HttpProblem, invalid, json};
use super::{HttpState, guard, intake};
use crate::token::browser as keys;
pub(super) use memory::BrowserMemory;

/// The largest number of bytes of a request. The longest legal one has a code, a key and a name.
const BODY_BYTES_MAX: usize = 4_096;
/// The number of bytes of a public key: the byte 4, and the two coordinates of a point on the curve P-256.
const PUBLIC_KEY_BYTES: usize = 65;
/// The first byte of a public key that has both coordinates.
const UNCOMPRESSED: u8 = 4;
/// The first line of the text that a browser signs. No other signature of the browser begins with it.
const SIGNED_PURPOSE: &str = "handover browser token";

/// Returns the routes by which browsers connect, with the bound on requests that have no token.
pub(super) fn routes(shared: &HttpState) -> Router<HttpState> {
    Router::new()
        .route("/api/v1/browser/keys", post(enrol))
        .route("/api/v1/browser/challenge", post(challenge))
        .route("/api/v1/browser/token", post(token))
        .layer(middleware::from_fn_with_state(shared.clone(), guard::admit_browser))
}

/// Handles `POST /api/v1/browser/keys` with the body `{"code": …, "public_key": …, "name": …}`.
async fn enrol(State(shared): State<HttpState>, body: Body) -> Result<Response, HttpProblem> {
    let [code, public_key, name] = fields(body, ["code", "public_key", "name"]).await?;
    let public_key = public_key_bytes(&public_key)?;
    let service = shared.desk.service();
    let enrolled = keys::enrol(service, &code, &public_key, &name).await;
    let key = enrolled.map_err(|error| HttpProblem::fault(&error))?;
    let until = service.now() + BROWSER_KEY_MS;
    let reply = object([("key_id", key.to_string().into()), ("expires_at", Value::Number(until.0.into()))]);
    Ok((StatusCode::CREATED, json(&reply)).into_response())
}

/// Handles `POST /api/v1/browser/challenge` with the body `{}`.
async fn challenge(State(shared): State<HttpState>, body: Body) -> Result<Response, HttpProblem> {
    let [] = fields(body, []).await?;
    let made = shared.guard.browsers().make_nonce(shared.desk.service().now());
    let made = made.map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&object([("nonce", made.text.into()), ("expires_at", Value::Number(made.until.0.into()))])))
}

/// Handles `POST /api/v1/browser/token` with the body `{"public_key": …, "nonce": …, "signature": …}`.
async fn token(State(shared): State<HttpState>, headers: HeaderMap, body: Body) -> Result<Response, HttpProblem> {
    let [public_key, nonce, signature] = fields(body, ["public_key", "nonce", "signature"]).await?;
    let public_key = public_key_bytes(&public_key)?;
    let signature = decoded("signature", &signature)?;
    let (service, browsers) = (shared.desk.service(), shared.guard.browsers());
    // Use the nonce up before the signature is judged, so that a caller cannot try several signatures with one nonce.
    let is_fresh = browsers.use_nonce(&nonce, service.now());
    let origin = origin(&headers).filter(|origin| shared.guard.origins().contains(origin));
    let is_signed = origin.is_some_and(|origin| {
        let text = format!("{SIGNED_PURPOSE}\n{origin}\n{nonce}");
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &public_key).verify(text.as_bytes(), &signature).is_ok()
    });
    if !is_fresh || !is_signed {
        return Err(unsigned());
    }
    let browser = keys::use_key(service, &public_key).await.map_err(|error| HttpProblem::fault(&error))?;
    let made = browsers.make_token(browser.key, service.now()).map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&object([
        ("token", made.text.into()),
        ("expires_at", Value::Number(made.until.0.into())),
        ("key_id", browser.key.to_string().into()),
        ("name", browser.name.into()),
        ("scope", Scope::Person.as_str().into()),
    ])))
}

/// Returns the origin of the page that this server shows under the address in the request.
fn origin(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    Some(format!("http://{}", host.to_ascii_lowercase()))
}

fn unsigned() -> HttpProblem {
    HttpProblem::new(
        StatusCode::FORBIDDEN,
        "SIGNATURE_INVALID",
        "the nonce is unknown, used or older than a minute, or the signature does not fit the key, the nonce and the \
         origin of the page",
        "get a new nonce from /api/v1/browser/challenge and sign again",
    )
}

fn public_key_bytes(text: &str) -> Result<Vec<u8>, HttpProblem> {
    let bytes = decoded("public_key", text)?;
    if bytes.len() == PUBLIC_KEY_BYTES && bytes.first() == Some(&UNCOMPRESSED) {
        return Ok(bytes);
    }
    Err(invalid(format!("`public_key` must be the {PUBLIC_KEY_BYTES} bytes of an uncompressed P-256 point")))
}

fn decoded(name: &str, text: &str) -> Result<Vec<u8>, HttpProblem> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid(format!("`{name}` must be base64url without padding")))
}

/// Returns the texts of a request's body in the order of `names`. Refuses a body that lacks one, or that has another
/// field.
async fn fields<const N: usize>(body: Body, names: [&str; N]) -> Result<[String; N], HttpProblem> {
    let body = intake::whole(body, BODY_BYTES_MAX).await?;
    let text = std::str::from_utf8(&body).map_err(|_| invalid("the body is not UTF-8"))?;
    let node =
        wire::json::parse_object(text).map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
    let value = node.to_value();
    if let Value::Object(members) = &value
        && let Some((other, _)) = members.iter().find(|(name, _)| !names.contains(&name.as_str()))
    {
        let known = if N == 0 { "it has no fields".to_owned() } else { format!("its fields are {}", names.join(", ")) };
        return Err(invalid(format!("`{other}` is not a field of this request; {known}")));
    }
    let mut found: [String; N] = std::array::from_fn(|_| String::new());
    for (place, name) in found.iter_mut().zip(names) {
        let text = value.get(name).and_then(Value::as_text);
        *place = text.ok_or_else(|| invalid(format!("`{name}` is required and must be a text")))?.to_owned();
    }
    Ok(found)
}
