//! The rules for registering agents, recording their signs of life, and unregistering them.

use crate::agent::{Agent, Renewed, is_reserved, is_slug, slug_of};
use crate::case::Case;
use crate::check;
use crate::command::{Register, Rights, SessionEnd, Standing};
use crate::event::{Cause, Event};
use crate::id::{AgentId, SessionId, TaskId};
use crate::identity;
use crate::json::Json;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{conversation, lapse};
use crate::task::TaskState;
use crate::world::{AgentIdNeed, DecisionStop, Need, NumberNeed, TaskIdNeed, WorkflowIdNeed};

pub(crate) fn register(case: &mut Case<'_>, register: &Register) -> Result<Reply, DecisionStop> {
    check_register(register)?;
    conversation::check_origin(&case.caller.origin)?;
    if let Some(workflow) = register.workflow {
        case.world.workflow(workflow)?;
    }
    match same_agent(case, register)? {
        Same::Here(agent) => resume(case, agent, None),
        Same::Bound(agent) => resume(case, agent, Some(register)),
        Same::None { elsewhere } => {
            let agent = newcomer(case, register)?;
            case.acts_as(agent.id);
            let (slug, name) = (agent.slug.clone(), agent.name.clone());
            let note = elsewhere.map(|other| {
                format!(
                    "{other} has this name and runtime and is connected elsewhere, so you are another agent: {slug}"
                )
            });
            let reply = Reply::Registered { agent: agent.id, slug, name, resumed: false, holds: Vec::new(), note };
            case.events.push(Event::Registered { agent: Box::new(agent) });
            Ok(reply)
        }
    }
}

/// Moves the agent's home (the connection that registered it last) to the caller's connection. The agent keeps its
/// mail, its idempotency keys and its tasks.
fn resume(case: &mut Case<'_>, agent: AgentId, bound: Option<&Register>) -> Result<Reply, DecisionStop> {
    let found = case.world.agent(agent)?;
    let (slug, name) = (found.slug.clone(), found.name.clone());
    let holds = case.world.ask(&TaskIdNeed::HeldBy(agent))?.clone();
    let renewed = bound.map(|register| {
        let (role, capabilities) = (register.role.clone(), register.capabilities.clone());
        Box::new(Renewed { runtime: register.runtime.clone(), role, capabilities })
    });
    let differs = renewed.as_ref().is_some_and(|renewed| {
        let role = renewed.role.as_ref().is_some_and(|role| *role != found.role);
        role || renewed.runtime != found.runtime || renewed.capabilities != found.capabilities
    });
    let note = bound
        .filter(|register| register.name != found.name)
        .map(|_| format!("the token belongs to the agent {slug}, so you are that agent, whatever name is given"));
    if is_settled(case, found)? && !differs {
        case.touch(agent)?;
    } else {
        let (session, principal) = (case.caller.session, case.caller.principal.clone());
        case.events.push(Event::Resumed { agent, slug: slug.clone(), session, principal, renewed });
    }
    conversation::rejoin(case, found, &case.caller.origin);
    case.acts_as(agent);
    Ok(Reply::Registered { agent, slug, name, resumed: true, holds, note })
}

/// Returns true when another registration of the agent would change nothing. If the call has a connection, this agent
/// must be the last one that registered on it, and its principal (user, token or runner) must be the caller's. If the
/// call has no connection, the agent only has to be registered.
fn is_settled(case: &Case<'_>, agent: &Agent) -> Result<bool, DecisionStop> {
    let Some(session) = case.caller.session else { return Ok(agent.left.is_none()) };
    let last = case.world.ask(&AgentIdNeed::OfSession(session))?.first();
    let same = agent.principal == case.caller.principal;
    Ok(agent.left.is_none() && same && agent.session == Some(session) && last == Some(&agent.id))
}

