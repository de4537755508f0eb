//! Turns every form of a git remote's URL into one name for the repository: `host/owner/repo`.

use std::fmt;
use std::net::Ipv6Addr;

use crate::json::{Value, object};

/// The identity of a repository: its host and its path, in lower case. It has no credentials, no port and no `.git`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteIdentity(String);

impl RemoteIdentity {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of path segments after the host in the repository's identity, such as 2 in `host/owner/repo`.
    pub(super) fn path_segments(&self) -> usize {
        self.0.matches('/').count()
    }
}

impl fmt::Display for RemoteIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why the URL of a git remote cannot be turned into the identity `host/owner/repo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoIdentity {
    Space,
    Local,
    Helper,
    Scheme,
    Host,
    Port,
    Path,
    Credentials,
}

impl fmt::Display for NoIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Space => "a remote has no white space, control characters or backslashes",
            Self::Local => "a local path names no repository that others could find",
            Self::Helper => "a remote helper's address (`helper::url`) names no host",
            Self::Scheme => "the scheme before `://` has only letters, digits, `+`, `-` and `.`",
            Self::Host => "the host is missing or is not a host name",
            Self::Port => "the port is not a number up to 65535",
            Self::Path => "a path of at least one name, none of them `.` or `..`, must follow the host",
            Self::Credentials => "the path may hold a password: write `/` and `@` in one as %2F and %40",
        })
    }
}

impl std::error::Error for NoIdentity {}

impl NoIdentity {
    /// Returns the JSON object `{identity}` for a git remote. `identity` is null when the remote has no identity.
    pub fn to_value(found: &Result<RemoteIdentity, Self>) -> Value {
        object([("identity", found.as_ref().ok().map(RemoteIdentity::as_str).into())])
    }
}

/// Returns the identity `host/owner/repo` of the repository behind a git remote, or the reason why it has none.
pub fn identity(remote: &str) -> Result<RemoteIdentity, NoIdentity> {
    if remote.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\') {
        // A remote with a backslash is a local path if it looks like a Windows path. Any other remote with a backslash
        // is refused, like a remote with a space.
        let is_local = remote.starts_with("\\\\") || is_drive(remote);
        return Err(if is_local { NoIdentity::Local } else { NoIdentity::Space });
    }
    // Git takes a text for a remote address only if a colon comes before the first slash. Any other text is a local
    // path.
    let first = &remote[..remote.find('/').unwrap_or(remote.len())];
    let Some((before, after)) = first.split_once(':') else { return Err(NoIdentity::Local) };
    if is_drive(remote) || is_file(before) {
        return Err(NoIdentity::Local);
    }
    if after.starts_with(':') && is_scheme(before) {
        return Err(NoIdentity::Helper);
    }
    match remote.split_once("://") {
        Some((scheme, rest)) if scheme.len() < first.len() => url(scheme, rest),
        Some(_) | None => scp(remote, first),
    }
}

