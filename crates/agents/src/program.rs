//! Runs an agent's program for one turn: writes its files, starts it through a turn host (a process that keeps its
//! output and ends it), reads its output, and reports how it ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use engine::turn::TurnEnd;

use super::adapter::acp::{self, PermissionQuestion, Permit, Way};
use super::adapter::{self, AdapterKind, Exit, HeardEvent, Listener, ProgramInput, ProgramLaunch, TurnOrder, TurnSaid};
use super::host::{self, HostEnded, HostEvent, Inherit, ProgramEnd, TurnHost};

/// The maximum number of bytes that are read from the end of standard error. Some programs print a fact, such as an
/// error, only there.
const STDERR_TAIL_BYTES: u64 = 16 << 10;
const READ_BYTES: usize = 256 << 10;
const GRACE_MS: u32 = 3_000;

/// The data that is needed to start an agent's program for one turn (one run).
#[derive(Debug)]
pub struct ProgramStart {
    /// The path of Handover's own binary, which runs as the turn host (the process that starts and ends the program).
    pub binary: PathBuf,
    pub turn: String,
    pub order: TurnOrder,
    /// Environment variables from the settings. They override the variables that Handover sets for this kind of
    /// program.
    pub environment: Vec<(String, String)>,
    /// The names of the environment variables that the agent's program inherits from the runner.
    pub inherit: Vec<String>,
    pub output_bytes_max: u64,
    pub seconds_max: u32,
}

/// The reasons why the runner ends an agent's program that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutReason {
    ClaimLost,
    OverBudget(String),
    /// A person asked the runner to stop.
    Cancelled,
}

/// The result of running an agent's program for one turn.
#[derive(Debug)]
pub struct Ran {
    pub said: TurnSaid,
    pub ended: HostEnded,
    pub end: TurnEnd,
    pub reason: Option<String>,
}

/// An observer that receives the events of an agent's program while the program runs.
pub trait Follow: Send {
    fn heard(&mut self, heard: HeardEvent);

    /// Receives the total costs that the program has reported so far.
    fn spent(
        &mut self,
        usd: Option<adapter::SpentAmount<f64>>,
        tokens: Option<adapter::SpentAmount<adapter::TokenUse>>,
    );

    fn permit(&mut self, asked: PermissionQuestion) -> impl Future<Output = Permit> + Send;
}

/// Runs the program until it ends, or until `cut` returns a reason to end it. Dropping the future ends the program,
/// too.
pub async fn run(
    start: &ProgramStart,
    follow: &mut impl Follow,
    cut: impl Future<Output = CutReason> + Send,
) -> io::Result<Ran> {
    let order = &start.order;
    let launch = adapter::launch(order).map_err(io::Error::other)?;
    write_files(&launch, &order.folder)?;
    let mut host = TurnHost::start(&start.binary, &order.folder, &host_launch(start, &launch))?;
    let mut cut = std::pin::pin!(cut);
    if let Some((writer, reader)) = host.relay() {
        let mut talk = Talk { follow };
        let why = std::sync::Mutex::new(None);
        let cancel = async {
            let cut = cut.as_mut().await;
            why.lock().unwrap_or_else(PoisonError::into_inner).replace(cut);
        };
        let talked = acp::converse(order, (reader, writer), &mut talk, cancel).await;
        let ended = host.wait().await?;
        let said = talked.end(exit(&ended.how), &stderr_tail(&order.folder));
        let why = why.into_inner().unwrap_or_else(PoisonError::into_inner);
        return Ok(judged(said, ended, why.map_or(ClosedBy::ByUs, ClosedBy::Cut)));
    }
    let mut ears = OutputReader::new(order.kind, &order.folder);
    let why = loop {
        tokio::select! {
            event = host.event() => match event {
                Some(HostEvent::Grew { .. }) => ears.hear(follow)?,
                Some(HostEvent::Started { .. }) => {}
                Some(HostEvent::Ended(_)) | None => break None,
            },
            why = &mut cut => {
                host.cut_off();
                break Some(why);
            }
        }
    };
    let ended = host.wait().await?;
    ears.hear(follow)?;
    let said = ears.listener.end(exit(&ended.how), &stderr_tail(&order.folder));
    Ok(judged(said, ended, why.map_or(ClosedBy::Not, ClosedBy::Cut)))
}