/// Creates the agent that a registration describes, with a slug (short name) that no other agent has.
pub(crate) fn newcomer(case: &mut Case<'_>, register: &Register) -> Result<Agent, DecisionStop> {
    let slug = free_slug(case, register)?;
    Ok(Agent {
        id: AgentId::next(&mut case.ids),
        slug,
        name: register.name.clone(),
        runtime: register.runtime.clone(),
        role: register.role.clone().unwrap_or_else(|| "worker".to_owned()),
        capabilities: register.capabilities.clone(),
        workflow: register.workflow,
        workspace_path: register.workspace_path.clone(),
        metadata: register.metadata.clone(),
        session: case.caller.session,
        principal: case.caller.principal.clone(),
        registered: case.now,
        origin: case.caller.origin.clone(),
        seen: case.now,
        left: None,
        created: case.now,
        updated: case.now,
    })
}

pub(crate) fn check_register(register: &Register) -> Result<(), DecisionStop> {
    check::name("name", &register.name)?;
    check::label("runtime", &register.runtime)?;
    for (field, slug) in [("role", &register.role), ("slug", &register.slug)] {
        if slug.as_deref().is_some_and(|slug| !is_slug(slug)) {
            let problem = "must be lower-case letters, digits, - and _, at most 64, beginning with a letter or digit";
            return Err(Refusal::input(field, problem).into());
        }
    }
    if register.slug.as_deref().is_some_and(is_reserved) {
        return Err(Refusal::input("slug", "is reserved for a sender that is not an agent").into());
    }
    check::count("capabilities", register.capabilities.len(), limits::CAPABILITIES_MAX)?;
    register.capabilities.iter().try_for_each(|text| check::label("capabilities", text))?;
    check::optional(register.workspace_path.as_deref(), |text| check::path("workspace_path", text))?;
    check::json("metadata", register.metadata.as_ref())?;
    Ok(())
}

/// The agent that a registration is for: an existing agent or a new one.
enum Same {
    /// An existing agent. Its last registration was on this connection, or this registration moves it to this
    /// connection.
    Here(AgentId),
    /// The agent that the caller's token belongs to.
    Bound(AgentId),
    /// A new agent. `elsewhere` is an existing agent of the same name whose last registration was on another
    /// connection, which is alive. The reply names that existing agent.
    None { elsewhere: Option<AgentId> },
}

/// Finds the agent that a registration is for. When the caller has an agent's own token, it is that agent. Otherwise
/// the agent must have the same name and runtime, and one of two conditions must hold: the agent's last registration
/// was on this connection, or the agent's connection is dead and belonged to the same user, token or runner. When no
/// agent meets these conditions, the registration creates a new agent.
fn same_agent(case: &Case<'_>, register: &Register) -> Result<Same, DecisionStop> {
    if let (Some(agent), Standing::Vouched) = (case.caller.agent, case.caller.standing) {
        return Ok(Same::Bound(case.world.agent(agent)?.id));
    }
    let Some(session) = case.caller.session else { return Ok(Same::None { elsewhere: None }) };
    let conversation = case.caller.origin.conversation.clone().map(AgentIdNeed::OfConversation);
    let same = AgentIdNeed::Same { name: register.name.clone(), runtime: register.runtime.clone() };
    case.world.want([AgentIdNeed::OfSession(session), same.clone()].into_iter().chain(conversation.clone()))?;
    let agents = case.world.ask(&AgentIdNeed::OfSession(session))?;
    let before = match &conversation {
        Some(need) => case.world.ask(need)?.as_slice(),
        None => &[],
    };
    let same = case.world.ask(&same)?;
    case.world.want(agents.iter().chain(before).chain(same).map(|agent| Need::Agent(*agent)))?;
    let mut elsewhere = None;
    for id in agents.iter().chain(before).chain(same) {
        let found = case.world.agent(*id)?;
        if found.name != register.name || found.runtime != register.runtime || found.left.is_some() {
            continue;
        }
        if identity::is_home(case.caller, found) {
            return Ok(Same::Here(*id));
        }
        let lives = identity::home_lives(case.world, case.caller, found, case.now)?;
        if !lives && identity::is_same_principal(case.caller, found) {
            return Ok(Same::Here(*id));
        }
        if lives && elsewhere.is_none() {
            elsewhere = Some(*id);
        }
    }
    let shared = case.caller.standing == Standing::Shared;
    if agents.len() >= limits::SESSION_AGENTS_MAX && !shared {
        let problem = format!(
            "{} agents are registered on this connection, which is the limit; unregister those that are done",
            agents.len()
        );
        return Err(Refusal::state(problem).into());
    }
    Ok(Same::None { elsewhere })
}

