//! Somebody edits the log in the database. Every field of every entry in turn, every entry removed, swapped, inserted, every
//! shorter log and every rewritten one: all are found, and which entry it was.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use super::oracle::Oracle;
use super::script::Script;
use super::{act, must};
use crate::Tampering::{Changed, Inserted, Moved, Removed};
use crate::log::{Entry, Head, ZERO_HASH};
use crate::{Store, Tampering, verify};

/// Every kind of entry a log can have, but for `dependencies_kept`, which random commands write too rarely: it needs a task
/// that is skipped between a protected one and a dependent.
const KINDS: [&str; 46] = [
    "agent_updated",
    "answered",
    "approval_asked",
    "approval_moved",
    "approval_shown",
    "checkpoint_added",
    "claimed",
    "configured",
    "finding_decided",
    "joined",
    "lease_ended",
    "left",
    "locked",
    "marked",
    "moved",
    "plan_set",
    "regained",
    "registered",
    "replanned",
    "repository_attached",
    "repository_detached",
    "repository_registered",
    "resumed",
    "review_opened",
    "round_ended",
    "round_started",
    "section_written",
    "sent",
    "session_closed",
    "task_added",
    "task_planned",
    "task_removed",
    "template_created",
    "template_removed",
    "token_created",
    "token_revoked",
    "turn_ended",
    "turn_started",
    "unlocked",
    "verified",
    "workflow_changed",
    "workflow_created",
    "workflow_moved",
    "workspace_assigned",
    "workspace_created",
    "workspace_updated",
];
/// More than it takes to see every kind.
const STEPS_MAX: usize = 12_000;

/// The store is empty; `run` runs a statement on its database past it.
pub async fn finds_every_edit<F, O>(store: &dyn Store, run: F)
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    let log = real_log(store, &run).await;
    let intruder = Intruder { store, run, log };
    intruder.fields().await;
    intruder.orders().await;
    intruder.insertions().await;
    intruder.heads().await;
    intruder.endings().await;
}

/// A log of real commands with every kind of entry, cut behind what is needed for that.
async fn real_log<F, O>(store: &dyn Store, run: &F) -> BTreeMap<String, Vec<Entry>>
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    let (mut oracle, mut script) = (Oracle::default(), Script::new(5));
    let kinds = |entries: &[Entry]| -> BTreeSet<String> {
        let listed = entries.iter().filter(|entry| entry.kind != "dependencies_kept");
        listed.map(|entry| entry.kind.clone()).collect()
    };
    for step in 1..=STEPS_MAX {
        let order = script.next(oracle.tables());
        let change = oracle.act(&order);
        act(store, &order).await;
        script.learn(&order, &change);
        if step % 100 == 0 && kinds(oracle.entries()).len() == KINDS.len() {
            break;
        }
    }
    let found = kinds(oracle.entries());
    assert!(found.iter().map(String::as_str).eq(KINDS), "the kinds of the log: {found:?}");
    // Of each kind the entry that stands nearest to the beginning of its topic.
    let mut cuts: BTreeMap<String, i64> = BTreeMap::new();
    for kind in KINDS {
        let nearest = oracle
            .entries()
            .iter()
            .filter(|entry| entry.kind == kind)
            .min_by_key(|entry| (entry.seq - cuts.get(&entry.topic).copied().unwrap_or(0)).max(0));
        let Some(entry) = nearest else { panic!("no {kind}") };
        let cut = cuts.entry(entry.topic.clone()).or_default();
        *cut = (*cut).max(entry.seq);
    }
    let mut log: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for head in oracle.heads().values() {
        let (topic, cut) = (quoted(&head.topic), cuts.get(&head.topic).copied().unwrap_or(0));
        run(format!("DELETE FROM event WHERE topic = {topic} AND seq > {cut}")).await;
        let of_topic = |entry: &&Entry| entry.topic == head.topic && entry.seq <= cut;
        let entries: Vec<Entry> = oracle.entries().iter().filter(of_topic).cloned().collect();
        match entries.last() {
            None => run(format!("DELETE FROM topic WHERE name = {topic}")).await,
            Some(last) => {
                run(head_is(last)).await;
                log.insert(head.topic.clone(), entries);
            }
        }
    }
    log
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn at(entry: &Entry) -> String {
    format!("topic = {} AND seq = {}", quoted(&entry.topic), entry.seq)
}

fn set(entry: &Entry, change: &str) -> String {
    format!("UPDATE event SET {change} WHERE {}", at(entry))
}

