//! Splits code of several languages into tokens. Literal texts that the code joins (`'a' + 'b'`) become one text.

use std::collections::BTreeMap;

/// The largest number of tokens in one piece of code. Longer code is cut off, and counts as code that runs an unknown
/// command.
pub(super) const TOKENS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeToken {
    /// A literal text without its quotes. `open` is true if the language may insert values into the text, as in
    /// `f"{x}"`.
    Text {
        text: String,
        open: bool,
    },
    Name(String),
    Sign(char),
}

impl CodeToken {
    fn plain(text: String) -> Self {
        Self::Text { text, open: false }
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Text { .. } | Self::Sign(_) => None,
        }
    }

    /// Returns the literal text of this token. Returns None when the token is not a text, or when the code inserts a
    /// value into the text.
    pub(super) fn literal(&self) -> Option<&str> {
        match self {
            Self::Text { text, open: false } => Some(text),
            Self::Text { .. } | Self::Name(_) | Self::Sign(_) => None,
        }
    }
}

/// Splits code into tokens. `dollars` is true for perl, ruby and php, where a dollar in double quotes inserts a value.
pub(super) fn read(text: &str, dollars: bool) -> Vec<CodeToken> {
    let letters: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(&letter) = letters.get(at) {
        if found.len() >= TOKENS_MAX {
            break;
        }
        match letter {
            '"' | '\'' | '`' => {
                let prefix = match found.last() {
                    Some(CodeToken::Name(name)) if is_prefix(name) && at > 0 && letters[at - 1] != ' ' => {
                        name.to_lowercase()
                    }
                    _ => String::new(),
                };
                if !prefix.is_empty() {
                    found.pop();
                }
                let (content, end) = quoted(&letters, at, prefix.contains('r'));
                let open = prefix.contains('f') && content.contains('{')
                    || letter == '`' && content.contains("${")
                    || letter != '\'' && content.contains("#{")
                    || dollars && letter != '\'' && puts_value(&content);
                found.push(CodeToken::Text { text: content, open });
                at = end;
                continue;
            }
            '\n' => found.push(CodeToken::Sign('\n')),
            letter if letter.is_whitespace() => {}
            letter if letter.is_alphanumeric() || letter == '_' => {
                let start = at;
                while letters.get(at).is_some_and(|letter| letter.is_alphanumeric() || *letter == '_') {
                    at += 1;
                }
                found.push(CodeToken::Name(letters[start..at].iter().collect()));
                continue;
            }
            letter => found.push(CodeToken::Sign(letter)),
        }
        at += 1;
    }
    found
}

fn is_prefix(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "r" | "b" | "f" | "u" | "rb" | "br" | "fr" | "rf")
}

fn puts_value(text: &str) -> bool {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek();
        if matches!(letter, '$' | '@') && next.is_some_and(|next| next.is_alphabetic() || matches!(next, '{' | '_')) {
            return true;
        }
    }
    false
}

