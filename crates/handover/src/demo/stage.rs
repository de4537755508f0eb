//! Prepares the demo: a repository, settings, a plan, and a simulated person who answers.

use std::path::Path;
use std::sync::Arc;

use engine::Rights;
use engine::id::{Ids, SessionId, TaskId, WorkflowId};
use engine::list::MessageQuery;
use tokio::sync::{mpsc, watch};

use super::{DemoOptions, Failed};
use crate::desk::{Desk, DeskSurroundings, Visitor};
use crate::plan_file::make_workflow;
use crate::side_program;
use base::ground::random;
use base::people::answers;
use base::project::place::{self, PlaceReason, StorePlace};
use base::project::plan_file::{DocumentFormat, PlanFile};
use base::project::settings;
use base::project::team::Team;
use base::service::Service;
use git::Git;
use git::slot::SlotPool;
use runner::attempt::place::WorktreeGround;
use runner::attempt::shared::{RunNews, RunnerOrder, RunnerParts, RunnerShared};
use runner::attempt::slot_owner::RunnerSlots;

/// The plan of the demo: two tasks that run at the same time, and then four tasks that run one after the other, so that
/// the story can announce each of the four.
const PLAN: &str = include_str!("plan.yaml");
/// The check of the demo's repository. It needs nothing but a shell and grep.
const CHECK: &str = include_str!("check.sh");

/// Creates a repository for the demo and opens its store and runner. No person has to accept the commands in the
/// repository's settings, because Handover itself wrote them.
pub(super) async fn open(
    wanted: &DemoOptions,
    wish: watch::Receiver<RunnerOrder>,
) -> Result<(Arc<RunnerShared>, mpsc::Receiver<RunNews>, Desk), Failed> {
    let folder = wanted.folder.canonicalize()?;
    let is_repository = prepare(&folder, &wanted.program).await?;
    let state = folder.join(".handover/state");
    let file = state.join("handover.db").display().to_string();
    let opened = store::open(&file, random::store_seed()?).await?;
    let service = Service::new(opened, Arc::new(base::ground::clock::SystemClock));
    let desk =
        Desk::new(service.clone(), DeskSurroundings { root: Some(folder.clone()), ..DeskSurroundings::default() });
    let settings = settings::read(Some(&folder)).map_err(|problem| Failed::Step(problem.to_string()))?.team;
    let team = Team::gather(&folder, &settings, std::env::var_os("PATH").as_deref());
    let team = team.map_err(|problem| Failed::Step(problem.to_string()))?;
    // The slots (the worktrees in which the runner lets agents work) are in the demo's own folder, so that they are
    // deleted with this folder.
    let pool = SlotPool::at(state.join("worktrees"));
    let slots = is_repository.then(|| RunnerSlots { pool, store: "demo".to_owned(), limit: None });
    let parts = RunnerParts {
        service,
        store: file,
        ground: WorktreeGround::new(Git::default(), folder, slots),
        state,
        settings,
        team,
        name: "demo".to_owned(),
        session: SessionId::next(&mut Ids::new(random::seed()?)),
        at_once: 3,
        wish,
    };
    let (shared, news) = RunnerShared::open(parts).await?;
    Ok((Arc::new(shared), news, desk))
}

/// Creates a project with settings and a store. Returns `true` if git made the folder a repository, and `false` if git
/// failed.
async fn prepare(folder: &Path, program: &Path) -> Result<bool, Failed> {
    let own = folder.join(".handover");
    let store = folder.join(place::STATE).join("handover.db").display().to_string();
    place::prepare(&StorePlace { store, by: PlaceReason::Repository, root: Some(folder.to_owned()) })?;
    let program = program.display();
    let mut text = "[verify]\nchecks = [{ command = [\"sh\", \"check.sh\"], seconds = 10 }]\n".to_owned();
    for slug in super::agent::TEAM {
        text.push_str(&format!(
            "\n[[agent]]\nslug = \"{slug}\"\nadapter = \"exec\"\npersona = \"You are {slug}.\"\nroles = [\"{slug}\"]\n\
             command = [\"{program}\", \"demo-agent\", \"{slug}\"]\n"
        ));
    }
    std::fs::write(own.join("config.toml"), text)?;
    std::fs::write(folder.join("check.sh"), CHECK)?;
    let git = Path::new("git");
    let steps = [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "start"]];
    for words in steps {
        let identity = ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
        let status = side_program::command(git, folder).args(identity).args(words).status().await;
        if !status.is_ok_and(|status| status.success()) {
            // Without git there are no worktrees. The agents then work in one folder, one after the other.
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) async fn plan(desk: &Desk) -> Result<WorkflowId, Failed> {
    let file =
        PlanFile::read(PLAN, DocumentFormat::Yaml, &[]).map_err(|problems| Failed::Step(problems.to_string()))?;
    let made = make_workflow(desk, &Visitor::person(), &file).await;
    made.map_err(|problem| Failed::Step(problem.to_string()))
}

/// Answers the question of a task as the simulated person.
pub(super) async fn answer(service: &Service, task: TaskId, answer: &str) -> Result<(), Failed> {
    let asked = service.ask(MessageQuery::Questions { after: 0, limit: 10 }).await?;
    let question = asked.iter().find(|message| message.draft.task == Some(task));
    let question = question.ok_or_else(|| Failed::Step("the question of the task is missing".to_owned()))?;
    answers::answer(service, Rights::Person, question.id, answer.to_owned()).await?;
    Ok(())
}
