//! A random test script: a sequence of commands of all kinds, each with its caller and time.

use std::collections::{BTreeSet, VecDeque};

use engine::command::Key;
use engine::id::{AgentId, Ids, SessionId, TaskId, WorkflowId};
use engine::notice::{ItemTelling, ItemUntelling, NoticePace, NoticeWay};
use engine::put_off::ItemDelay;
use engine::tables::Tables;
use engine::task::Task;
use engine::token::{AccessTokenKind, Token};
use engine::workflow::WorkflowStatus;
use engine::{Caller, Change, Command, Rights, Timestamp};

use super::StoreOrder;
use super::chance::Chance;
use super::plans::text;

/// The names of all commands, spelled like the variants of `Command`.
const ALL: [&str; 84] = [
    "Register",
    "Heartbeat",
    "UpdateAgent",
    "Unregister",
    "Renew",
    "CloseSession",
    "CreateWorkflow",
    "OpenList",
    "SetCondition",
    "ClearCondition",
    "SendTaskBack",
    "TakeAsIs",
    "MoveDelivery",
    "DeliverWorkflow",
    "ArchiveWorkflow",
    "TakeBranch",
    "SetPlan",
    "BeginPlan",
    "ClearDraft",
    "StagePlan",
    "CommitPlan",
    "AddTask",
    "RemoveTask",
    "Replan",
    "SetWorkflowStatus",
    "Steer",
    "SetParallelism",
    "SetConfig",
    "LockWorkflow",
    "UnlockWorkflow",
    "AttachRepository",
    "DetachRepository",
    "Claim",
    "ClaimNext",
    "Release",
    "Crash",
    "Regain",
    "Move",
    "SetTaskPlan",
    "ReplanTask",
    "AddCheckpoint",
    "RegisterRepository",
    "CreateWorkspace",
    "UpdateWorkspace",
    "AssignWorkspace",
    "CreateTemplate",
    "RemoveTemplate",
    "CreateToken",
    "RevokeToken",
    "OfferCode",
    "EnrolBrowser",
    "UseBrowserKey",
    "Hear",
    "EndConversation",
    "SendBack",
    "GoOn",
    "StartTurn",
    "EndTurn",
    "RecordVerification",
    "SeeRunner",
    "ForgetRunner",
    "WriteSection",
    "ShowApprovals",
    "TakeNotice",
    "SettleNotice",
    "TellItems",
    "UntellItems",
    "PutOff",
    "AskApproval",
    "PassGate",
    "DecideApproval",
    "ConsumeApproval",
    "ExpireApprovals",
    "OpenReview",
    "StartRound",
    "EndRound",
    "DecideFinding",
    "Send",
    "Answer",
    "MarkRead",
    "Archive",
    "Sweep",
    "ForgetKeys",
    "(a repeated key)",
];

const SESSIONS: usize = 4;
const RECENT_MAX: usize = 30;
/// The interval, in steps of the script, at which a command about notices (messages to people) is sent.
const STEPS_BETWEEN_ITEMS: u64 = 150;
/// The interval, in steps of the script, at which a person puts off an item, or shows one again.
const STEPS_BETWEEN_PUT_OFFS: u64 = 61;
/// The interval, in steps of the script, at which a browser is enrolled. It takes three steps at the same time, because
/// a code is valid for a minute only.
const STEPS_BETWEEN_BROWSERS: u64 = 97;

#[derive(Debug)]
pub(super) struct ConformanceScript {
    pub(super) chance: Chance,
    pub(super) now: i64,
    ids: Ids,
    sessions: Vec<SessionId>,
    recent: VecDeque<StoreOrder>,
    accepted: BTreeSet<String>,
    serial: usize,
    steps: u64,
}

/// Returns a command about notices (messages to people). `number` decides which command it is. The random generator of
/// the script is not used, so that the other commands of a script do not depend on the commands about notices.
fn item_notice(number: u64) -> Command {
    let ways = NoticeWay::ALL;
    let way = ways[usize::try_from(number).unwrap_or(0) % ways.len()];
    let names = ["question a", "failed b", "agent_rests Ä", "stuck c", "budget d"];
    // An item is chosen when the bit of `number` at the item's position is 1.
    let chosen = names.into_iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
    let items = chosen.map(|(_, name)| name.to_owned()).collect();
    if number.is_multiple_of(4) {
        return Command::UntellItems(ItemUntelling { way, items });
    }
    let pace = if number.is_multiple_of(2) { NoticePace::Now } else { NoticePace::Spaced };
    Command::TellItems(ItemTelling { way, items, pace })
}

