//! Many processes on one SQLite file: every agent has its own `handover mcp`, and one of them is killed at work.
//!
//! A short run is part of the tests; `HANDOVER_SECONDS=60` makes a long one and prints its figures.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::busy::patience;
use crate::pipe::Pipe;
use crate::place::Place;

const PROCESSES: usize = 32;
const SECONDS_DEFAULT: u64 = 6;
/// More than the processes can do, so that there is work to the end.
const TASKS_PER_SECOND: u64 = 800;
/// The rules: work of a killed process is offered again within this time.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// What one agent was told, and how long it waited for it.
#[derive(Debug, Default)]
struct Told {
    agent: String,
    /// Task and attempt.
    claims: Vec<(String, u64)>,
    lost: usize,
    /// Task, number and summary.
    checkpoints: Vec<(String, u64, String)>,
    /// Task and outcome.
    completions: Vec<(String, String)>,
    calls: Vec<Duration>,
    /// Anything that was not in order.
    problems: Vec<String>,
}

struct Agent<'a> {
    pipe: Pipe,
    workflow: &'a str,
    told: Told,
}

#[test]
fn many_processes_share_one_file_without_an_error() {
    let seconds = std::env::var("HANDOVER_SECONDS").map_or(SECONDS_DEFAULT, |text| text.parse().unwrap());
    let place = Place::new();
    place.allow_coordinator();
    let mut planner = Pipe::open(&place, &["--tools", "full", "--as", "coordinator"]);
    let workflow = plan(&mut planner, seconds * TASKS_PER_SECOND);
    let time = Duration::from_secs(seconds);
    let meet = Barrier::new(PROCESSES);
    let (all, killed, recovery) = std::thread::scope(|scope| {
        let victim = Agent::start(&place, &workflow, 0);
        let others = (1..PROCESSES).map(|number| {
            let (place, workflow, meet) = (&place, workflow.as_str(), &meet);
            scope.spawn(move || Agent::start(place, workflow, number).work(meet, time))
        });
        let others: Vec<_> = others.collect();
        meet.wait();
        let (killed, task) = victim.work_and_be_killed(time / 2);
        let recovery = recovered(&mut planner, &task);
        // The others stay until then, since it is they who notice.
        meet.wait();
        let all: Vec<Told> = others.into_iter().map(|other| other.join().unwrap()).collect();
        (all, killed, recovery)
    });
    assert_eq!(planner.leave().1, "");
    let problems: Vec<&String> = all.iter().chain([&killed]).flat_map(|told| &told.problems).collect();
    assert!(problems.is_empty(), "{} problems, the first: {:?}", problems.len(), problems.first());
    assert!(recovery <= patience(RECOVERY_MAX), "the killed agent's task was offered again after {recovery:?}");
    check(&place, all.iter().chain([&killed]));
    println!("{}", figures(&all, seconds, recovery));
}

/// A workflow of independent tasks.
fn plan(planner: &mut Pipe, tasks: u64) -> String {
    planner.register("planner");
    let workflow = planner.must("workflow_create", &json!({"name": "many"}))["id"].as_str().unwrap().to_owned();
    let tasks: Vec<Value> = (0..tasks).map(|number| json!({"name": format!("task {number}")})).collect();
    planner.must("workflow_set_plan", &json!({"id": workflow, "plan": {"summary": "all at once", "tasks": tasks}}));
    workflow
}

/// How long it takes until a task is nobody's again. The log says so; a change of the task wakes us.
fn recovered(planner: &mut Pipe, task: &str) -> Duration {
    let killed = Instant::now();
    while killed.elapsed() <= patience(RECOVERY_MAX) {
        let found = planner.must("task_get", &json!({"id": task, "include_checkpoints": true}));
        let notes = found["checkpoints"].as_array().unwrap();
        if notes.iter().any(|note| note["checkpoint_type"] == "recovery") {
            return killed.elapsed();
        }
        planner.must("task_wait", &json!({"task_id": task, "wait_seconds": 5}));
    }
    killed.elapsed()
}

