//! The nonces and the tokens of browsers, which only the memory of this server process has. After a restart of the
//! server, a page signs again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use base::error::Error;
use base::ground::random;
use engine::id::TokenId;
use engine::{Millis, Timestamp};

/// The time in which a browser can sign a nonce.
const NONCE_MS: Millis = Millis::seconds(60);
/// The lifetime of a token that a browser gets for its signature. A page asks for the next one in time.
const TOKEN_MS: Millis = Millis::minutes(15);
/// The largest number of nonces. The server takes at most 200 requests without a token in one second, so a nonce is not
/// forgotten before its minute is over.
const NONCES_MAX: usize = 12_000;
/// The largest number of valid tokens of browsers. Each tab of a person's browser gets one in 15 minutes.
const TOKENS_MAX: usize = 1_000;

/// The nonces that were given out and not used yet, and the valid tokens of browsers.
#[derive(Debug)]
pub(in crate::http) struct BrowserMemory {
    nonces: Mutex<RecentTexts<()>>,
    /// The key of the browser for the hash of each token.
    tokens: Mutex<RecentTexts<TokenId>>,
}

/// A nonce or a token that was just made, with the end of its lifetime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MadeText {
    pub(super) text: String,
    pub(super) until: Timestamp,
}

impl Default for BrowserMemory {
    fn default() -> Self {
        Self { nonces: Mutex::new(RecentTexts::new(NONCES_MAX)), tokens: Mutex::new(RecentTexts::new(TOKENS_MAX)) }
    }
}

impl BrowserMemory {
    /// Makes a nonce that one signature may contain.
    pub(super) fn make_nonce(&self, now: Timestamp) -> Result<MadeText, Error> {
        let (text, until) = (random::token()?, now + NONCE_MS);
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone(), ((), until), now);
        Ok(MadeText { text, until })
    }

    /// Uses up a nonce. Returns false when this process did not make it, when it was used before, or when it is too old.
    pub(super) fn use_nonce(&self, nonce: &str, now: Timestamp) -> bool {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner).take(nonce, now).is_some()
    }

    /// Makes a token with which a browser acts for its person.
    pub(super) fn make_token(&self, key: TokenId, now: Timestamp) -> Result<MadeText, Error> {
        let (text, until) = (crate::token::secret()?, now + TOKEN_MS);
        let hash = crate::token::hash(&text);
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, (key, until), now);
        Ok(MadeText { text, until })
    }

    /// Returns the key of the browser to which a valid token was given, by the hash of the token.
    pub(in crate::http) fn key_of(&self, hash: &str, now: Timestamp) -> Option<TokenId> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(hash, now)
    }
}

/// Texts with a value and a lifetime, which is the same for all of them. When there are too many, the oldest go first.
#[derive(Debug)]
struct RecentTexts<T> {
    rows: HashMap<String, (T, Timestamp)>,
    /// The texts in the order in which they were inserted, also those that were taken since then.
    order: VecDeque<String>,
    rows_max: usize,
}

impl<T: Copy> RecentTexts<T> {
    fn new(rows_max: usize) -> Self {
        Self { rows: HashMap::new(), order: VecDeque::new(), rows_max }
    }

    fn insert(&mut self, text: String, row: (T, Timestamp), now: Timestamp) {
        while let Some(oldest) = self.order.front() {
            let is_valid = self.rows.get(oldest).is_some_and(|(_, until)| now < *until);
            if is_valid && self.order.len() < self.rows_max {
                break;
            }
            self.rows.remove(oldest);
            self.order.pop_front();
        }
        self.order.push_back(text.clone());
        self.rows.insert(text, row);
    }

    fn get(&self, text: &str, now: Timestamp) -> Option<T> {
        self.rows.get(text).filter(|(_, until)| now < *until).map(|(value, _)| *value)
    }

    fn take(&mut self, text: &str, now: Timestamp) -> Option<T> {
        self.rows.remove(text).filter(|(_, until)| now < *until).map(|(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_used_once_and_within_a_minute() {
        let memory = BrowserMemory::default();
        let nonce = memory.make_nonce(Timestamp(0)).unwrap().text;
        assert!(memory.use_nonce(&nonce, Timestamp(59_999)));
        assert!(!memory.use_nonce(&nonce, Timestamp(59_999)), "it was used before");
        let late = memory.make_nonce(Timestamp(0)).unwrap().text;
        assert!(!memory.use_nonce(&late, Timestamp(60_000)), "it is too old");
        assert!(!memory.use_nonce("another", Timestamp(0)));
    }

    #[test]
    fn a_token_is_valid_for_fifteen_minutes() {
        let memory = BrowserMemory::default();
        let token = memory.make_token(TokenId::FIRST, Timestamp(0)).unwrap();
        let hash = crate::token::hash(&token.text);
        assert_eq!(memory.key_of(&hash, Timestamp(899_999)), Some(TokenId::FIRST));
        assert_eq!(memory.key_of(&hash, Timestamp(900_000)), None);
    }

    #[test]
    fn the_oldest_go_first_and_expired_texts_take_no_room() {
        let mut recent = RecentTexts::new(3);
        let now = Timestamp(0);
        for name in ["a", "b", "c", "d"] {
            recent.insert(name.to_owned(), (name.len(), Timestamp(10)), now);
        }
        assert_eq!((recent.get("a", now), recent.get("d", now)), (None, Some(1)));
        assert_eq!((recent.rows.len(), recent.order.len()), (3, 3));
        // A text that was taken leaves its place in the order until it is the oldest.
        assert_eq!(recent.take("c", now), Some(1));
        recent.insert("e".to_owned(), (1, Timestamp(20)), Timestamp(10));
        assert_eq!((recent.rows.len(), recent.order.len()), (1, 1), "all others are expired or were taken");
    }
}
