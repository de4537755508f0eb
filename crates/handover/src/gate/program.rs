//! What is known of programs: those that run a text nobody sees, those that write, variables that change what others do.

use super::command::{Arg, Spot};
use super::options::base;
use super::wrapper::{Inner, Tree};

/// Programs that run a script, a text or their input. Version numbers at the end of a name do not count.
const INTERPRETERS: &[&str] = &[
    "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "Rscript", "R", "tclsh", "wish",
    "expect", "osascript", "pwsh", "powershell", "fish", "ksh", "mksh", "csh", "tcsh", "ash", "yash", "rbash", "elixir", "erl",
    "groovy", "make", "gmake", "just", "rake", "ed", "ex", "vi", "vim", "nvim", "emacs", "gdb", "lldb", "sqlite", "psql",
    "mysql", "m4", "bc", "dc", "gnuplot",
];

/// Programs that run another one in ways that are not looked into, and builtins that run a text.
const RUNNERS: &[&str] = &[
    ".", "source", "trap", "alias", "unalias", "enable", "hash", "bind", "complete", "compgen", "fc", "let", "repeat", "foreach",
    "su", "runuser", "pkexec", "chroot", "unshare", "nsenter", "strace", "ltrace", "script", "flock", "ionice", "chrt", "taskset",
    "setarch", "linux32", "linux64", "prlimit", "systemd-run", "start-stop-daemon", "entr", "tmux", "screen", "at", "batch",
    "crontab", "unbuffer", "rlwrap", "fakeroot", "bwrap", "firejail", "proot", "xvfb-run", "dbus-run-session", "sshpass",
    "ssh-agent", "socat", "nc", "ncat", "npx", "bunx", "uvx", "pipx", "run-parts", "capsh", "setpriv", "cgexec", "numactl", 
    "catchsegv", "valgrind", "perf", "rsh", "mosh", "autossh", "ld.so",
    "emulate", "zmodload", "autoload", "zle", "sched", "coproc", 
];

/// Their words only print what they are.
const ABOUT: &[&str] = &["--version", "-V", "-v", "--help", "-h", "-version"];

/// Variables that change which program runs, or what it does. `*` stands for the rest of a name.
const VARIABLES: &[&str] = &[
    "PATH", "LD_*", "DYLD_*", "GIT_*", "BASH_ENV", "BASH_FUNC_*", "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS4", "PROMPT_COMMAND",
    "IFS", "CDPATH", "HOME", "OLDPWD", "PWD", "DIRSTACK", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER",
    "PYTHON*", "PERL*", "RUBY*", "NODE_*", "XDG_CONFIG_*", "ZDOTDIR", "TAR_OPTIONS", "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS",
    "MAKEFLAGS", "GLOBIGNORE", "EXECIGNORE", "FPATH", "fpath", "path", "JAVA_TOOL_OPTIONS", "RUSTC_WRAPPER", "HANDOVER_*",
];

pub(super) fn changes_programs(variable: &str) -> bool {
    let variable = variable.split('[').next().unwrap_or(variable).trim_end_matches('+');
    VARIABLES.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => variable.starts_with(start),
        None => variable == *known,
    })
}

/// Builtins that change folders or do nothing: they are judged by rules that name them, and by no default.
pub(super) fn is_harmless(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "popd" | ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "shift" | "wait")
}

/// A name that must keep its meaning for what follows to be read.
pub(super) fn is_relied_on(name: &str) -> bool {
    is_harmless(name) || super::wrapper::is_wrapper(name) || RUNNERS.contains(&name) || DECLARES.contains(&name)
}

/// Builtins whose words are assignments.
pub(super) const DECLARES: &[&str] = &["export", "declare", "typeset", "local", "readonly", "readarray", "mapfile", "read", "unset", "printf"];

