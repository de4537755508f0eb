//! Every kind of list, with its edge cases: from the beginning, after the first entry, after the last, no entry, one,
//! all.

use engine::Timestamp;
use engine::approval::{Approval, ApprovalStatus};
use engine::id::{AgentId, ReviewId, TaskId, WorkflowId};
use engine::inbox::MailboxOwner;
use engine::list::{AgentFilter, List, Whose, WorkflowFilter};
use engine::notice::Channel;
use engine::tables::Tables;
use engine::task::Status;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;

use super::needs::some;

const LIMITS: [u32; 4] = [0, 1, 3, 500];

fn places<K: Clone>(keys: impl Iterator<Item = K>) -> Vec<Option<K>> {
    some(keys, []).into_iter().map(Some).chain([None]).collect()
}

pub(super) fn all(tables: &Tables, now: Timestamp) -> Vec<List> {
    let mut lists = vec![List::RepositoryTotal];
    of_turns(tables, &mut lists);
    of_approvals(tables, now, &mut lists);
    of_reviews(tables, &mut lists);
    of_workflows(tables, &mut lists);
    for workflow in some(tables.workflows.keys().copied(), [WorkflowId::LAST]) {
        of_workflow(tables, workflow, &mut lists);
    }
    for limit in LIMITS {
        lists.extend([List::Held { limit }, List::Stuck { limit }]);
        for after in places(tables.agents.values().map(|row| (row.created, row.id))) {
            for filter in filters(tables) {
                lists.push(List::Agents { filter, after, limit });
            }
        }
        for after in places(tables.repositories.values().map(|row| (row.created, row.id))) {
            lists.extend([0, 2].map(|offset| List::Repositories { after, offset, limit }));
        }
        for after in some(tables.templates.values().map(|row| row.name.clone()), [String::new(), "~".to_owned()]) {
            lists.push(List::Templates { after, limit });
        }
        for after in places(tables.tokens.values().map(|row| (row.created, row.id))) {
            lists.extend([true, false].map(|revoked| List::Tokens { revoked, after, limit }));
        }
    }
    let agents = some(tables.agents.keys().copied(), [AgentId::LAST]).into_iter().map(MailboxOwner::Agent);
    for owner in agents.chain([MailboxOwner::Human]) {
        lists.push(List::Unread(owner));
        let last = tables.mailboxes.get(&owner).map_or(0, |mailbox| mailbox.sequence);
        for before in [0, 1, last, u32::MAX] {
            lists.extend(LIMITS.map(|limit| List::Mail { owner, before, limit }));
        }
    }
    let last = tables.mailboxes.get(&MailboxOwner::Human).map_or(0, |mailbox| mailbox.sequence);
    for after in [0, 1, last] {
        lists.extend(LIMITS.map(|limit| List::Questions { after, limit }));
    }
    lists
}

fn of_turns(tables: &Tables, lists: &mut Vec<List>) {
    let tasks = some(tables.turns.values().map(|turn| turn.task), [TaskId::LAST]).into_iter();
    let workflows = some(tables.turns.values().map(|turn| turn.workflow), [WorkflowId::LAST]).into_iter();
    for of in tasks.map(Whose::Task).chain(workflows.map(Whose::Workflow)) {
        lists.push(List::Spent(of));
        for before in places(tables.turns.values().map(|turn| (turn.started, turn.id))) {
            lists.extend([1, 500].map(|limit| List::Turns { of, before, limit }));
        }
    }
    for task in some(tables.verifications.keys().map(|(task, _)| *task), [TaskId::LAST]) {
        for (after, limit) in [(0, 0), (0, 1), (1, 500), (0, 500), (u32::MAX - 1, 500)] {
            lists.push(List::Verifications { task, after, limit });
        }
    }
    for limit in LIMITS {
        lists.push(List::Runners { limit });
        let runners = some(tables.turns.values().map(|turn| turn.runner.clone()), ["none".to_owned()]);
        lists.extend(runners.into_iter().map(|runner| List::Running { runner, limit }));
        for after in some(tables.sections.keys().cloned(), [String::new(), "~".to_owned()]) {
            lists.push(List::Sections { after, limit });
        }
        for section in some(tables.sections.keys().cloned(), ["none".to_owned()]) {
            let before = [0, 2, u32::MAX];
            lists.extend(before.map(|before| List::SectionChanges { section: section.clone(), before, limit }));
        }
    }
}

