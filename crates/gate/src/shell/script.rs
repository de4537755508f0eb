//! Splits the text of a command into words and a plain skeleton without any quotes.
//!
//! `git commit -m "$(date)" <<EOF …` becomes the skeleton `W0 W1 W2 W3 <<< W4`, and the words are kept separately.
//! Quotes, comments, substitutions and here-documents can hide a command from a parser. So this reader must follow bash
//! exactly: a general parser accepts text that bash reads in another way. The reader knows the common forms exactly and
//! gives up on all others. Then `brush-parser` parses the skeleton, in which no quote can mislead it.

mod dollar;
mod words;

use std::collections::HashMap;

use crate::shell::word::ShellWord;

/// The largest depth of substitutions within substitutions, as in `$(a $(b))`. The gate does not read a command text
/// with deeper substitutions, so a person must approve this text.
const NESTING_MAX: u32 = 32;

/// The reason why a command text was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadText(pub(crate) String);

impl From<&str> for UnreadText {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// The result of reading one command text.
#[derive(Debug, Default)]
pub(crate) struct ProgramText {
    /// The skeleton of the command text: its keywords and operators, with a name such as `W0` in place of each word.
    pub(crate) plain: String,
    /// The words that the names in `plain`, such as `W0`, stand for.
    pub(crate) words: HashMap<String, ShellWord>,
    /// The `((…))` parts of the command text, in the order in which they occur. Each part holds the commands that bash
    /// runs when it evaluates the part.
    pub(crate) arithmetic: Vec<ShellWord>,
    /// Variables that are used in computations such as `$((x + 1))`. bash evaluates their values, and a value may run a
    /// command.
    pub(crate) computed: Vec<String>,
    /// Variables to which a computation such as `((x = 1))` assigns a value. They hold numbers.
    pub(crate) numbers: Vec<String>,
    /// Variables that the form `${name=value}` sets.
    pub(crate) assigned: Vec<String>,
    /// True if other shells may read the command text differently from bash. For example, other shells read `((` as two
    /// subshells.
    pub(crate) only_bash: bool,
}

/// The place at which a list of shell commands ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    End,
    /// The list of commands ends at the `)` that closes a substitution.
    Parenthesis,
}

/// A here-document that the current line announces with `<<`. Its body begins on the next line.
struct Pending {
    name: String,
    delimiter: String,
    quoted: bool,
    tabs: bool,
}

struct ScriptReader<'t> {
    text: &'t [char],
    at: usize,
    nesting: u32,
    script: ProgramText,
    pending: Vec<Pending>,
    /// True while the reader is between `[[` and `]]` of a shell test.
    in_test: bool,
    /// True after `<<` was read inside a substitution such as `$(…)`. bash 5.2 rewrites such a substitution and loses a
    /// `;` in it, so this reader gives up at a `;`.
    document_inside: bool,
    /// True after the body of a here-document (`<<EOF`) inside a substitution such as `$(…)` was read.
    document_over: bool,
    /// True while the reader is between `name=(` and the `)` that ends the list of values.
    in_list: bool,
    /// True if the word before the current one is `time`.
    after_time: bool,
    /// True after an assignment or a redirection at the start of a command, where bash reads no keywords: `a=1 if` runs
    /// the program `if`.
    keywords_over: bool,
}

/// Keywords of the shell. The skeleton of a command text has a name such as `W0` in place of each word, but keeps these
/// keywords, because `brush-parser`, which parses the skeleton, needs them.
pub(crate) const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while",
    "[[", "]]", "function", "select", "coproc", "time",
];

/// The operators of the shell. The longest come first, so that `<<` is not read as `<`.
const OPERATORS: &[&str] = &[
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "|&", "&", "|", ";",
    "<", ">", "(", ")",
];

pub(crate) fn read(text: &str) -> Result<ProgramText, UnreadText> {
    let text: Vec<char> = text.chars().collect();
    read_at(&text, 0)
}

