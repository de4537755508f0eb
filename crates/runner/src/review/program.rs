//! Runs the program of a provider (the agent that reviews) outside of any task. The program gets a separate folder and
//! may only read.

use std::path::{Path, PathBuf};

use engine::id::ReviewId;
use engine::turn::{Spent, TurnEnd};

use super::provider::Provider;
use crate::ask::{AskedProgram, AskedTexts, ProgramReply};
use agents::adapter::acp::{PermissionQuestion, Permit};
use agents::adapter::{self, AdapterKind, HeardEvent, McpServerLaunch, Permissions, TurnOrder};
use agents::host;
use agents::program::{self, CutReason, Follow, ProgramStart, Ran};
use base::error::Error;
use base::project::budget::amounts;
use base::project::environment::{self, ProgramKind};

/// Returns the folder in which the programs of reviews run. It is below the state folder.
pub fn folder(state: &Path) -> PathBuf {
    state.join("reviews")
}

/// Runs the program of a provider (the agent that reviews) as a child of this process. When this value is dropped, the
/// program is ended.
#[derive(Debug)]
pub struct ProviderProgram<'a, C> {
    pub provider: &'a Provider,
    pub review: ReviewId,
    pub state: &'a Path,
    /// The address of the store. Handover's MCP server, which the program gets as a tool server, opens this store.
    pub store: &'a str,
    /// The path of the `handover` program, when this process is another program. `None` when this process is `handover`
    /// itself.
    pub binary: Option<&'a Path>,
    /// The cost of the conversation before this round. Some programs report a running total, from which this cost is
    /// subtracted.
    pub earlier: Spent,
    /// A future that is ready when the reviewer's program must stop.
    pub cut: C,
    /// The folder in which the program runs. `None` when it runs in an empty folder that Handover makes for the review.
    room: Option<PathBuf>,
    starts: u32,
}

/// The reason why one round of a review cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error(transparent)]
    Service(#[from] Error),
    #[error("run the reviewer's program")]
    Io(#[from] std::io::Error),
}

impl<'a, C> ProviderProgram<'a, C> {
    /// Prepares the runs of a reviewer's program for one round of a review. The first call of `start` ends the programs
    /// that an earlier round left and removes their folders, because only one round of a review may run at a time.
    pub fn new(
        provider: &'a Provider,
        review: ReviewId,
        (state, store, binary): (&'a Path, &'a str, Option<&'a Path>),
        earlier: Spent,
        cut: C,
    ) -> Self {
        Self { provider, review, state, store, binary, earlier, cut, room: None, starts: 0 }
    }

    /// Lets the program run in this folder, which it may read. The folder is not removed.
    pub fn in_room(self, room: &Path) -> Self {
        Self { room: Some(room.to_owned()), ..self }
    }

    fn place(&self) -> PathBuf {
        folder(self.state).join(self.review.to_string())
    }

    fn program_start(&self, attempt: AskedTexts, folder: &Path) -> Result<ProgramStart, ReviewError> {
        let settings = &self.provider.member.settings;
        // All rounds of a review use the same folder. The program opencode resumes a conversation only in the folder
        // where the conversation began, and hangs in any other folder.
        let room = self.room.clone().unwrap_or_else(|| self.place().join("room"));
        std::fs::create_dir_all(&room)?;
        let server = self.binary.map_or_else(std::env::current_exe, |binary| Ok(binary.to_owned()))?;
        let program =
            server.to_str().ok_or_else(|| std::io::Error::other("the path of this program is not UTF-8 text"))?;
        let mark = self.review.to_string();
        let environment =
            vec![(host::TURN.to_owned(), mark.clone()), ("HANDOVER_STORE".to_owned(), self.store.to_owned())];
        let order = TurnOrder {
            kind: settings.adapter,
            command: self.provider.member.command(),
            args: settings.args.clone(),
            model: settings.model.clone(),
            message: attempt.message,
            is_plain: false,
            system: attempt.system,
            input: None,
            worktree: room,
            folder: folder.to_owned(),
            server: McpServerLaunch { program: program.to_owned(), arguments: vec!["mcp".to_owned()], environment },
            resume: attempt.resume,
            permissions: Permissions::Read,
            home: self.provider.home(self.state),
            usd_left: self.provider.limits.usd,
        };
        Ok(ProgramStart {
            binary: self.binary.map_or_else(host::own_binary, |binary| Ok(binary.to_owned()))?,
            turn: mark,
            order,
            environment: settings.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            inherit: environment::inherited_here(ProgramKind::Agent(settings), &self.provider.environment),
            output_bytes_max: self.provider.limits.output_bytes,
            seconds_max: self.provider.limits.turn_seconds.max(1),
        })
    }
}

impl<C: Future<Output = CutReason> + Send + Unpin> AskedProgram for ProviderProgram<'_, C> {
    type StartError = ReviewError;

    async fn start(&mut self, attempt: AskedTexts) -> Result<ProgramReply, ReviewError> {
        if self.starts == 0 {
            clear(self.place()).await;
        }
        self.starts += 1;
        let folder = self.place().join(self.starts.to_string());
        std::fs::create_dir_all(&folder)?;
        let start = self.program_start(attempt, &folder)?;
        let ran = program::run(&start, &mut SilentProvider, &mut self.cut).await;
        let said = ran.map(|ran| said(&ran, start.order.kind, &folder, self.earlier));
        // The folder of the review is no longer needed: the program's output in it was read already, and the program
        // keeps the conversation in its home folder.
        let _gone = std::fs::remove_dir_all(self.place());
        match said {
            Ok(said) => {
                self.earlier = self.earlier.and(said.spent);
                Ok(said)
            }
            Err(error) => Ok(unstarted(&error.to_string())),
        }
    }
}

/// Ends the programs that a killed process left in the folder of this review, and removes the folder.
async fn clear(place: PathBuf) {
    let cleared = tokio::task::spawn_blocking(move || {
        let is_start = |name: std::ffi::OsString| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_start(entry.file_name())) {
            let _ended = host::settle(&entry.path());
        }
        let _gone = std::fs::remove_dir_all(&place);
    });
    let _panicked = cleared.await;
}

