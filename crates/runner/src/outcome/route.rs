//! Decides which agent or role is informed when a task cannot continue. If the reason contains the trigger of a rule in
//! the agent's card (the file that describes the agent), that rule decides. Otherwise the settings decide by the kind
//! of block.

use std::collections::BTreeMap;

use engine::task::BlockKind;
use wire::card::Via;
use wire::prompt::PromptAgent;

/// The recipient that a rule names for a message about a blocked task. People are informed of every block, even without
/// a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscalationTarget {
    Role(String),
    Agent(String),
    /// A person. People are informed of every block, also when no rule names them.
    Person,
}

impl EscalationTarget {
    fn parse(route: &str) -> Self {
        match route.strip_prefix("roles.") {
            Some(role) => Self::Role(role.to_owned()),
            None if matches!(route, "exec" | "human") => Self::Person,
            None => Self::Agent(route.to_owned()),
        }
    }

    pub fn role(self) -> Option<String> {
        match self {
            Self::Role(role) => Some(role),
            Self::Agent(_) | Self::Person => None,
        }
    }
}

/// The routes of one agent, which name the agent or role that is informed of a block: the escalation rules of its card
/// (its description), and the `[routes]` of the settings.
#[derive(Debug, Clone, Copy)]
pub struct EscalationRoutes<'a> {
    /// The description of the agent: a card (a file) or a persona (a text in the settings). `None` when the agent has
    /// neither.
    pub who: Option<&'a PromptAgent>,
    pub settings: &'a BTreeMap<BlockKind, String>,
}

impl EscalationRoutes<'_> {
    /// Returns the recipient that the agent's card (its description) names for a text. The first rule of the card whose
    /// trigger occurs in the text decides. Ignores letter case and spacing.
    pub fn by_card(&self, text: &str) -> Option<(EscalationTarget, Via)> {
        let PromptAgent::Card(card) = self.who? else { return None };
        let said = folded(text);
        let fires = |trigger: &str| !trigger.is_empty() && said.contains(trigger);
        let rule = card.escalation_rules.0.iter().find(|rule| fires(&folded(rule.trigger.as_str())))?;
        Some((EscalationTarget::parse(rule.route_to.0.as_str()), rule.via))
    }

    /// Returns the agent or role that is informed of a blocked task. Returns `None` when neither the agent's card (its
    /// description) nor the settings name one, so that the engine's default for the kind of block applies.
    pub fn of_block(&self, kind: BlockKind, reason: &str) -> Option<EscalationTarget> {
        let by_card = self.by_card(reason).map(|(target, _)| target);
        by_card.or_else(|| self.settings.get(&kind).map(|route| EscalationTarget::parse(route)))
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_that_is_quoted_decides() {
        let text = include_str!("../../../base/src/project/init/builder.json");
        let card = wire::card::judge(text.as_bytes(), None).value.map(Box::new);
        let Some(card) = card else { panic!("the card of a new project is not valid") };
        let (who, settings) = (PromptAgent::Card(card), BTreeMap::new());
        let routes = EscalationRoutes { who: Some(&who), settings: &settings };
        let cases = [
            ("the  Brief leaves open\nWHAT is wanted: which port?", Some(EscalationTarget::Role("ba".to_owned()))),
            ("A tool or a machine does not work", Some(EscalationTarget::Role("infra".to_owned()))),
            ("something else", None),
            ("", None),
        ];
        for (said, expected) in cases {
            assert_eq!(routes.by_card(said).map(|(target, _)| target), expected, "{said}");
        }
        let persona = PromptAgent::Persona("x".to_owned());
        let routes = EscalationRoutes { who: Some(&persona), settings: &settings };
        assert_eq!(routes.by_card("A tool or a machine does not work"), None);
        assert_eq!(EscalationTarget::parse("exec"), EscalationTarget::Person);
        assert_eq!(EscalationTarget::parse("mindy"), EscalationTarget::Agent("mindy".to_owned()));
    }

    #[test]
    fn the_card_decides_before_the_settings() {
        let settings = BTreeMap::from([(BlockKind::Ambiguity, "roles.pm".to_owned())]);
        let routes = EscalationRoutes { who: None, settings: &settings };
        assert_eq!(routes.of_block(BlockKind::Ambiguity, "x"), Some(EscalationTarget::Role("pm".to_owned())));
        assert_eq!(routes.of_block(BlockKind::Resource, "x"), None);
    }
}
