//! References: the name of a resource in another repository, written `host/owner/repo:table/name`.

use std::fmt;

use super::remote::{NoIdentity, RemoteIdentity, identity};
use crate::json::{Value, object};

/// A reference to a resource in a repository. `identity` names the repository, and `table` and `name` name the resource
/// in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    identity: RemoteIdentity,
    table: String,
    name: String,
}

/// The reason why a text is not a reference to a resource in another repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoReference {
    Space,
    Colons { found: usize },
    Resource,
    Repository(NoIdentity),
    NotNormal { identity: RemoteIdentity },
    NoOwner,
}

impl fmt::Display for NoReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Space => f.write_str("a reference has no white space and no control characters"),
            Self::Colons { found } => {
                write!(f, "a reference has one colon, as in `host/owner/repo:table/name`; found {found}")
            }
            Self::Resource => {
                f.write_str("after the colon come a table and a name with one `/` between them, neither of them empty")
            }
            Self::Repository(why) => write!(f, "before the colon comes `host/owner/repo`: {why}"),
            Self::NotNormal { identity } => write!(f, "before the colon comes the plain identity, here `{identity}`"),
            Self::NoOwner => {
                f.write_str("before the colon come a host and at least two names, as in `host/owner/repo`")
            }
        }
    }
}

impl std::error::Error for NoReference {}

impl Reference {
    /// Parses a reference of the form `host/owner/repo:table/name`. Ignores the letter case of the repository. All
    /// other parts must be exact.
    pub fn parse(text: &str) -> Result<Self, NoReference> {
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(NoReference::Space);
        }
        let found = text.matches(':').count();
        let Some((repository, resource)) = text.split_once(':').filter(|_| found == 1) else {
            return Err(NoReference::Colons { found });
        };
        let is_name = |part: &str| !part.is_empty() && !part.contains('/');
        let named = resource.split_once('/').filter(|(table, name)| is_name(table) && is_name(name));
        let (table, name) = named.ok_or(NoReference::Resource)?;
        let identity = identity(&format!("https://{repository}")).map_err(NoReference::Repository)?;
        if identity.as_str() != repository.to_lowercase() {
            return Err(NoReference::NotNormal { identity });
        }
        if identity.path_segments() < 2 {
            return Err(NoReference::NoOwner);
        }
        Ok(Self { identity, table: table.to_owned(), name: name.to_owned() })
    }

    pub fn identity(&self) -> &RemoteIdentity {
        &self.identity
    }

    pub fn table(&self) -> &str {
        &self.table
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `{parsed}` with the parts of a reference to a resource. `parsed` is null when the text is not a
    /// reference.
    pub fn to_value(found: &Result<Self, NoReference>) -> Value {
        let parsed = found.as_ref().ok().map(|reference| {
            object([
                ("identity", reference.identity.as_str().into()),
                ("table", reference.table.as_str().into()),
                ("name", reference.name.as_str().into()),
            ])
        });
        object([("parsed", parsed.into())])
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.identity, self.table, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong() {
        for (text, part) in [
            ("github.com/org/repo", "one colon"),
            ("[::1]/a/b:t/n", "found 3"),
            ("github.com/org/repo:t", "a table and a name"),
            ("github.com/org/repo:t/n/m", "a table and a name"),
            ("github.com/org/repo:/n", "a table and a name"),
            ("github.com/repo:t/n", "at least two names"),
            ("github.com/org/repo.git:t/n", "here `github.com/org/repo`"),
            ("github.com/org/repo/:t/n", "here `github.com/org/repo`"),
            ("github.com/org/repo?x:t/n", "here `github.com/org/repo`"),
            ("secret@github.com/org/repo:t/n", "here `github.com/org/repo`"),
            ("/org/repo:t/n", "the host is missing"),
            ("github.com/org/repo:t/n n", "white space"),
        ] {
            let found = Reference::parse(text).map_err(|why| why.to_string());
            assert!(found.as_ref().is_err_and(|why| why.contains(part)), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_reference_is_written_as_it_is_read() {
        let reference = Reference::parse("GitHub.com/Org/Sub/Repo:T/N.x").expect("a reference");
        assert_eq!(reference.to_string(), "github.com/org/sub/repo:T/N.x");
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
    }
}
