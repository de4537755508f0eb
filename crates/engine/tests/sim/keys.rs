//! The invariants of idempotency keys, which the simulator checks: a repeated call with the same key gets the same
//! answer, and only the first call changes anything.

use engine::agent::Agent;
use engine::caller::{Key, KeyOwner};
use engine::key::{KeyId, StoredKey};
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
    let key_id = |owner: String| KeyId { owner, act: step.command.name().to_owned(), key: key.key.clone() };
    let (own, others) = owners(seen, key);
    let id = key_id(own);
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
    let live = |id: KeyId| memory.keys.get(&id).filter(|stored| stored.until > step.now);
    let repeats = |stored: &&StoredKey| stored.fingerprint == key.fingerprint && stored.answer.is_ok();
    let elsewhere: Vec<&StoredKey> = others.into_iter().map(key_id).filter_map(live).filter(repeats).collect();
    if !elsewhere.is_empty() {
        hold!(change.events.is_empty(), "(h) a repeated key does nothing", "but {:?}", change.events);
        hold!(
            elsewhere.iter().any(|stored| stored.answer == change.reply),
            "(h) the same key gives the same answer",
            "{elsewhere:?} became {:?}",
            change.reply
        );
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

/// Returns the owner of the idempotency key in the simulated step, and other owners under which the answer to the same
/// call may be stored. The owner is the agent that the caller acts as. When the caller acts as no agent, as in a
/// registration or as a person, the owner is the connection.
fn owners(seen: &Seen<'_>, key: &Key) -> (String, Vec<String>) {
    let (connection, tool) = match &key.owner {
        KeyOwner::Fixed(owner) => return (owner.clone(), Vec::new()),
        KeyOwner::Acting { connection, tool } => (connection, tool),
    };
    let (tables, step) = (seen.before, seen.step);
    let connection = format!("{connection} {tool}");
    let task = step.command.task().and_then(|task| tables.tasks.get(&task));
    let agent = match (&step.command, step.caller.agent) {
        // Before `Register`, the caller has no agent. After `Unregister`, the idempotency keys of the agent are
        // deleted. So the keys of these two commands belong to the connection.
        (Command::Register(_), _) | (Command::Unregister, None) => return (connection, Vec::new()),
        (_, Some(named)) => {
            let own = voice::speaks_as(tables, step, named).then(|| format!("{named} {tool}"));
            return (own.unwrap_or(connection), Vec::new());
        }
        (_, None) if step.caller.rights.is_persons() => return (connection, Vec::new()),
        (_, None) => voice::acting(tables, step, task),
    };
    let here =
        |agent: &&Agent| agent.left.is_none() && agent.session.is_some_and(|home| step.caller.session == Some(home));
    let all = tables.agents.values().filter(here).map(|agent| format!("{} {tool}", agent.id));
    let all = all.chain(step.caller.session.map(|_| connection.clone()));
    let own = agent.map_or(connection, |agent| format!("{agent} {tool}"));
    (own.clone(), all.filter(|other| *other != own).collect())
}