impl<'a> Agent<'a> {
    fn start(place: &Place, workflow: &'a str, number: usize) -> Self {
        let mut pipe = Pipe::open(place, &["--tools", "full"]);
        let agent = pipe.register(&format!("agent {number}"));
        Self { pipe, workflow, told: Told { agent, ..Told::default() } }
    }

    /// Claims, notes and completes for so long; leaves when all may.
    fn work(mut self, meet: &Barrier, time: Duration) -> Told {
        meet.wait();
        let began = Instant::now();
        for round in 0.. {
            if began.elapsed() >= time || !self.told.problems.is_empty() {
                break;
            }
            let Some((task, attempt)) = self.claim(round) else { continue };
            self.note(&task, attempt, round);
            self.complete(&task, attempt, round);
        }
        meet.wait();
        let (status, errors) = self.pipe.leave();
        if !status.success() || !errors.is_empty() {
            self.told.problems.push(format!("ended with {status}, saying {errors:?}"));
        }
        self.told
    }

    /// Works for a while, then is killed with a task in its hands.
    fn work_and_be_killed(mut self, time: Duration) -> (Told, String) {
        let began = Instant::now();
        for round in 0.. {
            let Some((task, attempt)) = self.claim(round) else { continue };
            self.note(&task, attempt, round);
            if began.elapsed() >= time {
                assert_eq!(self.pipe.kill(), "");
                return (self.told, task);
            }
            self.complete(&task, attempt, round);
        }
        unreachable!("it goes on until it is killed")
    }

    /// One call, timed. What the rules refuse is told to the caller, anything else is a problem.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Result<Value, Value>> {
        let began = Instant::now();
        let answer = self.pipe.call(tool, arguments);
        self.told.calls.push(began.elapsed());
        match answer {
            Ok(Err(refused)) if refused["code"] == "INTERNAL_ERROR" => {
                self.told.problems.push(format!("{tool}: {refused}"));
                None
            }
            Ok(answer) => Some(answer),
            Err(error) => {
                self.told.problems.push(format!("{tool}: {error}"));
                None
            }
        }
    }

    fn must(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let answer = self.call(tool, arguments)?;
        answer.map_err(|refused| self.told.problems.push(format!("{tool}: {refused}"))).ok()
    }

    /// In turns: the one call that gives work, and looking for it oneself, which others may win.
    fn claim(&mut self, round: usize) -> Option<(String, u64)> {
        let claim = if round.is_multiple_of(2) {
            let reply = self.must("task_next", &json!({"workflow_id": self.workflow, "max_tokens": 500}))?;
            if reply["success"] != true {
                self.told.problems.push(format!("there is work to the end, but: {reply}"));
                return None;
            }
            (reply["task"]["id"].clone(), reply["attempt"].as_u64())
        } else {
            let offered = json!({"workflow_id": self.workflow, "limit": 20});
            let offered = self.must("workflow_next_tasks", &offered)?;
            // Not all the same one, or nearly all would lose.
            let choice = (round + self.told.claims.len()) % offered["tasks"].as_array().unwrap().len().max(1);
            let task = offered["tasks"][choice]["id"].clone();
            match self.call("task_claim", &json!({"task_id": task}))? {
                Ok(reply) if reply["success"] == true => (task, reply["attempt"].as_u64()),
                Ok(_) => {
                    self.told.lost += 1;
                    return None;
                }
                // Another was so much faster that it is done.
                Err(refused) if refused["code"] == "INVALID_STATE" => {
                    self.told.lost += 1;
                    return None;
                }
                Err(refused) => {
                    self.told.problems.push(format!("task_claim: {refused}"));
                    return None;
                }
            }
        };
        let claim = (claim.0.as_str().unwrap().to_owned(), claim.1.unwrap());
        self.told.claims.push(claim.clone());
        Some(claim)
    }

    fn note(&mut self, task: &str, attempt: u64, round: usize) {
        let summary = format!("{} in round {round}", self.told.agent);
        let note = json!({"task_id": task, "attempt": attempt, "type": "progress", "summary": summary});
        if let Some(reply) = self.must("checkpoint_add", &note) {
            self.told.checkpoints.push((task.to_owned(), reply["sequence"].as_u64().unwrap(), summary));
        }
    }

    fn complete(&mut self, task: &str, attempt: u64, round: usize) {
        let outcome = format!("{} in round {round}", self.told.agent);
        let done = json!({"id": task, "attempt": attempt, "status": "completed", "outcome": outcome});
        if self.must("task_update_status", &done).is_some() {
            self.told.completions.push((task.to_owned(), outcome));
        }
    }
}

