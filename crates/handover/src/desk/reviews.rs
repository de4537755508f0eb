//! Asks for reviews, shows them, and records decisions on findings (the reviewers' remarks). A reviewer may take long,
//! so a round of a review runs in the background. The caller waits for a limited time, or asks again later.

use std::path::PathBuf;

use engine::id::{ReviewId, TaskId};
use engine::review::Review;
use engine::turn::Spent;
use engine::view::{self, Reviewed};
use engine::{Actor, Command, Reply, Rights, World};
use wire::lifecycle::{
    Body, FindingReply, ReplyPart, ReviewAnswer, ReviewReply, ReviewRequest, ReviewStatusGet, ToolError, Within,
    is_running,
};

use super::task_reviews::TaskGate;
use super::waits::WantedChange;
use super::{Desk, DeskSurroundings, Stopped, ToolAnswer, ToolRequest, unexpected};
use agents::program::CutReason;
use base::people::principal::host;
use runner::review::program::ProviderProgram;
use runner::review::request::{ReviewedSubject, request as document};
use runner::review::{self, NoProvider, Provider, ReviewContext, RoundToRun};

/// The time that a call waits for a review when the call names no time, in seconds. It is below a minute, because
/// clients give up a call that is silent for a minute.
const WAIT_SECONDS_DEFAULT: u32 = 50;
/// The number of newest reviews that are searched for the caller's last review. To use an older review, the caller must
/// give its id.
const LOOKED_AT: u32 = 200;

/// The reviewer, and the folders and programs of this machine that are needed to start it.
struct ReviewGround {
    provider: Provider,
    state: PathBuf,
    store: String,
    binary: Option<PathBuf>,
}

impl Desk {
    pub(super) async fn review_request(&self, request: &ToolRequest<'_>, asked: &ReviewRequest) -> ToolAnswer {
        if request.visitor.seat.is_some() || review::is_below_a_turn() {
            let message = "a turn cannot ask for a review; the runner has the work reviewed when the task asks for it";
            return Err(Stopped::Said(said("NOT_PERMITTED", message, "end your turn with your output")));
        }
        // If an earlier call had the same idempotency key, return its review, which is running or answered, and start
        // no other.
        if let Some(known) = self.asked_before(request, asked).await? {
            return self.watched(request, known, wait(asked.wait_seconds, 0)).await;
        }
        let mut gate = self.task_gate(request, asked).await?;
        if gate.is_none() {
            self.may_ask(request).await?;
        }
        let known = match (asked.session, &mut gate) {
            (Some(id), _) => Some(self.service.view(move |world| view::review(world, id)).await?),
            (None, Some(gate)) => gate.known.take(),
            (None, None) => None,
        };
        let (named, artifact) = match &gate {
            Some(gate) => (self.reviewer_of(gate, known.as_ref(), asked)?, self.work_of(gate, asked).await?),
            None => (provider(asked, known.as_ref())?, content(asked).ok_or_else(no_content)?),
        };
        let ground = self.ground(&named)?;
        if let Some(known) = known.as_ref().filter(|known| known.review.provider != ground.provider.slug()) {
            let problem = format!(
                "is not the reviewer of {}, which is {}; leave `provider` out, or leave `session` \
                out for a new review",
                known.review.id, known.review.provider
            );
            return Err(engine::Refusal::InvalidInput { field: "provider".to_owned(), problem }.into());
        }
        let id = match &known {
            Some(known) => known.review.id,
            None => self.open_review(request, gate.as_ref(), &ground).await?,
        };
        let (iteration, findings) =
            known.as_ref().map_or((1, &[][..]), |known| (known.review.next(), known.findings.as_slice()));
        let bytes = document(iteration, &artifact, findings).to_string();
        let earlier = known.as_ref().map(spent).unwrap_or_default();
        self.begin_round(request, ground, (id, earlier), bytes).await?;
        self.watched(request, id, wait(asked.wait_seconds, WAIT_SECONDS_DEFAULT)).await
    }

