//! Functions that search a text for words and lines, and that match the paths of files with patterns.

pub(crate) fn without_module_doc(text: &str) -> Vec<usize> {
    if text.starts_with("//! ") { Vec::new() } else { vec![1] }
}

/// Returns the lines on which a comment starts with a word that stands for an unnamed subject.
pub(crate) fn with_riddle(text: &str) -> Vec<usize> {
    const OPENINGS: &[&str] = &["what", "who", "whoever", "whatever", "how", "where", "those"];
    let (mut found, mut is_inside) = (Vec::new(), false);
    for (number, line) in numbered(text) {
        let comment = line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim());
        let first = comment.and_then(|words| words.split(|letter: char| !letter.is_alphabetic()).next());
        if !is_inside && first.is_some_and(|word| OPENINGS.contains(&word.to_lowercase().as_str())) {
            found.push(number);
        }
        is_inside = comment.is_some();
    }
    found
}

/// Returns the lines of comments with a word that hides who acts, or that is not an everyday word.
pub(crate) fn with_marker_word(text: &str) -> Vec<usize> {
    const MARKERS: &[&str] = &[
        "whoever",
        "whatever",
        "whichever",
        "wherever",
        "nobody",
        "somebody",
        "anew",
        "mend",
        "mends",
        "mended",
        "mending",
        "shall",
        "meanwhile",
    ];
    let comment = |line: &str| {
        let (_, comment) = line.trim_start().split_once("//").filter(|(code, _)| code.is_empty())?;
        // Skip a comment with a quotation mark: it quotes an example, which may use any word.
        Some(comment.to_lowercase()).filter(|comment| !comment.contains('"'))
    };
    let marked =
        |comment: String| comment.split(|letter: char| !letter.is_alphabetic()).any(|word| MARKERS.contains(&word));
    lines_where(text, |line| comment(line).is_some_and(marked))
}

/// Returns the name of the type that a line defines outside of any block.
pub(crate) fn defined_type(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| name.starts_with(char::is_uppercase))
}

pub(crate) fn with_tab(text: &str) -> Vec<usize> {
    lines_where(text, |line| line.contains('\t'))
}

pub(crate) fn with_space_at_end(text: &str) -> Vec<usize> {
    lines_where(text, |line| line.ends_with([' ', '\t', '\r']))
}

pub(crate) fn over_140_columns(text: &str) -> Vec<usize> {
    lines_where(text, |line| {
        let table = line.trim_start().starts_with('|');
        let link = line.contains("](") || line.contains("://");
        line.chars().count() > 140 && !table && !link
    })
}

pub(crate) fn lines_where(text: &str, wrong: impl Fn(&str) -> bool) -> Vec<usize> {
    // Split at `\n` instead of calling `lines`, which would hide a carriage return.
    let lines = text.split('\n').enumerate();
    lines.filter(|(_, line)| wrong(line)).map(|(index, _)| index + 1).collect()
}

pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Returns the lines on which a forbidden text starts.
pub(crate) fn lines_with(text: &str, word: &str) -> Vec<usize> {
    let (first, last) = word.split_once(" … ").unwrap_or((word, ""));
    let mut found: Vec<usize> = Vec::new();
    for at in positions(text, first) {
        let mut following = text[at + first.len()..].split_whitespace().take(4);
        if last.is_empty() || following.any(|next| next == last) {
            found.push(line_of(text, at));
        }
    }
    // The form `use std::{fs, io};` also names `std::fs`.
    if let Some(module) = word.strip_prefix("std::") {
        for at in positions(text, "use std::{") {
            let statement = text[at..].split(';').next().unwrap_or_default();
            if !positions(statement, module).is_empty() {
                found.push(line_of(text, at));
            }
        }
    }
    found
}

pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns the positions of a whole word: `XXX` is not found in `XXXX`, nor `println!` in `eprintln!`.
pub(crate) fn positions(text: &str, word: &str) -> Vec<usize> {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |at: &usize| {
        let before = text[..*at].chars().next_back().is_some_and(part_of_name);
        let after = text[*at + word.len()..].chars().next().is_some_and(part_of_name);
        !(before && word.starts_with(part_of_name) || after && word.ends_with(part_of_name))
    };
    text.match_indices(word).map(|(at, _)| at).filter(stands_alone).collect()
}

/// Returns the text of a Rust file without line comments. Returns other files unchanged.
pub(crate) fn code_of(path: &str, text: &str) -> String {
    if path.ends_with(".rs") {
        text.lines().map(|line| &line[..comment_start(line)]).collect::<Vec<_>>().join("\n")
    } else {
        text.to_owned()
    }
}

pub(crate) fn comment_start(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mut in_string = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\'' if line[at..].starts_with("'\"'") => at += 2,
            b'"' => in_string = !in_string,
            b'/' if !in_string && bytes.get(at + 1) == Some(&b'/') => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

pub(crate) fn fits(place: &str, path: &str) -> bool {
    if let Some(end) = place.strip_prefix('*') {
        return path.ends_with(end);
    }
    let Some(folder) = place.strip_suffix('/') else {
        return path == place;
    };
    let mut parts = path.split('/');
    let same = folder.split('/').all(|want| parts.next().is_some_and(|it| want == "*" || want == it));
    same && parts.next().is_some()
}