/// Returns the text between the quotes that open at `from`, and the position after the closing quotes.
fn quoted(letters: &[char], from: usize, raw: bool) -> (String, usize) {
    let mark = letters[from];
    let tripled = letters.get(from + 1) == Some(&mark) && letters.get(from + 2) == Some(&mark);
    let ends = |at: usize| {
        letters.get(at) == Some(&mark)
            && (!tripled || letters.get(at + 1) == Some(&mark) && letters.get(at + 2) == Some(&mark))
    };
    let width = if tripled { 3 } else { 1 };
    let start = from + width;
    let mut at = start;
    while at < letters.len() && !ends(at) {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    let end = at.min(letters.len());
    let content: String = letters.get(start..end).unwrap_or_default().iter().collect();
    (if raw { content } else { crate::shell::unescaped(&content) }, end + width)
}

/// Returns the tokens, with each group of joined literal texts replaced by one text: `'ab'` for `'a' + 'b'`. A variable
/// that holds one literal text counts as that text.
pub(super) fn folded(tokens: &[CodeToken]) -> Vec<CodeToken> {
    let once = joined(tokens);
    let constants = constants(&once);
    if constants.is_empty() {
        return once;
    }
    let put = |(at, token): (usize, &CodeToken)| match token {
        CodeToken::Name(name) if stands_for_value(&once, at) => {
            constants.get(name).map_or_else(|| token.clone(), |text| CodeToken::plain(text.clone()))
        }
        CodeToken::Text { text, open: true } => filled(text, &constants),
        CodeToken::Name(_) | CodeToken::Text { .. } | CodeToken::Sign(_) => token.clone(),
    };
    joined(&once.iter().enumerate().map(put).collect::<Vec<CodeToken>>())
}

/// Inserts the known values of variables into a text, at `{x}`, `${x}`, `#{x}` and `$x`.
fn filled(text: &str, constants: &BTreeMap<String, String>) -> CodeToken {
    let mut filled = text.to_owned();
    for (name, value) in constants {
        for mark in [format!("#{{{name}}}"), format!("${{{name}}}"), format!("{{{name}}}"), format!("${name}")] {
            filled = filled.replace(&mark, value);
        }
    }
    let open = filled.contains(['{', '$', '@']);
    CodeToken::Text { text: filled, open }
}

/// Tells whether the name at this position is a variable that the code reads. The name of a member, of a called
/// function or of an assigned variable does not count.
fn stands_for_value(tokens: &[CodeToken], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let next = tokens.get(at + 1);
    let assigned =
        next.is_some_and(|next| next.is_sign('=')) && !tokens.get(at + 2).is_some_and(|next| next.is_sign('='));
    !before.is_some_and(|before| before.is_sign('.')) && !next.is_some_and(|next| next.is_sign('(')) && !assigned
}

/// Returns each variable to which the code assigns exactly one literal text, together with that text.
fn constants(tokens: &[CodeToken]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        let sign = |offset: usize, sign: char| tokens.get(at + offset).is_some_and(|token| token.is_sign(sign));
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let bound = matches!(before.and_then(CodeToken::name), Some("for" | "as" | "def"));
        let adds =
            tokens.get(at + 1).is_some_and(|next| matches!(next, CodeToken::Sign('+' | '.' | '|'))) && sign(2, '=');
        if bound || adds {
            found.insert(name.to_owned(), None);
        }
        if !sign(1, '=') || sign(2, '=') || sign(2, '~') || before.is_some_and(|before| before.is_sign('.')) {
            continue;
        }
        let ends = tokens.get(at + 3).is_none_or(|next| matches!(next, CodeToken::Sign('\n' | ';' | ',' | ')' | '}')));
        let value = tokens.get(at + 2).and_then(CodeToken::literal).filter(|_| ends).map(str::to_owned);
        let same = found.get(name).is_none_or(|known| *known == value);
        found.insert(name.to_owned(), value.filter(|_| same));
    }
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Joins texts that are next to each other or have a joining sign between them: `'a' + 'b'`, `"a" . "b"`,
/// `'a'.concat('b')`, `' '.join(['a', 'b'])`, `['a', 'b'].join(' ')`, `'a %s' % 'b'`.
fn joined(tokens: &[CodeToken]) -> Vec<CodeToken> {
    let mut found: Vec<CodeToken> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let CodeToken::Text { text, open } = token else {
            found.push(token.clone());
            if let Some(text) = list_joined(&mut found, tokens, at) {
                at = text.1;
                found.push(CodeToken::plain(text.0));
            }
            continue;
        };
        let (mut text, mut open) = (text.clone(), *open);
        // This text may be the separator of a list: `' '.join(['a', 'b'])`.
        if let Some((items, end)) = items_behind(tokens, at, &[".", "join", "("]) {
            text = items.join(&text);
            at = end;
        }
        while let Some((next, width)) = behind(tokens, at) {
            let CodeToken::Text { text: more, open: more_open } = next else { break };
            let formats = tokens.get(at).is_some_and(|token| token.is_sign('%'));
            text = if formats { text.replacen("%s", more, 1) } else { format!("{text}{more}") };
            open |= *more_open;
            at += width;
        }
        if let Some((items, end)) = items_behind(tokens, at, &[".", "format", "("]) {
            for item in &items {
                text = text.replacen("{}", item, 1);
            }
            at = end;
        }
        found.push(CodeToken::Text { text, open });
    }
    found
}

/// Returns the text that the code joins to the text before this position: `'b'` for the position after `'a'` in `'a' +
/// 'b'`. Also returns the number of tokens from this position to the end of the joined text.
fn behind(tokens: &[CodeToken], at: usize) -> Option<(&CodeToken, usize)> {
    let is = |offset: usize, sign: char| tokens.get(at + offset).is_some_and(|token| token.is_sign(sign));
    let text = |offset: usize| tokens.get(at + offset).filter(|token| matches!(token, CodeToken::Text { .. }));
    if let Some(next) = text(0) {
        return Some((next, 1));
    }
    if (is(0, '.') && is(1, '.') || is(0, '|') && is(1, '|') || is(0, '<') && is(1, '>'))
        && let Some(next) = text(2)
    {
        return Some((next, 3));
    }
    if (is(0, '+') || is(0, '.') || is(0, '*') || is(0, '%') || is(0, '\n') && !is(1, '\n'))
        && let Some(next) = text(1)
    {
        return Some((next, 2));
    }
    let concat = tokens.get(at + 1).and_then(CodeToken::name) == Some("concat");
    if is(0, '.') && concat && is(2, '(') && is(4, ')') { Some((text(3)?, 5)) } else { None }
}

