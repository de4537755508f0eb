//! What is known of programs: those that run a text nobody sees, and variables that change what others do.

use super::command::Arg;
use super::language::{awk, sed};
use super::options::base;

/// Programs that run a script, a text or their input. Version numbers at the end of a name do not count.
const INTERPRETERS: &str = "\
    python pypy perl ruby node nodejs deno bun php lua luajit Rscript R tclsh wish expect osascript pwsh \
    powershell fish ksh mksh csh tcsh ash yash rbash elixir erl groovy make gmake just rake ed ex vi vim nvim \
    emacs gdb lldb sqlite psql mysql m4 bc dc gnuplot java jshell kotlin scala swift julia ocaml ghci runghc \
    runhaskell guile racket sbcl clojure nu xonsh elvish tsx ts-node ipython irb";

/// Programs that run another one in ways that are not looked into, and builtins that run a text.
const RUNNERS: &str = "\
    . source trap alias unalias enable hash bind complete compgen fc let repeat foreach su runuser pkexec chroot \
    unshare nsenter strace ltrace script flock ionice chrt taskset setarch linux32 linux64 prlimit systemd-run \
    start-stop-daemon entr tmux screen at batch crontab unbuffer rlwrap fakeroot bwrap firejail proot xvfb-run \
    dbus-run-session sshpass ssh-agent socat nc ncat npx bunx uvx pipx run-parts capsh setpriv cgexec numactl \
    catchsegv valgrind perf mount nix-shell direnv rsh mosh autossh ld.so emulate zmodload autoload zle sched \
    coproc";

/// Their words only print what they are.
const ABOUT: &[&str] = &["--version", "-V", "-v", "--help", "-h", "-version"];

/// Variables that change which program runs, or what it does. `*` stands for the rest of a name.
const VARIABLES: &str = "\
    PATH LD_* DYLD_* GIT_* BASH_ENV BASH_FUNC_* ENV SHELLOPTS BASHOPTS PS0 PS4 PROMPT_COMMAND IFS CDPATH HOME \
    OLDPWD PWD DIRSTACK SHELL EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER PYTHON* PERL* RUBY* NODE_* \
    XDG_CONFIG_* ZDOTDIR TAR_OPTIONS RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS MAKEFLAGS GLOBIGNORE EXECIGNORE FPATH \
    fpath path JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS RUSTC* RUSTFLAGS RUSTDOCFLAGS \
    CARGO_HOME CARGO_BUILD_* CARGO_ENCODED_* CC CXX GOFLAGS npm_config_* NPM_CONFIG_* HANDOVER_*";

