//! Checks every kind of need (a request for rows that a decision reads) with its edge cases, such as no row, the first
//! row, the last row, and one row more than the need allows.

use std::sync::Arc;

use engine::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, SessionId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use engine::inbox::{MailboxOwner, RecipientMatch};
use engine::key::KeyId;
use engine::notice::{Channel, NoticeWay};
use engine::tables::Tables;
use engine::world::{
    AgentIdNeed, ApprovalNeed, BoolNeed, Candidates, CheckpointNeed, FreedNeed, InboxNeed, NumberNeed, OpenEdgeNeed,
    TaskIdNeed, TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};
use engine::{Need, Timestamp, World};

use super::must;
use crate::Store;

/// Checks that the store answers every need (request for rows) like the tables of the engine. Asks for all needs in one
/// call. When the answers differ, asks for each need alone, to name the need with the wrong answer.
pub(super) async fn same_answers(store: &dyn Store, tables: &Tables, now: Timestamp) {
    let needs = all(tables, now);
    if look(store, needs.clone()).await == expected(tables, &needs) {
        return;
    }
    for need in needs {
        let one = [need.clone()];
        assert_eq!(look(store, one.to_vec()).await, expected(tables, &one), "the answer to {need:?}");
    }
    panic!("every need is answered rightly alone, but not together");
}

async fn look(store: &dyn Store, needs: Vec<Need>) -> World {
    must(store.look(needs, Arc::new(|_| Vec::new())).await, "look")
}

fn expected(tables: &Tables, needs: &[Need]) -> World {
    let mut world = World::default();
    needs.iter().for_each(|need| tables.answer(need, &mut world));
    world
}

/// The needs (requests for rows) that the test asks the store for.
#[derive(Debug, Default)]
pub(super) struct NeedList(Vec<Need>);

impl NeedList {
    pub(super) fn add<N: Into<Need>>(&mut self, needs: impl IntoIterator<Item = N>) {
        self.0.extend(needs.into_iter().map(N::into));
    }
}

/// Returns some keys of a table: the first, the last and some between them. Also returns `strangers`, which are keys
/// that do not exist in the table.
pub(super) fn some<K: Clone>(keys: impl Iterator<Item = K>, strangers: impl IntoIterator<Item = K>) -> Vec<K> {
    let all: Vec<K> = keys.collect();
    let step = all.len().div_ceil(12).max(1);
    all.iter().step_by(step).chain(all.last()).cloned().chain(strangers).collect()
}

