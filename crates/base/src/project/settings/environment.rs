//! The `[env]` section of the settings. It names variables that programs inherit in addition to the documented ones,
//! and variables that programs do not inherit.

use serde::Deserialize;

/// The `[env]` section of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSettings {
    /// Names of variables that programs inherit in addition to the documented ones. `*` stands for any characters:
    /// `AWS_*`.
    #[serde(default)]
    pub pass: Vec<String>,
    /// Names of variables that programs do not inherit. `*` stands for any characters.
    #[serde(default)]
    pub drop: Vec<String>,
}

impl EnvironmentSettings {
    pub(super) fn problem(&self) -> Option<String> {
        for (key, names) in [("env.pass", &self.pass), ("env.drop", &self.drop)] {
            if let Some(name) = names.iter().find(|name| !is_name_pattern(name)) {
                return Some(format!(
                    "{key}: `{name}` is not the name of a variable; write one such as DATABASE_URL, or AWS_* for all \
                     names that begin so"
                ));
            }
        }
        let reserved = self.pass.iter().find(|name| name.starts_with("HANDOVER"));
        reserved.map(|name| format!("env.pass: `{name}` is set by Handover itself; remove it"))
    }
}

/// Returns true when a text is a variable name in which `*` may stand for any characters. Returns false for a text of
/// `*` alone, because it would match every variable.
fn is_name_pattern(name: &str) -> bool {
    let plain = name.replace('*', "");
    is_variable_name(&plain)
}

/// Returns true when a text is the name of an environment variable.
pub(super) fn is_variable_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && !name.starts_with(|letter: char| letter.is_ascii_digit()) && name.chars().all(is_letter)
}
