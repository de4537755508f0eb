//! Lists the settings of git that make git run a program, or use another file, folder or address.

use super::ProgramEffect;
use crate::command::Arg;

/// Keys of settings that make git run a program, or use another file, folder or address. `*` stands for any text, and
/// the text may have dots in it. The upstream of a branch (`branch.*.merge`) and the address of a remote
/// (`remote.*.url`) are left out on purpose.
const KEYS: &[&str] = &[
    "alias.*",
    "core.alternaterefscommand",
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.worktree",
    "credential.*",
    "diff.external",
    "diff.guitool",
    "diff.tool",
    "difftool.*",
    "extensions.*",
    "filter.*",
    "format.outputdirectory",
    "gui.*",
    "guitool.*",
    "hook.*",
    "http.proxy",
    "http.savecookies",
    "http.*.savecookies",
    "http.*.proxy",
    "http.sslverify",
    "http.*.sslverify",
    "include.*",
    "includeif.*",
    "init.templatedir",
    "instaweb.*",
    "interactive.difffilter",
    "maintenance.*",
    "merge.guitool",
    "merge.tool",
    "mergetool.*",
    "pager.*",
    "protocol.*",
    "receive.procreceiverefs",
    "safe.directory",
    "sendemail.*",
    "sequence.editor",
    "ssh.variant",
    "trailer.*",
    "uploadpack.packobjectshook",
    "url.*",
    "web.browser",
    "help.browser",
    "browser.*",
    "man.*",
    "lfs.*",
    "fetch.bundleuri",
    "bundle.*",
];

/// The last parts of keys that choose a program or an address in any section: `x.askpass` for every `x`.
const ENDS: &[&str] = &[
    "askpass",
    "browser",
    "cmd",
    "clean",
    "command",
    "driver",
    "editor",
    "external",
    "helper",
    "hook",
    "insteadof",
    "pager",
    "process",
    "program",
    "proxy",
    "pushinsteadof",
    "receivepack",
    "smudge",
    "textconv",
    "tunnel",
    "uploadpack",
    "vcs",
];

/// Tells whether a setting makes git run a program, or use another file, folder or address. The key is compared without
/// regard to case.
pub(super) fn decides(key: &str, value: Option<&str>) -> bool {
    let key = key.to_ascii_lowercase();
    // In a setting that may hold a command, such as an alias, a value that begins with `!` is run by a shell.
    let runs = value.is_some_and(|value| value.trim_start().starts_with('!'));
    let fits = |pattern: &&str| match pattern.split_once('*') {
        Some((start, end)) => key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end),
        None => key == **pattern,
    };
    let last = key.rsplit('.').next().unwrap_or_default();
    runs || KEYS.iter().any(fits) || ENDS.contains(&last) || last.ends_with("hook") || last.ends_with("command")
}

/// Returns the git setting in the value of `-c key=value` or of `--config-env`.
pub(crate) fn setting(value: &Arg) -> ProgramEffect {
    let (key, rest) = value.lead.split_once('=').map_or((value.lead.as_str(), None), |(key, rest)| (key, Some(rest)));
    if value.text.is_none() && rest.is_none() {
        return ProgramEffect::Setting(Arg::unknown(), None);
    }
    let given = rest.map(|rest| if value.text.is_some() { Arg::known(rest) } else { Arg::unknown() });
    ProgramEffect::Setting(Arg::known(key), given)
}

/// Returns the reason why changing this git setting needs a person's approval. Returns None when the change needs no
/// approval.
pub(crate) fn asks(key: &Arg, value: Option<&Arg>) -> Option<String> {
    let Some(name) = key.text.as_deref() else {
        return Some("a setting of git whose name is not literal".to_owned());
    };
    let value = value.and_then(|value| value.text.as_deref());
    decides(name, value).then(|| format!("the git setting {name}, which decides what git runs or where it leads"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_run_or_redirect_are_told_from_others() {
        for key in [
            "alias.p",
            "core.hooksPath",
            "CORE.FSMONITOR",
            "core.sshCommand",
            "filter.x.clean",
            "filter.a.b.process",
            "credential.helper",
            "credential.https://x.helper",
            "include.path",
            "includeIf.gitdir:~/x/.path",
            "url.ext::sh.insteadOf",
            "diff.x.textconv",
            "merge.ours.driver",
            "gpg.program",
            "gpg.ssh.program",
            "remote.origin.uploadpack",
            "remote.origin.vcs",
            "submodule.x.command",
            "sequence.editor",
            "pager.log",
            "protocol.ext.allow",
            "hook.x.command",
            "uploadpack.packObjectsHook",
            "trailer.sign.cmd",
        ] {
            assert!(decides(key, None), "{key}");
        }
        for key in [
            "user.name",
            "user.email",
            "color.ui",
            "pull.rebase",
            "push.default",
            "branch.main.remote",
            "branch.main.merge",
            "remote.origin.url",
            "remote.origin.fetch",
            "core.autocrlf",
            "core.quotepath",
            "commit.gpgsign",
            "init.defaultBranch",
            "advice.detachedHead",
            "rerere.enabled",
            "merge.conflictstyle",
            "core.excludesFile",
            "push.autoSetupRemote",
            "fetch.prune",
            "submodule.x.url",
        ] {
            assert!(!decides(key, Some("x")), "{key}");
        }
        assert!(decides("submodule.x.update", Some("!sh")));
    }
}
