//! Draws tables that fit the screen. Ids, numbers and states are always complete; the widest text column is cut.

use anstyle::Style;
use base::ground::local_time::LocalClock;
use unicode_width::UnicodeWidthChar as _;
use unicode_width::UnicodeWidthStr as _;
use wire::json::Value;

use super::outline::{moment, scalar};
use super::show::plain;

/// The width of a table, in characters, when standard output is no terminal but a pipe or a file.
const WIDTH_DEFAULT: usize = 80;
/// The smallest width of a table, in characters. On a narrower terminal the lines wrap, because a narrower table would
/// have no room for texts.
const WIDTH_MIN: usize = 60;
/// The smallest width, in characters, to which a column of texts is narrowed.
const TEXT_WIDTH_MIN: usize = 6;
/// The largest number of characters in a cell of a table. A longer text is cut and ends with `…`. The tool that returns
/// a single row of the table shows the full text.
const CELL_CHARS_MAX: usize = 120;
const GAP: &str = "  ";
/// The names of columns with amounts, that is, numbers with units. Amounts are never cut, and are aligned to the right.
const AMOUNTS: [&str; 4] = ["cost", "time", "for", "lines"];

/// The name of the column that shows a commit by the first characters of its hash.
const COMMIT: &str = "commit";
const COMMIT_CHARS: usize = 10;

/// Returns the width of the terminal in columns; `None` when standard output is no terminal. All code that needs the
/// terminal's width calls this function.
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Returns the width in columns for which text is written: the terminal's width but at least 60, and 80 without a
/// terminal.
pub(crate) fn screen_width() -> usize {
    terminal_width().map_or(WIDTH_DEFAULT, |width| width.max(WIDTH_MIN))
}

/// The screen on which a table is drawn: its width, and the clock by which times are shown.
#[derive(Debug, Clone)]
pub(crate) struct TableScreen {
    pub(crate) width: usize,
    pub(crate) clock: LocalClock,
}

/// Draws a table that fits the terminal of this process.
pub(crate) fn table(columns: &[&str], rows: &[Value]) -> String {
    TableScreen { width: screen_width(), clock: LocalClock::here() }.table(columns, rows)
}

/// The kind of texts in a column of a table. It decides whether they may be cut and how they are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    /// The column has texts, which are cut when the table is too wide.
    Text,
    /// The column has ids, states or times, which are never cut.
    Fixed,
    /// The column has numbers or amounts, which are never cut and are aligned to the right.
    Number,
}

struct Column {
    kind: ColumnKind,
    heading: String,
    cells: Vec<String>,
    width: usize,
    /// The width below which the column is not narrowed. It has room for the heading and for every id, because these
    /// are never cut.
    width_min: usize,
}

impl TableScreen {
    /// Draws a table: a line with the names of the columns, then one line for each row. A column shows the member of
    /// the row that has its name.
    pub(crate) fn table(&self, columns: &[&str], rows: &[Value]) -> String {
        let mut drawn: Vec<Column> = columns.iter().map(|name| self.column(name, rows)).collect();
        fit(&mut drawn, self.width);
        let dim = Style::new().dimmed();
        let heading = drawn.iter().map(|column| format!("{dim}{}{dim:#}", column.heading));
        let mut lines = vec![line(&drawn, heading)];
        for number in 0..rows.len() {
            let cells = drawn.iter().map(|column| column.cells.get(number).cloned().unwrap_or_default());
            lines.push(line(&drawn, cells));
        }
        lines.join("\n")
    }

    fn column(&self, name: &str, rows: &[Value]) -> Column {
        let values: Vec<&Value> = rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
        let cells: Vec<String> = values.iter().map(|value| self.cell(name, value)).collect();
        // The cells show the names of agents and tasks instead of their ids, so the heading has no `_id`.
        let heading = name.strip_suffix("_id").unwrap_or(name).replace('_', " ");
        let width = cells.iter().map(|cell| display_width(cell)).chain([display_width(&heading)]).max().unwrap_or(0);
        let ids = cells.iter().filter(|cell| is_id(cell)).map(|cell| display_width(cell));
        let width_min = ids.chain([TEXT_WIDTH_MIN, display_width(&heading)]).max().unwrap_or(TEXT_WIDTH_MIN);
        Column { kind: kind(name, &values), heading, cells, width, width_min }
    }

    fn cell(&self, name: &str, value: &Value) -> String {
        if let (COMMIT, Value::Text(hash)) = (name, value) {
            return plain(hash).chars().take(COMMIT_CHARS).collect();
        }
        let text = moment(name, value).and_then(|at| self.clock.short(at)).unwrap_or_else(|| scalar(name, value));
        // The escape codes for colours count as characters here. Only a status has them, and a status is always short.
        if text.chars().nth(CELL_CHARS_MAX).is_none() {
            return text;
        }
        text.chars().take(CELL_CHARS_MAX).chain(['…']).collect()
    }
}

