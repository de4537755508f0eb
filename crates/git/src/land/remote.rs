//! Parses the addresses of remotes, and finds the web pages on which a person opens a pull request.

use std::fmt::Write as _;

/// The kinds of servers that have a web page for a new pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
    Bitbucket,
    Gitea,
}

/// Words in the names of servers that show the kind of the server.
const FORGES: &[(&str, Forge)] = &[
    ("github", Forge::GitHub),
    ("gitlab", Forge::GitLab),
    ("bitbucket", Forge::Bitbucket),
    ("gitea", Forge::Gitea),
    ("forgejo", Forge::Gitea),
    ("codeberg", Forge::Gitea),
];
/// Servers that only accept ssh, each with the server that has the web pages.
const SSH_HOSTS: &[(&str, &str)] =
    &[("ssh.github.com", "github.com"), ("altssh.gitlab.com", "gitlab.com"), ("altssh.bitbucket.org", "bitbucket.org")];

/// Returns the web page on which a person opens a pull request for a branch. Returns `None` when the server is of no
/// known kind.
pub fn compare_url(address: &str, branch: &str, target: Option<&str>) -> Option<String> {
    let (scheme, host, path) = split(address)?;
    let name = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let (_, forge) = FORGES.iter().find(|(part, _)| name.contains(part))?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    if path.is_empty() || path.chars().any(|c| c.is_control() || c.is_whitespace() || "?#<>\"".contains(c)) {
        return None;
    }
    let page = format!("{scheme}://{host}/{path}");
    let (branch, target) = (escaped(branch), target.map(escaped));
    Some(match (forge, target) {
        (Forge::GitHub, Some(target)) => format!("{page}/compare/{target}...{branch}?expand=1"),
        (Forge::GitHub, None) => format!("{page}/compare/{branch}?expand=1"),
        (Forge::GitLab, target) => {
            let target = target.map(|target| format!("&merge_request%5Btarget_branch%5D={target}"));
            let target = target.unwrap_or_default();
            format!("{page}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}{target}")
        }
        (Forge::Bitbucket, target) => {
            let target = target.map(|target| format!("&dest={target}")).unwrap_or_default();
            format!("{page}/pull-requests/new?source={branch}{target}")
        }
        (Forge::Gitea, Some(target)) => format!("{page}/compare/{target}...{branch}"),
        (Forge::Gitea, None) => format!("{page}/compare/{branch}"),
    })
}

/// Splits the address of a remote into the scheme of its web pages, its server with a port, and its path. An ssh
/// address has the form `ssh://user@host:port/path` or `user@host:path`. Its port is left out, because web pages use
/// another port.
fn split(address: &str) -> Option<(&'static str, String, String)> {
    if let Some((scheme, rest)) = address.split_once("://") {
        let (place, path) = rest.split_once('/')?;
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        return match scheme.to_ascii_lowercase().as_str() {
            "https" => Some(("https", host.to_owned(), path.to_owned())),
            "http" => Some(("http", host.to_owned(), path.to_owned())),
            "ssh" | "git+ssh" | "ssh+git" | "git" => Some(("https", page_host(host), path.to_owned())),
            _ => None,
        };
    }
    let (place, path) = address.split_once(':')?;
    if place.contains('/') || place.is_empty() {
        return None;
    }
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    Some(("https", page_host(host), path.to_owned()))
}

fn page_host(host: &str) -> String {
    let host = host.split(':').next().unwrap_or_default();
    let known = SSH_HOSTS.iter().find(|(ssh, _)| host.eq_ignore_ascii_case(ssh));
    known.map_or(host, |(_, page)| page).to_owned()
}

/// Replaces every character that has a special meaning in a URL by `%XX`. Slashes stay, because servers expect them.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Removes user names and passwords from the addresses in a text, such as `https://user:secret@host/`.
pub(super) fn without_password(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        kept.push_str(before);
        kept.push_str("://");
        let end = after.find(|c: char| c == '/' || c.is_whitespace() || "'\"".contains(c)).unwrap_or(after.len());
        let (place, others) = after.split_at(end);
        kept.push_str(place.rsplit_once('@').map_or(place, |(_, host)| host));
        rest = others;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_remote_has_its_page() {
        let gitlab =
            "-/merge_requests/new?merge_request%5Bsource_branch%5D=handover/1-a&merge_request%5Btarget_branch%5D=main";
        for (address, expected) in [
            (
                "https://github.com/o/r.git",
                Some("https://github.com/o/r/compare/main...handover/1-a?expand=1".to_owned()),
            ),
            (
                "https://user:secret@github.com/o/r",
                Some("https://github.com/o/r/compare/main...handover/1-a?expand=1".to_owned()),
            ),
            ("git@github.com:o/r.git", Some("https://github.com/o/r/compare/main...handover/1-a?expand=1".to_owned())),
            (
                "ssh://git@ssh.github.com:443/o/r.git",
                Some("https://github.com/o/r/compare/main...handover/1-a?expand=1".to_owned()),
            ),
            ("git@gitlab.com:group/sub/r.git", Some(format!("https://gitlab.com/group/sub/r/{gitlab}"))),
            ("https://gitlab.example.com:8443/g/r.git", Some(format!("https://gitlab.example.com:8443/g/r/{gitlab}"))),
            (
                "git@bitbucket.org:o/r.git",
                Some("https://bitbucket.org/o/r/pull-requests/new?source=handover/1-a&dest=main".to_owned()),
            ),
            ("ssh://git@codeberg.org/o/r.git", Some("https://codeberg.org/o/r/compare/main...handover/1-a".to_owned())),
            ("http://gitea.local:3000/o/r", Some("http://gitea.local:3000/o/r/compare/main...handover/1-a".to_owned())),
            ("https://example.com/o/r.git", None),
            ("/srv/github/r.git", None),
            ("../r.git", None),
            ("file:///srv/github/r.git", None),
            ("https://github.com/", None),
        ] {
            assert_eq!(compare_url(address, "handover/1-a", Some("main")), expected, "{address}");
        }
        let page = "https://github.com/o/r/compare/a%26b%23c?expand=1";
        assert_eq!(compare_url("https://github.com/o/r", "a&b#c", None).as_deref(), Some(page));
    }

    #[test]
    fn passwords_are_left_out() {
        let text = "fatal: 'https://me:secret@host/o/r' and ssh://git@host:22/x, http://plain/";
        assert_eq!(without_password(text), "fatal: 'https://host/o/r' and ssh://host:22/x, http://plain/");
    }
}
