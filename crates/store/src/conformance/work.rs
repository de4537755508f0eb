//! Random test commands on tasks and messages, with mostly sensible arguments.

use engine::checkpoint::Kind;
use engine::command::{Note, Target};
use engine::id::{MessageId, TaskId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::tables::Tables;
use engine::task::{BlockKind, Priority, Status, Task};
use engine::{Caller, Command, Rights};

use super::plans::{ROLES, json, maybe_json, maybe_text, text};
use super::script::ConformanceScript;

impl ConformanceScript {
    pub(super) fn work(&mut self, tables: &Tables) -> (Caller, Command) {
        if self.chance.percent(30) {
            return self.claim(tables);
        }
        let held: Vec<TaskId> =
            tables.tasks.values().filter(|task| task.holder().is_some()).map(|task| task.id).collect();
        let aimed = if self.chance.percent(75) { self.chance.pick(&held) } else { None };
        let Some(task) = aimed.and_then(|id| tables.tasks.get(&id)).or_else(|| self.task(tables)) else {
            return (self.caller(tables), Command::Renew);
        };
        let caller = if self.chance.percent(12) { Self::person() } else { self.holder(tables, task) };
        let attempt = match self.chance.below(6) {
            0 => Some(task.attempt.wrapping_sub(1)),
            1 | 2 => None,
            _ => Some(task.attempt),
        };
        let id = task.id;
        let command = match self.chance.below(20) {
            0..4 => Command::AddCheckpoint { task: id, attempt, note: self.note() },
            4 | 5 => Command::SetTaskPlan {
                task: id,
                attempt,
                plan: json(&mut self.chance),
                context: maybe_json(&mut self.chance),
            },
            6 | 9 | 10 => {
                Command::ReplanTask { task: id, attempt, reason: text(&mut self.chance), plan: json(&mut self.chance) }
            }
            11 => {
                // Only a runner reports a crash, on behalf of the agent that holds the task.
                let caller = Caller { agent: task.holder().or(caller.agent), ..Caller::with_rights(Rights::Runner) };
                let reason = text(&mut self.chance);
                return (caller, Command::Crash { task: id, attempt: task.attempt, reason });
            }
            7 | 8 => Command::Release { task: id, attempt, reason: maybe_text(&mut self.chance) },
            _ => Command::Move { task: id, attempt, to: self.target(task) },
        };
        (caller, command)
    }

    /// Returns a command by which the last holder of a task takes the task back after the lease of its claim expired.
    fn regain(&mut self, tables: &Tables) -> Option<(Caller, Command)> {
        let lapsed = |task: &Task| {
            let last = tables.checkpoints.get(&(task.id, task.checkpoints))?;
            let cause = last.note.detail.as_ref()?.value();
            let agent = cause.get("agent")?.as_str()?.parse().ok()?;
            (task.holder().is_none() && cause.get("cause")?.as_str()? == "expired").then_some((
                task.id,
                task.attempt,
                agent,
            ))
        };
        let lapsed: Vec<_> = tables.tasks.values().filter_map(lapsed).collect();
        let (task, attempt, agent) = self.chance.pick(&lapsed)?;
        Some((Caller::agent(agent), Command::Regain { task, attempt }))
    }

    fn claim(&mut self, tables: &Tables) -> (Caller, Command) {
        if self.chance.percent(15)
            && let Some(found) = self.regain(tables)
        {
            return found;
        }
        let free = |task: &&Task| task.is_removable() && task.unmet == 0;
        let free: Vec<TaskId> = tables.tasks.values().filter(free).map(|task| task.id).collect();
        let command = if self.chance.percent(50) {
            Command::ClaimNext { workflow: self.workflow(tables), include_failed: self.chance.percent(40) }
        } else {
            let any = self.chance.key(&tables.tasks);
            let task = self.chance.pick(&free).filter(|_| self.chance.percent(80)).or(any);
            Command::Claim { task: task.unwrap_or(TaskId::FIRST) }
        };
        (self.caller(tables), command)
    }

    fn note(&mut self) -> Note {
        Note {
            kind: self.chance.pick(Kind::ALL).unwrap_or(Kind::Progress),
            summary: text(&mut self.chance),
            detail: maybe_json(&mut self.chance),
            files: if self.chance.percent(30) { vec!["src/a.rs".to_owned(), "Ä".to_owned()] } else { Vec::new() },
        }
    }

    /// Returns a status to move the task to, mostly one that the rules allow from the task's present status.
    fn target(&mut self, task: &Task) -> Target {
        let legal = self.chance.pick(task.status().targets()).filter(|_| self.chance.percent(90));
        let status = legal.or_else(|| self.chance.pick(Status::ALL)).unwrap_or(Status::Pending);
        let chance = &mut self.chance;
        match status {
            Status::Planning => Target::Planning,
            Status::InProgress => Target::InProgress { answer: maybe_text(chance) },
            Status::Completed => {
                Target::Completed { outcome: maybe_text(chance), detail: maybe_json(chance), delivery: None }
            }
            Status::Failed => Target::Failed { error: maybe_text(chance), detail: maybe_json(chance) },
            Status::Paused => Target::Paused { reason: maybe_text(chance) },
            Status::Blocked => Target::Blocked {
                kind: chance.pick(BlockKind::ALL).unwrap_or(BlockKind::SpecGap),
                reason: text(chance),
                role: chance.percent(50).then(|| chance.word_of(&ROLES)),
            },
            Status::Skipped => Target::Skipped { reason: maybe_text(chance) },
            Status::Pending => Target::Pending { reason: maybe_text(chance) },
        }
    }

    pub(super) fn message(&mut self, tables: &Tables) -> (Caller, Command) {
        let caller = self.caller(tables);
        let own = caller.agent.map(MailboxOwner::Agent);
        let mine = |message: &&engine::inbox::Message| Some(message.to) == own;
        let mut messages: Vec<MessageId> = tables.messages.values().filter(mine).map(|message| message.id).collect();
        messages.truncate(5);
        messages.extend(self.chance.key(&tables.messages).filter(|_| self.chance.percent(20)));
        messages.extend(messages.first().copied().filter(|_| self.chance.percent(20)));
        if self.chance.percent(10) {
            return self.answer(tables);
        }
        let command = match self.chance.below(10) {
            0..3 => Command::MarkRead { messages },
            3 | 4 => Command::Archive { messages },
            _ => Command::Send { to: self.recipients(tables), draft: self.draft(tables) },
        };
        (caller, command)
    }

    /// Returns a command with which a person answers a message. In most cases the message is a question that has no
    /// answer yet.
    fn answer(&mut self, tables: &Tables) -> (Caller, Command) {
        let open: Vec<MessageId> =
            tables.messages.values().filter(|row| row.is_open_question()).map(|row| row.id).collect();
        let open = self.chance.pick(&open).filter(|_| self.chance.percent(70));
        let message = open.or_else(|| self.chance.key(&tables.messages)).unwrap_or(MessageId::LAST);
        let caller = if self.chance.percent(90) { Self::person() } else { self.caller(tables) };
        (caller, Command::Answer { message, text: text(&mut self.chance) })
    }

    fn recipients(&mut self, tables: &Tables) -> Recipients {
        let agent = self.chance.key(&tables.agents);
        match (self.chance.below(10), agent) {
            (0..4, Some(agent)) => Recipients::One(MailboxOwner::Agent(agent)),
            (4 | 5, Some(agent)) => Recipients::Slug(tables.agents[&agent].slug.clone()),
            (6 | 7, _) => {
                let chance = &mut self.chance;
                Recipients::All(RecipientMatch {
                    role: chance
                        .percent(60)
                        .then(|| if chance.percent(90) { chance.word_of(&ROLES) } else { text(chance) }),
                    runtime: chance.percent(30).then(|| chance.word_of(&["exec", "claude", ""])),
                    workflow: if chance.percent(20) { chance.key(&tables.workflows) } else { None },
                    include_silent: chance.percent(70),
                })
            }
            (8, _) if self.chance.percent(30) => Recipients::Slug(text(&mut self.chance)),
            (8, _) => Recipients::Slug("human".to_owned()),
            _ => Recipients::One(MailboxOwner::Human),
        }
    }

    fn draft(&mut self, tables: &Tables) -> MessageDraft {
        let chance = &mut self.chance;
        let body_json = chance.percent(20);
        MessageDraft {
            kind: chance.pick(MessageKind::ALL).unwrap_or(MessageKind::Info),
            priority: Priority::try_from(u8::try_from(chance.between(1, 3)).unwrap_or(2)).unwrap_or(Priority::DEFAULT),
            subject: maybe_text(chance),
            body: if body_json { json(chance).as_str().to_owned() } else { text(chance) },
            body_json,
            action_required: chance.percent(30),
            workflow: if chance.percent(20) { chance.key(&tables.workflows) } else { None },
            task: if chance.percent(20) { chance.key(&tables.tasks) } else { None },
            reply_to: if chance.percent(20) { chance.key(&tables.messages) } else { None },
        }
    }
}
