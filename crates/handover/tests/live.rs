//! Tests of session files, whose locks show that a process is alive. The tests start, stop and kill real processes,
//! also many at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::live::{ENTRIES_MAX, Live, LiveSessions, NOTE_INTERVAL, SILENCE_MAX, SessionWatch, Survey, forget, survey};
use engine::Timestamp;
use engine::id::SessionId;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const FOLDER: &str = "HANDOVER_TEST_FOLDER";
const SESSIONS: &str = "HANDOVER_TEST_SESSIONS";
/// The environment variable that makes a child process of this test lock the session file of a runner.
const RUNNER: &str = "HANDOVER_TEST_RUNNER";
/// The environment variable that makes the child process of this test start a process of its own. The value is the
/// session whose file that process locks.
const CHILD: &str = "HANDOVER_TEST_CHILD";

const A: &str = "ses_aaaaaaaaaaaa";
const B: &str = "ses_bbbbbbbbbbbb";
const C: &str = "ses_cccccccccccc";

/// A child process that keeps the files of some sessions locked until the test asks it to end or kills it.
struct Holder {
    process: Child,
    /// The output of the child process. It ends when the process has ended.
    said: BufReader<ChildStdout>,
}

impl Holder {
    fn command(folder: &Path, sessions: &[String]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the test starts itself")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "holder", "--nocapture"]).env(FOLDER, folder).env(SESSIONS, sessions.join(","));
        command.env_remove(CHILD).env_remove(RUNNER);
        command
    }

    fn start(folder: &Path, sessions: &[String]) -> Self {
        Self::launch(&mut Self::command(folder, sessions))
    }

    fn launch(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let holds = said.by_ref().lines().map_while(Result::ok).any(|line| line.ends_with("holding"));
        assert!(holds, "it holds nothing");
        Self { process, said }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends the child process by closing its input.
    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

/// The code of a child process that other tests start to hold session files. When the environment variables are not
/// set, it does nothing.
#[test]
fn holder() {
    let (Some(folder), Ok(sessions)) = (std::env::var_os(FOLDER), std::env::var(SESSIONS)) else { return };
    let folder = PathBuf::from(folder);
    let hold = if std::env::var_os(RUNNER).is_some() { Live::hold_runner } else { Live::hold };
    let lives: Vec<Live> = sessions.split(',').map(|session| hold(&folder, session).unwrap()).collect();
    if let Ok(session) = std::env::var(CHILD) {
        let mut child = Holder::command(&folder, &[session]).spawn().unwrap();
        child.wait().unwrap();
        return;
    }
    let mut out = std::io::stdout();
    out.write_all(b"\nholding\n").unwrap();
    out.flush().unwrap();
    // Wait until the parent test closes this process's input.
    drop(std::io::read_to_string(std::io::stdin()));
    drop(lives);
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state/live");
    (folder, path)
}

fn session(number: usize) -> String {
    format!("ses_{number:012}")
}

fn hold(folder: &Path, sessions: &[&str]) -> Holder {
    let sessions: Vec<String> = sessions.iter().map(|&session| session.to_owned()).collect();
    Holder::start(folder, &sessions)
}

fn found(alive: &[&str], silent: &[&str], dead: &[&str]) -> Survey {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Survey { alive: owned(alive), silent: owned(silent), dead: owned(dead), more: false }
}

#[test]
fn who_says_farewell_leaves_nothing() {
    let (_temp, folder) = folder();
    assert_eq!(survey(&folder).unwrap(), Survey::default());
    let own = Live::hold(&folder, A).unwrap();
    let other = hold(&folder, &[B]);
    assert_eq!(survey(&folder).unwrap(), found(&[A, B], &[], &[]), "one's own sessions are alive like others");
    drop(own);
    other.end();
    assert_eq!(survey(&folder).unwrap(), Survey::default());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn who_is_killed_is_dead_until_forgotten() {
    let (_temp, folder) = folder();
    let (one, two) = (hold(&folder, &[A, B]), hold(&folder, &[C]));
    assert_eq!(survey(&folder).unwrap(), found(&[A, B, C], &[], &[]));
    one.kill();
    for _ in 0..2 {
        assert_eq!(survey(&folder).unwrap(), found(&[C], &[], &[A, B]), "a look changes nothing");
    }
    assert!(forget(&folder, A).unwrap());
    assert!(!forget(&folder, A).unwrap(), "it is gone");
    assert!(!forget(&folder, C).unwrap(), "it lives");
    assert_eq!(survey(&folder).unwrap(), found(&[C], &[], &[B]));
    two.end();
}

#[test]
fn who_is_stopped_lives() {
    let (_temp, folder) = folder();
    let holder = hold(&folder, &[A]);
    holder.send(Signal::STOP);
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    assert!(!forget(&folder, A).unwrap());
    let mut watch = SessionWatch::default();
    let start = Duration::from_secs(1_000);
    assert_eq!(watch.survey(&folder, start).unwrap(), found(&[A], &[], &[]));
    let almost = start + SILENCE_MAX - Duration::from_secs(1);
    assert_eq!(watch.survey(&folder, almost).unwrap(), found(&[A], &[], &[]));
    // A stopped process cannot record in its session file that it has been silent for a long time. So the process that
    // reads the file measures the silence itself.
    assert_eq!(watch.survey(&folder, start + SILENCE_MAX).unwrap(), found(&[], &[A], &[]));
    holder.send(Signal::CONT);
    holder.kill();
    assert_eq!(watch.survey(&folder, start + SILENCE_MAX).unwrap(), found(&[], &[], &[A]));
}

#[test]
fn who_has_no_call_for_two_hours_is_silent_until_the_next() {
    let (_temp, folder) = folder();
    let live = Live::hold(&folder, A).unwrap();
    let second = Duration::from_secs(1);
    live.tick(SILENCE_MAX - second).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    live.touch(SILENCE_MAX - second).unwrap();
    live.tick(SILENCE_MAX).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]), "counted from the last call");
    live.tick(2 * SILENCE_MAX - second).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[], &[A], &[]));
    live.touch(2 * SILENCE_MAX).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    // This call has an older time than the last call. It must not move the recorded time of the last call back.
    live.touch(second).unwrap();
    live.tick(3 * SILENCE_MAX - second).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
}