    /// Refuses a caller that may not ask for a review. This is checked before the reviewer is looked up. Otherwise a
    /// caller without this right could get an error about the reviewer, which is not its problem.
    async fn may_ask(&self, request: &ToolRequest<'_>) -> Result<(), Stopped> {
        let open = engine::command::OpenReview { provider: "reviewer".to_owned(), gate: None, rounds_max: None };
        let caller = engine::Caller { key: None, ..request.caller.clone() };
        self.service.would(caller, Command::OpenReview(open)).await?;
        Ok(())
    }

    /// Returns the review that an earlier call with the same idempotency key asked for.
    async fn asked_before(
        &self,
        request: &ToolRequest<'_>,
        asked: &ReviewRequest,
    ) -> Result<Option<ReviewId>, Stopped> {
        if let Some(Ok(Reply::ReviewOpened { review })) = self.service.kept(&request.caller, "open_review").await? {
            return Ok(Some(review));
        }
        if self.service.kept(&request.caller, "start_round").await?.is_none() {
            return Ok(None);
        }
        match (asked.session, asked.task_id) {
            (Some(session), _) => Ok(Some(session)),
            // If the call names a task and no review session, the session is the review that belongs to the attempt,
            // that is, to the current claim on the task.
            (None, Some(task)) => {
                let attempt = self.attempt(task, asked.attempt).await?;
                let known = self.service.view(move |world| view::gating(world, task, attempt)).await?;
                Ok(known.map(|known| known.review.id))
            }
            (None, None) => Ok(None),
        }
    }

    fn ground(&self, named: &str) -> Result<ReviewGround, Stopped> {
        let DeskSurroundings { root, state, data, store, binary, .. } = &*self.surroundings;
        let provider = Provider::find(root.as_deref(), data.as_deref(), named).map_err(|problem| refused(&problem))?;
        let (Some(state), Some(store)) = (state.clone(), store.clone()) else {
            return Err(refused(&NoProvider::NoProject));
        };
        Ok(ReviewGround { provider, state, store, binary: binary.clone() })
    }

    async fn open_review(
        &self,
        request: &ToolRequest<'_>,
        gate: Option<&TaskGate>,
        ground: &ReviewGround,
    ) -> Result<ReviewId, Stopped> {
        let provider = ground.provider.slug().to_owned();
        let open = engine::command::OpenReview {
            provider,
            gate: gate.map(|gate| (gate.task, gate.attempt)),
            rounds_max: gate.and_then(|gate| gate.rounds_max),
        };
        let reply = self.service.execute(request.caller.clone(), Command::OpenReview(open)).await?;
        let Reply::ReviewOpened { review } = reply else { return Err(unexpected("review_request")) };
        Ok(review)
    }

    pub(super) async fn attempt(
        &self,
        task: TaskId,
        given: Option<wire::lifecycle::AttemptNumber>,
    ) -> Result<u32, Stopped> {
        match given {
            Some(Within(attempt)) => Ok(attempt),
            None => Ok(self.service.view(move |world| world.task(task).map(|task| task.attempt)).await?),
        }
    }

    /// Starts a round of a review in the background. Returns when the store has recorded the start, or when the round
    /// cannot start.
    async fn begin_round(
        &self,
        request: &ToolRequest<'_>,
        ground: ReviewGround,
        (id, earlier): (ReviewId, Spent),
        bytes: String,
    ) -> Result<(), Stopped> {
        let service = self.service.clone();
        let caller = request.caller.clone();
        let before = self.service.view(move |world| world.review(id).cloned()).await?;
        let task = self.reviews.spawn(async move {
            let host = host();
            let context = ReviewContext {
                service: &service,
                state: &ground.state,
                host: &host,
                caller,
                provider: &ground.provider,
            };
            let never = Box::pin(std::future::pending::<CutReason>());
            let around = (ground.state.as_path(), ground.store.as_str(), ground.binary.as_deref());
            let mut stage = ProviderProgram::new(&ground.provider, id, around, earlier, never);
            let which = RoundToRun { review: id, turn: None };
            review::round(&context, which, bytes.as_bytes(), &mut stage).await
        });
        let mut task = std::pin::pin!(task);
        let mut bell = self.service.bell();
        loop {
            let now = self.service.view(move |world| world.review(id).cloned()).await?;
            if now.status == engine::review::ReviewStatus::Running || now.rounds > before.rounds {
                return Ok(());
            }
            tokio::select! {
                ended = &mut task => {
                    // The round has ended. It may have got an answer since the review was last read, so read the review
                    // again before reporting that the round did not start.
                    let now = self.service.view(move |world| world.review(id).cloned()).await?;
                    return if now.rounds > before.rounds { Ok(()) } else { not_begun(ended) };
                }
                _ = bell.changed(std::time::Duration::from_secs(1)) => {}
            }
        }
    }

