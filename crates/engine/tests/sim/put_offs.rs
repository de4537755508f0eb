//! People who put off what needs them and show it again, and agents that try to. The invariants say that only a person
//! puts an item off, for at most 14 days, and that an item whose time is not over stays put off.

use engine::put_off::ItemDelay;
use engine::{Caller, Command, Event, Rights, Timestamp};

use crate::check::hold;
use crate::crew::{Crew, Order};
use crate::machine::{Seen, Verdict};

/// The longest time for which an item can be put off, in milliseconds, written a second time.
const PUT_OFF_MS: i64 = 14 * 24 * 3_600_000;
const HOUR_MS: i64 = 3_600_000;

impl Crew {
    /// Returns a command of a person or of a script, or rarely of another caller, about an item that is put off.
    pub(crate) fn put_off(&mut self) -> Order {
        let item = format!("question {}", self.rng.below(6));
        let until = match self.rng.below(8) {
            0 | 1 => None,
            2 => Some(self.now - 1),
            3 => Some(self.now + PUT_OFF_MS + 1),
            hours => i64::try_from(hours).ok().map(|hours| self.now + hours * HOUR_MS),
        };
        let rights = match self.rng.below(10) {
            0 => Rights::Agent,
            1 => Rights::Coordinator,
            2 => Rights::Script,
            _ => Rights::Person,
        };
        let command = Command::PutOff(ItemDelay { item, until: until.map(Timestamp) });
        self.order(Caller::with_rights(rights), command, None)
    }
}

/// Checks the rules about items that are put off, after a step of the simulator.
pub(crate) fn step(seen: &Seen<'_>) -> Verdict {
    let (now, rights) = (seen.step.now, seen.step.caller.rights);
    for event in &seen.change.events {
        match event {
            Event::ItemPutOff { put_off, .. } => {
                let by_person = matches!(rights, Rights::Person | Rights::Script);
                hold!(by_person, "(q) only people put items off", "{rights:?}");
                let ahead = put_off.until.0 - now.0;
                hold!(ahead > 0 && ahead <= PUT_OFF_MS, "(q) an item is never hidden", "{ahead} ms");
                let after = seen.after.put_off.get(&put_off.item);
                hold!(after == Some(&**put_off), "(q) an item that is put off is stored", "{after:?}");
            }
            Event::ItemShown { item, .. } => {
                hold!(!seen.after.put_off.contains_key(item), "(q) a shown item is not put off", "{item}");
            }
            _ => {}
        }
    }
    for (item, before) in seen.before.put_off.iter().filter(|(_, row)| !row.is_over(now)) {
        let is_asked = matches!(&seen.step.command, Command::PutOff(delay) if delay.item == *item);
        let after = seen.after.put_off.get(item);
        hold!(is_asked || after == Some(before), "(q) only the time or a person ends a delay", "{item}: {after:?}");
    }
    Ok(())
}
