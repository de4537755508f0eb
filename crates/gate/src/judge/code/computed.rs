//! Finds calls that write or run something and whose path or command is computed by the code. A computed path or
//! command does not appear in the text of the code.

use std::collections::BTreeSet;

use super::names::{DECODERS, EVALUATES, MAKERS, MEMBERS, METHODS, MODULES, PAIRS, RUNS, UNPACKS, WALKS, WRITES};
use super::reader::{CodeReader, closing, split};
use super::token::{self, CodeToken};
use crate::spot::PathSpot;

/// The calls in one piece of code that write or run something, as far as they are known.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::judge) struct ComputedCalls {
    /// The text of the code, with joined literals replaced by their result: `'ab'` for `'a' + 'b'`. The gate rules are
    /// compared with this text and with the original code.
    pub(in crate::judge) folded: String,
    /// A description of the first call whose path or command cannot be determined. None when there is no such call.
    pub(in crate::judge) hidden: Option<String>,
    /// The literal starts of commands that the code runs. The words after each start are unknown.
    pub(in crate::judge) beginnings: Vec<String>,
    /// Files that the code may find by listing a folder, and may then write.
    pub(in crate::judge) walked: Vec<PathSpot>,
}

/// The largest number of variables whose values are looked up for one argument. If the argument depends on more
/// variables, its value counts as unknown, and a person must approve the call.
const FOLLOWED_MAX: usize = 64;

/// The largest nesting depth of code in strings of code, as in `eval("eval('x')")`. Deeper code is not read.
const EVALUATED_MAX: usize = 4;

/// Finds, in the code for an interpreter, the calls that write or run something.
pub(in crate::judge) fn calls(text: &str, interpreter: &str) -> ComputedCalls {
    within(text, interpreter, EVALUATED_MAX)
}

fn within(text: &str, interpreter: &str, depth: usize) -> ComputedCalls {
    let language = interpreter.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let dollars = matches!(language, "perl" | "ruby" | "php");
    let tokens = token::folded(&token::read(text, dollars));
    let mut found = ComputedCalls { folded: token::written(&tokens), ..ComputedCalls::default() };
    if tokens.len() >= token::TOKENS_MAX {
        found.hidden = Some("a text that is too long".to_owned());
        return found;
    }
    if dollars {
        // In perl, ruby and php, backquotes run the text between them as a command.
        for held in text.split('`').skip(1).step_by(2) {
            found.beginnings.extend(held.find(['$', '#', '@']).map(|end| held[..end].to_owned()));
        }
    }
    let code = CodeReader { tokens: &tokens, bare: matches!(language, "perl" | "ruby"), perl: language == "perl" };
    for (at, token) in tokens.iter().enumerate() {
        if let Some(name) = token.name() {
            code.call(at, name, &mut found);
            if let Some(inner) = code.evaluated(at, name).filter(|_| depth > 0) {
                let inner = within(&inner, interpreter, depth - 1);
                found.folded.push('\n');
                found.folded.push_str(&inner.folded);
                found.hidden = found.hidden.or(inner.hidden);
                found.beginnings.extend(inner.beginnings);
                found.walked.extend(inner.walked);
            }
        }
    }
    found
}

impl<'t> CodeReader<'t> {
    /// Returns the literal code that a call such as `eval('…')` runs.
    fn evaluated(&self, at: usize, name: &str) -> Option<String> {
        let arguments = self.arguments(at).filter(|_| EVALUATES.contains(&name))?;
        let text = split(arguments).first()?.iter().find_map(CodeToken::literal)?;
        Some(text.replace("\\\"", "\"").replace("\\'", "'"))
    }