/// Returns a command that puts off an item, or shows it again. `number` decides which. The random generator of the script
/// is not used, so that the other commands of a script do not depend on these commands.
fn put_off(number: u64, now: Timestamp) -> Command {
    let names = ["question a", "failed b", "agent_rests Ä", "stuck c", "budget d"];
    let item = names[usize::try_from(number).unwrap_or(0) % names.len()].to_owned();
    // Items are put off for different times, so that some are over when the next item is put off.
    let minutes = i64::try_from(number % 7).unwrap_or(0) * 20 + 1;
    let until = (!number.is_multiple_of(3)).then_some(Timestamp(now.0 + minutes * 60_000));
    Command::PutOff(ItemDelay { item, until })
}

/// Returns a command about browsers: offers a code, enrols a browser with it, or uses a key. The random generator of the
/// script is not used, so that the other commands of a script do not depend on these commands.
fn browser(number: u64, step: u64, tables: &Tables) -> Command {
    let is_key = |token: &&Token| matches!(token.kind, AccessTokenKind::BrowserKey { .. });
    let keys: Vec<&str> = tables.tokens.values().filter(is_key).map(|token| token.hash.as_str()).collect();
    let place = usize::try_from(number).unwrap_or(0) % keys.len().max(1);
    let known = keys.get(place).map(|&key| key.to_owned());
    match step {
        0 => Command::OfferCode { hash: format!("code {number}") },
        1 => {
            // Every fourth time an enrolled browser comes back with its own key.
            let known = known.filter(|_| number.is_multiple_of(4));
            let key = known.unwrap_or_else(|| format!("browser key {number}"));
            Command::EnrolBrowser { code: format!("code {number}"), key, name: format!("Browser Ä {number}") }
        }
        _ => Command::UseBrowserKey { key: known.unwrap_or_else(|| "no key".to_owned()) },
    }
}

