//! JSON pointers: a way through a value, kept as steps and written down when it is needed.

use std::fmt::Write as _;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'n> {
    Name(&'n str),
    Index(usize),
}

/// Adds a way to a pointer.
pub(super) fn push_path(pointer: &mut String, path: &[Step<'_>]) {
    for step in path {
        pointer.push('/');
        match step {
            Step::Name(name) => push_name(pointer, name),
            Step::Index(index) => {
                // Writing into a string does not fail.
                let _ = write!(pointer, "{index}");
            }
        }
    }
}

fn push_name(pointer: &mut String, name: &str) {
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}
