//! The rules for reviews. Any caller may open a review, but only the runner records the answers of the reviewing agent.
//! If an agent could record answers, it could record "nothing found" for its own work.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::check;
use crate::command::{Actor, EndRound, FoundProblem, OpenReview, Rights, RoundEnd, StartRound};
use crate::event::Event;
use crate::id::ReviewId;
use crate::limits;
use crate::list::{FindingQuery, ReviewQuery};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::review::{
    Answered, Decided, Finding, FindingDecision, FindingState, Review, ReviewGate, ReviewRound, ReviewStatus,
    RoundState,
};
use crate::task::Task;
use crate::world::DecisionStop;

pub(crate) fn open(case: &mut Case<'_>, open: &OpenReview) -> Result<Reply, DecisionStop> {
    check::label("provider", &open.provider)?;
    let rounds_max = open.rounds_max.unwrap_or(limits::REVIEW_ROUNDS_DEFAULT);
    if !(1..=limits::REVIEW_ROUNDS_MAX).contains(&rounds_max) {
        return Err(Refusal::input("rounds_max", format!("must be 1 to {}", limits::REVIEW_ROUNDS_MAX)).into());
    }
    let (by, gate) = match open.gate {
        None => (case.actor()?, None),
        Some((id, attempt)) => {
            let (task, workflow) = case.task(id)?;
            let by = case.owner(task, Some(attempt))?;
            case.sign_of_life(by, task, workflow)?;
            (by, Some(ReviewGate { workflow: task.workflow, task: id, attempt }))
        }
    };
    if let (Actor::Agent(agent), None) = (by, gate) {
        case.touch(agent)?;
    }
    let review = Review {
        id: ReviewId::next(&mut case.ids),
        provider: open.provider.clone(),
        by,
        gate,
        rounds_max,
        rounds: 0,
        status: ReviewStatus::Opened,
        findings: 0,
        open: 0,
        conversation: None,
        opened: case.now,
        updated: case.now,
    };
    let reply = Reply::ReviewOpened { review: review.id };
    case.events.push(Event::ReviewOpened { review: Box::new(review) });
    Ok(reply)
}

/// Returns the actor under whose name the caller continues the review. If a task waits for the review, only the holder
/// of that task may continue the review. Otherwise only the actor that asked for the review may continue it. Callers
/// that may act on tasks of others may always continue it.
fn requester(case: &Case<'_>, review: &Review) -> Result<Actor, DecisionStop> {
    if let Some(gate) = review.gate {
        let (task, _) = case.task(gate.task)?;
        return case.owner(task, Some(gate.attempt));
    }
    let actor = case.actor()?;
    if actor == review.by || case.may_override() {
        return Ok(actor);
    }
    let problem = format!("{} belongs to {}, who asked for it", review.id, review.by);
    Err(Refusal::NotPermitted { problem }.into())
}

/// Returns all findings of the review so far.
fn findings<'a>(case: &Case<'a>, review: &Review) -> Result<&'a [Finding], DecisionStop> {
    if review.findings == 0 {
        return Ok(&[]);
    }
    let list = FindingQuery { review: review.id, after: 0, limit: limits::FINDINGS_MAX };
    Ok(case.world.ask(&list)?)
}

fn count(findings: &[Finding]) -> u32 {
    u32::try_from(findings.iter().filter(|finding| finding.is_open()).count()).unwrap_or(u32::MAX)
}

/// Starts a round of a review. The round is recorded before the reviewing agent is asked.
pub(crate) fn start(case: &mut Case<'_>, start: &StartRound) -> Result<Reply, DecisionStop> {
    check::name("host", &start.host)?;
    check::size("media_type", &start.artifact.media_type, limits::REVIEW_BYTES_MAX)?;
    check::optional(start.artifact.reference.as_deref(), |text| {
        check::size("artifact_ref", text, limits::REVIEW_BYTES_MAX)
    })?;
    start.decisions.iter().try_for_each(|(_, decision)| check_decision(decision))?;
    let review = case.world.review(start.review)?;
    let by = requester(case, review)?;
    if start.number != review.next() {
        return Err(Refusal::WrongIteration { review: review.id, expected: review.next() }.into());
    }
    if review.gate.is_some() && review.rounds >= review.rounds_max && case.rights != Rights::Person {
        return Err(Refusal::RoundsUsedUp { review: review.id, rounds: review.rounds }.into());
    }
    if review.rounds >= limits::REVIEW_ROUNDS_MAX || review.findings >= limits::FINDINGS_MAX {
        return Err(
            Refusal::state(format!("{} has reached its largest length; start another review", review.id)).into()
        );
    }
    let known = case.world.round(review.id, start.number)?;
    if let Some(ReviewRound { state: RoundState::Running { host, until }, .. }) = known
        && *host != start.host
        && *until > case.now
    {
        let problem = format!("iteration {} of {} is running on {host}; wait for its answer", start.number, review.id);
        return Err(Refusal::state(problem).into());
    }
    let mut all = findings(case, review)?.to_vec();
    let issued = all.iter().map(|finding| finding.name.clone()).collect();
    let mut told = Vec::new();
    for (name, decision) in &start.decisions {
        // Skip a decision about a finding that the review does not have. The reviewing agent answers that it does not
        // know the finding.
        if let Some(finding) = all.iter_mut().find(|finding| finding.name == *name) {
            let decided = Decided { decision: decision.clone(), by, at: case.now, told: Some(start.number) };
            finding.state = FindingState::Decided(Box::new(decided));
            told.push(finding.clone());
        }
    }
    let round = ReviewRound {
        review: review.id,
        number: start.number,
        tries: known.map_or(0, |round| round.tries) + 1,
        turn: start.turn,
        artifact: start.artifact.clone(),
        started: case.now,
        state: RoundState::Running { host: start.host.clone(), until: start.until },
    };
    let review = Review { status: ReviewStatus::Running, open: count(&all), updated: case.now, ..review.clone() };
    touch(case, by, &review)?;
    let reply = Reply::RoundStarted { tries: round.tries, issued };
    case.events.push(Event::RoundStarted { review: Box::new(review), round: Box::new(round), decided: told });
    Ok(reply)
}