impl ConformanceScript {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut ids = Ids::new(chance.seed());
        let sessions = (0..SESSIONS).map(|_| SessionId::next(&mut ids)).collect();
        Self {
            chance,
            now: 1_700_000_000_000,
            ids,
            sessions,
            recent: VecDeque::new(),
            accepted: BTreeSet::new(),
            serial: 0,
            steps: 0,
        }
    }

    pub(super) fn next(&mut self, tables: &Tables) -> StoreOrder {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_ITEMS) {
            let command = item_notice(self.steps / STEPS_BETWEEN_ITEMS);
            return StoreOrder::new(Caller::with_rights(Rights::Engine), command, self.now, u128::from(self.steps));
        }
        if self.steps.is_multiple_of(STEPS_BETWEEN_PUT_OFFS) {
            let command = put_off(self.steps / STEPS_BETWEEN_PUT_OFFS, Timestamp(self.now));
            return StoreOrder::new(Self::person(), command, self.now, u128::from(self.steps));
        }
        let (number, step) = (self.steps / STEPS_BETWEEN_BROWSERS, self.steps % STEPS_BETWEEN_BROWSERS);
        if number > 0 && step < 3 {
            return StoreOrder::new(Self::person(), browser(number, step, tables), self.now, u128::from(self.steps));
        }
        self.pass_time();
        self.serial += 1;
        let (caller, command) = if self.chance.percent(6) && !self.recent.is_empty() {
            self.again()
        } else {
            let (caller, command) = self.command(tables);
            (self.with_key(caller), command)
        };
        let order = StoreOrder::new(caller, command, self.now, self.chance.seed());
        // Remember the command, so that the script can repeat it later. A command that sends only a part of a large
        // plan is not remembered, because the service sends each part only once.
        if order.command.is_final() {
            self.recent.push_back(order.clone());
        }
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
        order
    }

    pub(super) fn learn(&mut self, order: &StoreOrder, change: &Change) {
        if change.reply.is_err() {
            return;
        }
        let name = format!("{:?}", order.command);
        let end = name.find(|character: char| !character.is_alphanumeric()).unwrap_or(name.len());
        let repeated = order.caller.key.is_some() && order.command.is_final() && change.events.is_empty();
        self.accepted.insert(if repeated { "(a repeated key)".to_owned() } else { name[..end].to_owned() });
    }

    pub(super) fn never_accepted(&self) -> Vec<&'static str> {
        ALL.into_iter().filter(|name| !self.accepted.contains(*name)).collect()
    }

    /// Changes the time of the script: mostly forward, sometimes far forward, sometimes back. Real time stamps also go
    /// back, because a command gets its time before it waits in a queue, and because a clock may be set back.
    fn pass_time(&mut self) {
        let step = i64::from(match self.chance.below(100) {
            0..60 => self.chance.between(0, 500),
            60..94 => self.chance.between(500, 5_000),
            94..99 => self.chance.between(5_000, 100_000),
            _ => self.chance.between(1, 30) * 3_600_000,
        });
        self.now += if self.chance.percent(12) { -step.min(20_000) } else { step };
    }

    /// Returns an earlier command of the script, so that it is sent again with the same caller and idempotency key.
    fn again(&mut self) -> (Caller, Command) {
        let place = self.chance.below(self.recent.len());
        let order = self.recent[place].clone();
        (order.caller, order.command)
    }

    fn with_key(&mut self, caller: Caller) -> Caller {
        if !self.chance.percent(20) {
            return caller;
        }
        let number = if self.chance.percent(85) { self.serial } else { self.chance.below(self.serial) };
        let key = if self.chance.percent(5) { text(&mut self.chance) } else { format!("key {number}") };
        let owner = self.chance.word_of(&["token a", "token \"b\""]);
        Caller {
            key: Some(Key { owner: engine::caller::KeyOwner::Fixed(owner), key, fingerprint: number.to_string() }),
            ..caller
        }
    }

    /// Returns a caller with random rights: an agent, a runner, a coordinator, a person or the engine's own timer. The
    /// caller may name an agent, a connection, both or neither.
    pub(super) fn caller(&mut self, tables: &Tables) -> Caller {
        let rights = match self.chance.below(20) {
            0..14 => Rights::Agent,
            14 | 15 => Rights::Runner,
            16 => Rights::Coordinator,
            17 | 18 => Rights::Person,
            _ => Rights::Engine,
        };
        let agent = if self.chance.percent(75) { self.agent(tables) } else { None };
        let session = if self.chance.percent(60) { Some(self.session()) } else { None };
        let alive = if self.chance.percent(30) { self.sessions.clone() } else { Vec::new() };
        let lock_owner = self.chance.percent(10).then(|| text(&mut self.chance)).or(Some("somebody".to_owned()));
        let lock_owner = lock_owner.filter(|_| self.chance.percent(15));
        Caller { agent, session, lock_owner, alive, ..Caller::with_rights(rights) }
    }

    /// Returns the holder of a task (the agent that works on it) in most cases, else any caller.
    pub(super) fn holder(&mut self, tables: &Tables, task: &Task) -> Caller {
        match task.holder() {
            Some(holder) if self.chance.percent(80) => {
                let rights = if self.chance.percent(30) { Rights::Runner } else { Rights::Agent };
                Caller { rights, ..Caller::agent(holder) }
            }
            Some(_) | None => self.caller(tables),
        }
    }

    pub(super) fn person() -> Caller {
        Caller::with_rights(Rights::Person)
    }

    pub(super) fn agent(&mut self, tables: &Tables) -> Option<AgentId> {
        let here: Vec<AgentId> =
            tables.agents.values().filter(|agent| agent.left.is_none()).map(|agent| agent.id).collect();
        match self.chance.below(50) {
            0 => Some(AgentId::FIRST),
            1 => self.chance.key(&tables.agents),
            _ => self.chance.pick(&here),
        }
    }

    pub(super) fn session(&mut self) -> SessionId {
        let place = self.chance.below(self.sessions.len());
        self.sessions[place]
    }

    /// Ends a random connection and replaces it with a new one. Returns the connection that ended.
    pub(super) fn end_session(&mut self) -> SessionId {
        let place = self.chance.below(self.sessions.len());
        std::mem::replace(&mut self.sessions[place], SessionId::next(&mut self.ids))
    }

    /// Returns a workflow, mostly one that is running, because commands on a finished workflow do little.
    pub(super) fn workflow(&mut self, tables: &Tables) -> WorkflowId {
        let running = |id: &WorkflowId| tables.workflows.get(id).is_some_and(|found| found.status.is_running());
        let running: Vec<WorkflowId> = tables.workflows.keys().copied().filter(running).collect();
        let found =
            if self.chance.percent(80) { self.chance.pick(&running) } else { self.chance.key(&tables.workflows) };
        found.filter(|_| self.chance.percent(98)).unwrap_or(WorkflowId::LAST)
    }

    pub(super) fn in_planning(&mut self, tables: &Tables) -> Option<WorkflowId> {
        let planning = |found: &&engine::workflow::Workflow| found.status == WorkflowStatus::Planning;
        let planning: Vec<WorkflowId> =
            tables.workflows.values().filter(planning).map(|workflow| workflow.id).collect();
        self.chance.pick(&planning)
    }

    pub(super) fn task<'a>(&mut self, tables: &'a Tables) -> Option<&'a Task> {
        let id: Option<TaskId> = self.chance.key(&tables.tasks);
        id.and_then(|id| tables.tasks.get(&id))
    }

    pub(super) fn new_name(&mut self, what: &str) -> String {
        self.serial += 1;
        format!("{what} {}", self.serial)
    }

    pub(super) fn at(&self) -> Timestamp {
        Timestamp(self.now)
    }
}