/// Why a program asks unless a rule names it.
pub(super) fn asks(words: &[Arg]) -> Option<String> {
    let program = words.first()?.text.as_deref()?;
    let name = base(program);
    if program.starts_with(['-', '=']) || program.contains('$') || program.is_empty() {
        return Some(format!("the command {program:?}, which means different things to different shells"));
    }
    if super::script::RESERVED.contains(&program) && program != "time" {
        return Some(format!("the keyword {program} where a command is expected"));
    }
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let about = words.len() == 2 && words.get(1).is_some_and(|word| ABOUT.contains(&word.as_text()));
    if about {
        return None;
    }
    if INTERPRETERS.contains(&name) || INTERPRETERS.contains(&bare) {
        return Some(format!("{name} runs a script, a text or its input, which is not looked into"));
    }
    if RUNNERS.contains(&name) {
        return Some(format!("{name} runs commands that are not looked into"));
    }
    if program.contains('/') && !is_of_the_system(program) {
        return Some(format!("{program} is a program by its path, which is not looked into"));
    }
    match name {
        "git" => git(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(name, words),
        "sed" | "gsed" => sed(words),
        "tar" | "gtar" | "bsdtar" => option(words, &["--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "-I", "--info-script", "-F"]),
        "rsync" => option(words, &["-e", "--rsh", "--rsync-path"]),
        "scp" | "sftp" => option(words, &["-S", "-o", "-F", "-b", "-D"]),
        "ssh" => option(words, &["-o", "-F"]),
        "test" | "[" | "[[" => option(words, &["-v", "-R"]),
        "zip" => option(words, &["-T", "-TT", "--unzip-command"]),
        "sort" => option(words, &["--compress-program"]),
        "man" => option(words, &["-P", "--pager", "-H", "--html"]),
        "docker" | "podman" | "kubectl" | "nerdctl" => subcommand(words, &["run", "exec", "debug"]),
        "go" => subcommand(words, &["run", "generate", "tool"]),
        "npm" | "pnpm" | "yarn" => subcommand(words, &["exec", "dlx", "x"]),
        "uv" | "poetry" | "pipenv" | "bundle" | "rustup" | "nix" | "conda" => subcommand(words, &["run", "exec", "tool", "shell", "develop"]),
        _ => None,
    }
}

fn is_of_the_system(program: &str) -> bool {
    let folders = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    folders.iter().any(|folder| program.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
}

fn option(words: &[Arg], options: &[&str]) -> Option<String> {
    let name = base(words.first()?.as_text());
    for word in &words[1..] {
        let text = word.as_text();
        let long = text.split('=').next().unwrap_or(text);
        let short = options.iter().any(|option| option.len() == 2 && is_short(text, option));
        if options.contains(&long) || short {
            return Some(format!("{name} with {text}, which can run other commands"));
        }
    }
    None
}

/// `-e` in `-ave ssh`.
fn is_short(word: &str, option: &str) -> bool {
    let letter = option.trim_start_matches('-');
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

fn subcommand(words: &[Arg], subcommands: &[&str]) -> Option<String> {
    let name = base(words.first()?.as_text());
    let found = words[1..].iter().find(|word| subcommands.contains(&word.as_text()))?;
    Some(format!("{name} {} runs commands that are not looked into", found.as_text()))
}

fn awk(name: &str, words: &[Arg]) -> Option<String> {
    let runs = |text: &str| ["system", "getline", "|", ">", "@", "printf -v"].iter().any(|part| text.contains(part));
    for word in &words[1..] {
        match word.text.as_deref() {
            None if word.spot.is_none() => return Some(format!("{name} with a text that is not literal")),
            None => {}
            Some("-f" | "--file" | "-i" | "--include" | "-l" | "--load" | "-E" | "--exec") => {
                return Some(format!("{name} with a script"));
            }
            Some(text) if text.starts_with("-f") || text.starts_with("--file") || text.starts_with("-E") || runs(text) => {
                return Some(format!("{name} with a text that may run commands or write"));
            }
            Some(_) => {}
        }
    }
    None
}

/// sed runs what stands behind `e` and writes what stands behind `w`; only scripts without either are known.
fn sed(words: &[Arg]) -> Option<String> {
    let odd = || Some("sed with a script that may run commands or write".to_owned());
    let mut script = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_text() {
            "" if word.text.is_none() && script.is_none() => return odd(),
            "-e" | "--expression" => {
                script = Some(());
                if !words.get(at).and_then(|word| word.text.as_deref()).is_some_and(is_plain_sed) {
                    return odd();
                }
                at += 1;
            }
            text if text.starts_with("-f") || text.starts_with("--file") || text.starts_with("--expression=") => return odd(),
            text if text.starts_with("-e") => return odd(),
            text if text.starts_with('-') && text.len() > 1 => {}
            text if script.is_none() => {
                script = Some(());
                if !is_plain_sed(text) {
                    return odd();
                }
            }
            _ => {}
        }
    }
    None
}

/// Lines and commands such as `1,5p`, `/a/d`, `s/a/b/g`, one after another.
fn is_plain_sed(script: &str) -> bool {
    script.split(['\n', ';']).all(|part| is_plain_sed_command(part.trim()))
}

fn is_plain_sed_command(command: &str) -> bool {
    let mut rest = command;
    // Addresses: numbers, `$`, and patterns without a slash in them.
    loop {
        rest = rest.trim_start_matches([' ', ',', '!', '~', '+', '$']).trim_start_matches(|letter: char| letter.is_ascii_digit());
        match rest.strip_prefix('/') {
            Some(pattern) => match closing(pattern, '/') {
                Some(after) => rest = after,
                None => return false,
            },
            None if rest.starts_with([' ', ',', '!', '~', '+', '$']) => {}
            None => break,
        }
    }
    match rest.strip_prefix('s') {
        Some(text) => {
            let Some(mark) = text.chars().next().filter(|mark| mark.is_ascii_punctuation() && *mark != '\\') else { return false };
            let after = closing(&text[1..], mark).and_then(|text| closing(text, mark));
            after.is_some_and(|flags| flags.chars().all(|flag| flag.is_ascii_digit() || "gpiI".contains(flag)))
        }
        None => matches!(rest, "" | "p" | "d" | "q" | "=" | "P" | "D" | "n" | "N" | "G" | "h" | "H" | "g" | "x"),
    }
}

/// What follows an unescaped mark.
fn closing(text: &str, mark: char) -> Option<&str> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == mark {
            return text.get(at + letter.len_utf8()..);
        }
    }
    None
}

fn git(words: &[Arg]) -> Option<String> {
    let options = super::git::options(words);
    let ask = |what: &str| Some(format!("git with {what}, which can run other commands"));
    if options.configures {
        return ask("settings of its own (-c, --config-env, --exec-path)");
    }
    let rest = words.get(options.rest..).unwrap_or_default();
    let text = |at: usize| rest.get(at).map(Arg::as_text).unwrap_or_default();
    let has = |names: &[&str]| {
        rest.iter().any(|word| names.iter().any(|name| word.as_text() == *name || word.as_text().starts_with(&format!("{name}="))))
    };
    if rest.iter().any(|word| word.as_text().contains("ext::")) || has(&["--upload-pack", "--receive-pack", "--exec"]) {
        return ask("a command for the other side");
    }
    match text(0) {
        "config" => {
            let reads = has(&["--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get"]);
            let operands = rest.iter().skip(1).filter(|word| !word.as_text().starts_with('-')).count();
            if reads || operands <= 1 && !has(&["--unset", "--edit", "-e", "edit", "--rename-section"]) { None } else { ask("config") }
        }
        "bisect" if text(1) == "run" => ask("bisect run"),
        "submodule" if has(&["foreach"]) => ask("submodule foreach"),
        "rebase" if has(&["-x", "-i", "--interactive"]) || rest.iter().any(|word| word.as_text().starts_with("-x")) => ask("rebase -x"),
        "filter-branch" | "difftool" | "mergetool" | "send-email" | "instaweb" | "daemon" | "credential" | "hook" => ask(text(0)),
        "clone" if has(&["-c", "--config", "-u", "--template"]) => ask("clone -c"),
        "grep" if rest.iter().any(|word| word.as_text().starts_with("-O") || word.as_text().starts_with("--open")) => ask("grep -O"),
        _ => None,
    }
}

/// How the operands of a program are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    All,
    /// All but the first, which says how.
    Others,
    /// The last, or what `-t` names.
    Last,
    None,
}

struct Writer {
    names: &'static [&'static str],
    operands: Operands,
    /// Options whose next word is no operand.
    valued: &'static [&'static str],
    /// Options that name a path it writes.
    paths: &'static [&'static str],
    /// Options with which it writes what is below, too.
    trees: &'static str,
}

