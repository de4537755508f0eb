//! Tests of several processes on one SQLite file. The child processes run this same test binary; an environment
//! variable tells each of them its work.

// The module `busy` lengthens time limits when the machine is loaded. The tests of the `handover` binary use it, too.
#[path = "../../handover/tests/proof/busy.rs"]
mod busy;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use store::conformance::{act, has_small, must, small};
use store::{Cursor, Fault, Options, Sqlite, Store};

/// Makes the tests run one after the other, because each measures time and needs the whole machine.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const ROLE: &str = "HANDOVER_TEST_CHILD";

/// A child process of the test. It starts each step of its work when the test sends a line, and reports in lines that
/// begin with `@`.
struct Other {
    child: Child,
    /// The standard input of the child process. The child process ends when this is closed.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Other {
    #[expect(clippy::disallowed_methods, reason = "a test needs other processes")]
    fn start(role: &str, path: &Path, number: u64) -> Self {
        let own = must(std::env::current_exe(), "this binary");
        let mut child = must(
            Command::new(own)
                .args(["--exact", "the_other_process", "--nocapture", "--test-threads=1"])
                .env(ROLE, format!("{role} {number} {}", path.display()))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn(),
            "start another process",
        );
        let Some(answers) = child.stdout.take() else { panic!("no pipe") };
        Self { orders: child.stdin.take(), child, answers: BufReader::new(answers) }
    }

    fn tell(&mut self, order: &str) {
        let Some(orders) = &mut self.orders else { panic!("no pipe") };
        must(writeln!(orders, "{order}").and_then(|()| orders.flush()), "tell another process");
    }

    /// Returns the next line that the child process reports.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let length = must(self.answers.read_line(&mut line), "hear another process");
            assert!(length > 0, "another process ended without a word");
            if let Some((_, said)) = line.trim_end().split_once('@') {
                return said.to_owned();
            }
        }
    }

    fn hear_number(&mut self) -> u64 {
        let said = self.hear();
        must(said.parse(), &format!("another process said {said:?}"))
    }

    #[expect(clippy::disallowed_methods, reason = "the standard library sends no signals")]
    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(must(status, "kill").success(), "could not send {name}");
    }

    /// Stops the process and waits until none of its threads runs. A thread on another processor continues for a moment
    /// after the signal was sent, and may release a lock in this moment.
    async fn stop(&self) {
        self.signal("-STOP");
        let (threads, began) = (format!("/proc/{}/task", self.child.id()), now());
        let is_stopped = |thread: std::fs::DirEntry| {
            let status = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The state is the first word after the name of the program, which is in parentheses.
            status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'X', 'Z']))
        };
        while !must(std::fs::read_dir(&threads), "the threads").flatten().all(is_stopped) {
            assert!(began.elapsed() < Duration::from_secs(30), "the process does not stop");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn end(mut self) {
        self.orders = None;
        assert!(must(self.child.wait(), "wait for another process").success(), "another process failed");
    }
}

impl Drop for Other {
    /// Kills the child process, even a stopped one, so that a failed test leaves no process behind. Killing an ended
    /// process fails, which is fine.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(what: impl std::fmt::Display) {
    let mut out = std::io::stdout();
    must(writeln!(out, "@{what}").and_then(|()| out.flush()), "say");
}

fn wait_for_word() -> Option<String> {
    let mut line = String::new();
    let length = must(std::io::stdin().read_line(&mut line), "read an order");
    (length > 0).then(|| line.trim_end().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "measures how long something takes")]
fn now() -> Instant {
    Instant::now()
}

/// Returns microseconds since the epoch, which are comparable between the processes of this machine.
#[expect(clippy::disallowed_methods, reason = "measures how long something takes")]
fn wall() -> u64 {
    let since = must(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH), "the clock");
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The child process of another test runs this function. The other test sets an environment variable that says what the
/// child does. Without the variable, this test does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let parts: Vec<&str> = role.splitn(3, ' ').collect();
    let &[role, number, path] = parts.as_slice() else { panic!("{ROLE} is {role:?}") };
    let (number, path) = (must(number.parse::<u64>(), "a number"), Path::new(path));
    say("ready");
    wait_for_word();
    let store = must(Sqlite::open(path, number << 33).await, "open");
    match role {
        "open" => {
            act(&store, &small(number)).await;
            say("done");
        }
        "write" => {
            say("open");
            let span = wait_for_word().map_or(0, |order| must(order.parse(), "how long"));
            let (began, mut done) = (now(), 0);
            while began.elapsed() < Duration::from_millis(span) {
                act(&store, &small(number * 1_000_000 + done)).await;
                done += 1;
            }
            say(done);
        }
        "burst" => {
            let mut next = number * 1_000_000;
            while let Some(order) = wait_for_word() {
                for _ in 0..must(order.parse::<u64>(), "how many") {
                    act(&store, &small(next)).await;
                    next += 1;
                }
                say(wall());
            }
        }
        "single" => {
            say("open");
            while let Some(order) = wait_for_word() {
                act(&store, &small(must(order.parse(), "which"))).await;
                say("done");
            }
        }
        "forever" => {
            say("begun");
            for done in 0.. {
                act(&store, &small(number * 1_000_000 + done)).await;
            }
        }
        other => panic!("{other} is no role"),
    }
    while wait_for_word().is_some() {}
}