#[test]
fn calls_are_noted_once_a_minute_and_seen_by_a_watch() {
    let (_temp, folder) = folder();
    let live = Live::hold(&folder, A).unwrap();
    let text = || fs::read_to_string(folder.join(A)).unwrap();
    let mut texts = vec![text()];
    for second in 1..=180 {
        live.touch(Duration::from_secs(second)).unwrap();
        texts.push(text());
    }
    let size = texts[0].len();
    assert!(texts.iter().all(|text| text.len() == size), "each line takes the place of the one before");
    texts.dedup();
    assert_eq!(texts.len(), 4, "{texts:?}");
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(folder.join(A)).unwrap());
    let expected = format!(r#"{{"pid":{},"word":"active","calls_noted":3,"inode":{inode}}}"#, std::process::id());
    assert_eq!(texts[3].trim(), expected);

    let mut watch = SessionWatch::default();
    let mut now = Duration::ZERO;
    for _ in 0..5 {
        assert_eq!(watch.survey(&folder, now).unwrap().alive, [A]);
        now += SILENCE_MAX - NOTE_INTERVAL;
        assert_eq!(watch.survey(&folder, now).unwrap().alive, [A]);
        live.touch(now).unwrap();
    }
}

#[test]
fn a_name_is_held_once() {
    let (_temp, folder) = folder();
    let live = Live::hold(&folder, A).unwrap();
    let refused = |session| Live::hold(&folder, session).unwrap_err().kind();
    assert_eq!(refused(A), ErrorKind::AlreadyExists);
    for name in
        ["", "ses_", "ses_AAAAAAAAAAAA", "ses_aaaaaaaaaaa", "ses_../../../../", "../ses_aaaaaaaaa", "wf_aaaaaaaaaaaaa"]
    {
        assert_eq!(refused(name), ErrorKind::InvalidInput, "{name}");
        assert_eq!(forget(&folder, name).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    drop(live);
    let holder = hold(&folder, &[A]);
    holder.kill();
    assert_eq!(refused(A), ErrorKind::AlreadyExists, "a death is recorded first");
    assert!(forget(&folder, A).unwrap());
    let again = Live::hold(&folder, A).unwrap();
    assert!(!forget(&folder, A).unwrap(), "it was taken again");
    drop(again);
}

#[test]
fn a_file_that_was_replaced_is_not_removed_by_its_first_owner() {
    let (_temp, folder) = folder();
    let first = Live::hold(&folder, A).unwrap();
    fs::remove_file(folder.join(A)).unwrap();
    let second = Live::hold(&folder, A).unwrap();
    drop(first);
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    drop(second);
}

#[test]
fn a_file_that_was_deleted_is_made_again_by_its_owner() {
    let (_temp, folder) = folder();
    let live = Live::hold(&folder, A).unwrap();
    fs::remove_file(folder.join(A)).unwrap();
    assert_eq!(survey(&folder).unwrap(), Survey::default(), "nobody can see it");
    live.tick(Duration::from_secs(1)).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    // Delete the whole folder of session files, as `git clean -fdx` does.
    fs::remove_dir_all(&folder).unwrap();
    live.tick(Duration::from_secs(2)).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    // Replace the session file by a copy that has no lock.
    fs::rename(folder.join(A), folder.join("kept")).unwrap();
    fs::copy(folder.join("kept"), folder.join(A)).unwrap();
    live.tick(Duration::from_secs(3)).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    live.tick(SILENCE_MAX).unwrap();
    fs::remove_file(folder.join(A)).unwrap();
    live.tick(SILENCE_MAX).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[], &[A], &[]), "the new file says what the old one did");
    drop(live);
    assert!(!folder.join(A).exists());
}

