//! Types for the names in messages that have a grammar, such as ids and slugs (short names of agents).

use super::basic::texts;
use crate::report::Hint;
use crate::schema;
use crate::text::{is_id, is_slug};

type JudgedWord = Result<(), (&'static str, Hint)>;

fn pattern(legal: bool, hint: &'static str) -> JudgedWord {
    if legal { Ok(()) } else { Err(("PATTERN", hint.into())) }
}

const SLUG: &str = "^[a-z0-9][a-z0-9_-]{0,63}$";

fn slug(text: &str) -> JudgedWord {
    pattern(
        is_slug(text),
        "must be a slug: a-z, 0-9, `_` and `-`, at most 64 characters, beginning with a letter or digit",
    )
}

/// Reserved names. An agent cannot have one of them as its slug, the short name in messages.
const TAKEN: [&str; 4] = ["system", "human", "runner", "exec"];

fn agent_slug(text: &str) -> JudgedWord {
    slug(text)?;
    pattern(!TAKEN.contains(&text), "must not be `system`, `human`, `runner` or `exec`: those are taken")
}

fn route(text: &str) -> JudgedWord {
    let legal = is_slug(text.strip_prefix("roles.").unwrap_or(text));
    pattern(legal, "must be an agent's slug, `roles.<slug>` or `exec`")
}

texts! {
    Slug: slug, schema::pattern(SLUG), "a slug such as `quinn`";
    /// The slug (short name) of an agent. It is none of the reserved names.
    AgentSlug: agent_slug, schema::pattern("^(?!(?:system|human|runner|exec)$)[a-z0-9][a-z0-9_-]{0,63}$"),
        "a slug such as `quinn`, but not `system`, `human`, `runner` or `exec`";
    /// The id of a task, project or client in an Agent Wire message.
    Id: |text| pattern(is_id(text), "must be 1 to 128 characters without white space"), schema::pattern(&schema::id()),
        "1 to 128 characters without white space";
    /// The receiver of an escalated problem: an agent's slug, a role or `exec`.
    Route: route, schema::pattern("^(?:roles\\.)?[a-z0-9][a-z0-9_-]{0,63}$"),
        "an agent's slug, `roles.<slug>` or `exec`";
    NeverDoes: |text| pattern(text.starts_with("I never "), "must begin with `I never `"), schema::pattern("^I never "),
        "a string that begins with `I never `";
}
