//! Tests in which an intruder edits the log in the file. Verification must name the first entry that was changed,
//! removed, inserted or moved.

use std::path::Path;

use engine::Timestamp;
use rusqlite::{Connection, params};
use store::Tampering::{Changed, Inserted, Moved, Removed};
use store::conformance::{EditedEntries, act, must, small};
use store::{Entry, Head, Sqlite, Store, Tampering, verify};

const TOPIC: &str = "registry";
const LAST: i64 = 12;

/// An intruder's edit of a topic (log) with the entries 1 to 12, and the findings that verification must report.
struct Case {
    what: &'static str,
    edit: fn(&Intruder),
    /// The finding when only the file is verified. `None` when the file alone does not show the edit.
    alone: Option<(i64, Tampering)>,
    /// The finding when the head of the topic (the number and hash of the log's last entry) was saved elsewhere before
    /// the edit.
    kept: Option<(i64, Tampering)>,
}

const fn case(what: &'static str, edit: fn(&Intruder), found: (i64, Tampering)) -> Case {
    Case { what, edit, alone: Some(found), kept: Some(found) }
}

/// Returns a test case whose edit is found only with a head (number and hash of the last entry) that was saved
/// elsewhere before the edit.
const fn hidden(what: &'static str, edit: fn(&Intruder), found: (i64, Tampering)) -> Case {
    Case { what, edit, alone: None, kept: Some(found) }
}

const CASES: &[Case] = &[
    Case { what: "nothing", edit: |_| {}, alone: None, kept: None },
    case("a body changed", |file| file.set(5, "body = body || ' '"), (5, Changed)),
    case("the first body changed", |file| file.set(1, "body = '{}'"), (1, Changed)),
    case("the last body changed", |file| file.set(LAST, "body = '{}'"), (LAST, Changed)),
    case("a sender changed", |file| file.set(5, "sender = 'system'"), (5, Changed)),
    case("a type changed", |file| file.set(5, "type = 'left'"), (5, Changed)),
    case("a time changed", |file| file.set(5, "at = at + 1"), (5, Changed)),
    case("a hash changed", |file| file.set(5, "hash = prev"), (5, Changed)),
    case("a hash made nonsense", |file| file.set(5, "hash = 'xyz'"), (5, Changed)),
    case("a link changed", |file| file.set(6, "prev = hash"), (6, Changed)),
    case("a body and its hash changed", |file| file.rewrite(5, 5), (5, Changed)),
    case("the first body and its hash changed", |file| file.rewrite(1, 1), (1, Changed)),
    case("the last body and its hash changed", |file| file.rewrite(LAST, LAST), (LAST, Changed)),
    case("the last two rewritten", |file| file.rewrite(LAST - 1, LAST), (LAST, Changed)),
    hidden(
        "everything from the middle rewritten with the head",
        |file| {
            file.rewrite(5, LAST);
            file.head_from_last();
        },
        (LAST, Changed),
    ),
    case("one removed", |file| file.remove(5), (5, Removed)),
    case("the first removed", |file| file.remove(1), (1, Removed)),
    case("the last removed", |file| file.remove(LAST), (LAST, Removed)),
    case("several removed", |file| (4..9).for_each(|seq| file.remove(seq)), (4, Removed)),
    case("all removed", |file| (1..=LAST).for_each(|seq| file.remove(seq)), (1, Removed)),
    hidden(
        "the last removed and the head lowered",
        |file| {
            file.remove(LAST);
            file.head_from_last();
        },
        (LAST, Removed),
    ),
    hidden(
        "the topic removed with its head",
        |file| {
            file.run(&format!("DELETE FROM event WHERE topic = '{TOPIC}'; DELETE FROM topic WHERE name = '{TOPIC}'"))
        },
        (1, Removed),
    ),
    case(
        "one removed and the rest renumbered",
        |file| {
            file.remove(5);
            file.shift(6, LAST, -1);
        },
        (5, Removed),
    ),
    case(
        "one removed, the rest renumbered, the head lowered",
        |file| {
            file.remove(5);
            file.shift(6, LAST, -1);
            file.head_from_last();
        },
        (5, Removed),
    ),
    case(
        "the last but one removed and the last renumbered",
        |file| {
            file.remove(LAST - 1);
            file.shift(LAST, LAST, -1);
            file.head_from_last();
        },
        (LAST - 1, Removed),
    ),
    case(
        "the first two removed and the rest renumbered",
        |file| {
            file.remove(1);
            file.remove(2);
            file.shift(3, LAST, -2);
        },
        (1, Removed),
    ),
    case(
        "one inserted with a sound link and the rest renumbered",
        |file| {
            file.shift(5, LAST, 1);
            file.insert_sound(5);
        },
        (5, Inserted),
    ),
    case(
        "one inserted with a sound link, the rest renumbered, the head raised",
        |file| {
            file.shift(5, LAST, 1);
            file.insert_sound(5);
            file.head_from_last();
        },
        (5, Inserted),
    ),
    case(
        "nonsense inserted and the rest renumbered",
        |file| {
            file.shift(5, LAST, 1);
            file.insert(&Entry { prev: "x".to_owned(), hash: "y".to_owned(), ..file.forged(5) });
        },
        (5, Inserted),
    ),
    case("one inserted at the end", |file| file.insert_sound(LAST + 1), (LAST + 1, Inserted)),
    case("nonsense inserted at the end", |file| file.insert(&file.forged(LAST + 1)), (LAST + 1, Inserted)),
    case("one inserted far behind the end", |file| file.insert(&file.forged(40)), (40, Inserted)),
    case("one inserted before the first", |file| file.insert(&file.forged(0)), (0, Inserted)),
    case(
        "a copy of an earlier one inserted and the rest renumbered",
        |file| {
            file.shift(8, LAST, 1);
            file.insert(&Entry { seq: 8, ..file.entry(3) });
        },
        (8, Inserted),
    ),
    case(
        "a copy of a later one inserted and the rest renumbered",
        |file| {
            let copy = Entry { seq: 5, ..file.entry(10) };
            file.shift(5, LAST, 1);
            file.insert(&copy);
        },
        (5, Inserted),
    ),
    case("two neighbours swapped", |file| file.swap(5, 6), (5, Moved)),
    case("two swapped", |file| file.swap(4, 9), (4, Moved)),
    case("the first and the last swapped", |file| file.swap(1, LAST), (1, Moved)),
    case("the last two swapped", |file| file.swap(LAST - 1, LAST), (LAST - 1, Moved)),
    case(
        "one moved far back with renumbering",
        |file| {
            file.renumber(4, 1_000);
            file.shift(5, LAST, -1);
            file.renumber(1_000, LAST);
        },
        (4, Moved),
    ),
    case(
        "one moved far forward with renumbering",
        |file| {
            file.renumber(LAST, 1_000);
            file.shift(4, LAST - 1, 1);
            file.renumber(1_000, 4);
        },
        (4, Moved),
    ),
    case("one moved behind the end", |file| file.renumber(4, LAST + 1), (4, Moved)),
    case("the last moved on", |file| file.renumber(LAST, LAST + 1), (LAST, Moved)),
];

