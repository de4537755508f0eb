//! Tests the sums of costs, with a store in memory and a clock that the test sets.

use std::sync::Arc;

use engine::command::{CreateWorkflow, Register, StartTurn};
use engine::id::TaskId;
use engine::plan::PlanTask;
use engine::turn::{Purpose, TurnEnd};
use engine::{Caller, Command, Reply, Rights};

use super::*;
use crate::ground::clock::ManualClock;

/// The time 2026-11-17 00:00:00 UTC.
const DAY: i64 = 1_794_873_600_000;
const HOUR: i64 = 3_600_000;

struct SpendScene {
    service: Service,
    clock: Arc<ManualClock>,
}

impl SpendScene {
    fn new(store: Arc<dyn store::Store>) -> Self {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(DAY)));
        Self { service: Service::new(store, clock.clone()), clock }
    }

    async fn run(&self, caller: Caller, command: Command) -> Reply {
        self.service.execute(caller, command).await.unwrap()
    }

    /// Makes a workflow with one task, and registers an agent for it.
    async fn task(&self, plan: &str, agent: &str) -> (TaskId, AgentId) {
        let person = || Caller::with_rights(Rights::Person);
        let made = self.run(person(), Command::CreateWorkflow(CreateWorkflow::named(plan))).await;
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let tasks = vec![PlanTask::named("t")];
        self.service.set_plan(person(), workflow, "s".to_owned(), tasks).await.unwrap();
        let caller = || Caller::with_rights(Rights::Agent);
        let reply = self.run(caller(), Command::Register(Register::named(agent, "test"))).await;
        let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
        let task = self
            .service
            .ask(engine::list::TaskQuery::Planned { workflow, statuses: Vec::new(), after: None, limit: 1 })
            .await
            .unwrap()[0]
            .id;
        (task, agent)
    }

    /// Runs a turn at this hour. The turn ends when it has a cost: dollars, tokens in, tokens out and a model.
    async fn turn(&self, (task, agent): (TaskId, AgentId), hour: i64, ended: Option<RecordedCost>) {
        self.clock.set(Timestamp(DAY + hour * HOUR));
        let runner = || Caller { agent: Some(agent), ..Caller::with_rights(Rights::Runner) };
        // Each turn has a claim of its own, because the lease of an earlier claim has run out.
        let Reply::Claimed { attempt, .. } = self.run(runner(), Command::Claim { task }).await else {
            panic!("no claim")
        };
        let (adapter, name) = ("exec".to_owned(), "here".to_owned());
        let start = StartTurn { task, attempt, agent: None, purpose: Purpose::First, adapter, runner: name };
        let Reply::TurnStarted { turn, .. } = self.run(runner(), Command::StartTurn(start)).await else {
            panic!("no turn")
        };
        let Some((usd_micros, tokens, model)) = ended else { return };
        let ended = TurnResult {
            at: self.service.now(),
            end: TurnEnd::Finished,
            reason: None,
            conversation: None,
            spent: Spent {
                usd_micros,
                tokens: tokens.map(|(read, written)| read + written),
                tokens_in: tokens.map(|(read, _)| read),
                tokens_out: tokens.map(|(_, written)| written),
                ms: 1_000,
                turns: 1,
            },
            tool_calls: 0,
            stream: None,
            verdict: None,
            model: model.map(str::to_owned),
        };
        self.run(runner(), Command::EndTurn { turn, ended: Box::new(ended) }).await;
        self.run(runner(), Command::Release { task, attempt: Some(attempt), reason: None }).await;
    }

    async fn told(&self, group: SpendGroup, range: SpendRange) -> Vec<String> {
        let clock = LocalClock::fixed(self.service.now());
        let report = read(&self.service, (group, range), &clock).await.unwrap();
        assert!(!report.is_cut);
        let total = ("total".to_owned(), report.total);
        report
            .rows
            .into_iter()
            .map(|row| (row.name, row.sum))
            .chain([total])
            .map(|(name, sum)| words(&name, sum))
            .collect()
    }
}

