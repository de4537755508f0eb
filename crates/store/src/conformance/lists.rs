//! Makes list queries of every kind, with edge cases: pages that begin at the start, after the first row and after the
//! last row, with limits for no row, one row and all rows.

use engine::Timestamp;
use engine::approval::{Approval, ApprovalStatus};
use engine::id::{AgentId, ReviewId, TaskId, WorkflowId};
use engine::inbox::MailboxOwner;
use engine::list::{
    AgentFilter, AgentQuery, ApprovalQuery, ConditionQuery, CountQuery, DeliveryQuery, FindingQuery, GroupQuery,
    MessageQuery, RepositoryQuery, ReviewQuery, RoundQuery, RunnerQuery, SectionChangeQuery, SectionQuery, SpentQuery,
    TaskQuery, TemplateQuery, TokenQuery, TotalQuery, TurnQuery, VerificationQuery, Whose, WorkflowDeliveryQuery,
    WorkflowFilter, WorkflowQuery, WorkspaceQuery,
};
use engine::notice::Channel;
use engine::tables::Tables;
use engine::task::Status;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;

use super::needs::{NeedList, some};

const LIMITS: [u32; 4] = [0, 1, 3, 500];

fn places<K: Clone>(keys: impl Iterator<Item = K>) -> Vec<Option<K>> {
    some(keys, []).into_iter().map(Some).chain([None]).collect()
}

pub(super) fn all(tables: &Tables, now: Timestamp, needs: &mut NeedList) {
    needs.add([TotalQuery::Repositories]);
    of_all_tasks(tables, needs);
    of_deliveries(tables, needs);
    of_turns(tables, needs);
    of_approvals(tables, now, needs);
    of_reviews(tables, needs);
    of_workflows(tables, needs);
    for workflow in some(tables.workflows.keys().copied(), [WorkflowId::LAST]) {
        of_workflow(tables, workflow, needs);
    }
    for limit in LIMITS {
        needs.add([TaskQuery::Held { limit }, TaskQuery::Stuck { limit }]);
        for after in places(tables.agents.values().map(|row| (row.created, row.id))) {
            for filter in filters(tables) {
                needs.add([AgentQuery { filter, after, limit }]);
            }
        }
        for after in places(tables.repositories.values().map(|row| (row.created, row.id))) {
            needs.add([0, 2].map(|offset| RepositoryQuery::All { after, offset, limit }));
        }
        for after in some(tables.templates.values().map(|row| row.name.clone()), [String::new(), "~".to_owned()]) {
            needs.add([TemplateQuery { after, limit }]);
        }
        for after in places(tables.tokens.values().map(|row| (row.created, row.id))) {
            needs.add([true, false].map(|revoked| TokenQuery { revoked, after, limit }));
        }
    }
    let agents = some(tables.agents.keys().copied(), [AgentId::LAST]).into_iter().map(MailboxOwner::Agent);
    for owner in agents.chain([MailboxOwner::Human]) {
        needs.add([CountQuery::Unread(owner)]);
        let last = tables.mailboxes.get(&owner).map_or(0, |mailbox| mailbox.sequence);
        for before in [0, 1, last, u32::MAX] {
            needs.add(LIMITS.map(|limit| MessageQuery::Mail { owner, before, limit }));
        }
    }
    let last = tables.mailboxes.get(&MailboxOwner::Human).map_or(0, |mailbox| mailbox.sequence);
    for after in [0, 1, last] {
        needs.add(LIMITS.map(|limit| MessageQuery::Questions { after, limit }));
    }
    for task in some(tables.tasks.keys().copied(), [TaskId::LAST]) {
        needs.add(LIMITS.map(|limit| MessageQuery::QuestionsOfTask { task, limit }));
    }
}