fn touch(case: &mut Case<'_>, by: Actor, review: &Review) -> Result<(), DecisionStop> {
    match (review.gate, by) {
        (Some(gate), _) => {
            let (task, workflow) = case.task(gate.task)?;
            case.sign_of_life(by, task, workflow)
        }
        (None, Actor::Agent(agent)) => case.touch(agent),
        (None, Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine) => Ok(()),
    }
}

fn check_decision(decision: &FindingDecision) -> Result<(), Refusal> {
    check::optional(decision.code.as_deref(), |text| check::size("code", text, limits::REVIEW_BYTES_MAX))?;
    check::optional(decision.explanation.as_deref(), |text| check::size("reason", text, limits::REVIEW_BYTES_MAX))
}

/// Records the result of a round of a review, even when the claim that waited for the review has ended in the meantime.
pub(crate) fn end(case: &mut Case<'_>, end: &EndRound) -> Result<Reply, DecisionStop> {
    match case.rights {
        Rights::Runner | Rights::Engine => {}
        Rights::Agent | Rights::Coordinator | Rights::Script | Rights::Person => {
            let problem = "only the process that asked the reviewer may record its answer".to_owned();
            return Err(Refusal::NotPermitted { problem }.into());
        }
    }
    let review = case.world.review(end.review)?;
    let round = case.world.round(review.id, end.number)?;
    let ours = |round: &&ReviewRound| round.tries == end.tries && matches!(round.state, RoundState::Running { .. });
    let Some(round) = round.filter(ours) else {
        let problem =
            format!("iteration {} of {} has ended, or was started again by another process", end.number, review.id);
        return Err(Refusal::state(problem).into());
    };
    let mut all = findings(case, review)?.to_vec();
    let (state, given, conversation) = match &end.end {
        RoundEnd::Failed { code, message, conversation, spent } => {
            check::label("code", code)?;
            check::size("message", message, limits::REVIEW_BYTES_MAX)?;
            let (code, message, spent) = (code.clone(), message.clone(), *spent);
            (RoundState::Failed { at: case.now, code, message, spent }, Vec::new(), conversation)
        }
        RoundEnd::Answered(answer) => {
            check::label("confidence", &answer.confidence)?;
            check::size("summary", &answer.summary, limits::REVIEW_BYTES_MAX)?;
            check::count("findings", answer.found.len(), limits::FOUND_MAX)?;
            let given = merge(review, end.number, &mut all, &answer.found)?;
            let answered = Answered {
                at: case.now,
                confidence: answer.confidence.clone(),
                summary: answer.summary.clone(),
                found: u32::try_from(given.len()).unwrap_or(u32::MAX),
                response: answer.response.clone(),
                spent: answer.spent,
            };
            (RoundState::Answered(Box::new(answered)), given, &answer.conversation)
        }
    };
    check::optional(conversation.as_deref(), |text| check::name("conversation", text))?;
    let review = Review {
        status: state.status(),
        rounds: end.number,
        findings: u32::try_from(all.len()).unwrap_or(u32::MAX),
        open: count(&all),
        conversation: conversation.clone().or_else(|| review.conversation.clone()),
        updated: case.now,
        ..review.clone()
    };
    let round = ReviewRound { state, ..round.clone() };
    let reply = Reply::RoundEnded { found: u32::try_from(given.len()).unwrap_or(u32::MAX), open: review.open };
    case.events.push(Event::RoundEnded { review: Box::new(review), round: Box::new(round), findings: given });
    Ok(reply)
}

