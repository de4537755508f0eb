//! Decides which HTTP requests are accepted: those with the right host and origin, with a valid token, and below the
//! limit of requests per second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use engine::id::{AgentId, SessionId, TokenId};
use engine::token::{AccessTokenKind, Scope, Token};
use engine::{Standing, Timestamp};
use http::{HeaderMap, StatusCode, header};

use super::HttpState;
use super::browser::BrowserMemory;
use super::leash::{Leashed, QUICK};
use super::problem::HttpProblem;
use crate::desk::Visitor;
use base::people::principal;
use base::project::settings;
use base::service::Service;

/// The time for which a valid token is cached, in milliseconds. A revoked token is refused at the latest after this
/// time.
const TRUST_MS: i64 = 100;
/// The largest number of cached tokens. When it is reached, the cache is emptied, and each token is read from the store
/// again.
const KNOWN_MAX: usize = 1_000;
/// The largest number of requests without a valid token in one second, of all callers together. Further requests are
/// refused with the error for too many requests.
const STRANGERS_MAX: u32 = 200;
/// The path at which MCP clients connect.
const MCP_PATH: &str = "/mcp";

pub(crate) struct Guard {
    service: Service,
    hosts: Vec<String>,
    origins: Vec<String>,
    rate: u32,
    known: Mutex<HashMap<String, KnownToken>>,
    strangers: Mutex<Bucket>,
    browsers: BrowserMemory,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("hosts", &self.hosts).field("origins", &self.origins).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct KnownToken {
    token: Token,
    at: Timestamp,
    bucket: Bucket,
}

/// A count of the requests in one second: those with one token, or all those without a valid token. The count starts at
/// zero in every second.
#[derive(Debug, Default)]
struct Bucket {
    second: i64,
    used: u32,
}

impl Bucket {
    fn take(&mut self, now: Timestamp, most: u32) -> bool {
        let second = now.0 / 1_000;
        if second != self.second {
            *self = Self { second, used: 0 };
        }
        self.used = self.used.saturating_add(1);
        self.used <= most
    }
}

impl Guard {
    pub(super) fn new(service: Service, settings: &settings::ServeSettings, port: u16) -> Self {
        let own = ["127.0.0.1", "localhost", "[::1]"];
        let hosts = own.iter().map(|host| (*host).to_owned()).chain(settings.hosts.iter().cloned());
        let origins = own.iter().map(|host| format!("http://{host}:{port}")).chain(settings.origins.iter().cloned());
        Self {
            service,
            hosts: hosts.collect(),
            origins: origins.collect(),
            rate: settings.rate_per_second.unwrap_or(settings::RATE_DEFAULT),
            known: Mutex::default(),
            strangers: Mutex::default(),
            browsers: BrowserMemory::default(),
        }
    }

    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub(super) fn origins(&self) -> &[String] {
        &self.origins
    }

    pub(super) fn browsers(&self) -> &BrowserMemory {
        &self.browsers
    }

