//! Idempotency keys: the same key gives the same answer, and only the first one does anything.

use engine::agent::Agent;
use engine::caller::{Key, KeyOwner};
use engine::key::KeyId;
use engine::{Command, Event, Refusal};

use crate::check::{hold, is_conflict};
use crate::machine::{Memory, Seen, Verdict};
use crate::voice;

pub(crate) fn answers(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    let (step, change) = (seen.step, seen.change);
    if change.events.iter().any(|event| matches!(event, Event::KeysForgotten)) {
        memory.keys.retain(|_, stored| stored.until > step.now);
    }
    for event in &change.events {
        if let Event::KeysEnded { agent } = event {
            let own = format!("{agent} ");
            memory.keys.retain(|id, _| !id.owner.starts_with(&own));
        }
    }
    let Some(key) = &step.caller.key else {
        return Ok(());
    };
    let id = KeyId { owner: owner(seen, key), act: step.command.name().to_owned(), key: key.key.clone() };
    if let Some(stored) = memory.keys.get(&id).filter(|stored| stored.until > step.now) {
        hold!(change.events.is_empty(), "(h) a repeated key does nothing", "but {:?}", change.events);
        if stored.fingerprint == key.fingerprint {
            hold!(
                stored.answer == change.reply,
                "(h) the same key gives the same answer",
                "{:?} became {:?}",
                stored.answer,
                change.reply
            );
        } else {
            hold!(is_conflict(&change.reply), "(h) a key is for one request", "but {:?}", change.reply);
        }
        return Ok(());
    }
    if !step.command.is_final() {
        return Ok(());
    }
    let kept = seen.after.keys.get(&id);
    if key.key.trim().is_empty() {
        let named = matches!(&change.reply, Err(Refusal::InvalidInput { field, .. }) if field == "idempotency_key");
        hold!(named && kept.is_none(), "(h) a blank key is refused", "{:?} and {kept:?}", change.reply);
        return Ok(());
    }
    let Some(kept) = kept else {
        hold!(false, "(h) the first answer is kept", "nothing is kept for {id:?}");
        return Ok(());
    };
    hold!(
        kept.answer == change.reply && kept.fingerprint == key.fingerprint && kept.until > step.now,
        "(h) the first answer is kept",
        "{kept:?} is kept of {:?}",
        change.reply
    );
    memory.keys.insert(id, kept.clone());
    Ok(())
}

/// Returns the owner of the step's key: the agent that the caller speaks for, wherever it is at home, otherwise the connection.
/// A registration has no agent yet.
fn owner(seen: &Seen<'_>, key: &Key) -> String {
    let (connection, tool) = match &key.owner {
        KeyOwner::Fixed(owner) => return owner.clone(),
        KeyOwner::Acting { connection, tool } => (connection, tool),
    };
    let (tables, step) = (seen.before, seen.step);
    let agent = match (&step.command, step.caller.agent) {
        // An agent that left answers no more, so these keys are the connection's.
        (Command::Register(_), _) | (Command::Unregister, None) => None,
        (_, Some(named)) => voice::speaks_as(tables, step, named).then_some(named),
        (_, None) => {
            let here = |agent: &&Agent| {
                agent.left.is_none() && agent.session.is_some_and(|home| step.caller.session == Some(home))
            };
            let last =
                tables.agents.values().filter(here).max_by_key(|agent| (agent.registered, agent.created, agent.id));
            last.map(|agent| agent.id)
        }
    };
    agent.map_or_else(|| format!("{connection} {tool}"), |agent| format!("{agent} {tool}"))
}
