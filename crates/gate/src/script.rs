//! The text of a command as words and a plain skeleton that has nothing left to quote.
//!
//! `git commit -m "$(date)" <<EOF …` becomes `W0 W1 W2 W3 <<< W4`, with the words beside it. Quotes, comments, substitutions
//! and here-documents are what hides a command from a reader, and it is here that bash must be followed to the letter: a
//! general parser is kind to text that bash would read in another way. So this reader knows the common forms exactly and gives
//! up on all others, and the grammar of the skeleton is left to `brush-parser`, which then cannot be misled.

mod dollar;
mod words;

use std::collections::HashMap;

use super::word::Word;

/// Substitutions within substitutions; deeper nobody reads.
const NESTING_MAX: u32 = 32;

/// Why a text was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread(pub(super) String);

impl From<&str> for Unread {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// One program text, read.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Keywords, operators and the names of words.
    pub(super) plain: String,
    /// What the names in `plain` stand for.
    pub(super) words: HashMap<String, Word>,
    /// `((…))`, by their order in `plain`; what they run.
    pub(super) arithmetic: Vec<Word>,
    /// Variables whose values are computed with: bash evaluates them, and what is in them may run commands.
    pub(super) computed: Vec<String>,
    /// Variables set by computing, so they hold numbers.
    pub(super) numbers: Vec<String>,
    /// `${name=value}`.
    pub(super) assigned: Vec<String>,
    /// `((` was seen, which other shells read as two subshells; or another word of bash alone.
    pub(super) only_bash: bool,
}

/// What ends a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    /// The `)` of a substitution.
    Parenthesis,
}

/// A here-document whose body follows the line.
struct Pending {
    name: String,
    delimiter: String,
    quoted: bool,
    tabs: bool,
}

struct Reader<'t> {
    text: &'t [char],
    at: usize,
    nesting: u32,
    script: Script,
    pending: Vec<Pending>,
    /// Between `[[` and `]]`.
    in_test: bool,
    /// A here-document was announced in a substitution: bash 5.2 writes such a text anew and loses a `;` in it.
    document_inside: bool,
    /// Its body was read.
    document_over: bool,
    /// Between `name=(` and its end.
    in_list: bool,
    /// Left behind by the word that was read last.
    after_time: bool,
}

/// Words that the grammar must see as they are.
pub(super) const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while",
    "[[", "]]", "function", "select", "coproc", "time",
];

/// Longest first.
const OPERATORS: &[&str] = &[
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "|&", "&", "|", ";",
    "<", ">", "(", ")",
];

pub(super) fn read(text: &str) -> Result<Script, Unread> {
    let text: Vec<char> = text.chars().collect();
    read_at(&text, 0)
}

fn read_at(text: &[char], nesting: u32) -> Result<Script, Unread> {
    if let Some(odd) = text.iter().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t')) {
        return Err(Unread(format!("it contains the control character {odd:?}")));
    }
    let mut reader = Reader::new(text, 0, nesting)?;
    reader.list(Stop::End)?;
    Ok(reader.script)
}

