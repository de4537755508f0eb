//! Holds facts about programs that are not in the option tables: builtins that run a text, and variables that change
//! the behaviour of programs.

use crate::command::Arg;
use crate::programs::options::base;
use crate::programs::table;

/// Builtins and programs that a person must approve, unless a gate rule names them. They run a text as commands, change
/// the meaning of words, or run a command later.
const ASKS: &str = "\
    trap alias unalias enable bind complete compgen fc let repeat foreach emulate zmodload autoload zle sched coproc at \
    batch crontab";

/// Options with which a program only prints facts about itself, such as its version.
const ABOUT: &[&str] = &["--version", "-V", "-v", "--help", "-h", "-version"];

/// Environment variables that change which program runs, or how a program behaves. `*` stands for the rest of a name.
const VARIABLES: &str = "\
    PATH LD_* DYLD_* GIT_* BASH_ENV BASH_FUNC_* ENV SHELLOPTS BASHOPTS PS0 PS4 PROMPT_COMMAND IFS CDPATH HOME \
    OLDPWD PWD DIRSTACK SHELL EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER \
    XDG_CONFIG_* XDG_DATA_HOME ZDOTDIR TAR_OPTIONS RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS GLOBIGNORE EXECIGNORE FPATH fpath path \
    POSIXLY_CORRECT GZIP XZ_OPT XZ_DEFAULTS ZSTD_* BZIP BZIP2 UNZIP ZIPOPT LESS WGETRC CURL_HOME OPENSSL_CONF AWKPATH \
    CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME QWEN_HOME COPILOT_HOME GOOSE_PATH_ROOT OPENCODE_CONFIG* HANDOVER_*";

/// Environment variables that change the behaviour of a toolchain. The gate cannot analyze a toolchain anyway, so
/// setting such a variable is treated like running a program that cannot be analyzed.
const TOOLCHAINS: &str = "\
    PYTHON* PERL* RUBY* NODE_* MAKEFLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS RUSTC* RUSTFLAGS \
    RUSTDOCFLAGS CARGO_HOME CARGO_BUILD_* CARGO_ENCODED_* CARGO_TARGET_* CC CXX GOFLAGS npm_config_* NPM_CONFIG_*";

/// Environment variables whose value is a folder or a file that programs write.
const FOLDERS: &str = "\
    TMPDIR TMP TEMP TEMPDIR CARGO_TARGET_DIR CARGO_HOME RUSTUP_HOME GOBIN GOPATH GOCACHE GOTMPDIR GOMODCACHE PIP_TARGET \
    PIP_PREFIX PIP_CACHE_DIR PIP_LOG PYTHONPYCACHEPREFIX PYTHONUSERBASE npm_config_* NPM_CONFIG_* HISTFILE \
    COVERAGE_FILE LLVM_PROFILE_FILE DESTDIR NODE_V8_COVERAGE NODE_COMPILE_CACHE XDG_CACHE_HOME XDG_STATE_HOME \
    SCREENDIR TMUX_TMPDIR GNUPGHOME BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN GEM_HOME TF_DATA_DIR GRADLE_USER_HOME \
    UV_PROJECT UV_PROJECT_ENVIRONMENT UV_CACHE_DIR UV_TOOL_DIR UV_WORKING_DIRECTORY PIPENV_PIPFILE JUST_JUSTFILE \
    JUST_WORKING_DIRECTORY COMPOSER_HOME COMPOSER_VENDOR_DIR YARN_CACHE_FOLDER PNPM_HOME DENO_DIR BUN_INSTALL";

/// Options of bash that change which files a pattern names, or where `cd` leads.
const READING: &str = "nocaseglob dotglob cdable_vars autocd cdspell dirspell sourcepath expand_aliases keyword";