/// Returns the result of a program after its runner has ended, from the files in the turn's folder. Blocks while the
/// turn host (the process that started the program) is still running.
pub fn recover(folder: &Path, kind: AdapterKind) -> io::Result<Ran> {
    let ended = host::settle(folder)?;
    let mut ears = OutputReader::new(kind, folder);
    ears.hear(&mut Deaf)?;
    let said = ears.listener.end(exit(&ended.how), &stderr_tail(folder));
    Ok(judged(said, ended, ClosedBy::Not))
}

fn exit(end: &ProgramEnd) -> Exit {
    match end {
        ProgramEnd::Exited { code } => Exit::Code(*code),
        ProgramEnd::Signalled { signal } => Exit::Signal(*signal),
        ProgramEnd::TimedOut | ProgramEnd::TooMuch | ProgramEnd::CutOff | ProgramEnd::Lost { .. } => Exit::Signal(9),
        ProgramEnd::SpawnFailed { .. } => Exit::Code(127),
    }
}

/// The way in which the runner ended the program, or `Not` when the program ended by itself.
enum ClosedBy {
    Not,
    /// The program gave its answer over the Agent Client Protocol, so the runner ended it.
    ByUs,
    Cut(CutReason),
}

/// Combines the program's report with the record of the turn host (the process that started the program). If the host
/// ended the program, the host's reason counts. Otherwise the program's own report counts.
fn judged(mut said: TurnSaid, ended: HostEnded, closed: ClosedBy) -> Ran {
    let has_answer = said.end == adapter::AgentEnd::Finished;
    let (end, reason) = match (&ended.how, closed) {
        (_, ClosedBy::Cut(CutReason::ClaimLost)) => {
            (TurnEnd::ClaimLost, Some("the runner no longer holds the task".to_owned()))
        }
        (_, ClosedBy::Cut(CutReason::OverBudget(why))) => (TurnEnd::OverBudget, Some(why)),
        (_, ClosedBy::Cut(CutReason::Cancelled)) => (TurnEnd::Cancelled, Some("the runner was stopped".to_owned())),
        (ProgramEnd::TimedOut, _) => (TurnEnd::TimedOut, Some("the program ran longer than a turn may".to_owned())),
        (ProgramEnd::TooMuch, _) => (TurnEnd::OverBudget, Some("the program printed more than a turn may".to_owned())),
        // Skip this case if the program gave its whole answer before the runner was gone, because then the answer
        // counts.
        (ProgramEnd::CutOff, ClosedBy::Not) if !has_answer => {
            (TurnEnd::Interrupted, Some("the runner ended before the program".to_owned()))
        }
        (ProgramEnd::Lost { why }, _) if !has_answer => (TurnEnd::Interrupted, Some(why.clone())),
        (ProgramEnd::SpawnFailed { why }, _) => (TurnEnd::SpawnFailed, Some(why.clone())),
        (
            ProgramEnd::Exited { .. } | ProgramEnd::Signalled { .. } | ProgramEnd::CutOff | ProgramEnd::Lost { .. },
            _,
        ) => told(&said),
    };
    if ended.leaked {
        said.warnings.push(format!("LEAKED: the program left {} processes or open pipes behind", ended.killed));
    }
    Ran { said, ended, end, reason }
}

fn told(said: &TurnSaid) -> (TurnEnd, Option<String>) {
    match &said.end {
        adapter::AgentEnd::Finished => (TurnEnd::Finished, None),
        adapter::AgentEnd::Failed { reason, .. } => (TurnEnd::Failed, Some(reason.clone())),
        adapter::AgentEnd::ApiError { reason } => (TurnEnd::ApiError, Some(reason.clone())),
        adapter::AgentEnd::Signalled { signal } => (TurnEnd::Signalled, Some(format!("killed by signal {signal}"))),
        adapter::AgentEnd::OverBudget => {
            (TurnEnd::OverBudget, Some("the program spent the dollars that it was given".to_owned()))
        }
        adapter::AgentEnd::Cancelled => (TurnEnd::Cancelled, None),
        adapter::AgentEnd::NoConversation => (TurnEnd::ConversationLost, None),
    }
}

