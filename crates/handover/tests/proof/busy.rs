//! Makes time limits of tests longer on a machine that has other work.

use std::time::Duration;

/// The largest load factor, in processes per processor. A load above this value does not make a time limit longer
/// still.
const SHARE_MAX: f64 = 60.0;

/// Returns a time limit multiplied by the machine's load: with ten processes per processor everything takes ten times
/// as long. On an idle machine the limit stays unchanged.
pub(crate) fn patience(bound: Duration) -> Duration {
    bound.mul_f64(share().clamp(1.0, SHARE_MAX))
}

/// Returns the number of processes per processor: the present number or the average of the last minute, the higher of
/// the two.
fn share() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = text.split_whitespace();
    let average = words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    let running = words.nth(2).and_then(|word| word.split('/').next()?.parse::<f64>().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    average.max(running) / f64::from(u32::try_from(processors).unwrap_or(1))
}
