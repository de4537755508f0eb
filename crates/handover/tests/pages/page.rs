//! A page of the documentation as a person reads it: its blocks of commands, with the project that each is typed in.
//!
//! ```text
//! <!-- file: tools/bot -->        the next block is a file of the project; the reader writes it
//! <!-- played: greet -->          the next block is typed in the project `greet`
//! <!-- not played: REASON -->     the next block is not typed
//! ```

use crate::terminal::{QUESTION_ENDS, TypedAnswer};

/// One block of a page that a reader types or writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PageBlock {
    /// A file that the reader writes into the project.
    File { path: String, text: String },
    /// Commands that the reader types in a project.
    Played { project: String, commands: Vec<PageCommand> },
    /// A `console` block that is not typed, with the reason. A block without a reason was forgotten.
    Skipped { line: usize, reason: Option<String> },
}

/// One command and the lines that the page shows below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageCommand {
    pub(crate) line: usize,
    pub(crate) typed: String,
    pub(crate) shown: Vec<String>,
}

impl PageCommand {
    /// Returns the questions of the shown lines, with the answers that the person types.
    pub(crate) fn answers(&self) -> Vec<TypedAnswer> {
        let answer = |line: &String| {
            let mark = QUESTION_ENDS.iter().find(|mark| line.contains(**mark))?;
            let (question, answer) = line.split_once(mark)?;
            Some(TypedAnswer { question: format!("{question}{mark}"), answer: answer.trim_start().to_owned() })
        };
        self.shown.iter().filter_map(answer).collect()
    }
}

/// A note in a comment of the page, for the block that follows it.
enum BlockNote {
    File(String),
    Played(String),
    NotPlayed(String),
}

/// Returns the blocks of a page, in their order.
pub(crate) fn blocks(page: &str) -> Vec<PageBlock> {
    let (mut found, mut note) = (Vec::new(), None);
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        // A block in a list is indented by the list.
        let indent = line.len() - line.trim_start().len();
        if let Some(read) = note_of(line.trim()) {
            note = Some(read);
        } else if let Some(language) = line.trim().strip_prefix("```") {
            let inside = lines.by_ref().take_while(|(_, line)| line.trim() != "```");
            let inside = inside.map(|(index, line)| (index + 1, line.get(indent..).unwrap_or_default().to_owned()));
            let inside: Vec<(usize, String)> = inside.collect();
            found.extend(block(language, index + 1, inside, note.take()));
        } else if !line.trim().is_empty() {
            note = None;
        }
    }
    found
}

fn note_of(line: &str) -> Option<BlockNote> {
    let (kind, rest) = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")?;
    Some(match kind {
        "file" => BlockNote::File(rest.to_owned()),
        "played" => BlockNote::Played(rest.to_owned()),
        "not played" => BlockNote::NotPlayed(rest.to_owned()),
        _ => return None,
    })
}

fn block(language: &str, line: usize, inside: Vec<(usize, String)>, note: Option<BlockNote>) -> Option<PageBlock> {
    match note {
        Some(BlockNote::File(path)) => {
            let text = inside.iter().map(|(_, line)| format!("{line}\n")).collect();
            Some(PageBlock::File { path, text })
        }
        Some(BlockNote::Played(project)) => Some(PageBlock::Played { project, commands: commands(inside) }),
        Some(BlockNote::NotPlayed(reason)) => Some(PageBlock::Skipped { line, reason: Some(reason) }),
        None => (language == "console").then_some(PageBlock::Skipped { line, reason: None }),
    }
}

fn commands(inside: Vec<(usize, String)>) -> Vec<PageCommand> {
    let mut found: Vec<PageCommand> = Vec::new();
    for (line, text) in inside {
        if let Some(typed) = text.strip_prefix("$ ") {
            found.push(PageCommand { line, typed: typed.to_owned(), shown: Vec::new() });
        } else if let Some(last) = found.last_mut() {
            last.shown.push(text);
        }
    }
    found
}
