//! The main job on a fresh machine, without any key: a planned workflow worked by three scripted agents.
//!
//! The agents are processes of their own; each starts its own `handover mcp`, as a real client does, and speaks MCP with
//! it over a pipe. One of them is killed in the middle. What is shown comes from the log and from what the agents say.

mod agent;
mod client;
mod show;

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::id::WorkflowId;
use engine::{Event, view};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::desk::{Desk, Outcome, Surroundings, Visitor};
use crate::service::{Cursor, Entry, Service};
use crate::spawn;

pub use agent::run as run_agent;
pub use show::Style;

/// Who works; the last one crashes.
const AGENTS: [&str; 3] = ["amy", "bob", "carol"];
/// The demo gives up after this; it takes about ten seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The plan: three tasks to begin with, so that each agent finds one, and three that need what came before.
const PLAN: &str = r#"{"summary": "A sign-in page, from schema to release", "tasks": [
  {"name": "schema", "description": "Tables for accounts and sessions.", "priority": 1, "touches": ["db/**"]},
  {"name": "design", "description": "How the page looks.", "touches": ["web/**"]},
  {"name": "pipeline", "description": "Builds and checks on every push.", "touches": [".ci/**"]},
  {"name": "api", "description": "Sign in, sign out, who am I.", "depends_on": ["schema"], "touches": ["api/**"]},
  {"name": "page", "description": "The form and its errors.", "depends_on": ["schema", "design"], "touches": ["web/**"]},
  {"name": "release", "description": "Everything together, in one version.", "depends_on": ["api", "page", "pipeline"]}
]}"#;

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("{0}")]
    Step(String),
    #[error("run the demo's programs")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Service(#[from] crate::Error),
    #[error(transparent)]
    Fault(#[from] store::Fault),
}

/// How the demo is to run.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Our own program, for the agents to start.
    pub program: PathBuf,
    /// An empty folder.
    pub folder: PathBuf,
    pub style: Style,
}

struct Worker {
    name: &'static str,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Runs it, showing what happens. `Ok(true)` when every task was completed and the log verified.
pub async fn run(wanted: Wanted) -> Result<bool, Failed> {
    let mut screen = show::Screen::new(wanted.style);
    let folder = &wanted.folder;
    prepare(folder).await?;
    screen.say(&format!("A repository in {}, a plan of six tasks, three agents.", folder.display()));
    let file = folder.join(".handover/state/handover.db");
    let opened = store::open(&file.display().to_string(), crate::random::store_seed()?).await?;
    let service = Service::new(opened, std::sync::Arc::new(crate::clock::SystemClock));
    let desk = Desk::new(service.clone(), Surroundings { root: Some(folder.clone()), worktrees: None });
    let workflow = plan(&desk).await?;
    screen.learn(&service, workflow).await?;
    let began = tokio::time::Instant::now();
    let mut workers = Vec::new();
    for name in AGENTS {
        workers.push(start(&wanted.program, folder, name, workflow)?);
    }
    let watched = watch(&service, &mut workers, &mut screen);
    let finished = tokio::time::timeout(PATIENCE, watched).await;
    for worker in &workers {
        spawn::kill(&worker.child);
    }
    finished.map_err(|_| Failed::Step("the demo did not end in a minute".to_owned()))??;
    let progress = service.view(move |world| view::progress(world, workflow)).await?;
    let verdict = store::verify(service.store(), &[]).await?;
    screen.summary(&progress, &verdict, began.elapsed());
    Ok(progress.workflow.open == 0 && verdict.findings.is_empty())
}

/// A repository as a person would have it.
async fn prepare(folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(folder.join(".handover/state"))?;
    std::fs::write(folder.join(".handover/state/.gitignore"), "*\n")?;
    let git = Path::new("git");
    for words in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "-m", "start"]] {
        let identity = ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
        let status = spawn::program(git, folder).args(identity).args(words).status().await;
        // Without git the demo still shows what it is about.
        if !status.is_ok_and(|status| status.success()) {
            break;
        }
    }
    Ok(())
}

async fn plan(desk: &Desk) -> Result<WorkflowId, Failed> {
    let ask =
        async |tool: &str, arguments: &str| match desk.call(&Visitor::person(), tool, arguments.as_bytes(), None).await
        {
            Outcome::Done(value) => Ok(value),
            Outcome::Refused(said) | Outcome::Failed(said) => Err(Failed::Step(said.message)),
            Outcome::UnknownTool => Err(Failed::Step(format!("there is no tool {tool}"))),
        };
    let made = ask("workflow_create", r#"{"name": "Sign-in page", "source_content": "Users can sign in."}"#).await?;
    let id = made.get("id").and_then(wire::json::Value::as_text).unwrap_or_default().to_owned();
    ask("workflow_set_plan", &format!("{{\"id\": \"{id}\", \"plan\": {PLAN}}}")).await?;
    id.parse().map_err(|error: engine::id::NotAnId| Failed::Step(error.to_string()))
}

fn start(program: &Path, folder: &Path, name: &'static str, workflow: WorkflowId) -> Result<Worker, Failed> {
    let crashes = name == AGENTS[AGENTS.len() - 1];
    let mut command = spawn::program(program, folder);
    command.args(["demo-agent", name, &workflow.to_string()]).args(crashes.then_some("--stall"));
    let mut child = command.spawn()?;
    let out = child.stdout.take().ok_or_else(|| Failed::Step("an agent has no output".to_owned()))?;
    Ok(Worker { name, child, lines: BufReader::new(out).lines() })
}

/// Shows everything until the workflow is over, and kills the agent that is to crash when it has begun to work.
async fn watch(service: &Service, workers: &mut [Worker], screen: &mut show::Screen) -> Result<(), Failed> {
    let mut bell = service.bell();
    let mut cursor = Cursor::default();
    let mut crashed = false;
    let [first, second, third] = workers else { return Err(Failed::Step("there are three agents".to_owned())) };
    loop {
        tokio::select! {
            line = first.lines.next_line() => heard(screen, first.name, line?),
            line = second.lines.next_line() => heard(screen, second.name, line?),
            line = third.lines.next_line(), if !crashed => heard(screen, third.name, line?),
            _ = bell.changed(Duration::from_millis(250)) => {}
        }
        let page = service.follow(cursor, 500).await?;
        cursor = page.next;
        for entry in &page.entries {
            screen.happened(entry);
            if !crashed && begun_by(entry, screen, third.name) {
                crashed = true;
                screen.say(&format!("{} crashes: its processes are killed.", third.name));
                spawn::kill(&third.child);
            }
            if entry.kind == "workflow_moved" && entry.body.contains("\"completed\"") {
                return Ok(());
            }
        }
        // A reader that is at its end would be ready for ever.
        if page.entries.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn heard(screen: &mut show::Screen, name: &str, line: Option<String>) {
    if let Some(line) = line {
        screen.said(name, &line);
    }
}

/// The agent has recorded a first step.
fn begun_by(entry: &Entry, screen: &show::Screen, name: &str) -> bool {
    let Ok(Event::CheckpointAdded { checkpoint, .. }) = serde_json::from_str::<Event>(&entry.body) else {
        return false;
    };
    screen.is(checkpoint.by, name)
}