/// Merges the findings of a round into `all`, the findings of the whole review. A finding that is given again keeps
/// its number and becomes open again. Returns the findings of the round.
fn merge(
    review: &Review,
    round: u32,
    all: &mut Vec<Finding>,
    found: &[FoundProblem],
) -> Result<Vec<Finding>, DecisionStop> {
    let mut places: BTreeMap<String, usize> =
        all.iter().enumerate().map(|(place, finding)| (finding.name.clone(), place)).collect();
    let mut seen = BTreeSet::new();
    let mut given = Vec::new();
    for FoundProblem { name, aspect, description, recommendation } in found {
        check::label("id", name)?;
        for (field, text) in [("aspect", aspect), ("description", description), ("recommendation", recommendation)] {
            check::size(field, text, limits::REVIEW_BYTES_MAX)?;
        }
        if !seen.insert(name) {
            return Err(Refusal::input("id", format!("names {name} twice")).into());
        }
        let place = places.get(name).copied();
        let number = place.and_then(|place| all.get(place)).map(|known| known.number);
        let finding = Finding {
            review: review.id,
            name: name.clone(),
            number: number.unwrap_or_else(|| u32::try_from(all.len()).unwrap_or(u32::MAX).saturating_add(1)),
            round,
            aspect: aspect.clone(),
            description: description.clone(),
            recommendation: recommendation.clone(),
            state: FindingState::Open,
        };
        given.push(finding.clone());
        match place.and_then(|place| all.get_mut(place)) {
            Some(known) => *known = finding,
            None => {
                places.insert(name.clone(), all.len());
                all.push(finding);
            }
        }
    }
    if u32::try_from(all.len()).unwrap_or(u32::MAX) > limits::FINDINGS_MAX {
        return Err(Refusal::state(format!("{} has more than {} findings", review.id, limits::FINDINGS_MAX)).into());
    }
    Ok(given)
}

/// Records a decision about a finding. The new decision replaces an earlier one. The next round sends the decision to
/// the reviewing agent.
pub(crate) fn decide(
    case: &mut Case<'_>,
    id: ReviewId,
    name: &str,
    decision: &FindingDecision,
) -> Result<Reply, DecisionStop> {
    check_decision(decision)?;
    check::label("finding", name)?;
    let review = case.world.review(id)?;
    let by = requester(case, review)?;
    let known = case.world.finding(id, name)?;
    let known = known.ok_or_else(|| Refusal::FindingNotFound { review: id, finding: name.to_owned() })?;
    let decided = Decided { decision: decision.clone(), by, at: case.now, told: None };
    let finding = Finding { state: FindingState::Decided(Box::new(decided)), ..known.clone() };
    let open = review.open.saturating_sub(u32::from(known.is_open()));
    let review = Review { open, updated: case.now, ..review.clone() };
    touch(case, by, &review)?;
    case.events.push(Event::FindingDecided { review: Box::new(review), finding: Box::new(finding) });
    Ok(Reply::FindingDecided { open })
}

/// The maximum number of reviews of one task that are read. The newest reviews are read; older reviews do not count.
const GATES: u32 = 20;

/// Refuses to complete a task that needs a review, if the task has not been reviewed or if a finding has no decision.
pub(crate) fn is_passed(case: &Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    if !task.review {
        return Ok(());
    }
    let list = ReviewQuery::OfTask { task: task.id, limit: GATES };
    let rows = case.world.ask(&list)?;
    let own = |review: &&Review| review.gate.is_some_and(|gate| gate.attempt == task.attempt);
    let mut open = rows.iter().filter(own).filter(|review| review.open > 0);
    if let Some(review) = open.next() {
        return Err(Refusal::FindingsOpen { task: task.id, review: review.id, open: review.open }.into());
    }
    if case.rights == Rights::Person {
        return Ok(());
    }
    let newest = rows.iter().find(own).filter(|review| review.status == ReviewStatus::Answered);
    let Some(review) = newest else {
        return Err(Refusal::ReviewRequired { task: task.id, changed_since: None }.into());
    };
    is_what_was_reviewed(case, task, review)
}

/// Refuses to complete a task whose work differs from the state that its reviewer saw last. A runner that completes a
/// task gives no state to compare, because it reviews and merges the same commit itself.
fn is_what_was_reviewed(case: &Case<'_>, task: &Task, review: &Review) -> Result<(), DecisionStop> {
    let work = &case.caller.work;
    if case.rights == Rights::Runner && work.is_none() {
        return Ok(());
    }
    let round = case.world.round(review.id, review.rounds)?;
    if round.is_some_and(|round| round.artifact.reference == *work) {
        return Ok(());
    }
    Err(Refusal::ReviewRequired { task: task.id, changed_since: Some(review.id) }.into())
}
