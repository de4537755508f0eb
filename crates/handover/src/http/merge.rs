//! `/api/v1/tasks/{id}/merge` and `/api/v1/workflows/{id}/merge`: shows a merge before it is made, and makes it.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::NamedWork;
use engine::Caller;
use engine::delivery::CheckOutcome;
use engine::token::Scope;
use git::changes::ChangedFile;
use git::land::{LandingRecord, LandingRefusal, LocalFiles};
use wire::json::{Value, object};
use wire::visible;
use work::journal::LandingLock;
use work::landing::{
    LandingEnd, LandingPreview, LandingStop, MergedChecks, QuietLanding, ReadyLanding, TRIES_MAX, WorkMerge,
    not_mergeable,
};

use super::HttpState;
use super::acts::texts;
use super::fields::BodyFields;
use super::landing_problem::{stopped, tree_changed, unmergeable, without_work};
use super::problem::{HttpProblem, json};
use super::work_place::{WorkKind, WorkPlaceParts, caller, failed, may_act, named_work, to_the_end};
use crate::desk::Visitor;

/// The maximum number of files that the answer lists. The diff has a route of its own.
const FILES_MAX: usize = 300;

/// Handles `GET /api/v1/tasks/{id}/merge`.
pub(super) async fn look_at_task(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    look(&shared, scope, &visitor, (WorkKind::Task, &id)).await
}

/// Handles `GET /api/v1/workflows/{id}/merge`.
pub(super) async fn look_at_workflow(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    look(&shared, scope, &visitor, (WorkKind::Workflow, &id)).await
}

