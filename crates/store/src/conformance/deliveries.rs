//! Random test commands about work in git: runners report the work of completed tasks, and people merge it, drop it or
//! send it back.

use engine::command::Target;
use engine::condition::ConditionKind;
use engine::delivery::{
    CheckOutcome, DeliveredWork, DeliveryMove, DeliveryReport, DeliveryStatus, DeliverySubject, UncheckedReason,
};
use engine::id::{TaskId, WorkflowId};
use engine::sent_back::SendBackNote;
use engine::tables::Tables;
use engine::task::{BlockKind, Status, Task, TaskState};
use engine::{Caller, Command, Rights};

use super::plans::{json, maybe_text, text};
use super::script::ConformanceScript;

impl ConformanceScript {
    pub(super) fn delivery(&mut self, tables: &Tables) -> (Caller, Command) {
        let caller = if self.chance.percent(80) { Self::person() } else { self.caller(tables) };
        if self.chance.percent(20) {
            return (caller, self.condition());
        }
        if self.chance.percent(20) {
            let workflow = self.workflow(tables);
            let (check, work) = (self.check_outcome(), Box::new(self.delivered_work()));
            return (caller, Command::DeliverWorkflow { workflow, check, work });
        }
        if self.chance.percent(10) {
            let (workflow, number) = (self.workflow(tables), self.chance.below(20));
            let runner = Caller::with_rights(Rights::Runner);
            return (runner, Command::TakeBranch { workflow, branch: format!("handover/{number}") });
        }
        if self.chance.percent(30) {
            return self.completion(tables);
        }
        if self.chance.percent(55) {
            return (caller, self.verdict(tables));
        }
        let of_task = self.chance.percent(70);
        let task = self.chance.key(&tables.deliveries).unwrap_or(TaskId::LAST);
        let workflow = self.chance.key(&tables.workflow_deliveries).unwrap_or(WorkflowId::LAST);
        let subject = if of_task { DeliverySubject::Task(task) } else { DeliverySubject::Workflow(workflow) };
        let state = match subject {
            DeliverySubject::Task(task) => tables.deliveries.get(&task).map(|row| row.state.status()),
            DeliverySubject::Workflow(id) => tables.workflow_deliveries.get(&id).map(|row| row.state.status()),
        };
        let from = state.filter(|_| self.chance.percent(85)).or_else(|| self.chance.pick(DeliveryStatus::ALL));
        let from = from.unwrap_or(DeliveryStatus::Waiting);
        let to = match (from, self.chance.percent(50)) {
            (DeliveryStatus::Waiting, true) => {
                let word = |script: &mut Self| text(&mut script.chance);
                DeliveryMove::Merge { into: word(self), before: word(self), commit: word(self) }
            }
            (DeliveryStatus::Waiting, false) => DeliveryMove::Drop { kept_as: maybe_text(&mut self.chance) },
            _ => DeliveryMove::Wait,
        };
        (caller, Command::MoveDelivery { subject, from, to })
    }

    /// Returns a command that records or clears a condition, which is a fact about the project that needs a person.
    fn condition(&mut self) -> Command {
        let kind = self.chance.pick(ConditionKind::ALL).unwrap_or(ConditionKind::TipFailed);
        let subject = if self.chance.percent(90) {
            self.chance.word_of(&["main", "codex", "Ä b"])
        } else {
            text(&mut self.chance)
        };
        if self.chance.percent(35) {
            return Command::ClearCondition { kind, subject };
        }
        Command::SetCondition { kind, subject, title: text(&mut self.chance), detail: json(&mut self.chance) }
    }

    /// Returns the command by which a person sends a task back to its agent, or accepts the task without further work.
    /// In most cases the rules allow this command for the chosen task.
    fn verdict(&mut self, tables: &Tables) -> Command {
        let goes_on = |id| tables.workflows.get(&id).is_some_and(|row| row.status.is_running() && row.lock.is_none());
        let tasks = || tables.tasks.values().filter(move |task| goes_on(task.workflow));
        let failed_check = |task: &&Task| {
            let kind = if let TaskState::Blocked(block) = &task.state { Some(block.kind) } else { None };
            kind == Some(BlockKind::VerificationFail) && task.attempt > 0
        };
        let stopped = |task: &&Task| task.attempt > 0 && matches!(task.status(), Status::Blocked | Status::Failed);
        let delivered = tables.deliveries.keys().copied();
        let (ids, takes): (Vec<TaskId>, bool) = if self.chance.percent(40) {
            let unchanged = tables.deliveries.values().filter(|row| row.check == CheckOutcome::NoChanges);
            (tasks().filter(failed_check).map(|task| task.id).chain(unchanged.map(|row| row.task)).collect(), true)
        } else {
            (tasks().filter(stopped).map(|task| task.id).chain(delivered).collect(), false)
        };
        let task = self.chance.pick(&ids).unwrap_or(TaskId::LAST);
        if takes {
            let work = self.chance.percent(60).then(|| Box::new(self.delivered_work()));
            return Command::TakeAsIs { task, reason: "fine".to_owned(), work };
        }
        let note = SendBackNote { file: "src/a.rs".to_owned(), line: Some(3), text: text(&mut self.chance) };
        let notes = if self.chance.percent(50) { vec![note] } else { Vec::new() };
        Command::SendTaskBack { task, text: "again".to_owned(), notes }
    }

    /// Returns the command by which a runner completes a task that an agent holds, and reports the task's work in git.
    fn completion(&mut self, tables: &Tables) -> (Caller, Command) {
        let held: Vec<_> = tables.tasks.values().filter(|task| task.holder().is_some()).collect();
        let Some(task) = self.chance.pick(&held) else { return (Self::person(), Command::OpenList) };
        let caller =
            task.holder().map_or_else(Self::person, |agent| Caller { rights: Rights::Runner, ..Caller::agent(agent) });
        let report = DeliveryReport {
            check: self.check_outcome(),
            work: self.delivered_work(),
            in_plan: self.chance.percent(30).then(|| "c7".to_owned()),
        };
        let delivery = Some(Box::new(report));
        let to = Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery };
        (caller, Command::Move { task: task.id, attempt: Some(task.attempt), to })
    }

    fn check_outcome(&mut self) -> CheckOutcome {
        let said = text(&mut self.chance);
        let why = match self.chance.below(12) {
            0 => return CheckOutcome::Checked { command: said, ms: 6_400 },
            1 => return CheckOutcome::CheckedFlaky { command: said, run: 2, of: 3, ms: 0 },
            2 | 9 | 10 => return CheckOutcome::NoChanges,
            3 => UncheckedReason::NoCheck,
            4 => UncheckedReason::NotRun,
            5 => UncheckedReason::Baseline { command: said },
            6 => UncheckedReason::TimedOut { command: said },
            7 => UncheckedReason::CheckChanged { script: said },
            _ => UncheckedReason::TakenAsIs { reason: said },
        };
        CheckOutcome::Unchecked { why }
    }

    pub(super) fn delivered_work(&mut self) -> DeliveredWork {
        DeliveredWork {
            branch: format!("handover/{}", self.chance.below(9)),
            base_branch: self.chance.percent(60).then(|| "main".to_owned()),
            base: "c0".to_owned(),
            commit: text(&mut self.chance),
            tree: "t1".to_owned(),
            files: self.chance.between(0, 9),
            added: self.chance.between(0, u32::MAX),
            removed: 0,
            tries: self.chance.between(1, 3),
        }
    }
}
