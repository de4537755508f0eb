//! Makes, finds and revokes the tokens for access over HTTP. The store keeps only hashes of their secrets.

pub mod browser;

use engine::agent::slug_of;
use engine::command::Register;
use engine::id::{AgentId, SessionId, TokenId};
use engine::refusal::ElsewhereHome;
use engine::token::{AccessTokenKind, Scope, Token as Kept};
use engine::world::AgentIdNeed;
use engine::{Caller, Command, DecisionStop, Refusal, Reply, Rights, Standing, Timestamp, identity, view};

use base::error::Error;
use base::ground::digest;
use base::ground::random;
use base::people::principal;
use base::service::Service;

/// A token that was just made. Only this value has the secret of the token, because the store keeps only the hash of
/// the secret.
#[derive(Debug, Clone)]
pub struct MadeToken {
    pub id: TokenId,
    pub secret: String,
}

/// The part of a token that may be shown to people: all but the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownToken {
    pub id: TokenId,
    pub name: String,
    pub scope: Scope,
    pub agent: Option<AgentId>,
    pub created: Timestamp,
    pub revoked: Option<Timestamp>,
    pub kind: AccessTokenKind,
}

impl ShownToken {
    /// Returns the word for the kind of the token, as people read it.
    pub fn kind_word(&self) -> &'static str {
        match self.kind {
            AccessTokenKind::Secret => "secret",
            AccessTokenKind::EnrolmentCode => "code",
            AccessTokenKind::BrowserKey { .. } => "browser",
        }
    }

    /// Returns the last recorded use of a browser's key. Returns `None` for other tokens, whose use is not recorded.
    pub fn used(&self) -> Option<Timestamp> {
        match self.kind {
            AccessTokenKind::BrowserKey { used } => Some(used),
            AccessTokenKind::Secret | AccessTokenKind::EnrolmentCode => None,
        }
    }
}

/// The prefix of every secret. By this prefix, secret scanners recognise a Handover token that was committed to a
/// repository.
const PREFIX: &str = "hnd_";

/// The value of the field `runtime` for an agent that was registered with a token and has not connected yet.
const RUNTIME: &str = "http";

/// Returns a secret of 256 random bits.
pub fn secret() -> Result<String, Error> {
    Ok(format!("{PREFIX}{:032x}{:032x}", random::seed()?, random::seed()?))
}

/// Returns the hash of a secret, which the store keeps. A plain hash is enough: the secret has 256 random bits, so
/// trying all secrets is impossible.
pub fn hash(secret: &str) -> String {
    digest::sha256(secret.as_bytes())
}

/// The agent or agents that a token of the scope `agent` is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHolder {
    /// The agent of this name. It is registered if it does not exist yet.
    Named(String),
    /// One existing agent, by its slug (its short name) or its id.
    Agent(String),
    /// Several agents share the token, and any of them can act as another.
    Shared,
}

/// Returns the agent that a token is for, or `None` for a token that several agents share.
pub async fn holder(service: &Service, holder: &TokenHolder) -> Result<Option<AgentId>, Error> {
    match holder {
        TokenHolder::Shared => Ok(None),
        TokenHolder::Agent(name) => {
            let found = service.agent_by_slug(name).await?.or_else(|| name.parse().ok());
            let agent = found.ok_or_else(|| Error::Refused(unknown_agent(name)))?;
            check_free(service, agent).await?;
            Ok(Some(agent))
        }
        TokenHolder::Named(name) => {
            let slug = slug_of(name);
            match service.agent_by_slug(&slug).await? {
                Some(agent) => {
                    check_free(service, agent).await?;
                    Ok(Some(agent))
                }
                None => register(service, name, slug).await.map(Some),
            }
        }
    }
}

