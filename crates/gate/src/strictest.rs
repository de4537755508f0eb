//! Turns the rules of a configuration into lines, so that two configurations can be compared.

use std::collections::BTreeMap;

use super::{Decision, Gates, Otherwise};

impl Gates {
    /// Returns the decision for a call that no rule names.
    pub fn otherwise(&self) -> Decision {
        match self.default {
            _ if self.is_empty() => Decision::Allow,
            Some(Otherwise::Allow) => Decision::Allow,
            None | Some(Otherwise::Ask) => Decision::Ask,
        }
    }

    /// Returns the decision for programs that cannot be analyzed.
    pub fn opaque(&self) -> Decision {
        match self.opaque {
            _ if self.is_empty() => Decision::Allow,
            Some(Otherwise::Allow) => Decision::Allow,
            Some(Otherwise::Ask) => Decision::Ask,
            None => self.otherwise(),
        }
    }

    /// Returns each command or path that a rule names, with the strictest decision about it.
    pub fn strictest(&self) -> BTreeMap<String, Decision> {
        let mut found = BTreeMap::new();
        for rule in &self.rules {
            let strictest = found.entry(rule.shown()).or_insert(rule.decision);
            *strictest = rule.decision.max(*strictest);
        }
        found
    }
}
