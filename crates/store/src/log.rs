//! Topics: ordered, append-only logs. The hash of each entry covers the hash of the entry before it, so a changed entry
//! can be detected.
//!
//! The hash of an entry is SHA-256 over seven fields. Each field is written as its length (eight bytes, big-endian) and
//! its bytes. The fields are the previous hash (32 bytes), the topic, the number and the time (both as decimal text),
//! the type, the sender, and the body exactly as stored. The previous hash of the first entry is 32 zero bytes.

use engine::Timestamp;
use engine::hex::hexadecimal;
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::value::{Columns, SqlValue};

/// The value of the field `prev` (the previous hash) in the first entry of a topic (an append-only log).
pub const ZERO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One entry of a topic (an append-only log).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    pub topic: String,
    /// The number of the entry in its topic (log). Numbers start at 1 and have no gaps.
    pub seq: i64,
    pub at: Timestamp,
    #[serde(rename = "type")]
    pub kind: String,
    pub sender: String,
    pub body: String,
    pub prev: String,
    pub hash: String,
}

/// The number, hash and time of the last entry of a topic (an append-only log).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Head {
    pub topic: String,
    pub seq: i64,
    pub hash: String,
    pub at: Timestamp,
}

impl Head {
    pub(crate) fn new(topic: String) -> Self {
        Self { topic, seq: 0, hash: ZERO_HASH.to_owned(), at: Timestamp(0) }
    }

    pub(crate) fn read(row: Vec<SqlValue>) -> Result<Self, Fault> {
        let mut row = Columns::new("topic", row);
        Ok(Self { topic: row.text()?, seq: row.int()?, hash: row.text()?, at: row.time()? })
    }

    /// Appends an entry to the topic (a log) and returns the entry. Commands may arrive out of order, because a command
    /// gets its time `now` before it waits in the queue. So the entry gets the later of two times: `now` and the time
    /// of the last entry.
    pub(crate) fn append(&mut self, kind: &str, sender: &str, body: String, now: Timestamp) -> Entry {
        let mut entry = Entry {
            topic: self.topic.clone(),
            seq: self.seq + 1,
            at: now.max(self.at),
            kind: kind.to_owned(),
            sender: sender.to_owned(),
            body,
            prev: std::mem::take(&mut self.hash),
            hash: String::new(),
        };
        entry.hash = entry.computed_hash();
        (self.seq, self.at) = (entry.seq, entry.at);
        self.hash.clone_from(&entry.hash);
        entry
    }
}

impl Entry {
    pub(crate) fn read(row: &mut Columns) -> Result<Self, Fault> {
        Ok(Self {
            topic: row.text()?,
            seq: row.int()?,
            at: row.time()?,
            kind: row.text()?,
            sender: row.text()?,
            body: row.text()?,
            prev: row.text()?,
            hash: row.text()?,
        })
    }

    /// Returns the hash that the entry must have, computed from its fields. A different stored hash shows tampering.
    pub fn computed_hash(&self) -> String {
        self.hash_at(self.seq)
    }

    /// Finds the number for which the hash of this entry is right, and returns the difference between that number and
    /// the entry's present number. The difference is 0 when the hash is right for the present number. Tries the numbers
    /// from 1 to `last` that are at most `REACH` away. Returns `None` when the hash is right for none of them.
    pub(crate) fn distance(&self, last: i64) -> Option<i64> {
        const REACH: i64 = 10_000;
        if self.hash == self.computed_hash() {
            return Some(0);
        }
        let possible = |distance: &i64| (1..=last).contains(&(self.seq + distance));
        let distances = (1..=REACH).flat_map(|far| [far, -far]).filter(possible);
        distances.into_iter().find(|distance| self.hash == self.hash_at(self.seq + distance))
    }

    fn hash_at(&self, seq: i64) -> String {
        let mut hasher = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(bytes);
        };
        field(&unhex(&self.prev));
        field(self.topic.as_bytes());
        field(seq.to_string().as_bytes());
        field(self.at.0.to_string().as_bytes());
        field(self.kind.as_bytes());
        field(self.sender.as_bytes());
        field(self.body.as_bytes());
        hexadecimal(&hasher.finalize())
    }
}

/// A cursor is the position of a caller that follows the log of all topics. Only the store reads the fields of a
/// cursor. A cursor stays valid when the store is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cursor {
    pub(crate) generation: i64,
    pub(crate) xid: i64,
    pub(crate) pos: i64,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.generation, self.xid, self.pos)
    }
}

impl std::str::FromStr for Cursor {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('.').map(str::parse::<i64>);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(generation)), Some(Ok(xid)), Some(Ok(pos)), None) => Ok(Self { generation, xid, pos }),
            _ => Err("not a cursor"),
        }
    }
}

/// A page of entries of all topics (logs), and the cursor (position in the log) for the next page. The entries of each
/// topic are in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    pub entries: Vec<Entry>,
    /// The cursor (position in the log) after each entry of `entries`, in the same order.
    pub places: Vec<Cursor>,
    pub next: Cursor,
}

/// Returns the 32 bytes of a hash. An intruder may have replaced the hash by another text. Then this returns the bytes
/// of the text, which never equal a hash.
fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes().chunks(2).map(|pair| Some((digit(*pair.first()?)? << 4) | digit(*pair.get(1)?)?));
    bytes.collect::<Option<Vec<u8>>>().filter(|bytes| bytes.len() == 32).unwrap_or_else(|| text.as_bytes().to_vec())
}

impl Cursor {
    /// Returns this cursor (position in the log) if it has the given generation, which is a number that changes when
    /// the store is restored. Otherwise returns the start of the log, because reading an entry twice is better than
    /// missing it.
    pub(crate) fn in_generation(self, generation: i64) -> Self {
        if self.generation == generation { self } else { Self { generation, xid: 0, pos: 0 } }
    }
}

impl Cursor {
    /// Builds a cursor (a position in the log) from the row of the statement that finds the last log entry.
    pub(crate) fn read(generation: i64, rows: Vec<Vec<SqlValue>>) -> Result<Self, Fault> {
        let Some(row) = rows.into_iter().next() else { return Ok(Self { generation, xid: 0, pos: 0 }) };
        let mut columns = Columns::new("event", row);
        Ok(Self { generation, xid: columns.int()?, pos: columns.int()? })
    }
}

impl LogPage {
    /// Builds a page of log entries from the rows of the statement that follows the log.
    pub(crate) fn read(after: Cursor, rows: Vec<Vec<SqlValue>>) -> Result<Self, Fault> {
        let mut next = after;
        let mut entries = Vec::with_capacity(rows.len());
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            let mut columns = Columns::new("event", row);
            entries.push(Entry::read(&mut columns)?);
            next = Cursor { xid: columns.int()?, pos: columns.int()?, ..after };
            places.push(next);
        }
        Ok(Self { entries, places, next })
    }
}
