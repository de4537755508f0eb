//! Tests that reading a program's output needs only bounded memory. The test must run alone in its process, because it
//! measures the memory of the whole process.

use agents::adapter::{AdapterKind, Exit, Listener};

const LINE_BYTES: usize = 64 << 20;
/// The largest growth of this process's memory that the test allows, in KiB. It leaves room for two lines of the
/// greatest length that is read, and for the other memory of the test.
const GROWTH_KIB_MAX: u64 = 48 << 10;
/// The largest amount of memory, in KiB, that may stay in use after 180 000 lines were read. It is less than twelve
/// bytes per line, so the listener cannot keep a part of every line.
const LEFT_KIB_MAX: u64 = 2 << 10;

fn memory_kib(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn neither_a_64_mib_line_nor_any_number_of_lines_fills_the_memory() {
    let before = memory_kib("VmHWM");
    let piece = vec![b'x'; 64 << 10];
    for kind in AdapterKind::ALL {
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
    for (kind, line) in [AdapterKind::Claude, AdapterKind::Codex, AdapterKind::Acp].into_iter().zip(lines) {
        let mut listener = Listener::new(kind);
        let mut settled = 0;
        for number in 0..1000 {
            // By now, the memory in which the listener keeps facts for its report has reached its limit.
            if number == 100 {
                settled = memory_kib("VmRSS");
            }
            listener.feed(line.replace("NUMBER", &number.to_string()).repeat(200).as_bytes());
        }
        let left = memory_kib("VmRSS").saturating_sub(settled);
        assert!(left < LEFT_KIB_MAX, "{}: {left} KiB", kind.name());
        listener.end(Exit::Code(0), "");
    }
    let growth = memory_kib("VmHWM") - before;
    assert!(growth < GROWTH_KIB_MAX, "{growth} KiB");
}
