//! People who connect their browsers: codes that are offered, used, used twice and too late, and keys that are used and
//! revoked. The invariants say that only a person's valid code makes a key, and that a revoked token stays revoked.

use engine::tables::Tables;
use engine::token::{AccessTokenKind, Scope, Token};
use engine::{Caller, Command, Event, Rights};

use crate::check::hold;
use crate::crew::{Crew, Order};
use crate::machine::{Seen, Verdict};

/// The lifetimes of a code and of a key in milliseconds, written a second time.
const CODE_MS: i64 = 60_000;
const KEY_MS: i64 = 30 * 24 * 3_600_000;

impl Crew {
    /// Returns a command of a person, or rarely of an agent, about the codes and keys of browsers.
    pub(crate) fn browser(&mut self, tables: &Tables) -> Order {
        let hashes = |is_wanted: fn(&Token) -> bool| -> Vec<String> {
            tables.tokens.values().filter(|token| is_wanted(token)).map(|token| token.hash.clone()).collect()
        };
        let codes = hashes(|token| token.kind == AccessTokenKind::EnrolmentCode);
        let keys = hashes(|token| matches!(token.kind, AccessTokenKind::BrowserKey { .. }));
        let secrets = hashes(|token| token.kind == AccessTokenKind::Secret);
        let code = self.rng.pick(&codes).or(self.rng.pick(&secrets)).cloned();
        let key = self.rng.pick(&keys).or(self.rng.pick(&secrets)).cloned();
        let command = match (self.rng.below(10), code, key) {
            (0..6, Some(code), known) => {
                let fresh = format!("key {}", self.serial);
                let key = known.filter(|_| self.rng.percent(20)).unwrap_or(fresh);
                Command::EnrolBrowser { code, key, name: "a browser".to_owned() }
            }
            (6 | 7, _, Some(key)) => Command::UseBrowserKey { key },
            (8, _, Some(key)) => match tables.tokens.values().find(|token| token.hash == key) {
                Some(token) if token.kind != AccessTokenKind::Secret => Command::RevokeToken { token: token.id },
                Some(_) | None => Command::UseBrowserKey { key },
            },
            _ => Command::OfferCode { hash: format!("code {}", self.serial) },
        };
        let rights = if self.rng.percent(90) { Rights::Person } else { Rights::Agent };
        self.order(Caller::with_rights(rights), command, None)
    }
}

/// Checks the rules about the codes and keys of browsers after a step of the simulator.
pub(crate) fn step(seen: &Seen<'_>) -> Verdict {
    for event in &seen.change.events {
        match event {
            Event::BrowserEnrolled { code, token } => {
                let before = seen.before.tokens.get(code);
                let valid = before.is_some_and(|row| {
                    let in_time = seen.step.now.0 < row.created.0 + CODE_MS;
                    row.kind == AccessTokenKind::EnrolmentCode && row.revoked.is_none() && in_time
                });
                hold!(valid, "(p) only a valid code enrols a browser", "{before:?}");
                hold!(!seen.after.tokens.contains_key(code), "(p) a code is used once", "{code} is still there");
                let rights = (token.scope, token.agent);
                hold!(rights == (Scope::Person, None), "(p) a browser acts for a person", "{token:?}");
            }
            Event::BrowserKeyUsed { token } => {
                let before = seen.before.tokens.get(&token.id).map(|row| (row.kind, row.revoked));
                let fits = match before {
                    Some((AccessTokenKind::BrowserKey { used }, None)) => seen.step.now.0 < used.0 + KEY_MS,
                    _ => false,
                };
                hold!(fits, "(p) only a valid key is used", "{before:?}");
            }
            Event::CodeOffered { .. } | Event::TokenCreated { .. } => {
                let by_person = matches!(seen.step.caller.rights, Rights::Person | Rights::Engine);
                hold!(by_person, "(p) only a person makes tokens", "{:?}", seen.step.caller.rights);
            }
            _ => {}
        }
    }
    for (id, before) in seen.before.tokens.iter().filter(|(_, row)| row.revoked.is_some()) {
        let after = seen.after.tokens.get(id);
        let stays = after.is_none_or(|after| after.revoked == before.revoked);
        hold!(stays, "(p) a revoked token stays revoked", "{before:?} became {after:?}");
    }
    Ok(())
}
