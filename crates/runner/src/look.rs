//! Runs one turn of an agent that judges the work of another agent: an evaluator or a reviewer. The turn runs in a
//! separate folder and may only read.

use std::path::PathBuf;

use engine::command::StartTurn;
use engine::id::TurnId;
use engine::turn::{Purpose, TurnEnd};
use engine::view::AttemptView as Facts;
use engine::{Command, Reply};
use tokio::sync::watch;

use crate::ask::AskedTexts;
use crate::attempt::shared::{RunEvent, RunnerAgent};
use crate::attempt::turn_end::unheard;
use crate::attempt::{AttemptError, AttemptRun};
use crate::turn_proof;
use agents::adapter::acp::{PermissionQuestion, Permit};
use agents::adapter::{self, HeardEvent, Permissions, ProgramHome, TurnOrder};
use agents::program::{self, Follow, ProgramStart, Ran};
use base::project::environment::{self, ProgramKind};
use base::project::settings::team;

/// The turns of one evaluator or reviewer for one attempt at a task.
pub(crate) struct LookTurns<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) facts: &'a Facts,
    pub(crate) judge: &'a RunnerAgent,
    pub(crate) purpose: Purpose,
}

impl LookTurns<'_> {
    /// Runs one turn of the evaluator or reviewer. Returns the result of the program and the folder of its output.
    pub(crate) async fn run(&self, texts: AskedTexts) -> Result<(Ran, PathBuf), AttemptError> {
        let (run, facts, judge) = (self.run, self.facts, self.judge);
        let (settings, purpose) = (&judge.member.settings, self.purpose);
        run.shared.is_as_accepted(&judge.member).map_err(AttemptError::Other)?;
        let start = StartTurn {
            task: run.task,
            attempt: run.attempt,
            agent: Some(judge.agent),
            purpose,
            adapter: settings.adapter.name().to_owned(),
            runner: run.shared.name.clone(),
        };
        let reply = run.execute(Command::StartTurn(start)).await?;
        let Reply::TurnStarted { turn, .. } = reply else { return Err(base::Error::unexpected(&reply).into()) };
        run.tell(facts, RunEvent::Started { turn, purpose, retry: None });
        let folder = run.shared.turn_folder(turn);
        // All turns of the same evaluator or reviewer in the attempt use the same folder. The program opencode resumes
        // a conversation only in the folder where the conversation began, and hangs in any other folder.
        let room = run.shared.attempt_folder(run.task, run.attempt).join(format!("room-{}", settings.slug));
        std::fs::create_dir_all(&room)?;
        std::fs::create_dir_all(&folder)?;
        let proof = turn_proof::make(&folder)?;
        let order = TurnOrder {
            kind: settings.adapter,
            command: judge.member.command(),
            args: settings.args.clone(),
            model: settings.model.clone(),
            message: texts.message,
            is_plain: false,
            system: texts.system,
            input: None,
            worktree: room,
            folder: folder.clone(),
            server: run.server(turn, &proof)?,
            resume: texts.resume,
            permissions: Permissions::Read,
            home: match settings.home {
                team::HomeSettings::User => ProgramHome::User,
                team::HomeSettings::Own => ProgramHome::Own(run.shared.state.join("homes").join(&settings.slug)),
            },
            usd_left: None,
        };
        let limits = &run.shared.settings.limits;
        let start = ProgramStart {
            binary: agents::host::own_binary()?,
            turn: turn.to_string(),
            order,
            environment: turn_proof::beside(&settings.env, proof),
            inherit: environment::inherited_here(ProgramKind::Agent(settings), &run.shared.settings.environment),
            output_bytes_max: limits.output_bytes,
            seconds_max: limits.turn_seconds,
        };
        // This channel would report that a cost limit is reached. It never gets a value, so no cost limit stops an
        // evaluator or a reviewer. The cost of the turn still counts against the task's limits for later turns.
        let (_never, within) = watch::channel(None);
        let mut follower = SilentFollower { run, facts, turn, order: &start.order };
        // The future is boxed, because the futures of all stages of an attempt contain it.
        let ran = Box::pin(program::run(&start, &mut follower, run.cut(within))).await;
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                let ended = unheard(TurnEnd::SpawnFailed, &error.to_string(), 0, run.now());
                run.end(facts, turn, ended).await?;
                return Err(error.into());
            }
        };
        let stream = run.files(turn).keep_stream(&run.shared.state).await?;
        run.end(facts, turn, run.ended(facts, turn, &ran, (stream, None))).await?;
        Ok((ran, folder))
    }
}

/// Follows a turn of an evaluator or a reviewer. Rejects every tool call that needs a permission, because such a turn
/// may only read.
struct SilentFollower<'a> {
    run: &'a AttemptRun,
    facts: &'a Facts,
    turn: TurnId,
    order: &'a TurnOrder,
}

impl Follow for SilentFollower<'_> {
    fn heard(&mut self, heard: HeardEvent) {
        if let HeardEvent::ToolCall { name, call } = heard {
            let title = adapter::tool_title(&name, &call, None, Some(&self.order.worktree));
            self.run.tell(self.facts, RunEvent::Tool { turn: self.turn, name, title });
        }
    }

    fn spent(&mut self, _: Option<adapter::SpentAmount<f64>>, _: Option<adapter::SpentAmount<adapter::TokenUse>>) {}

    async fn permit(&mut self, _: PermissionQuestion) -> Permit {
        Permit::RejectOnce
    }
}
