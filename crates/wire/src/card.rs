//! Agent Card 1.0: the document that says who an agent is, what the agent never does, and which agent or role gets the
//! problems that the agent escalates.
//!
//! ```
//! let card = br#"{"card_version": "1.0", "identity": {"slug": "exec"}}"#;
//! let judged = wire::card::judge(card, None);
//! assert_eq!(judged.report.codes().0[..2], ["PATTERN:/identity/slug", "MISSING:/identity/name"]);
//! ```

use crate::document::{self, BYTES_MAX, JudgedDocument};
use crate::json::{JsonNode, Value};
use crate::report::{At, Registry, Report, Unknown};
use crate::shape::{
    AgentSlug, ListShape, NeverDoes, NonBlank, Route, Sentences, Shape, Slug, Text, message, vocabulary,
};

pub const VERSION: &str = "1.0";

message! {
    pub struct Card {
        card_version: required CardVersion,
        identity: required CardIdentity,
        /// The areas of work that the agent described by this card owns, and the areas that it does not own.
        scope: required Sentences<1>,
        capabilities: required ListShape<NonBlank>,
        constraints: required ListShape<NeverDoes>,
        escalation_rules: required ListShape<EscalationRule>,
        output_types: required ListShape<OutputType>,
        working_style: required Sentences<3>,
        voice: required Voice,
        values: required ListShape<NonBlank>,
    }
}

message! {
    pub struct CardIdentity {
        slug: required AgentSlug,
        name: required NonBlank,
        department: required NonBlank,
        model: required NonBlank,
        reports_to: required Superior,
    }
}

message! {
    pub struct EscalationRule {
        trigger: required NonBlank,
        route_to: required KnownRoute,
        via: required Via,
    }
}

vocabulary! {
    pub enum Via {
        TaskBlocked = "task.blocked",
        Inbox = "inbox",
        ExecGate = "exec.gate",
    }
}

message! {
    pub struct Voice {
        description: required Sentences<2>,
        example: required NonBlank,
    }
}

/// The version of an agent card (the document that describes an agent). The type holds no data, because [`judge`]
/// refuses every version except "1.0".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardVersion;

impl Shape for CardVersion {
    const LEGAL: &'static str = "\"1.0\"";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        Text::read(node, at, report).map(|_| Self)
    }

    fn render(&self) -> Value {
        VERSION.into()
    }

    fn schema(_: Unknown) -> Value {
        crate::json::object([("const", VERSION.into())])
    }
}

/// Declares types for the names in an agent card (the document that describes an agent): names of agents, roles and
/// output types. Each name must be in the registry of known names. When the caller gives no registry, every well-formed
/// name is legal.
macro_rules! registered {
    ($($(#[$attribute:meta])* $name:ident($inner:ty): $known:expr, $kind:literal, $hint:literal;)*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub $inner);

        impl Shape for $name {
            const LEGAL: &'static str = <$inner>::LEGAL;

            fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
                let found = <$inner>::read(node, at, report)?;
                let known: fn(&Registry, &str) -> bool = $known;
                if report.registry().is_some_and(|registry| !known(registry, found.as_str())) {
                    report.error($kind, at, node.span, $hint);
                    return None;
                }
                Some(Self(found))
            }

            fn render(&self) -> Value {
                self.0.render()
            }

            fn schema(unknown: Unknown) -> Value {
                <$inner>::schema(unknown)
            }
        }
    )*};
}

registered! {
    /// The name in `reports_to` of an agent card: the agent's superior, which is another agent or `human`.
    Superior(Slug): |registry, name| name == "human" || registry.has_agent(name),
        "UNKNOWN_AGENT", "names an agent that is not registered; use an agent's slug or `human`";
    KnownRoute(Route): |registry, name| match name.strip_prefix("roles.") {
            Some(role) => registry.has_role(role),
            None => name == "exec" || registry.has_role(name) || registry.has_agent(name),
        },
        "UNKNOWN_ROUTE", "names a role or agent that is not known; use `roles.<role>`, an agent's slug or `exec`";
    OutputType(Slug): |registry, name| registry.has_output_type(name),
        "UNKNOWN_OUTPUT_TYPE", "names an output contract that is not known";
}

/// Checks the bytes of an agent card (the document that describes an agent). Returns the card, or all of its problems.
/// When a registry is given, also checks that the card names only agents, roles and output types of the registry.
pub fn judge<'t>(bytes: &'t [u8], registry: Option<&'t Registry>) -> JudgedDocument<'t, Card> {
    match document::open(bytes, BYTES_MAX) {
        Err(report) => JudgedDocument { value: None, report: *report },
        Ok((text, node)) => match document::other_version(text, &node, "card_version", VERSION) {
            Some(report) => JudgedDocument { value: None, report },
            None => document::read(&node, Report::new(text, Unknown::Warned).against(registry)),
        },
    }
}