fn all(tables: &Tables, now: Timestamp) -> Vec<Need> {
    let mut needs = NeedList::default();
    for id in some(tables.tasks.keys().copied(), [TaskId::FIRST, TaskId::LAST]) {
        of_task(tables, id, &mut needs);
    }
    for id in some(tables.workflows.keys().copied(), [WorkflowId::FIRST, WorkflowId::LAST]) {
        of_workflow(tables, id, now, &mut needs);
    }
    of_agents(tables, &mut needs);
    of_messages(tables, &mut needs);
    for time in moments(tables, now) {
        needs.add([WorkflowIdNeed::WithExpired(time)]);
    }
    needs.add([NumberNeed::LastTaskNumber]);
    needs.add([WorkflowIdNeed::Standing]);
    let branches = tables.workflows.values().filter_map(|row| row.branch.clone());
    needs.add(some(branches, ["none".to_owned()]).into_iter().map(WorkflowIdNeed::WithBranch));
    needs.add([NumberNeed::Conditions]);
    let stranger = (engine::condition::ConditionKind::TipFailed, "none".to_owned());
    let conditions = some(tables.conditions.keys().cloned(), [stranger]);
    needs.add(conditions.into_iter().map(|(kind, subject)| Need::Condition(kind, subject)));
    let delivered = some(tables.deliveries.keys().copied(), [TaskId::LAST]);
    needs.add(delivered.into_iter().map(Need::Delivery));
    let delivered = some(tables.workflow_deliveries.keys().copied(), [WorkflowId::LAST]);
    needs.add(delivered.into_iter().map(Need::WorkflowDelivery));
    needs.add(some(tables.workspaces.keys().copied(), [WorkspaceId::LAST]).into_iter().map(Need::Workspace));
    needs.add(some(tables.repositories.keys().copied(), [RepositoryId::LAST]).into_iter().map(Need::Repository));
    let paths = tables.repositories.values().map(|repository| repository.path.clone());
    needs.add(some(paths, ["/nowhere".to_owned(), String::new()]).into_iter().map(Need::RepositoryAt));
    needs.add(some(tables.templates.keys().copied(), [TemplateId::LAST]).into_iter().map(Need::Template));
    let names = tables.templates.values().map(|template| template.name.clone());
    needs.add(some(names, ["none".to_owned()]).into_iter().map(BoolNeed::TemplateNamed));
    let stranger = KeyId { owner: "token a".to_owned(), act: "claim".to_owned(), key: "none".to_owned() };
    needs.add(some(tables.keys.keys().cloned(), [stranger]).into_iter().map(Need::Key));
    needs.add(some(tables.tokens.keys().copied(), [TokenId::LAST]).into_iter().map(Need::Token));
    let hashes = tables.tokens.values().map(|token| token.hash.clone());
    needs.add(some(hashes, ["none".to_owned()]).into_iter().map(Need::TokenHashed));
    needs.add(some(tables.turns.keys().copied(), [TurnId::LAST]).into_iter().map(Need::Turn));
    needs.add(some(tables.sections.keys().cloned(), ["none".to_owned()]).into_iter().map(Need::Section));
    needs.add(some(tables.runners.keys().cloned(), ["none".to_owned()]).into_iter().map(Need::Runner));
    needs.add(some(tables.approvals.keys().copied(), [ApprovalId::LAST]).into_iter().map(Need::Approval));
    needs.add(NoticeWay::ALL.iter().map(|way| Need::ToldItems(*way)));
    needs.add([engine::world::PutOffNeed]);
    for id in some(tables.approvals.keys().copied(), [ApprovalId::LAST]) {
        needs.add(Channel::ALL.iter().map(|channel| Need::Notice(id, *channel)));
    }
    let seals = tables.approvals.values().map(|row| row.fingerprint.clone());
    for seal in some(seals, ["none".to_owned()]) {
        needs.add([ApprovalNeed::Sealed(seal.clone()), ApprovalNeed::Refused(seal)]);
    }
    let reminded = tables.reminders.keys().cloned();
    let stranger = ("none".to_owned(), String::new());
    needs.add(some(reminded, [stranger]).into_iter().map(|(whose, part)| Need::Reminder(whose, part)));
    needs.add(some(tables.reviews.keys().copied(), [ReviewId::LAST]).into_iter().map(Need::Review));
    let rounds = some(tables.rounds.keys().copied(), [(ReviewId::LAST, 1), (ReviewId::FIRST, 0)]);
    needs.add(rounds.into_iter().map(|(review, number)| Need::Round(review, number)));
    let findings = some(tables.findings.keys().cloned(), [(ReviewId::LAST, "none".to_owned())]);
    needs.add(findings.into_iter().map(|(review, name)| Need::Finding(review, name)));
    super::lists::all(tables, now, &mut needs);
    needs.0
}

fn of_task(tables: &Tables, id: TaskId, needs: &mut NeedList) {
    needs.add([
        Need::Task(id),
        Need::Detail(id),
        Need::TurnRunning(id),
        UnmetNeed(id).into(),
        FreedNeed(id).into(),
        TaskRowNeed::OpenAncestors(id).into(),
    ]);
    needs.add([TaskIdNeed::Dependencies(id), TaskIdNeed::Dependents(id)]);
    needs.add([NumberNeed::Turns(id), NumberNeed::Verifications(id)]);
    let last = tables.tasks.get(&id).map_or(0, |task| task.checkpoints);
    for after in [0, last / 2, last, u32::MAX - 1] {
        needs.add([0, 1, 2, 500].map(|limit| CheckpointNeed { task: id, after, limit }));
    }
}

/// Returns the times for needs about leases: the lowest and the highest possible time, the present time, and for some
/// of the leases the end and the millisecond before the end.
fn moments(tables: &Tables, now: Timestamp) -> Vec<Timestamp> {
    let ends = tables.tasks.values().filter_map(|task| task.state.lease()).map(|lease| lease.until);
    let around = some(ends, []).into_iter().flat_map(|end| [Timestamp(end.0 - 1), end]);
    around.chain([Timestamp(0), now, Timestamp(i64::MAX)]).collect()
}