fn unstarted(reason: &str) -> ProgramReply {
    ProgramReply {
        end: TurnEnd::SpawnFailed,
        reason: Some(reason.to_owned()),
        answer: Vec::new(),
        conversation: None,
        spent: Spent::default(),
    }
}

/// Returns the answer of a program and the cost of this one start. `earlier` is the cost of the earlier starts, which
/// is subtracted when the program reports a total.
pub fn said(ran: &Ran, kind: AdapterKind, folder: &Path, earlier: Spent) -> ProgramReply {
    let ms = u64::try_from(ran.ended.ended_at.saturating_sub(ran.ended.started_at)).unwrap_or(0);
    // A program of the kind `Exec` writes no events. Its whole standard output is the answer.
    let answer = match kind {
        AdapterKind::Exec => std::fs::read(folder.join(host::STDOUT)).unwrap_or_default(),
        AdapterKind::Claude | AdapterKind::Opencode | AdapterKind::Codex | AdapterKind::Gemini | AdapterKind::Acp => {
            ran.said.text.clone().into_bytes()
        }
    };
    ProgramReply {
        end: ran.end,
        reason: ran.reason.clone(),
        answer,
        conversation: ran.said.conversation.clone(),
        spent: Spent { ms, turns: 1, ..amounts(ran.said.usd, ran.said.tokens, earlier) },
    }
}

/// Follows the program of a provider (the agent that reviews) without recording its events. Rejects every tool call
/// that needs a permission, because a provider may only read.
#[derive(Debug)]
pub struct SilentProvider;

impl Follow for SilentProvider {
    fn heard(&mut self, _: HeardEvent) {}

    fn spent(&mut self, _: Option<adapter::SpentAmount<f64>>, _: Option<adapter::SpentAmount<adapter::TokenUse>>) {}

    async fn permit(&mut self, _: PermissionQuestion) -> Permit {
        Permit::RejectOnce
    }
}
