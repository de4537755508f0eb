//! Reads the code blocks of a page of the documentation. A comment before a block says what the test does with it:
//!
//! ```text
//! <!-- file: greet/tools/bot -->  the test writes the block into the file `tools/bot` of the project `greet`
//! <!-- played: greet -->          the test types the commands of the block in the project `greet`
//! <!-- not played: REASON -->     the test does not use the block
//! ```

use crate::terminal::{QUESTION_ENDS, TypedAnswer};

/// One code block of a page of the documentation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PageBlock {
    /// A file that the test writes into an example project, as a reader of the documentation would.
    File { path: String, text: String },
    /// Commands that the test types in an example project, as a reader of the documentation would.
    Played { project: String, commands: Vec<PageCommand> },
    /// A block of commands that the test does not type, with the reason. A block without a reason makes the test fail.
    Skipped { line: usize, reason: Option<String> },
}

/// One command in a documentation page, and the output that the page shows below the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageCommand {
    pub(crate) line: usize,
    pub(crate) typed: String,
    pub(crate) shown: Vec<String>,
}

impl PageCommand {
    /// Finds the questions in the output that the documentation shows for this command. Returns each question with the
    /// answer that is written after it.
    pub(crate) fn answers(&self) -> Vec<TypedAnswer> {
        let answer = |line: &String| {
            let mark = QUESTION_ENDS.iter().find(|mark| line.contains(**mark))?;
            let (question, answer) = line.split_once(mark)?;
            Some(TypedAnswer { question: format!("{question}{mark}"), answer: answer.trim_start().to_owned() })
        };
        self.shown.iter().filter_map(answer).collect()
    }
}

/// A comment in a documentation page that says what the test does with the next code block.
enum BlockNote {
    File(String),
    Played(String),
    NotPlayed(String),
}

/// Returns the code blocks of a documentation page, in the order of the page.
pub(crate) fn blocks(page: &str) -> Vec<PageBlock> {
    let (mut found, mut note) = (Vec::new(), None);
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        // A code block inside a list is indented. Its lines are read without this indentation.
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
