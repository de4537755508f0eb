//! Opens the work of agents for acts over HTTP: the task or plan that a path names, the repository, and the right of the
//! caller to act.

use std::path::{Path, PathBuf};

use base::people::task_choice::NamedWork;
use base::project::place::{PlaceReason, StorePlace};
use base::service::Service;
use engine::Refusal;
use engine::id::WorkflowId;
use engine::token::Scope;
use engine::{Caller, Rights};
use git::GitProblem;
use http::StatusCode;
use runner::claim::open::RunSite;
use wire::lifecycle::ToolError;
use wire::visible;
use work::journal::{LandingLock, LandingSite};
use work::{NoWorkSite, WorkError, WorkSite};

use super::HttpState;
use super::problem::{self, HttpProblem, named};
use super::task_page::named_task;
use crate::desk::Visitor;

/// The store, the project and the folders that an act on work needs.
#[derive(Debug, Clone)]
pub(super) struct WorkPlaceParts {
    service: Service,
    place: StorePlace,
    state: PathBuf,
    live: PathBuf,
}

/// The kind of thing that a path names by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkKind {
    Task,
    Workflow,
}

impl WorkPlaceParts {
    pub(super) fn of(shared: &HttpState) -> Result<Self, HttpProblem> {
        let (service, around) = (shared.desk.service().clone(), shared.desk.surroundings());
        let (Some(state), Some(store)) = (around.state.clone(), around.store.clone()) else {
            return Err(without_site(NoWorkSite::NoProject));
        };
        let live = service.live().map_or_else(|| state.clone(), |live| live.folder().to_owned());
        let place = StorePlace { store, by: PlaceReason::Name, root: around.root.clone() };
        Ok(Self { service, place, state, live })
    }

    pub(super) fn run_site(&self) -> RunSite<'_> {
        RunSite { service: &self.service, place: &self.place, state: &self.state, live: &self.live }
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// Finds the repository of the project.
    pub(super) async fn site(&self) -> Result<WorkSite<'_>, HttpProblem> {
        WorkSite::find(self.run_site()).await.map_err(|error| failed(&error))?.map_err(without_site)
    }

    /// Opens the repository of the project for an act that changes work in git.
    pub(super) async fn landing(&self, caller: Caller) -> Result<LandingSite<'_>, HttpProblem> {
        let found = LandingSite::open(self.run_site(), caller).await;
        found.map_err(|error| failed(&error))?.map_err(without_site)
    }

    /// Waits until no other process on this machine merges, and finishes the merges of processes that were killed. The
    /// wait ends when the client leaves.
    pub(super) async fn lock(&self, caller: Caller) -> Result<LandingLock, HttpProblem> {
        self.landing(caller).await?.lock_settled().await.map_err(|error| failed(&error))
    }
}

/// Does work to its end, also when the client leaves or its token is revoked, because a killed git process leaves files
/// half changed. Call it only for work that takes no more than some seconds.
pub(super) async fn to_the_end<T: Send + 'static>(
    shared: &HttpState,
    work: impl Future<Output = Result<T, HttpProblem>> + Send + 'static,
) -> Result<T, HttpProblem> {
    let ended = shared.acts.spawn(work).await;
    ended.unwrap_or_else(|_| Err(HttpProblem::failed(wire::lifecycle::fault("the server stopped", true))))
}

/// Returns the task or plan that a path names by an id. A task can also be named by its short number.
pub(super) async fn named_work(service: &Service, kind: WorkKind, id: &str) -> Result<NamedWork, HttpProblem> {
    match kind {
        WorkKind::Task => Ok(NamedWork::Task(Box::new(named_task(service, id).await?))),
        WorkKind::Workflow => {
            let id: WorkflowId = named(id, |workflow| Refusal::WorkflowNotFound { workflow })?;
            let found = service.view(move |world| world.workflow(id).cloned()).await;
            Ok(NamedWork::Plan(Box::new(found.map_err(|error| HttpProblem::fault(&error))?)))
        }
    }
}

/// Refuses every token whose scope is not person. Agents on this machine may be able to read tokens of the other scopes,
/// and an agent must not decide about its own work.
pub(super) fn may_act(scope: Scope) -> Result<(), HttpProblem> {
    only_person(scope, "only a person acts on the work of agents; use a token of scope person")
}

/// Refuses every token whose scope is not person, because the conversations of agents and the outputs of checks may show
/// what only the person may see.
pub(super) fn may_read_outputs(scope: Scope) -> Result<(), HttpProblem> {
    only_person(scope, "only a person reads conversations and outputs; use a token of scope person")
}

/// Refuses every token whose scope is not person. Costs are the person's business, and agents need no costs of others.
pub(super) fn may_read_costs(scope: Scope) -> Result<(), HttpProblem> {
    only_person(scope, "only a person sees what was spent; use a token of scope person")
}

fn only_person(scope: Scope, message: &str) -> Result<(), HttpProblem> {
    match scope {
        Scope::Person => Ok(()),
        Scope::Agent | Scope::Coordinator | Scope::Admin => {
            let next = "ask a person, who opens the dashboard with `handover open` or creates a token with `handover \
                token create NAME --scope person`";
            Err(HttpProblem::new(StatusCode::FORBIDDEN, "NOT_PERMITTED", message, next))
        }
    }
}

/// Returns the caller of an act. If the token belongs to an agent, or a header names one, the act is recorded as the
/// agent's and not as the person's.
pub(super) fn caller(visitor: &Visitor) -> Caller {
    Caller { agent: visitor.agent.or(visitor.named), ..Caller::with_rights(Rights::Person) }
}

/// Returns the response to an act that failed or that the store refused.
pub(super) fn failed(error: &WorkError) -> HttpProblem {
    match error {
        WorkError::Service(error) => HttpProblem::fault(error),
        WorkError::Git(problem) => git_problem(problem),
        WorkError::Merged(_) | WorkError::Settings(_) | WorkError::File { .. } => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(next) = cause {
                text.push_str(&format!(": {next}"));
                cause = next.source();
            }
            HttpProblem::failed(wire::lifecycle::fault(&visible::one_line(&text), false))
        }
    }
}

fn git_problem(problem: &GitProblem) -> HttpProblem {
    let said = ToolError {
        code: problem.code(),
        message: visible::one_line(&problem.to_string()),
        recoverable: problem.is_recoverable(),
        suggestion: problem.suggestion().to_owned(),
        details: None,
    };
    HttpProblem { status: problem::status(said.code), said }
}

pub(super) fn without_site(none: NoWorkSite) -> HttpProblem {
    let message = match none {
        NoWorkSite::NoProject => "the store of this server belongs to no project folder",
        NoWorkSite::NoRepository => "the folder of this project is not a git repository",
    };
    let next = "start the server in a project that is a git repository; `git init` makes one";
    HttpProblem::new(StatusCode::CONFLICT, "NOT_A_REPOSITORY", message, next)
}

/// Returns the response to an act that the present state of the task does not allow.
pub(super) fn not_now(message: impl Into<String>, next: &str) -> HttpProblem {
    HttpProblem::new(StatusCode::CONFLICT, "INVALID_STATE", message, next)
}