    fn call(&self, at: usize, name: &str, found: &mut ComputedCalls) {
        let defined = at.checked_sub(1).and_then(|before| self.tokens[before].name());
        if matches!(defined, Some("def" | "function" | "sub" | "import")) {
            return;
        }
        let owner = self.owner(at);
        if let Some((_, place)) = UNPACKS.iter().find(|(unpacks, _)| *unpacks == name) {
            let parts = self.arguments(at).map(split).unwrap_or_default();
            if parts.get(*place).is_none_or(|part| !part.iter().any(|token| token.literal().is_some())) {
                found.walked.push(PathSpot::Matching { folder: ".".to_owned(), pattern: "*".to_owned() });
            }
        }
        let of_path =
            METHODS.contains(&name) && self.is_member(at) && !owner.is_some_and(|owner| MODULES.contains(&owner));
        let arguments = self.arguments(at);
        if of_path {
            return self.judge(name, self.receiver(at), false, found);
        }
        let member =
            MEMBERS.iter().any(|(known, owners)| *known == name && owner.is_some_and(|owner| owners.contains(&owner)));
        let runs = RUNS.contains(&name)
            && match name {
                "run" | "call" => owner != Some("asyncio") && self.has("subprocess"),
                // Regular expressions have a method `exec` too. So `.exec(…)` counts as running a command only if the
                // code mentions `child_process`, or if the name before the dot is `os`.
                "exec" | "execute" => !self.is_member(at) || self.has("child_process") || owner == Some("os"),
                _ => true,
            };
        let writes = WRITES.contains(&name) || PAIRS.contains(&name) || member;
        if !runs && !writes {
            return;
        }
        let Some(arguments) = arguments.filter(|arguments| !arguments.is_empty()) else {
            // Without an argument, perl's functions use the variable `$_`. It may hold any file that the code finds by
            // listing a folder.
            if self.perl {
                self.walks(self.tokens, found);
            }
            return;
        };
        let parts = split(arguments);
        if matches!(name, "open" | "fopen") {
            if !self.opens_for_writing(&parts) && owner != Some("os") {
                return;
            }
            let receiver =
                self.is_member(at) && !owner.is_some_and(|owner| matches!(owner, "io" | "os" | "File" | "IO"));
            let path = if receiver { self.receiver(at) } else { parts.first().copied().unwrap_or_default() };
            if self.perl {
                parts.iter().skip(1).for_each(|part| self.judge(name, part, false, found));
            } else {
                self.judge(name, path, false, found);
            }
            return;
        }
        let pair = PAIRS.contains(&name) || matches!(name, "copy" | "move" | "replace" | "link" | "cp" | "mv");
        let count = if pair || self.bare { 2 } else { 1 };
        for part in parts.iter().take(count) {
            self.judge(name, part, runs, found);
        }
    }

