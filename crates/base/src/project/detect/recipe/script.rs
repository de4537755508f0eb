//! Decides if a shell command can test anything.

/// Programs that print or end the shell, and do nothing else.
const IDLE: &[&str] = &["echo", "printf", "exit", "true", "false", ":"];

/// Returns true when a command does nothing but print and exit, as npm's placeholder does: `echo "Error: no test
/// specified" && exit 1`. The result is also true for an empty command.
pub(crate) fn only_prints(command: &str) -> bool {
    // A command substitution (`$(…)` or backticks) runs another command, so such a command may do more than print.
    if command.contains("$(") || command.contains('`') {
        return false;
    }
    let first_word = |part: String| part.split_whitespace().next().map(str::to_owned);
    parts(command).into_iter().filter_map(first_word).all(|word| is_idle(&word))
}

/// Returns true when a command that starts with this word tests nothing: the word is a program that only prints or
/// exits, or it starts a comment. A word that starts with `#!` is no comment, because it names the interpreter of a
/// script.
fn is_idle(word: &str) -> bool {
    IDLE.contains(&word) || (word.starts_with('#') && !word.starts_with("#!"))
}

/// Splits a command line at `;`, `&`, `|` and line ends that are not quoted.
fn parts(command: &str) -> Vec<String> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                part.push(letter);
                part.extend(letters.next());
                continue;
            }
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            (';' | '&' | '|' | '\n', None) => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            (_, _) => {}
        }
        part.push(letter);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::only_prints;

    #[test]
    fn commands_that_only_print_are_told_from_tests() {
        for (command, wanted) in [
            (r#"echo "Error: no test specified" && exit 1"#, true),
            ("echo 'a && b'; exit 0", true),
            ("exit 0", true),
            ("", true),
            (" : ", true),
            (r#"echo "start" && vitest run"#, false),
            ("echo x | node --test", false),
            ("echo $(jest)", false),
            ("jest --watch", false),
            ("echoes", false),
        ] {
            assert_eq!(only_prints(command), wanted, "{command}");
        }
    }
}