fn is_drive(remote: &str) -> bool {
    matches!(remote.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Returns true when a URL's scheme is `file`, or a combination that ends with it such as `git+file`.
fn is_file(scheme: &str) -> bool {
    scheme.rsplit('+').next().is_some_and(|last| last.eq_ignore_ascii_case("file"))
}

fn is_scheme(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_letter)
}

/// Reads a git remote of the form `scheme://user:password@host:port/path?query#fragment`.
fn url(scheme: &str, rest: &str) -> Result<RemoteIdentity, NoIdentity> {
    if !is_scheme(scheme) {
        return Err(NoIdentity::Scheme);
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user = authority.rfind('@').map_or(0, |at| at + 1);
    let (host, port) = split_host(&authority[user..]).ok_or(NoIdentity::Host)?;
    if !port.is_empty() && (port.starts_with('+') || port.parse::<u16>().is_err()) {
        return Err(NoIdentity::Port);
    }
    if user == 0 && may_hold_password(path) {
        return Err(NoIdentity::Credentials);
    }
    join(host, path)
}

/// Reads a git remote of the form `user@host:path`. `first` is the part of the remote before the first slash.
fn scp(remote: &str, first: &str) -> Result<RemoteIdentity, NoIdentity> {
    // A path may contain `@` and a password may contain `:`. Therefore the user ends at the last `@` before the last
    // colon, and the host follows.
    let colon = first.rfind(':').unwrap_or(0);
    let user = first[..colon].rfind('@').map_or(0, |at| at + 1);
    let (host, _) = split_host(&remote[user..]).ok_or(NoIdentity::Host)?;
    // In a malformed URL such as `https:host/path`, there is no user and the scheme stands in the place of the host.
    if user == 0 && ["http", "https", "ssh", "ftp", "ftps"].iter().any(|scheme| host.eq_ignore_ascii_case(scheme)) {
        return Err(NoIdentity::Scheme);
    }
    let path = remote[user + host.len()..].strip_prefix(':').ok_or(NoIdentity::Host)?;
    if user == 0 && may_hold_password(path) {
        return Err(NoIdentity::Credentials);
    }
    join(host, path)
}

/// Returns true when the path of a git remote may contain a password. This can happen when the password contains a
/// slash or the scheme is missing: then the user is read as the host, and the password as the path. The caller refuses
/// such a remote, because a password must not be stored.
fn may_hold_password(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    first.is_some_and(|first| first.rfind('@').is_some_and(|at| at > 0))
}

/// Splits a text into the host at its beginning and the text after the colon that follows. Returns `None` when the host
/// is not legal.
fn split_host(place: &str) -> Option<(&str, &str)> {
    let end = if place.starts_with('[') { place.find(']')? + 1 } else { place.find(':').unwrap_or(place.len()) };
    let (host, rest) = place.split_at(end);
    let rest = if rest.is_empty() { "" } else { rest.strip_prefix(':')? };
    is_host(host).then_some((host, rest))
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.' | '_');
    !host.is_empty() && !host.starts_with(['-', '.']) && host.chars().all(is_letter)
}

fn join(host: &str, path: &str) -> Result<RemoteIdentity, NoIdentity> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if let Some(last) = segments.last_mut() {
        *last = without_git(last);
    }
    // If the last segment was `.git`, it is empty after this ending was removed. An empty segment is not a name, so it
    // is left out.
    segments.retain(|segment| !segment.is_empty());
    if segments.is_empty() || segments.iter().any(|segment| matches!(*segment, "." | "..")) {
        return Err(NoIdentity::Path);
    }
    Ok(RemoteIdentity(format!("{host}/{}", segments.join("/")).to_lowercase()))
}

fn without_git(name: &str) -> &str {
    let end =
        name.len().checked_sub(4).filter(|end| name.get(*end..).is_some_and(|tail| tail.eq_ignore_ascii_case(".git")));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(remote: &str, wanted: Result<&str, NoIdentity>) {
        assert_eq!(identity(remote).as_ref().map(RemoteIdentity::as_str).map_err(|why| *why), wanted, "{remote}");
    }

    #[test]
    fn remotes_have_one_name() {
        for remote in [
            "https://github.com/a/b",
            "https://github.com/a/b.git",
            "https://github.com:443/a/b/",
            "git://github.com/a/b.git",
            "ssh://git@github.com:22/a/b.git",
            "git@github.com:a/b.git",
            "git@github.com:/a/b",
            "github.com:a/b",
            "user:secret@github.com:a/b",
            "https://u:s@github.com/a/b?t=s#s",
            "git@github.com:a/b.git?t=s",
            "GIT@GitHub.com:A/B",
            "https://github.com/a/b/.git",
            "u@x@github.com:a/b",
        ] {
            check(remote, Ok("github.com/a/b"));
        }
        check("git@[::1]:a/b", Ok("[::1]/a/b"));
        check("https://gitlab.com/@team/b", Ok("gitlab.com/@team/b"));
        check("git@host:22/a/b", Ok("host/22/a/b"));
        check("git@host:a@b/c", Ok("host/a@b/c"));
        check("https://git@host/a@b/c", Ok("host/a@b/c"));
    }

    #[test]
    fn what_names_no_repository_says_why() {
        for (remote, why) in [
            ("", NoIdentity::Local),
            ("repo", NoIdentity::Local),
            ("../a:b/c", NoIdentity::Local),
            ("/srv/a:b", NoIdentity::Local),
            ("c:repo", NoIdentity::Local),
            ("file:/srv/a", NoIdentity::Local),
            ("git+file://h/a", NoIdentity::Local),
            ("\\\\server\\a", NoIdentity::Local),
            ("ext::ssh x", NoIdentity::Space),
            ("ext::sh", NoIdentity::Helper),
            (" https://h/a", NoIdentity::Space),
            ("https://h/a\n", NoIdentity::Space),
            ("a@b://h/a", NoIdentity::Scheme),
            ("https:/h/a", NoIdentity::Scheme),
            ("https:h/a", NoIdentity::Scheme),
            ("https:///a/b", NoIdentity::Host),
            ("https://-x/a", NoIdentity::Host),
            ("https://[::1/a", NoIdentity::Host),
            ("https://[x]/a", NoIdentity::Host),
            ("://h/a", NoIdentity::Scheme),
            (":a/b", NoIdentity::Host),
            ("https://h:65536/a", NoIdentity::Port),
            ("https://h:+1/a", NoIdentity::Port),
            ("https://h", NoIdentity::Path),
            ("https://h/?a", NoIdentity::Path),
            ("https://h/.git", NoIdentity::Path),
            ("https://h/a/../b", NoIdentity::Path),
            ("git@h:.", NoIdentity::Path),
            ("https://user:1/secret@h/a", NoIdentity::Credentials),
            ("user:secret@h/a", NoIdentity::Credentials),
        ] {
            check(remote, Err(why));
        }
    }
}
