//! Alone in its process, because it looks at the memory of all of it.

use handover::runner::adapter::{Exit, Kind, Listener};

const LINE_BYTES: usize = 64 << 20;
/// Twice the longest line that is read, and what else a test holds.
const GROWTH_KIB_MAX: u64 = 48 << 10;

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn neither_a_64_mib_line_nor_a_million_lines_fill_the_memory() {
    let before = peak_kib();
    let piece = vec![b'x'; 64 << 10];
    for kind in Kind::ALL {
        let mut listener = Listener::new(kind);
        listener.feed(b"{\"type\":\"result\",\"result\":\"");
        for _ in 0..LINE_BYTES / piece.len() {
            assert!(listener.feed(&piece).is_empty(), "{}", kind.name());
        }
        listener.feed(b"\"}\n");
        let said = listener.end(Exit::Code(0), "");
        assert_eq!(said.warnings[0], "1 lines were too long to be read", "{}", kind.name());
    }
    let lines = [
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"on and on\"}]}}\n",
        "{\"type\":\"item.completed\",\"item\":{\"type\":\"error\",\"message\":\"on and on\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"NUMBER\"}}}\n",
    ];
    for (kind, line) in [Kind::Claude, Kind::Codex, Kind::Acp].into_iter().zip(lines) {
        let mut listener = Listener::new(kind);
        for thousand in 0..1000 {
            let thousand_lines = line.replace("NUMBER", &thousand.to_string()).repeat(1000);
            listener.feed(thousand_lines.as_bytes());
        }
        listener.end(Exit::Code(0), "");
    }
    let growth = peak_kib() - before;
    assert!(growth < GROWTH_KIB_MAX, "{growth} KiB");
}
