//! Decides how much of each checkpoint (progress note of a task) the reply of `task_load_context` shows: the newest
//! checkpoints in full, older checkpoints without detail, and even older checkpoints as one line each. The oldest
//! checkpoints are only counted.

use engine::checkpoint::Checkpoint;

use super::cuts::{Cuts, Fetch};
use super::piece::{LEAST, PieceContent, PieceField, first_words, share};
use crate::json::{Number, Value, object};
use crate::tokens::{UNIT, weight};

/// The maximum weight (token cost) that the summary may take when a checkpoint is shown as one line. A longer summary
/// is cut.
const LINE: u64 = 16 * UNIT;
/// The weight (token cost) of the braces around one object in a JSON list and of the comma after the object.
const BRACES: u64 = 2 * UNIT;

/// The forms in which the reply of `task_load_context` can show a checkpoint (a progress note of a task), shortest
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CheckpointLevel {
    Counted,
    Line,
    /// Shows the sequence number, the type and the summary of the checkpoint.
    Short,
    /// Shows all fields of the checkpoint, with their texts cut so that the checkpoint has this weight (token cost).
    Part(u64),
    Full,
}

/// A checkpoint (a progress note of a task), and its weight (estimated token cost) in each form in which it can be
/// shown.
struct CheckpointEntry<'f> {
    row: &'f Checkpoint,
    line: u64,
    short: u64,
    full: u64,
    /// The level of detail with which the checkpoint is shown when the token budget is large enough for the whole
    /// reply.
    wanted: CheckpointLevel,
}

impl CheckpointEntry<'_> {
    fn price(&self, level: CheckpointLevel) -> u64 {
        match level {
            CheckpointLevel::Counted => 0,
            CheckpointLevel::Line => self.line,
            CheckpointLevel::Short => self.short,
            CheckpointLevel::Part(grant) => grant,
            CheckpointLevel::Full => self.full,
        }
    }
}

/// The loaded checkpoints (progress notes) of a task, newest first, and the number of all its checkpoints.
pub(super) struct History<'f> {
    entries: Vec<CheckpointEntry<'f>>,
    /// The number of all checkpoints of the task, including those that were not loaded from the store.
    total: u32,
    pub(super) least: u64,
    /// The weight (token cost) that all checkpoints at their wanted level of detail need in addition to `least`.
    /// `least` already covers the newest checkpoint as one line.
    pub(super) want: u64,
}

impl<'f> History<'f> {
    /// Builds the history of a task's checkpoints. With enough room, the newest `detailed` checkpoints are shown in
    /// full and the others without detail.
    pub(super) fn new(rows: &'f [Checkpoint], total: u32, detailed: usize) -> Self {
        let wanted = |at: usize| if at < detailed { CheckpointLevel::Full } else { CheckpointLevel::Short };
        let entries: Vec<_> = rows.iter().rev().enumerate().map(|(at, row)| entry(row, wanted(at))).collect();
        let frame = weight("\"checkpoints\":[],\"earlier_checkpoints\":1000000,");
        let least = frame + entries.first().map_or(0, |newest| newest.line);
        let want: u64 = entries.iter().map(|entry| entry.price(entry.wanted)).sum();
        let want = want.saturating_sub(entries.first().map_or(0, |newest| newest.line));
        Self { entries, total, least, want }
    }

    /// Returns the list of shown checkpoints, oldest first, and the number of checkpoints that are not in the list.
    /// `grant` is the weight (token cost) that the list may use in addition to `self.least`.
    pub(super) fn render(&self, grant: u64, cuts: &mut Cuts) -> (Value, u32) {
        let levels = self.levels(grant);
        let shown = self.entries.iter().zip(&levels).rev().filter_map(|(entry, level)| show(entry, *level));
        let shown: Vec<Value> = shown.collect();
        let earlier = self.total.saturating_sub(u32::try_from(shown.len()).unwrap_or(u32::MAX));
        let is_reduced = |(entry, level): &(&CheckpointEntry<'_>, &CheckpointLevel)| {
            **level != CheckpointLevel::Counted && **level != entry.wanted
        };
        let reduced = self.entries.iter().zip(&levels).filter(is_reduced);
        cuts.add("checkpoints", u64::from(earlier), Fetch::Checkpoints);
        cuts.add("checkpoints.detail", u64::try_from(reduced.count()).unwrap_or(u64::MAX), Fetch::Checkpoints);
        (Value::List(shown), earlier)
    }

