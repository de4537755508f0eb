//! Checks code in languages that the gate does not parse: which paths it may name, and whether it only reads.

mod computed;
mod handed;
mod names;
mod reader;
mod token;

use crate::spot::PathSpot;
pub(super) use computed::{ComputedCalls, calls};
pub(super) use handed::handed;

/// Parts of function names. Code that calls a function with such a part in its name may write, run or move something.
const WRITES: &[&str] = &[
    "write",
    "save",
    "dump",
    "remove",
    "unlink",
    "delete",
    "rename",
    "move",
    "copy",
    "mkdir",
    "makedir",
    "touch",
    "chmod",
    "chown",
    "chdir",
    "truncate",
    "link",
    "system",
    "exec",
    "spawn",
    "popen",
    "subprocess",
    "extract",
    "unpack",
    "append",
    "output",
    "connect",
    "mkfifo",
    "mknod",
    "mktemp",
    "upload",
    "download",
    "retrieve",
    "replace",
    "mount",
    "shell",
    "process",
    "import_module",
    "getattr",
    "eval",
    "compile",
    "require_relative",
    "ctypes",
    "inplace",
    "put_contents",
    "creat",
    "wronly",
    "rdwr",
    "mkstemp",
    "mkdtemp",
    "filehandler",
    "globals",
    "__dict__",
    "__builtins__",
    "reflect",
    "constructor",
];
/// Complete function names. Code that calls one of these functions may write, run or move something.
const WRITES_ALONE: &[&str] = &["run", "call", "put", "dd"];
/// Modes that open a file for writing. In code they appear in quotes, as in `open(p, 'w')`.
const MODES: &[&str] = &[
    "w", "a", "x", "c", "wb", "ab", "xb", "wt", "at", "wx", "ax", "r+", "rb+", "r+b", "w+", "wb+", "w+b", "a+", "ab+",
    "a+b", "c+", "cb", "+<",
];
/// Beginnings of function names. Code that calls a function whose name begins like this may write, run or move
/// something.
const WRITES_FROM: &[&str] = &["rm", "cp", "mv"];

/// Tells whether code only reads: nothing in it shows that it writes, runs or moves something.
pub(super) fn only_reads(text: &str) -> bool {
    // A string in the code may hold more code, with escaped quotes: `eval("open(\"x\", \"w\")")`.
    let text = &text.replace("\\\"", "\"").replace("\\'", "'");
    let name = |letter: char| !(letter.is_alphanumeric() || letter == '_');
    let writes = |word: &str| {
        let word = word.to_lowercase();
        word != "dumps"
            && (WRITES.iter().any(|part| word.contains(part))
                || WRITES_ALONE.contains(&word.as_str())
                || WRITES_FROM.iter().any(|start| word.starts_with(start)))
    };
    // Code counts as writing if it has `>` (which may be a redirection) or a backquote (which may run a command). It
    // also counts as writing if it calls a function whose name it builds from several texts, as `('a' + 'b')(x)` does.
    // Code that opens a file with a mode for writing, as `open(p, 'w')` does, counts as writing, too.
    let opens = |mode: &&str| {
        [format!("'{mode}'"), format!("\"{mode}\""), format!("[[{mode}]]")].iter().any(|quoted| {
            let starts = text.match_indices(quoted.as_str()).map(|(at, _)| text[..at].trim_end());
            starts.into_iter().any(|before| before.ends_with([',', '=', ':']) || before.ends_with(".open("))
        })
    };
    let joins = text.contains(['+', '%', '\\']) && ["](", ")(", "] (", ") ("].iter().any(|call| text.contains(call));
    !text.contains(['>', '`'])
        && !joins
        && !text.contains("+<")
        && !text.contains("os.open(")
        && !MODES.iter().any(opens)
        && !text.split(name).any(writes)
}