fn is_one_of(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

pub(super) fn changes_programs(variable: &str) -> bool {
    let variable = variable.split('[').next().unwrap_or(variable).trim_end_matches('+');
    // Runners and linkers of a target, beside the one that only says where things are built.
    if variable.starts_with("CARGO_TARGET_") && variable != "CARGO_TARGET_DIR" {
        return true;
    }
    VARIABLES.split(' ').any(|known| match known.strip_suffix('*') {
        Some(start) => variable.starts_with(start),
        None => variable == known,
    })
}

/// Builtins that change folders or do nothing: they are judged by rules that name them, and by no default.
pub(super) fn is_harmless(program: &str) -> bool {
    matches!(
        program,
        "cd" | "pushd" | "popd" | ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "shift" | "wait"
    )
}

/// A name that must keep its meaning for what follows to be read.
pub(super) fn is_relied_on(name: &str) -> bool {
    is_harmless(name) || super::wrapper::is_wrapper(name) || is_one_of(RUNNERS, name) || DECLARES.contains(&name)
}

/// Builtins whose words are assignments.
pub(super) const DECLARES: &[&str] =
    &["export", "declare", "typeset", "local", "readonly", "readarray", "mapfile", "read", "unset", "printf"];

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
    if is_one_of(INTERPRETERS, name) || is_one_of(INTERPRETERS, bare) {
        return Some(format!("{name} runs a script, a text or its input, which is not looked into"));
    }
    if is_one_of(RUNNERS, name) {
        return Some(format!("{name} runs commands that are not looked into"));
    }
    if program.contains('/') && !is_of_the_system(program) {
        return Some(format!("{program} is a program by its path, which is not looked into"));
    }
    match name {
        "git" => git(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(name, words),
        "sed" | "gsed" => sed(words),
        "tar" | "gtar" | "bsdtar" => option(
            words,
            &[
                "--to-command",
                "--checkpoint-action",
                "--use-compress-program",
                "--rsh-command",
                "-I",
                "--info-script",
                "-F",
            ],
        ),
        "rsync" => option(words, &["-e", "--rsh", "--rsync-path"]),
        "scp" | "sftp" => option(words, &["-S", "-o", "-F", "-b", "-D"]),
        "ssh" => option(words, &["-o", "-F"]),
        "test" | "[" | "[[" => option(words, &["-v", "-R"]),
        "zip" => option(words, &["-T", "-TT", "--unzip-command"]),
        "sort" => option(words, &["--compress-program"]),
        "split" => option(words, &["--filter"]),
        "fd" | "fdfind" => option(words, &["-x", "-X", "--exec", "--exec-batch"]),
        "rg" => option(words, &["--pre", "--hostname-bin"]),
        "man" => option(words, &["-P", "--pager", "-H", "--html"]),
        "docker" | "podman" | "kubectl" | "nerdctl" => subcommand(words, &["run", "exec", "debug"]),
        "go" => subcommand(words, &["run", "generate", "tool"]),
        "npm" | "pnpm" | "yarn" => subcommand(words, &["exec", "dlx", "x"]),
        "uv" | "poetry" | "pipenv" | "bundle" | "rustup" | "nix" | "conda" | "mise" | "asdf" | "hatch" | "pdm"
        | "rye" => subcommand(words, &["run", "exec", "tool", "shell", "develop", "x"]),
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

fn git(words: &[Arg]) -> Option<String> {
    let options = super::git::options(words);
    let ask = |what: &str| Some(format!("git with {what}, which can run other commands"));
    if options.configures {
        return ask("settings of its own (-c, --config-env, --exec-path)");
    }
    let rest = words.get(options.rest..).unwrap_or_default();
    let text = |at: usize| rest.get(at).map(Arg::as_text).unwrap_or_default();
    let has = |names: &[&str]| {
        rest.iter().any(|word| {
            names.iter().any(|name| word.as_text() == *name || word.as_text().starts_with(&format!("{name}=")))
        })
    };
    if rest.iter().any(|word| word.as_text().contains("ext::")) || has(&["--upload-pack", "--receive-pack", "--exec"]) {
        return ask("a command for the other side");
    }
    match text(0) {
        "config" => {
            let reads = has(&["--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get"]);
            let operands = rest.iter().skip(1).filter(|word| !word.as_text().starts_with('-')).count();
            if reads || operands <= 1 && !has(&["--unset", "--edit", "-e", "edit", "--rename-section"]) {
                None
            } else {
                ask("config")
            }
        }
        "bisect" if text(1) == "run" => ask("bisect run"),
        "submodule" if has(&["foreach"]) => ask("submodule foreach"),
        "rebase" if has(&["-x", "-i", "--interactive"]) || rest.iter().any(|word| word.as_text().starts_with("-x")) => {
            ask("rebase -x")
        }
        "filter-branch" | "difftool" | "mergetool" | "send-email" | "instaweb" | "daemon" | "credential" | "hook" => {
            ask(text(0))
        }
        "clone" if has(&["-c", "--config", "-u", "--template"]) => ask("clone -c"),
        "grep" if rest.iter().any(|word| word.as_text().starts_with("-O") || word.as_text().starts_with("--open")) => {
            ask("grep -O")
        }
        _ => None,
    }
}
