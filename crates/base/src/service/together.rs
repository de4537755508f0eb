//! Executes several commands in one transaction. Each command sees the effects of the earlier ones, and either all of
//! them take effect or none.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Actor, Caller, Change, Command, DecisionStop, Refusal, Reply, Stamp, World, decide, fold};

use crate::error::Error;
use crate::service::Service;
use crate::service::takeover::LeaseTime;

/// A function that builds a command from the stored state, which includes the effects of the earlier commands of the
/// transaction.
type CommandMaker = Arc<dyn Fn(&World) -> Result<Command, DecisionStop> + Send + Sync>;

/// One command of a transaction that has several commands.
#[derive(Clone)]
pub struct TransactionStep {
    make: CommandMaker,
    /// The name of an optional command. When the command is refused, it is left out, and the other commands still take
    /// effect. `None` for a required command: when it is refused, no command of the transaction takes effect.
    optional: Option<String>,
}

/// The result of a transaction that has several commands.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionResult {
    /// The commands took effect now: their replies in order, and the names and refusals of the commands that were left
    /// out.
    Now { replies: Vec<Reply>, left_out: Vec<(String, Refusal)> },
    /// The commands took effect in an earlier call: their idempotency key was already used.
    Before,
}

impl std::fmt::Debug for TransactionStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionStep").field("optional", &self.optional).finish_non_exhaustive()
    }
}

impl TransactionStep {
    pub fn of(command: Command) -> Self {
        Self { make: Arc::new(move |_| Ok(command.clone())), optional: None }
    }

    pub fn made(make: impl Fn(&World) -> Result<Command, DecisionStop> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), optional: None }
    }

    #[must_use]
    pub fn optional(self, name: impl Into<String>) -> Self {
        Self { optional: Some(name.into()), ..self }
    }
}

impl Service {
    /// Executes several commands as one caller in one transaction. The caller's idempotency key covers all of them
    /// together.
    pub async fn execute_all(&self, caller: Caller, acts: Vec<TransactionStep>) -> Result<TransactionResult, Error> {
        let caller = Caller { lifetimes: self.lifetimes(), ..caller };
        let done = Arc::new(Mutex::new(TransactionResult::Before));
        let acts = Arc::new(acts);
        let change = self.transact(Vec::new(), LeaseTime::Now, |moment| {
            let (told, acts, caller) = (Arc::clone(&done), Arc::clone(&acts), moment.informed(caller.clone()));
            move |world: &World| {
                let (change, found) = all(world, &caller, &acts, moment.stamp)?;
                *told.lock().unwrap_or_else(PoisonError::into_inner) = found;
                Ok(change)
            }
        });
        change.await?.reply?;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(done)
    }
}

fn all(
    world: &World,
    caller: &Caller,
    acts: &[TransactionStep],
    stamp: Stamp,
) -> Result<(Change, TransactionResult), Vec<engine::Need>> {
    let mut world = world.clone();
    let mut whole = Change { events: Vec::new(), sender: Actor::Engine, reply: Ok(Reply::Released) };
    let (mut replies, mut left_out) = (Vec::new(), Vec::new());
    for (number, act) in (0..).zip(acts) {
        let command = match (act.make)(&world) {
            Ok(command) => command,
            Err(DecisionStop::Missing(needs)) => return Err(needs),
            Err(DecisionStop::Refused(refusal) | DecisionStop::Recorded(refusal)) => {
                return Ok((refused(refusal), TransactionResult::Before));
            }
        };
        let first = number == 0;
        let caller = Caller { key: caller.key.clone().filter(|_| first), ..caller.clone() };
        // Each command needs its own seed, because ids are made from the seed.
        let stamp = Stamp { seed: stamp.seed.wrapping_add(number), ..stamp };
        let change = decide(&world, &caller, &command, stamp)?;
        if caller.key.is_some() && change.events.is_empty() {
            return Ok((before(change), TransactionResult::Before));
        }
        match (change.reply, &act.optional) {
            (Ok(reply), _) => replies.push(reply),
            (Err(refusal), Some(name)) => left_out.push((name.clone(), refusal)),
            (Err(refusal), None) => return Ok((refused(refusal), TransactionResult::Before)),
        }
        fold(&mut world, &change.events, stamp.now);
        whole.sender = change.sender;
        whole.events.extend(change.events);
    }
    if let Some(last) = replies.last() {
        whole.reply = Ok(last.clone());
    }
    Ok((whole, TransactionResult::Now { replies, left_out }))
}

