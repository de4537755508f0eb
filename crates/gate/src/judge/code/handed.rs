//! Finds the paths that code passes to functions which may write them.

use super::names::{READING_CLASSES, READING_NAMES, READING_PARTS, READING_STARTS, WRITING_PARTS};
use super::reader::{CodeReader, split};
use super::token::{self, CodeToken};
use crate::spot::PathSpot;

/// Returns the paths that code passes to functions which may write them, such as `shelve.open('x')`. Functions that are
/// known to only read are skipped.
pub(in crate::judge) fn handed(text: &str, interpreter: &str) -> Vec<PathSpot> {
    let language = interpreter.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let tokens = token::folded(&token::read(text, matches!(language, "perl" | "ruby" | "php")));
    let code = CodeReader { tokens: &tokens, bare: matches!(language, "perl" | "ruby"), perl: language == "perl" };
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let named = token.name().is_some_and(|name| name != "def" && !code.is_reading(at, name));
        // The called function may be an expression and not a name: `('to'.'uch')('x')`.
        let computed = matches!(token, CodeToken::Sign(')' | ']') | CodeToken::Text { .. })
            && tokens.get(at + 1).is_some_and(|next| next.is_sign('('));
        if !named && !computed {
            continue;
        }
        for part in code.arguments(at).map(split).unwrap_or_default() {
            // Only an argument that is one literal text counts, with or without a parameter name: `'x'` or
            // `filename='x'`.
            if let [CodeToken::Text { text, open: false }]
            | [_, CodeToken::Sign('='), CodeToken::Text { text, open: false }] = part
            {
                // The text may be the address of a database, with the path after the colon: `sqlite:file`.
                let behind = text.split_once(':').map(|(_, path)| path.trim_start_matches("//"));
                found.extend(
                    [Some(text.as_str()), behind].into_iter().flatten().map(|path| PathSpot::At(path.to_owned())),
                );
            }
        }
    }
    found
}

impl CodeReader<'_> {
    /// Tells whether a function only reads the paths that it gets.
    fn is_reading(&self, at: usize, name: &str) -> bool {
        let lower = name.to_lowercase();
        match name {
            "open" => self.opens_to_read(at),
            // Making an object may create the file, as `PStore.new(path)` of ruby does.
            "new" => self.owner(at).is_none_or(|owner| READING_CLASSES.contains(&owner)),
            _ => {
                let reads = READING_PARTS.iter().any(|part| lower.contains(part))
                    || READING_STARTS.iter().any(|start| lower.starts_with(start));
                let writes = WRITING_PARTS.iter().any(|part| lower.contains(part));
                READING_NAMES.contains(&name) || reads && !writes
            }
        }
    }

    /// Tells whether a call of `open` only reads. The function `open` of an unknown module counts as writing, because
    /// it may create a file. A mode that is not literal counts as writing too.
    fn opens_to_read(&self, at: usize) -> bool {
        if self.owner(at).is_some_and(|owner| !matches!(owner, "io" | "os" | "File" | "IO" | "codecs" | "gzip")) {
            return false;
        }
        let parts = self.arguments(at).map(split).unwrap_or_default();
        let reads = |text: &str| text.starts_with(['r', '<']) && !text.contains('+') || text.len() > 3;
        parts.iter().skip(1).all(|part| match part {
            [CodeToken::Text { text, open: false }] => reads(text),
            [CodeToken::Name(name), CodeToken::Sign('='), CodeToken::Text { text, open: false }] => {
                name != "mode" || reads(text)
            }
            [CodeToken::Name(name), CodeToken::Sign('='), ..] => name != "mode",
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_may_be_written_are_told_from_paths_that_are_read() {
        let found = |code: &str| handed(code, "python3").iter().map(|spot| spot.path().to_owned()).collect::<Vec<_>>();
        assert_eq!(found("import shelve; shelve.open('x/y')"), ["x/y"]);
        assert_eq!(found("logging.basicConfig(filename='x/y')"), ["x/y"]);
        assert_eq!(found("os.utime('x/y')"), ["x/y"]);
        assert_eq!(found("open('x/y', mode=chr(119))"), ["x/y"]);
        assert_eq!(found("PStore.new('x/y')"), ["x/y"]);
        assert_eq!(found("('a' + b)('x/y')"), ["x/y"]);
        for code in [
            "open('x/y').read()",
            "open('x/y', encoding='utf-8').read(); open('x/y', 'rb')",
            "print('x/y'); os.path.exists('x/y'); json.load(open('x/y'))",
            "pd.read_csv('x/y')",
            "Path('x/y').read_text()",
            "if s.startswith('x/'): pass",
            "sys.path.insert(0, 'x')",
        ] {
            assert_eq!(found(code), Vec::<String>::new(), "{code}");
        }
    }
}
