//! Reads git commands: the options before the command (`git -C folder push`), and the effects of the command itself.

mod keys;
mod moves;
mod paths;
mod work;

use crate::command::Arg;
use crate::programs::effect::{ProgramEffect, TreeEffect, folder, of_options};
use crate::programs::options::{base, parse};
use crate::programs::table;

pub(crate) use keys::{asks, setting};
#[cfg(test)]
pub(crate) use work::knows_kind;

/// The options between `git` and its command, such as `-C folder` in `git -C folder push`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitPreamble {
    /// The index of git's command among the words of the command line: 1 for `git push`.
    pub(crate) rest: usize,
    /// True if an option between `git` and its command is unknown. The position of git's command is then unknown too.
    pub(crate) unknown: bool,
    /// The effects of the options between `git` and its command, such as a changed folder or setting, in their order.
    effects: Vec<ProgramEffect>,
    /// The repository that the option `--git-dir` names. None without that option.
    repository: Option<Arg>,
    /// True if an option names another work tree or another repository, so that the work tree may not belong to the
    /// repository.
    elsewhere: bool,
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

/// Commands of git that write into the repository which the option `--git-dir` names.
const CHANGES: &[&str] =
    &["init", "fetch", "pull", "add", "commit", "config", "update-ref", "gc", "remote", "branch", "tag"];

/// Groups of git commands with the same effect. If a gate rule names the first command of a group, a person must
/// approve the other commands of the group, too.
const EQUIVALENTS: &[(&str, &[&str])] = &[
    ("push", &["send-pack", "http-push", "subtree push", "lfs push", "svn dcommit", "p4 submit"]),
    ("fetch", &["fetch-pack", "http-fetch", "remote update", "pull"]),
    ("pull", &["subtree pull"]),
    ("commit", &["commit-tree", "fast-import"]),
    ("tag", &["mktag", "update-ref", "fast-import"]),
    ("branch", &["update-ref", "symbolic-ref"]),
    ("checkout", &["switch", "restore", "checkout-index", "read-tree"]),
    ("switch", &["checkout"]),
    ("restore", &["checkout", "checkout-index"]),
    ("reset", &["update-ref", "read-tree"]),
    ("rebase", &["pull"]),
    ("merge", &["pull", "subtree merge"]),
    ("send-email", &["imap-send"]),
];

/// Tells whether a program is `git`, or a git command as a separate program: `git-push`.
pub(crate) fn is_git(name: &str) -> bool {
    name == "git" || name.strip_prefix("git-").is_some_and(knows)
}

/// Returns `git-push origin` as `git push origin`, so that a gate rule needs only one spelling. Returns None for other
/// programs.
pub(crate) fn as_git(words: &[Arg]) -> Option<Vec<Arg>> {
    let name = base(words.first()?.as_text());
    // The program hub accepts all commands of git, so `hub push` is read as `git push`.
    if name == "hub" && words.get(1).is_some_and(|command| knows(command.as_text())) {
        return Some(std::iter::once(Arg::known("git")).chain(words[1..].iter().cloned()).collect());
    }
    let command = name.strip_prefix("git-").filter(|command| knows(command))?;
    Some([Arg::known("git"), Arg::known(command)].into_iter().chain(words[1..].iter().cloned()).collect())
}

/// Tells whether git itself has this command. Any other command may be an alias, which can stand for anything.
pub(crate) fn knows(command: &str) -> bool {
    table::exactly(&format!("git-{command}")).is_some()
}

/// Tells whether a git command does the same as the git command of a gate rule: `send-pack` does the same as `push`.
pub(crate) fn is_equivalent(wanted: &str, rest: &[Arg]) -> bool {
    let same = EQUIVALENTS.iter().filter(|(command, _)| *command == wanted).flat_map(|(_, others)| others.iter());
    same.into_iter().any(|other| {
        let mut words = rest.iter().map(Arg::as_text);
        other.split(' ').all(|word| words.next() == Some(word))
    })
}

/// Tells whether a git command brings commits into another repository, as `push` does. A fetch or pull does so if it
/// reads a path on this machine and names a target branch: `git -C other fetch /repo main:main`.
pub(crate) fn fetches_elsewhere(words: &[Arg]) -> bool {
    let preamble = preamble(words);
    let rest = words.get(preamble.rest..).unwrap_or_default();
    let mut operands = rest.iter().skip(1).map(Arg::as_text).filter(|word| !word.starts_with('-'));
    let from = operands.next().unwrap_or_default();
    let moved = preamble.repository.is_some()
        || preamble.effects.iter().any(|effect| matches!(effect, ProgramEffect::Folder(_)));
    let local = from.starts_with(['/', '.']) || from.starts_with("file:");
    rest.first().is_some_and(|command| matches!(command.as_text(), "fetch" | "pull"))
        && local
        && (moved || from != ".")
        && operands.any(|state| state.contains(':'))
}