/// All fields as they are in `entry`, wherever the row stands now.
fn restore(entry: &Entry, place: &Entry) -> String {
    let Entry { topic, seq, at: time, kind, sender, body, prev, hash } = entry;
    let fields = format!(
        "topic = {}, seq = {seq}, at = {}, type = {}, sender = {}, body = {}, prev = {}, hash = {}",
        quoted(topic),
        time.0,
        quoted(kind),
        quoted(sender),
        quoted(body),
        quoted(prev),
        quoted(hash)
    );
    set(place, &fields)
}

fn insert(entry: &Entry) -> String {
    let Entry { topic, seq, at: time, kind, sender, body, prev, hash } = entry;
    let [topic, kind, sender, body, prev, hash] = [topic, kind, sender, body, prev, hash].map(|text| quoted(text));
    format!(
        "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) \
         VALUES ({topic}, {seq}, {}, {kind}, {sender}, {body}, {prev}, {hash}, 0)",
        time.0
    )
}

fn remove(entry: &Entry) -> String {
    format!("DELETE FROM event WHERE {}", at(entry))
}

fn head_is(last: &Entry) -> String {
    let (topic, hash) = (quoted(&last.topic), quoted(&last.hash));
    format!("UPDATE topic SET seq = {}, hash = {hash} WHERE name = {topic}", last.seq)
}

fn head_of(last: &Entry) -> Head {
    Head { topic: last.topic.clone(), seq: last.seq, hash: last.hash.clone(), at: last.at }
}

fn placed(entry: &Entry, seq: i64) -> Entry {
    Entry { seq, ..entry.clone() }
}

struct Intruder<'a, F> {
    store: &'a dyn Store,
    run: F,
    log: BTreeMap<String, Vec<Entry>>,
}

