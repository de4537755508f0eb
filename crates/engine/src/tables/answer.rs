//! Answers needs (questions of a decision about the state) from the maps in memory, with the same results as a
//! database.

use super::Tables;
use crate::id::TaskId;
use crate::inbox::Mailbox;
use crate::limits;
use crate::list::ListQuery;
use crate::turn::Turn;
use crate::world::{Need, World};

impl Tables {
    /// Stores the answer to a need (a question about the state) in the world, which is the loaded part of the state.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn answer(&self, need: &Need, world: &mut World) {
        match need {
            Need::Task(id) => drop(world.tasks.insert(*id, self.tasks.get(id).cloned())),
            Need::Detail(id) => drop(world.details.insert(*id, self.details.get(id).cloned().unwrap_or_default())),
            Need::Workflow(id) => drop(world.workflows.insert(*id, self.workflows.get(id).cloned())),
            Need::WorkflowDetail(id) => {
                let detail = self.workflow_details.get(id).cloned().unwrap_or_default();
                world.workflow_details.insert(*id, detail);
            }
            Need::Agent(id) => drop(world.agents.insert(*id, self.agents.get(id).cloned())),
            Need::Mailbox(owner) => {
                let empty = Mailbox { owner: *owner, sequence: 0, unread: 0 };
                world.mailboxes.insert(*owner, self.mailboxes.get(owner).cloned().unwrap_or(empty));
            }
            Need::Message(id) => drop(world.messages.insert(*id, self.messages.get(id).cloned())),
            Need::Workspace(id) => drop(world.workspaces.insert(*id, self.workspaces.get(id).cloned())),
            Need::Repository(id) => drop(world.repositories.insert(*id, self.repositories.get(id).cloned())),
            Need::RepositoryAt(path) => {
                let found = self.repositories.values().find(|repository| repository.path == *path);
                world.paths.insert(path.clone(), found.map(|repository| repository.id));
            }
            Need::Attached(workflow, repository) => {
                let key = (*workflow, *repository);
                world.attachments.insert(key, self.attachments.get(&key).copied());
            }
            Need::Template(id) => drop(world.templates.insert(*id, self.templates.get(id).cloned())),
            Need::Key(id) => drop(world.keys.insert(id.clone(), self.keys.get(id).cloned())),
            Need::Token(id) => drop(world.tokens.insert(*id, self.tokens.get(id).cloned())),
            Need::TokenHashed(hash) => {
                let found = self.tokens.values().find(|token| token.hash == *hash);
                world.hashed_tokens.insert(hash.clone(), found.cloned());
            }
            Need::Turn(id) => drop(world.turns.insert(*id, self.turns.get(id).cloned())),
            Need::TurnRunning(task) => drop(world.running_turns.insert(*task, self.running_turn(*task).cloned())),
            Need::Section(name) => drop(world.sections.insert(name.clone(), self.sections.get(name).cloned())),
            Need::Approval(id) => drop(world.approvals.insert(*id, self.approvals.get(id).cloned())),
            Need::ToldItems(way) => {
                let most = usize::try_from(limits::TOLD_ITEMS_LOOKED_AT).unwrap_or(usize::MAX);
                let rows = self.told_items.values().filter(|row| row.way == *way).take(most).cloned().collect();
                world.told_items.insert(*way, rows);
            }
            Need::Notice(id, channel) => {
                world.notices.insert((*id, *channel), self.notices.get(&(*id, *channel)).cloned());
            }
            Need::Reminder(conversation, part) => {
                let key = (conversation.clone(), part.clone());
                let found = self.reminders.get(&key).cloned();
                world.reminders.insert(key, found);
            }
            Need::Runner(name) => drop(world.runners.insert(name.clone(), self.runners.get(name).cloned())),
            Need::Review(id) => drop(world.reviews.insert(*id, self.reviews.get(id).cloned())),
            Need::Round(id, number) => {
                world.rounds.insert((*id, *number), self.rounds.get(&(*id, *number)).cloned());
            }
            Need::Finding(id, name) => {
                let key = (*id, name.clone());
                let found = self.findings.get(&key).cloned();
                world.findings.insert(key, found);
            }
            Need::Condition(kind, subject) => {
                let key = (*kind, subject.clone());
                let found = self.conditions.get(&key).cloned();
                world.conditions.insert(key, found);
            }
            Need::Delivery(task) => drop(world.deliveries.insert(*task, self.deliveries.get(task).cloned())),
            Need::WorkflowDelivery(id) => {
                world.workflow_deliveries.insert(*id, self.workflow_deliveries.get(id).cloned());
            }
            Need::TaskIds(need) => world.learn(need, self.task_ids(need)),
            Need::TaskRows(need) => world.learn(need, self.task_rows(need)),
            Need::Unmet(need) => world.learn(need, self.unmet(*need)),
            Need::Freed(need) => world.learn(need, self.freed(*need)),
            Need::OpenEdges(need) => world.learn(need, self.open_edges(*need)),
            Need::AgentIds(need) => world.learn(need, self.agent_ids(need)),
            Need::WorkflowIds(need) => world.learn(need, self.workflow_ids(need)),
            Need::Checkpoints(need) => world.learn(need, self.checkpoints(*need)),
            Need::Inbox(need) => world.learn(need, self.inbox(*need)),
            Need::Approvals(need) => world.learn(need, self.approvals(need)),
            Need::PutOffs(need) => {
                world.learn(need, self.put_off.values().take(limits::PUT_OFF_MAX).cloned().collect())
            }
            Need::Number(need) => world.learn(need, self.number(need)),
            Need::Bool(need) => world.learn(need, self.is_so(need)),
            Need::List(query) => self.list(query, world),
        }
    }

    fn list(&self, query: &ListQuery, world: &mut World) {
        match query {
            ListQuery::Workflows(query) => world.learn(query, self.list_workflows(query)),
            ListQuery::Tasks(query) => world.learn(query, self.list_tasks(query)),
            ListQuery::Agents(query) => world.learn(query, self.list_agents(query)),
            ListQuery::Workspaces(query) => world.learn(query, self.list_workspaces(query)),
            ListQuery::Repositories(query) => world.learn(query, self.list_repositories(query)),
            ListQuery::Templates(query) => world.learn(query, self.list_templates(query)),
            ListQuery::Messages(query) => world.learn(query, self.list_messages(query)),
            ListQuery::Turns(query) => world.learn(query, self.list_turns(query)),
            ListQuery::Verifications(query) => world.learn(query, self.list_verifications(query)),
            ListQuery::Runners(query) => world.learn(query, self.list_runners(query)),
            ListQuery::Sections(query) => world.learn(query, self.list_sections(query)),
            ListQuery::SectionChanges(query) => world.learn(query, self.list_section_changes(query)),
            ListQuery::Approvals(query) => world.learn(query, self.list_approvals(query)),
            ListQuery::Reviews(query) => world.learn(query, self.list_reviews(query)),
            ListQuery::Rounds(query) => world.learn(query, self.list_rounds(query)),
            ListQuery::Findings(query) => world.learn(query, self.list_findings(query)),
            ListQuery::Conditions(query) => world.learn(query, self.list_conditions(query)),
            ListQuery::Deliveries(query) => world.learn(query, self.list_deliveries(query)),
            ListQuery::WorkflowDeliveries(query) => world.learn(query, self.list_workflow_deliveries(query)),
            ListQuery::Tokens(query) => world.learn(query, self.list_tokens(query)),
            ListQuery::Totals(query) => world.learn(query, self.total(query)),
            ListQuery::Counts(query) => world.learn(query, self.counts(query)),
            ListQuery::Groups(query) => world.learn(query, self.groups(query)),
            ListQuery::Spent(query) => world.learn(query, self.spent(query)),
        }
    }

    fn running_turn(&self, task: TaskId) -> Option<&Turn> {
        let running = |turn: &&Turn| turn.task == task && turn.ended().is_none() && !turn.purpose.is_a_look();
        self.turns.values().filter(running).max_by_key(|turn| turn.number)
    }
}
