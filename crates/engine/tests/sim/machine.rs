//! Runs the engine in the simulator as a real store does, one command at a time. Checks the invariants after each
//! command.

use std::collections::{BTreeMap, BTreeSet};

use engine::id::{AgentId, MessageId, TaskId};
use engine::inbox::MailboxOwner;
use engine::key::{KeyId, StoredKey};
use engine::tables::Tables;
use engine::{Caller, Change, Command, Refusal, Reply, Stamp, Timestamp, World, Write, decide, fold};

use crate::fault::Fault;
use crate::{check, recount, tally, voice};

/// The maximum number of times that a decision may ask for further parts of the state. A decision that asks more often
/// counts as stuck.
const ROUNDS_MAX: usize = 64;

/// One step of the simulator: a command with its caller and its time, as it reaches the engine.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) caller: Caller,
    pub(crate) command: Command,
    pub(crate) now: Timestamp,
    pub(crate) seed: u128,
}

/// An invariant of the engine that failed, with the details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) rule: &'static str,
    pub(crate) what: String,
}

pub(crate) type Verdict = Result<(), Broken>;

/// The checker's own record of a run of the simulator. By comparing it with the state, the checker notices when the
/// engine loses a row.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) claims: BTreeMap<TaskId, BTreeMap<u32, AgentId>>,
    pub(crate) sent: BTreeMap<MailboxOwner, Vec<MessageId>>,
    pub(crate) keys: BTreeMap<KeyId, StoredKey>,
    pub(crate) met: BTreeSet<TaskId>,
    /// The tasks that were completed and then sent back to their agents.
    pub(crate) sent_back: BTreeSet<TaskId>,
    /// For each task, the open tasks that it waited for when it was added to the plan, directly or through other tasks.
    pub(crate) planned_after: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// The tasks that were protected (by a gate, a review, limits or a contract) when they were added to the plan.
    pub(crate) protected: BTreeSet<TaskId>,
}

/// One step of the simulator, as the checks see it: the state before and after the step, its command, and its result.
pub(crate) struct Seen<'a> {
    pub(crate) before: &'a Tables,
    pub(crate) after: &'a Tables,
    pub(crate) step: &'a Step,
    pub(crate) change: &'a Change,
    pub(crate) writes: &'a [Write],
    /// The tasks whose rows the simulated step changed.
    pub(crate) touched: BTreeSet<TaskId>,
}

pub(crate) struct Machine {
    pub(crate) tables: Tables,
    /// A copy of the state as it was before the simulated step. After the checks, the writes of the step are applied to
    /// this copy. That is cheaper than copying `tables` for each step.
    before: Tables,
    memory: Memory,
    fault: Fault,
    pub(crate) trace: bool,
    pub(crate) steps: usize,
    /// The situations that the simulated run met, such as a certain refusal, each with the number of times.
    pub(crate) tally: BTreeMap<String, u64>,
}

impl Machine {
    pub(crate) fn new(fault: Fault, trace: bool) -> Self {
        Self {
            tables: Tables::default(),
            before: Tables::default(),
            memory: Memory::default(),
            fault,
            trace,
            steps: 0,
            tally: BTreeMap::new(),
        }
    }

    /// Lets the engine decide the command of a step, writes the result to the state, and checks the invariants.
    pub(crate) fn act(&mut self, step: &Step) -> Result<Result<Reply, Refusal>, Broken> {
        self.steps += 1;
        let bent = self.fault.bend_step(&self.tables, step);
        let (mut change, writes) = run(&self.tables, bent.as_ref().unwrap_or(step), self.steps.is_multiple_of(4))?;
        if bent.is_some() {
            // Here a planted fault has changed the caller of the step that the engine got. The log must still name the
            // caller of the unchanged step.
            change.sender = voice::sender(&self.tables, step);
        }
        let mut writes = self.fault.bend_change(&mut change, writes);
        self.fault.move_on_read(&self.tables, step, &mut change, &mut writes);
        self.fault.bend_writes(&mut writes);
        for write in &writes {
            self.tables.write(write.clone());
        }
        if self.trace {
            self.print(step, &change);
        }
        let seen = Seen {
            before: &self.before,
            after: &self.tables,
            step,
            change: &change,
            writes: &writes,
            touched: check::touched(&writes),
        };
        for met in tally::of(&seen) {
            *self.tally.entry(met).or_default() += 1;
        }
        check::step(&seen, &mut self.memory)?;
        recount::step(&seen, &self.memory)?;
        for write in writes {
            self.before.write(write);
        }
        Ok(change.reply)
    }

    /// Checks the whole state at the end of a run: the copies `before` and `tables` of the state must be equal, and all
    /// counters must be right. The check after each step looks only at the rows that the step changed.
    pub(crate) fn audit(&self) -> Verdict {
        if self.before != self.tables {
            return Err(Broken { rule: "only writes change the state", what: "the two copies differ".to_owned() });
        }
        recount::whole(&self.tables, &self.memory)
    }

    fn print(&self, step: &Step, change: &Change) {
        let events: Vec<&str> = change.events.iter().map(engine::Event::name).collect();
        let reply = match &change.reply {
            Ok(reply) => format!("{reply:?}"),
            Err(refusal) => format!("refused: {refusal}"),
        };
        eprintln!("{:>4} {}\n     => {reply} [{}]", self.steps, brief(step), events.join(" "));
    }
}

/// Shows a step of the simulator in one line: the time, the caller, the command.
pub(crate) fn brief(step: &Step) -> String {
    let agent = step.caller.agent.map_or_else(String::new, |agent| format!("{agent} "));
    let session = step.caller.session.map_or_else(String::new, |session| format!("@{session} "));
    let who = format!("{agent}{session}{:?}", step.caller.standing);
    let asked = format!("{:?}", step.command);
    let short: String = asked.chars().take(320).collect();
    let more = if short.len() < asked.len() { "…" } else { "" };
    let key = step.caller.key.as_ref().map_or(String::new(), |key| format!(" key {:?}", key.key));
    format!("{} {:?} {who}{key}: {short}{more}", step.now.0, step.caller.rights)
}

/// Decides a command on the part of the state that is loaded for it, and returns the rows to write. If `twice` is true,
/// decides the command a second time. The second decision must give the same result.
fn run(tables: &Tables, step: &Step, twice: bool) -> Result<(Change, Vec<Write>), Broken> {
    let stamp = Stamp { now: step.now, seed: step.seed };
    let mut world = World::default();
    for need in step.command.scope(&step.caller) {
        tables.answer(&need, &mut world);
    }
    for _ in 0..ROUNDS_MAX {
        let needs = match decide(&world, &step.caller, &step.command, stamp) {
            Ok(change) => {
                if twice && decide(&world, &step.caller, &step.command, stamp).as_ref() != Ok(&change) {
                    return Err(Broken { rule: "a decision decides the same again", what: format!("{change:?}") });
                }
                let writes = fold(&mut world, &change.events, step.now);
                return Ok((change, writes));
            }
            Err(needs) => needs,
        };
        if let Some(known) = needs.iter().find(|need| world.knows(need)) {
            return Err(Broken { rule: "a need is asked once", what: format!("{known:?}") });
        }
        needs.iter().for_each(|need| tables.answer(need, &mut world));
    }
    Err(Broken { rule: "a decision ends", what: format!("after {ROUNDS_MAX} rounds") })
}