    /// Chooses the level of detail for each checkpoint. Up to half of the weight (token cost) is reserved for the
    /// newest checkpoint. The rest is spent on the older checkpoints in this order: one line each, until a quarter of
    /// the rest is spent; summaries, until three fifths of the rest are spent; full details; more lines; more
    /// summaries. Each step starts with the newest of the older checkpoints.
    fn levels(&self, grant: u64) -> Vec<CheckpointLevel> {
        let mut levels = vec![CheckpointLevel::Counted; self.entries.len()];
        let Some(newest) = self.entries.first() else { return levels };
        if grant >= self.want {
            return self.entries.iter().map(|entry| entry.wanted).collect();
        }
        let budget = grant + newest.line;
        let wanted = newest.price(newest.wanted);
        levels[0] = if wanted <= budget / 2 { newest.wanted } else { CheckpointLevel::Line };
        let reserved = wanted.min(budget / 2).max(newest.line);
        let mut spend = Spend { entries: &self.entries[1..], left: budget - reserved };
        let rest = &mut levels[1..];
        let others = spend.left;
        spend.raise(rest, CheckpointLevel::Line, others - others / 4);
        spend.raise(rest, CheckpointLevel::Short, others - others * 3 / 5);
        spend.fill(rest);
        spend.raise(rest, CheckpointLevel::Line, 0);
        spend.raise(rest, CheckpointLevel::Short, 0);
        let left = spend.left + reserved - if levels[0] == CheckpointLevel::Line { newest.line } else { reserved };
        self.give_rest(&mut levels, left);
        levels
    }

    /// Gives the remaining weight (token cost) to one checkpoint: the newest that is not yet shown with its wanted
    /// level of detail.
    fn give_rest(&self, levels: &mut [CheckpointLevel], left: u64) {
        let short_of = |(entry, level): (&CheckpointEntry<'_>, &CheckpointLevel)| *level < entry.wanted;
        let Some(at) = self.entries.iter().zip(levels.iter()).position(short_of) else { return };
        let (entry, level) = (&self.entries[at], levels[at]);
        let grant = entry.price(level) + left;
        if grant >= entry.price(entry.wanted) {
            levels[at] = entry.wanted;
        } else if left >= LEAST {
            levels[at] = CheckpointLevel::Part(grant);
        }
    }
}

/// The weight (estimated token cost) that is left for showing checkpoints (progress notes of a task). It is spent on
/// the newest checkpoint first.
struct Spend<'e, 'f> {
    entries: &'e [CheckpointEntry<'f>],
    left: u64,
}

impl Spend<'_, '_> {
    /// Raises checkpoints to the level of detail `to`, newest first. At least `keep` of the weight (token cost) must
    /// stay unspent, so this function stops at the first checkpoint that would cost too much.
    fn raise(&mut self, levels: &mut [CheckpointLevel], to: CheckpointLevel, keep: u64) {
        for (entry, level) in self.entries.iter().zip(levels) {
            let to = to.min(entry.wanted);
            if *level >= to {
                continue;
            }
            let price = entry.price(to).saturating_sub(entry.price(*level));
            if self.left < keep.saturating_add(price) {
                return;
            }
            self.left -= price;
            *level = to;
        }
    }

