//! Splits a line of a test script into words.

/// A line of a test script: `[time] who verb words… [named=word…] [: tasks] => answer`
#[derive(Debug)]
pub(crate) struct Line {
    /// The text of the line before `=>`, without the blanks at its end.
    pub(crate) asked: String,
    pub(crate) expected: String,
    pub(crate) words: Vec<String>,
    /// The tasks of a plan, which the line has after its colon. Empty when the line has no such colon.
    pub(crate) tasks: String,
}

impl Line {
    /// Reads a line of a test script. Returns `None` for a blank line, a comment or a title.
    pub(crate) fn read(raw: &str) -> Option<Self> {
        if raw.trim().is_empty() || raw.starts_with('#') {
            return None;
        }
        let (asked, expected) = raw.split_once("=>").unwrap_or((raw, ""));
        let asked = asked.trim_end().to_owned();
        let (head, tasks) = colon(&asked).map_or((asked.as_str(), ""), |at| (&asked[..at], asked[at + 1..].trim()));
        let (words, tasks) = (words(head), tasks.to_owned());
        Some(Self { expected: expected.trim().to_owned(), words, tasks, asked: asked.clone() })
    }

    /// Returns the answer of a command in the form that the script line expects. A refusal is shortened to its code if
    /// the script has only a code. If the script has a code, a colon and a message, the message must match, not only
    /// the code.
    pub(crate) fn in_the_form_expected(&self, found: &str) -> String {
        match found.split_once(": ") {
            Some((code, _)) if is_code(code) && !self.expected.contains(':') => code.to_owned(),
            Some(_) | None => found.to_owned(),
        }
    }
}

/// Returns the position of the colon before the tasks of a plan in a script line. This colon follows a word and is
/// outside of quotes and braces.
fn colon(text: &str) -> Option<usize> {
    let (mut quoted, mut depth) = (false, 0);
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth -= 1,
            ':' if !quoted && depth == 0 && text[at + 1..].chars().next().is_none_or(char::is_whitespace) => {
                return Some(at);
            }
            _ => {}
        }
    }
    None
}

fn is_code(text: &str) -> bool {
    text.len() > 3 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Splits a text into words at blanks. Quotes keep blanks together, `"x"*9` means nine times the letter x, `\0` is a
/// zero byte, and `{…}` stays unchanged.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = word(rest);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn word(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            break;
        }
        if first == '{' {
            let end = closing(rest);
            word.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if first == '"' {
            let (inside, after) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
            let digits: String =
                after.strip_prefix('*').unwrap_or("").chars().take_while(char::is_ascii_digit).collect();
            let times = digits.parse().unwrap_or(1);
            word.push_str(&inside.replace("\\0", "\0").repeat(times));
            rest = if digits.is_empty() { after } else { &after[1 + digits.len()..] };
        } else {
            word.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    (word, rest)
}

fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Joins the lines of a script into one text. Within a block of lines, all answers begin in the same column.
pub(crate) fn aligned(lines: &[(String, Option<String>)]) -> String {
    const WIDTH_MAX: usize = 60;
    let width = |asked: &str| asked.chars().count();
    let mut text = String::new();
    for block in lines.chunk_by(|one, other| one.1.is_some() == other.1.is_some()) {
        let column = block.iter().map(|(asked, _)| width(asked)).filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0);
        for (asked, answer) in block {
            text.push_str(asked);
            if let Some(answer) = answer {
                text.push_str(&" ".repeat(column.saturating_sub(width(asked))));
                text.push_str(" => ");
                text.push_str(answer);
            }
            text.push('\n');
        }
    }
    text
}
