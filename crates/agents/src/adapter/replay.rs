//! Reads what a program wrote a second time.

use super::{Exit, Heard, Kind, Listener};

/// Tools that are named. A turn that called more has them in its stream.
const CALLS_MAX: usize = 50;

/// Returns the answer of a program and each tool that it called with how often, in the order of the first calls, read from
/// what it wrote.
pub fn replay(adapter: &str, mut written: impl std::io::Read) -> std::io::Result<(String, Vec<(String, u32)>)> {
    let mut listener = Listener::new(Kind::named(adapter).unwrap_or(Kind::Exec));
    let mut calls: Vec<(String, u32)> = Vec::new();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = written.read(&mut bytes)?;
        let Some(fresh) = bytes.get(..count).filter(|fresh| !fresh.is_empty()) else { break };
        for heard in listener.feed(fresh) {
            let Heard::ToolCall { name } = heard else { continue };
            if let Some((_, count)) = calls.iter_mut().find(|(known, _)| *known == name) {
                *count = count.saturating_add(1);
            } else if calls.len() < CALLS_MAX {
                calls.push((name, 1));
            }
        }
    }
    Ok((listener.end(Exit::Code(0), "").text, calls))
}