fn of_all_tasks(tables: &Tables, needs: &mut NeedList) {
    let numbers = some(tables.tasks.values().map(|task| task.number), [0, 1, tables.last_task_number + 1, u32::MAX]);
    needs.add(numbers.iter().map(|number| TaskQuery::Numbered { number: *number }));
    let names = some(tables.tasks.values().map(|task| task.name.clone()), ["none".to_owned(), String::new()]);
    let ids = some(tables.tasks.keys().map(ToString::to_string), ["tk_".to_owned(), "tk".to_owned(), String::new()]);
    let beginnings = ids.iter().flat_map(|id| [4, 5, 6, 40].map(|size| id.chars().take(size).collect::<String>()));
    let beginnings: Vec<String> = beginnings.chain(["wf_", "tk_~", "Tk_", "é"].map(str::to_owned)).collect();
    for limit in LIMITS {
        for statuses in [Vec::new(), vec![Status::Pending, Status::Completed]] {
            let recent = |before: &u32| TaskQuery::Recent { statuses: statuses.clone(), before: *before, limit };
            needs.add(numbers.iter().map(recent));
        }
        needs.add(names.iter().map(|name| TaskQuery::Named { name: name.clone(), limit }));
        needs.add(beginnings.iter().map(|text| TaskQuery::IdBeginning { text: text.clone(), limit }));
    }
}

fn of_deliveries(tables: &Tables, needs: &mut NeedList) {
    needs.add(LIMITS.map(|limit| ConditionQuery { limit }));
    let times = some(tables.deliveries.values().map(|row| row.updated), [Timestamp(0), Timestamp(i64::MAX)]);
    for limit in LIMITS {
        for after in places(tables.deliveries.values().map(|row| (row.updated, row.task))) {
            needs.add([DeliveryQuery::Waiting { after, limit }]);
            needs.add(times.iter().map(|since| DeliveryQuery::ChangedSince { since: *since, after, limit }));
        }
        for after in places(tables.workflow_deliveries.values().map(|row| (row.updated, row.workflow))) {
            needs.add([WorkflowDeliveryQuery::Waiting { after, limit }]);
            needs.add(times.iter().map(|since| WorkflowDeliveryQuery::ChangedSince { since: *since, after, limit }));
        }
    }
}

fn of_turns(tables: &Tables, needs: &mut NeedList) {
    let tasks = some(tables.turns.values().map(|turn| turn.task), [TaskId::LAST]).into_iter();
    let workflows = some(tables.turns.values().map(|turn| turn.workflow), [WorkflowId::LAST]).into_iter();
    for of in tasks.map(Whose::Task).chain(workflows.map(Whose::Workflow)) {
        needs.add([SpentQuery(of)]);
        for before in places(tables.turns.values().map(|turn| (turn.started, turn.id))) {
            needs.add([1, 500].map(|limit| TurnQuery::Of { of, before, limit }));
        }
    }
    let started = some(tables.turns.values().map(|turn| turn.started), [Timestamp(0), Timestamp(i64::MAX)]);
    for (from, until) in started.iter().flat_map(|from| started.iter().map(move |until| (*from, *until))) {
        for before in places(tables.turns.values().map(|turn| (turn.started, turn.id))) {
            needs.add([0, 1, 500].map(|limit| TurnQuery::Started { from, until, before, limit }));
        }
    }
    for task in some(tables.verifications.keys().map(|(task, _)| *task), [TaskId::LAST]) {
        for (after, limit) in [(0, 0), (0, 1), (1, 500), (0, 500), (u32::MAX - 1, 500)] {
            needs.add([VerificationQuery { task, after, limit }]);
        }
    }
    for limit in LIMITS {
        needs.add([RunnerQuery { limit }]);
        let runners = some(tables.turns.values().map(|turn| turn.runner.clone()), ["none".to_owned()]);
        needs.add(runners.into_iter().map(|runner| TurnQuery::Running { runner, limit }));
        for after in some(tables.sections.keys().cloned(), [String::new(), "~".to_owned()]) {
            needs.add([SectionQuery { after, limit }]);
        }
        for section in some(tables.sections.keys().cloned(), ["none".to_owned()]) {
            let before = [0, 2, u32::MAX];
            needs.add(before.map(|before| SectionChangeQuery { section: section.clone(), before, limit }));
        }
    }
}

