//! Tests the parser of shell commands with texts that try to break it: deeply nested, very long, cut off at any
//! character, and random.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use chance::SeededRandom;
use gate::GateDecision;

use super::{Scratch, bash_call};

const BYTES_MAX: usize = 16 << 10;
const RULES: &str = "[gates]\ndefault = \"allow\"\n[[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"deny\"\n\
                     [[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

/// The opening text, the middle text and the closing text of each construct that can be nested in itself.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "git push", ")"),
    ("( ", "git push", " )"),
    ("((", "1", "))"),
    ("{ ", "git push;", " };"),
    ("{\n", "git push\n", "}\n"),
    ("$(", "git push", ")"),
    ("$( ", "git push", " )"),
    ("echo $(", "git push", ")"),
    ("echo \"$(", "git push", ")\""),
    ("$((", "1", "))"),
    ("echo $((", "1", "))"),
    ("echo $(( 1 + ", "1", "))"),
    ("echo $((1+(", "1", ")))"),
    ("echo ${x:-", "$(git push)", "}"),
    ("echo \"${x:-", "$(git push)", "}\""),
    ("echo ${x:-\"", "$(git push)", "\"}"),
    ("echo ${x:", "1", "}"),
    ("echo ${x[", "1", "]}"),
    ("echo `", "git push", "`"),
    ("echo $[", "1", "]"),
    ("cat <(", "git push", ")"),
    ("tee >(", "git push", ")"),
    ("if ", "git push", "; then :; fi"),
    ("if :; then ", "git push", "; fi"),
    ("if :; then :; else ", "git push", "; fi"),
    ("if :; then :; elif ", "git push", "; then :; fi"),
    ("while ", "git push", "; do :; done"),
    ("while :; do ", "git push", "; done"),
    ("until :; do ", "git push", "; done"),
    ("for x in a; do ", "git push", "; done"),
    ("for ((;;)); do ", "git push", "; done"),
    ("case a in a) ", "git push", ";; esac"),
    ("case a in a) ", "git push", "\nesac"),
    ("case a in (a) ", "git push", ";; esac"),
    ("f() { ", "git push", "; }"),
    ("f() ( ", "git push", " )"),
    ("function f { ", "git push", "; }"),
    ("coproc ", "git push", ""),
    ("coproc X { ", "git push", "; }"),
    ("! ", "git push", ""),
    ("time ", "git push", ""),
    ("[[ ", "a", " ]]"),
    ("[[ ( ", "a", " ) ]]"),
    ("( [[ ! ", "a", " ]] )"),
    ("[[ a && ", "a", " ]]"),
    ("a=(", "git push", ")"),
    ("cat <<E\n$(", "git push", ")\nE\n"),
    ("$(cat <<E\n", "git push", "\nE\n)"),
    ("\"", "git push", "\""),
    ("'", "git push", "'"),
    ("$'", "git push", "'"),
    ("\\", "git push", ""),
    ("{a,", "b", "}"),
    ("@(", "a", ")"),
    ("eval ", "git push", ""),
    ("env ", "git push", ""),
    ("sh -c \"", "git push", "\""),
    ("xargs ", "git push", ""),
    ("find . -exec ", "git push", " \\;"),
    ("a[", "1", "]=2"),
    ("~", "", ""),
    ("> x ", "git push", ""),
    ("a=1 ", "git push", ""),
    ("ls | ", "git push", ""),
    ("ls && ", "git push", ""),
    ("ls;", "git push", ""),
    ("ls &\n", "git push", ""),
    ("#", "git push", ""),
    ("<<E ", "", "\nE"),
];

fn judged(gates: &gate::Gates, text: &str, scratch: &Scratch) -> GateDecision {
    let started = Instant::now();
    let (decision, _) = bash_call(gates, text, &scratch.root());
    let took = started.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "{took:?} for {} bytes of {:?}",
        text.len(),
        text.chars().take(40).collect::<String>()
    );
    decision
}

/// Nests every construct in itself, at some depths and as deep as the maximum length of a command allows. The gate must
/// give a decision for each text. If the gate stops the command at depth one, it must stop the nested command too.
#[test]
fn the_deepest_of_everything_ends_in_a_decision() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    for (open, middle, close) in NESTS {
        let unit = (open.len() + close.len()).max(1);
        let most = (BYTES_MAX - middle.len()) / unit;
        let nest = |depth: usize| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
        let shallow = judged(&gates, &nest(1), &scratch);
        for depth in [2, 33, 399, 401, most] {
            let text = nest(depth.min(most));
            let decision = judged(&gates, &text, &scratch);
            // If one of these opening texts is repeated, the second one can cancel the first one. The nested text then
            // may hold no command.
            let pairs = matches!(*open, "echo `" | "\"" | "'" | "$'" | "sh -c \"" | "\\" | "#");
            assert!(
                pairs || shallow == GateDecision::Allow || decision != GateDecision::Allow,
                "{open} {depth}: {shallow:?}, {decision:?}"
            );
        }
        // The gate must also give a decision for constructs that are never closed, or never opened.
        judged(&gates, &open.repeat(most), &scratch);
        judged(&gates, &close.repeat(most), &scratch);
    }
}

