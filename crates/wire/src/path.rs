//! Checks paths in messages by their text only, without looking at the file system.

use std::collections::HashMap;

use crate::report::Hint;
use crate::schema;
use crate::shape::texts;
use crate::text::is_blank;

type JudgedPath = Result<(), (&'static str, Hint)>;

/// Returns the components of a relative path, with `.`, `..` and repeated slashes resolved. Returns `None` when the
/// path leads out of the folder to which it is relative.
pub fn resolve(path: &str) -> Option<Vec<&str>> {
    if path.starts_with('/') || path.contains(['\\', '\0']) {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts)
}

fn inside(path: &str) -> JudgedPath {
    if is_blank(path) {
        return Err(("BLANK", "must not be blank".into()));
    }
    let hint = "must be a relative path inside the repository, with `/` and without leaving it by `..`";
    resolve(path).map_or(Err(("PATH_OUTSIDE_ROOT", hint.into())), |_| Ok(()))
}

fn file(path: &str) -> JudgedPath {
    inside(path)?;
    let parts = resolve(path).unwrap_or_default();
    let hint = if parts.is_empty() || path.ends_with('/') {
        "must name a file, not a folder"
    } else if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        "must not lie inside `.git`"
    } else {
        return Ok(());
    };
    Err(("PATH_OUTSIDE_ROOT", hint.into()))
}

texts! {
    /// A relative path in a message. It must not lead out of the repository.
    InsidePath: inside, schema::pattern(&format!("^(?!/){}[^\\\\\\u0000]*$", schema::somewhere_not_blank())),
        "a relative path inside the repository";
    /// The relative path of a file that an agent may write: inside the repository, but not inside `.git`.
    FilePath: file, schema::pattern(&format!(
        "^(?!/){}[^\\\\\\u0000]*[^\\\\\\u0000/]$",
        schema::somewhere_not_blank()
    )), "a relative path of a file inside the repository";
}

/// The paths of several files, as a tree. It detects a path that is added twice, and a file whose path another file
/// needs as a folder. Adding takes time linear in the length of the path.
#[derive(Debug, Default)]
pub struct Files<'p> {
    children: HashMap<(usize, &'p str), usize>,
    /// One value per node of the tree of paths: true for a file, false for a folder. The index is the number of the
    /// node.
    is_file: Vec<bool>,
}

impl<'p> Files<'p> {
    /// Adds the path of a file. Returns false when the path was added before, or when one path would be both a file and
    /// a folder.
    pub fn add(&mut self, path: &'p str) -> bool {
        let Some(parts) = resolve(path).filter(|parts| !parts.is_empty()) else { return true };
        if self.is_file.is_empty() {
            self.is_file.push(false);
        }
        let (mut here, mut fresh) = (0, false);
        for part in parts {
            if self.is_file[here] {
                return false;
            }
            let next = self.is_file.len();
            let found = *self.children.entry((here, part)).or_insert(next);
            fresh = found == next;
            if fresh {
                self.is_file.push(false);
            }
            here = found;
        }
        if fresh {
            self.is_file[here] = true;
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_do_not_stand_in_each_others_way() {
        let mut files = Files::default();
        let added: Vec<bool> = ["a/b", "a/c", "./a//b", "a", "a/b/c", "x/../a/c", "d", "d/e", "f/g/h", "f/g"]
            .map(|path| files.add(path))
            .into();
        assert_eq!(added, [true, true, false, false, false, false, true, false, true, false]);
    }
}
