//! Random test commands that the runner sends, and commands about approvals, with mostly sensible arguments.

use engine::approval::{Approval, ApprovalDecision, ApprovalRequest, ApprovalStatus, Source, Via};
use engine::command::{AskApproval, RecordVerification, StartTurn};
use engine::id::{AgentId, ApprovalId, TaskId, TurnId};
use engine::notice::Channel;
use engine::tables::Tables;
use engine::turn::{Purpose, Spent, StoredObject, TurnEnd, TurnResult};
use engine::verification::Verdict;
use engine::{Caller, Command, Rights};

use super::plans::{json, maybe_json, maybe_text, text};
use super::script::ConformanceScript;

const RUNNERS: [&str; 3] = ["here", "there", "Ünal's"];
const SECTIONS: [&str; 4] = ["stack", "services", "x_y", "Not a slug"];

fn runner(agent: Option<AgentId>) -> Caller {
    Caller { agent, ..Caller::with_rights(Rights::Runner) }
}

fn engine() -> Caller {
    Caller::with_rights(Rights::Engine)
}

impl ConformanceScript {
    pub(super) fn turn(&mut self, tables: &Tables) -> (Caller, Command) {
        match self.chance.below(26) {
            0..5 => self.start_turn(tables),
            5..9 => (runner(None), self.end_turn(tables)),
            9..11 => self.verify(tables),
            11 => {
                let name = self.chance.word_of(&RUNNERS);
                let agents = if self.chance.percent(50) { Vec::new() } else { vec!["quinn".to_owned()] };
                let (host, pid) = (text(&mut self.chance), self.chance.between(1, 3));
                (runner(None), Command::SeeRunner { name, host, pid, agents })
            }
            12 => (runner(None), Command::ForgetRunner { name: self.chance.word_of(&RUNNERS) }),
            13 | 14 => {
                let name = self.chance.word_of(&SECTIONS);
                let known = tables.sections.get(&name).map_or(0, |section| section.version);
                let version = if self.chance.percent(80) { known } else { self.chance.between(0, 3) };
                let task = self.chance.key(&tables.tasks);
                let caller = if self.chance.percent(50) { Self::person() } else { runner(self.agent(tables)) };
                (caller, Command::WriteSection { name, version, body: json(&mut self.chance), task })
            }
            _ => self.approval(tables),
        }
    }

    /// Returns a random task that an agent holds, its holder and its attempt number.
    pub(super) fn held(&mut self, tables: &Tables) -> Option<(TaskId, AgentId, u32)> {
        let held: Vec<_> =
            tables.tasks.values().filter_map(|task| Some((task.id, task.holder()?, task.attempt))).collect();
        self.chance.pick(&held)
    }

    fn start_turn(&mut self, tables: &Tables) -> (Caller, Command) {
        let held = self.held(tables);
        let (task, holder, attempt) = held.unwrap_or((TaskId::LAST, AgentId::LAST, 1));
        let chance = &mut self.chance;
        let start = StartTurn {
            task,
            attempt: if chance.percent(90) { attempt } else { attempt + 1 },
            agent: chance.key(&tables.agents).filter(|_| chance.percent(20)),
            purpose: chance.pick(Purpose::ALL).unwrap_or(Purpose::First),
            adapter: chance.word_of(&["exec", "claude"]),
            runner: chance.word_of(&RUNNERS),
        };
        (runner(Some(holder)), Command::StartTurn(start))
    }

    fn end_turn(&mut self, tables: &Tables) -> Command {
        let running: Vec<TurnId> =
            tables.turns.values().filter(|turn| turn.ended().is_none()).map(|turn| turn.id).collect();
        let turn = self.chance.pick(&running).filter(|_| self.chance.percent(90));
        let turn = turn.or_else(|| self.chance.key(&tables.turns)).unwrap_or(TurnId::LAST);
        let at = self.at();
        let chance = &mut self.chance;
        let spent = Spent {
            usd_micros: chance.percent(60).then(|| u64::from(chance.between(0, u32::MAX)) * 1_000),
            tokens: chance.percent(60).then(|| u64::from(chance.between(0, u32::MAX))),
            tokens_in: chance.percent(60).then(|| u64::from(chance.between(0, u32::MAX))),
            tokens_out: chance.percent(60).then(|| u64::from(chance.between(0, u32::MAX))),
            ms: u64::from(chance.between(0, u32::MAX)),
            turns: 1,
        };
        let bytes = u64::from(chance.between(0, u32::MAX));
        let ended = TurnResult {
            at,
            end: chance.pick(TurnEnd::ALL).unwrap_or(TurnEnd::Finished),
            reason: maybe_text(chance),
            conversation: chance.percent(50).then(|| "c-1".to_owned()),
            spent,
            tool_calls: chance.between(0, 9),
            stream: chance.percent(50).then(|| StoredObject { hash: "00ff".to_owned(), bytes }),
            verdict: maybe_json(chance),
            model: chance.percent(50).then(|| "opus Ä".to_owned()),
        };
        Command::EndTurn { turn, ended: Box::new(ended) }
    }

    fn verify(&mut self, tables: &Tables) -> (Caller, Command) {
        let held = self.held(tables);
        let (task, holder, attempt) = held.unwrap_or((TaskId::LAST, AgentId::LAST, 1));
        let chance = &mut self.chance;
        let verdict = |chance: &mut super::chance::Chance| chance.pick(Verdict::ALL).unwrap_or(Verdict::Pass);
        let found = RecordVerification {
            task,
            attempt,
            turn: chance.key(&tables.turns),
            mechanical: verdict(chance),
            semantic: verdict(chance),
            output_ref: maybe_text(chance),
            evidence: json(chance),
        };
        (runner(Some(holder)), Command::RecordVerification(Box::new(found)))
    }

