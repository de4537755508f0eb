//! Finds out why a store in a file cannot be used: a process that holds its lock, a full disk, or a folder that cannot
//! be written.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::ground::words;
use base::project::place::StorePlace;
use rustix::fs::StatVfsMountFlags;
use store::FaultCause;

use super::{DoctorFinding, chain, recover};
use crate::office::OfficeClosed;

/// The number of times that the holder of the store's lock is read, with a pause between two reads. If the same process
/// holds the lock each time, the lock counts as held for long.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// The free space in bytes below which a disk counts as full. A commit needs some pages of the file and of its log.
const FREE_BYTES_MIN: u64 = 1 << 20;

/// A process that holds a lock of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockHolder {
    pid: u32,
    /// The command line of the process. Empty when it cannot be read.
    command: String,
    is_stopped: bool,
}

/// Returns the path of a store in a file, or `None` for a store on a server or in memory.
fn file_of(store: &str) -> Option<PathBuf> {
    let path = store.strip_prefix("sqlite:").unwrap_or(store);
    (!store.contains("://") && store != "memory:").then(|| PathBuf::from(path))
}

/// Returns the nearest existing folder above a path.
fn existing_folder(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| !folder.as_os_str().is_empty() && folder.is_dir())
}

/// Looks for a reason why the store cannot be opened or written, and returns `None` when it finds no reason. Runs
/// before the store is opened, because opening the store waits for the lock without a time limit.
pub(super) async fn before_open(place: &StorePlace) -> Option<DoctorFinding> {
    let file = file_of(&place.store)?;
    if let Some(finding) = writable(&file) {
        return Some(finding);
    }
    let holder = held_for_long(&file).await?;
    let who = if holder.command.is_empty() { String::new() } else { format!(" ({})", holder.command) };
    let pid = holder.pid;
    let waited = words::duration(u64::try_from((LOOK_PAUSE * LOOKS).as_millis()).unwrap_or(0));
    let seen = format!("process {pid}{who} holds the lock of {} for more than {waited}", file.display());
    let advice = if holder.is_stopped {
        format!("process {pid} is stopped: let it continue with `kill -CONT {pid}`, then run this again")
    } else {
        format!("wait until process {pid} has written, or end it; then run this again")
    };
    Some(DoctorFinding::bad("store", seen, advice))
}

/// Returns the finding about a folder that cannot be written, or about a full disk.
fn writable(file: &Path) -> Option<DoctorFinding> {
    let folder = existing_folder(file)?;
    let shown = folder.display();
    let known = rustix::fs::statvfs(folder).ok()?;
    if known.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let advice = format!("mount the file system of {shown} with write access, or name another store with --store");
        return Some(DoctorFinding::bad("store", format!("{shown} is on a read-only file system"), advice));
    }
    let free = known.f_bavail.saturating_mul(known.f_frsize);
    if free < FREE_BYTES_MIN {
        let seen = format!("the disk of {shown} is full: {free} bytes are free");
        return Some(DoctorFinding::bad(
            "store",
            seen,
            format!("free some space on the disk of {shown}; the store stays as it is"),
        ));
    }
    let is_locked = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err();
    let path = if is_locked {
        folder
    } else if file.exists() && rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_err() {
        file
    } else {
        return None;
    };
    let advice = format!("give yourself write access: `chmod u+w {}`", path.display());
    Some(DoctorFinding::bad("store", format!("you may not write {}", path.display()), advice))
}

/// Returns the process that holds the store's lock at each of the `LOOKS` reads. A process that holds the lock only for
/// a moment is normal.
async fn held_for_long(file: &Path) -> Option<LockHolder> {
    let mut first: Option<u32> = None;
    for look in 0..LOOKS {
        let pid = holder_pid(file)?;
        if *first.get_or_insert(pid) != pid {
            return None;
        }
        if look + 1 < LOOKS {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
    first.map(described)
}

/// Returns the id of the process that holds the lock for writers. This lock is on a file next to the store's file, with
/// `.lock` at the end of its name.
fn holder_pid(file: &Path) -> Option<u32> {
    let mut queue = file.as_os_str().to_owned();
    queue.push(".lock");
    let inode = std::fs::metadata(queue).ok()?.ino();
    // A line of `/proc/locks` has the form `1: FLOCK ADVISORY WRITE 1234 fd:01:5678 0 EOF`. Here 1234 is the id of the
    // process, and 5678 is the inode of the file.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words.as_slice() else { return None };
        let is_here = place.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        pid.parse().ok().filter(|_| is_here)
    };
    locks.lines().find_map(of_line)
}

fn described(pid: u32) -> LockHolder {
    let raw = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> = raw
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let is_stopped = status.lines().any(|line| line.starts_with("State:") && line.contains("T ("));
    LockHolder { pid, command: wire::visible::decided(&words.join(" ")), is_stopped }
}

/// Returns the finding about a store that could not be opened. Its advice never tells the person to delete or move
/// data.
pub(super) fn unopened(place: &StorePlace, closed: &OfficeClosed) -> Option<DoctorFinding> {
    let text = chain(closed);
    let shown = if place.store.contains("://") { "the database server" } else { place.store.as_str() };
    let server = "check that the database server runs, and that the address, user and password in the URL are right";
    let advice = match closed {
        // The check of the configuration already names the mistake. The store is not the problem.
        OfficeClosed::Settings(_) => return None,
        OfficeClosed::Lost(_) | OfficeClosed::Foreign(_) => {
            "do what the message says, or name a store with --store".to_owned()
        }
        OfficeClosed::Folder(_) => format!("make the folder of {shown} writable, or name another store with --store"),
        OfficeClosed::Random(_) => "run this again".to_owned(),
        OfficeClosed::Store(fault) => match fault.cause() {
            FaultCause::Newer => "install a newer version of handover: a newer version wrote this store".to_owned(),
            FaultCause::DiskFull => format!("free some space on the disk of {shown}; the store stays as it is"),
            FaultCause::ReadOnly => format!("give yourself write access to {shown} and its folder"),
            FaultCause::Busy => format!("another program writes to {shown}; run this again when it has finished"),
            FaultCause::Damaged => recover(&place.store),
            FaultCause::Other if place.store.contains("://") => server.to_owned(),
            FaultCause::Other => recover(&place.store),
        },
    };
    Some(DoctorFinding::bad("store", text, advice))
}
