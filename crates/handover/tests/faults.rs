//! Makes writes, fsyncs and the whole disk fail under a SQLite store. Checks that the caller gets an error and that no
//! write is lost or half-done.
//!
//! `strace` makes chosen system calls of a child process fail. A small file system in memory serves as a disk that is
//! really full.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]

#[path = "proof/ack.rs"]
mod ack;
#[path = "proof/child.rs"]
mod child;
#[path = "proof/crew.rs"]
#[expect(dead_code, reason = "large plans are for the crash campaign")]
mod crew;
#[path = "proof/ledger.rs"]
#[expect(dead_code, reason = "some checks are for the crash campaign")]
mod ledger;
#[path = "proof/state.rs"]
mod state;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ack::{Ack, Report};
use base::Error;
use base::Service;
use base::ground::clock::SystemClock;
use chance::SeededRandom;
use child::{Word, say};
use crew::{Board, Writer};
use engine::id::AgentId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::Priority;
use engine::{Caller, Command, Event, Reply};
use ledger::Ledger;
use serde::{Deserialize, Serialize};
use state::State;
use store::{Fault, Sqlite};

/// The longest time without a message from a child process. After that the child counts as hung. The longest wait of
/// the store itself is shorter, so a child that waits for the store does not count as hung.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const WRITERS: usize = 4;
/// The number of acknowledged writes in a row after which the injected fault counts as over.
const WELL: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Course {
    /// The child process writes until some writes failed and later writes succeed again.
    Recovers,
    /// The child process makes about a thousand writes and sees no error: the store handles the injected fault itself,
    /// for example by trying an fsync again.
    Unharmed,
    /// The child process writes until several writes failed. Then it exits while writes still fail, without closing the
    /// store.
    Dies,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    path: PathBuf,
    course: Course,
}

/// One case of injected faults: the system calls that fail, the file on which they fail, and the expected behaviour of
/// the child.
struct Case {
    name: &'static str,
    /// The suffix of the name of the file on which system calls fail, such as `-wal`.
    file: &'static str,
    inject: &'static str,
    course: Course,
}

const CASES: &[Case] = &[
    Case { name: "an fsync fails once", file: "-wal", inject: "fsync:error=EIO:when=5", course: Course::Unharmed },
    Case { name: "fsyncs fail", file: "-wal", inject: "fsync:error=EIO:when=5..40", course: Course::Recovers },
    Case { name: "first fsyncs fail", file: "-wal", inject: "fsync:error=EIO:when=1..25", course: Course::Recovers },
    Case { name: "fsyncs fail for ever", file: "-wal", inject: "fsync:error=EIO:when=7+", course: Course::Dies },
    Case { name: "writes fail", file: "-wal", inject: "pwrite64:error=EIO:when=60..130", course: Course::Recovers },
    Case { name: "writes fail mid-way", file: "-wal", inject: "pwrite64:error=EIO:when=67+7", course: Course::Dies },
    Case { name: "writes fail for ever", file: "-wal", inject: "pwrite64:error=EIO:when=61+", course: Course::Dies },
    Case {
        name: "the disk is full",
        file: "-wal",
        inject: "pwrite64:error=ENOSPC:when=33..90",
        course: Course::Recovers,
    },
    Case { name: "the disk stays full", file: "-wal", inject: "pwrite64:error=ENOSPC:when=34+", course: Course::Dies },
    Case { name: "a checkpoint's writes", file: "", inject: "pwrite64:error=EIO:when=1..9", course: Course::Unharmed },
    Case {
        name: "a checkpoint, disk full",
        file: "",
        inject: "pwrite64:error=ENOSPC:when=3..9",
        course: Course::Unharmed,
    },
    Case { name: "a checkpoint's fsync", file: "", inject: "fsync:error=EIO:when=1..2", course: Course::Unharmed },
];

