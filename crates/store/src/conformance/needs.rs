//! Checks every kind of need (a request for rows that a decision reads) with its edge cases: no row, the first, the
//! last, one more than the limit, no limit.

use std::sync::Arc;

use engine::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, SessionId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use engine::inbox::{MailboxOwner, RecipientMatch};
use engine::key::KeyId;
use engine::notice::Channel;
use engine::tables::Tables;
use engine::world::Candidates;
use engine::{Need, Timestamp, World};

use super::must;
use crate::Store;

/// Checks that the store answers every need like the tables of the engine: first all needs in one call, then each need
/// in its own call.
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

/// Returns the first and last keys, some keys between them, and the given keys that do not exist.
pub(super) fn some<K: Clone>(keys: impl Iterator<Item = K>, strangers: impl IntoIterator<Item = K>) -> Vec<K> {
    let all: Vec<K> = keys.collect();
    let step = all.len().div_ceil(12).max(1);
    all.iter().step_by(step).chain(all.last()).cloned().chain(strangers).collect()
}

fn all(tables: &Tables, now: Timestamp) -> Vec<Need> {
    let mut needs = Vec::new();
    for id in some(tables.tasks.keys().copied(), [TaskId::FIRST, TaskId::LAST]) {
        of_task(tables, id, &mut needs);
    }
    for id in some(tables.workflows.keys().copied(), [WorkflowId::FIRST, WorkflowId::LAST]) {
        of_workflow(tables, id, now, &mut needs);
    }
    of_agents(tables, &mut needs);
    of_messages(tables, &mut needs);
    for time in moments(tables, now) {
        needs.push(Need::ExpiredAnywhere(time));
    }
    needs.extend(some(tables.workspaces.keys().copied(), [WorkspaceId::LAST]).into_iter().map(Need::Workspace));
    needs.extend(some(tables.repositories.keys().copied(), [RepositoryId::LAST]).into_iter().map(Need::Repository));
    let paths = tables.repositories.values().map(|repository| repository.path.clone());
    needs.extend(some(paths, ["/nowhere".to_owned(), String::new()]).into_iter().map(Need::RepositoryAt));
    needs.extend(some(tables.templates.keys().copied(), [TemplateId::LAST]).into_iter().map(Need::Template));
    let names = tables.templates.values().map(|template| template.name.clone());
    needs.extend(some(names, ["none".to_owned()]).into_iter().map(Need::TemplateNamed));
    let stranger = KeyId { owner: "token a".to_owned(), act: "claim".to_owned(), key: "none".to_owned() };
    needs.extend(some(tables.keys.keys().cloned(), [stranger]).into_iter().map(Need::Key));
    needs.extend(some(tables.tokens.keys().copied(), [TokenId::LAST]).into_iter().map(Need::Token));
    let hashes = tables.tokens.values().map(|token| token.hash.clone());
    needs.extend(some(hashes, ["none".to_owned()]).into_iter().map(Need::TokenHashed));
    needs.extend(some(tables.turns.keys().copied(), [TurnId::LAST]).into_iter().map(Need::Turn));
    needs.extend(some(tables.sections.keys().cloned(), ["none".to_owned()]).into_iter().map(Need::Section));
    needs.extend(some(tables.runners.keys().cloned(), ["none".to_owned()]).into_iter().map(Need::Runner));
    needs.extend(some(tables.approvals.keys().copied(), [ApprovalId::LAST]).into_iter().map(Need::Approval));
    for id in some(tables.approvals.keys().copied(), [ApprovalId::LAST]) {
        needs.extend(Channel::ALL.iter().map(|channel| Need::Notice(id, *channel)));
    }
    let seals = tables.approvals.values().map(|row| row.fingerprint.clone());
    for seal in some(seals, ["none".to_owned()]) {
        needs.extend([Need::ApprovalSealed(seal.clone()), Need::ApprovalRefused(seal)]);
    }
    let reminded = tables.reminders.keys().cloned();
    let stranger = ("none".to_owned(), String::new());
    needs.extend(some(reminded, [stranger]).into_iter().map(|(whose, part)| Need::Reminder(whose, part)));
    needs.extend(some(tables.reviews.keys().copied(), [ReviewId::LAST]).into_iter().map(Need::Review));
    let rounds = some(tables.rounds.keys().copied(), [(ReviewId::LAST, 1), (ReviewId::FIRST, 0)]);
    needs.extend(rounds.into_iter().map(|(review, number)| Need::Round(review, number)));
    let findings = some(tables.findings.keys().cloned(), [(ReviewId::LAST, "none".to_owned())]);
    needs.extend(findings.into_iter().map(|(review, name)| Need::Finding(review, name)));
    needs.extend(super::lists::all(tables, now).into_iter().map(Need::List));
    needs
}

fn of_task(tables: &Tables, id: TaskId, needs: &mut Vec<Need>) {
    needs.extend([
        Need::Task(id),
        Need::Detail(id),
        Need::Unmet(id),
        Need::Freed(id),
        Need::Dependencies(id),
        Need::Dependents(id),
        Need::TurnCount(id),
        Need::TurnRunning(id),
        Need::VerificationCount(id),
    ]);
    let last = tables.tasks.get(&id).map_or(0, |task| task.checkpoints);
    for after in [0, last / 2, last, u32::MAX - 1] {
        needs.extend([0, 1, 2, 500].map(|limit| Need::Checkpoints { task: id, after, limit }));
    }
}