/// Refuses an agent that now works over `handover mcp` or under a runner (a process that starts agents' programs). With
/// a token, a second process would act as the same agent and take the agent's claims away from the first process. An
/// agent that already has a token may get another token.
async fn check_free(service: &Service, agent: AgentId) -> Result<(), Error> {
    let caller = Caller {
        session: Some(principal::command_line()),
        standing: Standing::Shared,
        principal: Some(principal::of_user()),
        ..Caller::with_rights(Rights::Script)
    };
    let (caller, now) = (service.informed(caller), service.now());
    let found = service.view(move |world| {
        let row = world.agent(agent)?;
        if row.principal.as_deref().is_some_and(principal::is_token) {
            return Ok(None);
        }
        match identity::check_voice(world, &caller, row, now) {
            Err(DecisionStop::Refused(refusal @ Refusal::AgentElsewhere { home: ElsewhereHome::Alive, .. })) => {
                Ok(Some(refusal))
            }
            Err(missing @ DecisionStop::Missing(_)) => Err(missing),
            Ok(()) | Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(None),
        }
    });
    found.await?.map_or(Ok(()), |refusal| Err(Error::Refused(refusal)))
}

fn unknown_agent(name: &str) -> Refusal {
    let problem = format!("there is no agent {name}; `handover agent list` shows all agents");
    Refusal::InvalidInput { field: "agent".to_owned(), problem }
}

/// Registers the agent that will connect with a new token.
async fn register(service: &Service, name: &str, slug: String) -> Result<AgentId, Error> {
    let register = Register {
        name: name.to_owned(),
        runtime: RUNTIME.to_owned(),
        role: None,
        slug: Some(slug),
        capabilities: Vec::new(),
        workflow: None,
        workspace_path: None,
        metadata: None,
    };
    let caller = Caller { principal: Some(principal::of_unused_token()), ..Caller::with_rights(Rights::Person) };
    let reply = service.execute(caller, Command::Register(register)).await?;
    let Reply::Registered { agent, .. } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(agent)
}

pub async fn create(service: &Service, name: &str, scope: Scope, agent: Option<AgentId>) -> Result<MadeToken, Error> {
    let secret = secret()?;
    let id = keep(service, name, &secret, scope, agent).await?;
    Ok(MadeToken { id, secret })
}

/// Stores the hash of a secret. Changes nothing when the store already has this hash.
pub async fn keep(
    service: &Service,
    name: &str,
    secret: &str,
    scope: Scope,
    agent: Option<AgentId>,
) -> Result<TokenId, Error> {
    let create = Command::CreateToken { name: name.to_owned(), hash: hash(secret), scope, agent };
    let reply = service.execute(Caller::with_rights(Rights::Person), create).await?;
    let Reply::TokenCreated { token } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(token)
}

/// Revokes a token and ends the sessions of all agents that use it, in several commands when there are many agents.
pub async fn revoke(service: &Service, token: TokenId) -> Result<(), Error> {
    let homes = AgentIdNeed::OfSession(SessionId::of_token(token));
    loop {
        service.execute(Caller::with_rights(Rights::Person), Command::RevokeToken { token }).await?;
        if service.ask(homes.clone()).await?.is_empty() {
            return Ok(());
        }
    }
}

/// Returns all tokens of agents, people and browsers. Leaves out the codes, which permit no calls and live for a minute.
pub async fn list(service: &Service) -> Result<Vec<ShownToken>, Error> {
    let (mut all, mut after) = (Vec::new(), None);
    let shown = |row: Kept| {
        let Kept { id, name, scope, agent, created, revoked, kind, hash: _ } = row;
        ShownToken { id, name, scope, agent, created, revoked, kind }
    };
    loop {
        let page = service.view(move |world| view::tokens(world, after, 500)).await?;
        all.extend(page.rows.into_iter().filter(|row| row.kind != AccessTokenKind::EnrolmentCode).map(shown));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// Returns a token by its id.
pub async fn known(service: &Service, token: TokenId) -> Result<Kept, Error> {
    service.view(move |world| world.token(token).cloned()).await
}

/// Returns the token that a secret belongs to, unless it is revoked. A code or a browser's key is not a secret, so a
/// caller that sends one as its secret gets no token.
pub async fn find(service: &Service, secret: &str) -> Result<Option<Kept>, Error> {
    let hash = hash(secret);
    service.view(move |world| Ok(world.token_hashed(&hash)?.filter(|token| token.is_valid_secret()).cloned())).await
}
