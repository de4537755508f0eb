//! The record of a running server, by which `handover open` finds it: a locked file in the folder of live sessions.

use std::io;
use std::path::Path;

use base::ground::{machine, random};
use base::live::record::{self, LiveRecord};
use engine::Timestamp;
use serde::{Deserialize, Serialize};

/// The ending of the names of these records.
const ENDING: &str = ".server";

/// The record of one running server of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    pub pid: u32,
    pub port: u16,
    /// The identity of the machine on which the server runs. Its port is reached on that machine only.
    machine: String,
    since: Timestamp,
}

impl ServerRecord {
    /// Records that this process serves a store on this port, until the returned value is dropped or the process ends.
    /// `live` is the folder of the store's live sessions.
    pub(super) fn keep(live: &Path, port: u16, now: Timestamp) -> io::Result<LiveRecord> {
        let record = Self { pid: std::process::id(), port, machine: machine::identity(), since: now };
        // Each record has a name of its own: a reader that deletes the record of a killed server then never deletes
        // that of the next server on the same port.
        let name = random::token().map_err(io::Error::other)?;
        LiveRecord::keep(live, &format!("{name}{ENDING}"), &record)
    }

    /// Returns the server of this machine that serves the store, the newest one when there are several. `live` is the
    /// folder of the store's live sessions.
    pub fn find(live: &Path) -> Option<Self> {
        let here = machine::identity();
        let found = record::living::<Self>(live, ENDING).into_iter().filter(|record| record.machine == here);
        found.max_by_key(|record| record.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_living_server_of_this_machine_is_found() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(ServerRecord::find(folder.path()), None);
        let older = ServerRecord::keep(folder.path(), 4747, Timestamp(1))?;
        let newer = ServerRecord::keep(folder.path(), 4748, Timestamp(2))?;
        let record = ServerRecord { pid: 1, port: 1, machine: "another".to_owned(), since: Timestamp(3) };
        let _elsewhere = LiveRecord::keep(folder.path(), "elsewhere.server", &record)?;
        let port = || ServerRecord::find(folder.path()).map(|record| (record.pid, record.port));
        assert_eq!(port(), Some((std::process::id(), 4748)));
        drop(newer);
        assert_eq!(port(), Some((std::process::id(), 4747)));
        drop(older);
        assert_eq!(port(), None);
        Ok(())
    }
}