fn free_slug(case: &Case<'_>, register: &Register) -> Result<String, DecisionStop> {
    let base = register.slug.clone().unwrap_or_else(|| slug_of(&register.name));
    if case.world.ask(&AgentIdNeed::WithSlug(base.clone()))?.is_empty() {
        return Ok(base);
    }
    let mut number = (*case.world.ask(&NumberNeed::SlugNumber(base.clone()))?).max(1);
    loop {
        // The number at the end of a slug, as in `reviewer-2`, may already be the highest possible number, because an
        // agent may choose its own slug. After the highest number, the search for a free number continues at 2.
        number = number.checked_add(1).unwrap_or(2);
        let ending = format!("-{number}");
        let room = limits::SLUG_CHARS_MAX - ending.len();
        let slug = format!("{}{ending}", &base[..base.len().min(room)]);
        if case.world.ask(&AgentIdNeed::WithSlug(slug.clone()))?.is_empty() {
            return Ok(slug);
        }
    }
}

pub(crate) fn heartbeat(case: &mut Case<'_>, current_task: Option<TaskId>) -> Result<Reply, DecisionStop> {
    let task = current_task.map(|task| case.world.task(task)).transpose()?;
    let agent = case.agent(task)?;
    if case.world.agent(agent)?.left.is_some() {
        // Some clients were written for the original server, with which Handover is compatible. They recognize this
        // error by the beginning of its text, so the beginning of this text must not change.
        let problem = format!("Cannot heartbeat offline agent: {agent}: it has unregistered; register again");
        return Err(Refusal::state(problem).into());
    }
    renew_all(case, agent)?;
    Ok(Reply::Alive { next_heartbeat_ms: limits::HEARTBEAT_MS })
}

pub(crate) fn renew(case: &mut Case<'_>) -> Result<Reply, DecisionStop> {
    let agent = case.present(None)?;
    let tasks = renew_all(case, agent)?;
    Ok(Reply::Renewed { tasks })
}

/// Renews the leases and the workflow locks of the agent. Returns the number of tasks whose lease is in force.
pub(crate) fn renew_all(case: &mut Case<'_>, agent: AgentId) -> Result<u32, DecisionStop> {
    let held = case.world.ask(&TaskIdNeed::HeldBy(agent))?;
    let locked = case.world.ask(&WorkflowIdNeed::LockedBy(agent.to_string()))?;
    case.world.want(held.iter().map(|task| Need::Task(*task)))?;
    let workflows = held.iter().filter_map(|task| case.world.task(*task).ok()).map(|task| task.workflow);
    case.world.want(workflows.chain(locked.iter().copied()).map(Need::Workflow))?;
    case.touch(agent)?;
    let mut renewed = 0;
    for id in held {
        let task = case.world.task(*id)?;
        if case.is_live(task)? {
            case.renew(task, case.world.workflow(task.workflow)?);
            renewed += 1;
        }
    }
    for id in locked {
        let workflow = case.world.workflow(*id)?;
        let until = case.now + limits::LOCK_MS;
        // An expired lock is not renewed: another caller may already have seen the workflow as unlocked and changed it.
        let due = |lock: &crate::workflow::Lock| lock.until > case.now && lock.until + limits::SEEN_MS <= until;
        if workflow.lock.as_ref().is_some_and(due) {
            case.events.push(Event::LockRenewed { workflow: *id, until });
        }
    }
    Ok(renewed)
}

pub(crate) fn update(
    case: &mut Case<'_>,
    workspace_path: Option<&str>,
    metadata: Option<&Json>,
) -> Result<Reply, DecisionStop> {
    check::optional(workspace_path, |text| check::path("workspace_path", text))?;
    check::json("metadata", metadata)?;
    let agent = subject(case)?;
    let found = case.world.agent(agent)?;
    if found.left.is_some() {
        return Err(Refusal::state(format!("{agent} has unregistered; register again")).into());
    }
    let metadata = metadata.map(|patch| Json::merged(found.metadata.as_ref(), patch));
    check::json("metadata", metadata.as_ref())?;
    if identity::may_act_as(case.caller, found) {
        case.touch(agent)?;
    }
    case.events.push(Event::AgentUpdated {
        agent,
        slug: found.slug.clone(),
        workspace_path: workspace_path.map(str::to_owned),
        metadata,
    });
    Ok(Reply::AgentUpdated)
}

