//! Checks the logs of a store: no topic (a single log) has a gap, every entry has the documented hash, and no follower
//! of the logs misses an entry.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::Timestamp;
use engine::hex::hexadecimal;
use sha2::{Digest, Sha256};

use super::must;
use super::oracle::Oracle;
use crate::{Cursor, Entry, Store, ZERO_HASH, verify};

pub(super) async fn is_sound(store: &dyn Store, oracle: &Oracle) {
    topics_are_whole(store, oracle).await;
    heads_are_listed(store, oracle).await;
    tail_gives_everything(store, oracle.entries()).await;
    cursors_are_texts(store, oracle.entries().len()).await;
    let verdict = must(verify(store, &heads(oracle)).await, "verify");
    assert_eq!(verdict.findings, [], "a log that nobody touched");
    let counted = (usize::try_from(verdict.topics), usize::try_from(verdict.entries));
    assert_eq!(counted, (Ok(oracle.heads().len()), Ok(oracle.entries().len())), "topics and entries verified");
    let none: Vec<Entry> = must(store.topic("no such topic".to_owned(), 0, 10).await, "an unknown topic");
    assert_eq!(none, [], "an unknown topic is empty");
    assert_eq!(must(store.head("no such topic".to_owned()).await, "head"), None, "and has no head");
    assert_eq!(must(store.headless().await, "headless"), None, "every topic has its head");
}

fn heads(oracle: &Oracle) -> Vec<crate::Head> {
    oracle.heads().values().cloned().collect()
}

async fn topics_are_whole(store: &dyn Store, oracle: &Oracle) {
    for head in oracle.heads().values() {
        let expected: Vec<&Entry> = oracle.entries().iter().filter(|entry| entry.topic == head.topic).collect();
        let found = must(store.topic(head.topic.clone(), 0, u32::MAX).await, "topic");
        assert!(found.iter().eq(expected.iter().copied()), "{} is {found:#?}, not {expected:#?}", head.topic);
        check_chain(&found);
        for limit in [1, 2, 7] {
            let mut paged: Vec<Entry> = Vec::new();
            loop {
                let after = paged.last().map_or(0, |entry| entry.seq);
                let page = must(store.topic(head.topic.clone(), after, limit).await, "a page of a topic");
                if page.is_empty() || paged.len() > 40 {
                    break;
                }
                paged.extend(page);
            }
            assert_eq!(paged, found[..paged.len()], "{} in pages of {limit}", head.topic);
        }
    }
}

/// Checks the entries of one topic (a log): their numbers start at 1 and have no gaps, their times never go back, and
/// their hashes are right. This function computes the hashes itself, from the documented formula.
pub(super) fn check_chain(entries: &[Entry]) {
    let mut prev = ZERO_HASH.to_owned();
    let mut at = Timestamp(0);
    for (number, entry) in (1..).zip(entries) {
        assert_eq!(entry.seq, number, "the numbers of {} have a gap", entry.topic);
        assert!(entry.at >= at, "time runs back in {} at {number}", entry.topic);
        assert_eq!(entry.prev, prev, "{} {number} links to the one before", entry.topic);
        assert_eq!(entry.hash, documented_hash(entry), "the hash of {} {number}", entry.topic);
        (prev, at) = (entry.hash.clone(), entry.at);
    }
}

fn documented_hash(entry: &Entry) -> String {
    let link: Vec<u8> = (0..32)
        .map(|place| must(u8::from_str_radix(&entry.prev[place * 2..place * 2 + 2], 16), "a hash is hexadecimal"))
        .collect();
    let (seq, at) = (entry.seq.to_string(), entry.at.0.to_string());
    let texts = [&entry.topic, &seq, &at, &entry.kind, &entry.sender, &entry.body];
    let mut bytes = Vec::new();
    for field in [link.as_slice()].into_iter().chain(texts.into_iter().map(|text| text.as_bytes())) {
        bytes.extend(must(u64::try_from(field.len()), "length").to_be_bytes());
        bytes.extend(field);
    }
    hexadecimal(&Sha256::digest(&bytes))
}