/// Holds what the agents were told against the store.
fn check<'a>(place: &Place, all: impl Iterator<Item = &'a Told>) {
    let verified = place.run(&["log", "verify"]);
    assert_eq!((verified.code, verified.err.as_str()), (Some(0), ""), "{}", verified.out);
    let stored = Stored::of(&place.export());
    for told in all {
        for (task, attempt) in &told.claims {
            let by = stored.claims.get(&(task.clone(), *attempt));
            assert_eq!(by, Some(&told.agent), "attempt {attempt} of {task}");
        }
        for (task, sequence, summary) in &told.checkpoints {
            let kept = stored.checkpoints.get(&(task.clone(), *sequence));
            assert_eq!(kept, Some(summary), "checkpoint {sequence} of {task}");
        }
        for (task, outcome) in &told.completions {
            assert_eq!(stored.outcomes.get(task), Some(outcome), "{task} was completed");
        }
    }
}

/// What the store holds, from an export.
#[derive(Debug, Default)]
struct Stored {
    claims: BTreeMap<(String, u64), String>,
    checkpoints: BTreeMap<(String, u64), String>,
    outcomes: BTreeMap<String, String>,
}

impl Stored {
    fn of(rows: &[Value]) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut stored = Self::default();
        for row in rows {
            let columns = &row["v"];
            if row["t"] == "checkpoint" {
                let key = (text(&columns[0]), columns[1].as_u64().unwrap());
                stored.checkpoints.insert(key, text(&columns[6]));
            }
            if row["t"] != "event" {
                continue;
            }
            let event: Value = serde_json::from_str(columns[5].as_str().unwrap()).unwrap();
            if columns[3] == "claimed" {
                let key = (text(&event["task"]), event["attempt"].as_u64().unwrap());
                let agent = text(&event["agent"]);
                let before = stored.claims.insert(key.clone(), agent);
                assert_eq!(before, None, "{key:?} was claimed twice");
            }
            if columns[3] == "moved" && event["state"]["status"] == "completed" {
                stored.outcomes.insert(text(&event["task"]), text(&event["state"]["outcome"]));
            }
        }
        stored
    }
}

fn figures(all: &[Told], seconds: u64, recovery: Duration) -> String {
    let mut calls: Vec<Duration> = all.iter().flat_map(|told| told.calls.iter().copied()).collect();
    calls.sort_unstable();
    let at = |percent: usize| calls[(calls.len() * percent / 100).min(calls.len() - 1)];
    let claims: usize = all.iter().map(|told| told.claims.len()).sum();
    let per_second = u64::try_from(claims).unwrap() / seconds;
    format!(
        "{PROCESSES} processes, {seconds} s: {} calls, {claims} claims ({per_second}/s), {} lost races; a call: p50 {:?}, \
         p99 {:?}, longest {:?}; recovery after {recovery:?}",
        calls.len(),
        all.iter().map(|told| told.lost).sum::<usize>(),
        at(50),
        at(99),
        at(100),
    )
}