    /// Returns a command that uses an approval. An approval is valid for only a few minutes, so the random script uses
    /// most approvals soon after a person approved the request.
    pub(super) fn use_of_what_was_given(&mut self, tables: &Tables) -> Option<(Caller, Command)> {
        let now = self.at();
        let is_usable = |row: &&Approval| {
            let claim = |waiting: engine::approval::WaitingTask| {
                tables.tasks.get(&waiting.task).is_some_and(|task| {
                    task.attempt == waiting.attempt && task.holder().is_some() && task.holder() == row.agent()
                })
            };
            let is_given = row.state.status() == ApprovalStatus::Approved && !row.is_over(now);
            is_given && row.agent().is_some() && row.waiting.is_none_or(claim)
        };
        let row = tables.approvals.values().find(is_usable)?;
        let consume = Command::ConsumeApproval { approval: row.id, fingerprint: row.fingerprint.clone() };
        Some((runner(row.agent()), consume))
    }

    fn approval(&mut self, tables: &Tables) -> (Caller, Command) {
        // In most cases, choose an approval that can still be decided or used.
        let open = tables.approvals.values().filter(|row| row.state.until().is_some());
        let given = tables.approvals.values().filter(|row| row.state.status() == ApprovalStatus::Approved);
        let likely: Vec<ApprovalId> = open.chain(given).map(|row| row.id).collect();
        let known = self.chance.pick(&likely).filter(|_| self.chance.percent(80));
        let known = known.or_else(|| self.chance.key(&tables.approvals));
        let approval = known.unwrap_or(ApprovalId::LAST);
        let stored = tables.approvals.get(&approval);
        let is_given = stored.is_some_and(|row| row.state.status() == ApprovalStatus::Approved);
        let which = if is_given && self.chance.percent(50) { 7 } else { self.chance.below(16) };
        match which {
            0..4 => {
                let held = self.held(tables).filter(|_| self.chance.percent(80));
                let agent = held.map(|(_, holder, _)| holder).or_else(|| self.agent(tables));
                let chance = &mut self.chance;
                let request = ApprovalRequest {
                    operation: text(chance),
                    content: text(chance),
                    scope: text(chance),
                    directory: text(chance),
                    risk: text(chance),
                    rollback: text(chance),
                    verification: text(chance),
                };
                let asked = AskApproval {
                    source: chance.pick(Source::ALL).unwrap_or(Source::Handoff),
                    waits: held.map(|(task, _, attempt)| (task, attempt)),
                    request,
                    fingerprint: chance.word_of(&["a", "b", "c", "d"]),
                };
                (runner(agent), Command::AskApproval(Box::new(asked)))
            }
            4..7 => {
                let decision = match self.chance.below(4) {
                    0 | 1 => ApprovalDecision::Approve,
                    2 => ApprovalDecision::Reject { reason: text(&mut self.chance) },
                    _ => ApprovalDecision::Revoke { reason: maybe_text(&mut self.chance) },
                };
                (Self::person(), Command::DecideApproval { approval, decision })
            }
            7 | 8 => {
                let right = stored.map(|row| row.fingerprint.clone()).filter(|_| self.chance.percent(80));
                let fingerprint = right.unwrap_or_else(|| "none".to_owned());
                (runner(stored.and_then(Approval::agent)), Command::ConsumeApproval { approval, fingerprint })
            }
            9 => (engine(), Command::ExpireApprovals),
            10 => {
                let mut approvals = vec![approval];
                approvals.extend(self.chance.key(&tables.approvals));
                let via = self.chance.pick(&[Via::CommandLine, Via::Http, Via::Webhook]).unwrap_or(Via::Http);
                (Self::person(), Command::ShowApprovals { approvals, via })
            }
            11 => (engine(), Command::TakeNotice { channel: self.channel() }),
            12 => {
                let taken: Vec<_> = tables.notices.values().filter(|row| row.next.is_some()).cloned().collect();
                let taken = self.chance.pick(&taken);
                let (approval, channel, tries) = taken
                    .map_or((approval, Channel::Command, 1), |notice| (notice.approval, notice.channel, notice.tries));
                let tries = if self.chance.percent(90) { tries } else { tries + 1 };
                (engine(), Command::SettleNotice { approval, channel, tries, problem: maybe_text(&mut self.chance) })
            }
            _ => self.ask_gate(tables),
        }
    }

    fn channel(&mut self) -> Channel {
        self.chance.pick(Channel::ALL).unwrap_or(Channel::Command)
    }

    /// Returns a command that asks a person to approve a gated task (it starts only after an approval). In most cases
    /// the task is one that no agent holds.
    fn ask_gate(&mut self, tables: &Tables) -> (Caller, Command) {
        let gated: Vec<_> = tables.tasks.values().filter(|task| task.gate && task.holder().is_none()).collect();
        let task = self.chance.pick(&gated).map(|task| (task.id, task.attempt + 1));
        let request = ApprovalRequest { operation: text(&mut self.chance), ..ApprovalRequest::default() };
        let waits = task.or_else(|| self.chance.key(&tables.tasks).map(|task| (task, 1)));
        let asked = AskApproval { source: Source::ExecGate, waits, request, fingerprint: "gate".to_owned() };
        (engine(), Command::AskApproval(Box::new(asked)))
    }
}
