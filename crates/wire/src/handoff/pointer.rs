//! JSON pointers. A path through a value is kept as a list of steps and is written as text only when needed.

use std::fmt::Write as _;

#[derive(Debug, Clone, Copy)]
pub(super) enum PointerPart<'n> {
    Name(&'n str),
    Index(usize),
}

/// Appends the steps of a path to the text of a JSON pointer.
pub(super) fn push_path(pointer: &mut String, path: &[PointerPart<'_>]) {
    for step in path {
        pointer.push('/');
        match step {
            PointerPart::Name(name) => push_name(pointer, name),
            PointerPart::Index(index) => {
                // Ignore the result, because writing into a string never fails.
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