async fn heads_are_listed(store: &dyn Store, oracle: &Oracle) {
    let expected = heads(oracle);
    assert_eq!(must(store.heads(String::new(), u32::MAX).await, "heads"), expected, "all heads");
    assert_eq!(must(store.heads(String::new(), 0).await, "heads"), [], "no heads when none are wanted");
    for limit in [1, 3] {
        let mut paged: Vec<crate::Head> = Vec::new();
        loop {
            let after = paged.last().map(|head| head.topic.clone()).unwrap_or_default();
            let page = must(store.heads(after, limit).await, "a page of heads");
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, expected, "heads in pages of {limit}");
    }
    for head in &expected {
        assert_eq!(must(store.head(head.topic.clone()).await, "head").as_ref(), Some(head), "one head");
    }
}

/// Follows the log from a cursor (a position in the log) until `count` entries were read. Waits for late entries,
/// because a database server may show the newest entries a moment after their commit.
pub(super) async fn follow(store: &dyn Store, mut cursor: Cursor, limit: u32, count: usize) -> Vec<(Entry, Cursor)> {
    let mut watch = store.watch();
    let mut found = Vec::new();
    let mut patience = 400;
    while found.len() < count {
        let page = must(store.follow(cursor, limit).await, "follow");
        assert!(page.entries.len() <= usize::try_from(limit).unwrap_or(usize::MAX), "a page is no longer than asked");
        if page.entries.is_empty() {
            patience -= 1;
            assert!(patience > 0, "only {} of {count} entries came", found.len());
            watch.changed(Duration::from_millis(25)).await;
        }
        cursor = page.next;
        found.extend(page.entries.into_iter().map(|entry| (entry, page.next)));
    }
    found
}

async fn tail_gives_everything(store: &dyn Store, expected: &[Entry]) {
    for limit in [3, 50, 1_000, u32::MAX] {
        let found = follow(store, Cursor::default(), limit, expected.len()).await;
        assert!(found.iter().map(|(entry, _)| entry).eq(expected), "the tail in pages of {limit}");
    }
    // A follower of the log may start from any cursor (a position in the log), so try several of them.
    let one_by_one = follow(store, Cursor::default(), 1, expected.len().min(300)).await;
    for (place, (_, cursor)) in one_by_one.iter().enumerate().step_by(17) {
        let rest = follow(store, *cursor, 97, expected.len() - place - 1).await;
        assert!(rest.iter().map(|(entry, _)| entry).eq(&expected[place + 1..]), "the tail from {cursor}");
        let end = rest.last().map_or(*cursor, |(_, cursor)| *cursor);
        let page = must(store.follow(end, 10).await, "follow at the end");
        assert_eq!((page.entries.len(), page.next), (0, end), "nothing follows the last entry");
    }
    let page = must(store.follow(Cursor::default(), 0).await, "follow");
    assert_eq!(page.entries, [], "no entries when none are wanted");
}

async fn cursors_are_texts(store: &dyn Store, count: usize) {
    let page = must(store.follow(Cursor::default(), 5).await, "follow");
    let read: Result<Cursor, _> = page.next.to_string().parse();
    assert_eq!(read, Ok(page.next), "a cursor reads back");
    for bad in ["", "1", "1.2", "1.2.3.4", "a.b.c", "1..3", "1.2.3 ", "99999999999999999999.0.0"] {
        assert!(bad.parse::<Cursor>().is_err(), "{bad:?} is no cursor");
    }
    let foreign = Cursor { generation: page.next.generation ^ 0x5555, ..page.next };
    let anew = follow(store, foreign, 1_000, count).await;
    assert_eq!(anew.first().map(|(entry, _)| entry), page.entries.first(), "a cursor of another store begins anew");
}

/// Checks the entries that a follower of all topics (logs) got: each topic is in order and without gaps, and each entry
/// came once.
pub(super) fn check_tail(entries: &[Entry]) {
    let mut topics: BTreeMap<&str, i64> = BTreeMap::new();
    for entry in entries {
        let last = topics.entry(&entry.topic).or_default();
        assert_eq!(entry.seq, *last + 1, "{} came out of order", entry.topic);
        *last = entry.seq;
    }
}