/// An intruder: a person with write access to the database file.
struct Intruder(Connection);

impl Intruder {
    #[expect(clippy::disallowed_methods, reason = "a test edits the file from outside")]
    fn into(path: &Path) -> Self {
        Self(must(Connection::open(path), "open the file"))
    }

    fn run(&self, sql: &str) {
        must(self.0.execute_batch(sql), sql);
    }

    fn set(&self, seq: i64, change: &str) {
        self.run(&format!("UPDATE event SET {change} WHERE topic = '{TOPIC}' AND seq = {seq}"));
    }

    fn remove(&self, seq: i64) {
        self.run(&format!("DELETE FROM event WHERE topic = '{TOPIC}' AND seq = {seq}"));
    }

    fn renumber(&self, from: i64, to: i64) {
        self.set(from, &format!("seq = {to}"));
    }

    /// Changes the numbers of a range of log entries by `by`. Begins at the end of the range where the new numbers are
    /// free, because no two entries can have the same number.
    fn shift(&self, first: i64, last: i64, by: i64) {
        let mut range: Vec<i64> = (first..=last).collect();
        if by > 0 {
            range.reverse();
        }
        range.into_iter().for_each(|seq| self.renumber(seq, seq + by));
    }

    fn swap(&self, one: i64, other: i64) {
        self.renumber(one, 1_000);
        self.renumber(other, one);
        self.renumber(1_000, other);
    }

