//! Verifying the log: the first entry that was changed, removed, inserted or moved, by name.

use crate::Store;
use crate::fault::Fault;
use crate::log::{Entry, Head, ZERO_HASH};

/// What is wrong with a topic, at its first wrong entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
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

impl std::fmt::Display for Finding {
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

/// Checks one topic as its entries come by, in order of their numbers.
#[derive(Debug)]
struct Verifier<'a> {
    topic: &'a str,
    head: Option<&'a Head>,
    /// A head kept elsewhere that the log must still contain.
    kept: Option<&'a Head>,
    seq: i64,
    hash: String,
}

impl Verifier<'_> {
    fn found(&self, seq: i64, what: Tampering) -> Option<Finding> {
        Some(Finding { topic: self.topic.to_owned(), seq, what })
    }

    /// Takes the next entry. The one behind it tells a changed entry from an inserted or a moved one.
    fn take(&mut self, entry: &Entry, behind: Option<&Entry>) -> Option<Finding> {
        let next = self.seq + 1;
        if entry.seq > next {
            return self.found(next, Tampering::Removed);
        }
        if entry.seq < next || self.head.is_none_or(|head| entry.seq > head.seq) {
            return self.found(entry.seq, Tampering::Inserted);
        }
        let distance = entry.distance();
        if let Some(distance) = distance.filter(|distance| *distance != 0) {
            // Sound under another number. When the next one is off by as much, what stood here is gone.
            let shifted = behind.is_some_and(|behind| behind.distance() == Some(distance));
            let what = if shifted && distance > 0 { Tampering::Removed } else { Tampering::Moved };
            return self.found(next, what);
        }
        // The entry behind links to the one before this: nothing stood in between.
        if behind.is_some_and(|behind| behind.prev == self.hash) {
            return self.found(next, Tampering::Inserted);
        }
        let sound = entry.prev == self.hash && distance == Some(0);
        // Sound in itself, but what follows links to something else: rewritten, hash and all.
        let rewritten = behind.is_some_and(|behind| behind.seq == next + 1 && behind.prev != entry.hash);
        let unlike_kept = self.kept.is_some_and(|kept| kept.seq == next && kept.hash != entry.hash);
        if !sound || rewritten || unlike_kept {
            return self.found(next, Tampering::Changed);
        }
        self.seq = next;
        self.hash.clone_from(&entry.hash);
        None
    }

    /// At the end: the head must be the last entry, and a kept head must have come by.
    fn finish(&self) -> Option<Finding> {
        let last = self.head.map_or(0, |head| head.seq).max(self.kept.map_or(0, |kept| kept.seq));
        if last > self.seq {
            return self.found(self.seq + 1, Tampering::Removed);
        }
        if self.head.is_some_and(|head| head.hash != self.hash) {
            return self.found(self.seq.max(1), Tampering::Changed);
        }
        None
    }
}

/// What verification went through, and the first wrong entry of each wrong topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    pub topics: u64,
    pub entries: u64,
    pub findings: Vec<Finding>,
}

/// Recomputes every hash of every topic. `kept` are heads that were written down earlier: against them a log that was
/// rewritten from some point on, or shortened, is found out, too.
pub async fn verify(store: &dyn Store, kept: &[Head]) -> Result<Verdict, Fault> {
    let mut verdict = Verdict::default();
    let mut after = String::new();
    loop {
        let heads = store.heads(after.clone(), PAGE).await?;
        let Some(last) = heads.last() else { break };
        after.clone_from(&last.topic);
        for head in &heads {
            let kept = kept.iter().find(|kept| kept.topic == head.topic);
            verify_topic(store, &head.topic, Some(head), kept, &mut verdict).await?;
        }
    }
    for kept in kept {
        if store.head(kept.topic.clone()).await?.is_none() {
            verify_topic(store, &kept.topic, None, Some(kept), &mut verdict).await?;
        }
    }
    if let Some((topic, seq)) = store.headless().await? {
        verdict.findings.push(Finding { topic, seq, what: Tampering::Inserted });
    }
    Ok(verdict)
}

const PAGE: u32 = 500;

async fn verify_topic(
    store: &dyn Store,
    topic: &str,
    head: Option<&Head>,
    kept: Option<&Head>,
    verdict: &mut Verdict,
) -> Result<(), Fault> {
    let mut verifier = Verifier { topic, head, kept, seq: 0, hash: ZERO_HASH.to_owned() };
    verdict.topics += 1;
    let mut waiting: Vec<Entry> = Vec::new();
    let mut after = 0;
    let finding = loop {
        let page = store.topic(topic.to_owned(), after, PAGE).await?;
        let is_last = page.is_empty();
        after = page.last().map_or(after, |entry| entry.seq);
        waiting.extend(page);
        // The last entry of a page waits for the one behind it.
        let ready = if is_last { waiting.len() } else { waiting.len().saturating_sub(1) };
        let mut finding = None;
        for at in 0..ready {
            finding = verifier.take(&waiting[at], waiting.get(at + 1));
            if finding.is_some() {
                break;
            }
        }
        verdict.entries += u64::try_from(ready).unwrap_or(u64::MAX);
        if finding.is_some() || is_last {
            break finding.or_else(|| verifier.finish());
        }
        waiting.drain(..ready);
    };
    if let Some(mut finding) = finding {
        // What seems removed may only stand elsewhere.
        if finding.what == Tampering::Removed
            && let Some(missing) = waiting.first().map(|entry| entry.prev.clone())
            && verifier.hash != missing
            && stands_elsewhere(store, topic, &missing).await?
        {
            finding.what = Tampering::Moved;
        }
        verdict.findings.push(finding);
    }
    Ok(())
}

async fn stands_elsewhere(store: &dyn Store, topic: &str, hash: &str) -> Result<bool, Fault> {
    let mut after = 0;
    loop {
        let page = store.topic(topic.to_owned(), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(false) };
        after = last.seq;
        if page.iter().any(|entry| entry.hash == hash) {
            return Ok(true);
        }
    }
}
