//! Decides who is informed when a task cannot continue. A rule of the agent's card decides when the text contains the
//! rule's trigger. Without such a rule, the settings decide by the kind of block.

use std::collections::BTreeMap;

use engine::task::BlockKind;
use wire::card::Via;
use wire::prompt::PromptAgent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    Role(String),
    Agent(String),
    /// A person. People are informed of every block, also without a route.
    Person,
}

fn to(route: &str) -> To {
    match route.strip_prefix("roles.") {
        Some(role) => To::Role(role.to_owned()),
        None if matches!(route, "exec" | "human") => To::Person,
        None => To::Agent(route.to_owned()),
    }
}

/// Returns the route of the first rule of the agent's card whose trigger is in the text. Ignores letter case and
/// spacing.
pub fn by_card(who: &PromptAgent, text: &str) -> Option<(To, Via)> {
    let PromptAgent::Card(card) = who else { return None };
    let said = folded(text);
    let fires = |trigger: &str| !trigger.is_empty() && said.contains(trigger);
    let rule = card.escalation_rules.0.iter().find(|rule| fires(&folded(rule.trigger.as_str())))?;
    Some((to(rule.route_to.0.as_str()), rule.via))
}

pub fn by_settings(routes: &BTreeMap<BlockKind, String>, kind: BlockKind) -> Option<To> {
    routes.get(&kind).map(|route| to(route))
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_that_is_quoted_decides() {
        let text = include_str!("../init/builder.json");
        let card = wire::card::judge(text.as_bytes(), None).value.map(Box::new);
        let Some(card) = card else { panic!("the card of a new project is not valid") };
        let who = PromptAgent::Card(card);
        let cases = [
            ("the  Brief leaves open\nWHAT is wanted: which port?", Some(To::Role("ba".to_owned()))),
            ("A tool or a machine does not work", Some(To::Role("infra".to_owned()))),
            ("something else", None),
            ("", None),
        ];
        for (said, expected) in cases {
            assert_eq!(by_card(&who, said).map(|(to, _)| to), expected, "{said}");
        }
        assert_eq!(by_card(&PromptAgent::Persona("x".to_owned()), "A tool or a machine does not work"), None);
        assert_eq!((to("exec"), to("mindy")), (To::Person, To::Agent("mindy".to_owned())));
    }
}