    /// Refuses a request whose `Host` is not a name of this server, because it may be a DNS rebinding attack. Also
    /// refuses a request that a web page from another origin sends.
    fn place(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), HttpProblem> {
        if !self.is_called(headers, authority) {
            return Err(HttpProblem::new(
                StatusCode::FORBIDDEN,
                "FOREIGN_HOST",
                "the Host header names a host that this server does not accept",
                "use 127.0.0.1, or add the host to serve.hosts in .handover/config.toml, accept it with `handover \
                 trust` and start the server again",
            ));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let allowed = origin.to_str().is_ok_and(|origin| self.origins.iter().any(|known| known == origin));
        if allowed {
            return Ok(());
        }
        Err(HttpProblem::new(
            StatusCode::FORBIDDEN,
            "FOREIGN_ORIGIN",
            "web pages of this origin may not call this server",
            "if you trust the origin, add it to serve.origins in .handover/config.toml, accept it with `handover \
             trust` and start the server again",
        ))
    }

    /// Tells whether the `Host` header and the URL of a request name only this server. Returns `false` if the request
    /// has neither, or two `Host` headers.
    fn is_called(&self, headers: &HeaderMap, authority: Option<&str>) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, second) = (hosts.next(), hosts.next());
        let Ok(host) = host.map(|host| host.to_str()).transpose() else { return false };
        let knows = |named: &str| {
            let name = match named.rsplit_once(':') {
                Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
                Some(_) | None => named,
            };
            self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(named))
        };
        second.is_none() && (host.is_some() || authority.is_some()) && host.into_iter().chain(authority).all(knows)
    }

    /// Returns the token of a request. Refuses an unknown or revoked token, and a token with too many requests in this
    /// second.
    async fn token(&self, headers: &HeaderMap) -> Result<Token, HttpProblem> {
        let now = self.service.now();
        let Some(secret) = bearer(headers) else { return Err(self.stranger(now, "this request needs a token")) };
        let hash = crate::token::hash(secret);
        if let Some(found) = self.remembered(&hash, now)? {
            return Ok(found);
        }
        // A browser's token is in the memory of this process. Its rights are those of the browser's key, so the key is
        // read, and a revoked key ends all its tokens.
        let found = match self.browsers.key_of(&hash, now) {
            Some(key) => crate::token::browser::find_key(&self.service, key).await,
            None => crate::token::find(&self.service, secret).await,
        };
        let found = found.map_err(|error| HttpProblem::fault(&error))?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(token) = found else {
            known.remove(&hash);
            drop(known);
            return Err(self.stranger(now, "this token is unknown or revoked"));
        };
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let entry = known.entry(hash).or_insert_with(|| KnownToken {
            token: token.clone(),
            at: now,
            bucket: Bucket::default(),
        });
        (entry.token, entry.at) = (token.clone(), now);
        if entry.bucket.take(now, self.rate) { Ok(token) } else { Err(too_often()) }
    }

    fn remembered(&self, hash: &str, now: Timestamp) -> Result<Option<Token>, HttpProblem> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = known.get_mut(hash).filter(|entry| now.0 < entry.at.0 + TRUST_MS && entry.at <= now) else {
            return Ok(None);
        };
        if !entry.bucket.take(now, self.rate) {
            return Err(too_often());
        }
        Ok(Some(entry.token.clone()))
    }

    /// Empties the cache of valid tokens, after a token was revoked in this process.
    pub(super) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn stranger(&self, now: Timestamp, message: &str) -> HttpProblem {
        self.count_stranger(now).err().unwrap_or_else(|| unauthorized(message))
    }

    /// Counts a request without a valid token. Refuses it when there are too many in this second.
    fn count_stranger(&self, now: Timestamp) -> Result<(), HttpProblem> {
        let has_room = self.strangers.lock().unwrap_or_else(PoisonError::into_inner).take(now, STRANGERS_MAX);
        if has_room { Ok(()) } else { Err(too_often()) }
    }

    async fn visitor(&self, headers: &HeaderMap) -> Result<(Visitor, Token), HttpProblem> {
        let token = self.token(headers).await?;
        let named = match headers.get("handover-agent") {
            Some(name) => Some(self.agent(name.to_str().unwrap_or_default()).await?),
            None => None,
        };
        let scope = token.scope;
        let key = headers.get("idempotency-key").map(|key| key.to_str().map(str::to_owned));
        let key = key.transpose().map_err(|_| bad_key())?;
        let visitor = Visitor {
            rights: scope.rights(),
            session: Some(SessionId::of_token(token.id)),
            standing: Standing::Shared,
            principal: Some(principal::of_token(token.id)),
            agent: token.agent,
            named,
            bound: scope == Scope::Agent && token.agent.is_some(),
            owner: token.id.to_string(),
            key,
            ..Visitor::person()
        };
        Ok((visitor, token))
    }

    /// Finds an agent by its id or its slug (its short name).
    async fn agent(&self, name: &str) -> Result<AgentId, HttpProblem> {
        if let Ok(id) = name.parse() {
            return Ok(id);
        }
        let found = self.service.agent_by_slug(name).await.map_err(|error| HttpProblem::fault(&error))?;
        found.ok_or_else(|| {
            let refusal = engine::Refusal::RecipientNotFound { recipient: name.chars().take(64).collect() };
            let mut problem = HttpProblem::refused(wire::lifecycle::refusal(&refusal));
            problem.said.code = "AGENT_NOT_FOUND";
            problem.said.message = "the header Handover-Agent names an agent that does not exist".to_owned();
            problem
        })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && (1..=512).contains(&secret.len())).then_some(secret)
}

