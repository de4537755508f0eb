//! `handover demo`: three scripted agents complete and verify all tasks of a plan, on a new machine and without any API
//! key.
//!
//! The demo uses the real runner, with real processes in real worktrees, and each agent starts `handover mcp` and
//! speaks MCP with it. In one task the agent gives an output that has to be repaired. In another task it crashes, in a
//! third task it asks a question, and in a fourth task it makes a page that fails its first check. A real person has
//! nothing to do, because the demo itself answers the question. The module `story` announces and explains each event.

mod agent;
mod client;
mod stage;
mod story;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::id::WorkflowId;
use engine::list::{TurnQuery, VerificationQuery, Whose};
use engine::turn::{Purpose, Turn};
use engine::view;
use serde_json::json;
use store::LogVerdict;
use tokio::sync::watch;
use tokio::time::Instant;

use base::ground::words::{self, count};
use base::service::Service;
use runner::attempt::shared::{RunEvent, RunNews, RunnerOrder, RunnerShared};
use runner::claim::over::{RunEnded, RunScope};
use runner::claim::run::ClaimLoop;
use runner::screen::{Screen, ScreenLook};

pub use agent::run as run_agent;

use story::{StoryPart, Storyteller};

/// The time limit of the demo. The demo usually takes about ten seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The answer that the demo gives, in the name of a person, when an agent asks its question.
const ANSWER: &str = "Port 8080.";

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("{0}")]
    Step(String),
    #[error("run the programs of the demo")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Service(#[from] base::Error),
    #[error(transparent)]
    Fault(#[from] store::Fault),
}

/// The options with which the demo is started.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The path of the `handover` program, which the agents start.
    pub program: PathBuf,
    /// The folder in which the demo works. It must be empty.
    pub folder: PathBuf,
    pub look: ScreenLook,
    /// The width of the terminal in columns.
    pub width: usize,
}

/// Runs the demo and shows its events. Returns `Ok(true)` when every task was completed and the log was verified.
pub async fn run(wanted: DemoOptions) -> Result<bool, Failed> {
    let began = Instant::now();
    let mut screen = Screen::new(anstream::stdout(), wanted.look, wanted.width);
    let (wishes, wish) = watch::channel(RunnerOrder::Work);
    let (shared, news, desk) = stage::open(&wanted, wish).await?;
    if wanted.look != ScreenLook::Json {
        screen.say(story::OPENING)?;
    }
    let workflow = stage::plan(&desk).await?;
    let service = desk.service().clone();
    let teller = (wanted.look != ScreenLook::Json).then(Storyteller::default);
    let mut stage = DemoStage { service: service.clone(), screen: &mut screen, teller };
    let played = tokio::time::timeout(PATIENCE, stage.play(shared, workflow, news)).await;
    drop(wishes);
    let ended = played.map_err(|_| {
        Failed::Step(
            "the demo did not end within a minute; run it again, or run \
        `handover doctor` to check this machine"
                .to_owned(),
        )
    })??;
    let summary = DemoSummary::of(&service, workflow, began.elapsed()).await?;
    if wanted.look == ScreenLook::Json {
        screen.say(&summary.json().to_string())?;
    } else {
        screen.say(&format!("{}\n\n{}", summary.text(), story::NEXT))?;
    }
    Ok(ended == RunEnded::Completed && summary.verdict.findings.is_empty())
}

type DemoNews = tokio::sync::mpsc::Receiver<RunNews>;

/// The store, the screen and the storyteller with which the demo shows its run.
struct DemoStage<'s, W> {
    service: Service,
    screen: &'s mut Screen<W>,
    /// The value that puts the demo's explanations between the events. `None` when the events are printed as JSON.
    teller: Option<Storyteller>,
}