fn of_approvals(tables: &Tables, now: Timestamp, lists: &mut Vec<List>) {
    let statuses = [Vec::new(), vec![ApprovalStatus::Pending], vec![ApprovalStatus::Expired, ApprovalStatus::Consumed]];
    let ends = some(tables.approvals.values().filter_map(|row| row.state.until()), [Timestamp(0), now]);
    let tasks = tables.approvals.values().filter_map(|row| row.waiting).map(|waiting| waiting.task);
    let tasks = some(tasks, [TaskId::LAST]);
    let agents = some(tables.approvals.values().filter_map(Approval::agent), [AgentId::LAST]);
    let workflows = tables.approvals.values().filter(|row| row.is_gate()).filter_map(|row| row.waiting);
    let workflows = some(workflows.map(|waiting| waiting.workflow), [WorkflowId::LAST]);
    let due = tables.notices.values().filter_map(|notice| notice.next);
    let ends: Vec<Timestamp> = ends.into_iter().chain(some(due, [])).collect();
    for limit in LIMITS {
        for before in places(tables.approvals.values().map(|row| (row.asked, row.id))) {
            lists.extend(statuses.iter().map(|words| List::Approvals { statuses: words.clone(), before, limit }));
        }
        lists.extend(ends.iter().map(|now| List::OverdueApprovals { now: *now, limit }));
        lists.extend(tasks.iter().map(|task| List::OpenApprovals { task: *task, limit }));
        lists.extend(agents.iter().map(|agent| List::ApprovalsOf { agent: *agent, limit }));
        lists.extend(workflows.iter().map(|workflow| List::Gates { workflow: *workflow, limit }));
        lists.push(List::Gated { limit });
        for (channel, now) in Channel::ALL.iter().flat_map(|channel| ends.iter().map(move |now| (*channel, *now))) {
            lists.push(List::DueNotices { channel, now, limit });
        }
    }
}

fn of_reviews(tables: &Tables, lists: &mut Vec<List>) {
    let tasks = tables.reviews.values().filter_map(|row| row.gate).map(|gate| gate.task);
    let tasks = some(tasks, [TaskId::LAST]);
    for limit in LIMITS {
        for before in places(tables.reviews.values().map(|row| (row.opened, row.id))) {
            lists.push(List::Reviews { before, limit });
        }
        lists.extend(tasks.iter().map(|task| List::TaskReviews { task: *task, limit }));
        for review in some(tables.reviews.keys().copied(), [ReviewId::LAST]) {
            for after in [0, 1, u32::MAX - 1] {
                lists.extend([List::Rounds { review, after, limit }, List::Findings { review, after, limit }]);
            }
        }
    }
}

fn filters(tables: &Tables) -> Vec<AgentFilter> {
    let role = |role: &str| AgentFilter { role: Some(role.to_owned()), ..AgentFilter::default() };
    let runtime = AgentFilter { runtime: Some("exec".to_owned()), ..AgentFilter::default() };
    let workflow = AgentFilter { workflow: tables.workflows.keys().next().copied(), ..AgentFilter::default() };
    vec![AgentFilter::default(), role("worker"), role("none"), runtime, workflow]
}

fn of_workflows(tables: &Tables, lists: &mut Vec<List>) {
    let statuses = [
        Vec::new(),
        vec![WorkflowStatus::InProgress],
        vec![WorkflowStatus::Ready, WorkflowStatus::Paused, WorkflowStatus::Ready],
        WorkflowStatus::ALL.to_vec(),
    ];
    let repositories = [None, tables.repositories.keys().next().copied(), Some(engine::id::RepositoryId::LAST)];
    for (statuses, repository) in statuses.iter().flat_map(|words| repositories.map(|found| (words.clone(), found))) {
        let filter = WorkflowFilter { statuses, repository };
        lists.push(List::WorkflowTotal(filter.clone()));
        for after in places(tables.workflows.values().map(|row| (row.created, row.id))) {
            for (offset, limit) in [(0, 0), (0, 1), (1, 1), (0, 500), (2, 500)] {
                lists.push(List::Workflows { filter: filter.clone(), after, offset, limit });
            }
        }
    }
}

fn of_workflow(tables: &Tables, workflow: WorkflowId, lists: &mut Vec<List>) {
    lists.extend([List::Statuses(workflow), List::FirstOpen(workflow)]);
    let own: Vec<_> = tables.tasks.values().filter(|task| task.workflow == workflow).collect();
    let positions = || places(own.iter().map(|task| (task.sequence, task.id)));
    let statuses = [Vec::new(), vec![Status::Pending], vec![Status::Completed, Status::Skipped], Status::ALL.to_vec()];
    for limit in LIMITS {
        lists.extend([List::Groups { workflow, limit }, List::Attached { workflow, limit }]);
        for after in positions() {
            lists.push(List::Waiting { workflow, after, limit });
            lists.extend(statuses.clone().map(|statuses| List::Tasks { workflow, statuses, after, limit }));
        }
        lists.extend([0, 2, u32::MAX].map(|before| List::Finished { workflow, before, limit }));
        let groups = some(own.iter().filter_map(|task| task.group.clone()), ["none".to_owned()]);
        lists.extend(groups.into_iter().map(|group| List::Group { workflow, group, limit }));
        for after in places(tables.workspaces.values().map(|row| (row.created, row.id))) {
            for statuses in [Vec::new(), vec![WorkspaceStatus::Active], vec![WorkspaceStatus::Merged]] {
                lists.push(List::Workspaces { workflow, statuses, after, limit });
            }
        }
    }
}
