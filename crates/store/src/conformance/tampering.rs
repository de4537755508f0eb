//! Plays an intruder who edits the log in the database. The intruder changes every field of an entry, removes, swaps
//! and inserts entries, shortens the log and rewrites it. Verification must find every edit and name the entry.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use super::oracle::Oracle;
use super::script::ConformanceScript;
use super::{act, must};
use crate::Tampering::{Changed, Inserted, Moved, Removed};
use crate::log::{Entry, Head, ZERO_HASH};
use crate::{Store, Tampering, verify};

/// Every kind of entry that a log can have, except the two kinds of `RARE_KINDS`.
const KINDS: [&str; 58] = [
    "agent_updated",
    "answered",
    "approval_asked",
    "approval_moved",
    "approval_shown",
    "branch_taken",
    "browser_enrolled",
    "checkpoint_added",
    "claimed",
    "code_offered",
    "condition_cleared",
    "condition_set",
    "configured",
    "delivered",
    "delivery_moved",
    "delivery_withdrawn",
    "finding_decided",
    "item_put_off",
    "item_shown",
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
    "workflow_archived",
    "workflow_changed",
    "workflow_created",
    "workflow_delivered",
    "workflow_moved",
    "workspace_assigned",
    "workspace_created",
    "workspace_updated",
];
/// The kinds of log entries that random commands write too rarely. A protected task has a setting, such as a required
/// review, that only a person may remove. `dependencies_kept` is written when a skipped task waited for a protected
/// task and another task waited for the skipped one. `protections_removed` is written when a person accepts a blocked,
/// protected task without further work.
const RARE_KINDS: [&str; 2] = ["dependencies_kept", "protections_removed"];
/// The topic (log) to which an intruder moves entries of other topics.
const ELSEWHERE: &str = "elsewhere";
/// The maximum number of random commands that the test runs to get a log with every kind of entry. Usually fewer
/// commands are enough.
const STEPS_MAX: usize = 12_000;

/// Selects the entries of each topic (log) that the test edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditedEntries {
    All,
    /// Edits the first entry of each kind, and the last entry of the topic (log).
    EachKind,
}

/// Makes every kind of edit at the chosen entries of the log. Returns the number of edits that the verification found.
/// The store must be empty. `run` runs an SQL statement directly on the database of the store.
pub async fn finds_every_edit<F, O>(store: &dyn Store, chosen: EditedEntries, run: F) -> usize
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    let log = real_log(store, &run).await;
    let intruder = Intruder { store, run, log, chosen };
    let mut found = 0;
    found += intruder.check("changed fields", false, fields).await;
    found += intruder.check("changed topics", false, topics).await;
    found += intruder.check("moved entries", false, orders).await;
    found += intruder.check("inserted entries", false, insertions).await;
    found += intruder.check("changed heads", false, heads).await;
    found += intruder.check("other endings", true, endings).await;
    found
}

/// Runs random commands until their log has every kind of entry. Then deletes entries at the end of each topic to keep
/// the log short, but keeps at least one entry of each kind. Returns the remaining log by topic.
async fn real_log<F, O>(store: &dyn Store, run: &F) -> BTreeMap<String, Vec<Entry>>
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    let (mut oracle, mut script) = (Oracle::default(), ConformanceScript::new(5));
    let kinds = |entries: &[Entry]| -> BTreeSet<String> {
        let listed = entries.iter().filter(|entry| !RARE_KINDS.contains(&entry.kind.as_str()));
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
    // Keep one entry of each kind. Keeping an entry means keeping all entries before it in the same topic (log),
    // because only the end of a topic is deleted. So choose for each kind the entry that keeps the fewest further
    // entries.
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

/// Returns the SQL statement that overwrites the log entry `place` with all fields of `entry`.
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

/// An intruder's edit of one topic (log), the statements that undo it, and the entry that verification must name.
struct LogEdit {
    /// The number of the log entry at which the intruder's edit begins.
    at: i64,
    edit: Vec<String>,
    undo: Vec<String>,
    entry: Entry,
    tampering: Tampering,
    what: String,
}

impl LogEdit {
    fn new(edit: Vec<String>, undo: Vec<String>, (entry, tampering): (&Entry, Tampering), what: &str) -> Self {
        Self { at: entry.seq, edit, undo, entry: entry.clone(), tampering, what: what.to_owned() }
    }

    fn beginning_at(self, entry: &Entry) -> Self {
        Self { at: entry.seq, ..self }
    }

    fn expected(&self) -> (&str, i64, Tampering) {
        (&self.entry.topic, self.entry.seq, self.tampering)
    }
}

struct Intruder<'a, F> {
    store: &'a dyn Store,
    run: F,
    log: BTreeMap<String, Vec<Entry>>,
    chosen: EditedEntries,
}

