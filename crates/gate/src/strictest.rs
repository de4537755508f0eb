//! Lists the gate rules of a configuration with their decisions, so that two configurations can be compared.

use std::collections::BTreeMap;

use super::{GateDecision, Gates, Otherwise};

impl Gates {
    /// Returns the decision for a command or a write that no gate rule names.
    pub fn otherwise(&self) -> GateDecision {
        match self.default {
            _ if self.is_empty() => GateDecision::Allow,
            Some(Otherwise::Allow) => GateDecision::Allow,
            None | Some(Otherwise::Ask) => GateDecision::Ask,
        }
    }

    /// Returns the decision for programs that cannot be analyzed, such as an unknown script.
    pub fn opaque(&self) -> GateDecision {
        match self.opaque {
            _ if self.is_empty() => GateDecision::Allow,
            Some(Otherwise::Allow) => GateDecision::Allow,
            Some(Otherwise::Ask) => GateDecision::Ask,
            None => self.otherwise(),
        }
    }

    /// Returns the text of each gate rule, such as `command git push`, with its decision. If two rules have the same
    /// text, the stricter decision is returned.
    pub fn strictest(&self) -> BTreeMap<String, GateDecision> {
        let mut found = BTreeMap::new();
        for rule in &self.rules {
            let strictest = found.entry(rule.shown()).or_insert(rule.decision);
            *strictest = rule.decision.max(*strictest);
        }
        found
    }
}
