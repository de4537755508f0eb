//! Checks that a command that fails or is refused leaves no rows behind, and that the store works afterwards.

use std::sync::Arc;

use engine::command::Register;
use engine::id::{AgentId, Ids, TaskId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::Priority;
use engine::{Caller, Command, Need, Rights, Timestamp};

use super::{StoreOrder, act, must, rows};
use crate::{DecisionStep, Fault, Job, Store};

pub(super) async fn leaves_nothing(store: &dyn Store) {
    let before = rows(store).await;
    for (what, step) in bad_steps() {
        let needs = vec![Need::Workflow(WorkflowId::FIRST)];
        let result = store.transact(Job { needs, now: Timestamp(1), step }).await;
        assert!(matches!(result, Err(Fault::Bug { .. })), "a step that {what} gives {result:?}");
        assert_eq!(rows(store).await, before, "a step that {what} leaves nothing behind");
    }
    let asks_again = Arc::new(|_: &engine::World| vec![Need::Task(TaskId::FIRST)]);
    let result = store.look(Vec::new(), asks_again).await;
    assert!(matches!(result, Err(Fault::Bug { .. })), "a question that asks twice gives {result:?}");
    let panics = Arc::new(|_: &engine::World| -> Vec<Need> { panic!("a planned panic in a question") });
    let result = store.look(Vec::new(), panics).await;
    assert!(matches!(result, Err(Fault::Bug { .. })), "a question that panics gives {result:?}");
    for (number, order) in (0..).zip(refused()) {
        let change = act(store, &order).await;
        assert!(change.reply.is_err() && change.events.is_empty(), "{order:?} was not refused: {change:?}");
        assert_eq!(rows(store).await, before, "refusal {number} writes nothing");
    }
    works(store).await;
}

fn bad_steps() -> Vec<(&'static str, DecisionStep)> {
    vec![
        ("asks for what it was given", Arc::new(|_| Err(vec![Need::Workflow(WorkflowId::FIRST)]))),
        ("asks twice", Arc::new(|_| Err(vec![Need::Task(TaskId::LAST), Need::Agent(AgentId::LAST)]))),
        ("asks for nothing", Arc::new(|_| Err(Vec::new()))),
        ("panics", Arc::new(|_| panic!("a planned panic in a step"))),
        (
            "panics after it asked",
            Arc::new(|world| {
                if world.knows(&Need::Task(TaskId::LAST)) {
                    panic!("a planned panic in a step that has all it asked for")
                }
                Err(vec![Need::Task(TaskId::LAST)])
            }),
        ),
    ]
}

fn refused() -> Vec<StoreOrder> {
    let agent = Caller::agent(AgentId::FIRST);
    let person = Caller::with_rights(Rights::Person);
    let commands = [
        (agent.clone(), Command::Claim { task: TaskId::FIRST }),
        (agent, Command::Renew),
        (person.clone(), Command::Sweep { workflow: WorkflowId::FIRST }),
        (person, Command::RemoveTask { workflow: WorkflowId::LAST, task: TaskId::LAST }),
    ];
    commands.into_iter().map(|(caller, command)| StoreOrder::new(caller, command, 1, 1)).collect()
}

/// Checks that the store works: an agent registers and gets two messages. The second message has an older time stamp
/// than the first one, so its log entry must get the time of the first message.
async fn works(store: &dyn Store) {
    let before = rows(store).await.len();
    let seed = u128::try_from(before).unwrap_or(0) << 64;
    let register = Register::named("somebody who works", "exec");
    let caller = Caller::with_rights(Rights::Agent);
    let registered = act(store, &StoreOrder::new(caller, Command::Register(register), 2_000_000, seed + 1)).await;
    assert!(registered.reply.is_ok(), "the store works after failures: {registered:?}");
    let agent = AgentId::next(&mut Ids::new(seed + 1));
    let topic = registered.events.first().and_then(engine::Event::topic);
    for (now, seed) in [(3_000_000, seed + 2), (1_000_000, seed + 3)] {
        let draft = MessageDraft::text(MessageKind::Info, Priority::DEFAULT, "hello");
        let command = Command::Send { to: Recipients::One(MailboxOwner::Agent(agent)), draft };
        let sent = act(store, &StoreOrder::new(Caller::with_rights(Rights::Person), command, now, seed)).await;
        assert!(sent.reply.is_ok(), "the store works after failures: {sent:?}");
    }
    let topic = topic.map(|topic| topic.to_string()).unwrap_or_default();
    let times: Vec<i64> = must(store.topic(topic, 0, 10).await, "topic").iter().map(|entry| entry.at.0).collect();
    assert_eq!(times, [2_000_000, 3_000_000, 3_000_000], "an older stamp takes the topic's time");
}
