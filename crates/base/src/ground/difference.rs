//! Compares two texts. All callers use the same kind of comparison, because each further kind would add some hundred
//! kilobytes of generic code to the program.

use similar::{DiffOp, TextDiff};

/// Returns the change of a file in the unified diff format, with three lines around each change. A text that is `None`
/// is a file that does not exist. The result is empty when nothing changes.
pub fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let side = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    diff.unified_diff().context_radius(3).header(side(before), side(after)).to_string()
}

/// Returns the steps that turn one list of words into another.
pub fn steps(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    TextDiff::from_slices(old, new).ops().to_vec()
}