#[test]
fn a_fault_is_told_and_loses_nothing() {
    if let Some(order) = child::order::<Order>() {
        return runtime().block_on(write_through_faults(order));
    }
    for case in CASES {
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("handover.db");
        // Create the store before `strace` starts. `strace` counts system calls to choose the one that fails, and must
        // count only the calls of the writers.
        drop(runtime().block_on(Sqlite::open(&path, 1)).unwrap());
        let heard = run(case, &path, &files.path().join("trace"));
        assert!(heard.injected > 0, "{}: no call was made to fail", case.name);
        let told = heard.faults.len();
        match case.course {
            Course::Recovers | Course::Dies => assert!(told > 0, "{}: no caller was told", case.name),
            Course::Unharmed => assert_eq!(told, 0, "{}: told in vain", case.name),
        }
        // A request that failed has not taken effect, unless an fsync failed. After a failed fsync the commit may or
        // may not be in the file, and the store cannot find that out while fsyncs fail.
        let unknown = heard.faults.iter().any(|(_, unknown)| *unknown);
        match (case.inject.starts_with("fsync"), case.course) {
            (true, Course::Dies) => assert!(unknown, "{}: not told that it is unknown", case.name),
            (true, Course::Recovers | Course::Unharmed) => {}
            (false, _) => assert!(!unknown, "{}: told to look, though nothing happened", case.name),
        }
        runtime().block_on(check(case.name, &path, &heard));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The result of one case: the writes and faults that the child process reported, and the number of injected faults.
#[derive(Debug, Default)]
struct Heard {
    ledger: Ledger,
    /// The failed requests of the child. The flag is true when the request may have taken effect nevertheless.
    faults: Vec<(String, bool)>,
    injected: usize,
}

fn run(case: &Case, path: &Path, trace: &Path) -> Heard {
    let file = format!("{}{}", path.display(), case.file);
    let inject = format!("inject={}", case.inject);
    let tracer = ["strace", "-f", "-qq", "-P", &file, "-e", &inject, "-o", trace.to_str().unwrap()];
    let order = Order { path: path.to_owned(), course: case.course };
    let (words, said) = channel();
    let running = child::start("a_fault_is_told_and_loses_nothing", &tracer, &order, &words);
    drop(words);
    let mut heard = Heard::default();
    let mut done = false;
    loop {
        match said.recv_timeout(SILENCE_MAX) {
            Ok(Word::Ack(ack)) => heard.ledger.acks.push(ack),
            Ok(Word::Fault { asked, unknown, .. }) => heard.faults.push((asked, unknown)),
            Ok(Word::Done(_)) => done = true,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{}: silent for {SILENCE_MAX:?}", case.name),
        }
    }
    running.end();
    assert!(done, "{}: the writers came to no end", case.name);
    let trace = std::fs::read_to_string(trace).unwrap();
    heard.injected = trace.lines().filter(|line| line.ends_with("(INJECTED)")).count();
    heard
}

/// Checks that the next start of the store finds every acknowledged write, and no write that is known to have failed.
async fn check(name: &str, path: &Path, heard: &Heard) {
    let store = Sqlite::open(path, 2).await.unwrap();
    let state = State::read(&store).await.unwrap();
    assert_eq!(heard.ledger.check(&state), Vec::new(), "{name}");
    let verdict = store::verify(&store, &[]).await.unwrap();
    assert_eq!(verdict.findings, Vec::new(), "{name}");
    let stored = texts(&state);
    let refused = heard.faults.iter().filter(|(_, unknown)| !unknown);
    let visible: Vec<&String> = refused.map(|(asked, _)| asked).filter(|asked| stored.contains(*asked)).collect();
    assert_eq!(visible, Vec::<&String>::new(), "{name}: said to have failed, and is there");
}

/// Returns the bodies of all messages. A body names the request that sent the message.
fn texts(state: &State) -> BTreeSet<String> {
    let body =
        |event: &Event| if let Event::Sent { message, .. } = event { Some(message.draft.body.clone()) } else { None };
    state.log.iter().filter_map(|(_, _, event)| body(event)).collect()
}

async fn write_through_faults(order: Order) {
    let store = Arc::new(open(&order.path).await);
    let service = Service::new(Arc::clone(&store) as Arc<_>, Arc::new(SystemClock));
    let tally = Arc::new(Tally { course: order.course, ..Tally::default() });
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        tasks.spawn(write(service.clone(), Arc::clone(&tally), writer));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    if order.course != Course::Dies {
        let verdict = store::verify(&*store, &[]).await.unwrap();
        assert_eq!(verdict.findings, Vec::new());
    }
    say(&Word::Done(String::new()));
    // The store is not closed, so the next start finds the file as after a crash.
    std::process::exit(0);
}

/// Opens the store, and tries again while it cannot be opened. Reports each failure to the parent.
async fn open(path: &Path) -> Sqlite {
    loop {
        match Sqlite::open(path, 1).await {
            Ok(store) => return store,
            Err(fault) => say(&Word::Fault { asked: "open".to_owned(), text: fault.to_string(), unknown: false }),
        }
    }
}

struct Tally {
    course: Course,
    acts: AtomicUsize,
    faults: AtomicUsize,
    /// The number of acknowledged writes since the last write that failed.
    well: AtomicUsize,
}

impl Default for Tally {
    fn default() -> Self {
        let zero = AtomicUsize::default;
        Self { course: Course::Unharmed, acts: zero(), faults: zero(), well: zero() }
    }
}

impl Tally {
    fn is_over(&self) -> bool {
        let acts = self.acts.fetch_add(1, Ordering::Relaxed);
        let faults = self.faults.load(Ordering::Relaxed);
        match self.course {
            Course::Unharmed => acts > 1_000,
            Course::Dies => faults > 3 * WRITERS,
            Course::Recovers => faults > 0 && self.well.load(Ordering::Relaxed) > WELL,
        }
    }
}

/// Alternates between sending a message and making a random call. When sending a message failed, the same message is
/// not sent again.
async fn write(service: Service, tally: Arc<Tally>, number: usize) {
    let report: Report = Arc::new(|ack| say(&Word::Ack(ack)));
    let board = Arc::new(Board::default());
    let mut writer = loop {
        let rng = SeededRandom::new(u64::try_from(number).unwrap());
        let made = Writer::register(service.clone(), Arc::clone(&board), Arc::clone(&report), rng).await;
        match made {
            Ok(writer) => break writer,
            Err(error) => tell("registering".to_owned(), &error, &tally),
        }
        // The disk may be full before the writer is registered. So this loop, which registers the writer, must also
        // stop when enough faults were seen.
        if tally.is_over() {
            return;
        }
    };
    for act in 0.. {
        if tally.is_over() {
            return;
        }
        let asked = format!("message {act} of writer {number}");
        // With `Course::Dies` the child process sends only messages, each with a unique text. So the parent can check
        // that a message whose sending failed is not in the store.
        let failed = if act % 2 == 0 || tally.course == Course::Dies {
            send(&service, writer.agent, asked.clone()).await.err()
        } else {
            writer.act().await.err()
        };
        match failed {
            None => drop(tally.well.fetch_add(1, Ordering::Relaxed)),
            Some(error) => tell(asked, &error, &tally),
        }
    }
}

async fn send(service: &Service, agent: AgentId, body: String) -> Result<(), Error> {
    let draft = MessageDraft::text(MessageKind::Info, Priority::DEFAULT, body);
    let to = MailboxOwner::Agent(agent);
    let reply = service.execute(Caller::agent(agent), Command::Send { to: Recipients::One(to), draft }).await;
    match reply {
        Ok(Reply::Sent { message, sequence, .. }) => say(&Word::Ack(Ack::Sent { message, to, sequence })),
        // Handover refuses a message to a full mailbox. This refusal is not a fault of the disk, so it is ignored here.
        Ok(_) | Err(Error::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn tell(asked: String, error: &Error, tally: &Tally) {
    tally.faults.fetch_add(1, Ordering::Relaxed);
    tally.well.store(0, Ordering::Relaxed);
    let unknown = matches!(error, Error::Fault(Fault::Unknown(_)));
    say(&Word::Fault { asked, text: error.to_string(), unknown });
}

/// A mounted file system with only four megabytes. Dropping this value unmounts it.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a small file system, or returns `None` when this account may not mount.
    fn mount(folder: &Path) -> Option<Self> {
        let options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs", folder.to_str().unwrap()];
        program("mount", &options).then(|| Self(folder.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        program("umount", &[self.0.to_str().unwrap()]);
    }
}

fn program(name: &str, arguments: &[&str]) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test makes its own file system")]
    let mut command = std::process::Command::new(name);
    command.args(arguments).stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_is_told_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    // When this account may not mount a file system, skip the test: `a_fault_is_told_and_loses_nothing` also tests a
    // full disk, with injected `ENOSPC` errors.
    let Some(_disk) = SmallDisk::mount(folder.path()) else { return };
    let path = folder.path().join("handover.db");
    let ballast = folder.path().join("ballast");
    std::fs::write(&ballast, vec![1; 2 * 1024 * 1024]).unwrap();
    runtime().block_on(async {
        let store = Arc::new(Sqlite::open(&path, 1).await.unwrap());
        let service = Service::new(Arc::clone(&store) as Arc<_>, Arc::new(SystemClock));
        let report: Report = Arc::new(|_| {});
        let writer = Writer::register(service.clone(), Arc::default(), report, SeededRandom::new(1)).await.unwrap();
        let send = async |text: &str| {
            let draft = MessageDraft::text(MessageKind::Info, Priority::DEFAULT, text.repeat(8 * 1024));
            let to = Recipients::One(MailboxOwner::Agent(writer.agent));
            service.execute(Caller::agent(writer.agent), Command::Send { to, draft }).await
        };
        let mut sent = 0;
        let full = loop {
            match send("a").await {
                Ok(_) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Fault(Fault::Sqlite(_))), "{full:?}");
        assert!(sent > 0);
        assert_eq!(State::read(&*store).await.unwrap().messages.len(), sent, "reading goes on");
        assert!(send("b").await.is_err(), "it is still full");

        std::fs::remove_file(&ballast).unwrap();
        send("c").await.unwrap();
        drop((service, store));

        let store = Sqlite::open(&path, 1).await.unwrap();
        let state = State::read(&store).await.unwrap();
        assert_eq!((state.messages.len(), state.recount()), (sent + 1, Vec::new()));
        assert_eq!(store::verify(&store, &[]).await.unwrap().findings, Vec::new());
    });
}