/// Returns the literal texts of a list that follows the given words, such as `.join(`. Also returns the position after
/// the list's last bracket.
fn items_behind(tokens: &[CodeToken], from: usize, words: &[&str]) -> Option<(Vec<String>, usize)> {
    let mut at = from;
    for word in words {
        let token = tokens.get(at)?;
        let fits = match token {
            CodeToken::Name(name) => name == word,
            CodeToken::Sign(sign) => word.len() == 1 && word.starts_with(*sign),
            CodeToken::Text { .. } => false,
        };
        if !fits {
            return None;
        }
        at += 1;
    }
    let mut depth = 1;
    let mut items = Vec::new();
    while depth > 0 {
        match tokens.get(at)? {
            CodeToken::Sign('(' | '[') => depth += 1,
            CodeToken::Sign(')' | ']') => depth -= 1,
            CodeToken::Sign(',' | '\n') => {}
            token @ (CodeToken::Text { .. } | CodeToken::Name(_) | CodeToken::Sign(_)) => {
                items.push(token.literal()?.to_owned())
            }
        }
        at += 1;
    }
    Some((items, at))
}

/// Joins a list as in `['a', 'b'].join(' ')`. The list's closing bracket is the last token in `found`.
fn list_joined(found: &mut Vec<CodeToken>, tokens: &[CodeToken], at: usize) -> Option<(String, usize)> {
    if !found.last()?.is_sign(']') {
        return None;
    }
    let (separator, end) = items_behind(tokens, at, &[".", "join", "("])?;
    let start = found.iter().rposition(|token| token.is_sign('['))?;
    let mut items = Vec::new();
    for token in found.get(start + 1..found.len() - 1)? {
        match token {
            CodeToken::Sign(',' | '\n') => {}
            token @ (CodeToken::Text { .. } | CodeToken::Name(_) | CodeToken::Sign(_)) => {
                items.push(token.literal()?.to_owned())
            }
        }
    }
    found.truncate(start);
    Some((items.join(separator.first().map_or(",", String::as_str)), end))
}

/// Turns tokens into the text of code again. Each literal text gets quotes.
pub(super) fn written(tokens: &[CodeToken]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            CodeToken::Text { text: content, .. } => {
                text.push('"');
                text.push_str(&content.replace('"', "'"));
                text.push('"');
            }
            CodeToken::Name(name) => {
                text.push_str(name);
                text.push(' ');
            }
            CodeToken::Sign(sign) => {
                text.push(*sign);
                text.push(' ');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_code_joins_are_one() {
        for (code, wanted) in [
            ("open('inf'+'ra/x','w')", "infra/x"),
            ("p = 'in' 'fra'; open(p + '/x', 'w')", "infra/x"),
            ("d='infra'; open(f'{d}/x','w')", "infra/x"),
            ("system(\"git\" . \" push\")", "git push"),
            ("os.execute(\"git\" .. \" push\")", "git push"),
            ("x(' '.join(['git', 'push']))", "git push"),
            ("x(['git', 'push'].join(' '))", "git push"),
            ("x('inf'.concat('ra'))", "infra"),
            ("x('git %s' % 'push')", "git push"),
            ("x('git {}'.format('push'))", "git push"),
            ("x('\\x67it push')", "git push"),
            ("x('\\u0069nfra')", "infra"),
        ] {
            let tokens = folded(&read(code, false));
            assert!(tokens.iter().any(|token| token.literal() == Some(wanted)), "{code}: {tokens:?}");
        }
    }

    #[test]
    fn variables_with_other_values_are_not_known() {
        for code in ["p='a'; p=q(); open(p+'/x')", "p='a'; p+='b'; open(p+'/x')", "for p in q: open(p+'/x')"] {
            let tokens = folded(&read(code, false));
            assert!(tokens.iter().any(|token| token.is_sign('+')), "{code}: {tokens:?}");
        }
    }
}
