//! Checks that reading the output of a program never fails, and gives the right report, for any bytes.

use agents::adapter::{AdapterKind, AgentEnd, Exit, Listener, Permissions, TurnSaid};
use chance::SeededRandom;

use super::recorded::{cases, understood};
use super::replay::{bytes, is_two_sided, kind, listen, stderr, talk};

/// Returns the recordings of a program's standard output, without the recordings that hold both sides of a
/// conversation.
fn one_sided() -> impl Iterator<Item = (String, Exit, Vec<u8>)> {
    let all = cases().into_iter().map(|(name, exit)| {
        let bytes = bytes(&name);
        (name, exit, bytes)
    });
    all.filter(|(_, _, bytes)| !is_two_sided(bytes))
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut() {
    let mut dice = SeededRandom::new(0x9e37_79b9_7f4a_7c15);
    for (name, exit, bytes) in one_sided() {
        let whole = understood(&name, exit);
        for _ in 0..8 {
            let mut listener = Listener::new(kind(&name));
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((1 + dice.below(97)).min(rest.len()));
                listener.feed(piece);
                rest = after;
            }
            assert_eq!(listener.end(exit, &stderr(&name)), whole, "{name}");
        }
    }
}

#[test]
fn a_stream_that_stops_early_is_never_finished() {
    for (name, exit, bytes) in one_sided() {
        // Output of the kind `exec` has no event that marks its end, and the recording `streamin` has answers to
        // several messages. The test skips both, because a cut piece of them can look like a complete output.
        if kind(&name) == AdapterKind::Exec
            || name.contains("streamin")
            || listen(&name, &bytes, exit).end != AgentEnd::Finished
        {
            continue;
        }
        let last = bytes.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap();
        let step = (last / 300).max(1);
        for end in (0..=last).step_by(step) {
            let said = listen(&name, &bytes[..end], Exit::Code(0));
            assert_ne!(said.end, AgentEnd::Finished, "{name} cut at {end}");
        }
    }
}

#[test]
fn garbage_between_the_lines_changes_nothing() {
    let deep = "[".repeat(100_000);
    let deep_event = format!("{{\"type\":\"result\",\"x\":{deep}");
    let garbage: [&[u8]; 9] = [
        b"\0\0\0",
        b"\xff\xfe\xfa",
        b"{",
        b"Reading additional input from stdin...",
        b"{\"type\":\"unheard_of\",\"text\":\"no\",\"result\":\"no\"}",
        b"{\"type\":17}",
        b"\x1b[91mError:\x1b[0m something",
        deep.as_bytes(),
        deep_event.as_bytes(),
    ];
    for (name, exit, bytes) in one_sided().filter(|(name, ..)| kind(name) != AdapterKind::Exec) {
        let mut noisy = Vec::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            noisy.extend_from_slice(garbage[index % garbage.len()]);
            noisy.push(b'\n');
            noisy.extend_from_slice(line);
            noisy.extend_from_slice(b"\r\n");
        }
        assert_eq!(listen(&name, &noisy, exit), understood(&name, exit), "{name}");
    }
}

#[test]
fn no_broken_bit_makes_it_fail() {
    let mut dice = SeededRandom::new(0x2545_f491_4f6c_dd1d);
    for (name, exit, bytes) in one_sided().filter(|(_, _, bytes)| !bytes.is_empty()) {
        for _ in 0..150 {
            let mut broken = bytes.clone();
            for _ in 0..=dice.below(8) {
                let at = dice.below(broken.len());
                broken[at] ^= 1 << dice.below(8);
            }
            listen(&name, &broken, exit);
        }
    }
}

#[test]
fn no_broken_conversation_hangs_or_fails() {
    let mut dice = SeededRandom::new(0x1234_5678_9abc_def1);
    for (name, exit) in cases() {
        let bytes = bytes(&name);
        if !is_two_sided(&bytes) {
            continue;
        }
        for _ in 0..12 {
            let mut broken = bytes.clone();
            for _ in 0..=dice.below(6) {
                let at = dice.below(broken.len());
                broken[at] ^= 1 << dice.below(8);
            }
            broken.truncate(dice.below(broken.len()));
            talk(&broken, exit, "", Permissions::Edit);
        }
    }
}

#[test]
fn a_cut_letter_does_not_lose_the_line() {
    let line = b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"caf\xc3\",\"delta\":true}\n";
    let said: TurnSaid = listen("gemini-x", line, Exit::Code(0));
    assert_eq!(said.text, "caf\u{fffd}");
}

#[test]
fn the_end_of_a_very_long_answer_is_kept() {
    let mut listener = Listener::new(AdapterKind::Exec);
    for number in 0..300_000 {
        listener.feed(format!("line {number} of what the program prints\n").as_bytes());
    }
    let said = listener.end(Exit::Code(0), "");
    assert!(said.text.ends_with("line 299999 of what the program prints"));
    assert!(said.text.len() <= 4 << 20);
    assert_eq!(said.warnings, ["the beginning of a very long text is missing"]);
}

#[test]
fn a_name_that_could_be_an_option_is_no_conversation() {
    for name in ["--dangerously-skip-permissions", "-x", "", "a b", "a\u{0}b", "../x/y"] {
        let line = serde_json::json!({"type": "thread.started", "thread_id": name}).to_string();
        assert_eq!(listen("codex-x", line.as_bytes(), Exit::Code(0)).conversation, None, "{name:?}");
    }
}
