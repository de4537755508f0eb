//! Races: many callers on separate connections want the same tasks, approvals or names at the same time. No caller may
//! see a fault (a failure of the store).

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use engine::command::{CreateWorkflow, Key, Register, Target};
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::plan::PlanTask;
use engine::task::{Priority, Status};
use engine::world::InboxNeed;
use engine::{Caller, Command, Event, Need, Refusal, Reply, Rights, Timestamp, TypedQuestion};

use super::journal::{check_chain, check_tail};
use super::{StoreOrder, act, must, plans};
use crate::{Cursor, Entry, Store, verify};

const STORES: usize = 8;
pub(super) const CALLERS: usize = 16;
const NOW: i64 = 1_700_000_000_000;

/// Opens eight stores on the same database and lets callers race on them. A ninth store follows the log during the
/// races.
pub async fn exercise_race<F, O>(open: F)
where
    F: Fn() -> O,
    O: Future<Output = Arc<dyn Store>>,
{
    let mut stores = Vec::new();
    for _ in 0..STORES {
        stores.push(open().await);
    }
    let written = Arc::new(AtomicUsize::new(usize::MAX));
    let follower = tokio::spawn(tail(open().await, Arc::clone(&written)));
    let field = Arc::new(RaceField { stores, serial: AtomicU64::new(1) });
    let agents = field.registrations().await;
    field.claims(&agents).await;
    field.dependencies(&agents).await;
    field.messages(agents[0]).await;
    field.answers(agents[1]).await;
    field.keys().await;
    field.numbers().await;
    field.standing_list().await;
    field.limit(&agents).await;
    field.touches(&agents).await;
    field.approvals(&agents).await;
    field.browsers().await;
    let record = field.record().await;
    written.store(record.len(), Ordering::SeqCst);
    let mut tail = must(follower.await, "the follower");
    check_tail(&tail);
    tail.sort_by(|one, other| (&one.topic, one.seq).cmp(&(&other.topic, other.seq)));
    assert_eq!(tail, record, "the follower saw what was written");
}

/// Follows the log in small pages until it has read `written` entries and no further entry comes. The races set
/// `written` when they end.
async fn tail(store: Arc<dyn Store>, written: Arc<AtomicUsize>) -> Vec<Entry> {
    let (mut watch, mut cursor, mut found) = (store.watch(), Cursor::default(), Vec::new());
    let mut patience = 1_200;
    loop {
        let page = must(store.follow(cursor, 7).await, "follow");
        let written = written.load(Ordering::SeqCst);
        if page.entries.is_empty() {
            if found.len() >= written {
                return found;
            }
            patience -= i32::from(written != usize::MAX);
            assert!(patience > 0, "the follower saw {} entries of {written}", found.len());
            watch.changed(Duration::from_millis(25)).await;
        }
        cursor = must(page.next.to_string().parse(), "a cursor reads back");
        found.extend(page.entries);
    }
}

pub(super) struct RaceField {
    pub(super) stores: Vec<Arc<dyn Store>>,
    serial: AtomicU64,
}

impl RaceField {
    pub(super) fn order(&self, caller: Caller, command: Command) -> StoreOrder {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        StoreOrder::new(caller, command, NOW + i64::try_from(serial).unwrap_or(0), u128::from(serial) << 70 | 0xACE)
    }

    pub(super) async fn act(&self, place: usize, caller: Caller, command: Command) -> engine::Change {
        act(self.stores[place % STORES].as_ref(), &self.order(caller, command)).await
    }