/// Handles `POST /api/v1/tasks/{id}/merge`.
pub(super) async fn merge_task(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, HttpProblem> {
    merge(&shared, scope, &visitor, (WorkKind::Task, &id), body).await
}

/// Handles `POST /api/v1/workflows/{id}/merge`.
pub(super) async fn merge_workflow(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, HttpProblem> {
    merge(&shared, scope, &visitor, (WorkKind::Workflow, &id), body).await
}

/// Returns the finished work that waits to be merged.
async fn waiting_work(shared: &HttpState, named: &NamedWork) -> Result<FinishedWork, HttpProblem> {
    let found = delivered::find(shared.desk.service(), named).await.map_err(|error| HttpProblem::fault(&error))?;
    let work = found.ok_or_else(|| without_work(named))?;
    match not_mergeable(&work) {
        Some(why) => Err(unmergeable(&work, &why)),
        None => Ok(work),
    }
}

async fn look(
    shared: &HttpState,
    scope: Scope,
    visitor: &Visitor,
    (kind, id): (WorkKind, &str),
) -> Result<Response, HttpProblem> {
    may_act(scope)?;
    let named = named_work(shared.desk.service(), kind, id).await?;
    let work = waiting_work(shared, &named).await?;
    let parts = WorkPlaceParts::of(shared)?;
    let landing = parts.landing(caller(visitor)).await?;
    let _one_of_few = shared.git_reads.acquire().await;
    let merge = WorkMerge { landing: &landing, work: &work, into: None };
    match merge.preview().await.map_err(|error| failed(&error))? {
        Ok(preview) => Ok(json(&preview_value(&work, &preview))),
        Err(LandingEnd::Done(record) | LandingEnd::Nothing(record)) => Ok(json(&nothing_value(&work, &record))),
        Err(LandingEnd::Stopped(LandingStop::Conflict { target, paths, .. })) => {
            Ok(json(&dialog(&work, &target, &[], (&texts(&paths), &LocalFiles::default()), 0)))
        }
        Err(LandingEnd::Stopped(stop)) => Err(stopped(&work, &stop)),
    }
}

fn preview_value(work: &FinishedWork, preview: &LandingPreview) -> Value {
    let LandingPreview { landing, local } = preview;
    let moved = if landing.is_moved { landing.moved_commits.max(1) } else { 0 };
    let none = Value::List(Vec::new());
    dialog(work, &landing.target, &landing.changes.list, (&none, local), moved)
}

fn nothing_value(work: &FinishedWork, record: &LandingRecord) -> Value {
    let none = Value::List(Vec::new());
    dialog(work, &record.target, &[], (&none, &LocalFiles::default()), 0)
}

/// Returns the merge as the page shows it before the person decides.
fn dialog(
    work: &FinishedWork,
    target: &str,
    files: &[ChangedFile],
    (conflict, local): (&Value, &LocalFiles),
    moved: u64,
) -> Value {
    let file = |file: &ChangedFile| {
        object([
            ("path", visible::one_line(&file.path).into()),
            ("added", file.added.into()),
            ("removed", file.removed.into()),
        ])
    };
    object([
        ("target", visible::one_line(target).into()),
        ("message", visible::one_line(&work.name).into()),
        ("files", Value::List(files.iter().take(FILES_MAX).map(file).collect())),
        ("tree", work.work.tree.as_str().into()),
        ("moved", moved.into()),
        ("checked", visible::one_line(&checked(work)).into()),
        ("dirty", texts(&local.stays)),
        ("blocked_by", texts(blocking(local.refusal.as_ref()))),
        ("conflict", conflict.clone()),
        ("command", format!("git merge {}", visible::one_line(&work.work.branch)).into()),
        ("seconds", seconds(work).filter(|_| moved > 0).into()),
    ])
}

/// Returns the person's files that stop the merge.
fn blocking(refusal: Option<&LandingRefusal>) -> &[String] {
    match refusal {
        Some(
            LandingRefusal::LocalChanges { files, .. }
            | LandingRefusal::InTheWay { files, .. }
            | LandingRefusal::Filtered { files, .. },
        ) => files,
        Some(
            LandingRefusal::Detached { .. }
            | LandingRefusal::Unfinished { .. }
            | LandingRefusal::BranchMissing { .. }
            | LandingRefusal::TargetMoved { .. }
            | LandingRefusal::CameAfter { .. },
        )
        | None => &[],
    }
}

fn checked(work: &FinishedWork) -> String {
    match &work.check {
        CheckOutcome::Checked { .. } => "Checked on exactly this tree".to_owned(),
        CheckOutcome::CheckedFlaky { command, run, of, .. } => {
            format!("Checked on exactly this tree; flaky: {command} passed on run {run} of {of}")
        }
        CheckOutcome::Unchecked { .. } | CheckOutcome::NoChanges => {
            let words = work.checked();
            let mut letters = words.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// Returns about how long the checks of the merged result take, in whole seconds.
fn seconds(work: &FinishedWork) -> Option<u64> {
    match &work.check {
        CheckOutcome::Checked { ms, .. } | CheckOutcome::CheckedFlaky { ms, .. } => Some(ms.div_ceil(1_000)),
        CheckOutcome::Unchecked { .. } | CheckOutcome::NoChanges => None,
    }
}

async fn merge(
    shared: &HttpState,
    scope: Scope,
    visitor: &Visitor,
    (kind, id): (WorkKind, &str),
    body: Body,
) -> Result<Response, HttpProblem> {
    may_act(scope)?;
    let tree = BodyFields::read(body, &["tree"]).await?.text("tree")?;
    let named = named_work(shared.desk.service(), kind, id).await?;
    let run = MergeRequest { shared, parts: WorkPlaceParts::of(shared)?, caller: caller(visitor) };
    let lock = run.parts.lock(run.caller.clone()).await?;
    // Read the work only under the lock: another merge may have ended while this one waited.
    let work = waiting_work(shared, &named).await?;
    if work.work.tree != tree {
        return Err(tree_changed(&work));
    }
    run.merge(lock, work).await
}

/// A merge that a person asked for over HTTP.
struct MergeRequest<'a> {
    shared: &'a HttpState,
    parts: WorkPlaceParts,
    caller: Caller,
}

impl MergeRequest<'_> {
    /// Merges the work. The checks of a moved branch end when the client leaves or its token is revoked; moving the
    /// branch and recording it do not.
    async fn merge(&self, mut lock: LandingLock, work: FinishedWork) -> Result<Response, HttpProblem> {
        for _ in 0..TRIES_MAX {
            let end = match self.prepare(&lock, &work).await? {
                Ok(ready) => {
                    let (free, end) = self.land(lock, work.clone(), ready).await?;
                    lock = free;
                    end
                }
                Err(end) => Some(end),
            };
            let (record, is_new) = match end {
                None => continue,
                Some(LandingEnd::Stopped(stop)) => return Err(stopped(&work, &stop)),
                Some(LandingEnd::Done(record)) => (record, true),
                Some(LandingEnd::Nothing(record)) => {
                    self.record(lock, work.clone(), record.clone()).await?;
                    (record, false)
                }
            };
            return Ok(json(&object([
                ("success", true.into()),
                ("task", work.number.map(u64::from).into()),
                ("into", visible::one_line(&record.target).into()),
                ("before", record.before.as_str().into()),
                ("commit", record.after.as_str().into()),
                ("is_new", is_new.into()),
            ])));
        }
        Err(stopped(&work, &LandingStop::TooManyCommits))
    }

    async fn prepare(
        &self,
        lock: &LandingLock,
        work: &FinishedWork,
    ) -> Result<Result<ReadyLanding, LandingEnd>, HttpProblem> {
        let landing = self.parts.landing(self.caller.clone()).await?;
        let merge = WorkMerge { landing: &landing, work, into: None };
        merge.prepare(lock, MergedChecks::Now, &mut QuietLanding).await.map_err(|error| failed(&error))
    }

    /// Moves the branch once, and records it. Returns the lock, and no end if the branch got a new commit.
    async fn land(
        &self,
        lock: LandingLock,
        work: FinishedWork,
        ready: ReadyLanding,
    ) -> Result<(LandingLock, Option<LandingEnd>), HttpProblem> {
        let (parts, caller) = (self.parts.clone(), self.caller.clone());
        let landing = async move {
            let landing = parts.landing(caller).await?;
            let merge = WorkMerge { landing: &landing, work: &work, into: None };
            let end = merge.land_once(&lock, &ready).await.map_err(|error| failed(&error))?;
            if let Some(LandingEnd::Done(record)) = &end {
                merge.record(record).await.map_err(|error| failed(&error))?;
            }
            Ok((lock, end))
        };
        to_the_end(self.shared, landing).await
    }

    /// Records work whose changes the branch already has.
    async fn record(&self, lock: LandingLock, work: FinishedWork, record: LandingRecord) -> Result<(), HttpProblem> {
        let (parts, caller) = (self.parts.clone(), self.caller.clone());
        let recording = async move {
            let landing = parts.landing(caller).await?;
            let merge = WorkMerge { landing: &landing, work: &work, into: None };
            merge.record(&record).await.map_err(|error| failed(&error))?;
            drop(lock);
            Ok(())
        };
        to_the_end(self.shared, recording).await
    }
}
