//! Reads one word of a command text: its quotes, escapes and patterns.

use super::{ListEnd, RESERVED, ScriptReader, UnreadText};
use crate::shell::word::{ShellWord, WordPiece};

/// The kind of text that is read. It decides where the text ends, and whether variables and commands in it are
/// expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadingPlace {
    /// The text is a word of a command.
    Word,
    /// The text is the delimiter after `<<`, in which bash expands nothing.
    Delimiter,
    /// The text is the body of a here-document (`<<EOF`).
    Document,
}

impl ScriptReader<'_> {
    /// Reads a word. Adds its name, such as `W0`, to the skeleton, that is, the command text with names in place of
    /// words.
    pub(super) fn word(&mut self, stop: ListEnd) -> Result<(), UnreadText> {
        let start = self.at;
        let after_time = std::mem::take(&mut self.after_time);
        if self.in_list && (self.peek() == Some('[') || self.nesting > 0) {
            return Err("a list with indexes, or inside of a substitution".into());
        }
        let (name, word) = self.assignment_or_word()?;
        // bash joins a line that ends with a backslash with the next line before it looks for a name. So `PA\` and
        // `TH=x` on the next line are an assignment to `PATH`. This reader gives up on such a text.
        let joined = self.text[start..self.at].windows(2).any(|pair| pair == ['\\', '\n']);
        if joined && name.is_empty() && word.begins_assignment() {
            return Err("a line that ends inside of an assignment".into());
        }
        // `spelled` is the name of an assignment as it is written, with an index and a `+`: `x[1]+=`.
        let name_end = self.text[start..].iter().position(|letter| *letter == '=').map_or(start, |by| start + by + 1);
        let spelled: String = self.text[start..name_end].iter().collect();
        // If the word contains a newline and its line announces a here-document, this reader gives up. Shells disagree
        // whether the body of the document begins after that newline.
        if !self.pending.is_empty() && self.text[start..self.at].contains(&'\n') {
            return Err("a word with a newline on the line of a here-document".into());
        }
        if name.is_empty() {
            let bare = word.bare().unwrap_or_default();
            if matches!(self.peek(), Some('<' | '>')) && self.is_redirect_number(bare)? {
                self.script.plain.push_str(bare);
                return Ok(());
            }
            // bash reads the `in` of `case` and `for` as a keyword even after a word that looks like an assignment.
            let keyword = !self.keywords_over || self.in_test || bare == "in";
            let as_it_is = RESERVED.contains(&bare) && keyword
                || (after_time && bare == "-p")
                || (self.in_test && (matches!(bare, "=" | "==" | "!=" | "=~") || is_test(bare)));
            if as_it_is {
                // In `$(case x in a) …)` a parenthesis may end a pattern or the substitution. This reader cannot tell
                // which, so it gives up.
                if stop == ListEnd::Parenthesis && matches!(bare, "case" | "esac") {
                    return Err("`case` inside of a substitution".into());
                }
                // bash ends `case x in esac` at the word `esac`. `brush-parser` takes `esac` as a pattern if a
                // parenthesis follows. So this reader gives up.
                if bare == "esac" && self.script.plain.split_whitespace().next_back() == Some("in") {
                    return Err("`esac` directly behind `in`".into());
                }
                if self.is_behind_first_time() && !matches!(bare, "-p" | "!" | "time" | "[[") {
                    return Err("a block behind `time` at the start of a substitution".into());
                }
                match bare {
                    "[[" => self.in_test = true,
                    "]]" => self.in_test = false,
                    "time" => self.after_time = true,
                    _ => {}
                }
                self.script.only_bash |= matches!(bare, "[[" | "function" | "select" | "coproc" | "time");
                let bare = bare.to_owned();
                self.emit(&bare);
                return Ok(());
            }
        } else if word.pieces.is_empty() && self.peek() == Some('(') {
            self.script.only_bash = true;
            // The value of this assignment is a list, `name=(…)`. The elements of the list are read as the next words.
            self.in_list = true;
            self.keywords_over = true;
            self.script.plain.push_str(&name);
            return Ok(());
        }
        let token = format!("{name}W{}", self.script.words.len());
        self.keywords_over |= !name.is_empty() || self.follows_redirect();
        self.emit(&token);
        if !name.is_empty() {
            // The word `of=file` may be an argument of a command and not an assignment. So the whole word is stored
            // here, and the value alone is stored after this block.
            let mut whole = ShellWord::default();
            spelled.chars().for_each(|letter| whole.push(letter, false));
            whole.pieces.extend(word.pieces.iter().cloned());
            self.script.words.insert(token.clone(), whole);
        }
        self.script.words.insert(token[name.len()..].to_owned(), word);
        Ok(())
    }

    /// Tells whether the next token follows a `time` that is the first word of a substitution. There bash 5.2 does not
    /// read `time` as a keyword, so it refuses a block or a subshell such as `$(time (x))`.
    pub(super) fn is_behind_first_time(&self) -> bool {
        self.nesting > 0 && matches!(self.script.plain.trim_start().trim_end_matches(' '), "time" | "time -p")
    }

    /// Tells whether a word directly before a redirection is the number of its descriptor: `2` of `2>file`.
    fn is_redirect_number(&self, bare: &str) -> Result<bool, UnreadText> {
        if bare.starts_with('{') && bare.ends_with('}') {
            return Err("a redirection with a name in braces".into());
        }
        if bare.is_empty() || !bare.chars().all(|letter| letter.is_ascii_digit()) {
            return Ok(false);
        }
        let behind = self.script.plain.trim_end_matches(' ');
        if bare.len() > 4 || [">", "<", ">&", "<&", ">|"].iter().any(|sign| behind.ends_with(sign)) {
            return Err("the number of a redirection".into());
        }
        Ok(true)
    }

    /// Tells whether the text before this position ends with the operator of a redirection, such as `>`. The next word
    /// is then the target of the redirection.
    fn follows_redirect(&self) -> bool {
        let last = self.script.plain.trim_end_matches(' ').rsplit([' ', '\n']).next().unwrap_or_default();
        last.contains(['<', '>'])
    }

    /// Reads an optional `name=` or `name+=`, and the word after it.
    fn assignment_or_word(&mut self) -> Result<(String, ShellWord), UnreadText> {
        let start = self.at;
        let mut end = self.at;
        let letter = |at: usize| self.text.get(at).copied().unwrap_or(' ');
        while letter(end).is_ascii_alphabetic() || letter(end) == '_' || (end > start && letter(end).is_ascii_digit()) {
            end += 1;
        }
        let name_end = end;
        let mut name = String::new();
        if end > start {
            if letter(end) == '[' {
                // bash accepts any text in the brackets of an assignment such as `x[…]=1`. This reader accepts only
                // plain letters, and gives up otherwise.
                let plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-.*?!^".contains(*letter);
                let index_end = end + 1 + self.text[end + 1..].iter().take_while(|letter| plain(letter)).count();
                if letter(index_end) != ']' {
                    return Err("a bracket behind a name".into());
                }
                if letter(index_end + 1) == '=' || (letter(index_end + 1) == '+' && letter(index_end + 2) == '=') {
                    let index = &self.text[end + 1..index_end];
                    if index.is_empty() || !index.iter().all(char::is_ascii_digit) {
                        return Err("an assignment to an element whose index is not a number".into());
                    }
                    end = index_end + 1;
                }
            }
            let equals = if letter(end) == '+' { end + 1 } else { end };
            if letter(equals) == '=' {
                name = self.text[start..name_end].iter().collect();
                name.push('=');
                self.at = equals + 1;
            }
        }
        let word = self.pieces(ReadingPlace::Word)?;
        Ok((name, word))
    }

    /// Reads the pieces of a word, a delimiter or a here-document up to its end. `place` says which of the three it is.
    pub(super) fn pieces(&mut self, place: ReadingPlace) -> Result<ShellWord, UnreadText> {
        let mut word = ShellWord::default();
        let mut previous = None;
        while let Some(letter) = self.peek() {
            let before = previous.replace(letter);
            if place == ReadingPlace::Document {
                self.document_piece(letter, &mut word)?;
                continue;
            }
            match letter {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' => break,
                '(' => {
                    if before.is_some_and(|before| "?*+@!".contains(before)) {
                        return Err("an extended pattern such as `@(…)`".into());
                    }
                    break;
                }
                '<' | '>' if self.ahead(1) == Some('(') && place == ReadingPlace::Word => {
                    self.at += 2;
                    let script = self.nested()?;
                    self.script.only_bash = true;
                    word.inner.push(script);
                    word.pieces.push(WordPiece::Unknown);
                }
                '<' | '>' => break,
                '\\' => {
                    let next = self.ahead(1).ok_or("it ends with a backslash")?;
                    self.at += 2;
                    if next != '\n' {
                        word.push(next, true);
                    } else if place == ReadingPlace::Delimiter {
                        return Err("the delimiter of a here-document".into());
                    }
                }
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' | '`' if place == ReadingPlace::Delimiter => return Err("the delimiter of a here-document".into()),
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backquoted(&mut word, false)?,
                // `[` alone is a command, and `[[` begins a test. Here neither begins a pattern.
                '[' if self.ahead(1).is_none_or(is_blank)
                    || (self.ahead(1) == Some('[') && self.ahead(2).is_none_or(is_blank))
                    || word.bare() == Some("[") =>
                {
                    self.at += 1;
                    word.push(letter, false);
                }
                '*' | '?' | '[' => {
                    self.at += 1;
                    word.pieces.push(WordPiece::Wild(letter));
                }
                // bash expands a tilde at the start of a word, and after `=` and `:` in an assigned value. This reader
                // expands it in every word, so it finds too many paths rather than too few.
                '~' if before.is_none_or(|before| matches!(before, '=' | ':'))
                    && !(self.in_test && before == Some('=')) =>
                {
                    self.at += 1;
                    let mut name = String::new();
                    while let Some(letter) =
                        self.peek().filter(|letter| letter.is_alphanumeric() || "_-+.".contains(*letter))
                    {
                        name.push(letter);
                        self.at += 1;
                    }
                    word.pieces.push(WordPiece::Tilde(name));
                }
                _ => {
                    self.at += 1;
                    word.push(letter, false);
                }
            }
        }
        Ok(word)
    }

    fn document_piece(&mut self, letter: char, word: &mut ShellWord) -> Result<(), UnreadText> {
        match letter {
            '\\' => {
                let next = self.ahead(1).ok_or("it ends with a backslash")?;
                self.at += 1;
                if matches!(next, '$' | '`' | '\\') {
                    self.at += 1;
                    word.push(next, true);
                } else {
                    word.push('\\', true);
                }
            }
            '$' => self.dollar(word, true)?,
            '`' => self.backquoted(word, true)?,
            _ => {
                self.at += 1;
                word.push(letter, true);
            }
        }
        Ok(())
    }

    fn single(&mut self, word: &mut ShellWord) -> Result<(), UnreadText> {
        self.at += 1;
        word.pieces.push(WordPiece::Quoted(String::new()));
        loop {
            let letter = self.peek().ok_or("a quote is not closed")?;
            self.at += 1;
            if letter == '\'' {
                return Ok(());
            }
            word.push(letter, true);
        }
    }

    pub(super) fn double(&mut self, word: &mut ShellWord) -> Result<(), UnreadText> {
        self.at += 1;
        word.pieces.push(WordPiece::Quoted(String::new()));
        loop {
            let letter = self.peek().ok_or("a quote is not closed")?;
            match letter {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    let next = self.ahead(1).ok_or("a quote is not closed")?;
                    self.at += 2;
                    match next {
                        '\n' => {}
                        '$' | '`' | '"' | '\\' => word.push(next, true),
                        _ => {
                            word.push('\\', true);
                            word.push(next, true);
                        }
                    }
                }
                '$' => self.dollar(word, true)?,
                '`' => self.backquoted(word, true)?,
                _ => {
                    self.at += 1;
                    word.push(letter, true);
                }
            }
        }
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n')
}

/// Tells whether a word is an operator of a test in `[[ … ]]`, such as `-f` or `-eq`.
pub(super) fn is_test(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|word| (1..=2).contains(&word.len()) && word.chars().all(|letter| letter.is_ascii_alphabetic()))
}
