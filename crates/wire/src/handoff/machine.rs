//! Decides which status an agent may report after its last reported status.
//!
//! ```text
//! (no status yet) -> any of the five statuses   the first report
//! IN_PROGRESS -> any of the five statuses       the third IN_PROGRESS in a row is refused
//! any other status -> IN_PROGRESS               by a report, or when the system resumes the agent
//! ```

use super::status::PlanStatus;
use crate::json::{Object, Value, object};

/// The number of `IN_PROGRESS` reports that are accepted in a row. The next one is refused.
const IN_PROGRESS_MAX: u8 = 2;

/// The current status of one agent's work: the status that the agent reported last, or `IN_PROGRESS` after the agent
/// was resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    state: Option<PlanStatus>,
    /// The number of accepted `IN_PROGRESS` reports since the agent last reported another status.
    in_progress: u8,
}

/// The result of one event in an agent's history. An event is a status that the agent reports, or a resumption of the
/// agent by the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineStep {
    /// The agent's status after the event. `None` when no report was accepted yet.
    pub state: Option<PlanStatus>,
    pub refusal: Option<MachineRefusal>,
}

/// The reason why an agent's report of a status is refused. A refused report does not change the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineRefusal {
    IllegalTransition {
        from: PlanStatus,
        to: PlanStatus,
    },
    /// The agent reported `IN_PROGRESS` too often in a row. It must report another status.
    InProgressLimit,
}

impl Machine {
    pub fn state(&self) -> Option<PlanStatus> {
        self.state
    }

    /// Records the status that the agent reports.
    pub fn report(&mut self, to: PlanStatus) -> MachineStep {
        let refusal = self.refusal(to);
        if refusal.is_none() {
            self.in_progress = if to == PlanStatus::InProgress { self.in_progress.saturating_add(1) } else { 0 };
            self.state = Some(to);
        }
        MachineStep { state: self.state, refusal }
    }

    /// Records that the system resumes the agent: a person decided about an approval, a question was answered, or the
    /// agent was started again. A resumption is not a report. It does not reset the count of `IN_PROGRESS` reports.
    pub fn resume(&mut self) -> MachineStep {
        self.state = Some(PlanStatus::InProgress);
        MachineStep { state: self.state, refusal: None }
    }

    fn refusal(&self, to: PlanStatus) -> Option<MachineRefusal> {
        match self.state {
            Some(from) if from != PlanStatus::InProgress && to != PlanStatus::InProgress => {
                Some(MachineRefusal::IllegalTransition { from, to })
            }
            Some(_) | None => {
                let is_over = to == PlanStatus::InProgress && self.in_progress >= IN_PROGRESS_MAX;
                is_over.then_some(MachineRefusal::InProgressLimit)
            }
        }
    }

    /// Applies a list of events to a new agent. Each event has the form `{"report": status}` or `{"resume": why}`.
    /// Returns the result of each event, as `{steps: [{accepted, code?, state}]}`. Fails when `events` is not a list or
    /// when an event has neither of the two forms.
    pub fn run(events: &Value) -> Result<Value, String> {
        let events = events.as_list().ok_or("`events` must be an array")?;
        let mut machine = Self::default();
        let mut steps = Vec::with_capacity(events.len());
        for (index, event) in events.iter().enumerate() {
            let report = event.get("report").map(|status| status.as_text().and_then(PlanStatus::parse));
            let step = match (report, event.get("resume")) {
                (Some(Some(status)), None) => machine.report(status),
                (None, Some(Value::Text(_))) => machine.resume(),
                _ => {
                    return Err(format!(
                        "`events[{index}]` must be a `report` of one of the five statuses or a `resume`"
                    ));
                }
            };
            steps.push(step.to_value());
        }
        Ok(object([("steps", Value::List(steps))]))
    }
}

impl MachineStep {
    pub fn is_accepted(&self) -> bool {
        self.refusal.is_none()
    }

    pub fn to_value(&self) -> Value {
        let mut members: Object = vec![("accepted".to_owned(), self.is_accepted().into())];
        if let Some(refusal) = self.refusal {
            members.push(("code".to_owned(), refusal.code().into()));
        }
        members.push(("state".to_owned(), self.state.map(PlanStatus::as_str).into()));
        Value::Object(members)
    }
}

impl MachineRefusal {
    pub fn code(&self) -> String {
        match self {
            Self::IllegalTransition { from, to } => format!("ILLEGAL_TRANSITION:{from}->{to}"),
            Self::InProgressLimit => "IN_PROGRESS_LIMIT".to_owned(),
        }
    }

    /// Returns the reason for the refusal as one line for the agent whose report was refused.
    pub fn message(&self) -> String {
        match self {
            Self::IllegalTransition { from, to } => format!(
                "`agent_status.plan_status`: only IN_PROGRESS may follow {from} until you are resumed; found {to}"
            ),
            Self::InProgressLimit => format!(
                "`agent_status.plan_status`: IN_PROGRESS may be reported {IN_PROGRESS_MAX} times in a row; report \
                 APPROVAL_REQUEST, COMPLETE, BLOCKED or NEEDS_INPUT"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PlanStatus::{Blocked, Complete, InProgress};

    #[test]
    fn a_resumption_neither_counts_nor_resets() {
        let mut machine = Machine::default();
        assert_eq!(machine.resume(), MachineStep { state: Some(InProgress), refusal: None });
        assert!(machine.report(InProgress).is_accepted());
        assert!(machine.resume().is_accepted());
        assert!(machine.report(InProgress).is_accepted());
        assert!(machine.resume().is_accepted());
        let refused = MachineStep { state: Some(InProgress), refusal: Some(MachineRefusal::InProgressLimit) };
        assert_eq!(machine.report(InProgress), refused);
        assert_eq!(machine.report(InProgress), refused);
        assert!(machine.report(Blocked).is_accepted());
        let refusal = Some(MachineRefusal::IllegalTransition { from: Blocked, to: Complete });
        assert_eq!(machine.report(Complete), MachineStep { state: Some(Blocked), refusal });
        assert!(machine.report(InProgress).is_accepted());
        assert!(machine.report(Complete).is_accepted());
    }

    #[test]
    fn an_event_that_is_neither_is_named() {
        let events = |text: &str| crate::json::parse(text).expect("JSON").to_value();
        assert_eq!(Machine::run(&events("[]")), Ok(object([("steps", Value::List(Vec::new()))])));
        for wrong in
            ["{}", r#"[{"report":"DONE"}]"#, r#"[{"resume":1}]"#, r#"[{"report":"COMPLETE","resume":"x"}]"#, "[1]"]
        {
            assert!(Machine::run(&events(wrong)).is_err(), "{wrong}");
        }
    }
}