    /// Returns the review when it is answered. If the time ends before that, returns the review as it is at that
    /// moment.
    async fn watched(&self, request: &ToolRequest<'_>, id: ReviewId, seconds: u32) -> ToolAnswer {
        let mut waiting = self.waiting(request, seconds).await?;
        loop {
            let found = self.service.view(move |world| view::review(world, id)).await?;
            let reply = ReviewReply::of(&found, self.service.now());
            if !is_running(&found) || reply.status == "lost" || !waiting.more(self, WantedChange::Anything).await? {
                return Ok(reply.render());
            }
        }
    }

    pub(super) async fn review_status(&self, request: &ToolRequest<'_>, asked: &ReviewStatusGet) -> ToolAnswer {
        let id = match asked.session {
            Some(id) => id,
            None => self.last_review(request).await?,
        };
        self.watched(request, id, wait(asked.wait_seconds, 0)).await
    }

    pub(super) async fn review_answer(&self, request: &ToolRequest<'_>, asked: &ReviewAnswer) -> ToolAnswer {
        let (session, finding) = asked.place();
        let review = match session {
            Some(id) => id,
            None => self.last_review(request).await?,
        };
        let decide = Command::DecideFinding { review, finding, decision: asked.decision() };
        let reply = self.service.execute(request.caller.clone(), decide).await?;
        let Reply::FindingDecided { open } = reply else { return Err(unexpected("review_answer")) };
        Ok(FindingReply { success: true, session: review, open }.render())
    }

    /// Returns the review session for a call that names no session. If the caller belongs to a turn (one run of an
    /// agent's program by Handover's runner), it is the review of the turn's task. Otherwise it is the caller's newest
    /// review.
    async fn last_review(&self, request: &ToolRequest<'_>) -> Result<ReviewId, Stopped> {
        if let Some(seat) = request.visitor.seat {
            let found = self.service.view(move |world| view::gating(world, seat.task, seat.attempt)).await?;
            return found.map(|found| found.review.id).ok_or_else(none);
        }
        let who = match request.caller.rights {
            Rights::Person | Rights::Script => Some(Actor::Person),
            Rights::Coordinator => Some(Actor::Coordinator),
            Rights::Agent | Rights::Runner | Rights::Engine => self.acting(request).await?.map(Actor::Agent),
        };
        let found = self.service.view(move |world| newest(world, who)).await?;
        found.ok_or_else(none)
    }
}

fn newest(world: &World, who: Option<Actor>) -> Result<Option<ReviewId>, engine::DecisionStop> {
    let rows = view::reviews(world, None, LOOKED_AT)?.rows;
    // On a command line, Handover cannot tell whether the caller is a person or a coordinator (a caller that may act on
    // tasks of other agents). So each of them finds the reviews of both.
    let is_person = |who: Actor| matches!(who, Actor::Person | Actor::Coordinator);
    let own = |row: &&Review| Some(row.by) == who || (who.is_some_and(is_person) && is_person(row.by));
    Ok(rows.iter().find(own).map(|row| row.id))
}

fn none() -> Stopped {
    Stopped::Said(said("REVIEW_NOT_FOUND", "you have not asked for a review yet", "ask for one with review_request"))
}

/// Returns the total cost of a review's earlier rounds. Some reviewers continue their session and report the earlier
/// cost again, together with the new cost. This total is then subtracted from the reported cost.
fn spent(known: &Reviewed) -> Spent {
    known.rounds.iter().fold(Spent::default(), |sum, round| match &round.state {
        engine::review::RoundState::Answered(answered) => sum.and(answered.spent),
        engine::review::RoundState::Failed { spent, .. } => sum.and(*spent),
        engine::review::RoundState::Running { .. } => sum,
    })
}