#[test]
fn what_is_too_long_asks() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    let long = |bytes: usize| format!("ls {}", "a".repeat(bytes - 3));
    assert_eq!(judged(&gates, &long(BYTES_MAX), &scratch), GateDecision::Allow);
    assert_eq!(judged(&gates, &long(BYTES_MAX + 1), &scratch), GateDecision::Ask);
    assert_eq!(judged(&gates, &"ä".repeat(BYTES_MAX / 2 + 1), &scratch), GateDecision::Ask);
    assert_eq!(judged(&gates, &long(4 << 20), &scratch), GateDecision::Ask);
    let many: String = (0..300).fold(String::new(), |mut text, number| {
        let _: Result<(), _> = write!(text, "ls {number};");
        text
    });
    assert_eq!(judged(&gates, &many, &scratch), GateDecision::Allow);
}

/// Checks that numbers that are too large for a parser, and other odd texts, do not hide the command after them.
#[test]
fn a_command_behind_a_huge_number_is_seen() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    for text in [
        "ls 99999999999999999999>x",
        "ls 99999999999>&1",
        "ls {1..99999999999999999999999}",
        "ls ~99999999999999999999999",
        "ls ~+99999999999999999999999",
        "echo ${99999999999999999999}",
        "echo $99999999999999999999",
        "echo $((99999999999999999999999))",
        "ls \u{1}\u{7f}",
        "ls \0",
        "ls \r\n",
        "",
        " ",
        "\n\n",
        "\\",
        "$",
        "`",
        "\u{feff}git push",
        "git\u{a0}push",
    ] {
        judged(&gates, text, &scratch);
        for behind in [format!("{text}\ngit push"), format!("git push {text}")] {
            assert_ne!(judged(&gates, &behind, &scratch), GateDecision::Allow, "{behind:?}");
        }
    }
}

/// Pieces of text that have a special meaning to a shell.
pub(crate) const BITS: &[&str] = &[
    "'",
    "\"",
    "\\",
    "\n",
    "$",
    "(",
    ")",
    "`",
    "{",
    "}",
    "#",
    ";",
    "&",
    "|",
    "<",
    ">",
    " ",
    "<<",
    "$(",
    "((",
    "))",
    "${",
    "[[",
    "]]",
    "case ",
    " in ",
    "esac",
    "=",
    "*",
    "!",
    "\\\n",
    "<(",
    "$'",
    "<<E\n",
    "\nE\n",
    "if ",
    "do ",
    "done",
    "a=(",
    "~",
    "[",
    "]",
    " #",
    "-",
    "x[",
    "]=",
    "([",
    ">&-",
    "2>",
    "time ",
    "! ",
    "declare ",
    "<<'E'\n",
    "<<-E\n",
    "\n\tE\n",
    "${x:-",
    "$((",
    "[ ",
    " ]",
    "fi",
    "then ",
    "} ",
    "{ ",
    "x=",
    "+=",
    "&&",
    "||",
    ";;",
    "|&",
    "&>",
    ">(",
    "f() ",
    "function f ",
    "coproc ",
    "$\"",
    "@(",
    "\t",
    "-c ",
    "--",
    "a:~",
];

/// Changes a command text in a few random places.
pub(crate) fn mutated(text: &str, chance: &mut SeededRandom) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(3) {
        let at = chance.below(letters.len() + 1);
        match chance.below(3) {
            0 if at < letters.len() => drop(letters.remove(at)),
            1 if at < letters.len() => {
                let other = chance.below(letters.len());
                letters.swap(at, other);
            }
            _ => {
                let bit: Vec<char> = chance.one_of(BITS).chars().collect();
                letters.splice(at..at, bit);
            }
        }
    }
    letters.into_iter().collect()
}

#[test]
fn noise_ends_in_a_decision() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    let mut chance = SeededRandom::new(7);
    for _ in 0..300 {
        let length = chance.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(chance.below(256)).unwrap()).collect();
        judged(&gates, &String::from_utf8_lossy(&bytes), &scratch);
        let (open, middle, close) = chance.one_of(NESTS);
        let depth = 1 + chance.below(20);
        let text = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
        let mut text = mutated(&text, &mut chance);
        judged(&gates, &text, &scratch);
        let mut cut = chance.below(text.len() + 1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        judged(&gates, &text, &scratch);
    }
}
