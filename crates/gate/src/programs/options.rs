//! Splits the words of a command into options and operands. It reads bundled letters (`-xvf`), values in the same word
//! or in the next, abbreviated long options, and `--`. No other module parses options.

use crate::command::Arg;
use crate::programs::table::{KnownOption, OptionEffect, ProgramTable, ValueNeed};

/// An option that was found in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenOption {
    /// The name of the option as the option table spells it: `-C` or `--chdir`.
    pub(crate) name: &'static str,
    pub(crate) value: Option<Arg>,
    pub(crate) effect: OptionEffect,
}

/// The words of a command, split into options and operands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParsedOptions {
    pub(crate) given: Vec<GivenOption>,
    /// The words of the command that are not options, in their order.
    pub(crate) operands: Vec<Arg>,
    /// The index of the first operand among the words of the command. It is used for programs whose options end at the
    /// first operand.
    pub(crate) rest: usize,
    /// The number of operands before the word `--`. Without that word, the number of all operands.
    pub(crate) before_dashes: usize,
    pub(crate) has_dashes: bool,
    /// Options that are missing in the option table, and words with unknown parts that may be options.
    pub(crate) unknown: Vec<String>,
}

/// Splits words into options and operands as the real program would. Also lists the options that are missing in the
/// program's option table.
pub(crate) fn parse(table: &ProgramTable, words: &[Arg]) -> ParsedOptions {
    let mut parser = OptionParser { table, words, at: 1, found: ParsedOptions::default() };
    if table.style.tar {
        parser.letters_without_dash();
    }
    parser.run();
    let mut found = parser.found;
    if !found.has_dashes {
        found.before_dashes = found.operands.len();
    }
    found
}

struct OptionParser<'a> {
    table: &'a ProgramTable,
    words: &'a [Arg],
    at: usize,
    found: ParsedOptions,
}

