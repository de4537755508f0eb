//! Reads the output of a program again, from the file in which it was kept.

use super::{AdapterKind, Exit, HeardEvent, Listener};

/// The largest number of different tools that are listed. Further tools are left out of the list, but can be found in
/// the kept output of the program.
const CALLS_MAX: usize = 50;

/// Returns the program's answer, and the tools that it called in the order of their first calls, each with its number
/// of calls. Both are read from the program's kept output.
pub fn replay(adapter: &str, mut written: impl std::io::Read) -> std::io::Result<(String, Vec<(String, u32)>)> {
    let mut listener = Listener::new(AdapterKind::named(adapter).unwrap_or(AdapterKind::Exec));
    let mut calls: Vec<(String, u32)> = Vec::new();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = written.read(&mut bytes)?;
        let Some(fresh) = bytes.get(..count).filter(|fresh| !fresh.is_empty()) else { break };
        for heard in listener.feed(fresh) {
            let HeardEvent::ToolCall { name, .. } = heard else { continue };
            if let Some((_, count)) = calls.iter_mut().find(|(known, _)| *known == name) {
                *count = count.saturating_add(1);
            } else if calls.len() < CALLS_MAX {
                calls.push((name, 1));
            }
        }
    }
    Ok((listener.end(Exit::Code(0), "").text, calls))
}