fn host_launch(start: &ProgramStart, launch: &ProgramLaunch) -> host::HostLaunch {
    let order = &start.order;
    let environment = launch.environment.iter().chain(&start.environment).cloned().collect();
    host::HostLaunch {
        turn: start.turn.clone(),
        program: PathBuf::from(&launch.program),
        arguments: launch.arguments.clone(),
        directory: order.worktree.clone(),
        inherit: Inherit::Only(start.inherit.clone()),
        environment,
        input: match &launch.input {
            ProgramInput::Nothing => host::HostInput::Nothing,
            ProgramInput::File(path) => host::HostInput::File(path.clone()),
            ProgramInput::Relay => host::HostInput::Relay,
        },
        output_bytes_max: start.output_bytes_max,
        seconds_max: start.seconds_max,
        grace_ms: GRACE_MS,
    }
}

/// Writes the files of a launch, such as prompts and settings, so that only the owner can read them.
fn write_files(launch: &ProgramLaunch, folder: &Path) -> io::Result<()> {
    let make = |folder: &Path| fs::DirBuilder::new().mode(0o700).recursive(true).create(folder);
    make(folder)?;
    launch.folders.iter().try_for_each(|folder| make(folder))?;
    for (path, text) in &launch.files {
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Returns the last part of the program's standard error, at most `STDERR_TAIL_BYTES` bytes.
fn stderr_tail(folder: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(folder.join(host::STDERR))?;
        let from = file.metadata()?.len().saturating_sub(STDERR_TAIL_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        file.take(STDERR_TAIL_BYTES).read_to_end(&mut tail)?;
        Ok(tail)
    };
    read().map(|tail| String::from_utf8_lossy(&tail).into_owned()).unwrap_or_default()
}

/// A reader for the output file of a program. Each read continues where the last one ended.
struct OutputReader {
    path: PathBuf,
    file: Option<File>,
    listener: Listener,
}

impl OutputReader {
    fn new(kind: AdapterKind, folder: &Path) -> Self {
        Self { path: folder.join(host::STDOUT), file: None, listener: Listener::new(kind) }
    }

    /// Passes the new output of the program to the listener. The read is blocking, but it does not delay other async
    /// tasks, because the file is local and its pages are in memory.
    fn hear(&mut self, follow: &mut impl Follow) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match File::open(&self.path) {
                Ok(file) => self.file.insert(file),
                // There is no output file if the program could not be started.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let bytes = file.read(&mut buffer)?;
            if bytes == 0 {
                return Ok(());
            }
            for heard in self.listener.feed(&buffer[..bytes]) {
                follow.heard(heard);
            }
            let (usd, tokens) = self.listener.spent();
            if usd.is_some() || tokens.is_some() {
                follow.spent(usd, tokens);
            }
        }
    }
}

/// The runner's side of a conversation over the Agent Client Protocol (ACP). It does not keep the lines of the
/// conversation: the turn host (the process that started the agent's program) keeps the agent's output, and Handover's
/// own texts are in the prompt files.
struct Talk<'f, F> {
    follow: &'f mut F,
}

impl<F: Follow> acp::AcpHost for Talk<'_, F> {
    fn line(&mut self, _: Way, _: &[u8]) {}

    fn heard(&mut self, heard: HeardEvent) {
        self.follow.heard(heard);
    }

    async fn permit(&mut self, asked: PermissionQuestion) -> Permit {
        self.follow.permit(asked).await
    }
}

/// An observer that ignores all events. It is used for a program that has already ended.
struct Deaf;

impl Follow for Deaf {
    fn heard(&mut self, _: HeardEvent) {}

    fn spent(&mut self, _: Option<adapter::SpentAmount<f64>>, _: Option<adapter::SpentAmount<adapter::TokenUse>>) {}

    async fn permit(&mut self, _: PermissionQuestion) -> Permit {
        Permit::RejectOnce
    }
}
