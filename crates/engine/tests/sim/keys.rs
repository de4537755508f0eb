//! Idempotency keys: the same key gives the same answer, and only the first one does anything.

use engine::key::KeyId;
use engine::{Event, Refusal};

use crate::check::{hold, is_conflict};
use crate::machine::{Memory, Seen, Verdict};

pub(crate) fn answers(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    let (step, change) = (seen.step, seen.change);
    if change.events.iter().any(|event| matches!(event, Event::KeysForgotten)) {
        memory.keys.retain(|_, stored| stored.until > step.now);
    }
    let Some(key) = &step.caller.key else {
        return Ok(());
    };
    let id = KeyId { owner: key.owner.clone(), act: step.command.name().to_owned(), key: key.key.clone() };
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