impl<W: std::io::Write> DemoStage<'_, W> {
    /// Runs the plan until it ends, and shows the events. When an agent asks a question, the simulated person answers.
    async fn play(
        &mut self,
        shared: Arc<RunnerShared>,
        workflow: WorkflowId,
        mut news: DemoNews,
    ) -> Result<RunEnded, Failed> {
        let work = ClaimLoop::new(shared, RunScope::Workflow(workflow)).work();
        let mut work = std::pin::pin!(work);
        let mut tick = tokio::time::interval(Duration::from_millis(250));
        let ended = loop {
            tokio::select! {
                ended = &mut work => break ended?,
                Some(found) = news.recv() => self.show(found).await?,
                _ = tick.tick() => self.screen.draw()?,
            }
        };
        while let Ok(found) = news.try_recv() {
            self.show(found).await?;
        }
        for part in self.teller.take().map(Storyteller::end).unwrap_or_default() {
            self.show_part(part).await?;
        }
        self.screen.end(&[String::new()])?;
        Ok(ended)
    }

    async fn show(&mut self, found: RunNews) -> Result<(), Failed> {
        let parts = match &mut self.teller {
            Some(teller) => teller.hear(found),
            None => vec![StoryPart::News(Box::new(found))],
        };
        for part in parts {
            self.show_part(part).await?;
        }
        Ok(())
    }

    async fn show_part(&mut self, part: StoryPart) -> Result<(), Failed> {
        match part {
            StoryPart::Text(text) => self.screen.say(text)?,
            StoryPart::News(found) => {
                self.screen.tell(&found)?;
                if matches!(found.what, RunEvent::Asks { .. }) {
                    if self.teller.is_some() {
                        let number = found.number.unwrap_or_default();
                        self.screen.say(&format!("{number:>2}  {:<19}{ANSWER}", "you answer"))?;
                    }
                    stage::answer(&self.service, found.task, ANSWER).await?;
                }
            }
        }
        Ok(())
    }
}

/// The result of the demo, read from the store after the run.
struct DemoSummary {
    done: u32,
    tasks: u32,
    turns: Vec<Turn>,
    /// The number of retries in the demo: for each task, the attempts after its first one.
    recovered: u32,
    checkpoints: u32,
    messages: u32,
    verifications_failed: u32,
    verdict: LogVerdict,
    took: Duration,
}

impl DemoSummary {
    async fn of(service: &Service, workflow: WorkflowId, took: Duration) -> Result<Self, Failed> {
        let verdict = store::verify(service.store(), &[]).await?;
        let (progress, tasks, turns, failed, messages) = service
            .view(move |world| {
                let list = TurnQuery::Of { of: Whose::Workflow(workflow), before: None, limit: 500 };
                let turns = world.ask(&list)?.clone();
                let tasks = view::tasks(world, workflow, &[], None, 100)?.rows;
                let lists = tasks.iter().map(|row| VerificationQuery { task: row.task.id, after: 0, limit: 100 });
                world.want(lists.clone())?;
                let mut failed = 0;
                for list in lists {
                    failed += world.ask(&list)?.iter().filter(|row| !row.has_passed()).count();
                }
                let human = engine::inbox::MailboxOwner::Human;
                let messages = world.mailbox(human)?.sequence;
                Ok((view::progress(world, workflow)?, tasks, turns, failed, messages))
            })
            .await?;
        Ok(Self {
            done: progress.workflow.tasks - progress.workflow.open,
            tasks: progress.workflow.tasks,
            recovered: tasks.iter().map(|row| row.task.attempt.saturating_sub(1)).sum(),
            checkpoints: tasks.iter().map(|row| row.task.checkpoints).sum(),
            messages,
            verifications_failed: u32::try_from(failed).unwrap_or(u32::MAX),
            turns,
            verdict,
            took,
        })
    }

    fn count(&self, purpose: Purpose) -> usize {
        self.turns.iter().filter(|turn| turn.purpose == purpose).count()
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "event": "summary", "completed": self.done, "tasks": self.tasks, "turns": self.turns.len(),
            "repaired": self.count(Purpose::Repair), "recovered": self.recovered,
            "answered": self.count(Purpose::Answer), "verifications_failed": self.verifications_failed,
            "checkpoints": self.checkpoints, "questions": self.messages,
            "log_entries": self.verdict.entries, "log_verified": self.verdict.findings.is_empty(),
            "ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn text(&self) -> String {
        let bold = anstyle::Style::new().bold();
        let log = if self.verdict.findings.is_empty() { "none was changed later" } else { "SOME WERE CHANGED LATER" };
        format!(
            "{bold}Done in {}: {} of {}, all tested.{bold:#}\n  \
             {} ran: {} after a crash, {} after an incomplete answer,\n  \
             {} after a failed test, {} after your answer.\n  \
             Every step is in the log: {}, {log}.",
            words::duration(u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)),
            self.done,
            count(self.tasks, "task"),
            count(self.turns.len(), "program"),
            self.recovered,
            self.count(Purpose::Repair),
            self.verifications_failed,
            self.count(Purpose::Answer),
            count(self.verdict.entries, "entry"),
        )
    }
}
