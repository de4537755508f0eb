//! Programs that run another one, as data: their options, and where the command stands.

use crate::gate::options::{NONE, Options};

/// How the words behind the options are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The rest is a command.
    Command,
    /// So many operands, then a command.
    After(usize),
    /// Assignments, then a command.
    Assignments,
    /// Assignments, then a command that must be there.
    Login,
    /// The words are joined and given to a shell.
    Joined,
    /// An operand, and the rest is joined and given to a shell elsewhere.
    Remote,
    /// More words are added from its input.
    Input,
    /// A shell: `-c` and its text.
    Shell,
}

#[derive(Debug)]
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    pub(super) options: Options,
    pub(super) form: Form,
    /// It does more than pass its command on.
    pub(super) matters: bool,
}

const fn wrapper(names: &'static [&'static str], options: Options, form: Form) -> Wrapper {
    Wrapper { names, options, form, matters: false }
}

const fn short(flags: &'static str, valued: &'static str) -> Options {
    Options { flags, valued, ..NONE }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["env"],
        Options {
            flags: "iv0",
            valued: "uC",
            long: &["ignore-environment", "null", "debug"],
            long_valued: &["unset", "chdir"],
        },
        Form::Assignments,
    ),
    wrapper(&["command"], short("p", ""), Form::Command),
    wrapper(&["builtin", "noglob", "nocorrect"], NONE, Form::Command),
    wrapper(&["exec"], short("cl", "a"), Form::Command),
    wrapper(&["nohup"], NONE, Form::Command),
    wrapper(
        &["time"],
        Options {
            flags: "pavq",
            valued: "fo",
            long: &["portability", "append", "verbose", "quiet"],
            long_valued: &["format", "output"],
        },
        // As a keyword it takes a whole command, with its assignments.
        Form::Assignments,
    ),
    wrapper(
        &["timeout"],
        Options {
            flags: "vfp",
            valued: "ks",
            long: &["preserve-status", "foreground", "verbose"],
            long_valued: &["kill-after", "signal"],
        },
        Form::After(1),
    ),
    wrapper(&["nice"], Options { flags: "", valued: "n", long: &[], long_valued: &["adjustment"] }, Form::Command),
    wrapper(
        &["setsid"],
        Options { flags: "cfw", valued: "", long: &["ctty", "fork", "wait"], long_valued: &[] },
        Form::Command,
    ),
    wrapper(
        &["stdbuf"],
        Options { flags: "", valued: "ioe", long: &[], long_valued: &["input", "output", "error"] },
        Form::Command,
    ),
    Wrapper {
        names: &["sudo"],
        options: Options {
            flags: "AbEHknPSB",
            valued: "CDgpRTuhU",
            long: &["askpass", "background", "preserve-env", "set-home", "non-interactive", "stdin", "preserve-groups"],
            long_valued: &["chdir", "close-from", "group", "host", "prompt", "command-timeout", "user", "preserve-env"],
        },
        form: Form::Login,
        matters: true,
    },
    Wrapper { names: &["doas"], options: short("nL", "u"), form: Form::Login, matters: true },
    wrapper(
        &["xargs"],
        Options {
            flags: "0rtpxo",
            valued: "adEILnPsR",
            long: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
            long_valued: &["arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace"],
        },
        Form::Input,
    ),
    wrapper(
        &["parallel"],
        Options {
            flags: "0kmtuvX",
            valued: "jINnP",
            long: &["null", "keep-order", "verbose", "ungroup", "bar", "halt-on-error", "will-cite", "dry-run"],
            long_valued: &["jobs", "max-args", "max-procs", "timeout", "retries", "halt", "delay"],
        },
        Form::Joined,
    ),
    wrapper(
        &["watch"],
        Options {
            flags: "bcdegptxwr",
            valued: "n",
            long: &["beep", "color", "differences", "errexit", "chgexit", "precise", "no-title", "no-wrap", "exec"],
            long_valued: &["interval"],
        },
        Form::Joined,
    ),
    Wrapper {
        names: &["ssh"],
        options: short("46AaCfGgKkMNnqsTtVvXxYy", "bcDeEIiJLlmpQRSWw"),
        form: Form::Remote,
        matters: true,
    },
    wrapper(&["busybox", "toybox"], NONE, Form::Command),
    wrapper(
        &["sh", "bash", "zsh", "dash"],
        Options {
            // The text of `-c` is the first word behind all options.
            flags: "abcefhilmnpruvxBCEHPTs",
            valued: "oO",
            long: &["login", "norc", "noprofile", "posix", "restricted", "verbose"],
            long_valued: &[],
        },
        Form::Shell,
    ),
    wrapper(&["eval"], NONE, Form::Joined),
];
