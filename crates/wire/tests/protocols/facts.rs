//! Makes facts about tasks as input for the tests of `task_load_context`, from a task with almost no data to a task
//! with large and hostile texts.

use engine::checkpoint::{Checkpoint, Kind};
use engine::command::Note;
use engine::context::{ContextFacts, Prior};
use engine::id::Ids;
use engine::task::{BlockKind, Lease, Priority, Task, TaskBlock, TaskDetail, TaskState};
use engine::workflow::{Workflow, WorkflowDetail, WorkflowStatus};
use engine::{Actor, Json, Millis, Timestamp};
use wire::json::{Value, object};

use chance::SeededRandom;

const PROSE: &str = include_str!("../fixtures/tokens/english-story.txt");
const CODE: &str = include_str!("../fixtures/tokens/code.ts");
const CHINESE: &str = include_str!("../fixtures/tokens/chinese.txt");
const EMOJI: &str = include_str!("../fixtures/tokens/emoji.txt");
const MIXED: &str = include_str!("../fixtures/tokens/european.txt");

/// Returns the facts that `task_load_context` gets about a task with almost no data.
pub(crate) fn plain(seed: u128) -> ContextFacts {
    let ids = &mut Ids::new(seed);
    let (at, workflow) = (Timestamp(1_767_225_600_000), engine::id::WorkflowId::next(ids));
    ContextFacts {
        workflow: Workflow {
            id: workflow,
            name: "Sign in with other accounts".to_owned(),
            status: WorkflowStatus::InProgress,
            parallel_max: Some(3),
            lease_ms: Millis::minutes(15),
            lock: None,
            draft: None,
            standing: false,
            archived: false,
            branch: None,
            tasks: 4,
            open: 2,
            sequence: 4,
            created: at,
            updated: at,
        },
        workflow_detail: WorkflowDetail {
            source_type: "prompt".to_owned(),
            source_content: "Let people sign in with the accounts they have.".to_owned(),
            plan_summary: Some("Infrastructure first, then one provider after the other.".to_owned()),
            ..WorkflowDetail::default()
        },
        task: task(ids, workflow, "Callback of the first provider", TaskState::Pending { lease: None }),
        detail: TaskDetail::default(),
        checkpoints: Vec::new(),
        blocked_by: Vec::new(),
        prior: Vec::new(),
        prior_more: 0,
        siblings: Vec::new(),
        siblings_more: 0,
        dependencies: Vec::new(),
        dependencies_more: 0,
    }
}

pub(crate) fn task(ids: &mut Ids, workflow: engine::id::WorkflowId, name: &str, state: TaskState) -> Task {
    Task {
        id: engine::id::TaskId::next(ids),
        workflow,
        number: 7,
        name: name.to_owned(),
        sequence: 3,
        priority: Priority::DEFAULT,
        role: None,
        capabilities: Vec::new(),
        touches: Vec::new(),
        group: None,
        gate: false,
        limited: false,
        author: None,
        verify: false,
        review: false,
        attempts_max: 5,
        attempt: 2,
        crashes: 0,
        unmet: 0,
        checkpoints: 0,
        repository: None,
        workspace: None,
        state,
        created: Timestamp(1_767_225_600_000),
        updated: Timestamp(1_767_225_600_000),
    }
}

/// Adds checkpoints (progress notes) to a task, as if an agent had recorded them one minute apart.
pub(crate) fn record(facts: &mut ContextFacts, notes: impl IntoIterator<Item = Note>) {
    let ids = &mut Ids::new(77);
    for note in notes {
        let at = Timestamp(1_767_225_600_000 + 60_000 * i64::from(facts.task.checkpoints));
        facts.checkpoints.push(Checkpoint::after(&facts.task, ids, Actor::Engine, note, at));
        facts.task.checkpoints += 1;
    }
}

pub(crate) fn json(value: &Value) -> Json {
    Json::from_stored(value.to_string())
}

/// Returns a random text of about `bytes` bytes.
fn text(chance: &mut SeededRandom, bytes: usize) -> String {
    let source = *chance.one_of(&[PROSE, PROSE, PROSE, CODE, CODE, CHINESE, EMOJI, MIXED]);
    match chance.below(12) {
        0 => "x".repeat(bytes),
        1 => "\\\"\n\t".repeat(bytes / 4),
        2 => "-".repeat(bytes),
        _ => {
            let places: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
            let from = *chance.one_of(&places);
            let all = source[from..].chars().chain(source.chars().cycle());
            let mut size = 0;
            all.take_while(|found| {
                size += found.len_utf8();
                size <= bytes
            })
            .collect()
        }
    }
}

/// Returns a random size that is mostly small, sometimes large, and rarely near the legal maximum `max`.
fn size(chance: &mut SeededRandom, max: usize) -> usize {
    let scale = *chance.one_of(&[20, 60, 60, 200, 200, 200, 1_000, 1_000, 5_000, 40_000]);
    1 + chance.below(scale.min(max))
}