const fn writer(names: &'static [&'static str], operands: Operands, trees: &'static str) -> Writer {
    Writer { names, operands, valued: &[], paths: &[], trees }
}

const WRITERS: &[Writer] = &[
    writer(&["tee", "mkdir", "rmdir", "unlink", "mkfifo", "shred"], Operands::All, ""),
    writer(&["rm", "chattr"], Operands::All, "rR"),
    writer(&["chmod", "chown", "chgrp"], Operands::Others, "R"),
    Writer { names: &["touch"], operands: Operands::All, valued: &["-t", "-d", "-r"], paths: &[], trees: "" },
    Writer { names: &["truncate"], operands: Operands::All, valued: &["-s", "-r"], paths: &[], trees: "" },
    Writer { names: &["cp", "install", "ln", "rsync", "scp"], operands: Operands::Last, valued: &["-m", "-o", "-g", "-S"], paths: &["-t", "--target-directory"], trees: "rRa" },
    Writer { names: &["mv"], operands: Operands::Last, valued: &["-S"], paths: &["-t", "--target-directory"], trees: "" },
    Writer { names: &["sort", "curl", "gcc", "cc", "clang"], operands: Operands::None, valued: &[], paths: &["-o", "--output"], trees: "" },
    Writer { names: &["wget"], operands: Operands::None, valued: &[], paths: &["-O", "--output-document", "-o", "-P"], trees: "" },
];

