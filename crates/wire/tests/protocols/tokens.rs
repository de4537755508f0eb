//! Compares our estimate of a text's number of tokens with a real tokenizer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;
use wire::json::{Value, parse};
use wire::tokens::estimate;

use chance::SeededRandom;

static O200K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

/// Returns the number of tokens that the real o200k tokenizer makes of a text.
pub(crate) fn real(text: &str) -> usize {
    O200K.encode_ordinary(text).len()
}

struct Sample {
    name: String,
    text: String,
    /// True if the text is English or code. For such texts the estimate must be close to the real number of tokens.
    near: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files below a folder whose names have one of these extensions, in a fixed order.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let wanted = |path: &Path| path.extension().is_some_and(|end| endings.iter().any(|wanted| end == *wanted));
    found
        .into_iter()
        .flat_map(
            |path| if path.is_dir() { files(&path, endings) } else { Vec::from_iter(wanted(&path).then_some(path)) },
        )
        .collect()
}

fn samples() -> Vec<Sample> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut samples = Vec::new();
    for path in files(&fixtures.join("tokens"), &["txt", "py", "ts", "c", "sql"]) {
        let near = name(&path).starts_with("english") || name(&path).starts_with("code");
        samples.push(Sample { name: name(&path), text: fs::read_to_string(&path).unwrap(), near });
    }
    for path in files(&fixtures.join("acts"), &["json"]) {
        let text = fs::read_to_string(&path).unwrap();
        let compact = parse(&text).unwrap().to_string();
        samples.push(Sample { name: format!("compact {}", name(&path)), text: compact, near: false });
        samples.push(Sample { name: name(&path), text, near: false });
    }
    let sources = files(&root().join("crates/wire/src"), &["rs"]).into_iter();
    let sources = sources.chain(files(&root().join("crates/engine/src"), &["rs"]));
    for path in sources.chain(files(&root().join("docs"), &["md"])) {
        samples.push(Sample { name: name(&path), text: fs::read_to_string(&path).unwrap(), near: false });
    }
    samples.extend(made(&mut SeededRandom::new(1)));
    samples
}

/// Returns sample texts that programs make and people send, such as base64.
fn made(chance: &mut SeededRandom) -> Vec<Sample> {
    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const WORDS: &[&str] =
        &["claim", "lease", "worker", "Context", "HTTP", "io", "checkpoint", "xml", "value", "Id", "token"];
    const BLANKS: &[&str] = &[" ", "  ", "\n", "\n\n", "\t", "        ", "\r\n", "\n    ", " \n"];
    const MARKS: &[u8] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";
    let letters = |chance: &mut SeededRandom, from: &[u8], count: usize| -> String {
        (0..count).map(|_| char::from(*chance.one_of(from))).collect()
    };
    let joined = |chance: &mut SeededRandom, by: &str, piece: &dyn Fn(&mut SeededRandom) -> String| -> String {
        (0..120).map(|_| piece(chance)).collect::<Vec<_>>().join(by)
    };
    let hex = |chance: &mut SeededRandom| letters(chance, b"0123456789abcdef", 40);
    let id = |chance: &mut SeededRandom| format!("tk_{}", letters(chance, b"0123456789abcdefghijklmnopqrstuvwxyz", 12));
    let number = |chance: &mut SeededRandom| format!("{}.{}", chance.below(1 << 30), chance.below(1000));
    let snake =
        |chance: &mut SeededRandom| [*chance.one_of(WORDS), *chance.one_of(WORDS), *chance.one_of(WORDS)].join("_");
    let camel = |chance: &mut SeededRandom| {
        [*chance.one_of(WORDS), *chance.one_of(WORDS), "Of", *chance.one_of(WORDS)].concat()
    };
    let loud = |chance: &mut SeededRandom| snake(chance).to_uppercase();
    let link = |chance: &mut SeededRandom| {
        let (host, path) = (*chance.one_of(WORDS), *chance.one_of(WORDS));
        format!("https://{host}.example.org/{path}/{}?q={}#top", chance.below(9999), letters(chance, BASE64, 9))
    };
    let blank = |chance: &mut SeededRandom| format!("{}{}", chance.one_of(WORDS), chance.one_of(BLANKS));
    let strange = |chance: &mut SeededRandom| {
        let count = 1 + chance.below(12);
        letters(chance, b"abcdefghijklmnopqrstuvwxyz", count)
    };
    let texts = [
        ("base64", letters(chance, BASE64, 4_000)),
        ("hex", joined(chance, "\n", &hex)),
        ("ids", joined(chance, ", ", &id)),
        ("numbers", joined(chance, " ", &number)),
        ("snake", joined(chance, " ", &snake)),
        ("camel", joined(chance, "(", &camel)),
        ("loud", joined(chance, ", ", &loud)),
        ("links", joined(chance, "\n", &link)),
        ("blanks", joined(chance, "", &blank)),
        ("marks", letters(chance, MARKS, 3_000)),
        ("strange words", joined(chance, " ", &strange)),
        ("one letter", "a".repeat(3_000)),
        ("rules", ["-", "=", "*", "#", "_", "~", " "].map(|mark| mark.repeat(300)).join("\n")),
        ("lines", "\n".repeat(600)),
        ("quoted", Value::from(include_str!("../fixtures/tokens/code.py")).to_string()),
        ("quoted twice", Value::from(Value::from(include_str!("../fixtures/tokens/code.c")).to_string()).to_string()),
    ];
    texts.map(|(name, text)| Sample { name: name.to_owned(), text, near: false }).into()
}

#[test]
fn the_estimate_is_never_below_the_real_count() {
    let chance = &mut SeededRandom::new(7);
    let mut wrong = Vec::new();
    let mut hold = |name: &str, at: usize, text: &str| {
        let (estimate, real) = (estimate(text), real(text));
        if estimate < real {
            wrong.push(format!("{name} at {at}: {estimate} < {real}"));
        }
    };
    for Sample { name, text, .. } in &samples() {
        hold(name, 0, text);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for _ in 0..12 {
            let longest = places.len() - 1;
            let length = (50 + chance.below(5_000)).min(longest);
            let length = if chance.below(2) == 0 { length } else { (50 + chance.below(200)).min(longest) };
            let from = chance.below(longest - length + 1);
            hold(name, places[from], &text[places[from]..places[from + length]]);
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_estimate_is_near_on_english_and_code() {
    for Sample { name, text, .. } in samples().iter().filter(|sample| sample.near) {
        let (estimate, real) = (estimate(text), real(text));
        assert!(estimate * 10 <= real * 13, "{name}: {estimate} is more than 30 % above {real}");
    }
    for folder in ["crates/wire/src", "crates/engine/src", "docs"] {
        let text: String =
            files(&root().join(folder), &["rs", "md"]).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let (estimate, real) = (estimate(&text), real(&text));
        assert!(estimate * 10 <= real * 13, "{folder}: {estimate} is more than 30 % above {real}");
    }
}

#[test]
fn the_estimate_takes_any_text() {
    let chance = &mut SeededRandom::new(11);
    for _ in 0..2_000 {
        let text: String = (0..chance.below(60))
            .filter_map(|_| char::from_u32(u32::try_from(chance.below(0x2_0000)).unwrap()))
            .collect();
        let all = estimate(&text);
        assert!(all <= 5 * text.len() + 1, "{text:?}: {all}");
        assert!(text.is_empty() || all > 0);
    }
}
