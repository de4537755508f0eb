//! Runs the rounds of a comparison, in which Handover and a reference program alternate, computes the ratios of their
//! results, and prints the table of all results.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

/// The number of rounds of each comparison, not counting the noisy rounds.
pub(crate) const ROUNDS: usize = 7;
const ROUNDS_MIN: usize = 5;
/// A round is noisy, and left out, when a sync of the disk before or after the round took this many times as long as
/// the fastest sync.
const NOISE_MAX: f64 = 2.0;

pub(crate) struct Report {
    folder: PathBuf,
    fsync_best_us: f64,
    rows: Vec<Row>,
}

struct Row {
    what: String,
    ours: String,
    reference: String,
    ratio: String,
    bar: String,
    met: bool,
}

/// A bound on the ratio of Handover's result to the result of the reference program.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    fn met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bar) => ratio >= bar,
            Self::AtMost(bar) => ratio <= bar,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(bar) => format!("at least {bar}"),
            Self::AtMost(bar) => format!("at most {bar}"),
        }
    }
}

impl Report {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let mut report = Self { folder: folder.to_owned(), fsync_best_us: f64::MAX, rows: Vec::new() };
        for _ in 0..5 {
            report.fsync_us()?;
        }
        Ok(report)
    }

    /// Returns the median time of writing and syncing 4 KiB to the disk, in microseconds. Remembers the shortest of
    /// these medians.
    pub(crate) fn fsync_us(&mut self) -> Result<f64> {
        let path = self.folder.join("fsync-probe");
        let mut file = File::create(&path)?;
        let mut times = Vec::new();
        for _ in 0..60 {
            let began = Instant::now();
            file.write_all(&[7; 4096])?;
            file.sync_data()?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        std::fs::remove_file(path)?;
        let found = median(&mut times);
        self.fsync_best_us = self.fsync_best_us.min(found);
        Ok(found)
    }

    /// Runs Handover and the reference program in turn, leaves out rounds in which the disk was slow, and takes the
    /// median of the ratios. When too few rounds remain, uses the rounds with the fastest disk, and the table of
    /// results says so. Returns the numbers of the rounds that were used.
    pub(crate) fn compare(
        &mut self,
        what: &str,
        bar: Bar,
        mut round: impl FnMut(usize) -> Result<(f64, f64)>,
    ) -> Result<Vec<usize>> {
        let mut rounds = Vec::new();
        // The disk of a virtual machine changes its speed over time, so each comparison finds the fastest sync of its
        // own rounds.
        let mut best = f64::INFINITY;
        for number in 0..ROUNDS * 3 {
            let before = self.fsync_us()?;
            let pair = round(number)?;
            let after = self.fsync_us()?;
            best = best.min(before).min(after);
            eprintln!(
                "  {what}: round {} ours {:.1} reference {:.1} ratio {:.3} fsync {before:.0}/{after:.0} us",
                number + 1,
                pair.0,
                pair.1,
                pair.0 / pair.1,
            );
            rounds.push((before.max(after), number, pair));
            if rounds.iter().filter(|(slow, _, _)| *slow <= NOISE_MAX * best).count() >= ROUNDS {
                break;
            }
        }
        rounds.sort_by(|left, right| left.0.total_cmp(&right.0));
        let quiet = rounds.iter().filter(|(slow, _, _)| *slow <= NOISE_MAX * best).count();
        let what = if quiet < ROUNDS_MIN { format!("{what} (noisy disk)") } else { what.to_owned() };
        rounds.truncate(quiet.max(ROUNDS_MIN));
        let numbers = rounds.iter().map(|(_, number, _)| *number).collect();
        let kept: Vec<(f64, f64)> = rounds.into_iter().map(|(_, _, pair)| pair).collect();
        let mut ratios: Vec<f64> = kept.iter().map(|(ours, reference)| ours / reference).collect();
        let ratio = median(&mut ratios);
        let (low, high) = (ratios.first().copied().unwrap_or(0.0), ratios.last().copied().unwrap_or(0.0));
        let ours = median(&mut kept.iter().map(|pair| pair.0).collect::<Vec<_>>());
        let reference = median(&mut kept.iter().map(|pair| pair.1).collect::<Vec<_>>());
        self.rows.push(Row {
            what,
            ours: number(ours),
            reference: number(reference),
            ratio: format!("{ratio:.2} [{low:.2}-{high:.2}]"),
            bar: bar.text(),
            met: bar.met(ratio),
        });
        Ok(numbers)
    }

    /// Adds the results of Handover and of the reference program to the table of results, with a bound on their ratio.
    /// Callers use it for results that were measured once and not in rounds.
    pub(crate) fn ratio(&mut self, what: &str, ours: f64, reference: f64, bar: Bar) {
        let ratio = ours / reference;
        self.rows.push(Row {
            what: what.to_owned(),
            ours: number(ours),
            reference: number(reference),
            ratio: format!("{ratio:.3}"),
            bar: bar.text(),
            met: bar.met(ratio),
        });
    }

    /// Adds a single result to the table of results, with an optional bound.
    pub(crate) fn figure(&mut self, what: &str, found: f64, unit: &str, bar: Option<Bar>) {
        self.rows.push(Row {
            what: what.to_owned(),
            ours: format!("{} {unit}", number(found)),
            reference: String::new(),
            ratio: String::new(),
            bar: bar.map(Bar::text).unwrap_or_default(),
            met: bar.is_none_or(|bar| bar.met(found)),
        });
    }

    pub(crate) fn missed(&self) -> bool {
        self.rows.iter().any(|row| !row.met)
    }

    pub(crate) fn print(&self) {
        println!("| what | ours | reference | ratio (median, range) | bar | met |");
        println!("|---|---|---|---|---|---|");
        for row in &self.rows {
            let met = if row.bar.is_empty() {
                ""
            } else if row.met {
                "yes"
            } else {
                "NO"
            };
            println!("| {} | {} | {} | {} | {} | {met} |", row.what, row.ours, row.reference, row.ratio, row.bar);
        }
        println!("\nRaw 4 KiB write and fdatasync: best median of the run {:.0} us.", self.fsync_best_us);
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    percentile(values, 0.5)
}

pub(crate) fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    if values.is_empty() {
        return 0.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a short list"
    )]
    let place = ((values.len() - 1) as f64 * part).round() as usize;
    values[place]
}
