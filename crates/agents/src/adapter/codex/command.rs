//! Reads the command line that Codex shows for a command: it passes the command to a shell, as in
//! `/bin/bash -lc 'npm test'`.

/// Returns the command without the shell that Codex puts around it, such as `npm test`. Returns a command line of
/// another form as it is.
pub(super) fn inner_command(line: &str) -> String {
    unwrapped(line).unwrap_or_else(|| line.to_owned())
}

fn unwrapped(line: &str) -> Option<String> {
    let (shell, rest) = line.split_once(' ')?;
    let name = shell.rsplit('/').next()?;
    if !["bash", "zsh", "sh", "dash"].contains(&name) {
        return None;
    }
    let (option, word) = rest.split_once(' ')?;
    if !["-c", "-lc"].contains(&option) {
        return None;
    }
    one_word(word)
}

/// Removes the quotes of one word, by the rules of the shell. Returns None when the text has more than one word, or a
/// quote without an end.
fn one_word(text: &str) -> Option<String> {
    let mut word = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => loop {
                match letters.next()? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                match letters.next()? {
                    '"' => break,
                    // Between double quotes, a backslash is an escape only before these characters.
                    '\\' => match letters.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inner => word.push(inner),
                }
            },
            '\\' => word.push(letters.next()?),
            letter if letter.is_whitespace() => return None,
            letter => word.push(letter),
        }
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_around_a_command_is_removed() {
        let cases = [
            ("/bin/bash -lc 'npm test'", "npm test"),
            ("bash -c ls", "ls"),
            ("/usr/bin/zsh -lc \"rg -n 'fn main' src\"", "rg -n 'fn main' src"),
            (r#"/bin/bash -lc "printf 'a\"b'; echo 'it'\"'\"'s'""#, r#"printf 'a"b'; echo 'it'"'"'s'"#),
            (r#"/bin/bash -lc "a\nb \$HOME""#, r"a\nb $HOME"),
            ("/bin/bash -lc 'one' two", "/bin/bash -lc 'one' two"),
            ("/bin/bash -lc 'no end", "/bin/bash -lc 'no end"),
            ("/bin/bash script.sh", "/bin/bash script.sh"),
            ("python -c 'x'", "python -c 'x'"),
            ("ls", "ls"),
            ("", ""),
        ];
        for (line, expected) in cases {
            assert_eq!(inner_command(line), expected);
        }
    }
}
