//! Reads the parts of a word that begin with a dollar or a backquote: substitutions, variables and computations.

use super::{ScriptReader, UnreadText, read_at};
use crate::shell::word::{ShellWord, WordPiece};

/// The sign that ends a computation such as `$((1 + 2))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The computation ends with `))`.
    Parentheses,
    /// The computation ends with `}`.
    Brace,
    /// The computation ends with `]`.
    Bracket,
}

impl ScriptReader<'_> {
    /// Reads the expansion at a dollar and adds it to the word. `quoted` is true inside double quotes and
    /// here-documents.
    pub(super) fn dollar(&mut self, word: &mut ShellWord, quoted: bool) -> Result<(), UnreadText> {
        let next = self.ahead(1);
        match next {
            Some('(') if self.ahead(2) == Some('(') => {
                self.at += 3;
                let inner = self.arithmetic(Until::Parentheses)?;
                word.inner.extend(inner.inner);
                word.pieces.push(WordPiece::Number);
            }
            Some('(') => {
                self.at += 2;
                let script = self.nested()?;
                word.inner.push(script);
                word.pieces.push(WordPiece::Unknown);
            }
            Some('{') => {
                self.at += 2;
                self.braced(word, quoted)?;
            }
            Some('[') => return Err("`$[…]`".into()),
            Some('\'') if !quoted => {
                self.script.only_bash = true;
                self.at += 2;
                self.ansi(word)?;
            }
            Some('"') if !quoted => {
                self.script.only_bash = true;
                self.at += 1;
            }
            // bash removes a backslash at a line end before it reads the text after the dollar. This reader does not do
            // that, so it gives up.
            Some('\\') if self.ahead(2) == Some('\n') => return Err("a line that ends behind a dollar".into()),
            Some(letter) if is_name_start(letter) => {
                self.at += 1;
                let name = self.name();
                word.pieces.push(WordPiece::Variable { name, quoted });
            }
            Some(letter) if letter.is_ascii_digit() || "@*#?-$!".contains(letter) => {
                self.at += 2;
                word.pieces.push(WordPiece::Unknown);
            }
            // zsh expands a dollar before one of these letters, and bash does not, so the result is unknown.
            Some('=' | '~' | '^' | '+') => {
                self.at += 1;
                word.pieces.push(WordPiece::Unknown);
            }
            Some(_) | None => {
                self.at += 1;
                word.push('$', true);
            }
        }
        Ok(())
    }

    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|letter| letter == '_' || letter.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    pub(super) fn backquoted(&mut self, word: &mut ShellWord, quoted: bool) -> Result<(), UnreadText> {
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|letter| *letter == '`').ok_or("a backquote is not closed")?;
        let text = &rest[..end];
        if text.contains(&'\\') || (quoted && text.contains(&'"')) {
            return Err("quotes inside of backquotes; write it with `$(…)`".into());
        }
        self.at += end + 1;
        let script = read_at(text, self.nesting + 1)?;
        word.inner.push(script);
        word.pieces.push(WordPiece::Unknown);
        Ok(())
    }

    /// Reads a text in the quotes `$'…'`, in which escapes are resolved.
    fn ansi(&mut self, word: &mut ShellWord) -> Result<(), UnreadText> {
        word.pieces.push(WordPiece::Quoted(String::new()));
        loop {
            let letter = self.peek().ok_or("a quote is not closed")?;
            self.at += 1;
            match letter {
                '\'' => return Ok(()),
                '\\' => {
                    let next = self.peek().ok_or("a quote is not closed")?;
                    self.at += 1;
                    match next {
                        'n' => word.push('\n', true),
                        't' => word.push('\t', true),
                        '\\' | '\'' | '"' | '?' => word.push(next, true),
                        'x' | '0'..='7' => self.coded(next, word),
                        // The value of any other escape counts as unknown. Names of programs and paths do not need such
                        // an escape.
                        _ => word.pieces.push(WordPiece::Unknown),
                    }
                }
                _ => word.push(letter, true),
            }
        }
    }

    /// Reads an escape that gives a character by its number: `\x67`, `\147`.
    fn coded(&mut self, first: char, word: &mut ShellWord) {
        let (radix, most) = if first == 'x' { (16, 2) } else { (8, 2) };
        let mut value = first.to_digit(8).filter(|_| first != 'x').unwrap_or(0);
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            value = value * radix + digit;
            self.at += 1;
        }
        match char::from_u32(value) {
            Some(letter) if (' '..='~').contains(&letter) => word.push(letter, true),
            Some(_) | None => word.pieces.push(WordPiece::Unknown),
        }
    }

    /// Reads the rest of `${…}` after the opening brace.
    fn braced(&mut self, word: &mut ShellWord, quoted: bool) -> Result<(), UnreadText> {
        let indirect = self.peek() == Some('!') && self.ahead(1).is_some_and(is_name_start);
        let length = self.peek() == Some('#') && self.ahead(1) != Some('}');
        if indirect || length {
            self.at += 1;
        }
        let mut name = String::new();
        match self.peek() {
            Some(letter) if is_name_start(letter) => name = self.name(),
            Some(letter) if letter.is_ascii_digit() => drop(self.name()),
            // `${!name}` reads a variable whose name is the value of another variable.
            Some('!') if self.ahead(1) != Some('}') => return Err("`${!…}`, which names a variable by another".into()),
            Some(letter) if "@*#?-$!".contains(letter) => self.at += 1,
            Some(_) | None => return Err("`${…}` without a name".into()),
        }
        if self.peek() == Some('}') && !indirect && !length && !name.is_empty() {
            self.at += 1;
            word.pieces.push(WordPiece::Variable { name, quoted });
            return Ok(());
        }
        let all =
            matches!(self.peek(), Some('[')) && matches!(self.ahead(1), Some('@' | '*')) && self.ahead(2) == Some(']');
        if all {
            self.at += 3;
        } else if self.peek() == Some('[') {
            self.at += 1;
            word.inner.extend(self.arithmetic(Until::Bracket)?.inner);
        }
        if indirect {
            // For `${!name}` bash takes the value of the variable as the name of another variable, and evaluates
            // computations in that name. So only the two forms that list variable names or indexes are accepted.
            let names = all && self.peek() == Some('}');
            let prefix = matches!(self.peek(), Some('*' | '@')) && self.ahead(1) == Some('}');
            if !names && !prefix {
                return Err("`${!…}`, which names a variable by another".into());
            }
        }
        word.pieces.push(WordPiece::Unknown);
        match (self.peek(), self.ahead(1)) {
            (Some('}'), _) => {
                self.at += 1;
                return Ok(());
            }
            (Some('@'), Some('P')) => return Err("`${…@P}`".into()),
            (Some(':'), Some('-' | '+' | '?' | '='))
            | (Some('-' | '+' | '?' | '=' | '#' | '%' | '/' | '^' | ',' | '@'), _) => {
                if self.peek() == Some('=') || (self.peek() == Some(':') && self.ahead(1) == Some('=')) {
                    self.script.assigned.push(name);
                }
            }
            (Some(':'), _) => {
                self.at += 1;
                word.inner.extend(self.arithmetic(Until::Brace)?.inner);
                return Ok(());
            }
            _ => return Err("`${…}`".into()),
        }
        self.default(word, quoted)
    }

    /// Reads the default value in `${name-value}`, and the closing brace.
    fn default(&mut self, word: &mut ShellWord, quoted: bool) -> Result<(), UnreadText> {
        // Keep only the commands inside the default value. The value itself is not needed.
        let mut value = ShellWord::default();
        loop {
            let letter = self.peek().ok_or("a brace is not closed")?;
            match letter {
                '}' => {
                    self.at += 1;
                    word.inner.append(&mut value.inner);
                    return Ok(());
                }
                '\\' if self.ahead(1).is_none_or(|next| next == '\n') => {
                    return Err("a line that ends inside of `${…}`".into());
                }
                '\\' => self.at += 2,
                '\'' | '"' if quoted => return Err("quotes inside of `\"${…}\"`".into()),
                '\'' => {
                    let rest = &self.text[self.at + 1..];
                    let end = rest.iter().position(|letter| *letter == '\'').ok_or("a quote is not closed")?;
                    self.at += end + 2;
                }
                '"' => self.double(&mut value)?,
                '$' => self.dollar(&mut value, quoted)?,
                '`' => self.backquoted(&mut value, quoted)?,
                '{' => return Err("a brace inside of `${…}`".into()),
                '<' | '>' if self.ahead(1) == Some('(') => return Err("a substitution inside of `${…}`".into()),
                _ => self.at += 1,
            }
        }
    }

    /// Reads a computation up to and including its end sign, and returns the commands that it runs. Records its
    /// variables, because bash evaluates their values and a value may run a command.
    pub(super) fn arithmetic(&mut self, until: Until) -> Result<ShellWord, UnreadText> {
        let mut found = ShellWord::default();
        let mut open = 0_u32;
        loop {
            let letter = self.peek().ok_or("a computation is not closed")?;
            match letter {
                ')' if open == 0 && until == Until::Parentheses => {
                    if self.ahead(1) != Some(')') {
                        return Err("`((` that may be two subshells; leave a blank between the parentheses".into());
                    }
                    self.at += 2;
                    return Ok(found);
                }
                '}' if until == Until::Brace => {
                    self.at += 1;
                    return Ok(found);
                }
                ']' if until == Until::Bracket => {
                    self.at += 1;
                    return Ok(found);
                }
                '(' => {
                    open += 1;
                    self.at += 1;
                }
                ')' => {
                    open = open.checked_sub(1).ok_or("a computation with a parenthesis too many")?;
                    self.at += 1;
                }
                '$' => self.computed_value(&mut found)?,
                _ if is_name_start(letter) => {
                    let name = self.name();
                    self.assigns(name)?;
                }
                // The number may have a base before it: `16#ff`, `2#101`.
                '0'..='9' => {
                    self.name();
                    if self.peek() == Some('#') {
                        self.at += 1;
                        self.name();
                    }
                }
                ' ' | '\t' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '~' | '?'
                | ':' | ',' => {
                    self.at += 1;
                }
                ';' if until == Until::Parentheses && open == 0 => self.at += 1,
                _ => return Err(UnreadText(format!("a computation with {letter:?} in it"))),
            }
        }
    }

    /// Records a variable that a computation uses. A computation such as `$((i = 1))` sets the variable to a number.
    /// Any other computation, such as `$((i + 1))`, reads the variable.
    fn assigns(&mut self, name: String) -> Result<(), UnreadText> {
        let mut by = 0;
        while matches!(self.ahead(by), Some(' ' | '\t')) {
            by += 1;
        }
        if self.ahead(by) == Some('[') {
            return Err("a computation with an element of a list".into());
        }
        if self.ahead(by) == Some('=') && self.ahead(by + 1) != Some('=') {
            self.script.numbers.push(name);
        } else {
            self.script.computed.push(name);
        }
        Ok(())
    }

    /// Reads the expansion at a dollar inside a computation.
    fn computed_value(&mut self, found: &mut ShellWord) -> Result<(), UnreadText> {
        let next = self.ahead(1);
        match next {
            Some('(') if self.ahead(2) == Some('(') => self.dollar(found, true),
            Some('(') => {
                self.dollar(found, true)?;
                // bash evaluates the output of the command as a part of the computation.
                self.script.computed.push("what a command prints".to_owned());
                Ok(())
            }
            Some('{') => {
                let start = self.at + 2;
                self.dollar(found, true)?;
                let inside: String = self.text[start..self.at - 1].iter().collect();
                if !inside.starts_with('#') {
                    self.script.computed.push(inside);
                }
                Ok(())
            }
            Some(letter) if is_name_start(letter) => {
                self.at += 1;
                let name = self.name();
                self.script.computed.push(name);
                Ok(())
            }
            Some('#' | '?' | '$' | '!') => {
                self.at += 2;
                Ok(())
            }
            Some(_) | None => Err("a computation with a parameter of the shell".into()),
        }
    }
}

fn is_name_start(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphabetic()
}