/// Returns the content that the caller sent, as the artifact (the thing) to review; `None` if the call has no content.
pub(super) fn content(asked: &ReviewRequest) -> Option<ReviewedSubject> {
    let reference = asked.artifact_ref.as_ref().map(ToString::to_string);
    let media_type = asked.media_type.as_ref().map(ToString::to_string);
    Some(match asked.content.as_ref()? {
        Body::Text(text) => {
            ReviewedSubject::of_text(text.clone(), media_type.unwrap_or_else(|| "text/plain".to_owned()), reference)
        }
        Body::Object(value) => ReviewedSubject {
            media_type: media_type.unwrap_or_else(|| "application/json".to_owned()),
            content: value.clone(),
            reference,
            source: None,
        },
    })
}

fn no_content() -> Stopped {
    let problem = "is required: give the text to review, or the `task_id` of a task with a worktree".to_owned();
    engine::Refusal::InvalidInput { field: "content".to_owned(), problem }.into()
}

/// Returns the name of the reviewer for a review that belongs to no task: the reviewer that the call names, otherwise
/// the reviewer of the session.
fn provider(asked: &ReviewRequest, known: Option<&Reviewed>) -> Result<String, Stopped> {
    let named = asked.provider.as_ref().map(ToString::to_string);
    named.or_else(|| known.map(|known| known.review.provider.clone())).ok_or_else(|| {
        let problem =
            "is required when there is no `session`; name an agent or a role of .handover/config.toml".to_owned();
        engine::Refusal::InvalidInput { field: "provider".to_owned(), problem }.into()
    })
}

fn wait(asked: Option<Within<0, 50>>, default: u32) -> u32 {
    asked.map_or(default, |Within(seconds)| seconds)
}

type Joined = Result<Result<Option<review::ReviewResponse>, review::program::ReviewError>, tokio::task::JoinError>;

/// Turns the end of a review round that never started into a refusal. Such a round ends because the request is invalid,
/// or because it is not the next round.
fn not_begun(ended: Joined) -> Result<(), Stopped> {
    use review::program::ReviewError;
    use wire::feedback::ReviewOutcome;
    match ended {
        Ok(Ok(Some(answered))) => match answered.response.outcome {
            ReviewOutcome::Success(_) => Ok(()),
            ReviewOutcome::Error(failure) => {
                let field = "content".to_owned();
                Err(engine::Refusal::InvalidInput {
                    field,
                    problem: format!("cannot be reviewed: {}", failure.message),
                }
                .into())
            }
        },
        Ok(Ok(None)) => Ok(()),
        Ok(Err(ReviewError::Service(error))) => Err(error.into()),
        Ok(Err(ReviewError::Io(error))) => Err(base::Error::file("run the reviewer in", error).into()),
        Err(panicked) => Err(base::Error::file("run the reviewer in", std::io::Error::other(panicked)).into()),
    }
}

fn refused(problem: &NoProvider) -> Stopped {
    let text = problem.to_string();
    let (code, message) = text.split_once(' ').unwrap_or(("", &text));
    let said = match (problem, code) {
        (NoProvider::Untrusted(_), "NOT_TRUSTED") => said(
            "NOT_TRUSTED",
            message,
            "ask a person (message_send to `human`) to accept the commands with `handover trust`, then ask again",
        ),
        (NoProvider::Unknown { .. }, _) => {
            said("PROVIDER_UNKNOWN", message, "name an agent or a role that the message lists")
        }
        (NoProvider::NoProject, _) => said(
            "PROVIDER_UNKNOWN",
            &text,
            "ask a person (message_send to `human`) to run `handover init` in the project",
        ),
        _ => said(
            "PROVIDER_NOT_READY",
            &text,
            "ask a person (message_send to `human`) to fix what the message names, then ask again",
        ),
    };
    Stopped::Said(said)
}

pub(super) fn said(code: &'static str, message: &str, suggestion: &str) -> ToolError {
    let (message, suggestion) = (message.to_owned(), suggestion.to_owned());
    ToolError { code, message, recoverable: false, suggestion, details: None }
}
