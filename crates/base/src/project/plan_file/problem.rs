//! Describes the problems of a plan file with the keys and line numbers that the author of the file sees.

use std::fmt;

use wire::lifecycle::{ArgumentProblem, ArgumentProblemKind};

use crate::ground::yaml;

/// The largest number of problems that are shown. A person fixes the first ones and tries again.
const SHOWN_MAX: usize = 10;

/// One problem of a plan file. Lines are counted from 1. The line is `None` when the problem concerns the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProblem {
    pub line: Option<usize>,
    pub words: String,
}

/// The problems of a plan file, in the order of their lines. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProblems(Vec<PlanProblem>);

impl PlanProblems {
    pub fn list(&self) -> &[PlanProblem] {
        &self.0
    }

    /// Returns the problems as text, each with the name of the file before it.
    pub fn at(&self, file: &str) -> String {
        let lines = self.to_string();
        lines.lines().map(|line| format!("{file}: {line}")).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = wire::visible::one_line(&self.words);
        match self.line {
            Some(line) => write!(f, "line {line}: {words}"),
            None => f.write_str(&words),
        }
    }
}

impl fmt::Display for PlanProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().take(SHOWN_MAX).enumerate() {
            let before = if number > 0 { "\n" } else { "" };
            write!(f, "{before}{problem}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more problems"),
        }
    }
}

impl std::error::Error for PlanProblems {}

impl From<String> for PlanProblems {
    fn from(words: String) -> Self {
        Self(vec![PlanProblem { line: None, words }])
    }
}

/// Returns the problems of a document with their lines in the file. `below` is the JSON pointer in the document at
/// which the content of the file begins, such as `/plan`. It is empty when the file is the whole document.
pub fn located(found: Vec<ArgumentProblem>, below: &str, file: &str) -> PlanProblems {
    let meant: Vec<String> = found.iter().filter_map(meant).collect();
    // When a key is misspelt, the correct key is also missing. Report only the misspelt key.
    let is_told =
        |problem: &ArgumentProblem| problem.kind != ArgumentProblemKind::Missing || !meant.contains(&problem.pointer);
    let told = found.into_iter().filter(is_told).map(|problem| {
        let pointer = problem.pointer.strip_prefix(below).unwrap_or(&problem.pointer).to_owned();
        let words = words(&problem, &pointer);
        (pointer, words)
    });
    at_lines(told.collect(), file)
}

/// Returns the JSON pointer of the key that the author probably meant by an unknown key.
fn meant(problem: &ArgumentProblem) -> Option<String> {
    let ArgumentProblemKind::Unknown { nearest: Some(nearest) } = &problem.kind else { return None };
    Some(format!("{}/{nearest}", problem.pointer.rsplit_once('/')?.0))
}

fn words(problem: &ArgumentProblem, pointer: &str) -> String {
    let name = field(pointer);
    match &problem.kind {
        ArgumentProblemKind::Unknown { nearest: Some(nearest) } => {
            format!("unknown key {name}; did you mean {nearest}?")
        }
        // YAML reads `- Fix: the login` as an object with the key `Fix`.
        ArgumentProblemKind::Unknown { nearest: None } if name.contains(' ') => {
            format!("unknown key {name}; if it is part of a text, put the whole text into quotes")
        }
        ArgumentProblemKind::Unknown { nearest: None } => format!("unknown key {name}; remove it"),
        ArgumentProblemKind::Missing | ArgumentProblemKind::Wrong if name.is_empty() => problem.words.clone(),
        ArgumentProblemKind::Missing | ArgumentProblemKind::Wrong => format!("{name} {}", problem.words),
    }
}

/// Returns the name of the key at the end of a JSON pointer. An item of a list is named by the list and its number,
/// counted from 1.
fn field(pointer: &str) -> String {
    let Some((above, last)) = pointer.rsplit_once('/') else { return String::new() };
    match last.parse::<usize>() {
        Ok(index) => {
            let list = above.rsplit_once('/').map_or(above, |(_, list)| list);
            format!("{list} item {}", index.saturating_add(1))
        }
        Err(_) => last.replace("~1", "/").replace("~0", "~"),
    }
}

/// Finds the line of each problem by its JSON pointer, and sorts the problems by line.
pub(super) fn at_lines(found: Vec<(String, String)>, file: &str) -> PlanProblems {
    // The lines are computed only for a refused plan, because the list of lines has an entry for every value of the
    // file.
    let lines: std::collections::HashMap<String, usize> = yaml::lines(file).into_iter().collect();
    let mut problems: Vec<PlanProblem> =
        found.into_iter().map(|(pointer, words)| PlanProblem { line: line(&pointer, &lines), words }).collect();
    problems.sort_by_key(|problem| problem.line.unwrap_or(0));
    PlanProblems(problems)
}

/// Returns the line of a value in the file. When the value itself has no line, returns the line of the nearest value
/// that contains it. The whole file has no line.
fn line(pointer: &str, lines: &std::collections::HashMap<String, usize>) -> Option<usize> {
    if pointer.is_empty() {
        return None;
    }
    lines.get(pointer).copied().or_else(|| line(pointer.rsplit_once('/')?.0, lines))
}