fn read_at(text: &[char], nesting: u32) -> Result<ProgramText, UnreadText> {
    if let Some(odd) = text.iter().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t')) {
        return Err(UnreadText(format!("it contains the control character {odd:?}")));
    }
    let mut reader = ScriptReader::new(text, 0, nesting)?;
    reader.list(ListEnd::End)?;
    Ok(reader.script)
}

impl<'t> ScriptReader<'t> {
    fn new(text: &'t [char], at: usize, nesting: u32) -> Result<Self, UnreadText> {
        if nesting > NESTING_MAX {
            return Err(UnreadText(format!("substitutions are nested more than {NESTING_MAX} deep")));
        }
        let script = ProgramText::default();
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
            keywords_over: false,
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

    /// Reads commands up to the end of the text, or up to and including the `)` that closes a substitution.
    fn list(&mut self, stop: ListEnd) -> Result<(), UnreadText> {
        let mut open = 0_u32;
        loop {
            let Some(letter) = self.peek() else {
                return match stop {
                    ListEnd::Parenthesis => Err("a parenthesis is not closed".into()),
                    ListEnd::End if self.pending.is_empty() => Ok(()),
                    ListEnd::End => Err("a here-document is not closed".into()),
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
                    self.keywords_over = false;
                    self.script.plain.push('\n');
                    self.documents()?;
                }
                '#' if self.in_test || self.in_list => return Err("a `#` inside of `[[` or of a list".into()),
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                ')' if stop == ListEnd::Parenthesis && open == 0 => {
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
                        ')' => open = open.saturating_sub(1),
                        _ => {}
                    }
                    self.operator()?;
                    if letter == ')' {
                        self.end_list()?;
                    }
                }
                _ => self.word(stop)?,
            }
        }
    }

    /// Ends the list of `name=(…)`, if one is open. If letters follow the parenthesis directly, bash takes them as a
    /// part of the same word: `a=(x)git push` runs `push`. This reader gives up on such a text.
    fn end_list(&mut self) -> Result<(), UnreadText> {
        let ended = std::mem::take(&mut self.in_list);
        self.keywords_over |= ended;
        match self.peek() {
            None | Some(' ' | '\t' | '\n' | '&' | '|' | ';' | '<' | '>' | ')') => Ok(()),
            Some(_) if ended => Err("letters behind the parenthesis of a list".into()),
            Some(_) => Ok(()),
        }
    }

    fn operator(&mut self) -> Result<(), UnreadText> {
        let found = OPERATORS.iter().find(|operator| self.looking_at(operator));
        let operator = *found.ok_or("an operator")?;
        self.at += operator.len();
        self.keywords_over &= operator.contains(['<', '>']);
        // Other shells read these operators differently: dash reads `&>` as two operators and does not have `|&`.
        self.script.only_bash |= matches!(operator, "&>" | "&>>" | "|&" | "<<<" | ";;&" | ";&");
        // bash refuses `[[ -n || x ]]`, but `brush-parser` accepts it and takes `-n` as a text. So this reader gives
        // up.
        if self.in_test && words::is_test(self.script.plain.split_whitespace().next_back().unwrap_or_default()) {
            return Err("an operator of `[[` without its word".into());
        }
        match operator {
            ";" | "&" if self.document_inside => Err("a list with a here-document inside of a substitution".into()),
            "<<" | "<<-" if self.in_test => Err("a here-document inside of `[[`".into()),
            "<<" => self.document(false),
            "<<-" => self.document(true),
            "(" if self.is_behind_first_time() => Err("a block behind `time` at the start of a substitution".into()),
            _ => {
                // `brush-parser` reads two parentheses in a row as arithmetic, even with a blank between them. bash
                // reads them as two subshells, so a line end is put between them.
                if operator == "(" && self.script.plain.trim_end_matches(' ').ends_with('(') {
                    self.script.plain.push('\n');
                }
                self.emit(operator);
                // In `>&-` the dash closes the descriptor. It is not the start of a word.
                if matches!(operator, ">&" | "<&") && self.peek() == Some('-') {
                    self.at += 1;
                    let name = format!("W{}", self.script.words.len());
                    self.emit(&name);
                    self.keywords_over = true;
                    self.script.words.insert(name, ShellWord::quoted("-".to_owned()));
                }
                Ok(())
            }
        }
    }

