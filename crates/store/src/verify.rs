//! Verifies the log and names the first entry that was changed, removed, inserted or moved.

use std::collections::BTreeSet;

use crate::Store;
use crate::fault::Fault;
use crate::log::{Entry, Head, ZERO_HASH};

/// The first wrong entry of a topic (log), and the kind of tampering with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TamperFinding {
    pub topic: String,
    pub seq: i64,
    pub what: Tampering,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    Changed,
    Removed,
    Inserted,
    Moved,
}

impl std::fmt::Display for TamperFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            Tampering::Changed => "was changed",
            Tampering::Removed => "was removed",
            Tampering::Inserted => "was inserted",
            Tampering::Moved => "was moved",
        };
        write!(f, "{} entry {} {what}", self.topic, self.seq)
    }
}

/// The progress of checking the entries of one topic (log). The caller passes the entries in the order of their
/// numbers.
#[derive(Debug)]
struct Verifier<'a> {
    topic: &'a str,
    head: Option<&'a Head>,
    /// Heads (the number and hash of a topic's last entry) that a caller saved earlier outside of the database. For
    /// each head, the log must still contain the entry with this number and hash.
    kept: Vec<&'a Head>,
    seq: i64,
    hash: String,
}

/// A suspected tampering with a log entry. For some suspicions, the kind of tampering is known only after a search for
/// the same entry at another number of the topic.
#[derive(Debug, PartialEq, Eq)]
enum Doubt {
    Certain(Tampering),
    /// The log entry with this hash is missing at its place. It was moved if the topic (log) has it at another number,
    /// else it was removed.
    Missing(String),
    /// The log entry with this hash is at a wrong place. It is an inserted copy if the topic (log) also has it at
    /// another number, else it was moved.
    Stray(String),
}

impl Verifier<'_> {
    /// Checks the next log entry of the topic. When the entry is wrong, returns its number and the suspected tampering.
    /// `behind` is the entry after the checked one. It helps to distinguish a changed entry from an inserted one.
    fn take(&mut self, entry: &Entry, behind: Option<&Entry>) -> Result<(), (i64, Doubt)> {
        let next = self.seq + 1;
        if entry.seq < next || self.head.is_some_and(|head| head.seq < next) {
            return Err((entry.seq, Doubt::Certain(Tampering::Inserted)));
        }
        if entry.seq > next {
            return Err((next, Doubt::Missing(entry.prev.clone())));
        }
        self.judge(entry, behind).map_or(Ok(()), |doubt| Err((next, doubt)))?;
        self.seq = next;
        self.hash.clone_from(&entry.hash);
        Ok(())
    }

    fn judge(&self, entry: &Entry, behind: Option<&Entry>) -> Option<Doubt> {
        // The next entry, `behind`, is genuine when its hash is right for some number. If a genuine `behind` links to
        // the entry before this one, this entry was inserted between the two. If only the link of `behind` was forged,
        // the hash of `behind` is wrong, and its own check finds that.
        let skips = |behind: &Entry| behind.prev == self.hash && behind.distance(self.last()).is_some();
        let skipped = behind.is_some_and(skips);
        match entry.distance(self.last()) {
            // The hash is right for a higher entry number. Either this entry was moved here, or the entry that belongs
            // here was removed.
            Some(1..) if skipped => Some(Doubt::Stray(entry.hash.clone())),
            Some(1..) => Some(Doubt::Missing(entry.prev.clone())),
            Some(_) | None if skipped => Some(Doubt::Certain(Tampering::Inserted)),
            Some(0) if entry.prev == self.hash => {
                // The hash of this entry is right, but the next entry is genuine and links to a different hash. So an
                // intruder rewrote this entry together with its hash.
                let linked = |behind: &Entry| behind.seq != entry.seq + 1 || behind.prev == entry.hash;
                let rewritten = behind.is_some_and(|behind| !linked(behind) && behind.distance(self.last()) == Some(0));
                let unlike_kept = self.kept.iter().any(|kept| kept.seq == entry.seq && kept.hash != entry.hash);
                (rewritten || unlike_kept).then_some(Doubt::Certain(Tampering::Changed))
            }
            // The hash is right for a lower entry number, or for no number at all. All entries with lower numbers were
            // already found genuine, so this entry is a copy of one of them or a forgery. It replaced the entry that
            // belongs here.
            Some(_) | None => Some(Doubt::Certain(Tampering::Changed)),
        }
    }

    /// Returns an upper bound for the numbers that entries of this topic (log) can have had. The bound is too low only
    /// when more than half of the entries were removed.
    fn last(&self) -> i64 {
        let heads = self.head.into_iter().chain(self.kept.iter().copied());
        heads.map(|head| head.seq).max().unwrap_or(0).saturating_mul(2).saturating_add(100)
    }

    /// Checks the end of the topic: its head (stored number and hash of the last entry) must describe the last entry,
    /// and the log must have at least as many entries as every head that was saved earlier says.
    fn finish(&self) -> Result<(), (i64, Doubt)> {
        let heads = self.head.into_iter().chain(self.kept.iter().copied());
        if heads.map(|head| head.seq).max().unwrap_or(0) > self.seq {
            return Err((self.seq + 1, Doubt::Certain(Tampering::Removed)));
        }
        if self.head.is_some_and(|head| head.hash != self.hash) {
            return Err((self.seq.max(1), Doubt::Certain(Tampering::Changed)));
        }
        Ok(())
    }
}