    fn entry(&self, seq: i64) -> Entry {
        let sql = "SELECT topic, seq, at, type, sender, body, prev, hash FROM event WHERE topic = ?1 AND seq = ?2";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Entry {
                topic: row.get(0)?,
                seq: row.get(1)?,
                at: Timestamp(row.get(2)?),
                kind: row.get(3)?,
                sender: row.get(4)?,
                body: row.get(5)?,
                prev: row.get(6)?,
                hash: row.get(7)?,
            })
        };
        must(self.0.query_row(sql, params![TOPIC, seq], read), "an entry")
    }

    /// Returns a forged log entry, which the store never wrote.
    fn forged(&self, seq: i64) -> Entry {
        Entry { seq, body: "{\"event\":\"forged\"}".to_owned(), ..self.entry(4) }
    }

    fn insert(&self, entry: &Entry) {
        let sql = "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)";
        let Entry { topic, seq, at, kind, sender, body, prev, hash } = entry;
        must(self.0.execute(sql, params![topic, seq, at.0, kind, sender, body, prev, hash]), "insert");
    }

    /// Inserts a forged entry that links to the entry before it and has the right hash.
    fn insert_sound(&self, seq: i64) {
        let mut entry = Entry { prev: self.entry(seq - 1).hash, ..self.forged(seq) };
        entry.hash = entry.computed_hash();
        self.insert(&entry);
    }

    /// Changes the body of the first entry of a range, and then gives all entries of the range new links and hashes
    /// that fit together.
    fn rewrite(&self, first: i64, last: i64) {
        for seq in first..=last {
            let mut entry = self.entry(seq);
            if seq == first {
                entry.body.push(' ');
            } else {
                entry.prev = self.entry(seq - 1).hash;
            }
            entry.hash = entry.computed_hash();
            self.remove(seq);
            self.insert(&entry);
        }
    }

    fn head_from_last(&self) {
        let last = format!("SELECT seq FROM event WHERE topic = '{TOPIC}' ORDER BY seq DESC LIMIT 1");
        let hash = format!("SELECT hash FROM event WHERE topic = '{TOPIC}' ORDER BY seq DESC LIMIT 1");
        self.run(&format!("UPDATE topic SET seq = ({last}), hash = ({hash}) WHERE name = '{TOPIC}'"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_is_found_and_named() {
    let folder = must(tempfile::tempdir(), "a folder");
    let origin = folder.path().join("origin.db");
    let store = must(Sqlite::open(&origin, 1).await, "open");
    for number in 0..LAST {
        act(&store, &small(u64::try_from(number).unwrap_or(0))).await;
    }
    let kept: Vec<Head> = must(store.heads(String::new(), 10).await, "heads");
    drop(store);
    for (number, case) in CASES.iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        must(std::fs::copy(&origin, &path), "copy");
        let file = Intruder::into(&path);
        (case.edit)(&file);
        drop(file);
        let store = must(Sqlite::open(&path, 1).await, "open");
        for (kept, expected) in [(&[][..], case.alone), (&kept[..], case.kept)] {
            let found = must(verify(&store, kept).await, "verify").findings;
            let found: Vec<_> = found.iter().map(|found| (found.topic.as_str(), found.seq, found.what)).collect();
            let expected: Vec<_> = expected.into_iter().map(|(seq, what)| (TOPIC, seq, what)).collect();
            assert_eq!(found, expected, "{}, with {} kept heads", case.what, kept.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_in_another_topic_and_a_missing_head_are_found() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = must(Sqlite::open(&path, 1).await, "open");
    for number in 0..4 {
        act(&store, &small(number)).await;
    }
    let file = Intruder::into(&path);
    let texts = async || -> Vec<String> {
        must(verify(&store, &[]).await, "verify").findings.iter().map(ToString::to_string).collect()
    };
    file.set(3, "topic = 'elsewhere', seq = 1");
    assert_eq!(texts().await, ["registry entry 3 was removed", "elsewhere entry 1 was inserted"]);
    file.run("UPDATE event SET topic = 'registry', seq = 3 WHERE topic = 'elsewhere'");
    assert_eq!(texts().await, [""; 0]);
    file.run("DELETE FROM topic");
    assert_eq!(texts().await, ["registry entry 1 was inserted"]);
}

/// Makes every kind of edit at every entry of a log that has every kind of entry, and checks that verification finds
/// each edit.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_real_log_can_be_changed_unseen() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = must(Sqlite::open(&path, 1).await, "open");
    let file = Intruder::into(&path);
    // No process dies in this test, so the disk need not be synced.
    file.run("PRAGMA synchronous = OFF");
    let run = |statement: String| {
        file.run(&statement);
        std::future::ready(())
    };
    let found = store::conformance::finds_every_edit(&store, EditedEntries::All, run).await;
    eprintln!("{found} edits, each found");
}