    /// Tells whether an argument of `open` after the path is a mode that opens the file for writing.
    fn opens_for_writing(&self, parts: &[&'t [CodeToken]]) -> bool {
        let writes = |part: &&[CodeToken]| {
            part.iter().any(|token| match token {
                CodeToken::Text { text, .. } if self.perl => text.contains(['>', '|', '+']),
                CodeToken::Text { text, .. } => text.len() <= 4 && text.contains(['w', 'a', 'x', '+']),
                CodeToken::Name(_) | CodeToken::Sign(_) => false,
            })
        };
        parts.iter().skip(1).any(writes)
    }

    fn judge(&self, name: &str, argument: &'t [CodeToken], runs: bool, found: &mut ComputedCalls) {
        let (parts, is_complete) = self.behind(argument);
        let decodes = parts.iter().any(|part| part.iter().any(|token| is_one_of(token, DECODERS)));
        if let Some(lead) = lead(argument).filter(|_| !decodes) {
            if runs && lead.contains(' ') {
                found.beginnings.push(lead.to_owned());
                return;
            }
            if let Some((folder, _)) =
                lead.rsplit_once('/').filter(|(folder, _)| !runs && folder.contains(char::is_alphanumeric))
            {
                found.walked.push(PathSpot::Matching { folder: folder.to_owned(), pattern: "*".to_owned() });
                return;
            }
        }
        if decodes || !is_complete || parts.iter().any(|part| computes(part)) {
            found.hidden.get_or_insert_with(|| format!("{name} with words that the code puts together"));
        }
        for part in &parts {
            self.walks(part, found);
        }
    }

    /// Returns an argument and the values of all variables that it uses, directly or through other variables. The flag
    /// is false when the argument uses more than `FOLLOWED_MAX` variables.
    fn behind(&self, argument: &'t [CodeToken]) -> (Vec<&'t [CodeToken]>, bool) {
        let mut parts = vec![argument];
        let mut seen = BTreeSet::new();
        let mut next = 0;
        while let Some(part) = parts.get(next).copied() {
            next += 1;
            let names = part.iter().enumerate().filter_map(|(at, token)| {
                let member = at > 0 && part[at - 1].is_sign('.');
                token.name().filter(|_| !member)
            });
            for name in names {
                if seen.contains(name) {
                    continue;
                }
                if seen.len() == FOLLOWED_MAX {
                    return (parts, false);
                }
                seen.insert(name);
                parts.extend(self.values(name));
            }
        }
        (parts, true)
    }

    /// Returns the values that a variable gets by an assignment or by a loop.
    fn values(&self, name: &str) -> Vec<&'t [CodeToken]> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            if token.name() != Some(name) || self.is_member(at) {
                continue;
            }
            let rest = self.tokens.get(at + 1..).unwrap_or_default();
            let ends = |token: &CodeToken| matches!(token, CodeToken::Sign('\n' | ';'));
            let statement = rest.get(..rest.iter().position(ends).unwrap_or(rest.len())).unwrap_or_default();
            let assigned = statement.first().is_some_and(|token| token.is_sign('='))
                && !statement.get(1).is_some_and(|token| token.is_sign('='));
            let adds = matches!(statement.first(), Some(CodeToken::Sign('+' | '.')))
                && statement.get(1).is_some_and(|token| token.is_sign('='));
            if assigned || adds {
                found.push(if adds { statement } else { statement.get(1..).unwrap_or_default() });
            }
            // The variable may be the parameter of a block or an arrow function: `x.each { |a| … }` or
            // `x.forEach(a => …)`. Its values then come from `x`.
            let piped = at > 0 && self.tokens[at - 1].is_sign('|');
            let arrow = |from: usize| {
                rest.get(from).is_some_and(|token| token.is_sign('='))
                    && rest.get(from + 1).is_some_and(|token| token.is_sign('>'))
            };
            if piped || arrow(0) || arrow(1) {
                let start = self.tokens[..at].iter().rposition(ends).map_or(0, |end| end + 1);
                found.push(&self.tokens[start..at]);
            }
            // The variable may be set by a loop: `for a, b in x`, `for (const a of x)`. Its values then come from `x`.
            let heading = |token: &CodeToken| matches!(token, CodeToken::Sign(',' | ')') | CodeToken::Name(_));
            let to = rest.iter().position(|token| matches!(token.name(), Some("in" | "of")));
            if let Some(to) = to.filter(|to| *to < 8 && rest[..*to].iter().all(heading)) {
                let source = rest.get(to + 1..).unwrap_or_default();
                let end = source.iter().position(|token| {
                    matches!(token, CodeToken::Sign(':' | '\n' | ';' | '{')) || token.name() == Some("if")
                });
                found.push(&source[..end.unwrap_or(source.len())]);
            }
        }
        found
    }

    /// If this part of the code lists a folder, adds the files of that folder to `found.walked`, because the code may
    /// write them.
    fn walks(&self, part: &'t [CodeToken], found: &mut ComputedCalls) {
        for (at, token) in part.iter().enumerate() {
            let Some(name) = token.name().filter(|name| WALKS.contains(name)) else { continue };
            let rest = part.get(at + 1..).unwrap_or_default();
            if !rest.first().is_some_and(|token| matches!(token, CodeToken::Sign('(' | '['))) {
                continue;
            }
            let inside = rest.get(1..closing(rest).unwrap_or(rest.len())).unwrap_or_default();
            let first = inside.iter().find_map(CodeToken::literal);
            let before = part[..at].iter().rev().find_map(CodeToken::literal);
            let ending = self.ending();
            let spot = match name {
                "rglob" => named(before.unwrap_or("."), first.unwrap_or("*")),
                "glob" | "iglob" | "globSync" => super::pattern(&match (before, first) {
                    (Some(folder), Some(pattern)) => format!("{folder}/{pattern}"),
                    (None, Some(pattern)) => pattern.to_owned(),
                    (_, None) => "*".to_owned(),
                }),
                _ => {
                    let folder = first.or(before).unwrap_or(".");
                    match ending {
                        Some(ending) => named(folder, &format!("*{ending}")),
                        None => PathSpot::Matching { folder: folder.to_owned(), pattern: "*".to_owned() },
                    }
                }
            };
            found.walked.push(spot);
        }
    }

    /// Returns the file name ending that the code tests for: `.py` for `name.endswith('.py')`.
    fn ending(&self) -> Option<&'t str> {
        let at = self.tokens.iter().position(|token| is_one_of(token, &["endswith", "endsWith", "end_with"]))?;
        self.arguments(at)?.iter().find_map(CodeToken::literal)
    }
}

fn named(folder: &str, pattern: &str) -> PathSpot {
    let folder = if folder.is_empty() { "." } else { folder };
    PathSpot::Named { folder: folder.to_owned(), pattern: pattern.to_owned() }
}

fn is_one_of(token: &CodeToken, names: &[&str]) -> bool {
    token.name().is_some_and(|name| names.contains(&name))
}