/// The result of verifying all topics (logs): the numbers of checked topics and entries, and the first wrong entry of
/// each wrong topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogVerdict {
    pub topics: u64,
    pub entries: u64,
    pub findings: Vec<TamperFinding>,
}

/// Recomputes every hash of every topic (log). `kept` are heads (number and hash of a topic's last entry) that the
/// caller saved earlier. Only these heads show that the log was shortened, or rewritten from some entry to its end.
pub async fn verify(store: &dyn Store, kept: &[Head]) -> Result<LogVerdict, Fault> {
    let mut verdict = LogVerdict::default();
    let mut after = String::new();
    loop {
        let heads = store.heads(after.clone(), PAGE).await?;
        let Some(last) = heads.last() else { break };
        after.clone_from(&last.topic);
        for head in &heads {
            verify_topic(store, &head.topic, Some(head), kept, &mut verdict).await?;
        }
    }
    let topics: BTreeSet<&String> = kept.iter().map(|kept| &kept.topic).collect();
    for topic in topics {
        if store.head(topic.clone()).await?.is_none() {
            verify_topic(store, topic, None, kept, &mut verdict).await?;
        }
    }
    if let Some((topic, seq)) = store.headless().await?
        && !verdict.findings.iter().any(|finding| finding.topic == topic)
    {
        verdict.findings.push(TamperFinding { topic, seq, what: Tampering::Inserted });
    }
    Ok(verdict)
}

const PAGE: u32 = 500;

async fn verify_topic(
    store: &dyn Store,
    topic: &str,
    head: Option<&Head>,
    kept: &[Head],
    verdict: &mut LogVerdict,
) -> Result<(), Fault> {
    let kept = kept.iter().filter(|kept| kept.topic == topic).collect();
    let mut verifier = Verifier { topic, head, kept, seq: 0, hash: ZERO_HASH.to_owned() };
    verdict.topics += 1;
    let mut waiting: Vec<Entry> = Vec::new();
    // Start below all numbers: entries are numbered from 1, but an inserted entry may have a lower number.
    let mut after = i64::MIN;
    let checked = loop {
        let page = store.topic(topic.to_owned(), after, PAGE).await?;
        // A page that is not full is the last one, so no query for a further page is needed.
        let is_last = page.len() < PAGE as usize;
        after = page.last().map_or(after, |entry| entry.seq);
        waiting.extend(page);
        // Keep the last entry of a full page until the next page is read, because its check needs the entry after it.
        let ready = if is_last { waiting.len() } else { waiting.len().saturating_sub(1) };
        verdict.entries += u64::try_from(ready).unwrap_or(u64::MAX);
        let checked = (0..ready).try_for_each(|at| verifier.take(&waiting[at], waiting.get(at + 1)));
        if checked.is_err() || is_last {
            break checked.and_then(|()| verifier.finish());
        }
        waiting.drain(..ready);
    };
    let Err((seq, doubt)) = checked else { return Ok(()) };
    let what = match doubt {
        Doubt::Certain(what) => what,
        Doubt::Missing(hash) if stands(store, verifier.topic, &hash, None).await? => Tampering::Moved,
        Doubt::Missing(_) => Tampering::Removed,
        Doubt::Stray(hash) if stands(store, verifier.topic, &hash, Some(seq)).await? => Tampering::Inserted,
        Doubt::Stray(_) => Tampering::Moved,
    };
    verdict.findings.push(TamperFinding { topic: topic.to_owned(), seq, what });
    Ok(())
}

/// Returns true when the topic (log) has an entry with this hash at a number other than `but`.
async fn stands(store: &dyn Store, topic: &str, hash: &str, but: Option<i64>) -> Result<bool, Fault> {
    let mut after = i64::MIN;
    loop {
        let page = store.topic(topic.to_owned(), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(false) };
        after = last.seq;
        if page.iter().any(|entry| entry.hash == hash && Some(entry.seq) != but) {
            return Ok(true);
        }
    }
}