type RecordedCost = (Option<u64>, Option<(u64, u64)>, Option<&'static str>);

fn words(name: &str, sum: SpendSum) -> String {
    let number = |amount: Option<u64>| amount.map_or("?".to_owned(), |amount| amount.to_string());
    let Spent { usd_micros, tokens_in, tokens_out, ms, turns, .. } = sum.spent;
    let (usd, read, written) = (number(usd_micros), number(tokens_in), number(tokens_out));
    format!("{name}: {usd} micros, {} of {turns} unknown, {read} in, {written} out, {ms} ms", sum.unknown_turns)
}

fn all() -> SpendRange {
    SpendRange { from: Timestamp(0), until: Timestamp(i64::MAX) }
}

async fn scene(store: Arc<dyn store::Store>) -> SpendScene {
    let scene = SpendScene::new(store);
    let (login, docs) = (scene.task("Login", "amy").await, scene.task("Docs", "ben").await);
    scene.turn(login, 1, Some((Some(30), Some((10, 3)), Some("opus")))).await;
    scene.turn(login, 2, Some((None, None, None))).await;
    scene.turn(docs, 25, Some((Some(50), Some((20, 4)), Some("opus")))).await;
    scene.turn(docs, 26, Some((None, Some((7, 1)), Some("gpt")))).await;
    // This turn has not ended, so it has no cost yet.
    scene.turn(docs, 27, None).await;
    scene
}

#[tokio::test]
async fn costs_add_up_by_day_agent_workflow_and_model() {
    let scene = scene(store::open("memory:", 1).await.unwrap()).await;
    let total = "total: 80 micros, 2 of 4 unknown, 37 in, 8 out, 4000 ms";
    let second = "50 micros, 1 of 2 unknown, 27 in, 5 out, 2000 ms";
    let first = "30 micros, 1 of 2 unknown, 10 in, 3 out, 2000 ms";
    let pair = |new: &str, old: &str| vec![format!("{new}: {second}"), format!("{old}: {first}"), total.to_owned()];
    assert_eq!(scene.told(SpendGroup::Day, all()).await, pair("2026-11-18", "2026-11-17"));
    assert_eq!(scene.told(SpendGroup::Agent, all()).await, pair("ben", "amy"));
    assert_eq!(scene.told(SpendGroup::Workflow, all()).await, pair("Docs", "Login"));
    let models = [
        "opus: 80 micros, 0 of 2 unknown, 30 in, 7 out, 2000 ms",
        // The cost of these models is unknown, which is not zero.
        "gpt: ? micros, 1 of 1 unknown, 7 in, 1 out, 1000 ms",
        "unknown: ? micros, 1 of 1 unknown, ? in, ? out, 1000 ms",
        total,
    ];
    assert_eq!(scene.told(SpendGroup::Model, all()).await, models);
}

#[tokio::test]
async fn only_turns_that_started_in_the_range_count() {
    let scene = scene(store::open("memory:", 1).await.unwrap()).await;
    let range =
        |from: i64, until: i64| SpendRange { from: Timestamp(DAY + from * HOUR), until: Timestamp(DAY + until * HOUR) };
    let turns = async |range: SpendRange| {
        let found = read(&scene.service, (SpendGroup::Day, range), &LocalClock::fixed(Timestamp(DAY))).await.unwrap();
        (found.rows.len(), found.total.spent.turns)
    };
    assert_eq!(turns(range(1, 26)).await, (2, 3), "`from` is inclusive, `until` is exclusive");
    assert_eq!(turns(range(2, 25)).await, (1, 1));
    assert_eq!(turns(range(3, 3)).await, (0, 0));
    assert_eq!(turns(range(27, 99)).await, (0, 0), "the running turn");
}

#[tokio::test]
async fn a_range_with_more_turns_than_the_limit_is_cut() {
    let scene = scene(store::open("memory:", 1).await.unwrap()).await;
    let seen = async |most: usize| {
        let mut seen = 0;
        let has_more = each_turn(&scene.service, all(), most, |_| seen += 1).await.unwrap();
        (seen, has_more)
    };
    assert_eq!((seen(5).await, seen(4).await, seen(0).await), ((5, false), (4, true), (0, true)));
}

#[tokio::test]
async fn a_long_range_is_read_in_pages() {
    let scene = SpendScene::new(store::open("memory:", 1).await.unwrap());
    let task = scene.task("Login", "amy").await;
    for _ in 0..PAGE + 7 {
        scene.turn(task, 1, Some((Some(1), None, None))).await;
    }
    let told = scene.told(SpendGroup::Agent, all()).await;
    assert_eq!(told[0], "amy: 507 micros, 0 of 507 unknown, ? in, ? out, 507000 ms");
}