/// Reads the options between `git` and its command, such as `-C folder` in `git -C folder push`.
pub(crate) fn preamble(words: &[Arg]) -> GitPreamble {
    let mut found = GitPreamble { rest: 1, ..GitPreamble::default() };
    while let Some(word) = words.get(found.rest) {
        let lead = word.lead.as_str();
        if word.text.is_none() && !lead.contains('=') {
            found.unknown = true;
            return found;
        }
        if !lead.starts_with('-') {
            return found;
        }
        let (name, attached) = match lead.split_once('=') {
            Some((name, _)) => (name, Some(word.behind(name.len() + 1))),
            None => (lead, None),
        };
        let next = words.get(found.rest + 1).cloned().unwrap_or_else(Arg::unknown);
        let apart = attached.is_none();
        let value = attached.unwrap_or(next);
        match name {
            "-c" | "--config-env" => found.effects.push(setting(&value)),
            "--exec-path" if apart => {
                found.rest += 1;
                continue;
            }
            "--exec-path" => found
                .effects
                .push(ProgramEffect::Ask("git with --exec-path, which makes its commands mean others".to_owned())),
            "-C" | "--work-tree" => {
                found.elsewhere |= name == "--work-tree";
                found.effects.push(ProgramEffect::Folder(value));
            }
            _ if FLAGS.contains(&lead) => {
                found.rest += 1;
                continue;
            }
            "--git-dir" => {
                found.elsewhere = true;
                found.repository = Some(value);
            }
            _ if VALUED.contains(&name) => {}
            _ => {
                found.unknown = true;
                return found;
            }
        }
        found.rest += 1 + usize::from(apart);
    }
    found
}

/// Returns the effects of a whole git command, including the options between `git` and the command.
pub(crate) fn effects(words: &[Arg]) -> Vec<ProgramEffect> {
    let preamble = preamble(words);
    let mut found = preamble.effects.clone();
    let rest = words.get(preamble.rest..).unwrap_or_default();
    found.extend(
        rest.iter()
            .filter(|word| is_helper(word.as_text()))
            .take(1)
            .map(|_| ProgramEffect::AskUnlessNamed("git with an address that is a command (ext::)".to_owned())),
    );
    if preamble.unknown {
        found.push(ProgramEffect::Doubt("an option before its command that is not known".to_owned()));
        return found;
    }
    let Some(command) = rest.first() else { return found };
    let Some(name) = command.text.as_deref() else {
        found.push(ProgramEffect::Doubt("a command that is not literal".to_owned()));
        return found;
    };
    // Some git commands have sub-commands, such as `git remote add`, with option tables of their own.
    let second = rest.get(1).map(Arg::as_text).unwrap_or_default();
    let nested = format!("git-{name}-{second}");
    let (table, rest) = match table::exactly(&nested) {
        Some(table) if !second.is_empty() => (Some(table), rest.get(1..).unwrap_or_default()),
        Some(_) | None => (table::exactly(&format!("git-{name}")), rest),
    };
    let Some(table) = table else {
        found.push(ProgramEffect::Opaque(format!("git {name} may be an alias or a program of its own")));
        return found;
    };
    if CHANGES.contains(&name) {
        found.extend(preamble.repository.map(|repository| ProgramEffect::Writes(repository, TreeEffect::No)));
    }
    let parsed = parse(table, rest);
    found.extend(of_options(&format!("git {name}"), table, &parsed).into_iter().filter(|effect| {
        // Skip the effect that says that `git config --file x` writes `x`, because the command may only read `x`. The
        // function for `git config` adds this effect when the command changes a setting.
        !(name == "config" && matches!(effect, ProgramEffect::Writes(..)))
    }));
    let done = work::effects(name, &table.does, &parsed);
    // With `--work-tree` or `--git-dir`, the work tree may belong to another repository than the one that the gate asks
    // for the changed files. So every file below the work tree counts as written.
    if preamble.elsewhere && done.iter().any(|effect| matches!(effect, ProgramEffect::Moves(_))) {
        found.push(ProgramEffect::Writes(Arg::inside("."), TreeEffect::Yes));
    }
    found.extend(done);
    found.extend(folder::guarded(&format!("git {name}"), table, &parsed));
    if table.style.opaque {
        found.push(ProgramEffect::Opaque(format!("git {name} is a program of its own")));
    }
    found
}

/// Tells whether the address of a remote makes git run a program: `ext::sh -c x`.
fn is_helper(word: &str) -> bool {
    let helper = word.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    });
    let known = ["ext::", "fd::"].iter().any(|start| word.contains(start));
    known || helper && word.contains([' ', '/']) && !word.contains("http")
}