impl<'t> Reader<'t> {
    fn new(text: &'t [char], at: usize, nesting: u32) -> Result<Self, Unread> {
        if nesting > NESTING_MAX {
            return Err(Unread(format!("substitutions are nested more than {NESTING_MAX} deep")));
        }
        let script = Script::default();
        Ok(Self {
            text,
            at,
            nesting,
            script,
            pending: Vec::new(),
            document_inside: false,
            document_over: false,
            in_test: false,
            in_list: false,
            after_time: false,
        })
    }

    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<char> {
        self.text.get(self.at + by).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(by, letter)| self.ahead(by) == Some(letter))
    }

    fn emit(&mut self, token: &str) {
        self.script.plain.push_str(token);
        self.script.plain.push(' ');
    }

    /// Reads commands up to the end, or up to and with the parenthesis that closes them.
    fn list(&mut self, stop: Stop) -> Result<(), Unread> {
        let mut open = 0_u32;
        loop {
            let Some(letter) = self.peek() else {
                return match stop {
                    Stop::Parenthesis => Err("a parenthesis is not closed".into()),
                    Stop::End if self.pending.is_empty() => Ok(()),
                    Stop::End => Err("a here-document is not closed".into()),
                };
            };
            if self.document_over && !matches!(letter, ' ' | '\t' | '\n' | ')') {
                return Err("a command behind a here-document inside of a substitution".into());
            }
            match letter {
                ' ' | '\t' => self.at += 1,
                '\\' if self.ahead(1) == Some('\n') => self.at += 2,
                '\n' => {
                    self.at += 1;
                    self.script.plain.push('\n');
                    self.documents()?;
                }
                '#' if self.in_test || self.in_list => return Err("a `#` inside of `[[` or of a list".into()),
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                ')' if stop == Stop::Parenthesis && open == 0 => {
                    if !self.pending.is_empty() {
                        return Err("a here-document reaches beyond its substitution".into());
                    }
                    self.at += 1;
                    return Ok(());
                }
                '(' if self.ahead(1) == Some('(') => self.arithmetic_command()?,
                '<' | '>' if self.ahead(1) == Some('(') => self.word(stop)?,
                '&' | '|' | ';' | '<' | '>' | '(' | ')' => {
                    match letter {
                        '(' => open += 1,
                        ')' => {
                            open = open.saturating_sub(1);
                            self.in_list = false;
                        }
                        _ => {}
                    }
                    self.operator()?;
                }
                _ => self.word(stop)?,
            }
        }
    }

    fn operator(&mut self) -> Result<(), Unread> {
        let found = OPERATORS.iter().find(|operator| self.looking_at(operator));
        let operator = *found.ok_or("an operator")?;
        self.at += operator.len();
        // dash reads `&>` as two, and knows no `|&`.
        self.script.only_bash |= matches!(operator, "&>" | "&>>" | "|&" | "<<<" | ";;&" | ";&");
        match operator {
            ";" | "&" if self.document_inside => Err("a list with a here-document inside of a substitution".into()),
            "<<" | "<<-" if self.in_test => Err("a here-document inside of `[[`".into()),
            "<<" => self.document(false),
            "<<-" => self.document(true),
            _ => {
                // Two parentheses in a row are arithmetic to the parser, blank or not; to bash these are subshells.
                if operator == "(" && self.script.plain.trim_end_matches(' ').ends_with('(') {
                    self.script.plain.push('\n');
                }
                self.emit(operator);
                // A dash closes, and is no part of the word behind it.
                if matches!(operator, ">&" | "<&") && self.peek() == Some('-') {
                    self.at += 1;
                    let name = format!("W{}", self.script.words.len());
                    self.emit(&name);
                    self.script.words.insert(name, Word::quoted("-".to_owned()));
                }
                Ok(())
            }
        }
    }

    /// The delimiter behind `<<`. What follows the line becomes a word, and the document a here-string of it.
    fn document(&mut self, tabs: bool) -> Result<(), Unread> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let start = self.at;
        let word = self.pieces(words::Place::Delimiter)?;
        let written: String = self.text[start..self.at].iter().collect();
        let delimiter = word.literal().filter(|text| !text.is_empty()).ok_or("the delimiter of a here-document")?;
        let plain = |letter: char| letter.is_alphanumeric() || "_-.+!@%,:/= ".contains(letter);
        if !delimiter.chars().all(plain) || word.runs_something() {
            return Err("the delimiter of a here-document".into());
        }
        let quoted = written.contains(['\'', '"', '\\']);
        let name = format!("W{}", self.script.words.len());
        self.script.words.insert(name.clone(), Word::default());
        self.emit(&format!("<<< {name}"));
        self.document_inside |= self.nesting > 0;
        self.pending.push(Pending { name, delimiter, quoted, tabs });
        Ok(())
    }

    /// The bodies of what the last line announced.
    fn documents(&mut self) -> Result<(), Unread> {
        self.document_over |= self.nesting > 0 && !self.pending.is_empty();
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                if self.at >= self.text.len() {
                    return Err("a here-document is not closed".into());
                }
                let rest = &self.text[self.at..];
                let end = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
                let line: String = rest[..end].iter().collect();
                self.at = (self.at + end + 1).min(self.text.len());
                let bare = if pending.tabs { line.trim_start_matches('\t') } else { &line };
                if bare == pending.delimiter {
                    break;
                }
                // bash joins such a line with the next one before it looks for the delimiter.
                if !pending.quoted && line.ends_with('\\') {
                    return Err("a line of a here-document ends with a backslash".into());
                }
                body.push_str(bare);
                body.push('\n');
            }
            let word = if pending.quoted { Word::quoted(body) } else { self.body(&body)? };
            self.script.words.insert(pending.name, word);
        }
        Ok(())
    }

    /// The body of a here-document in which bash expands.
    fn body(&mut self, body: &str) -> Result<Word, Unread> {
        let letters: Vec<char> = body.chars().collect();
        let mut inner = Reader::new(&letters, 0, self.nesting)?;
        let word = inner.pieces(words::Place::Document)?;
        self.script.absorb(&inner.script);
        Ok(word)
    }

    /// A command or subshell of its own, up to its closing parenthesis.
    fn nested(&mut self) -> Result<Script, Unread> {
        let mut inner = Reader::new(self.text, self.at, self.nesting + 1)?;
        inner.list(Stop::Parenthesis)?;
        self.at = inner.at;
        Ok(inner.script)
    }

    /// `((…))`, which bash takes for arithmetic when its end is `))`.
    fn arithmetic_command(&mut self) -> Result<(), Unread> {
        self.at += 2;
        let start = self.at;
        let word = self.arithmetic(dollar::Until::Parentheses)?;
        let parts = self.text[start..self.at].iter().filter(|letter| **letter == ';').count();
        self.script.only_bash = true;
        self.script.arithmetic.push(word);
        match parts {
            0 => self.emit("((_))"),
            2 => self.emit("((_;_;_))"),
            _ => {
                return Err(
                    "`((` that is neither a computation nor a loop; leave a blank between the parentheses".into()
                );
            }
        }
        Ok(())
    }
}

impl Script {
    /// Takes over what holds for the whole text, not the words.
    fn absorb(&mut self, other: &Self) {
        self.computed.extend_from_slice(&other.computed);
        self.numbers.extend_from_slice(&other.numbers);
        self.assigned.extend_from_slice(&other.assigned);
        self.only_bash |= other.only_bash;
    }
}
