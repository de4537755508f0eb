//! Finds out whether the answer to a need (a question of a decision about the state) is already loaded.

use super::{Need, TypedQuestion, World};
use crate::list::ListQuery;

impl World {
    pub fn knows(&self, need: &Need) -> bool {
        match need {
            Need::Task(id) => self.tasks.contains_key(id),
            Need::Detail(id) => self.details.contains_key(id),
            Need::Workflow(id) => self.workflows.contains_key(id),
            Need::WorkflowDetail(id) => self.workflow_details.contains_key(id),
            Need::Agent(id) => self.agents.contains_key(id),
            Need::Mailbox(owner) => self.mailboxes.contains_key(owner),
            Need::Message(id) => self.messages.contains_key(id),
            Need::Workspace(id) => self.workspaces.contains_key(id),
            Need::Repository(id) => self.repositories.contains_key(id),
            Need::RepositoryAt(path) => self.paths.contains_key(path),
            Need::Attached(workflow, repository) => self.attachments.contains_key(&(*workflow, *repository)),
            Need::Template(id) => self.templates.contains_key(id),
            Need::Key(id) => self.keys.contains_key(id),
            Need::Token(id) => self.tokens.contains_key(id),
            Need::TokenHashed(hash) => self.hashed_tokens.contains_key(hash),
            Need::Turn(id) => self.turns.contains_key(id),
            Need::TurnRunning(task) => self.running_turns.contains_key(task),
            Need::Section(name) => self.sections.contains_key(name),
            Need::Approval(id) => self.approvals.contains_key(id),
            Need::Notice(id, channel) => self.notices.contains_key(&(*id, *channel)),
            Need::ToldItems(way) => self.told_items.contains_key(way),
            Need::Reminder(conversation, part) => self.reminders.contains_key(&(conversation.clone(), part.clone())),
            Need::Runner(name) => self.runners.contains_key(name),
            Need::Review(id) => self.reviews.contains_key(id),
            Need::Round(id, number) => self.rounds.contains_key(&(*id, *number)),
            Need::Finding(id, name) => self.findings.contains_key(&(*id, name.clone())),
            Need::Condition(kind, subject) => self.conditions.contains_key(&(*kind, subject.clone())),
            Need::Delivery(task) => self.deliveries.contains_key(task),
            Need::WorkflowDelivery(workflow) => self.workflow_deliveries.contains_key(workflow),
            Need::TaskIds(need) => self.has_answer(need),
            Need::TaskRows(need) => self.has_answer(need),
            Need::Unmet(need) => self.has_answer(need),
            Need::Freed(need) => self.has_answer(need),
            Need::OpenEdges(need) => self.has_answer(need),
            Need::AgentIds(need) => self.has_answer(need),
            Need::WorkflowIds(need) => self.has_answer(need),
            Need::Checkpoints(need) => self.has_answer(need),
            Need::Inbox(need) => self.has_answer(need),
            Need::Approvals(need) => self.has_answer(need),
            Need::PutOffs(need) => self.has_answer(need),
            Need::Number(need) => self.has_answer(need),
            Need::Bool(need) => self.has_answer(need),
            Need::List(query) => self.has_list(query),
        }
    }

    fn has_list(&self, query: &ListQuery) -> bool {
        match query {
            ListQuery::Workflows(query) => self.has_answer(query),
            ListQuery::Tasks(query) => self.has_answer(query),
            ListQuery::Agents(query) => self.has_answer(query),
            ListQuery::Workspaces(query) => self.has_answer(query),
            ListQuery::Repositories(query) => self.has_answer(query),
            ListQuery::Templates(query) => self.has_answer(query),
            ListQuery::Messages(query) => self.has_answer(query),
            ListQuery::Turns(query) => self.has_answer(query),
            ListQuery::Verifications(query) => self.has_answer(query),
            ListQuery::Runners(query) => self.has_answer(query),
            ListQuery::Sections(query) => self.has_answer(query),
            ListQuery::SectionChanges(query) => self.has_answer(query),
            ListQuery::Approvals(query) => self.has_answer(query),
            ListQuery::Reviews(query) => self.has_answer(query),
            ListQuery::Rounds(query) => self.has_answer(query),
            ListQuery::Findings(query) => self.has_answer(query),
            ListQuery::Conditions(query) => self.has_answer(query),
            ListQuery::Deliveries(query) => self.has_answer(query),
            ListQuery::WorkflowDeliveries(query) => self.has_answer(query),
            ListQuery::Tokens(query) => self.has_answer(query),
            ListQuery::Totals(query) => self.has_answer(query),
            ListQuery::Counts(query) => self.has_answer(query),
            ListQuery::Groups(query) => self.has_answer(query),
            ListQuery::Spent(query) => self.has_answer(query),
        }
    }

    fn has_answer<Q: TypedQuestion>(&self, question: &Q) -> bool {
        self.answers.get(question).is_some()
    }
}
