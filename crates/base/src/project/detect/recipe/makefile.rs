//! Finds a target in a makefile, and decides if `make` would do anything for it. Included files are not read.

use super::script;

/// The first words of the lines with conditions in a makefile. Such a line may stand between the lines of a recipe.
const CONDITIONALS: &[&str] = &["ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"];

/// The answer to the question whether `make TARGET` tests something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MakeTarget {
    Runs,
    Missing,
    /// The target has neither prerequisites nor a recipe that does more than print.
    DoesNothing,
    /// A file or folder has the name of the target, and the target is not declared as phony. Then make finds nothing
    /// to do, and ends with success.
    IsUpToDate,
}

/// The facts about all rules of a makefile for one target.
#[derive(Debug, Default)]
struct TargetRules {
    found: bool,
    has_prerequisites: bool,
    /// True for rules with `::`. Such rules always run when they have no prerequisites.
    is_double: bool,
    /// The lines of the recipe, without the characters `@`, `-` and `+` at their beginning.
    recipe: Vec<String>,
    is_phony: bool,
}

/// A line of a makefile that does not belong to a recipe.
enum MakeLine<'t> {
    /// A rule, written as `targets: prerequisites ; recipe`.
    Rule {
        targets: Vec<&'t str>,
        is_double: bool,
        prerequisites: Vec<&'t str>,
        recipe: Option<&'t str>,
    },
    Other,
}

/// Finds a target in the text of a makefile. `entry_exists` is true when a file or folder has the target's name.
pub(crate) fn target(text: &str, name: &str, entry_exists: bool) -> MakeTarget {
    let rules = rules(text, name);
    if !rules.found {
        return MakeTarget::Missing;
    }
    if !rules.has_prerequisites && rules.recipe.iter().all(|line| script::only_prints(line)) {
        return MakeTarget::DoesNothing;
    }
    let runs_always = rules.is_phony || rules.has_prerequisites || rules.is_double;
    if entry_exists && !runs_always { MakeTarget::IsUpToDate } else { MakeTarget::Runs }
}

/// Collects the facts about all rules for a target.
fn rules(text: &str, name: &str) -> TargetRules {
    let mut found = TargetRules::default();
    let (mut is_current, mut is_definition, mut prefix) = (false, false, '\t');
    for line in joined_lines(text) {
        if let Some(command) = line.strip_prefix(prefix) {
            if is_current {
                found.recipe.push(command.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned());
            }
            continue;
        }
        let line = without_comment(&line);
        let first = line.split_whitespace().next().unwrap_or_default();
        // The lines from `define` to `endef` are the text of a variable. They are skipped, because they may look like
        // rules.
        if is_definition || first == "define" {
            is_definition = first != "endef";
            continue;
        }
        if line.trim().is_empty() || CONDITIONALS.contains(&first) {
            continue;
        }
        if let Some(sign) = line.trim_start().strip_prefix(".RECIPEPREFIX") {
            prefix = sign.trim_start_matches([' ', ':', '?', '=']).chars().next().unwrap_or('\t');
        }
        is_current = false;
        if let MakeLine::Rule { targets, is_double, prerequisites, recipe } = read(line) {
            if targets.contains(&".PHONY") {
                found.is_phony |= prerequisites.contains(&name);
            } else if targets.contains(&name) {
                is_current = true;
                found.found = true;
                found.is_double |= is_double;
                found.has_prerequisites |= !prerequisites.is_empty();
                found.recipe.extend(recipe.map(|recipe| recipe.trim_start_matches(['@', '-', '+', ' ']).to_owned()));
            }
        }
    }
    found
}

/// Reads a line that does not belong to a recipe: a rule, an assignment, a directive or anything else.
fn read(line: &str) -> MakeLine<'_> {
    let Some(colon) = plain_position(line, ':') else { return MakeLine::Other };
    let (before, after) = (&line[..colon], &line[colon + 1..]);
    let is_double = after.starts_with(':');
    let after = after.trim_start_matches(':');
    // An assignment has its `=` before the colon (`a = b:c`) or directly after the colons (`a := b`, `a ::= b`).
    if before.contains('=') || after.starts_with('=') {
        return MakeLine::Other;
    }
    let (needs, recipe) = match after.split_once(';') {
        Some((needs, recipe)) => (needs, Some(recipe)),
        None => (after, None),
    };
    // `test: NAME = value` sets a variable for the target and is no rule.
    if plain_position(needs, '=').is_some() {
        return MakeLine::Other;
    }
    let targets = before.trim_end_matches('&').split_whitespace().collect();
    let prerequisites = needs.split_whitespace().filter(|word| *word != "|").collect();
    MakeLine::Rule { targets, is_double, prerequisites, recipe }
}

/// Returns the first position of the character `sign` that is not inside of `$(…)` or `${…}`.
fn plain_position(text: &str, sign: char) -> Option<usize> {
    let (mut depth, mut last) = (0_u32, ' ');
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' if depth > 0 || last == '$' => depth += 1,
            ')' | '}' if depth > 0 => depth -= 1,
            _ if letter == sign && depth == 0 => return Some(at),
            _ => {}
        }
        last = letter;
    }
    None
}

fn without_comment(line: &str) -> &str {
    let starts = line.match_indices('#').map(|(at, _)| at);
    let comment = starts.into_iter().find(|at| !line[..*at].ends_with('\\'));
    comment.map_or(line, |at| &line[..at])
}

/// Returns the lines of a makefile. A line that ends with a backslash is joined with the next line.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        let escapes = line.len() - line.trim_end_matches('\\').len();
        let is_open = escapes % 2 == 1;
        let kept = if is_open { &line[..line.len() - 1] } else { line };
        match lines.last_mut() {
            Some(last) if continues => {
                last.push(' ');
                last.push_str(kept.trim_start());
            }
            Some(_) | None => lines.push(kept.to_owned()),
        }
        continues = is_open;
    }
    lines
}
