//! How much longer everything takes on a machine that has other work to do.

use std::time::Duration;

/// More processes for each processor than a test shares a machine with.
const SHARE_MAX: f64 = 60.0;

/// Returns a bound of a quiet machine for this machine as it is: with ten processes for each processor everything takes ten times
/// as long. A quiet machine keeps the bound.
pub(crate) fn patience(bound: Duration) -> Duration {
    bound.mul_f64(share().clamp(1.0, SHARE_MAX))
}

/// Returns how many processes want each processor: now, or on average of the last minute, whichever is more.
fn share() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = text.split_whitespace();
    let average = words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    let running = words.nth(2).and_then(|word| word.split('/').next()?.parse::<f64>().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    average.max(running) / f64::from(u32::try_from(processors).unwrap_or(1))
}
