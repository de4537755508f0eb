//! Tests many processes on one SQLite file. Every agent has its own `handover mcp` process, and one of these processes
//! is killed while its agent works.
//!
//! A short run is part of the tests. `HANDOVER_SECONDS=60` makes a long run and prints its figures.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::busy::patience;
use crate::pipe::Pipe;
use crate::place::Place;

const PROCESSES: usize = 32;
const SECONDS_DEFAULT: u64 = 6;
/// The number of planned tasks per second of the test: more than the processes can do, so that no process runs out of
/// work.
const TASKS_PER_SECOND: u64 = 800;
/// The longest time until the task of a killed process is offered to other agents again.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// The answers that one agent got during the test, and the duration of each of its calls.
#[derive(Debug, Default)]
struct Told {
    agent: String,
    /// The task and the claim number (the attempt) of each claim that the agent got.
    claims: Vec<(String, u64)>,
    lost: usize,
    /// The task, the number and the summary of each checkpoint (note about the progress) that the agent recorded.
    checkpoints: Vec<(String, u64, String)>,
    /// The task and the outcome of each task that the agent completed.
    completions: Vec<(String, String)>,
    calls: Vec<Duration>,
    /// Errors and unexpected answers that the agent got.
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
        // The other agents' processes stay alive until the task of the killed agent is offered again, because one of
        // them must notice the kill.
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

/// Creates a workflow of independent tasks, and returns its id.
fn plan(planner: &mut Pipe, tasks: u64) -> String {
    planner.register("planner");
    let workflow = planner.must("workflow_create", &json!({"name": "many"}))["id"].as_str().unwrap().to_owned();
    let tasks: Vec<Value> = (0..tasks).map(|number| json!({"name": format!("task {number}")})).collect();
    planner.must("workflow_set_plan", &json!({"id": workflow, "plan": {"summary": "all at once", "tasks": tasks}}));
    workflow
}

/// Returns the time from the kill of an agent until a checkpoint (a note about the progress) of its task says that the
/// claim has ended.
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

    /// Claims tasks, records checkpoints (notes about the progress) and completes the tasks for the given time. Ends
    /// the connection only when all agents are done.
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

    /// Works on tasks for the given time. Then the agent's process is killed while it holds a task.
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

    /// Makes one call and measures it. Returns Handover's refusal to the caller, and records any other error as a
    /// problem.
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

    /// Claims a task. In even rounds the tool `task_next` chooses the task. In odd rounds this client chooses a task
    /// from the list of claimable tasks, and another agent may claim that task first.
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
            // Each agent chooses a different one of the offered tasks. Otherwise nearly all agents would try to claim
            // one and the same task, and fail.
            let choice = (round + self.told.claims.len()) % offered["tasks"].as_array().unwrap().len().max(1);
            let task = offered["tasks"][choice]["id"].clone();
            match self.call("task_claim", &json!({"task_id": task}))? {
                Ok(reply) if reply["success"] == true => (task, reply["attempt"].as_u64()),
                Ok(_) => {
                    self.told.lost += 1;
                    return None;
                }
                // Another agent was so fast that the chosen task is completed already.
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

/// Compares the answers that the agents got with the content of the store.
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

/// The claims, checkpoints and outcomes in an export of the store.
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
