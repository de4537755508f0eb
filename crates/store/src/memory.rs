//! A store without a disk: the engine's own tables behind a lock. It is for tests and for first experiments.

pub(crate) mod rows;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::tables::Tables;
use engine::{Change, Need, World, fold};

use crate::fault::Fault;
use crate::log::{Cursor, Entry, Head, LogPage};
use crate::record;
use crate::watch::{Bell, StoreWatch};
use crate::{Answer, Job, RowSource, Sink, StateQuestion, Store, guarded};

#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tables: Tables,
    pub(crate) heads: BTreeMap<String, Head>,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug)]
pub struct MemoryStore {
    contents: Mutex<Contents>,
    bell: Bell,
    generation: i64,
}

/// The generation of the next memory store. A generation is a number that marks the cursors (positions in the log) of
/// one store. Memory stores use -1, -2 and so on, and databases use other numbers. So a cursor of one store is never
/// valid in another store.
static GENERATION: AtomicI64 = AtomicI64::new(-1);

impl Default for MemoryStore {
    fn default() -> Self {
        let generation = GENERATION.fetch_sub(1, Ordering::Relaxed);
        Self { contents: Mutex::default(), bell: Bell::new(), generation }
    }
}

impl MemoryStore {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        // Use the contents even when a thread panicked while it held the lock. Writes are applied after the last step
        // that can fail, so the contents are complete.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_contents(self) -> Contents {
        self.contents.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, job: &Job) -> Result<Change, Fault> {
        let mut contents = self.contents();
        let mut world = World::default();
        job.needs.iter().for_each(|need| contents.tables.answer(need, &mut world));
        let change = loop {
            match job.decide(&world)? {
                Ok(change) => break change,
                Err(needs) => load_more(&contents.tables, &needs, &mut world)?,
            }
        };
        let mut appended = Vec::new();
        for topic in record::topics(&change) {
            let name = topic.to_string();
            let head = contents.heads.get(&name).cloned().unwrap_or_else(|| Head::new(name));
            appended.push(record::entries(&change, &topic, head, job.now)?);
        }
        let writes = fold(&mut world, &change.events, job.now);
        for (entries, head) in appended {
            contents.entries.extend(entries);
            contents.heads.insert(head.topic.clone(), head);
        }
        writes.into_iter().for_each(|write| contents.tables.write(write));
        drop(contents);
        self.bell.ring();
        Ok(change)
    }
}

fn load_more(tables: &Tables, needs: &[Need], world: &mut World) -> Result<(), Fault> {
    if needs.iter().all(|need| world.knows(need)) {
        return Err(Fault::asks_again(needs));
    }
    needs.iter().for_each(|need| tables.answer(need, world));
    Ok(())
}

fn first<T>(found: impl Iterator<Item = T>, limit: u32) -> Vec<T> {
    found.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
}

fn ready<'a, T: Send + 'a>(result: Result<T, Fault>) -> Answer<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for MemoryStore {
    fn transact(&self, job: Job) -> Answer<'_, Change> {
        ready(self.run(&job))
    }

    fn look(&self, needs: Vec<Need>, question: StateQuestion) -> Answer<'_, World> {
        let contents = self.contents();
        let look = || {
            let mut world = World::default();
            needs.iter().for_each(|need| contents.tables.answer(need, &mut world));
            loop {
                let more = guarded(|| question(&world))?;
                if more.is_empty() {
                    return Ok(world);
                }
                load_more(&contents.tables, &more, &mut world)?;
            }
        };
        ready(look())
    }

    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, LogPage> {
        let after = after.in_generation(self.generation);
        let contents = self.contents();
        let from = usize::try_from(after.pos).unwrap_or(0);
        let entries = first(contents.entries.iter().skip(from).cloned(), limit);
        let places: Vec<Cursor> = (after.pos + 1..).zip(&entries).map(|(pos, _)| Cursor { pos, ..after }).collect();
        let next = places.last().copied().unwrap_or(after);
        ready(Ok(LogPage { entries, places, next }))
    }

    fn integrity(&self) -> Answer<'_, Vec<String>> {
        ready(Ok(Vec::new()))
    }

    fn end(&self) -> Answer<'_, Cursor> {
        let pos = i64::try_from(self.contents().entries.len()).unwrap_or(i64::MAX);
        ready(Ok(Cursor { generation: self.generation, xid: 0, pos }))
    }

    fn topic(&self, topic: String, after: i64, limit: u32) -> Answer<'_, Vec<Entry>> {
        let contents = self.contents();
        let mut found: Vec<&Entry> =
            contents.entries.iter().filter(|entry| entry.topic == topic && entry.seq > after).collect();
        found.sort_by_key(|entry| entry.seq);
        ready(Ok(first(found.into_iter().cloned(), limit)))
    }

    fn heads(&self, after: String, limit: u32) -> Answer<'_, Vec<Head>> {
        let contents = self.contents();
        let found = contents.heads.values().filter(|head| head.topic > after).cloned();
        ready(Ok(first(found, limit)))
    }

    fn head(&self, topic: String) -> Answer<'_, Option<Head>> {
        ready(Ok(self.contents().heads.get(&topic).cloned()))
    }

    fn headless(&self) -> Answer<'_, Option<(String, i64)>> {
        let contents = self.contents();
        let found = contents.entries.iter().find(|entry| !contents.heads.contains_key(&entry.topic));
        ready(Ok(found.map(|entry| (entry.topic.clone(), entry.seq))))
    }

    fn watch(&self) -> StoreWatch {
        self.bell.watch()
    }

    fn dump(&self, mut sink: Sink) -> Answer<'_, ()> {
        ready(rows::dump(&self.contents(), &mut sink))
    }

    fn fill(&self, mut source: RowSource) -> Answer<'_, ()> {
        let result = rows::fill(&mut self.contents(), &mut source);
        self.bell.ring();
        ready(result)
    }
}
