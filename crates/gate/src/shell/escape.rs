//! Resolves escapes in texts, such as `\n` and `\x67`.

/// Returns a text with its escapes resolved: `\n`, `\x67`, `\147`, `\u0067`, and `\/` for a slash.
pub(crate) fn unescaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (String::new(), 0);
    while let Some(&letter) = letters.get(at) {
        at += 1;
        if letter != '\\' {
            found.push(letter);
            continue;
        }
        let Some(&kind) = letters.get(at) else { break };
        let number = |from: usize, most: usize, radix: u32| {
            let digits: String =
                letters.iter().skip(from).take(most).take_while(|letter| letter.is_digit(radix)).collect();
            let letter = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
            letter.map(|letter| (letter, from + digits.len()))
        };
        let coded = match kind {
            'x' => number(at + 1, 2, 16),
            'u' if letters.get(at + 1) == Some(&'{') => number(at + 2, 6, 16).map(|(letter, end)| (letter, end + 1)),
            'u' => number(at + 1, 4, 16),
            'U' => number(at + 1, 8, 16),
            'o' => number(at + 1, 3, 8),
            '0'..='7' => number(at, 3, 8),
            _ => None,
        };
        if let Some((letter, end)) = coded {
            found.push(letter);
            at = end;
            continue;
        }
        at += 1;
        match kind {
            'n' | 'r' => found.push('\n'),
            't' => found.push('\t'),
            '\n' => {}
            other => found.push(other),
        }
    }
    found
}
