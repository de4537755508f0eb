//! Finds the parts of calls in code: the name before a dot, the arguments, and the value on which a method is called.

use super::token::CodeToken;

/// The tokens of one piece of code, with the syntax of its language.
pub(super) struct CodeReader<'t> {
    pub(super) tokens: &'t [CodeToken],
    /// True if the language allows arguments without brackets: `unlink $file`.
    pub(super) bare: bool,
    pub(super) perl: bool,
}

impl<'t> CodeReader<'t> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.tokens.iter().any(|token| match token {
            CodeToken::Name(found) => found == name,
            CodeToken::Text { text, .. } => text.contains(name),
            CodeToken::Sign(_) => false,
        })
    }

    /// Returns the name before the dot in front of this position: `os` for the position of `remove` in `os.remove`.
    pub(super) fn owner(&self, at: usize) -> Option<&'t str> {
        let dot = at.checked_sub(1).filter(|dot| self.tokens[*dot].is_sign('.'))?;
        dot.checked_sub(1).and_then(|before| self.tokens[before].name())
    }

    pub(super) fn is_member(&self, at: usize) -> bool {
        at > 0 && self.tokens[at - 1].is_sign('.')
    }

    /// Returns the arguments of the function whose name is at this position: the content of the brackets after the
    /// name, or the rest of the statement if there are no brackets.
    pub(super) fn arguments(&self, at: usize) -> Option<&'t [CodeToken]> {
        let rest = self.tokens.get(at + 1..)?;
        if rest.first()?.is_sign('(') {
            let end = closing(rest).unwrap_or(rest.len());
            return rest.get(1..end);
        }
        let mut depth = 0_usize;
        let ends = |token: &CodeToken| {
            match token {
                CodeToken::Sign('{' | '(' | '[') => depth += 1,
                CodeToken::Sign('}' | ')' | ']') if depth > 0 => depth -= 1,
                CodeToken::Sign(';' | '\n' | '}' | '=' | ')') => return depth == 0,
                CodeToken::Sign(_) | CodeToken::Name(_) | CodeToken::Text { .. } => {}
            }
            false
        };
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        rest.get(..end).filter(|rest| self.bare && !rest.is_empty())
    }

    /// Returns the expression on which a method is called: `Path(x)` for `Path(x).unlink()`.
    pub(super) fn receiver(&self, at: usize) -> &'t [CodeToken] {
        let end = at - 1;
        let mut from = end;
        let mut depth = 0_usize;
        while let Some(before) = from.checked_sub(1) {
            match &self.tokens[before] {
                CodeToken::Sign(')' | ']') => depth += 1,
                CodeToken::Sign('(' | '[') if depth > 0 => depth -= 1,
                CodeToken::Name(_) | CodeToken::Text { .. } | CodeToken::Sign('.') => {}
                CodeToken::Sign(_) if depth > 0 => {}
                CodeToken::Sign(_) => break,
            }
            from = before;
        }
        // The result may also have a word before the expression: for `return p.unlink()` it is `return p`. This does no
        // harm, because a keyword such as `return` is neither a text nor a variable with a value.
        &self.tokens[from..end]
    }
}

/// Returns the position of the bracket that closes the bracket in the first token.
pub(super) fn closing(tokens: &[CodeToken]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            CodeToken::Sign('(' | '[' | '{') => depth += 1,
            CodeToken::Sign(')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            CodeToken::Sign(_) | CodeToken::Name(_) | CodeToken::Text { .. } => {}
        }
    }
    None
}

/// Splits the tokens of a call's arguments at the commas between the arguments.
pub(super) fn split(tokens: &[CodeToken]) -> Vec<&[CodeToken]> {
    let (mut found, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            CodeToken::Sign('(' | '[' | '{') => depth += 1,
            CodeToken::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            CodeToken::Sign(',') if depth == 0 => {
                found.push(&tokens[from..at]);
                from = at + 1;
            }
            CodeToken::Sign(_) | CodeToken::Name(_) | CodeToken::Text { .. } => {}
        }
    }
    found.push(&tokens[from..]);
    found
}