impl<F, O> Intruder<'_, F>
where
    F: Fn(String) -> O,
    O: Future<Output = ()>,
{
    /// Makes every edit that `edits` returns, and checks that verification finds each of them. Each round makes one
    /// edit in every topic (log), verifies all topics once, and undoes the edits. `kept` is true for edits that the log
    /// alone does not show. To find such an edit, verification gets the heads (number and hash of each topic's last
    /// entry) from before the edit.
    async fn check(&self, how: &str, kept: bool, edits: impl Fn(&[Entry]) -> Vec<LogEdit>) -> usize {
        self.is_sound(&format!("nothing, before {how}")).await;
        let of_topic = |entries: &Vec<Entry>| {
            let places = self.places(entries);
            edits(entries).into_iter().filter(move |edit| places.contains(&edit.at))
        };
        let mut topics: Vec<_> = self.log.values().map(of_topic).collect();
        let mut count = 0;
        loop {
            let round: Vec<LogEdit> = topics.iter_mut().filter_map(Iterator::next).collect();
            if round.is_empty() {
                break;
            }
            count += round.len();
            self.all(round.iter().flat_map(|edit| edit.edit.clone()).collect()).await;
            let mut heads = Vec::new();
            if kept {
                self.is_sound(how).await;
                heads.extend(self.log.values().filter_map(|entries| entries.last()).map(head_of));
            }
            let found = must(verify(self.store, &heads).await, "verify").findings;
            let named: BTreeMap<&str, _> = found.iter().map(|found| (found.topic.as_str(), found)).collect();
            for edit in &round {
                let found = named.get(edit.entry.topic.as_str());
                let found = found.map(|found| (found.topic.as_str(), found.seq, found.what));
                assert_eq!(found, Some(edit.expected()), "{} of {:?}", edit.what, edit.entry);
            }
            let edited: BTreeSet<&str> = round.iter().map(|edit| edit.entry.topic.as_str()).collect();
            let other = found.iter().find(|found| !edited.contains(found.topic.as_str()) && found.topic != ELSEWHERE);
            assert_eq!(other, None, "{how}: a topic that was not edited");
            self.all(round.into_iter().flat_map(|edit| edit.undo).collect()).await;
        }
        self.is_sound(how).await;
        count
    }

    /// Returns the numbers of the log entries that the test edits, and the number after the last entry.
    fn places(&self, entries: &[Entry]) -> BTreeSet<i64> {
        let mut kinds = BTreeSet::new();
        let is_chosen = |entry: &&Entry| kinds.insert(entry.kind.clone()) || self.chosen == EditedEntries::All;
        let mut places: BTreeSet<i64> = entries.iter().filter(is_chosen).map(|entry| entry.seq).collect();
        places.extend(entries.last().into_iter().flat_map(|last| [last.seq, last.seq + 1]));
        places
    }

    /// Runs the statements of an edit in one transaction, because every further transaction would wait for the disk
    /// again.
    async fn all(&self, statements: Vec<String>) {
        (self.run)(format!("BEGIN; {}; COMMIT", statements.join("; "))).await;
    }

    async fn is_sound(&self, after: &str) {
        let verdict = must(verify(self.store, &[]).await, "verify");
        assert_eq!(verdict.findings, [], "after {after}");
    }
}

