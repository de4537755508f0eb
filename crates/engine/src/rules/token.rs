//! Tokens: only a person creates and revokes them.

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
use crate::token::{Scope, Token};
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
        if known.scope == scope && known.agent == agent && known.revoked.is_none() {
            return Ok(Reply::TokenCreated { token: known.id });
        }
        return Err(Refusal::state(
            "another token has this secret, or had it before it was revoked; create a new token",
        )
        .into());
    }
    let limit = u32::try_from(limits::TOKENS_MAX).unwrap_or(u32::MAX);
    if case.world.ask(&TokenQuery { revoked: false, after: None, limit })?.len() >= limits::TOKENS_MAX {
        let problem = format!("there are {} tokens, which is the limit; revoke some", limits::TOKENS_MAX);
        return Err(Refusal::state(problem).into());
    }
    let (id, created) = (TokenId::next(&mut case.ids), case.now);
    let (name, hash) = (name.to_owned(), hash.to_owned());
    let token = Token { id, name, hash, scope, agent, created, revoked: None };
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

fn by_a_person(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Person | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script => {
            Err(Refusal::NotPermitted { problem: "only a person makes and revokes tokens".to_owned() }.into())
        }
    }
}