fn of_workflow(tables: &Tables, id: WorkflowId, now: Timestamp, needs: &mut NeedList) {
    needs.add([Need::Workflow(id), Need::WorkflowDetail(id), OpenEdgeNeed(id).into()]);
    needs.add([TaskRowNeed::Removable(id), TaskRowNeed::Open(id)]);
    needs.add([BoolNeed::UnmergedRequest(id)]);
    for time in moments(tables, now) {
        needs.add([NumberNeed::Running(id, time)]);
        needs.add([TaskRowNeed::BusyFiles(id, time)]);
        needs.add([TaskIdNeed::Expired(id, time)]);
    }
    let own: Vec<_> = tables.tasks.values().filter(|task| task.workflow == id).collect();
    let names = some(own.iter().map(|task| task.name.clone()), ["none".to_owned(), "'".to_owned()]);
    needs.add(names.into_iter().map(|name| TaskIdNeed::Named(id, name)));
    let places = own.iter().map(|task| (task.priority.get(), task.sequence, task.id));
    let places = some(places, [(0, 0, TaskId::FIRST), (u8::MAX, u32::MAX, TaskId::LAST)]);
    for after in places.into_iter().map(Some).chain([None]) {
        for (failed, limit) in [(false, 0), (false, 1), (false, 3), (false, 500), (true, 1), (true, 500)] {
            needs.add([TaskRowNeed::Candidates(Candidates { workflow: id, failed, after, limit })]);
        }
    }
    for repository in some(tables.repositories.keys().copied(), [RepositoryId::FIRST]) {
        needs.add([BoolNeed::RepositoryUsed(id, repository).into(), Need::Attached(id, repository)]);
    }
    for workspace in some(tables.workspaces.keys().copied(), [WorkspaceId::FIRST]) {
        needs.add([BoolNeed::OtherUnmergedRequest(id, workspace)]);
        needs.add([TaskIdNeed::HeldIn(id, workspace)]);
    }
}

fn of_agents(tables: &Tables, needs: &mut NeedList) {
    for id in some(tables.agents.keys().copied(), [AgentId::FIRST, AgentId::LAST]) {
        needs.add([Need::Agent(id), TaskIdNeed::HeldBy(id).into(), BoolNeed::HoldsMost(id).into()]);
        needs.add([WorkflowIdNeed::LockedBy(id.to_string())]);
    }
    needs.add(["somebody", "nobody", ""].map(|owner| WorkflowIdNeed::LockedBy(owner.to_owned())));
    let slugs = some(tables.agents.values().map(|agent| agent.slug.clone()), ["bob", "kim", "none"].map(str::to_owned));
    for slug in slugs {
        needs.add([AgentIdNeed::WithSlug(slug.clone())]);
        needs.add([NumberNeed::SlugNumber(slug.clone())]);
        // A registration with a repeated name asks for the part of the slug before the number (`ada` of `ada-2`). So
        // this test also asks for that part.
        if let Some((base, _)) = slug.rsplit_once('-') {
            needs.add([NumberNeed::SlugNumber(base.to_owned())]);
        }
    }
    let sessions = tables.agents.values().filter_map(|agent| agent.session);
    needs.add(some(sessions, [SessionId::FIRST, SessionId::LAST]).into_iter().map(AgentIdNeed::OfSession));
    let same = tables.agents.values().map(|agent| (agent.name.clone(), agent.runtime.clone()));
    let strangers = [("none".to_owned(), "exec".to_owned()), (String::new(), String::new())];
    let same = some(same, strangers).into_iter();
    needs.add(same.map(|(name, runtime)| AgentIdNeed::Same { name, runtime }));
    let origins = tables.agents.values().map(|agent| agent.origin.clone());
    let (names, calls): (Vec<_>, Vec<_>) = origins.map(|origin| (origin.conversation, origin.call)).unzip();
    let strangers = || ["none".to_owned(), String::new()];
    needs.add(some(names.into_iter().flatten(), strangers()).into_iter().map(AgentIdNeed::OfConversation));
    needs.add(some(calls.into_iter().flatten(), strangers()).into_iter().map(AgentIdNeed::OfCall));
    needs.add(["worker", "infra", "crowd", "none", ""].map(|role| AgentIdNeed::WithRole(role.to_owned())));
    let words = [None, Some("worker"), Some("exec"), Some("none"), Some("")];
    let word = |word: Option<&str>| word.map(str::to_owned);
    for (role, runtime) in words.iter().flat_map(|role| words.iter().map(move |runtime| (*role, *runtime))) {
        for workflow in [None, tables.workflows.keys().next().copied(), Some(WorkflowId::LAST)] {
            let filter = RecipientMatch { role: word(role), runtime: word(runtime), workflow, include_silent: true };
            needs.add([AgentIdNeed::Matching(filter)]);
        }
    }
}

fn of_messages(tables: &Tables, needs: &mut NeedList) {
    needs.add(some(tables.messages.keys().copied(), [MessageId::LAST]).into_iter().map(Need::Message));
    let agents = some(tables.agents.keys().copied(), [AgentId::LAST]).into_iter().map(MailboxOwner::Agent);
    for owner in agents.chain([MailboxOwner::Human]) {
        needs.add([Need::Mailbox(owner)]);
        let last = tables.mailboxes.get(&owner).map_or(0, |mailbox| mailbox.sequence);
        for (unread, after) in [true, false].into_iter().flat_map(|unread| [0, last / 2, last].map(|at| (unread, at))) {
            needs.add([0, 1, 3, 500].map(|limit| InboxNeed { owner, unread, after, limit }));
        }
    }
}