fn of_approvals(tables: &Tables, now: Timestamp, needs: &mut NeedList) {
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
            needs.add(statuses.iter().map(|words| ApprovalQuery::WithStatus {
                statuses: words.clone(),
                before,
                limit,
            }));
        }
        needs.add(ends.iter().map(|now| ApprovalQuery::Overdue { now: *now, limit }));
        needs.add(tasks.iter().map(|task| ApprovalQuery::OfTask { task: *task, limit }));
        needs.add(tasks.iter().map(|task| ApprovalQuery::OpenOfTask { task: *task, limit }));
        needs.add(agents.iter().map(|agent| ApprovalQuery::OpenOfAgent { agent: *agent, limit }));
        needs.add(workflows.iter().map(|workflow| ApprovalQuery::Gates { workflow: *workflow, limit }));
        needs.add([TaskQuery::Gated { limit }]);
        for (channel, now) in Channel::ALL.iter().flat_map(|channel| ends.iter().map(move |now| (*channel, *now))) {
            needs.add([ApprovalQuery::DueNotices { channel, now, limit }]);
        }
    }
}

fn of_reviews(tables: &Tables, needs: &mut NeedList) {
    let tasks = tables.reviews.values().filter_map(|row| row.gate).map(|gate| gate.task);
    let tasks = some(tasks, [TaskId::LAST]);
    for limit in LIMITS {
        for before in places(tables.reviews.values().map(|row| (row.opened, row.id))) {
            needs.add([ReviewQuery::All { before, limit }]);
        }
        needs.add(tasks.iter().map(|task| ReviewQuery::OfTask { task: *task, limit }));
        for review in some(tables.reviews.keys().copied(), [ReviewId::LAST]) {
            for after in [0, 1, u32::MAX - 1] {
                needs.add([RoundQuery { review, after, limit }]);
                needs.add([FindingQuery { review, after, limit }]);
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

fn of_workflows(tables: &Tables, needs: &mut NeedList) {
    let statuses = [
        Vec::new(),
        vec![WorkflowStatus::InProgress],
        vec![WorkflowStatus::Ready, WorkflowStatus::Paused, WorkflowStatus::Ready],
        WorkflowStatus::ALL.to_vec(),
    ];
    let repositories = [None, tables.repositories.keys().next().copied(), Some(engine::id::RepositoryId::LAST)];
    for (statuses, repository) in statuses.iter().flat_map(|words| repositories.map(|found| (words.clone(), found))) {
        let filter = WorkflowFilter { statuses, repository, archived: false };
        let whole = WorkflowFilter { archived: true, ..filter.clone() };
        needs.add([TotalQuery::Workflows(filter.clone()), TotalQuery::Workflows(whole.clone())]);
        needs.add([WorkflowQuery { filter: whole, after: None, offset: 0, limit: 500 }]);
        for after in places(tables.workflows.values().map(|row| (row.created, row.id))) {
            for (offset, limit) in [(0, 0), (0, 1), (1, 1), (0, 500), (2, 500)] {
                needs.add([WorkflowQuery { filter: filter.clone(), after, offset, limit }]);
            }
        }
    }
}

fn of_workflow(tables: &Tables, workflow: WorkflowId, needs: &mut NeedList) {
    needs.add([CountQuery::Statuses(workflow)]);
    needs.add([TotalQuery::FirstOpen(workflow)]);
    let own: Vec<_> = tables.tasks.values().filter(|task| task.workflow == workflow).collect();
    let positions = || places(own.iter().map(|task| (task.sequence, task.id)));
    let statuses = [Vec::new(), vec![Status::Pending], vec![Status::Completed, Status::Skipped], Status::ALL.to_vec()];
    for limit in LIMITS {
        needs.add([GroupQuery { workflow, limit }]);
        needs.add([RepositoryQuery::Attached { workflow, limit }]);
        for after in positions() {
            needs.add([TaskQuery::Waiting { workflow, after, limit }]);
            needs.add(statuses.clone().map(|statuses| TaskQuery::Planned { workflow, statuses, after, limit }));
        }
        needs.add([0, 2, u32::MAX].map(|before| TaskQuery::Finished { workflow, before, limit }));
        let groups = some(own.iter().filter_map(|task| task.group.clone()), ["none".to_owned()]);
        needs.add(groups.into_iter().map(|group| TaskQuery::Group { workflow, group, limit }));
        for after in places(tables.workspaces.values().map(|row| (row.created, row.id))) {
            for statuses in [Vec::new(), vec![WorkspaceStatus::Active], vec![WorkspaceStatus::Merged]] {
                needs.add([WorkspaceQuery { workflow, statuses, after, limit }]);
            }
        }
    }
}
