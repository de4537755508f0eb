//! Options of programs, as data: which take a value, which do not, and that all others are unknown.

use super::command::Arg;

/// The options of one program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters with a value, in the same word or in the next.
    pub(super) valued: &'static str,
    /// Words without a value.
    pub(super) long: &'static [&'static str],
    /// Words with a value, behind `=` or in the next word.
    pub(super) long_valued: &'static [&'static str],
}

pub(super) const NONE: Options = Options { flags: "", valued: "", long: &[], long_valued: &[] };

/// An option as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// `-C` or `--chdir`.
    pub(super) name: String,
    pub(super) value: Option<Arg>,
}

/// The options before the first operand, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) given: Vec<Given>,
    pub(super) rest: usize,
}

/// Reads options from the word behind the program; what is not in the table is an error that names it.
pub(super) fn parse(options: &Options, words: &[Arg]) -> Result<Parsed, String> {
    let mut given = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = &word.text else {
            // It may be an option, or nothing at all.
            return Err("a word before its command that is not literal".to_owned());
        };
        at += 1;
        if text == "--" {
            return Ok(Parsed { given, rest: at });
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if options.long.contains(&name) && value.is_none() {
                given.push(Given { name: format!("--{name}"), value: None });
            } else if options.long_valued.contains(&name) {
                let value = match value {
                    Some(value) => Some(Arg::known(value)),
                    None => {
                        at += 1;
                        words.get(at - 1).cloned()
                    }
                };
                given.push(Given { name: format!("--{name}"), value });
            } else {
                return Err(format!("the option --{name}"));
            }
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Ok(Parsed { given, rest: at - 1 });
        };
        for (place, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            if options.flags.contains(letter) {
                given.push(Given { name, value: None });
            } else if options.valued.contains(letter) {
                let rest = &letters[place + letter.len_utf8()..];
                let value = if rest.is_empty() {
                    at += 1;
                    words.get(at - 1).cloned()
                } else {
                    Some(Arg::known(rest))
                };
                given.push(Given { name, value });
                break;
            } else {
                return Err(format!("the option {text}"));
            }
        }
    }
    Ok(Parsed { given, rest: words.len() })
}

impl Parsed {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    pub(super) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Arg> {
        let named = self.given.iter().filter(move |given| names.contains(&given.name.as_str()));
        named.filter_map(|given| given.value.as_ref())
    }
}

/// The last part of a program's path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