    /// Raises checkpoints from a summary to all details, if the caller wants them in full. Skips a checkpoint whose
    /// details do not fit into the remaining weight (token cost) and continues with the next one.
    fn fill(&mut self, levels: &mut [CheckpointLevel]) {
        for (entry, level) in self.entries.iter().zip(levels) {
            let price = entry.price(entry.wanted).saturating_sub(entry.price(*level));
            if *level == CheckpointLevel::Short && entry.wanted == CheckpointLevel::Full && price <= self.left {
                self.left -= price;
                *level = CheckpointLevel::Full;
            }
        }
    }
}

fn entry(row: &Checkpoint, wanted: CheckpointLevel) -> CheckpointEntry<'_> {
    let price = |value: &Value| weight(&value.to_string()) + UNIT;
    let full = match wanted {
        CheckpointLevel::Full | CheckpointLevel::Part(_) => {
            fields(row).iter().map(|field| field.want).sum::<u64>() + BRACES
        }
        CheckpointLevel::Counted | CheckpointLevel::Line | CheckpointLevel::Short => 0,
    };
    CheckpointEntry { row, line: price(&line(row)), short: price(&short(row)), full, wanted }
}

fn show(entry: &CheckpointEntry<'_>, level: CheckpointLevel) -> Option<Value> {
    match level {
        CheckpointLevel::Counted => None,
        CheckpointLevel::Line => Some(line(entry.row)),
        CheckpointLevel::Short => Some(short(entry.row)),
        CheckpointLevel::Part(grant) => {
            let all = if entry.wanted == CheckpointLevel::Full { part(&fields(entry.row), grant) } else { None };
            let shown = all.or_else(|| part(&short_fields(entry.row), grant));
            Some(shown.unwrap_or_else(|| line(entry.row)))
        }
        CheckpointLevel::Full => part(&fields(entry.row), u64::MAX),
    }
}

/// Returns the fields of a checkpoint as an object, cut to the weight (token cost) `grant`. Returns `None` when `grant`
/// is less than the sum of the fields' least weights.
fn part(fields: &[PieceField<'_>], grant: u64) -> Option<Value> {
    let budget = grant.checked_sub(BRACES)?;
    if budget < fields.iter().map(|field| field.least).sum() {
        return None;
    }
    let members = fields.iter().zip(share(fields, budget)).filter_map(|(field, grant)| {
        let value = field.render(grant).value?;
        Some((field.name.to_owned(), value))
    });
    Some(Value::Object(members.collect()))
}

fn line(row: &Checkpoint) -> Value {
    format!("{} {}: {}", row.sequence, row.note.kind, first_words(&row.note.summary, LINE)).into()
}

fn short(row: &Checkpoint) -> Value {
    let (kind, summary) = (row.note.kind.as_str().into(), row.note.summary.as_str().into());
    object([("sequence", u64::from(row.sequence).into()), ("type", kind), ("summary", summary)])
}

fn short_fields(row: &Checkpoint) -> Vec<PieceField<'_>> {
    vec![
        PieceField::new("sequence", PieceContent::Whole(u64::from(row.sequence).into())),
        PieceField::new("type", PieceContent::Whole(row.note.kind.as_str().into())),
        PieceField::new("summary", PieceContent::Name(&row.note.summary)),
    ]
}

fn fields(row: &Checkpoint) -> Vec<PieceField<'_>> {
    let whole = |name, value| PieceField::new(name, PieceContent::Whole(value));
    let mut fields = vec![
        whole("id", row.id.to_string().into()),
        whole("sequence", u64::from(row.sequence).into()),
        whole("type", row.note.kind.as_str().into()),
        whole("attempt", u64::from(row.attempt).into()),
        whole("by", row.by.to_string().into()),
        PieceField::new("summary", PieceContent::Name(&row.note.summary)),
    ];
    fields.extend(row.note.detail.as_ref().map(|detail| PieceField::json("detail", Some(detail))));
    fields.extend(PieceField::list("files_changed", &row.note.files));
    fields.push(whole("created_at", Value::Number(Number::from(row.at.0))));
    fields
}
