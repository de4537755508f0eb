//! Splits a command into words, including the text that a command gives to a shell, and classifies each word: a
//! program, a script, or data.

use std::path::{Path, PathBuf};

use super::runners::{self, RunnerCall};

/// The maximum number of words of one command that are examined. Further words are ignored.
const ATOMS_MAX: usize = 2_000;

/// One word of a command, with its possible meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) text: String,
    pub(super) place: WordSpot,
}

/// The possible meaning of a word in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordSpot {
    /// The word names the program of a command.
    Program,
    /// The word names the script that an interpreter runs.
    Script,
    /// An argument of a program that may run the named file as a script.
    Argument,
    /// An argument of a program that only reads the named file, such as `cat`.
    Data,
    /// A complete word that contains spaces or shell characters. It counts as a script only if a file of exactly this
    /// name exists.
    Whole,
}

/// Programs that run the first file among their arguments as a script.
const INTERPRETERS: &[&str] = &[
    ".",
    "source",
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "fish",
    "python",
    "pypy",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "julia",
    "pwsh",
    "powershell",
    "osascript",
    "tclsh",
    "expect",
    "groovy",
    "awk",
    "gawk",
    "mawk",
];
/// Options of interpreters after which no script file follows: the next word is code (`sh -c CODE`) or the name of a
/// module (`python -m NAME`).
const TEXT_OPTIONS: &[&str] = &["-c", "-e", "-m", "-p", "-E", "--eval", "--print", "-Command"];
/// Words of a shell that stand before a program: `! test -e x`, `if test -e x`.
const KEYWORDS: &[&str] = &["!", "if", "then", "elif", "else", "while", "until", "do", "time"];
/// Programs that read, compare or write the files among their arguments, but never run them.
const READERS: &[&str] = &[
    "[",
    "[[",
    "test",
    "true",
    "false",
    "echo",
    "printf",
    "cat",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "diff",
    "cmp",
    "wc",
    "head",
    "tail",
    "ls",
    "stat",
    "file",
    "jq",
    "sort",
    "uniq",
    "cut",
    "tr",
    "sed",
    "sha256sum",
    "sha1sum",
    "md5sum",
    "cksum",
    "mkdir",
    "touch",
    "rm",
    "cp",
    "mv",
    "ln",
    "cd",
    "git",
    "eslint",
    "prettier",
    "biome",
    "tsc",
    "ruff",
    "mypy",
    "black",
    "flake8",
    "pylint",
    "pyflakes",
    "isort",
    "rubocop",
    "shellcheck",
    "shfmt",
    "rustfmt",
    "gofmt",
    "gcc",
    "cc",
    "clang",
];
/// The file name extensions of scripts.
const ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "ksh", "fish", "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "pm", "php",
    "lua", "r", "jl", "ps1", "bat", "cmd", "tcl", "awk", "mk", "jar", "groovy", "gradle", "kts", "exs", "nu",
];

/// Returns true when a file has an extension of scripts, such as `.sh`.
pub(super) fn has_script_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// The words of a command, and its calls of programs such as `make` that run files of the repository by convention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandWords {
    pub(super) atoms: Vec<Atom>,
    /// The calls of programs that read files of the repository by convention, such as `make`.
    pub(super) runs: Vec<RunnerCall>,
}

/// Splits a command into words. A word that contains spaces may be code for a shell (`sh -c "make test"`), so its text
/// is split, too.
pub(super) fn take_apart(command: &[String]) -> CommandWords {
    let mut reader = WordReader::default();
    for word in command {
        if !word.chars().any(|letter| letter.is_whitespace() || is_break(letter) || is_quote(letter)) {
            reader.word(word);
            continue;
        }
        reader.add(word, WordSpot::Whole);
        // The text inside this word is a command with its own program. Save the outer program, whose arguments continue
        // with the next word.
        let outer = (reader.program.take(), std::mem::take(&mut reader.wants_script));
        reader.text(word);
        (reader.program, reader.wants_script) = outer;
        reader.is_runner = false;
    }
    reader.found
}

fn is_break(letter: char) -> bool {
    ";|&()`{}\n".contains(letter)
}

fn is_quote(letter: char) -> bool {
    "<>\"'$\\".contains(letter)
}

#[derive(Debug, Default)]
struct WordReader {
    found: CommandWords,
    /// The program whose arguments are being read. `None` at the start of a command.
    program: Option<String>,
    /// True when the next word that is not an option names a script.
    wants_script: bool,
    /// True after the word `make`, or another program of the `runners` table, was read in the current command. A
    /// following option may then belong to that program.
    is_runner: bool,
    /// The kind of the next word, if that word is the value of an option such as `make -C`. `None` otherwise.
    wants_value: Option<RunnerValue>,
    /// The current folder of the shell code after the `cd` commands read so far, relative to the folder in which the
    /// command runs.
    folder: PathBuf,
}

