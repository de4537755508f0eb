//! Recognises the program of a process: an agent's client such as `claude`, a turn host (the process in which
//! Handover's runner hosts an agent's program), or another program.

use super::ancestry::{Ancestor, base};
use agents::host;

/// The clients of agents, one per line: the client's name, then parts of paths by which its program is recognised.
const CLIENTS: &str = include_str!("clients.txt");
/// Programs that start `handover mcp` and that also start terminals for people, such as editors. They are no sign of an
/// agent.
const LAUNCHERS: &str = include_str!("launchers.txt");

/// The shells in which people type commands. A shell never counts as a client, even when it runs a script that starts
/// one: the client is then a child process of the shell.
const SHELLS: [&str; 14] =
    ["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh", "nu", "elvish", "pwsh"];

/// A program that runs scripts, with those of its options that take the next word of the command line as their value.
struct Interpreter {
    names: &'static [&'static str],
    with_value: &'static [&'static str],
    /// Options of the interpreter that pass code on the command line, such as `-e`, so that no script file follows.
    inline: &'static [&'static str],
}

const INTERPRETERS: [Interpreter; 3] = [
    Interpreter {
        names: &["node", "nodejs", "MainThread", "node-MainThread", "electron", "tsx"],
        with_value: &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-C",
            "--conditions",
            "--env-file",
        ],
        inline: &["-e", "--eval", "-p", "--print", "-pe"],
    },
    Interpreter {
        names: &["bun", "deno"],
        with_value: &["-r", "--preload", "--config", "-c", "--import-map", "--cwd"],
        inline: &["-e", "--eval", "-p", "--print", "eval"],
    },
    Interpreter { names: &["python", "pypy"], with_value: &["-W", "-X"], inline: &["-c"] },
];

/// Returns the clients of `clients.txt`: each with its name and the parts of paths by which its program is recognised.
fn clients() -> impl Iterator<Item = (&'static str, std::str::SplitAsciiWhitespace<'static>)> {
    let lines = CLIENTS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?, words))
    })
}

/// Returns the name of the agent client whose program this process runs, or `None` for another program.
pub(super) fn known(process: &Ancestor) -> Option<&'static str> {
    if SHELLS.contains(&base(&process.program)) {
        return None;
    }
    // A program can change its process title. Then its first argument contains its whole command line, so only the
    // first word of that argument counts.
    let called = process.arguments.first().and_then(|first| first.split_ascii_whitespace().next()).unwrap_or_default();
    let script = script(process);
    let names = [base(&process.program), base(called), process.title.as_str(), script.map(stem).unwrap_or_default()];
    let paths = [Some(process.program.as_str()), script];
    let lies_under = |part: &str| {
        let part = format!("/{part}/");
        paths.iter().flatten().any(|path| path.contains(&part))
    };
    clients().find(|(name, parts)| names.contains(name) || parts.clone().any(lies_under)).map(|(name, _)| name)
}

/// Returns the script that the process runs if the process is an interpreter, such as `node`. The script is a path or
/// the name of a module.
fn script(process: &Ancestor) -> Option<&str> {
    let program = base(&process.program);
    let program = if program.is_empty() { process.title.as_str() } else { program };
    let bare = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let interpreter =
        INTERPRETERS.iter().find(|known| known.names.contains(&program) || known.names.contains(&bare))?;
    let mut words = process.arguments.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        if interpreter.inline.contains(&word) {
            return None;
        }
        if word == "-m" {
            return words.next();
        }
        if interpreter.with_value.contains(&word) {
            words.next();
        } else if !word.starts_with('-') && word != "run" {
            return Some(word);
        }
    }
    None
}

/// Returns a script's name without its file ending, or the first part of a module's name.
fn stem(script: &str) -> &str {
    let name = base(script);
    let endings = [".js", ".mjs", ".cjs", ".ts", ".py"];
    let name = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if script.contains('/') { name } else { name.split('.').next().unwrap_or(name) }
}

/// Tells whether the process is a turn host: the process that Handover's runner starts to host an agent's program.
pub(super) fn is_turn_host(process: &Ancestor) -> bool {
    is_ours(process) && process.arguments.get(1).is_some_and(|word| word == host::COMMAND)
}

fn is_ours(process: &Ancestor) -> bool {
    base(&process.program) == "handover"
        || std::env::current_exe().is_ok_and(|own| own.to_string_lossy() == process.program)
}

/// Tells whether the process is a git process that Handover started. Such a process starts the filter programs that the
/// repository's configuration names. An agent can write that configuration, so these programs are never a person's
/// commands.
pub(super) fn is_our_git(process: &Ancestor, parent: &Ancestor) -> bool {
    process.name() == "git" && is_ours(parent)
}