fn is_one_of(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

fn fits(patterns: &str, variable: &str) -> bool {
    let variable = variable.split('[').next().unwrap_or(variable).trim_end_matches('+');
    patterns.split(' ').any(|known| match known.strip_suffix('*') {
        Some(start) => variable.starts_with(start),
        None => variable == known,
    })
}

/// Interpreters whose code the gate understands well enough to tell whether the code only reads.
const LANGUAGES: &str = "python pypy node nodejs deno bun ruby php lua luajit perl ipython tsx ts-node julia";

/// Tells whether a program is one of the interpreters in `LANGUAGES`. A version at the end of the name is ignored:
/// `python3.12`.
pub(crate) fn is_language(name: &str) -> bool {
    is_one_of(LANGUAGES, name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.'))
}

/// Tells whether a command writes files, or runs the words after its first word. If the later words of such a command
/// are unknown, it may write or run anything.
pub(crate) fn is_writer(text: &str) -> bool {
    const WRITERS: &str = "rm rmdir mv cp tee touch mkdir truncate dd ln chmod chown sed tar unzip curl wget rsync shred \
                           unlink install patch sh bash zsh dash ksh fish sudo doas env xargs eval exec nohup timeout";
    let first = text.split_whitespace().next().map(base).unwrap_or_default();
    text.contains(['>', ';', '|', '&', '`']) || is_one_of(WRITERS, first)
}

/// Tells whether an environment variable makes another program run, or makes a program behave differently.
pub(crate) fn changes_programs(variable: &str) -> bool {
    fits(VARIABLES, variable)
}

/// Tells whether the value of an environment variable is a folder or a file that programs write.
pub(crate) fn names_folder(variable: &str) -> bool {
    fits(FOLDERS, variable)
}

/// Parts of the names of environment variables whose value is often a file that programs write: `TF_LOG_PATH`.
const OUTPUT_PARTS: &[&str] = &[
    "_LOG", "LOGFILE", "_OUT", "OUTPUT", "REPORT", "CACHE", "_DUMP", "TRACE", "HISTORY", "HISTFILE", "COVERAGE",
    "DATA_DIR", "RESULTS", "REDIRECT", "_TMP", "_TEMP",
];

/// Tells whether the name of an environment variable shows that its value is a file that programs write.
pub(crate) fn names_output(variable: &str) -> bool {
    OUTPUT_PARTS.iter().any(|part| variable.contains(part))
}

/// Tells whether the value of an environment variable is a list of options for a program: `NODE_OPTIONS`, `MAKEFLAGS`.
pub(crate) fn holds_options(variable: &str) -> bool {
    ["OPTIONS", "OPTS", "OPT", "FLAGS", "_ARGS"].iter().any(|end| variable.ends_with(end))
        || variable.contains("CLI_ARGS")
}

/// Tells whether the value of an environment variable is code that an interpreter runs when it starts.
pub(crate) fn holds_code(variable: &str) -> bool {
    variable.starts_with("LUA_INIT")
}

/// Tells whether an option of bash changes which files later patterns name, or where a later `cd` leads.
pub(crate) fn changes_reading(option: &str) -> bool {
    is_one_of(READING, option)
}

/// Tells whether an environment variable makes a toolchain run another compiler or load other code.
pub(crate) fn changes_toolchain(variable: &str) -> bool {
    // `CARGO_TARGET_DIR` fits the pattern `CARGO_TARGET_*`, but only names the folder of the build output.
    fits(TOOLCHAINS, variable) && variable != "CARGO_TARGET_DIR"
}

/// Tells whether a program is a builtin that only changes folders or does nothing. Such a builtin is allowed unless a
/// gate rule names it, even if the default decision is to ask.
pub(crate) fn is_harmless(program: &str) -> bool {
    matches!(
        program,
        "cd" | "pushd" | "popd" | ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "shift" | "wait"
    )
}

/// Tells whether the gate relies on the usual meaning of a program name, such as `cd` or `sudo`, to read the words
/// after it. A shell function of that name would change the meaning.
pub(crate) fn is_relied_on(name: &str) -> bool {
    is_harmless(name)
        || crate::programs::wrapper::is_wrapper(name)
        || is_one_of(ASKS, name)
        || DECLARES.contains(&name)
        || matches!(name, "." | "source" | "hash" | "history")
}

/// Builtins whose arguments are assignments or names of variables.
pub(crate) const DECLARES: &[&str] =
    &["export", "declare", "typeset", "local", "readonly", "readarray", "mapfile", "read", "unset", "printf"];

/// Returns the reason why a person must approve a command, unless a gate rule names it. Returns None when the command
/// needs no approval.
pub(crate) fn asks(words: &[Arg]) -> Option<String> {
    let program = words.first()?.text.as_deref()?;
    let name = base(program);
    if program.starts_with(['-', '=']) || program.contains('$') || program.is_empty() {
        return Some(format!("the command {program:?}, which means different things to different shells"));
    }
    if crate::shell::script::RESERVED.contains(&program) && program != "time" {
        return Some(format!("the keyword {program} where a command is expected"));
    }
    // Without a definition, `alias` and `trap` only print the definitions that exist.
    let prints = matches!(name, "alias" | "trap") && words.iter().skip(1).all(|word| word.as_text() == "-p");
    if is_one_of(ASKS, name) && !prints {
        return Some(format!("{name} runs commands that are not looked into, now or later"));
    }
    match name {
        // With arguments, `hash` can make a word mean another program, and `history` can write a file.
        "hash" | "history" if words.iter().skip(1).any(|word| !matches!(word.as_text(), "-r" | "-c" | "-l")) => {
            Some(format!("{name} with words that may change what commands mean, or write"))
        }
        "." | "source" => sourced(words),
        "wait" if words.iter().any(|word| word.text.as_deref().is_none_or(|text| text.contains('['))) => {
            Some("wait with a name that is computed".to_owned())
        }
        "shopt" | "set" | "setopt"
            if words.iter().skip(1).any(|word| word.text.as_deref().is_none_or(changes_reading))
                || name == "set" && words.get(1).is_some_and(|word| is_letters(word.as_text(), 'k')) =>
        {
            Some(format!("{name} with an option that changes how words are read"))
        }
        "test" | "[" | "[["
            if words.iter().any(|word| matches!(word.as_text(), "-v" | "-R"))
                && words.iter().skip(1).any(|word| word.text.as_deref().is_none_or(|text| text.contains('['))) =>
        {
            Some(format!("{name} -v, which computes"))
        }
        _ => None,
    }
}

/// Tells whether a word is a bundle of option letters that contains this letter: `-rk` for `k`.
fn is_letters(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// Returns the reason why sourcing a file (`. file`) needs a person's approval. Returns None for a literal file name,
/// because the gate treats such a script like an unknown program. Any other source, such as standard input, is a text
/// that the gate cannot see.
fn sourced(words: &[Arg]) -> Option<String> {
    match words.get(1).map(|word| word.text.as_deref()) {
        Some(Some(file)) if !crate::programs::wrapper::is_input(file) => None,
        Some(_) | None => Some("a text that the shell reads as its own commands".to_owned()),
    }
}

/// The gate's knowledge about the effects of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramKnowledge {
    /// The words of the command show the effects of the program.
    Known,
    /// The program runs a script, a text or its standard input.
    Interpreter(String),
    /// The effects of the program are unknown.
    Unknown(String),
}

/// Returns how much the gate knows about the effects of a program.
pub(crate) fn knowledge(words: &[Arg]) -> ProgramKnowledge {
    let Some(program) = words.first().and_then(|word| word.text.as_deref()) else { return ProgramKnowledge::Known };
    let (program, name) = (&short(program), base(program));
    if program.contains('/') && !is_of_the_system(program) {
        return ProgramKnowledge::Unknown(format!("{program} is a program by its path, which is not looked into"));
    }
    if is_about(words)
        || table::is_plain(name)
        || DECLARES.contains(&name)
        || is_harmless(name)
        || is_one_of(ASKS, name)
    {
        return ProgramKnowledge::Known;
    }
    if crate::programs::wrapper::is_wrapper(name)
        || crate::programs::git::is_git(name)
        || matches!(name, "apply_patch" | "applypatch")
    {
        return ProgramKnowledge::Known;
    }
    if table::is_interpreter(name) {
        return ProgramKnowledge::Interpreter(format!("{} runs a script, a text or its input", short(name)));
    }
    if table::find(name).is_some() {
        return ProgramKnowledge::Known;
    }
    ProgramKnowledge::Unknown(format!("{} is a program that is not looked into", short(name)))
}

/// Tells whether a command only prints facts about its program, such as `git --version`.
pub(crate) fn is_about(words: &[Arg]) -> bool {
    words.len() == 2 && words.get(1).is_some_and(|word| ABOUT.contains(&word.as_text()))
}

/// Shortens the name of a program for messages to people.
fn short(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Tells whether a program is in a folder where the operating system keeps its programs.
pub(crate) fn is_of_the_system(program: &str) -> bool {
    let folders = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    folders.iter().any(|folder| program.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
}
