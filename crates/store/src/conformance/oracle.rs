//! The oracle computes the answers that a store must give and the rows that it must contain. It uses the engine's
//! tables and a log in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::tables::Tables;
use engine::{Change, Need, World, fold};

use super::{StoreOrder, must};
use crate::log::{Entry, Head};
use crate::memory::Contents;
use crate::{MemoryStore, Row, Store, export, import, memory, record};

#[derive(Debug, Default)]
pub(super) struct Oracle {
    contents: Contents,
}

impl Oracle {
    /// Returns an oracle with the present contents of a store. An oracle computes, with the engine's own tables, the
    /// answers that the store must give.
    pub(super) async fn of(store: &dyn Store) -> Self {
        let text = ExportText::default();
        must(export(store, text.clone()).await, "export");
        let memory = MemoryStore::default();
        must(import(&memory, std::io::Cursor::new(text.take())).await, "import into memory");
        Self { contents: memory.into_contents() }
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.contents.tables
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.contents.entries
    }

    pub(super) fn heads(&self) -> &BTreeMap<String, Head> {
        &self.contents.heads
    }

    /// Decides the command on the oracle's own tables in memory, and writes the result to these tables. A store must
    /// give the same result.
    pub(super) fn act(&mut self, order: &StoreOrder) -> Change {
        let job = order.job();
        let contents = &mut self.contents;
        let mut world = World::default();
        check_needs(&job.needs, order);
        job.needs.iter().for_each(|need| contents.tables.answer(need, &mut world));
        let change = loop {
            match (job.step)(&world) {
                Ok(change) => break change,
                Err(needs) => {
                    assert!(needs.iter().any(|need| !world.knows(need)), "{order:?} asks again for {needs:?}");
                    check_needs(&needs, order);
                    needs.iter().for_each(|need| contents.tables.answer(need, &mut world));
                }
            }
        };
        for topic in record::topics(&change) {
            let name = topic.to_string();
            let head = contents.heads.get(&name).cloned().unwrap_or_else(|| Head::new(name));
            let (entries, head) = must(record::entries(&change, &topic, head, job.now), "log");
            contents.entries.extend(entries);
            contents.heads.insert(head.topic.clone(), head);
        }
        for write in fold(&mut world, &change.events, job.now) {
            contents.tables.write(write);
        }
        change
    }

    pub(super) fn rows(&self) -> Vec<(usize, Row)> {
        let all = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&all);
        let mut sink: crate::Sink = Box::new(move |table, rows| {
            let mut all = into.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(rows.into_iter().map(|row| (table, row)));
            Ok(())
        });
        must(memory::rows::dump(&self.contents, &mut sink), "dump");
        std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The text of an export, which is kept in memory instead of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct ExportText(Arc<Mutex<Vec<u8>>>);

impl ExportText {
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::io::Write for ExportText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Checks that no need (request for rows) contains a zero byte. PostgreSQL does not accept a zero byte, so no command
/// may ask a store for a text with one.
fn check_needs(needs: &[Need], order: &StoreOrder) {
    let odd = needs.iter().find(|need| format!("{need:?}").contains("\\0"));
    assert!(odd.is_none(), "{order:?} asks for a text with a zero byte, which PostgreSQL does not take: {odd:?}");
}