/// Returns the agent that a call is about: the caller's own agent. A caller that may act on tasks of others can also
/// name another agent; the log then names the caller, not that agent.
fn subject(case: &Case<'_>) -> Result<AgentId, DecisionStop> {
    match (case.agent(None), case.caller.agent) {
        (Err(DecisionStop::Refused(Refusal::AgentElsewhere { .. })), Some(named)) if case.may_override() => {
            case.actor()?;
            Ok(named)
        }
        (found, _) => found,
    }
}

pub(crate) fn unregister(case: &mut Case<'_>) -> Result<Reply, DecisionStop> {
    let agent = subject(case)?;
    let found = case.world.agent(agent)?;
    if found.left.is_some() {
        return Ok(Reply::Unregistered { released: 0 });
    }
    let slug = found.slug.clone();
    let locked = case.world.ask(&WorkflowIdNeed::LockedBy(agent.to_string()))?;
    case.world.want(locked.iter().map(|id| Need::Workflow(*id)))?;
    let released = end_claims(case, agent, Cause::Unregistered)?;
    // After this command the agent has unregistered and cannot act any more, so it could not unlock its workflows.
    // Therefore this command removes the agent's locks.
    for id in locked {
        if case.world.workflow(*id)?.lock.as_ref().is_some_and(|lock| lock.until > case.now) {
            case.events.push(Event::Unlocked { workflow: *id, owner: agent.to_string() });
        }
    }
    lapse::void(case, agent)?;
    case.events.push(Event::KeysEnded { agent });
    case.events.push(Event::Left { agent, slug });
    Ok(Reply::Unregistered { released })
}

/// Ends a connection. The claims of its agents end immediately, so that other agents need not wait until the leases
/// expire.
pub(crate) fn close_session(case: &mut Case<'_>, session: SessionId, end: SessionEnd) -> Result<Reply, DecisionStop> {
    if case.rights != Rights::Engine && case.caller.session != Some(session) {
        return Err(Refusal::NotPermitted { problem: "only a connection itself may end its session".to_owned() }.into());
    }
    let released = end_home(case, session, end)?;
    Ok(Reply::SessionClosed { released })
}

/// Ends the claims of all agents whose last registration was on this connection, and records that their connection is
/// gone. Returns the number of ended claims.
pub(crate) fn end_home(case: &mut Case<'_>, session: SessionId, end: SessionEnd) -> Result<u32, DecisionStop> {
    let agents = case.world.ask(&AgentIdNeed::OfSession(session))?;
    let cause = match end {
        SessionEnd::Closed => Cause::Closed,
        SessionEnd::Killed => Cause::Killed,
    };
    case.world.want(agents.iter().flat_map(|agent| [Need::Agent(*agent), TaskIdNeed::HeldBy(*agent).into()]))?;
    let mut released = 0;
    for agent in agents {
        released += end_claims(case, *agent, cause)?;
        let slug = case.world.agent(*agent)?.slug.clone();
        case.events.push(Event::SessionClosed { agent: *agent, slug, session, end });
    }
    Ok(released)
}

/// Ends the claims of an agent and returns their number. The claim of a paused task does not end, because that task
/// waits for an answer.
pub(crate) fn end_claims(case: &mut Case<'_>, agent: AgentId, cause: Cause) -> Result<u32, DecisionStop> {
    let held = case.world.ask(&TaskIdNeed::HeldBy(agent))?;
    case.world.want(held.iter().map(|task| Need::Task(*task)))?;
    let mut ended = 0;
    for id in held {
        let task = case.world.task(*id)?;
        if !matches!(task.state, TaskState::Paused { .. }) && task.holder() == Some(agent) {
            case.end_lease(task, agent, cause, None);
            ended += 1;
        }
    }
    Ok(ended)
}