fn value(chance: &mut SeededRandom, depth: usize) -> Value {
    let bytes = size(chance, 60_000);
    match chance.below(6) {
        0 if depth < 4 => Value::List((0..chance.below(6)).map(|_| value(chance, depth + 1)).collect()),
        1 => Value::from(u64::try_from(chance.below(1 << 40)).unwrap()),
        2 if depth == 0 => (0..125).fold(Value::from("deep"), |inner, _| Value::List(vec![inner])),
        _ => object([
            ("approach", text(chance, bytes).into()),
            ("steps", vec![text(chance, 80), text(chance, 40)].into()),
        ]),
    }
}

fn maybe_json(chance: &mut SeededRandom) -> Option<Json> {
    (chance.below(3) > 0).then(|| json(&value(chance, 0)))
}

fn name(chance: &mut SeededRandom) -> String {
    let bytes = *chance.one_of(&[12, 30, 30, 60, 512]);
    text(chance, bytes)
}

fn state(chance: &mut SeededRandom) -> TaskState {
    let lease = |chance: &mut SeededRandom| Lease {
        agent: engine::id::AgentId::next(&mut Ids::new(u128::from(chance.word()))),
        since: Timestamp(0),
        until: Timestamp(1),
    };
    let bytes = size(chance, 60_000);
    let said = text(chance, bytes);
    match chance.below(8) {
        0 => TaskState::Pending { lease: None },
        1 => TaskState::Planning { lease: lease(chance) },
        2 => TaskState::InProgress { lease: lease(chance) },
        3 => TaskState::Paused { lease: lease(chance), reason: Some(said) },
        4 => TaskState::Failed { by: Actor::Engine, error: said },
        5 => TaskState::Skipped { by: Actor::Person, reason: said },
        6 => TaskState::Blocked(TaskBlock {
            by: Actor::Runner,
            kind: BlockKind::SpecGap,
            reason: said,
            role: "ba".to_owned(),
        }),
        _ => TaskState::Completed { by: Actor::Coordinator, outcome: said },
    }
}

fn tasks(chance: &mut SeededRandom, facts: &ContextFacts) -> Vec<Task> {
    let most = *chance.one_of(&[1, 3, 3, 10, 10, 10, 60, 300]);
    let count = chance.below(most);
    let ids = &mut Ids::new(u128::from(chance.word()));
    (0..count)
        .map(|_| {
            let (name, state) = (name(chance), state(chance));
            task(ids, facts.workflow.id, &name, state)
        })
        .collect()
}

fn texts(chance: &mut SeededRandom, count: usize, bytes: usize) -> Vec<String> {
    let count = if chance.below(3) == 0 { chance.below(count) } else { chance.below(4) };
    (0..count).map(|_| text(chance, bytes)).collect()
}

fn note(chance: &mut SeededRandom) -> Note {
    let bytes = size(chance, 64_000);
    let detail = if chance.below(2) == 0 { maybe_json(chance) } else { None };
    Note { kind: *chance.one_of(Kind::ALL), summary: text(chance, bytes), detail, files: texts(chance, 1_000, 40) }
}

/// Returns random facts about a task. Any data that the store can hold about a task may be among them.
pub(crate) fn any(chance: &mut SeededRandom) -> ContextFacts {
    let mut facts = plain(u128::from(chance.word()));
    let long = |chance: &mut SeededRandom| {
        let bytes = size(chance, 400_000);
        text(chance, bytes)
    };
    facts.workflow.name = name(chance);
    facts.workflow_detail.source_type = if chance.below(9) == 0 { long(chance) } else { "github_issue".to_owned() };
    facts.workflow_detail.source_ref = (chance.below(2) == 0).then(|| text(chance, 60));
    facts.workflow_detail.source_content = long(chance);
    facts.workflow_detail.plan_summary = (chance.below(3) > 0).then(|| long(chance));
    facts.task.name = name(chance);
    facts.task.state = state(chance);
    facts.task.role = (chance.below(2) == 0).then(|| text(chance, 120));
    facts.task.capabilities = texts(chance, 64, 120);
    facts.task.touches = texts(chance, 64, 4_000);
    facts.task.group = (chance.below(2) == 0).then(|| "providers".to_owned());
    facts.blocked_by = texts(chance, 1_000, 512);
    facts.detail.description = (chance.below(3) > 0).then(|| long(chance));
    facts.detail.plan = maybe_json(chance);
    facts.detail.context = maybe_json(chance);
    facts.detail.brief = maybe_json(chance);
    facts.task.checkpoints = u32::try_from(chance.below(3) * chance.below(2_000)).unwrap();
    let most = *chance.one_of(&[2, 8, 8, 30, 30, 200]);
    let notes: Vec<Note> = (0..chance.below(most)).map(|_| note(chance)).collect();
    record(&mut facts, notes);
    let prior = tasks(chance, &facts);
    facts.prior = prior.into_iter().map(|task| Prior { task, outcome_detail: maybe_json(chance) }).collect();
    facts.siblings = tasks(chance, &facts);
    facts.dependencies = tasks(chance, &facts);
    for more in [&mut facts.prior_more, &mut facts.siblings_more, &mut facts.dependencies_more] {
        *more = u32::try_from(chance.below(3) * chance.below(90_000)).unwrap();
    }
    facts
}