/// When a folder with session files was copied to another machine or restored from a backup, the files in it say
/// nothing about running processes.
#[test]
fn files_of_a_copied_folder_are_removed_and_nobody_was_killed() {
    let (_temp, folder) = folder();
    let (live, killed) = (hold(&folder, &[A]), hold(&folder, &[B]));
    killed.kill();
    let copy = folder.with_file_name("copy");
    fs::create_dir(&copy).unwrap();
    for name in [A, B] {
        fs::copy(folder.join(name), copy.join(name)).unwrap();
    }
    // A session file contains its own inode number, so that a copy of it is recognized. Files of version 0.1 of
    // Handover lack this number, so a copy looks like the file of a killed process.
    fs::write(copy.join(C), r#"{"pid":1,"word":"active","calls_noted":0}"#).unwrap();
    assert_eq!(survey(&copy).unwrap(), found(&[], &[], &[C]));
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 1);
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[B]));
    live.end();
}

#[test]
fn a_runner_that_was_killed_is_not_recorded_and_the_next_takes_its_place() {
    let (_temp, folder) = folder();
    let runner = || Holder::launch(Holder::command(&folder, &[A.to_owned()]).env(RUNNER, "1"));
    let first = runner();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    assert_eq!(Live::hold_runner(&folder, A).unwrap_err().kind(), ErrorKind::AlreadyExists);
    first.send(Signal::STOP);
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]), "who is stopped lives");
    first.kill();
    assert_eq!(survey(&folder).unwrap(), Survey::default(), "neither alive nor to be recorded");
    let next = runner();
    assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
    next.end();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Reads the session files once. Returns the sessions that are alive, the sessions that are dead, and the dead sessions
/// in the folder that processes of Handover version 0.1 share.
fn look(sessions: &std::sync::Arc<LiveSessions>, at: i64) -> (Vec<String>, Vec<String>, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(sessions.look(Timestamp(at))).unwrap();
    let names = |ids: &[SessionId]| ids.iter().map(ToString::to_string).collect();
    (names(&found.snapshot.alive), names(&found.dead), names(&found.dead_in_shared))
}

#[test]
fn sessions_of_older_processes_in_the_shared_folder_still_count_as_life() {
    let (_temp, shared) = folder();
    let own = shared.join("handover.db");
    let (old, dead) = (hold(&shared, &[A]), hold(&shared, &[B]));
    dead.kill();
    let new = hold(&own, &[C]);
    let sessions = std::sync::Arc::new(LiveSessions::new(own, Some(shared.clone())));
    assert_eq!(sessions.snapshot().taken_at, Timestamp(i64::MIN), "nobody has looked");
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(look(&sessions, 7), (owned(&[C, A]), vec![], owned(&[B])));
    assert_eq!(sessions.snapshot().taken_at, Timestamp(7));
    // This read of the session files has the time 5. So it began before the last read, which has the time 7, and ended
    // after it. Its result must not replace the newer result.
    look(&sessions, 5);
    assert_eq!(sessions.snapshot().taken_at, Timestamp(7));
    // When a store does not know a session in the shared folder, it keeps the session's file for a week, because the
    // session may belong to another store.
    sessions.forget_unknown(B.parse().unwrap()).unwrap();
    assert!(shared.join(B).exists());
    let old_time = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(shared.join(B)).unwrap().set_modified(old_time).unwrap();
    sessions.forget_unknown(B.parse().unwrap()).unwrap();
    assert!(!shared.join(B).exists());
    new.kill();
    assert_eq!(look(&sessions, 9), (owned(&[A]), owned(&[C]), vec![]));
    old.end();
}