/// Returns a change without effects, for an idempotency key that was used before. If the key was used with other
/// arguments, the change is a refusal. Otherwise its reply is a placeholder, because no caller needs the first reply.
fn before(change: Change) -> Change {
    match change.reply {
        Err(conflict @ Refusal::IdempotencyConflict { .. }) => refused(conflict),
        Ok(_) | Err(_) => Change { reply: Ok(Reply::Released), ..change },
    }
}

/// Returns a change that refuses the command and has no effects.
fn refused(refusal: Refusal) -> Change {
    Change { events: Vec::new(), sender: Actor::Engine, reply: Err(refusal) }
}

#[cfg(test)]
mod tests {
    use engine::Rights;
    use engine::checkpoint::Kind;
    use engine::command::{CreateWorkflow, Note, Register, Target};
    use engine::id::{AgentId, TaskId};
    use engine::plan::PlanTask;
    use engine::task::Status;

    use super::*;
    use crate::ground::clock::SystemClock;
    use crate::service;

    async fn held() -> (Service, AgentId, TaskId) {
        let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock));
        let person = || Caller::with_rights(Rights::Person);
        let register = Command::Register(Register::named("amy", "test"));
        let reply = service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
        let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
        let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named("w"))).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let plan = service.set_plan(person(), workflow, "s".to_owned(), vec![PlanTask::named("t")]).await.unwrap();
        let Reply::PlanSet { task_ids, .. } = plan else { panic!("{plan:?}") };
        let task = task_ids[0].1;
        service.execute(Caller::agent(agent), Command::Claim { task }).await.unwrap();
        (service, agent, task)
    }

    fn note(task: TaskId, text: &str) -> TransactionStep {
        TransactionStep::of(Command::AddCheckpoint { task, attempt: Some(1), note: Note::plain(Kind::Progress, text) })
    }

    fn complete(task: TaskId, outcome: Option<&str>) -> TransactionStep {
        let to = Target::Completed { outcome: outcome.map(str::to_owned), detail: None, delivery: None };
        TransactionStep::of(Command::Move { task, attempt: Some(1), to })
    }

    #[tokio::test]
    async fn each_sees_what_was_done_before_it_and_all_are_done_once() {
        let (service, agent, task) = held().await;
        let caller = || {
            let key = service::key(engine::caller::KeyOwner::Fixed("all".to_owned()), "k".to_owned(), &"f");
            Caller { key: Some(key), ..Caller::agent(agent) }
        };
        let acts =
            vec![note(task, " ").optional("blank"), note(task, "one"), note(task, "two"), complete(task, Some("done"))];
        let done = service.execute_all(caller(), acts.clone()).await.unwrap();
        let TransactionResult::Now { replies, left_out } = done else { panic!("{done:?}") };
        assert_eq!(replies.last(), Some(&Reply::Moved { status: Status::Completed }));
        assert_eq!(left_out.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["blank"]);
        assert_eq!(service.execute_all(caller(), acts.clone()).await.unwrap(), TransactionResult::Before);
        let key = service::key(engine::caller::KeyOwner::Fixed("all".to_owned()), "k".to_owned(), &"another");
        let other = service.execute_all(Caller { key: Some(key), ..Caller::agent(agent) }, acts).await;
        assert!(matches!(other, Err(Error::Refused(Refusal::IdempotencyConflict { .. }))), "{other:?}");
        let found = service.view(move |world| world.task(task).cloned()).await.unwrap();
        assert_eq!((found.status(), found.checkpoints), (Status::Completed, 2));
    }

    #[tokio::test]
    async fn one_that_is_refused_undoes_all() {
        let (service, agent, task) = held().await;
        let acts = vec![note(task, "one"), complete(task, None)];
        let refused = service.execute_all(Caller::agent(agent), acts).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::MissingOutcome))), "{refused:?}");
        let found = service.view(move |world| world.task(task).cloned()).await.unwrap();
        assert_eq!((found.status(), found.checkpoints), (Status::Pending, 0));
    }
}
