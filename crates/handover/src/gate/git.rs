//! git's own options, which stand before its command, and the commands it has without aliases.

use super::command::Arg;

/// Where git's command stands, and what was said before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    /// The place of the command.
    pub(super) rest: usize,
    /// An option that is not known; where the command stands is not known either.
    pub(super) unknown: bool,
    /// `-c` and others that can make any command mean another.
    pub(super) configures: bool,
}

const FLAGS: &[&str] = &[
    "-p",
    "--paginate",
    "-P",
    "--no-pager",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-advice",
    "--bare",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--html-path",
    "--man-path",
    "--info-path",
    "--version",
    "-v",
    "--help",
    "-h",
];
const VALUED: &[&str] =
    &["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--list-cmds", "--attr-source"];
const CONFIGURES: &[&str] = &["-c", "--config-env", "--exec-path"];

const COMMANDS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "daemon",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "hook",
    "index-pack",
    "init",
    "instaweb",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "prune",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Reads what stands between `git` and its command.
pub(super) fn options(words: &[Arg]) -> Options {
    let mut found = Options { rest: 1, unknown: false, configures: false };
    while let Some(word) = words.get(found.rest) {
        let Some(text) = word.text.as_deref() else {
            found.unknown = true;
            return found;
        };
        if !text.starts_with('-') {
            return found;
        }
        let name = text.split('=').next().unwrap_or(text);
        if CONFIGURES.contains(&name) || text.starts_with("-c") {
            found.configures = true;
            found.rest += if text == "-c" || text == "--config-env" { 2 } else { 1 };
        } else if FLAGS.contains(&text) {
            found.rest += 1;
        } else if VALUED.contains(&name) {
            found.rest += if text.contains('=') { 1 } else { 2 };
        } else {
            found.unknown = true;
            return found;
        }
    }
    found
}

/// git knows this command by itself; another may be an alias for anything.
pub(super) fn knows(command: &str) -> bool {
    COMMANDS.contains(&command)
}
