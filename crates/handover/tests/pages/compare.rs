//! Compares the output that a page of the documentation shows with the real output on the screen. Values that differ
//! from run to run are masked: times, hashes, ids, costs, versions, the number of tasks at once, and the client of a
//! task. `...` in a page stands for any lines.

/// The units of time. A number with one of these units after it is a time.
const UNITS: &[&str] = &["ms", "s", "min", "h"];

/// The prefixes of Handover's ids. A word with such a prefix is masked.
const IDS: &[&str] = &["wf_", "tk_", "ag_", "ap_", "tn_", "msg_", "se_"];

/// The clients in the example projects. Either client may take a task, so the comparison ignores the client's name.
const CLIENTS: &[&str] = &["claude", "codex"];

/// Punctuation at the start or the end of a word. It stays when the word is masked.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '(', ')', '"', '`'];

/// Compares the lines that a documentation page shows with the lines on the screen. Returns both as a text for people
/// when they differ.
pub(crate) fn difference(shown: &[String], seen: &[String]) -> Option<String> {
    let (shown, seen) = (prepared(shown), prepared(seen));
    if fits(&shown, &seen) {
        return None;
    }
    Some(format!("the page shows\n    {}\nthe screen shows\n    {}", shown.join("\n    "), seen.join("\n    ")))
}

/// Tells whether the lines fit a pattern. The line `...` in the pattern stands for any number of lines.
fn fits(pattern: &[String], lines: &[String]) -> bool {
    match (pattern.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..])),
        (Some((first, rest)), Some((line, others))) => first == line && fits(rest, others),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Masks the lines and removes empty lines at both ends. Tasks that run at the same time print their lines in any
/// order, so neighbouring lines with a task number are sorted by that number.
fn prepared(lines: &[String]) -> Vec<String> {
    // The number of tasks that an agent works on at once depends on the cores of the machine, so it is masked.
    let at_once =
        |line: &String| line.replace("up to 3 tasks at once", "N at once").replace("one task at a time", "N at once");
    let mut found: Vec<String> = lines.iter().map(|line| without_client(&masked(&at_once(line)))).collect();
    while found.last().is_some_and(String::is_empty) {
        found.pop();
    }
    let empty = found.iter().take_while(|line| line.is_empty()).count();
    found.drain(..empty);
    for group in found.chunk_by_mut(|one, other| number_of(one).is_some() && number_of(other).is_some()) {
        group.sort_by_key(|line| number_of(line));
    }
    found
}

/// Returns the task number at the start of a line, or `None` when the line is not about a task.
fn number_of(line: &str) -> Option<u32> {
    line.trim_start().split_once("  ")?.0.parse().ok()
}

/// Replaces the name of the client in a line about a task. Other lines stay unchanged.
fn without_client(line: &str) -> String {
    match line.split_once("  ").and_then(|(number, rest)| Some((number, rest.split_once(' ')?))) {
        Some((number, (agent, rest))) if number_of(line).is_some() && CLIENTS.contains(&agent) => {
            format!("{number}  AGENT {rest}")
        }
        Some(_) | None => line.to_owned(),
    }
}

/// Replaces the values of a line that differ from run to run. Reduces the spaces between columns to two, because their
/// number depends on the length of such a value.
fn masked(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut spaces = 0;
    for word in line.trim().split(' ') {
        if word.is_empty() {
            spaces += 1;
            continue;
        }
        let bare = word.trim_matches(PUNCTUATION);
        match found.last_mut() {
            Some((_, number)) if UNITS.contains(&bare) && number.parse::<f64>().is_ok() => {
                *number = word.replacen(bare, "TIME", 1);
            }
            _ => {
                found.push((spaces, if bare.is_empty() { word.to_owned() } else { word.replacen(bare, mask(bare), 1) }))
            }
        }
        // A time with two units, such as `4 min 12 s`, becomes one mask, like `51 s`.
        if let [.., (_, first), (_, second)] = found.as_mut_slice()
            && first == "TIME"
            && second.starts_with("TIME")
        {
            first.clone_from(second);
            found.pop();
        }
        spaces = 0;
    }
    let gap = |at: usize, spaces: usize| " ".repeat(if at == 0 { indent } else { (spaces + 1).min(2) });
    found.iter().enumerate().map(|(at, (spaces, word))| format!("{}{word}", gap(at, *spaces))).collect()
}

fn mask(word: &str) -> &str {
    let is_hash =
        matches!(word.len(), 7 | 40 | 64) && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = IDS.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| rest.len() == 12));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_list =
        |text: &str, mark: char, count: usize| text.split(mark).all(is_digits) && text.split(mark).count() == count;
    if is_hash {
        "HASH"
    } else if is_id {
        "ID"
    } else if word.strip_prefix('$').is_some_and(|rest| is_list(rest, '.', 2)) {
        "COST"
    } else if is_list(word, '.', 3) {
        "VERSION"
    } else if is_list(word, ':', 2) || is_list(word, ':', 3) {
        "CLOCK"
    } else if is_list(word, '-', 3) {
        "DATE"
    } else {
        word
    }
}

#[test]
fn values_that_differ_from_run_to_run_are_masked() {
    for (line, expected) in [
        ("main is now 7d0c2f1. Undo: handover merge --undo", "main is now HASH. Undo: handover merge --undo"),
        ("Done in 4 min 12 s. 2 tasks", "Done in TIME. 2 tasks"),
        ("  npm ci     ok     11.8 s", "  npm ci  ok  TIME"),
        (" 1  checked            cargo test passed in 2.3 s", " 1  checked  cargo test passed in TIME"),
        ("  agents   claude 2.1.325   logged in", "  agents  claude VERSION  logged in"),
        ("    claude, 2 tries, $0.42; from main at 4f2c1aa", "    claude, 2 tries, COST; from main at HASH"),
        ("workflow wf_34n6790prw1w", "workflow ID"),
        ("Limit: $5 a task.", "Limit: $5 a task."),
        ("at 2026-11-16 04:30:01 UTC", "at DATE CLOCK UTC"),
    ] {
        assert_eq!(masked(line), expected);
    }
}

#[test]
fn lines_of_tasks_may_come_in_any_order_and_others_may_not() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let shown = lines(" 1  bot started   One\n 1  checked   x\n 2  bot started   Two\nDone.");
    assert_eq!(
        difference(&shown, &lines(" 1  bot started   One\n 2  bot started   Two\n 1  checked   x\nDone.")),
        None
    );
    assert!(
        difference(&shown, &lines(" 1  checked   x\n 1  bot started   One\n 2  bot started   Two\nDone.")).is_some()
    );
    assert_eq!(difference(&lines(" 1  claude started   One"), &lines(" 1  codex started    One")), None);
    assert_eq!(difference(&lines("a\n...\nd"), &lines("a\nb\nc\nd")), None);
    assert!(difference(&lines("a\n...\nd"), &lines("a\nb\nc")).is_some());
}