fn unauthorized(message: &str) -> HttpProblem {
    HttpProblem::new(
        StatusCode::UNAUTHORIZED,
        "UNAUTHORIZED",
        message,
        "send `Authorization: Bearer TOKEN`; the token of this machine is in .handover/state/token, and `handover \
         token create` makes others",
    )
}

fn bad_key() -> HttpProblem {
    let message = "the header Idempotency-Key has a character that is not ASCII";
    HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUT", message, "send a key of ASCII characters")
}

fn too_often() -> HttpProblem {
    HttpProblem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "TOO_OFTEN",
        "too many requests arrive with this token, or without a valid token",
        "wait a second and try again",
    )
}

/// Checks that every request has an allowed host name and comes from an allowed web origin.
pub(super) async fn check_place(State(shared): State<HttpState>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    match shared.guard.place(request.headers(), authority.as_deref()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            shared.metrics.request(problem.status.as_u16());
            problem.into_response()
        }
    }
}

/// Checks the token of every request except health checks. Adds the token's caller and scope to the request, for the
/// handlers.
pub(super) async fn admit(State(shared): State<HttpState>, request: Request, next: Next) -> Response {
    let response = match shared.guard.visitor(request.headers()).await {
        Ok((_, token)) if is_browser(&token) && request.uri().path() == MCP_PATH => no_mcp().into_response(),
        Ok((visitor, token)) => {
            let visitor = Visitor { leaving: shared.stopping.clone(), ..visitor };
            let (mut request, held) = shared.intake.measure(request);
            request.extensions_mut().insert(visitor);
            request.extensions_mut().insert(token.scope);
            request.extensions_mut().insert(token.kind);
            let response = while_valid(&shared, token.id, next.run(request)).await;
            let response = held.problem().map_or(response, HttpProblem::into_response);
            if is_stream(&response) {
                let leashes = Arc::clone(&shared.leashes);
                response.map(|body| Body::new(Leashed::new(body, leashes, token.id, held)))
            } else {
                response
            }
        }
        Err(problem) => problem.into_response(),
    };
    shared.metrics.request(response.status().as_u16());
    response
}

/// Bounds the requests by which browsers connect: they have no token yet, so they count as requests of strangers.
pub(super) async fn admit_browser(State(shared): State<HttpState>, request: Request, next: Next) -> Response {
    let response = match shared.guard.count_stranger(shared.desk.service().now()) {
        Ok(()) => {
            let (request, held) = shared.intake.measure(request);
            let response = next.run(request).await;
            held.problem().map_or(response, HttpProblem::into_response)
        }
        Err(problem) => problem.into_response(),
    };
    shared.metrics.request(response.status().as_u16());
    response
}

fn is_browser(token: &Token) -> bool {
    matches!(token.kind, AccessTokenKind::BrowserKey { .. })
}

/// Returns the refusal of a browser's token at `/mcp`. An MCP client acts for a model, and no model acts for a person.
fn no_mcp() -> HttpProblem {
    HttpProblem::new(
        StatusCode::FORBIDDEN,
        "NOT_PERMITTED",
        "the token of a person's browser does not work over MCP",
        "create a token for the agent with `handover token create NAME`",
    )
}

/// Returns the response of `work`. If the token is revoked while `work` takes long, stops `work` and returns a refusal.
async fn while_valid(shared: &HttpState, token: TokenId, work: impl Future<Output = Response>) -> Response {
    tokio::pin!(work);
    if let Ok(quick) = tokio::time::timeout(QUICK, &mut work).await {
        return quick;
    }
    let leash = shared.leashes.hold(token);
    tokio::select! {
        response = &mut work => response,
        () = leash.revoked() => unauthorized("this token was revoked").into_response(),
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
