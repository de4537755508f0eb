//! The small languages of awk and sed: whether a text in them is known to run and write nothing.

use super::command::Arg;

/// Why an awk program asks: it can run commands, and write.
pub(super) fn awk(name: &str, words: &[Arg]) -> Option<String> {
    let runs = |text: &str| ["system", "getline", "|", ">", "@", "printf -v"].iter().any(|part| text.contains(part));
    for word in &words[1..] {
        match word.text.as_deref() {
            None if word.spot.is_none() => return Some(format!("{name} with a text that is not literal")),
            None => {}
            Some("-f" | "--file" | "-i" | "--include" | "-l" | "--load" | "-E" | "--exec") => {
                return Some(format!("{name} with a script"));
            }
            Some(text)
                if text.starts_with("-f") || text.starts_with("--file") || text.starts_with("-E") || runs(text) =>
            {
                return Some(format!("{name} with a text that may run commands or write"));
            }
            Some(_) => {}
        }
    }
    None
}

/// sed runs what stands behind `e` and writes what stands behind `w`; only scripts without either are known.
pub(super) fn sed(words: &[Arg]) -> Option<String> {
    let odd = || Some("sed with a script that may run commands or write".to_owned());
    let mut script = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_text() {
            "" if word.text.is_none() && script.is_none() => return odd(),
            "-e" | "--expression" => {
                script = Some(());
                if !words.get(at).and_then(|word| word.text.as_deref()).is_some_and(is_plain_sed) {
                    return odd();
                }
                at += 1;
            }
            text if text.starts_with("-f") || text.starts_with("--file") || text.starts_with("--expression=") => {
                return odd();
            }
            text if text.starts_with("-e") => return odd(),
            text if text.starts_with('-') && text.len() > 1 => {}
            text if script.is_none() => {
                script = Some(());
                if !is_plain_sed(text) {
                    return odd();
                }
            }
            _ => {}
        }
    }
    None
}

/// Lines and commands such as `1,5p`, `/a/d`, `s/a/b/g`, one after another.
fn is_plain_sed(script: &str) -> bool {
    script.split(['\n', ';']).all(|part| is_plain_sed_command(part.trim()))
}

fn is_plain_sed_command(command: &str) -> bool {
    let mut rest = command;
    // Addresses: numbers, `$`, and patterns without a slash in them.
    loop {
        rest = rest
            .trim_start_matches([' ', ',', '!', '~', '+', '$'])
            .trim_start_matches(|letter: char| letter.is_ascii_digit());
        match rest.strip_prefix('/') {
            Some(pattern) => match closing(pattern, '/') {
                Some(after) => rest = after,
                None => return false,
            },
            None if rest.starts_with([' ', ',', '!', '~', '+', '$']) => {}
            None => break,
        }
    }
    match rest.strip_prefix('s') {
        Some(text) => {
            let Some(mark) = text.chars().next().filter(|mark| mark.is_ascii_punctuation() && *mark != '\\') else {
                return false;
            };
            let after = closing(&text[1..], mark).and_then(|text| closing(text, mark));
            after.is_some_and(|flags| flags.chars().all(|flag| flag.is_ascii_digit() || "gpiI".contains(flag)))
        }
        None => matches!(rest, "" | "p" | "d" | "q" | "=" | "P" | "D" | "n" | "N" | "G" | "h" | "H" | "g" | "x"),
    }
}

/// What follows an unescaped mark.
fn closing(text: &str, mark: char) -> Option<&str> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == mark {
            return text.get(at + letter.len_utf8()..);
        }
    }
    None
}