/// The kind of value that follows an option (such as `make -C`) of a program of the `runners` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunnerValue {
    Folder,
    File,
}

impl WordReader {
    /// Reads the commands in a text for a shell. It only approximates the shell's grammar. That is enough, because each
    /// word only has to be found, not understood.
    fn text(&mut self, text: &str) {
        let outside = self.folder.clone();
        for command in text.split(is_break) {
            self.program = None;
            self.wants_script = false;
            self.is_runner = false;
            self.wants_value = None;
            for word in command.split(|letter: char| letter.is_whitespace() || is_quote(letter)) {
                let word = word.strip_prefix("PWD/").unwrap_or(word);
                // `${PWD}/ci/check.sh` and `$(pwd)/ci/check.sh` are split at the bracket before the slash. So a word
                // such as `/ci/check.sh` may also be a path relative to the current folder.
                if let Some(rest) = word.strip_prefix('/').filter(|rest| !rest.is_empty()) {
                    self.word(rest);
                }
                self.word(word);
            }
        }
        self.program = None;
        self.wants_script = false;
        self.wants_value = None;
        self.folder = outside;
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() || self.found.atoms.len() >= ATOMS_MAX {
            return;
        }
        let Some(program) = self.program.clone() else {
            // Skip a variable or a word of the shell in front of the program: `NAME=value program`.
            if KEYWORDS.contains(&word) || word.contains('=') && !word.contains('/') {
                return;
            }
            self.program = Some(base(word).to_owned());
            self.wants_script = is_interpreter(word);
            self.run(word);
            return self.add(word, WordSpot::Program);
        };
        if let Some(wanted) = self.wants_value.take() {
            return self.value(wanted, word);
        }
        let data = READERS.contains(&program.as_str());
        if program == "cd" && !word.starts_with('-') {
            self.folder.push(word);
        }
        if word.starts_with('-') && word != "-" {
            if !data && self.runner_option(word) {
                return;
            }
            if TEXT_OPTIONS.contains(&word) {
                self.wants_script = false;
            }
            // If the option contains its value (`--file=x` or `-fx`), that value counts as an argument.
            let value = word.split_once('=').map(|(_, value)| value).or_else(|| word.get(2..));
            if let Some(value) = value.filter(|value| !value.is_empty() && !data) {
                self.add(value, WordSpot::Argument);
            }
            return;
        }
        if !data {
            self.run(word);
        }
        if !data && is_interpreter(word) {
            self.wants_script = true;
            return self.add(word, WordSpot::Program);
        }
        let place = match (data, self.wants_script) {
            (true, _) => WordSpot::Data,
            (false, true) => WordSpot::Script,
            (false, false) => WordSpot::Argument,
        };
        self.wants_script = false;
        self.add(word, place);
    }

    /// Records a call of a program that reads files by convention, also after another program: `make` in `env CI=1 make
    /// test`.
    fn run(&mut self, word: &str) {
        if let Some(runner) = runners::find(base(word)) {
            self.found.runs.push(RunnerCall { runner, folder: self.folder.clone() });
            self.is_runner = true;
        }
    }

    /// Handles a word that is an option of the last program that `run` recorded: `-C folder`, `-Cfolder`, `--file x` or
    /// `--file=x`. Returns true when the word is such an option.
    fn runner_option(&mut self, word: &str) -> bool {
        let call = self.found.runs.last().filter(|_| self.is_runner);
        let Some(runner) = call.map(|call| call.runner) else { return false };
        let kinds = [(runner.folder_options, RunnerValue::Folder), (runner.file_options, RunnerValue::File)];
        for (options, kind) in kinds {
            for option in options {
                match word.strip_prefix(option) {
                    Some("") => self.wants_value = Some(kind),
                    Some(value) if option.starts_with("--") => match value.strip_prefix('=') {
                        Some(value) => self.value(kind, value),
                        None => continue,
                    },
                    Some(value) => self.value(kind, value.strip_prefix('=').unwrap_or(value)),
                    None => continue,
                }
                return true;
            }
        }
        false
    }

    fn value(&mut self, wanted: RunnerValue, word: &str) {
        match (wanted, self.found.runs.last_mut()) {
            (RunnerValue::Folder, Some(call)) => call.folder.push(word),
            (RunnerValue::File, Some(call)) => {
                let file = call.folder.join(word).display().to_string();
                self.add(&file, WordSpot::Script);
            }
            (_, None) => {}
        }
    }

    fn add(&mut self, text: &str, place: WordSpot) {
        self.found.atoms.push(Atom { text: text.to_owned(), place });
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns true when a word is the name of an interpreter, with or without a version: `python3.12`.
fn is_interpreter(word: &str) -> bool {
    let name = base(word);
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&name) || (!plain.is_empty() && INTERPRETERS.contains(&plain))
}