impl<'a> OptionParser<'a> {
    fn next(&mut self) -> Option<&'a Arg> {
        let word = self.words.get(self.at);
        self.at += usize::from(word.is_some());
        word
    }

    fn run(&mut self) {
        while let Some(word) = self.next() {
            let lead = word.lead.as_str();
            if word.text.as_deref() == Some("--") {
                self.found.has_dashes = true;
                self.found.before_dashes = self.found.operands.len();
                return self.operands_from(self.at);
            }
            let dashed = lead.starts_with('-') && (lead.len() > 1 || word.text.is_none());
            if dashed && self.is_mode(lead) {
                self.found.operands.push(word.clone());
            } else if self.table.style.words && dashed {
                self.whole_word(word);
            } else if lead.starts_with("--") {
                self.long(word);
            } else if dashed {
                self.letters(word);
            } else if lead == "-" && self.table.option("-").is_some() {
                self.give_flag("-");
            } else if self.table.style.stop {
                // When the command runs, a word that is not literal may turn out to be an option or to be empty.
                if word.text.is_none() && lead.is_empty() && !self.table.style.literal {
                    self.found.unknown.push("a word before its command that is not literal".to_owned());
                }
                return self.operands_from(self.at - 1);
            } else {
                self.found.operands.push(word.clone());
            }
        }
        self.found.rest = self.words.len();
    }

    fn operands_from(&mut self, at: usize) {
        self.found.rest = at;
        self.found.operands.extend(self.words.get(at..).unwrap_or_default().iter().cloned());
    }

    fn give_flag(&mut self, name: &str) {
        if let Some(option) = self.table.option(name) {
            self.give(option, None);
        }
    }

    fn give(&mut self, option: KnownOption, value: Option<Arg>) {
        self.found.given.push(GivenOption { name: option.name, value, effect: option.effect });
    }

    fn lacks(&mut self, word: &Arg) {
        if !self.table.style.loose {
            self.found.unknown.push(format!("the option {}", word.text.as_deref().unwrap_or(&word.lead)));
        }
    }

    /// Tells whether a word is a file mode for chmod and not an option: `-x`, `-rwx`.
    fn is_mode(&self, lead: &str) -> bool {
        let mode = |letter: char| "rwxXstugoa,+=-".contains(letter);
        self.table.style.modes && lead.chars().skip(1).all(mode) && self.table.option(lead).is_none()
    }

    fn value_of(&mut self, option: KnownOption, attached: Option<Arg>) -> Option<Arg> {
        match (option.takes, attached) {
            (ValueNeed::Always | ValueNeed::Attached, Some(value)) => Some(value),
            (ValueNeed::Always, None) => Some(self.next().cloned().unwrap_or_else(Arg::unknown)),
            (ValueNeed::Attached, None) | (ValueNeed::Never | ValueNeed::Digits, _) => None,
        }
    }

    fn long(&mut self, word: &Arg) {
        let end = word.lead.find('=');
        let name = &word.lead[..end.unwrap_or(word.lead.len())];
        // If a part of the option's name is unknown, it is unknown which option this is.
        if word.text.is_none() && end.is_none() {
            return self.lacks(word);
        }
        let attached = end.map(|end| word.behind(end + 1));
        match self.table.option(name) {
            Some(option) if option.takes == ValueNeed::Never && attached.is_some() => self.lacks(word),
            Some(option) => {
                let value = self.value_of(option, attached);
                self.give(option, value);
            }
            None if self.table.negates(name) => {}
            None => self.lacks(word),
        }
    }

    fn letters(&mut self, word: &Arg) {
        let letters = &word.lead[1..];
        if self.table.style.numbers && !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_digit()) {
            return;
        }
        // Some options with one dash have more than one letter: `-TT` of zip.
        if letters.len() > 1
            && let Some(option) = self.table.option(&word.lead).filter(|_| word.text.is_some())
        {
            let value = self.value_of(option, None);
            return self.give(option, value);
        }
        let mut digits = false;
        for (place, letter) in letters.char_indices() {
            if digits && letter.is_ascii_hexdigit() && (letter.is_ascii_digit() || letters.contains('x')) {
                continue;
            }
            digits = digits && letter == 'x';
            if digits {
                continue;
            }
            let end = place + letter.len_utf8();
            let Some(option) = self.table.option(&format!("-{letter}")) else {
                if self.table.style.loose {
                    continue;
                }
                return self.lacks(word);
            };
            let last = end == letters.len() && word.text.is_some();
            // Some programs accept an equals sign after an option letter: `-C=folder`.
            let sign = usize::from(self.table.style.loose && letters[end..].starts_with('='));
            let attached = (!last).then(|| word.behind(1 + end + sign));
            match option.takes {
                ValueNeed::Never => self.give(option, None),
                ValueNeed::Digits => {
                    digits = true;
                    self.give(option, None);
                }
                ValueNeed::Always | ValueNeed::Attached => {
                    let value = self.value_of(option, attached);
                    return self.give(option, value);
                }
            }
        }
        // If a part of this word is unknown, the word may have further option letters.
        if word.text.is_none() {
            self.lacks(word);
        }
    }

    /// Reads an option like `-out file`, for programs that do not bundle letters.
    fn whole_word(&mut self, word: &Arg) {
        let end = word.lead.find('=');
        let name = &word.lead[..end.unwrap_or(word.lead.len())];
        let short = name.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(name);
        let found = self.table.option(name).or_else(|| self.table.option(short));
        match found {
            Some(option) => {
                let attached = end.map(|end| word.behind(end + 1));
                let value = self.value_of(option, attached);
                self.give(option, value);
            }
            // The option table has no such whole-word option. The word may be an option letter with its value: `-l16`.
            None => {
                let letter = short.chars().nth(1).and_then(|letter| self.table.option(&format!("-{letter}")));
                match letter.filter(|option| option.takes == ValueNeed::Always) {
                    Some(option) => self.give(option, Some(word.behind(2))),
                    None => self.lacks(word),
                }
            }
        }
    }

    /// Reads options without a dash, as in `tar xf a.tar`. The letters take their values from the words after them, in
    /// order.
    fn letters_without_dash(&mut self) {
        let Some(text) = self.words.get(self.at).and_then(|word| word.text.clone()) else { return };
        if text.starts_with('-') || text.is_empty() {
            return;
        }
        self.at += 1;
        for letter in text.chars() {
            match self.table.option(&format!("-{letter}")) {
                Some(option) => {
                    let value = self.value_of(option, None);
                    self.give(option, value);
                }
                None => self.found.unknown.push(format!("the letter {letter} in {text}")),
            }
        }
    }
}