    /// Runs `work` for every caller of a race at the same time. The callers share the eight stores. Returns the answers
    /// in the order of the callers.
    pub(super) async fn all<T, W, O>(self: &Arc<Self>, work: W) -> Vec<T>
    where
        W: Fn(Arc<Self>, usize) -> O,
        O: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let running: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(work(Arc::clone(self), caller))).collect();
        let mut answers = Vec::new();
        for one in running {
            answers.push(must(one.await, "a caller"));
        }
        answers
    }

    pub(super) async fn workflow(&self, create: CreateWorkflow, tasks: Vec<PlanTask>) -> (WorkflowId, Vec<TaskId>) {
        let person = || Caller::with_rights(Rights::Person);
        let made = self.act(0, person(), Command::CreateWorkflow(create)).await;
        let Ok(Reply::WorkflowCreated { workflow, .. }) = made.reply else { panic!("no workflow: {made:?}") };
        let seed = u128::from(self.serial.fetch_add(1, Ordering::Relaxed)) << 64;
        let Some(piece) = plans::rows(tasks, workflow, Timestamp(NOW), seed) else { panic!("a bad plan") };
        let ids = piece.tasks.iter().map(|(task, _)| task.id).collect();
        let command =
            Command::SetPlan { workflow, summary: "race".to_owned(), piece: Arc::new(piece), groups: Vec::new() };
        let set = self.act(1, person(), command).await;
        assert!(set.reply.is_ok(), "{set:?}");
        (workflow, ids)
    }

    /// Registers all callers under the same name, and checks that each agent gets a different slug (short name).
    async fn registrations(self: &Arc<Self>) -> Vec<AgentId> {
        let found = self
            .all(|field, place| async move {
                let mut found = Vec::new();
                for _ in 0..4 {
                    let command = Command::Register(register());
                    let change = field.act(place, Caller::with_rights(Rights::Agent), command).await;
                    let Ok(Reply::Registered { agent, slug, .. }) = change.reply else { panic!("{change:?}") };
                    found.push((agent, slug));
                }
                found
            })
            .await;
        let slugs: BTreeSet<&String> = found.iter().flatten().map(|(_, slug)| slug).collect();
        assert_eq!(slugs.len(), CALLERS * 4, "every registration has its own slug");
        found.iter().filter_map(|found| found.first()).map(|(agent, _)| *agent).collect()
    }

    /// Lets all callers claim all tasks, and checks that each task is claimed once.
    async fn claims(self: &Arc<Self>, agents: &[AgentId]) {
        let names = (0..100).map(|number| PlanTask::named(format!("task {number}")));
        let (_, tasks) = self.workflow(create(None), names.collect()).await;
        let (tasks, agents) = (Arc::new(tasks), Arc::new(agents.to_vec()));
        let won = self
            .all(|field, place| {
                let (tasks, agent) = (Arc::clone(&tasks), agents[place]);
                async move {
                    let mut won = Vec::new();
                    for task in tasks.iter().copied() {
                        let change = field.act(place, Caller::agent(agent), Command::Claim { task }).await;
                        match &change.reply {
                            Ok(Reply::Claimed { attempt: 1, .. }) => won.push(task),
                            Ok(Reply::AlreadyClaimedBy { agent: other }) if *other != agent => {}
                            other => panic!("{agent} claims {task}: {other:?}"),
                        }
                    }
                    won
                }
            })
            .await;
        let mut winners: BTreeMap<TaskId, usize> = BTreeMap::new();
        won.iter().flatten().for_each(|task| *winners.entry(*task).or_default() += 1);
        assert_eq!(winners.len(), 100, "every task was won");
        assert!(winners.values().all(|count| *count == 1), "and by one only: {winners:?}");
    }

    /// Lets callers add tasks to different workflows at the same moment, and checks that each task has its own number
    /// and that no number is left out.
    async fn numbers(self: &Arc<Self>) {
        let mut workflows = Vec::new();
        for _ in 0..3 {
            workflows.push(self.workflow(create(None), Vec::new()).await.0);
        }
        let workflows = Arc::new(workflows);
        let given = self
            .all(|field, place| {
                let workflow = workflows[place % workflows.len()];
                async move {
                    let mut given = Vec::new();
                    for number in 0..4 {
                        let task = Box::new(PlanTask::named(format!("task {number} of {place}")));
                        let command = Command::AddTask { workflow, task, after: None };
                        let change = field.act(place, Caller::with_rights(Rights::Person), command).await;
                        let Ok(Reply::TaskAdded { number, .. }) = change.reply else { panic!("{change:?}") };
                        given.push(number);
                    }
                    given
                }
            })
            .await;
        assert!(given.iter().all(|of_caller| of_caller.is_sorted()), "a later task has a higher number: {given:?}");
        let numbers: BTreeSet<u32> = given.into_iter().flatten().collect();
        assert_eq!(numbers.len(), CALLERS * 4, "each task has its own number");
        let (first, last) = (numbers.first().copied(), numbers.last().copied());
        let span = last.zip(first).map(|(last, first)| last - first + 1);
        assert_eq!(span, u32::try_from(CALLERS * 4).ok(), "no number is left out");
    }

    /// Lets all callers open the standing list (the one workflow for single tasks) at the same moment. Checks that
    /// exactly one of them creates it.
    async fn standing_list(self: &Arc<Self>) {
        let opened = self
            .all(|field, place| async move {
                let change = field.act(place, Caller::with_rights(Rights::Person), Command::OpenList).await;
                let Ok(Reply::ListOpened { workflow, made, .. }) = change.reply else { panic!("{change:?}") };
                (workflow, made)
            })
            .await;
        let lists: BTreeSet<WorkflowId> = opened.iter().map(|(workflow, _)| *workflow).collect();
        assert_eq!(lists.len(), 1, "there is one list");
        assert_eq!(opened.iter().filter(|(_, made)| *made).count(), 1, "one caller created it");
    }

    /// Completes two dependencies of one task at the same moment. Checks that exactly one of the two completions
    /// reports that the task can now be claimed.
    async fn dependencies(self: &Arc<Self>, agents: &[AgentId]) {
        let triples = CALLERS;
        let mut planned = Vec::new();
        for number in 0..triples {
            let (one, other) = (format!("one {number}"), format!("other {number}"));
            let last =
                PlanTask { depends_on: vec![one.clone(), other.clone()], ..PlanTask::named(format!("last {number}")) };
            planned.extend([PlanTask::named(one), PlanTask::named(other), last]);
        }
        let (workflow, tasks) = self.workflow(create(None), planned).await;
        let (tasks, agents) = (Arc::new(tasks), Arc::new(agents.to_vec()));
        // The tasks come in groups of three: two dependencies and the task that waits for both of them. A caller with
        // an even number completes the first dependency of a group, and the next caller completes the second
        // dependency.
        let freed = self
            .all(|field, place| {
                let (tasks, agent) = (Arc::clone(&tasks), agents[place]);
                async move {
                    let mut freed = Vec::new();
                    for triple in [place / 2, place / 2 + CALLERS / 2] {
                        let task = tasks[triple * 3 + place % 2];
                        let claimed = field.act(place, Caller::agent(agent), Command::Claim { task }).await;
                        assert!(matches!(claimed.reply, Ok(Reply::Claimed { .. })), "{claimed:?}");
                        let to = Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery: None };
                        let command = Command::Move { task, attempt: Some(1), to };
                        let done = field.act(place, Caller::agent(agent), command).await;
                        assert!(done.reply.is_ok(), "{done:?}");
                        for event in done.events {
                            if let Event::Moved(moved) = event {
                                freed.extend(moved.freed);
                            }
                        }
                    }
                    freed
                }
            })
            .await;
        let mut freed: Vec<TaskId> = freed.into_iter().flatten().collect();
        freed.sort_unstable();
        let mut expected: Vec<TaskId> = tasks.iter().skip(2).step_by(3).copied().collect();
        expected.sort_unstable();
        assert_eq!(freed, expected, "each waiting task was freed exactly once");
        let needs: Vec<Need> =
            expected.iter().map(|task| Need::Task(*task)).chain([Need::Workflow(workflow)]).collect();
        let world = must(self.stores[0].look(needs, Arc::new(|_| Vec::new())).await, "look");
        assert!(world.tasks.values().flatten().all(|task| task.unmet == 0), "nothing waits any more");
        let open = world.workflows[&workflow].as_ref().map(|workflow| workflow.open);
        assert_eq!(open, u32::try_from(triples).ok(), "the counter of open tasks");
    }

    /// Sends messages from all callers to one mailbox, and checks that the messages in the mailbox are numbered without
    /// gaps and are in the order of their numbers.
    async fn messages(self: &Arc<Self>, to: AgentId) {
        let sent = self
            .all(|field, place| async move {
                let mut sent = Vec::new();
                for number in 0..10 {
                    let draft = MessageDraft::text(MessageKind::Info, Priority::DEFAULT, format!("{place} {number}"));
                    let command = Command::Send { to: Recipients::One(MailboxOwner::Agent(to)), draft };
                    let change = field.act(place, Caller::with_rights(Rights::Person), command).await;
                    let Ok(Reply::Sent { sequence, .. }) = change.reply else { panic!("{change:?}") };
                    assert!(sent.last().is_none_or(|last| *last < sequence), "a sender's messages keep their order");
                    sent.push(sequence);
                }
                sent
            })
            .await;
        let mut sent: Vec<u32> = sent.into_iter().flatten().collect();
        sent.sort_unstable();
        assert!(sent.iter().copied().eq(1..=u32::try_from(CALLERS * 10).unwrap_or(0)), "gaps in the mailbox: {sent:?}");
        let need = InboxNeed { owner: MailboxOwner::Agent(to), unread: false, after: 0, limit: 500 };
        let world = must(self.stores[3].look(vec![need.need()], Arc::new(|_| Vec::new())).await, "look");
        let found = must(world.ask(&need).map_err(|stop| format!("{stop:?}")), "inbox");
        assert!(found.iter().map(|message| message.sequence).eq(sent), "what was sent is there");
    }

    /// Lets all callers answer a question, each with a different text. Checks that one answer is accepted and that the
    /// other answers come too late.
    async fn answers(self: &Arc<Self>, agent: AgentId) {
        let (_, tasks) = self.workflow(create(None), vec![PlanTask::named("ask")]).await;
        let task = tasks[0];
        self.act(0, Caller::agent(agent), Command::Claim { task }).await;
        let to = Target::Paused { reason: None };
        self.act(1, Caller::agent(agent), Command::Move { task, attempt: Some(1), to }).await;
        let draft =
            MessageDraft { task: Some(task), ..MessageDraft::text(MessageKind::Question, Priority::FIRST, "which?") };
        let asked = Command::Send { to: Recipients::One(MailboxOwner::Human), draft };
        let asked = self.act(2, Caller::agent(agent), asked).await;
        let Ok(Reply::Sent { message, .. }) = asked.reply else { panic!("{asked:?}") };
        let given = self
            .all(|field, place| async move {
                let command = Command::Answer { message, text: format!("answer {place}") };
                let change = field.act(place, Caller::with_rights(Rights::Person), command).await;
                match &change.reply {
                    Ok(Reply::Answered { answer, status: Some(Status::InProgress), .. }) => Some(*answer),
                    Err(Refusal::AlreadyAnswered { .. }) => None,
                    other => panic!("{place} answers: {other:?}"),
                }
            })
            .await;
        let given: Vec<_> = given.into_iter().flatten().collect();
        assert_eq!(given.len(), 1, "answers that were given");
        let need = InboxNeed { owner: MailboxOwner::Agent(agent), unread: true, after: 0, limit: 500 };
        let world = must(self.stores[3].look(vec![need.need()], Arc::new(|_| Vec::new())).await, "look");
        let found = must(world.ask(&need).map_err(|stop| format!("{stop:?}")), "inbox");
        assert!(found.iter().map(|message| message.id).eq(given), "the agent was told once: {found:?}");
    }

    /// Sends the same idempotency key from all callers, and checks that one workflow is created and every caller gets
    /// the same answer.
    async fn keys(self: &Arc<Self>) {
        let answers = self
            .all(|field, place| async move {
                let mut answers = Vec::new();
                for number in 0..6 {
                    let key = format!("key {number}");
                    let key = Some(Key {
                        owner: engine::caller::KeyOwner::Fixed("all".to_owned()),
                        key,
                        fingerprint: "same".to_owned(),
                    });
                    let caller = Caller { key, ..Caller::with_rights(Rights::Person) };
                    let change = field.act(place, caller, Command::CreateWorkflow(create(None))).await;
                    answers.push((must(change.reply, "with a key"), change.events.len()));
                }
                answers
            })
            .await;
        for number in 0..6 {
            let same = answers.iter().all(|of| of[number].0 == answers[0][number].0);
            assert!(same, "key {number} was answered differently: {answers:?}");
            let acted = answers.iter().filter(|of| of[number].1 > 0).count();
            assert_eq!(acted, 1, "key {number} took effect once");
        }
    }

    /// Checks that at most three tasks of a workflow run at the same time when its limit is three.
    async fn limit(self: &Arc<Self>, agents: &[AgentId]) {
        let names = (0..30).map(|number| PlanTask::named(format!("task {number}")));
        let (workflow, _) = self.workflow(create(Some(3)), names.collect()).await;
        assert_eq!(self.claim_next(workflow, agents).await, 3, "claims under a limit of three");
    }

    /// Checks that tasks that change the same files do not run at the same time.
    async fn touches(self: &Arc<Self>, agents: &[AgentId]) {
        let task =
            |number| PlanTask { touches: vec!["src/**".to_owned()], ..PlanTask::named(format!("task {number}")) };
        let (workflow, _) = self.workflow(create(None), (0..20).map(task).collect()).await;
        assert_eq!(self.claim_next(workflow, agents).await, 1, "claims of tasks that change the same files");
    }

    async fn claim_next(self: &Arc<Self>, workflow: WorkflowId, agents: &[AgentId]) -> usize {
        let agents = Arc::new(agents.to_vec());
        let claimed = self
            .all(|field, place| {
                let agent = agents[place];
                async move {
                    let command = Command::ClaimNext { workflow, include_failed: false };
                    let change = field.act(place, Caller::agent(agent), command).await;
                    matches!(must(change.reply, "claim next"), Reply::Claimed { .. })
                }
            })
            .await;
        claimed.into_iter().filter(|claimed| *claimed).count()
    }

    /// Returns the entries of all topics (logs), and checks that verification finds no tampering with them.
    async fn record(&self) -> Vec<Entry> {
        let store = self.stores[5].as_ref();
        let heads = must(store.heads(String::new(), u32::MAX).await, "heads");
        let mut all = Vec::new();
        for head in &heads {
            let entries = must(store.topic(head.topic.clone(), 0, u32::MAX).await, "topic");
            check_chain(&entries);
            all.extend(entries);
        }
        assert_eq!(must(verify(store, &heads).await, "verify").findings, [], "the log verifies");
        all
    }
}

fn register() -> Register {
    Register::named("racer", "exec")
}

pub(super) fn create(parallel_max: Option<u32>) -> CreateWorkflow {
    CreateWorkflow { parallel_max, ..CreateWorkflow::named("race") }
}