/// Returns the moments to ask for: the beginning of time, now, the end of time, and the ends of leases with the
/// millisecond before each.
fn moments(tables: &Tables, now: Timestamp) -> Vec<Timestamp> {
    let ends = tables.tasks.values().filter_map(|task| task.state.lease()).map(|lease| lease.until);
    let around = some(ends, []).into_iter().flat_map(|end| [Timestamp(end.0 - 1), end]);
    around.chain([Timestamp(0), now, Timestamp(i64::MAX)]).collect()
}

fn of_workflow(tables: &Tables, id: WorkflowId, now: Timestamp, needs: &mut Vec<Need>) {
    needs.extend([Need::Workflow(id), Need::WorkflowDetail(id), Need::Removable(id), Need::UnmergedRequest(id)]);
    for time in moments(tables, now) {
        needs.extend([Need::Running(id, time), Need::BusyFiles(id, time), Need::Expired(id, time)]);
    }
    let own: Vec<_> = tables.tasks.values().filter(|task| task.workflow == id).collect();
    let names = some(own.iter().map(|task| task.name.clone()), ["none".to_owned(), "'".to_owned()]);
    needs.extend(names.into_iter().map(|name| Need::TaskNamed(id, name)));
    let places = own.iter().map(|task| (task.priority.get(), task.sequence, task.id));
    let places = some(places, [(0, 0, TaskId::FIRST), (u8::MAX, u32::MAX, TaskId::LAST)]);
    for after in places.into_iter().map(Some).chain([None]) {
        for (failed, limit) in [(false, 0), (false, 1), (false, 3), (false, 500), (true, 1), (true, 500)] {
            needs.push(Need::Candidates(Candidates { workflow: id, failed, after, limit }));
        }
    }
    for repository in some(tables.repositories.keys().copied(), [RepositoryId::FIRST]) {
        needs.extend([Need::RepositoryUsed(id, repository), Need::Attached(id, repository)]);
    }
    for workspace in some(tables.workspaces.keys().copied(), [WorkspaceId::FIRST]) {
        needs.extend([Need::OtherUnmergedRequest(id, workspace), Need::HeldIn(id, workspace)]);
    }
}

fn of_agents(tables: &Tables, needs: &mut Vec<Need>) {
    for id in some(tables.agents.keys().copied(), [AgentId::FIRST, AgentId::LAST]) {
        needs.extend([Need::Agent(id), Need::Held(id), Need::HoldsMost(id), Need::LockedBy(id.to_string())]);
    }
    needs.extend(["somebody", "nobody", ""].map(|owner| Need::LockedBy(owner.to_owned())));
    let slugs = some(tables.agents.values().map(|agent| agent.slug.clone()), ["bob", "kim", "none"].map(str::to_owned));
    for slug in slugs {
        needs.extend([Need::Slug(slug.clone()), Need::SlugNumber(slug.clone())]);
        // A registration with a repeated name asks for the part of the slug before the number (`ada` of `ada-2`). Ask
        // for that part, too.
        if let Some((base, _)) = slug.rsplit_once('-') {
            needs.push(Need::SlugNumber(base.to_owned()));
        }
    }
    let sessions = tables.agents.values().filter_map(|agent| agent.session);
    needs.extend(some(sessions, [SessionId::FIRST, SessionId::LAST]).into_iter().map(Need::SessionAgents));
    let origins = tables.agents.values().map(|agent| agent.origin.clone());
    let (names, calls): (Vec<_>, Vec<_>) = origins.map(|origin| (origin.conversation, origin.call)).unzip();
    let strangers = || ["none".to_owned(), String::new()];
    needs.extend(some(names.into_iter().flatten(), strangers()).into_iter().map(Need::ConversationAgents));
    needs.extend(some(calls.into_iter().flatten(), strangers()).into_iter().map(Need::CalledAgents));
    needs.extend(["worker", "infra", "crowd", "none", ""].map(|role| Need::RoleHolders(role.to_owned())));
    let words = [None, Some("worker"), Some("exec"), Some("none"), Some("")];
    let word = |word: Option<&str>| word.map(str::to_owned);
    for (role, runtime) in words.iter().flat_map(|role| words.iter().map(move |runtime| (*role, *runtime))) {
        for workflow in [None, tables.workflows.keys().next().copied(), Some(WorkflowId::LAST)] {
            let filter = RecipientMatch { role: word(role), runtime: word(runtime), workflow, include_silent: true };
            needs.push(Need::Agents(filter));
        }
    }
}

fn of_messages(tables: &Tables, needs: &mut Vec<Need>) {
    needs.extend(some(tables.messages.keys().copied(), [MessageId::LAST]).into_iter().map(Need::Message));
    let agents = some(tables.agents.keys().copied(), [AgentId::LAST]).into_iter().map(MailboxOwner::Agent);
    for owner in agents.chain([MailboxOwner::Human]) {
        needs.push(Need::Mailbox(owner));
        let last = tables.mailboxes.get(&owner).map_or(0, |mailbox| mailbox.sequence);
        for (unread, after) in [true, false].into_iter().flat_map(|unread| [0, last / 2, last].map(|at| (unread, at))) {
            needs.extend([0, 1, 3, 500].map(|limit| Need::Inbox { owner, unread, after, limit }));
        }
    }
}
