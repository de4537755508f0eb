//! Ids. An id is written as a prefix for the kind of thing and twelve random characters of `0-9a-z`.
//!
//! An id has 12 bytes and is `Copy`. The prefix belongs to the type, so a task's id cannot be passed as an agent's.
//! Machines choose ids without asking each other: 36^12 is about 4.7e18, so among a million ids the chance that two
//! are equal is one in ten million.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The error for a text that is not an id with the expected prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnId {
    pub prefix: &'static str,
}

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an id of the form {}_ and 12 characters of 0-9a-z", self.prefix)
    }
}

impl std::error::Error for NotAnId {}

const LENGTH: usize = 12;

fn parse_body(text: &str, prefix: &'static str) -> Result<[u8; LENGTH], NotAnId> {
    let body = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    let bytes = body.and_then(|body| <[u8; LENGTH]>::try_from(body.as_bytes()).ok());
    bytes.filter(|bytes| bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z'))).ok_or(NotAnId { prefix })
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; LENGTH]);

        impl $name {
            pub const PREFIX: &'static str = $prefix;
            /// `FIRST` is the lowest possible id and `LAST` is the highest. A range from `FIRST` to `LAST` includes all
            /// ids.
            pub const FIRST: Self = Self([b'0'; LENGTH]);
            pub const LAST: Self = Self([b'z'; LENGTH]);

            /// Returns the next id of the sequence `ids`, which is made from a random seed.
            pub fn next(ids: &mut Ids) -> Self {
                Self(ids.body())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let body = str::from_utf8(&self.0).map_err(|_| fmt::Error)?;
                f.write_str(concat!($prefix, "_"))?;
                f.write_str(body)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                parse_body(text, $prefix).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// The id of a workflow, which is a plan with its tasks.
    WorkflowId = "wf";
    /// The id of a task.
    TaskId = "tk";
    /// The id of an agent, which is one registration of one program. The id is never given to another agent, even if
    /// the other agent has the same name.
    AgentId = "ag";
    /// The id of a checkpoint, which is a record of a task's progress.
    CheckpointId = "cp";
    /// The id of a workspace, which is the record of a worktree.
    WorkspaceId = "ws";
    /// The id of a repository.
    RepositoryId = "rp";
    /// The id of a template, which is a stored plan with variables.
    TemplateId = "tmpl";
    /// The id of a message in a mailbox.
    MessageId = "msg";
    /// The id of a thread of messages.
    ThreadId = "thr";
    /// The id of a connection of a client.
    SessionId = "ses";
    /// The id of a token that permits calls over HTTP.
    TokenId = "tok";
    /// The id of a turn, which is one run of an agent's program.
    TurnId = "tn";
    /// The id of an approval, which is a request to a person to allow an act.
    ApprovalId = "ap";
    /// The id of a review. The feedback protocol, which is the protocol of reviews, calls a review a session, so the
    /// prefix of the id is `ses`.
    ReviewId = "ses";
}

impl SessionId {
    /// Returns the id of the connection that stands for all calls with this token outside of MCP sessions. The same
    /// token always gives the same id.
    pub fn of_token(token: TokenId) -> Self {
        Self(token.0)
    }
}

/// A seeded sequence of ids. The same seed gives the same ids, so a decision that runs again has the same result.
#[derive(Debug, Clone)]
pub struct Ids {
    state: u128,
}

impl Ids {
    pub fn new(seed: u128) -> Self {
        Self { state: seed }
    }

    fn body(&mut self) -> [u8; LENGTH] {
        let mut number = (u128::from(self.word()) << 64) | u128::from(self.word());
        let mut body = [b'0'; LENGTH];
        for byte in &mut body {
            let digit = u8::try_from(number % 36).unwrap_or(0);
            *byte = if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) };
            number /= 36;
        }
        body
    }

    /// Returns the next number of a permuted congruential generator (128 bits of state, 64 bits of output).
    fn word(&mut self) -> u64 {
        const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
        const INCREMENT: u128 = 0x5851_F42D_4C95_7F2D_1405_7B7E_F767_814F;
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let folded = self.state ^ (self.state >> 64);
        let rotation = u32::try_from(self.state >> 122).unwrap_or(0);
        let low = u64::try_from(folded & u128::from(u64::MAX)).unwrap_or(0);
        low.rotate_right(rotation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_names_its_prefix() {
        let id = TaskId::next(&mut Ids::new(7));
        assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
        assert_eq!(id.to_string().parse::<AgentId>(), Err(NotAnId { prefix: "ag" }));
        for bad in ["", "tk_", "tk_0123456789A0", "tk_0123456789012", "tk-012345678901", "tk_01234567890é"] {
            assert_eq!(bad.parse::<TaskId>(), Err(NotAnId { prefix: "tk" }), "{bad}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_ids_and_many_differ() {
        let run = |seed| {
            let mut ids = Ids::new(seed);
            (0..1_000).map(|_| TaskId::next(&mut ids)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        let mut all: Vec<_> = (0..100).flat_map(run).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100_000);
    }
}