    /// Reads the delimiter after `<<`. The skeleton (the command text with names for its words) gets `<<<` and a word
    /// instead of the here-document. The word gets the body of the here-document later, after the end of the line.
    fn document(&mut self, tabs: bool) -> Result<(), UnreadText> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let start = self.at;
        let word = self.pieces(words::ReadingPlace::Delimiter)?;
        let written: String = self.text[start..self.at].iter().collect();
        let delimiter = word.literal().filter(|text| !text.is_empty()).ok_or("the delimiter of a here-document")?;
        let plain = |letter: char| letter.is_alphanumeric() || "_-.+!@%,:/= ".contains(letter);
        if !delimiter.chars().all(plain) || word.runs_something() {
            return Err("the delimiter of a here-document".into());
        }
        let quoted = written.contains(['\'', '"', '\\']);
        let name = format!("W{}", self.script.words.len());
        self.script.words.insert(name.clone(), ShellWord::default());
        self.emit(&format!("<<< {name}"));
        self.keywords_over = true;
        self.document_inside |= self.nesting > 0;
        self.pending.push(Pending { name, delimiter, quoted, tabs });
        Ok(())
    }

    /// Reads the bodies of the here-documents that the line before this position announced with `<<`.
    fn documents(&mut self) -> Result<(), UnreadText> {
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
                // Inside a substitution, bash 5.2 also ends a here-document at a line that begins with the delimiter
                // and holds a parenthesis. It then runs the rest of that line. This reader gives up at such a line.
                if self.nesting > 0 && bare.starts_with(&pending.delimiter) {
                    return Err(
                        "a line that begins with the delimiter of a here-document inside of a substitution".into()
                    );
                }
                // bash joins a line that ends with a backslash with the next line, before it looks for the delimiter.
                // This reader does not do that, so it gives up.
                if !pending.quoted && line.ends_with('\\') {
                    return Err("a line of a here-document ends with a backslash".into());
                }
                body.push_str(bare);
                body.push('\n');
            }
            let word = if pending.quoted { ShellWord::quoted(body) } else { self.body(&body)? };
            self.script.words.insert(pending.name, word);
        }
        Ok(())
    }

    /// Reads the body of a here-document in which bash expands variables and commands.
    fn body(&mut self, body: &str) -> Result<ShellWord, UnreadText> {
        let letters: Vec<char> = body.chars().collect();
        let mut inner = ScriptReader::new(&letters, 0, self.nesting)?;
        let word = inner.pieces(words::ReadingPlace::Document)?;
        self.script.absorb(&inner.script);
        Ok(word)
    }

    /// Reads the commands of a substitution or subshell, up to its closing parenthesis.
    fn nested(&mut self) -> Result<ProgramText, UnreadText> {
        let mut inner = ScriptReader::new(self.text, self.at, self.nesting + 1)?;
        inner.list(ListEnd::Parenthesis)?;
        self.at = inner.at;
        Ok(inner.script)
    }

    /// Reads `((…))` as a computation, or as the head of a loop such as `for ((i = 0; i < 3; i++))`.
    fn arithmetic_command(&mut self) -> Result<(), UnreadText> {
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

impl ProgramText {
    /// Adds the facts about a text inside this text, such as a substitution: the variables that it uses and sets, and
    /// whether only bash can read it. The words of the inner text are not added.
    fn absorb(&mut self, other: &Self) {
        self.computed.extend_from_slice(&other.computed);
        self.numbers.extend_from_slice(&other.numbers);
        self.assigned.extend_from_slice(&other.assigned);
        self.only_bash |= other.only_bash;
    }
}