impl ParsedOptions {
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name))
    }

    pub(crate) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Arg> {
        let named = self.given.iter().filter(move |given| names.contains(&given.name));
        named.filter_map(|given| given.value.as_ref())
    }
}

/// Returns the last part of a program's path.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::table;

    /// Returns a command line as it was parsed: the options with their values, then the operands, then the unknown
    /// words.
    fn told(line: &str) -> String {
        let words: Vec<Arg> = line.split(' ').map(Arg::known).collect();
        let table = table::find(base(words[0].as_text())).expect("a table");
        let parsed = parse(table, &words);
        let option = |given: &GivenOption| match &given.value {
            Some(value) => format!("{}={}", given.name, value.as_text()),
            None => given.name.to_owned(),
        };
        let mut all: Vec<String> = parsed.given.iter().map(option).collect();
        all.extend(parsed.operands.iter().map(|word| format!("[{}]", word.as_text())));
        all.extend(parsed.unknown.iter().map(|unknown| format!("?{unknown}")));
        all.join(" ")
    }

    #[test]
    fn words_are_told_apart_as_the_program_does() {
        for (line, wanted) in [
            ("sed -Ei s/a/b/ f", "-E -i [s/a/b/] [f]"),
            ("sed -i.bak s/a/b/ f", "-i=.bak [s/a/b/] [f]"),
            ("sed --in-pl=.x -e p f", "--in-place=.x -e=p [f]"),
            ("curl -fsSLo out http://x", "-f -s -S -L -o=out [http://x]"),
            ("curl -fsSLoout http://x", "-f -s -S -L -o=out [http://x]"),
            ("curl --dump-hea=h x", "--dump-header=h [x]"),
            ("curl --outpu=out x", "[x] ?the option --outpu=out"),
            ("curl --no-progress-meter x", "--no-progress-meter [x]"),
            ("sort -uo out in", "-u -o=out [in]"),
            ("sort in -o out", "-o=out [in]"),
            ("sort -- -o out", "[-o] [out]"),
            ("tar xf a b", "-x -f=a [b]"),
            ("tar xfC a dir b", "-x -f=a -C=dir [b]"),
            ("tar -xzf a -C dir", "-x -z -f=a -C=dir"),
            ("tar --extr --file=a", "--extract --file=a"),
            ("git-ls-remote --upload-pac=cmd .", "--upload-pack=cmd [.]"),
            ("git-log --no-deco -5 -p", "-p"),
            ("timeout -s KILL 5 git push", "-s=KILL [5] [git] [push]"),
            ("env - git push", "- [git] [push]"),
            ("chmod -x f", "[-x] [f]"),
            ("chmod -R -w f", "-R [-w] [f]"),
            ("xxd -r -l16 in out", "-r -l=16 [in] [out]"),
            ("perl -0777pi -e s/a/b/ f", "-0 -p -i -e=s/a/b/ [f]"),
            ("perl -pi.bak -e 1 f", "-p -i=.bak -e=1 [f]"),
            ("zip -TT cmd a.zip f", "-TT=cmd [a.zip] [f]"),
            ("sort --what in", "[in] ?the option --what"),
            ("sort -Q in", "[in] ?the option -Q"),
        ] {
            assert_eq!(told(line), wanted, "{line}");
        }
    }
}