/// Returns the words of a piece of code that may be paths: words with a slash or a dot, words in quotes, and words
/// after `cd`.
pub(super) fn paths_in(text: &str) -> Vec<PathSpot> {
    let part = |letter: char| !(letter.is_alphanumeric() || "_-./~@+*?".contains(letter));
    let quote = |letter: char| matches!(letter, '"' | '\'' | '`');
    let at = |path: &str| PathSpot::At(path.to_owned());
    let changes_folder = ["chdir", "cwd", "cd "].iter().any(|part| text.contains(part));
    let mut found = Vec::new();
    let (mut from, mut last) = (0, "");
    for (end, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        if !part(letter) {
            continue;
        }
        let word = text.get(from..end).unwrap_or_default();
        let before = text.get(..from).and_then(|before| before.chars().next_back());
        let opened = before.is_some_and(quote);
        // These commands of shells and editors change the folder or write a file. The word after them is a path.
        let moved = matches!(last, "cd" | ".cd" | "chdir" | "w" | "wq" | "write" | "sav" | "saveas");
        let redirected = before == Some('>') && quote(letter);
        let like = word.contains(['/', '.']) || opened && quote(letter) || moved || redirected;
        if word.contains(['*', '?']) {
            found.extend((opened && quote(letter) || letter == '>').then(|| pattern(word)));
        } else if like && word.chars().any(char::is_alphanumeric) {
            found.push(PathSpot::At(word.to_owned()));
            // `$_` stands for a part of the code that is not known. Before a path it is nearly always the current
            // folder: `$PWD/infra`.
            let behind = word.strip_prefix("_/").filter(|_| before == Some('$'));
            // If the code first changes into another folder, `../infra` may mean `infra` in the folder of the tool
            // call. So judge the path without its `../`, too.
            let above = word.starts_with("../") && changes_folder;
            found.extend(behind.or(above.then_some(word)).map(|path| path.trim_start_matches("../")).map(at));
        }
        if !word.is_empty() {
            last = word;
        }
        from = end + letter.len_utf8();
    }
    found
}

/// Returns the files that a pattern in code, such as `src/*.rs`, may name. They are entries of the folder before the
/// first part with a wildcard.
fn pattern(word: &str) -> PathSpot {
    let star = word.find(['*', '?']).unwrap_or(word.len());
    let start = word.get(..star).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
    let (folder, rest) = (word.get(..start).unwrap_or_default(), word.get(start..).unwrap_or_default());
    let folder = if folder.is_empty() { "." } else { folder };
    // `**` stands for any folders, so the file may be in any folder below `folder`.
    if let Some(name) = rest.strip_prefix("**/").map(|rest| rest.rsplit('/').next().unwrap_or(rest)) {
        return PathSpot::Named { folder: folder.to_owned(), pattern: name.to_owned() };
    }
    let pattern = rest.split('/').next().unwrap_or(rest);
    PathSpot::Matching { folder: folder.to_owned(), pattern: pattern.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_only_read_are_told_from_others() {
        for text in [
            "import json; print(json.load(open('infra/x.json')))",
            "import os; print(os.listdir('infra'))",
            "console.log(require('fs').readFileSync('infra/x', 'utf8'))",
            "print('infra')",
            "print(open('infra/x').read() + 'a')",
        ] {
            assert!(only_reads(text), "{text}");
        }
        for text in [
            "open('infra/x','w')",
            "open('infra/x', 'wb')",
            "import shutil; shutil.rmtree('infra')",
            "fs.rmSync('infra')",
            "Path('infra/x').touch()",
            "open F, \">infra/x\"",
            "os.system('x')",
            "require('fs')['wri' + 'teFileSync']('infra/x')",
            "open('infra/x', 'r+')",
            "Path('infra').joinpath('x').open('w')",
        ] {
            assert!(!only_reads(text), "{text}");
        }
    }

    #[test]
    fn paths_stand_in_quotes_or_behind_a_change_of_folder() {
        let paths = |text: &str| paths_in(text).iter().map(|spot| spot.path().to_owned()).collect::<Vec<String>>();
        assert_eq!(paths("open('infra','w')"), ["infra", "w"]);
        assert_eq!(paths("cd infra; touch new"), ["infra"]);
        assert_eq!(paths("x = a.b / c"), ["a.b"]);
        assert_eq!(paths("import infra"), Vec::<String>::new());
        assert_eq!(paths("open('$_/infra/x')"), ["_/infra/x", "infra/x"]);
        assert_eq!(paths("chdir('docs'); open('../infra/x')"), ["docs", "../infra/x", "infra/x"]);
        let named = PathSpot::Matching { folder: "src/".to_owned(), pattern: "*.rs".to_owned() };
        assert_eq!(paths_in("glob('src/*.rs')"), [named]);
    }
}
