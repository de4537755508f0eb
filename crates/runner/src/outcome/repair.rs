//! Decides how often an invalid answer is sent back for repair, and when Handover gives up. The rule applies to the
//! turns of a worker, to evaluators and to reviewers.

/// The number of tries that an agent gets after an invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairLimits {
    /// The number of times that an invalid answer is sent back, in the same conversation, with its problems.
    pub repairs: u32,
    /// The number of times that the question is asked again in a new conversation after all repairs failed.
    pub restarts: u32,
}

/// The next step after an invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterInvalid {
    Repair,
    Restart,
    GiveUp,
}

impl RepairLimits {
    /// Returns the next step after this number of invalid answers in a row.
    pub fn after(self, invalid: u32) -> AfterInvalid {
        if invalid <= self.repairs {
            AfterInvalid::Repair
        } else if invalid <= self.repairs.saturating_add(self.restarts) {
            AfterInvalid::Restart
        } else {
            AfterInvalid::GiveUp
        }
    }
}

/// The largest number of error codes in the reason of a blocked task. Further codes are left out.
const CODES_MAX: usize = 10;

/// Returns the reason for blocking a task whose output is still invalid after this number of repairs.
pub fn still_invalid(codes: &[String], repairs: u32) -> String {
    let codes = codes.iter().take(CODES_MAX).cloned().collect::<Vec<_>>().join(", ");
    format!("the agent's output is still not valid after {repairs} repairs: {codes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_answer_is_repaired_then_asked_again_then_given_up() {
        let steps = |repairs, restarts| {
            let limits = RepairLimits { repairs, restarts };
            (1..=4).map(|invalid| limits.after(invalid)).collect::<Vec<_>>()
        };
        use AfterInvalid::{GiveUp, Repair, Restart};
        assert_eq!(steps(2, 0), [Repair, Repair, GiveUp, GiveUp]);
        assert_eq!(steps(1, 1), [Repair, Restart, GiveUp, GiveUp]);
        assert_eq!(steps(0, 0), [GiveUp, GiveUp, GiveUp, GiveUp]);
    }
}