#[test]
fn only_files_with_the_name_of_a_session_count() {
    let (_temp, folder) = folder();
    fs::create_dir_all(folder.join(B)).unwrap();
    fs::write(folder.join("notes"), "").unwrap();
    // After a power cut a session file may exist without its content.
    fs::write(folder.join(A), "").unwrap();
    std::os::unix::fs::symlink(folder.join("notes"), folder.join(C)).unwrap();
    // These files are left by a process that was killed while it created its session file.
    let birth = |number| folder.join(format!("{}.birth", session(number)));
    fs::write(birth(1), "{}").unwrap();
    fs::write(birth(2), "").unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[], &[], &[A]));
    assert!(!birth(1).exists());
    assert!(birth(2).exists(), "it may be locked in a moment");
    assert!(folder.join("notes").exists());
}

#[test]
fn a_survey_is_bounded() {
    let (_temp, folder) = folder();
    fs::create_dir_all(&folder).unwrap();
    for number in 0..=ENTRIES_MAX {
        fs::write(folder.join(session(number)), "").unwrap();
    }
    let survey = survey(&folder).unwrap();
    assert_eq!((survey.dead.len(), survey.more), (ENTRIES_MAX, true));
}

#[test]
fn nobody_who_is_born_or_ends_is_taken_for_dead() {
    let (_temp, folder) = folder();
    fs::create_dir_all(&folder).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(survey(&folder).unwrap().dead, Vec::<String>::new());
                }
            });
        }
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let folder = &folder;
                scope.spawn(move || {
                    for number in 0..1_500 {
                        drop(Live::hold(folder, &session(worker * 10_000 + number)).unwrap());
                    }
                })
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, Ordering::SeqCst);
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn of_many_at_once_exactly_the_killed_are_dead() {
    let (_temp, folder) = folder();
    let names = |range: std::ops::Range<usize>| range.map(session).collect::<Vec<_>>();
    let mut holders: Vec<Holder> =
        (0..12).map(|number| Holder::start(&folder, &names(number * 25..number * 25 + 25))).collect();
    assert_eq!(survey(&folder).unwrap(), Survey { alive: names(0..300), ..Survey::default() });
    for holder in holders.drain(..6) {
        holder.kill();
    }
    let seen = survey(&folder).unwrap();
    assert_eq!(seen, Survey { alive: names(150..300), dead: names(0..150), ..Survey::default() });
    // Several threads delete the files of dead sessions at the same time. Each file is deleted exactly once.
    let forgotten: usize = std::thread::scope(|scope| {
        let cleaners: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| seen.dead.iter().filter(|name| forget(&folder, name).unwrap()).count()))
            .collect();
        cleaners.into_iter().map(|cleaner| cleaner.join().unwrap()).sum()
    });
    assert_eq!(forgotten, 150);
    holders.into_iter().for_each(Holder::end);
    assert_eq!(survey(&folder).unwrap(), Survey::default());
}

#[test]
fn who_looks_at_the_same_time_does_not_disturb() {
    let (_temp, folder) = folder();
    hold(&folder, &[A]).kill();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..2_000).for_each(|_| assert_eq!(survey(&folder).unwrap().dead, [A])));
        }
    });
}

#[test]
fn a_name_that_was_taken_again_is_not_forgotten() {
    let (_temp, folder) = folder();
    fs::create_dir_all(&folder).unwrap();
    for _ in 0..1_000 {
        fs::write(folder.join(A), "{}").unwrap();
        let start = Barrier::new(3);
        std::thread::scope(|scope| {
            let forgetting = || {
                start.wait();
                // The thread that deleted the session file makes and locks it again. It returns the lock, so that the
                // file stays locked until all threads have tried to delete it.
                forget(&folder, A).unwrap().then(|| Live::hold(&folder, A).unwrap())
            };
            let tries: Vec<_> = (0..3).map(|_| scope.spawn(forgetting)).collect();
            let lives: Vec<_> = tries.into_iter().filter_map(|one| one.join().unwrap()).collect();
            assert_eq!(lives.len(), 1);
            assert_eq!(survey(&folder).unwrap(), found(&[A], &[], &[]));
        });
    }
}

#[test]
fn what_a_process_started_does_not_keep_it_alive() {
    let (_temp, folder) = folder();
    let mut command = Holder::command(&folder, &[A.to_owned()]);
    command.env(CHILD, B);
    let mut holder = Holder::launch(&mut command);
    // The holder (the child process with the locked session files) has started a process that reads the same input.
    // `wait` closes the input that a `Child` holds. Then the started process would end too early, so the test takes the
    // input out of the `Child` first.
    let input = holder.process.stdin.take();
    holder.process.kill().unwrap();
    holder.process.wait().unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[B], &[], &[A]));
    // The process that the holder (the child process with the locked session files) started ends when its input is
    // closed. When the output ends, too, the test knows that the process has ended.
    drop(input);
    holder.said.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(survey(&folder).unwrap(), found(&[], &[], &[A]));
}
