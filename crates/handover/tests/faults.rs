//! Makes writes, fsyncs and the disk fail under a store on SQLite: the caller is told, and nothing is lost or half-done.
//!
//! `strace` lets chosen system calls of a child fail. A file system that is really full is a small one in memory.

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
#[path = "proof/rng.rs"]
mod rng;
#[path = "proof/state.rs"]
mod state;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ack::{Ack, Report};
use child::{Word, say};
use crew::{Board, Writer};
use engine::id::AgentId;
use engine::inbox::{Draft, MessageKind, Owner, Recipients};
use engine::task::Priority;
use engine::{Caller, Command, Event, Reply};
use handover::clock::SystemClock;
use handover::{Error, Service};
use ledger::Ledger;
use rng::Rng;
use serde::{Deserialize, Serialize};
use state::State;
use store::{Fault, Sqlite};

/// A child that says nothing for so long hangs. A store's own longest wait is shorter.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const WRITERS: usize = 4;
/// Acknowledged in a row: the fault is over and the store works.
const WELL: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Course {
    /// Goes on until faults were seen and are over.
    Recovers,
    /// Goes on for a while; the fault is in a place where nobody has to be told.
    Unharmed,
    /// Goes on until faults were seen, and ends without closing anything, while they last.
    Dies,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    path: PathBuf,
    course: Course,
}

/// Which calls fail, on which file, and what comes of it.
struct Case {
    name: &'static str,
    /// The end of the name of the file.
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
        // Made beforehand, so that the counted calls are those of the writers.
        drop(runtime().block_on(Sqlite::open(&path, 1)).unwrap());
        let heard = run(case, &path, &files.path().join("trace"));
        assert!(heard.injected > 0, "{}: no call was made to fail", case.name);
        let told = heard.faults.len();
        match case.course {
            Course::Recovers | Course::Dies => assert!(told > 0, "{}: no caller was told", case.name),
            Course::Unharmed => assert_eq!(told, 0, "{}: told in vain", case.name),
        }
        // A failed write has not been written. A failed fsync may have been; while it fails, nobody can say.
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

/// What came of one case.
#[derive(Debug, Default)]
struct Heard {
    ledger: Ledger,
    /// What was asked for, and whether it may have happened all the same.
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

/// The next start finds what was acknowledged, and nothing of what was refused.
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

/// The bodies of all messages, which say what was asked for.
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
    // Nothing is closed: the next start finds the file as a crash leaves it.
    std::process::exit(0);
}

/// A file that cannot be opened now can be opened later.
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
    /// Acknowledged since the last fault.
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

/// Sends messages and does what agents do, in turn. A message that failed is not sent again.
async fn write(service: Service, tally: Arc<Tally>, number: usize) {
    let report: Report = Arc::new(|ack| say(&Word::Ack(ack)));
    let board = Arc::new(Board::default());
    let mut writer = loop {
        let rng = Rng::new(u64::try_from(number).unwrap());
        let made = Writer::register(service.clone(), Arc::clone(&board), Arc::clone(&report), rng).await;
        match made {
            Ok(writer) => break writer,
            Err(error) => tell("registering".to_owned(), &error, &tally),
        }
        // The disk may stay full from before the first writer is known.
        if tally.is_over() {
            return;
        }
    };
    for act in 0.. {
        if tally.is_over() {
            return;
        }
        let asked = format!("message {act} of writer {number}");
        // What is refused while the store dies must be recognizable, so that it can be looked for.
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
    let draft = Draft::text(MessageKind::Info, Priority::DEFAULT, body);
    let to = Owner::Agent(agent);
    let reply = service.execute(Caller::agent(agent), Command::Send { to: Recipients::One(to), draft }).await;
    match reply {
        Ok(Reply::Sent { message, sequence, .. }) => say(&Word::Ack(Ack::Sent { message, to, sequence })),
        // A full mailbox is no fault.
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

/// A file system of four megabytes, as long as this lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` when this account may not mount.
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
    // Where mounting is not allowed, the injected ENOSPC above stands for this.
    let Some(_disk) = SmallDisk::mount(folder.path()) else { return };
    let path = folder.path().join("handover.db");
    let ballast = folder.path().join("ballast");
    std::fs::write(&ballast, vec![1; 2 * 1024 * 1024]).unwrap();
    runtime().block_on(async {
        let store = Arc::new(Sqlite::open(&path, 1).await.unwrap());
        let service = Service::new(Arc::clone(&store) as Arc<_>, Arc::new(SystemClock));
        let report: Report = Arc::new(|_| {});
        let writer = Writer::register(service.clone(), Arc::default(), report, Rng::new(1)).await.unwrap();
        let send = async |text: &str| {
            let draft = Draft::text(MessageKind::Info, Priority::DEFAULT, text.repeat(8 * 1024));
            let to = Recipients::One(Owner::Agent(writer.agent));
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