fn kind(name: &str, values: &[&Value]) -> ColumnKind {
    let is_number = |value: &&&Value| matches!(value, Value::Number(_)) && moment(name, value).is_none();
    let known = || values.iter().filter(|value| !matches!(value, Value::Null));
    let all_are = |is_one: &dyn Fn(&&&Value) -> bool| known().next().is_some() && known().all(|value| is_one(&value));
    if AMOUNTS.contains(&name) || all_are(&is_number) {
        ColumnKind::Number
    } else if ["id", "status", COMMIT].contains(&name) || all_are(&|value| is_fixed(value)) {
        ColumnKind::Fixed
    } else {
        ColumnKind::Text
    }
}

fn is_fixed(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Text(text) => is_id(text),
        Value::List(_) | Value::Object(_) => false,
    }
}

/// Tells whether a text is an id, such as `tk_0123456789ab`.
fn is_id(text: &str) -> bool {
    let is_prefix = |prefix: &str| !prefix.is_empty() && prefix.chars().all(|letter| letter.is_ascii_lowercase());
    let is_rest = |rest: &str| rest.len() == 12 && rest.chars().all(|letter| letter.is_ascii_alphanumeric());
    text.split_once('_').is_some_and(|(prefix, rest)| is_prefix(prefix) && is_rest(rest))
}

/// Narrows the widest text column, again and again, until the table fits. If no text column can shrink further, the
/// table stays too wide, because ids and numbers are never cut.
fn fit(columns: &mut [Column], width: usize) {
    loop {
        let gaps = GAP.len() * columns.len().saturating_sub(1);
        let total = columns.iter().map(|column| column.width).sum::<usize>() + gaps;
        let can_shrink = |column: &&mut Column| column.kind == ColumnKind::Text && column.width > column.width_min;
        let widest = columns.iter_mut().filter(can_shrink).max_by_key(|column| column.width);
        match widest {
            Some(column) if total > width => column.width -= 1,
            Some(_) | None => return,
        }
    }
}

fn line(columns: &[Column], cells: impl Iterator<Item = String>) -> String {
    let padded = columns.iter().zip(cells).map(|(column, cell)| {
        let cell = cut(&cell, column.width);
        let space = " ".repeat(column.width.saturating_sub(display_width(&cell)));
        if column.kind == ColumnKind::Number { format!("{space}{cell}") } else { format!("{cell}{space}") }
    });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

/// Cuts a text to this display width. A text that is cut ends with `…`. Only texts without colours are cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used < width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Returns the number of columns that a text takes on a terminal. Escape codes for colours take none.
pub(crate) fn display_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

#[cfg(test)]
mod tests {
    use engine::Timestamp;
    use wire::json::object;

    use super::*;

    fn drawn(width: usize, columns: &[&str], rows: &[Value]) -> String {
        let screen = TableScreen { width, clock: LocalClock::fixed(Timestamp(1_794_958_205_000)) };
        anstream::adapter::strip_str(&screen.table(columns, rows)).to_string()
    }

    #[test]
    fn only_the_widest_text_column_is_cut() {
        let row = |name: &str, open: u64| {
            object([
                ("id", "tk_0123456789ab".into()),
                ("open", open.into()),
                ("agent", "quinn".into()),
                ("name", name.into()),
            ])
        };
        let rows = [row("After login, go back to the page the user came from", 7), row("Docs", 12)];
        let table = drawn(60, &["id", "open", "agent", "name"], &rows);
        assert_eq!(
            table,
            "id               open  agent  name\n\
             tk_0123456789ab     7  quinn  After login, go back to the p…\n\
             tk_0123456789ab    12  quinn  Docs"
        );
    }

    #[test]
    fn ids_and_numbers_are_complete_though_the_table_is_too_wide() {
        let row = object([("task_id", "tk_0123456789ab".into()), ("seen", 123_456_789_012_u64.into())]);
        let table = drawn(10, &["task_id", "seen"], &[row]);
        assert_eq!(table, "task                     seen\ntk_0123456789ab  123456789012");
    }

    #[test]
    fn an_id_beside_other_texts_is_complete() {
        let row = |by: &str| object([("by", by.into()), ("name", "Docs for the second version".into())]);
        let table = drawn(24, &["by", "name"], &[row("ag_0123456789ab"), row("human, who has a very long name")]);
        assert_eq!(table, "by               name\nag_0123456789ab  Docs f…\nhuman, who has…  Docs f…");
    }

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(cut("日本語の名前", 12), "日本語の名前");
        assert_eq!(cut("日本語の名前", 11), "日本語の名…");
        assert_eq!(cut("日本語の名前", 10), "日本語の…");
        assert_eq!(display_width("日本"), 4);
    }

    #[test]
    fn times_of_today_are_short_and_other_days_are_dates() {
        let row = |at: i64| object([("updated_at", Value::Number(at.into()))]);
        let rows = [row(1_794_958_205_000), row(1_794_000_000_000)];
        assert_eq!(drawn(80, &["updated_at"], &rows), "updated at\n23:30\n2026-11-06");
    }
}