fn start_all(role: &str, path: &Path, count: u64) -> Vec<Other> {
    let mut others: Vec<Other> = (1..=count).map(|number| Other::start(role, path, number)).collect();
    others.iter_mut().for_each(|other| assert_eq!(other.hear(), "ready"));
    others
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_processes_open_a_new_file_at_once() {
    let _alone = ALONE.lock().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let mut others = start_all("open", &path, 32);
    others.iter_mut().for_each(|other| other.tell("go"));
    others.iter_mut().for_each(|other| assert_eq!(other.hear(), "done"));
    others.into_iter().for_each(Other::end);
    let store = must(Sqlite::open(&path, 1).await, "open");
    for number in 1..=32 {
        assert!(has_small(&store, number).await, "what process {number} wrote is there");
    }
    assert_eq!(must(store::verify(&store, &[]).await, "verify").findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_the_file_fairly() {
    let _alone = ALONE.lock().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let mut best = 0.0_f64;
    // A busy machine may delay one process, which is not the fault of the write queue (the file lock for writers). So
    // the test has three tries.
    for round in 0..3 {
        let path = folder.path().join(format!("{round}.db"));
        let mut others = start_all("write", &path, 8);
        others.iter_mut().for_each(|other| other.tell("go"));
        others.iter_mut().for_each(|other| assert_eq!(other.hear(), "open"));
        // On a busy machine a process may wait for a processor for some tenths of a second. The test compares how much
        // each process has written. The longer all processes write, the less such a wait changes the result.
        let span = busy::patience(Duration::from_millis(2_500)).min(Duration::from_secs(20)).as_millis().to_string();
        others.iter_mut().for_each(|other| other.tell(&span));
        let done: Vec<u64> = others.iter_mut().map(Other::hear_number).collect();
        others.into_iter().for_each(Other::end);
        let (least, sum) = (done.iter().min().copied().unwrap_or(0), done.iter().sum::<u64>());
        let store = must(Sqlite::open(&path, 1).await, "open");
        let verdict = must(store::verify(&store, &[]).await, "verify");
        assert_eq!((verdict.entries, verdict.findings), (sum, Vec::new()), "what was acknowledged is there");
        let share = f64::from(u32::try_from(least * 8).unwrap_or(0)) / f64::from(u32::try_from(sum).unwrap_or(1));
        best = best.max(share);
        if best >= 0.5 {
            return;
        }
    }
    panic!("the slowest process got {best:.2} of the mean");
}

/// Checks that processes get the write queue (the file lock for writers) in the order in which they ask. The test holds
/// the queue while the child processes ask. Each child process asks only when the child process before it has begun to
/// wait.
#[tokio::test(flavor = "multi_thread")]
async fn processes_come_in_the_order_in_which_they_ask() {
    let _alone = ALONE.lock().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = must(Sqlite::open(&path, 1).await, "open");
    let queue = must(std::fs::File::options().write(true).open(path.with_extension("db.lock")), "the queue");
    let mut others = start_all("single", &path, 6);
    others.iter_mut().for_each(|other| other.tell("go"));
    others.iter_mut().for_each(|other| assert_eq!(other.hear(), "open"));
    let (mut cursor, mut next) = (Cursor::default(), 0_i64);
    for round in 0..5 {
        must(queue.lock(), "hold the queue");
        // Each round starts with another process, so that the order of asking differs from round to round.
        others.rotate_left(1);
        for (waiting, (other, number)) in others.iter_mut().zip(next..).enumerate() {
            other.tell(&number.to_string());
            wait_for_waiters(&queue, waiting + 1).await;
        }
        must(queue.unlock(), "let them go");
        others.iter_mut().for_each(|other| assert_eq!(other.hear(), "done"));
        let page = must(store.follow(cursor, 100).await, "follow");
        // The time of a command made by `small` contains its number, so the log shows the order of the commands.
        let found: Vec<i64> = page.entries.iter().map(|entry| entry.at.0 % 1_000).collect();
        assert_eq!(found, (next..next + 6).collect::<Vec<i64>>(), "round {round}");
        (cursor, next) = (page.next, next + 6);
    }
    others.into_iter().for_each(Other::end);
}

/// Waits until `count` processes wait for the file lock of the write queue. The kernel's list of locks names the file
/// by its inode number.
async fn wait_for_waiters(queue: &std::fs::File, count: usize) {
    use std::os::unix::fs::MetadataExt;
    let file = format!(":{} ", must(queue.metadata(), "the queue").ino());
    let began = now();
    loop {
        let locks = must(std::fs::read_to_string("/proc/locks"), "the locks of this machine");
        let waiting = locks.lines().filter(|line| line.contains("->") && line.contains(&file)).count();
        if waiting == count {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{waiting} of {count} wait for the queue");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Measures the time from the moment at which another process knows that its last write is durable to the moment at
/// which this process sees the write.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_another_process_is_seen_within_a_tenth_of_a_second() {
    let _alone = ALONE.lock().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = Arc::new(must(Sqlite::open(&path, 1).await, "open"));
    let mut other = Other::start("burst", &path, 1);
    assert_eq!(other.hear(), "ready");
    other.tell("go");
    let (mut cursor, mut late) = (Cursor::default(), Vec::new());
    for round in 0..60_u64 {
        let burst = 1 + round % 5;
        let seen = tokio::spawn(see(Arc::clone(&store), cursor, burst));
        let talk = tokio::task::spawn_blocking(move || {
            other.tell(&burst.to_string());
            let written = other.hear_number();
            (other, written)
        });
        let (back, written) = must(talk.await, "the other process");
        other = back;
        let (at, next) = must(seen.await, "the one who waits");
        cursor = next;
        late.push(at.saturating_sub(written) / 1_000);
    }
    other.end();
    late.sort_unstable();
    let p95 = late[late.len() * 95 / 100];
    let bound = busy::patience(Duration::from_millis(100)).as_millis();
    assert!(u128::from(p95) <= bound, "the last commit of a burst was seen after so many milliseconds: {late:?}");
}

/// Waits until `count` new log entries are there. Reads the log again only when the store reports a change. Returns the
/// time at which the last entry was read, and the cursor (position in the log) after it.
async fn see(store: Arc<Sqlite>, mut cursor: Cursor, count: u64) -> (u64, Cursor) {
    let mut watch = store.watch();
    let mut left = usize::try_from(count).unwrap_or(0);
    loop {
        let page = must(store.follow(cursor, 100).await, "follow");
        cursor = page.next;
        left = left.saturating_sub(page.entries.len());
        if left == 0 {
            return (wall(), cursor);
        }
        assert!(watch.changed(Duration::from_secs(20)).await, "nobody woke us");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_process_is_a_fault_after_a_bound_and_nothing_once_it_goes_on() {
    let _alone = ALONE.lock().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let options = Options { wait_max: Duration::from_secs(1) };
    let store = must(Sqlite::open_with(&path, 1, options).await, "open");
    let mut other = Other::start("forever", &path, 7);
    assert_eq!(other.hear(), "ready");
    other.tell("go");
    assert_eq!(other.hear(), "begun");
    let queue = must(std::fs::File::options().write(true).open(path.with_extension("db.lock")), "the queue");
    // Stop the child process at random moments until it stops in the middle of a transaction.
    let mut tries = 0;
    loop {
        other.stop().await;
        if queue.try_lock().is_err() {
            break;
        }
        must(queue.unlock(), "unlock");
        other.signal("-CONT");
        tries += 1;
        assert!(tries < 500, "the process was never stopped while it held the queue");
        tokio::task::yield_now().await;
    }
    let result = store.transact(small(1).job()).await;
    assert!(matches!(result, Err(Fault::Busy { seconds: 1 })), "{result:?}");
    assert!(!has_small(&store, 1).await, "readers still read");
    other.signal("-CONT");
    act(&store, &small(2)).await;
    drop(other);
    act(&store, &small(3)).await;
    assert!(!has_small(&store, 1).await, "what was a fault was not done later");
    assert_eq!(must(store::verify(&store, &[]).await, "verify").findings, []);
}