impl<F, O> Intruder<'_, F>
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    /// Edits, looks, and takes the edit back.
    async fn check(&self, edit: Vec<String>, undo: Vec<String>, expected: (&Entry, Tampering), what: &str) {
        let (entry, tampering) = expected;
        self.all(edit).await;
        let found = must(verify(self.store, &[]).await, "verify").findings;
        let named = found.iter().find(|found| found.topic == entry.topic).map(|found| (found.seq, found.what));
        assert_eq!(named, Some((entry.seq, tampering)), "{what} of {entry:?}: {found:?}");
        self.all(undo).await;
    }

    /// In one transaction, which is one wait for the disk.
    async fn all(&self, statements: Vec<String>) {
        (self.run)(format!("BEGIN; {}; COMMIT", statements.join("; "))).await;
    }

    async fn is_sound(&self, after: &str) {
        let verdict = must(verify(self.store, &[]).await, "verify");
        assert_eq!(verdict.findings, [], "after {after}");
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.log.values().flatten()
    }

    async fn fields(&self) {
        self.is_sound("nothing").await;
        for entry in self.entries() {
            let other = if entry.sender == "human" { "system" } else { "human" };
            let link = if entry.prev == ZERO_HASH { &entry.hash } else { ZERO_HASH };
            let changes = [
                "at = at + 1".to_owned(),
                "at = 0".to_owned(),
                "type = type || 'x'".to_owned(),
                format!("sender = '{other}'"),
                "body = body || ' '".to_owned(),
                "body = '{}'".to_owned(),
                format!("prev = '{link}'"),
                "hash = prev".to_owned(),
                "hash = 'x'".to_owned(),
            ];
            for change in changes {
                let undo = vec![restore(entry, entry)];
                self.check(vec![set(entry, &change)], undo, (entry, Changed), &change).await;
            }
            // A topic and a number are where it stands.
            let elsewhere = Entry { topic: "elsewhere".to_owned(), ..entry.clone() };
            let edit = vec![restore(&elsewhere, entry)];
            self.check(edit, vec![restore(entry, &elsewhere)], (entry, Removed), "topic").await;
            let far = placed(entry, entry.seq + 1_000);
            let alone = self.log[&entry.topic].len() == 1;
            let what = if alone { Removed } else { Moved };
            self.check(vec![restore(&far, entry)], vec![restore(entry, &far)], (entry, what), "seq").await;
        }
        self.is_sound("changed fields").await;
    }

    async fn orders(&self) {
        for entries in self.log.values() {
            for entry in entries {
                self.check(vec![remove(entry)], vec![insert(entry)], (entry, Removed), "removed").await;
            }
            for pair in entries.windows(2) {
                let [one, other] = pair else { continue };
                let swap = |one: &Entry, other: &Entry| {
                    let aside = placed(one, 1_000_000);
                    vec![
                        restore(&aside, one),
                        restore(&placed(other, one.seq), other),
                        restore(&placed(one, other.seq), &aside),
                    ]
                };
                let back = swap(&placed(other, one.seq), &placed(one, other.seq));
                self.check(swap(one, other), back, (one, Moved), "swapped with the next").await;
            }
        }
        self.is_sound("moved entries").await;
    }

    /// A forged entry with a sound link at every place, the rest renumbered and the head with it.
    async fn insertions(&self) {
        for entries in self.log.values() {
            for (number, entry) in entries.iter().enumerate() {
                let behind = &entries[number..];
                let shifted = |entry: &Entry| placed(entry, entry.seq + 1);
                let mut forged = Entry { body: "{\"event\":\"forged\"}".to_owned(), ..entry.clone() };
                forged.hash = forged.computed_hash();
                let mut edit: Vec<String> = behind.iter().rev().map(|entry| restore(&shifted(entry), entry)).collect();
                edit.push(insert(&forged));
                edit.extend(entries.last().map(|last| head_is(&shifted(last))));
                let mut undo = vec![remove(&forged)];
                undo.extend(behind.iter().map(|entry| restore(entry, &shifted(entry))));
                undo.extend(entries.last().map(head_is));
                self.check(edit, undo, (entry, Inserted), "inserted before").await;
            }
            let Some(last) = entries.last() else { continue };
            let mut forged = Entry { prev: last.hash.clone(), ..placed(last, last.seq + 1) };
            forged.hash = forged.computed_hash();
            self.check(vec![insert(&forged)], vec![remove(&forged)], (&forged, Inserted), "appended").await;
        }
        self.is_sound("inserted entries").await;
    }

    async fn heads(&self) {
        for entries in self.log.values() {
            let Some(last) = entries.last() else { continue };
            let topic = quoted(&last.topic);
            let edits = [
                (format!("UPDATE topic SET seq = seq + 1 WHERE name = {topic}"), placed(last, last.seq + 1), Removed),
                (format!("UPDATE topic SET seq = seq - 1 WHERE name = {topic}"), last.clone(), Inserted),
                (format!("UPDATE topic SET hash = 'x' WHERE name = {topic}"), last.clone(), Changed),
            ];
            for (edit, entry, what) in edits {
                self.check(vec![edit], vec![head_is(last)], (&entry, what), "the head").await;
            }
        }
        self.is_sound("changed heads").await;
    }

    /// A log that ends earlier, or was rewritten to its end, is sound in itself: only a head that was kept elsewhere shows it.
    async fn endings(&self) {
        for entries in self.log.values() {
            let Some(last) = entries.last() else { continue };
            let kept = [head_of(last)];
            for length in 1..entries.len() {
                let (stays, goes) = entries.split_at(length);
                self.all(goes.iter().map(remove).chain([head_is(&stays[length - 1])]).collect()).await;
                self.only_kept_shows(&kept, (&goes[0], Removed), "shortened").await;
                self.all(goes.iter().map(insert).chain([head_is(last)]).collect()).await;
            }
            for from in 0..entries.len() {
                let mut prev = entries[from].prev.clone();
                let mut edit = Vec::new();
                for entry in &entries[from..] {
                    let mut forged = Entry { body: format!("{} ", entry.body), prev, ..entry.clone() };
                    forged.hash = forged.computed_hash();
                    edit.extend([restore(&forged, entry), head_is(&forged)]);
                    prev = forged.hash;
                }
                self.all(edit).await;
                self.only_kept_shows(&kept, (last, Changed), "rewritten").await;
                let undo = entries[from..].iter().map(|entry| restore(entry, entry));
                self.all(undo.chain([head_is(last)]).collect()).await;
            }
        }
        self.is_sound("other endings").await;
    }

    async fn only_kept_shows(&self, kept: &[Head], (entry, what): (&Entry, Tampering), how: &str) {
        self.is_sound(how).await;
        let found = must(verify(self.store, kept).await, "verify").findings;
        let found: Vec<_> = found.iter().map(|found| (found.topic.as_str(), found.seq, found.what)).collect();
        assert_eq!(found, [(entry.topic.as_str(), entry.seq, what)], "{how}");
    }
}
