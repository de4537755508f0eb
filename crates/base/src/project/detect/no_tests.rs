//! Finds the exit code with which a test command says that it found no tests, so that a run without tests does not
//! count as a failure.

use super::table::table;

/// Programs that start another program, whose name follows the word `run`, as in `uv run pytest`.
const RUNNERS: &[&str] = &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "coverage"];

/// Options of the programs in `RUNNERS` that take the next word as their value.
const WITH_VALUE: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "--extra",
    "--group",
    "--only-group",
    "--no-group",
    "--package",
    "--project",
    "--directory",
    "--env-file",
    "--index",
    "--index-url",
    "--python",
    "-p",
    "-e",
    "-C",
    "-P",
    "--source",
    "--rcfile",
];

/// Returns the exit code that means "no tests" for a check command. Returns `None` when the program of the command has
/// no such code, or when another program such as make hides it.
pub fn no_tests_exit_code(words: &[String]) -> Option<i32> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = unwrapped(&words);
    let rows = table().no_tests.iter();
    let mut rows = rows.filter(|row| {
        let wanted: Vec<&str> = row.words.split(' ').collect();
        program.starts_with(&wanted)
    });
    rows.next().map(|row| row.code)
}

/// Returns the program that a command runs in the end, with its arguments and without the folder of its path:
/// `pytest -q` for `uv run python -m pytest -q` and for `bin/pytest -q`.
fn unwrapped<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let mut rest = words;
    loop {
        let Some((first, behind)) = rest.split_first() else { return Vec::new() };
        let program = first.rsplit('/').next().unwrap_or(first);
        let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
        if program == "env" || is_setting(first) {
            rest = behind;
            continue;
        }
        let inner = if RUNNERS.contains(&program) { behind.strip_prefix(&["run"]).map(without_options) } else { None };
        // `coverage run -m pytest` runs a Python module, as `python -m pytest` does.
        if let Some(module) = module_of(program, behind, inner) {
            rest = module;
            continue;
        }
        match inner {
            Some(inner) => rest = inner,
            None => {
                let behind = behind.iter().copied().filter(|word| program != "cargo" || !word.starts_with('+'));
                return std::iter::once(program).chain(behind).collect();
            }
        }
    }
}

/// Returns the words after `-m`, when the program is an interpreter that runs a Python module: `pytest` for
/// `python -X dev -m pytest`. Returns `None` otherwise.
fn module_of<'r, 'w>(program: &str, behind: &'r [&'w str], inner: Option<&'r [&'w str]>) -> Option<&'r [&'w str]> {
    let is_python = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.') == "python";
    let is_coverage = program == "coverage" && inner.is_some();
    if !is_python && !is_coverage {
        return None;
    }
    let behind = if is_coverage { behind.get(1..)? } else { behind };
    let at = behind.iter().position(|word| *word == "-m")?;
    // When a script stands before `-m`, `-m` is an option of the script and not of the interpreter.
    let mut before = behind[..at].iter();
    let mut takes_value = false;
    let only_options = before.all(|word| {
        let is_fine = takes_value || word.starts_with('-');
        takes_value = !takes_value && ["-X", "-W", "--source", "--rcfile"].contains(word);
        is_fine
    });
    only_options.then(|| &behind[at + 1..])
}

/// Returns the words after the options of a program such as `uv run`.
fn without_options<'r, 'w>(words: &'r [&'w str]) -> &'r [&'w str] {
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first() {
        if !first.starts_with('-') {
            break;
        }
        rest = if WITH_VALUE.contains(first) { behind.get(1..).unwrap_or_default() } else { behind };
        if *first == "--" {
            break;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::no_tests_exit_code;

    #[test]
    fn the_code_for_no_tests_is_found_behind_runners_and_interpreters() {
        for (command, wanted) in [
            ("pytest", Some(5)),
            ("pytest -q tests", Some(5)),
            (".venv/bin/pytest", Some(5)),
            (".venv/bin/python -m pytest", Some(5)),
            ("python3.12 -X dev -B -m pytest -q", Some(5)),
            ("uv run pytest", Some(5)),
            ("uv run --extra test --with pytest pytest -x", Some(5)),
            ("uv run -- pytest", Some(5)),
            ("uv run python -m pytest", Some(5)),
            ("poetry run pytest", Some(5)),
            ("coverage run -m pytest", Some(5)),
            ("coverage run --source src -m pytest", Some(5)),
            ("uv run coverage run -m pytest", Some(5)),
            ("env CI=1 pytest", Some(5)),
            ("CI=1 pytest", Some(5)),
            ("uv run python -m unittest discover -s tests", Some(5)),
            ("cargo nextest run --workspace", Some(4)),
            ("cargo +nightly nextest run", Some(4)),
            ("cargo test", None),
            ("cargo nextest list", None),
            ("npm test", None),
            ("make test", None),
            ("echo pytest", None),
            ("python run.py -m pytest", None),
            ("uv run --with pytest tox", None),
            ("uv sync pytest", None),
            ("python -m build", None),
            ("uv run", None),
            ("", None),
        ] {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            assert_eq!(no_tests_exit_code(&words), wanted, "{command}");
        }
    }
}