/// Tells whether this program also starts processes for people, as an editor starts terminals. Such a program is no
/// sign of an agent, even if it started a `handover mcp` process.
pub(super) fn is_launcher(process: &Ancestor) -> bool {
    let names = [base(&process.program), process.title.as_str()];
    process.pid <= 1 || LAUNCHERS.lines().any(|line| !line.is_empty() && names.contains(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(program: &str, arguments: &str) -> Ancestor {
        let title = base(program).chars().take(15).collect();
        let arguments = arguments.split('|').map(str::to_owned).collect();
        Ancestor { pid: 7, program: program.to_owned(), title, arguments, ..Ancestor::default() }
    }

    /// Each case: a program, its command line with `|` between the words, and the expected client.
    #[test]
    fn clients_are_known_by_program_script_and_folder() {
        let cases = [
            ("/usr/bin/claude", "claude|-p|x", Some("claude")),
            ("/home/a/.local/share/claude/versions/2.1.325", "claude", Some("claude")),
            ("/opt/n/node_modules/@openai/codex/vendor/x/codex/codex", "codex|exec", Some("codex")),
            ("/usr/bin/node", "node|/usr/local/bin/gemini|-p|x", Some("gemini")),
            (
                "/usr/bin/node",
                "/usr/bin/node|--max-old-space-size=4096|/n/node_modules/@google/gemini-cli/dist/index.js",
                Some("gemini"),
            ),
            ("/usr/bin/node", "node|--require|/x/hook.js|/n/node_modules/@github/copilot/index.js", Some("copilot")),
            ("/usr/bin/node", "gemini", Some("gemini")),
            ("/usr/bin/node", "qwen --resume 7", Some("qwen")),
            ("/usr/bin/node22", "node22|/n/qwen.js", Some("qwen")),
            ("/usr/bin/bun", "bun|run|/n/opencode.ts", Some("opencode")),
            ("/usr/bin/python3.12", "python3|-X|dev|-m|aider.main", Some("aider")),
            ("/usr/bin/python3", "python3|/home/a/.local/bin/aider|x.py", Some("aider")),
            ("/usr/bin/cn", "cn|-p", Some("cn")),
            // These are programs of people and not clients, although the name of a client is an argument, a folder or a
            // part of a word.
            ("/usr/bin/bash", "bash|/usr/local/bin/claude", None),
            ("/usr/bin/node", "node|build.js|/usr/bin/claude", None),
            ("/usr/bin/node", "node|-e|1|/usr/bin/claude", None),
            ("/usr/bin/node", "node|/home/a/src/cline/scripts/release.js", None),
            ("/usr/bin/node", "node|/home/a/codex/server.js", None),
            ("/usr/bin/python3", "python3|-c|x|aider", None),
            ("/usr/bin/vim", "vim|claude", None),
            ("/usr/bin/codexer", "codexer", None),
            ("/usr/share/code/code", "code|--type=ptyHost", None),
            ("/usr/bin/zed", "zed", None),
            ("/usr/bin/tmux", "tmux|new|-s|claude", None),
            ("/usr/sbin/sshd", "sshd: a@pts/1", None),
            ("/usr/bin/bash", "-bash", None),
        ];
        for (program, arguments, expected) in cases {
            assert_eq!(known(&process(program, arguments)), expected, "{program} {arguments}");
        }
    }

    #[test]
    fn a_program_of_another_user_is_known_by_its_title() {
        let hidden = Ancestor { pid: 7, title: "codex".to_owned(), ..Ancestor::default() };
        assert_eq!(known(&hidden), Some("codex"));
    }

    #[test]
    fn a_turn_host_is_ours_and_says_so() {
        assert!(is_turn_host(&process("/usr/bin/handover", "handover|turn-host|/x")));
        assert!(!is_turn_host(&process("/usr/bin/handover", "handover|run")));
        assert!(!is_turn_host(&process("/usr/bin/cat", "cat|turn-host")));
    }

    #[test]
    fn a_git_of_ours_is_one_that_we_started() {
        let git = process("/usr/bin/git", "git|worktree|add");
        assert!(is_our_git(&git, &process("/usr/bin/handover", "handover|run")));
        assert!(!is_our_git(&git, &process("/usr/bin/bash", "bash")));
        assert!(!is_our_git(&process("/usr/bin/bash", "bash"), &process("/usr/bin/handover", "handover|run")));
    }

    #[test]
    fn people_work_below_editors_terminals_and_session_managers() {
        let first = Ancestor { pid: 1, ..process("/sbin/anything", "anything") };
        assert!(is_launcher(&first));
        for program in ["/usr/lib/systemd/systemd", "/usr/bin/zed", "/usr/share/code/code", "/opt/idea/bin/idea"] {
            assert!(is_launcher(&process(program, program)), "{program}");
        }
        for program in ["/usr/bin/codex", "/usr/bin/node", "/usr/bin/bash", "/usr/bin/python3"] {
            assert!(!is_launcher(&process(program, program)), "{program}");
        }
        // No agent client may be on the list of launchers (programs such as editors, which also start terminals for
        // people), because a launcher never counts as a sign of an agent.
        assert!(clients().all(|(name, _)| !LAUNCHERS.lines().any(|line| line == name)));
    }
}