/// The paths a program writes, where that can be told from its words.
pub(super) fn writes(words: &[Arg]) -> Vec<Inner> {
    let Some(name) = words.first().map(|word| base(word.as_text())) else { return Vec::new() };
    match name {
        "dd" => {
            let of = |word: &Arg| match &word.text {
                Some(text) => text.strip_prefix("of=").map(|path| Inner::Writes(Arg::known(path), Tree::No)),
                None => Some(Inner::Writes(Arg::unknown(), Tree::No)),
            };
            return words[1..].iter().filter_map(of).collect();
        }
        "sed" | "gsed" | "perl" if words[1..].iter().any(|word| word.as_text().starts_with("-i") || word.as_text().starts_with("--in-place")) => {
            let operands = words[1..].iter().filter(|word| !word.as_text().starts_with('-'));
            return operands.skip(1).map(|word| Inner::Writes(word.clone(), Tree::No)).collect();
        }
        "patch" => return vec![Inner::Writes(Arg::unknown(), Tree::Yes)],
        _ => {}
    }
    let Some(writer) = WRITERS.iter().find(|writer| writer.names.contains(&name)) else { return Vec::new() };
    of_writer(writer, name, words)
}

fn of_writer(writer: &Writer, name: &str, words: &[Arg]) -> Vec<Inner> {
    let mut operands: Vec<&Arg> = Vec::new();
    let mut named: Vec<Arg> = Vec::new();
    let mut tree = if name == "rsync" { Tree::Yes } else { Tree::No };
    let mut ended = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.as_text();
        if ended || !text.starts_with('-') || text.len() == 1 {
            operands.push(word);
        } else if text == "--" {
            ended = true;
        } else if writer.paths.contains(&text) {
            named.push(words.get(at).cloned().unwrap_or_else(Arg::unknown));
            at += 1;
        } else if let Some(path) = writer.paths.iter().find_map(|option| joined(text, option)) {
            named.push(Arg::known(path));
        } else if writer.valued.contains(&text) {
            at += 1;
        } else if text == "--recursive" || (!text.starts_with("--") && text.contains(|letter| writer.trees.contains(letter))) {
            tree = Tree::Yes;
        }
    }
    let mut found: Vec<Inner> = named.iter().map(|path| Inner::Writes(path.clone(), tree)).collect();
    match writer.operands {
        Operands::None => {}
        Operands::All => found.extend(operands.iter().map(|word| Inner::Writes((*word).clone(), tree))),
        Operands::Others => found.extend(operands.iter().skip(1).map(|word| Inner::Writes((*word).clone(), tree))),
        Operands::Last => {
            let split = if named.is_empty() { operands.split_last() } else { None };
            let sources = split.map_or(operands.as_slice(), |(_, sources)| sources);
            for target in split.map(|(last, _)| (*last).clone()).into_iter().chain(named) {
                // Of what lies elsewhere only the other side knows.
                if target.as_text().contains(':') && matches!(name, "rsync" | "scp") {
                    continue;
                }
                found.extend(sources.iter().map(|source| Inner::Writes(beneath(&target, source), tree)));
                found.push(Inner::Writes(target, Tree::No));
            }
            if name == "mv" {
                found.extend(sources.iter().map(|source| Inner::Writes((*source).clone(), Tree::Yes)));
            }
        }
    }
    found
}

/// `-ofile`, `--output=file`.
fn joined<'t>(text: &'t str, option: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(option)?;
    if option.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) }
}

/// The path that a source gets in a folder.
fn beneath(target: &Arg, source: &Arg) -> Arg {
    match (&target.spot, source.text.as_deref().map(|text| base(text.trim_end_matches('/')))) {
        (Some(Spot::At(folder)), Some(name)) if !matches!(name, "" | "." | "..") => Arg::known(&format!("{folder}/{name}")),
        (Some(Spot::At(folder)), _) => Arg { text: None, spot: Some(Spot::Inside(folder.clone())) },
        (Some(Spot::Inside(_)) | None, _) => target.clone(),
    }
}