fn fields(entries: &[Entry]) -> Vec<LogEdit> {
    let mut edits = Vec::new();
    for entry in entries {
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
            edits.push(LogEdit::new(vec![set(entry, &change)], undo, (entry, Changed), &change));
        }
        let far = placed(entry, entry.seq + 1_000);
        let what = if entries.len() == 1 { Removed } else { Moved };
        edits.push(LogEdit::new(vec![restore(&far, entry)], vec![restore(entry, &far)], (entry, what), "seq"));
    }
    edits
}

/// Returns the edits that move each entry to another topic (log). A moved entry gets a new number, because a topic has
/// each number only once.
fn topics(entries: &[Entry]) -> Vec<LogEdit> {
    let mut edits = Vec::new();
    for entry in entries {
        let number = u32::from_str_radix(&entry.hash[..7], 16).map_or(0, i64::from);
        let elsewhere = Entry { topic: ELSEWHERE.to_owned(), ..placed(entry, number) };
        let (edit, undo) = (vec![restore(&elsewhere, entry)], vec![restore(entry, &elsewhere)]);
        edits.push(LogEdit::new(edit, undo, (entry, Removed), "topic"));
    }
    edits
}

fn orders(entries: &[Entry]) -> Vec<LogEdit> {
    let mut edits = Vec::new();
    for entry in entries {
        edits.push(LogEdit::new(vec![remove(entry)], vec![insert(entry)], (entry, Removed), "removed"));
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
        edits.push(LogEdit::new(swap(one, other), back, (one, Moved), "swapped with the next"));
    }
    edits
}

/// Returns the edits that insert a forged entry at each position of a topic (log). The forged entry links correctly to
/// the entry before it. The edit also renumbers the later entries and adjusts the topic's head (the number and hash of
/// its last entry).
fn insertions(entries: &[Entry]) -> Vec<LogEdit> {
    let mut edits = Vec::new();
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
        edits.push(LogEdit::new(edit, undo, (entry, Inserted), "inserted before"));
    }
    if let Some(last) = entries.last() {
        let mut forged = Entry { prev: last.hash.clone(), ..placed(last, last.seq + 1) };
        forged.hash = forged.computed_hash();
        edits.push(LogEdit::new(vec![insert(&forged)], vec![remove(&forged)], (&forged, Inserted), "appended"));
    }
    edits
}

fn heads(entries: &[Entry]) -> Vec<LogEdit> {
    let Some(last) = entries.last() else { return Vec::new() };
    let topic = quoted(&last.topic);
    let edit = |change: &str, entry: &Entry, what: Tampering| {
        let edit = format!("UPDATE topic SET {change} WHERE name = {topic}");
        LogEdit::new(vec![edit], vec![head_is(last)], (entry, what), "the head")
    };
    vec![
        edit("seq = seq + 1", &placed(last, last.seq + 1), Removed),
        edit("seq = seq - 1", last, Inserted),
        edit("hash = 'x'", last, Changed),
    ]
}

/// Returns the edits that shorten the log, or rewrite it from some entry to its end. The hashes of such a log still fit
/// together.
fn endings(entries: &[Entry]) -> Vec<LogEdit> {
    let Some(last) = entries.last() else { return Vec::new() };
    let mut edits = Vec::new();
    for length in 1..entries.len() {
        let (stays, goes) = entries.split_at(length);
        let edit = goes.iter().map(remove).chain([head_is(&stays[length - 1])]).collect();
        let undo = goes.iter().map(insert).chain([head_is(last)]).collect();
        edits.push(LogEdit::new(edit, undo, (&goes[0], Removed), "shortened"));
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
        let undo = entries[from..].iter().map(|entry| restore(entry, entry)).chain([head_is(last)]).collect();
        edits.push(LogEdit::new(edit, undo, (last, Changed), "rewritten").beginning_at(&entries[from]));
    }
    edits
}
