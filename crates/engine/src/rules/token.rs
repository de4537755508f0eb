//! Tokens: only a person creates and revokes them. A browser gets the rights of its person by a one-time code, and keeps
//! them by its key.

use crate::case::Case;
use crate::check;
use crate::command::{Rights, SessionEnd};
use crate::event::Event;
use crate::id::{AgentId, SessionId, TokenId};
use crate::limits;
use crate::list::TokenQuery;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::agent;
use crate::token::{AccessTokenKind, Scope, Token};
use crate::world::DecisionStop;

pub(crate) fn create(
    case: &mut Case<'_>,
    name: &str,
    hash: &str,
    scope: Scope,
    agent: Option<AgentId>,
) -> Result<Reply, DecisionStop> {
    check::name("name", name)?;
    check::key("hash", hash)?;
    by_a_person(case)?;
    if let Some(agent) = agent {
        case.world.agent(agent)?;
    }
    // Each HTTP server of Handover registers the token from the machine's token file when the server starts. So this
    // token may already be known.
    if let Some(known) = case.world.token_hashed(hash)? {
        if known.scope == scope && known.agent == agent && known.is_valid_secret() {
            return Ok(Reply::TokenCreated { token: known.id });
        }
        return Err(Refusal::state(
            "another token has this secret, or had it before it was revoked; create a new token",
        )
        .into());
    }
    check_room(&valid_tokens(case)?)?;
    let (id, created) = (TokenId::next(&mut case.ids), case.now);
    let (name, hash) = (name.to_owned(), hash.to_owned());
    let token = Token { id, name, hash, scope, agent, created, revoked: None, kind: AccessTokenKind::Secret };
    case.events.push(Event::TokenCreated { token: Box::new(token) });
    Ok(Reply::TokenCreated { token: id })
}

pub(crate) fn revoke(case: &mut Case<'_>, id: TokenId) -> Result<Reply, DecisionStop> {
    by_a_person(case)?;
    let token = case.world.token(id)?;
    // No call can use the revoked token any more. So the claims of its agents end now, before their leases expire. One
    // command ends the claims of a bounded number of agents. When the token has more agents, the caller can revoke the
    // token again to end the remaining claims.
    agent::end_home(case, SessionId::of_token(id), SessionEnd::Closed)?;
    if token.revoked.is_none() {
        let token = Token { revoked: Some(case.now), ..token.clone() };
        case.events.push(Event::TokenRevoked { token: Box::new(token) });
    }
    Ok(Reply::TokenRevoked)
}

/// Stores a one-time code, and deletes the codes and keys that have expired, so that they do not pile up.
pub(crate) fn offer_code(case: &mut Case<'_>, hash: &str) -> Result<Reply, DecisionStop> {
    check::key("hash", hash)?;
    by_a_person(case)?;
    if case.world.token_hashed(hash)?.is_some() {
        return Err(Refusal::state("this code is known already; make a new one").into());
    }
    let valid = valid_tokens(case)?;
    let (expired, valid): (Vec<Token>, Vec<Token>) = valid.into_iter().partition(|row| row.is_expired(case.now));
    check_room(&valid)?;
    let token = person_token(case, CODE_NAME, hash, AccessTokenKind::EnrolmentCode);
    let (id, expired) = (token.id, expired.iter().map(|row| row.id).collect());
    case.events.push(Event::CodeOffered { token: Box::new(token), expired });
    Ok(Reply::CodeOffered { token: id })
}

/// Uses up a code and stores the key of a browser, in one transaction, so that of two browsers with one code only one is
/// enrolled. A browser that already has a valid key keeps it. A revoked key stays revoked: then the code stays unused, and
/// the browser can come back with a new key.
pub(crate) fn enrol_browser(case: &mut Case<'_>, code: &str, key: &str, name: &str) -> Result<Reply, DecisionStop> {
    check::name("name", name)?;
    check::key("code", code)?;
    check::key("key", key)?;
    by_a_person(case)?;
    let found = case.world.token_hashed(code)?.map(|found| found.id).ok_or(Refusal::CodeInvalid)?;
    // Read the row again by its id, under the lock of the tokens: two browsers may come with the same code at once.
    let code = match case.world.token(found) {
        Err(DecisionStop::Refused(Refusal::TokenNotFound { .. })) => return Err(Refusal::CodeInvalid.into()),
        read => read?,
    };
    if !code.is_valid_code(case.now) {
        return Err(Refusal::CodeInvalid.into());
    }
    let code = code.id;
    let kind = AccessTokenKind::BrowserKey { used: case.now };
    let token = match case.world.token_hashed(key)? {
        Some(known) if known.revoked.is_none() && matches!(known.kind, AccessTokenKind::BrowserKey { .. }) => {
            Token { name: name.to_owned(), kind, ..known.clone() }
        }
        Some(_) => return Err(Refusal::KeyUnknown.into()),
        None => person_token(case, name, key, kind),
    };
    let id = token.id;
    case.events.push(Event::BrowserEnrolled { code, token: Box::new(token) });
    Ok(Reply::BrowserEnrolled { token: id })
}

/// Finds the valid key of a browser, and records its use when the last recorded use is an hour old.
pub(crate) fn use_browser_key(case: &mut Case<'_>, key: &str) -> Result<Reply, DecisionStop> {
    check::key("key", key)?;
    by_a_person(case)?;
    let found = case.world.token_hashed(key)?.map(|found| found.id).ok_or(Refusal::KeyUnknown)?;
    // Read the row again by its id, under the lock of the tokens: another call may revoke the key at the same time.
    let token = case.world.token(found)?;
    if !token.is_valid_key(case.now) {
        return Err(Refusal::KeyUnknown.into());
    }
    let reply = Reply::BrowserKeyUsed { token: token.id, name: token.name.clone() };
    if token.is_use_due(case.now) {
        let token = Token { kind: AccessTokenKind::BrowserKey { used: case.now }, ..token.clone() };
        case.events.push(Event::BrowserKeyUsed { token: Box::new(token) });
    }
    Ok(reply)
}

/// The name of every one-time code. The name of the browser is known only when the browser is enrolled.
const CODE_NAME: &str = "code for a browser";

/// Returns a token with which a browser acts for a person.
fn person_token(case: &mut Case<'_>, name: &str, hash: &str, kind: AccessTokenKind) -> Token {
    let (name, hash) = (name.to_owned(), hash.to_owned());
    let id = TokenId::next(&mut case.ids);
    Token { id, name, hash, scope: Scope::Person, agent: None, created: case.now, revoked: None, kind }
}

/// Returns the tokens that are not revoked, up to their largest number.
fn valid_tokens(case: &Case<'_>) -> Result<Vec<Token>, DecisionStop> {
    let limit = u32::try_from(limits::TOKENS_MAX).unwrap_or(u32::MAX);
    Ok(case.world.ask(&TokenQuery { revoked: false, after: None, limit })?.clone())
}

/// Refuses a further token when there are as many as there may be.
fn check_room(valid: &[Token]) -> Result<(), DecisionStop> {
    if valid.len() < limits::TOKENS_MAX {
        return Ok(());
    }
    let problem = format!("there are {} tokens, which is the limit; revoke some", limits::TOKENS_MAX);
    Err(Refusal::state(problem).into())
}

fn by_a_person(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Person | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script => {
            Err(Refusal::NotPermitted { problem: "only a person makes and revokes tokens".to_owned() }.into())
        }
    }
}