/// Returns the literal letters at the start of an expression. Returns None when the whole expression is literal or
/// starts with an unknown part.
fn lead(argument: &[CodeToken]) -> Option<&str> {
    match argument {
        [CodeToken::Text { text, open: true }] => {
            let end = text.find(['{', '$', '#', '@'])?;
            text.get(..end)
        }
        [CodeToken::Text { text, open: false }, CodeToken::Sign('+'), ..]
        | [CodeToken::Text { text, open: false }, CodeToken::Sign('.'), CodeToken::Sign('$'), ..] => Some(text),
        _ => None,
    }
}

/// Tells whether an expression computes a text, so that the result does not appear in the code.
fn computes(part: &[CodeToken]) -> bool {
    let text = |token: Option<&CodeToken>| matches!(token, Some(CodeToken::Text { .. }));
    part.iter().enumerate().any(|(at, token)| match token {
        CodeToken::Text { open, .. } => {
            *open || part.get(at + 1).is_some_and(|next| next.is_sign('[') || next.is_sign('%'))
        }
        CodeToken::Sign('+') => true,
        // In perl and php a dot between two texts joins them.
        CodeToken::Sign('.') => {
            text(part.get(at + 1))
                || text(at.checked_sub(1).and_then(|before| part.get(before)))
                    && part.get(at + 1).is_some_and(|next| next.is_sign('$'))
        }
        CodeToken::Name(name) => {
            let of_paths =
                at > 1 && part[at - 1].is_sign('.') && is_one_of(&part[at - 2], &["path", "File", "posixpath"]);
            DECODERS.contains(&name.as_str()) || MAKERS.contains(&name.as_str()) && !of_paths
        }
        CodeToken::Sign(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_paths_and_commands_are_told_from_literal_ones() {
        for code in [
            "import os; os.system(base64.b64decode('Z2l0'))",
            "import os; c = chr(103) + 'it'; os.system(c)",
            "open(sys.argv[1] + sys.argv[2], 'w')",
            "open(input(), 'w')",
            "os.system('hsup tig'[::-1])",
            "exec(bytes.fromhex('6769'))",
            "pathlib.Path(os.environ['X']).write_text('')",
            "require('child_process').execSync(atob('Z2l0'))",
        ] {
            assert!(calls(code, "python3").hidden.is_some(), "{code}");
        }
        for code in [
            "p='src/a.py'; s=open(p).read(); s=s.replace('a','b')+'x'; open(p,'w').write(s)",
            "from pathlib import Path\np = Path('a.txt')\np.write_text(p.read_text().replace('a', 'b'))",
            "print('a' + 'b'); open('out.txt', 'w').write('\\n'.join(x))",
            "import json,sys; json.dump({'a': 1 + 1}, open('x.json', 'w'))",
            "open('img.png','wb').write(base64.b64decode(s))",
            "import subprocess; subprocess.run(['cargo', 'test'], check=True)",
            "const m = /x/.exec(line + 'a')",
            "import re; lst.remove(a + b); d.copy(); re.compile('a' + x)",
            "for f in ['a.txt', 'b.txt']: open(f, 'w')",
        ] {
            assert_eq!(calls(code, "python3").hidden, None, "{code}");
        }
    }

    #[test]
    fn a_path_behind_more_variables_than_are_followed_counts_as_unknown() {
        let chain = |length: usize| -> String {
            let steps: String = (1..length).map(|step| format!("v{step} = v{}\n", step - 1)).collect();
            format!("v0 = 'a.txt'\n{steps}open(v{}, 'w')", length - 1)
        };
        // The last variable of the chain holds a literal. The reader of the code replaces this variable by its value,
        // so the limit does not count it.
        assert_eq!(calls(&chain(FOLLOWED_MAX + 1), "python3").hidden, None);
        assert!(calls(&chain(FOLLOWED_MAX + 2), "python3").hidden.is_some());
    }

    #[test]
    fn walks_name_the_files_that_may_be_written() {
        let spots = |code: &str| calls(code, "python3").walked;
        let all = |folder: &str| PathSpot::Matching { folder: folder.to_owned(), pattern: "*".to_owned() };
        let walk = "for d, _, fs in os.walk('src'):\n  for f in fs:\n    os.remove(os.path.join(d, f))";
        assert!(spots(walk).contains(&all("src")), "{:?}", spots(walk));
        assert_eq!(spots("for p in Path('.').rglob('*.tf'): p.unlink()"), [named(".", "*.tf")]);
        let each = "require('fs').readdirSync('src').forEach(f => fs.rmSync(f))";
        assert!(spots(each).contains(&all("src")), "{:?}", spots(each));
        assert_eq!(spots("for f in os.listdir('src'): print(f)\nopen('out', 'w')"), []);
    }
}
