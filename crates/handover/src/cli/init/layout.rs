//! The layout of facts on the screen: labels, values and notes in columns, at most 80 columns wide.

use super::super::table::display_width;

/// The maximum width of a line in the output of `handover init`, in columns.
pub(super) const WIDTH: usize = 80;
/// The column of the screen in which the values begin, after the labels.
pub(super) const INDENT: usize = 11;
/// The minimum and the maximum width of the column with the values. The notes begin after this column. A value that is
/// wider than the maximum does not widen the column.
const VALUE_WIDTHS: (usize, usize) = (14, 30);

/// One fact: a label and a value. `notes` has several forms of one note, and the first form that fits the line is
/// shown.
#[derive(Debug, Default)]
pub(super) struct FactRow {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) notes: Vec<String>,
}

impl FactRow {
    pub(super) fn new(label: &'static str, value: impl Into<String>, notes: &[&str]) -> Self {
        Self { label, value: value.into(), notes: notes.iter().map(|note| (*note).to_owned()).collect() }
    }
}

/// Returns the rows as lines: label, value and note in columns.
pub(super) fn table(rows: &[FactRow]) -> Vec<String> {
    let (least, most) = VALUE_WIDTHS;
    let noted = rows.iter().filter(|row| row.notes.iter().any(|note| !note.is_empty()));
    let widths = noted.map(|row| display_width(&row.value)).filter(|width| *width <= most);
    let column = widths.max().unwrap_or(0).max(least);
    rows.iter().flat_map(|row| lines_of(row, column)).collect()
}

fn lines_of(row: &FactRow, column: usize) -> Vec<String> {
    let gap = column.saturating_sub(display_width(&row.value)) + 3;
    let begin = INDENT + display_width(&row.value) + gap;
    let note = row.notes.iter().find(|note| !note.is_empty() && begin + display_width(note) <= WIDTH);
    let start = format!("  {:<9}{}", row.label, row.value);
    let line = match note {
        Some(note) => format!("{start}{}{note}", " ".repeat(gap)),
        None => start,
    };
    wrapped(&line, &" ".repeat(INDENT))
}

/// Breaks a line at spaces, so that each line fits the width. A word that does not fit stays whole.
pub(super) fn wrapped(line: &str, indent: &str) -> Vec<String> {
    if display_width(line) <= WIDTH {
        return vec![line.to_owned()];
    }
    let start = line.len() - line.trim_start().len();
    let mut lines = vec![line[..start].to_owned()];
    for word in line.split_whitespace() {
        let last = lines.last_mut().map(|last| (display_width(last), last));
        match last {
            Some((width, last)) if width + 1 + display_width(word) <= WIDTH => {
                if !last.trim().is_empty() {
                    last.push(' ');
                }
                last.push_str(word);
            }
            Some(_) | None => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}
