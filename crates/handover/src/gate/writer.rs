//! Programs that write: which of their words are the paths.

use super::command::{Arg, Spot};
use super::options::base;
use super::wrapper::{Inner, Tree};

/// How the operands of a program are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    All,
    /// All but the first, which says how.
    Others,
    /// The last, or what `-t` names.
    Last,
    None,
}

struct Writer {
    names: &'static [&'static str],
    operands: Operands,
    /// Options whose next word is no operand.
    valued: &'static [&'static str],
    /// Options that name a path it writes.
    paths: &'static [&'static str],
    /// Options with which it writes what is below, too.
    trees: &'static str,
}

const fn writer(names: &'static [&'static str], operands: Operands, trees: &'static str) -> Writer {
    Writer { names, operands, valued: &[], paths: &[], trees }
}

const WRITERS: &[Writer] = &[
    writer(&["tee", "mkdir", "rmdir", "unlink", "mkfifo", "shred"], Operands::All, ""),
    writer(&["rm", "chattr"], Operands::All, "rR"),
    writer(&["chmod", "chown", "chgrp"], Operands::Others, "R"),
    Writer { names: &["touch"], operands: Operands::All, valued: &["-t", "-d", "-r"], paths: &[], trees: "" },
    Writer { names: &["truncate"], operands: Operands::All, valued: &["-s", "-r"], paths: &[], trees: "" },
    Writer {
        names: &["cp", "install", "ln", "rsync", "scp"],
        operands: Operands::Last,
        valued: &["-m", "-o", "-g", "-S"],
        paths: &["-t", "--target-directory"],
        trees: "rRa",
    },
    Writer {
        names: &["mv"],
        operands: Operands::Last,
        valued: &["-S"],
        paths: &["-t", "--target-directory"],
        trees: "",
    },
    Writer {
        names: &["sort", "curl", "gcc", "cc", "clang"],
        operands: Operands::None,
        valued: &[],
        paths: &["-o", "--output"],
        trees: "",
    },
    Writer {
        names: &["wget"],
        operands: Operands::None,
        valued: &[],
        paths: &["-O", "--output-document", "-o", "-P"],
        trees: "",
    },
];

/// The paths a program writes, where that can be told from its words.
pub(super) fn writes(words: &[Arg]) -> Vec<Inner> {
    let Some(name) = words.first().map(|word| base(word.as_text())) else { return Vec::new() };
    match name {
        "dd" => {
            let of = |word: &Arg| match &word.text {
                Some(text) => text.strip_prefix("of=").map(|path| Inner::Writes(Arg::known(path), Tree::No)),
                None => Some(Inner::Writes(Arg::unknown(), Tree::No)),
            };
            return words[1..].iter().filter_map(of).collect();
        }
        "sed" | "gsed" | "perl"
            if words[1..]
                .iter()
                .any(|word| word.as_text().starts_with("-i") || word.as_text().starts_with("--in-place")) =>
        {
            let operands = words[1..].iter().filter(|word| !word.as_text().starts_with('-'));
            return operands.skip(1).map(|word| Inner::Writes(word.clone(), Tree::No)).collect();
        }
        "patch" => return vec![Inner::Writes(Arg::unknown(), Tree::Yes)],
        _ => {}
    }
    let Some(writer) = WRITERS.iter().find(|writer| writer.names.contains(&name)) else { return Vec::new() };
    of_writer(writer, name, words)
}

fn of_writer(writer: &Writer, name: &str, words: &[Arg]) -> Vec<Inner> {
    let mut operands: Vec<&Arg> = Vec::new();
    let mut named: Vec<Arg> = Vec::new();
    let mut tree = if name == "rsync" { Tree::Yes } else { Tree::No };
    let links = makes_links(name, words);
    let mut ended = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.as_text();
        if ended || !text.starts_with('-') || text.len() == 1 {
            operands.push(word);
        } else if text == "--" {
            ended = true;
        } else if writer.paths.contains(&text) {
            named.push(words.get(at).cloned().unwrap_or_else(Arg::unknown));
            at += 1;
        } else if let Some(path) = writer.paths.iter().find_map(|option| joined(text, option)) {
            named.push(Arg::known(path));
        } else if writer.valued.contains(&text) {
            at += 1;
        } else if text == "--recursive"
            || (!text.starts_with("--") && text.contains(|letter| writer.trees.contains(letter)))
        {
            tree = Tree::Yes;
        }
    }
    let mut found: Vec<Inner> = named.iter().map(|path| Inner::Writes(path.clone(), tree)).collect();
    match writer.operands {
        Operands::None => {}
        Operands::All => found.extend(operands.iter().map(|word| Inner::Writes((*word).clone(), tree))),
        Operands::Others => found.extend(operands.iter().skip(1).map(|word| Inner::Writes((*word).clone(), tree))),
        Operands::Last => {
            let split = if named.is_empty() { operands.split_last() } else { None };
            let sources = split.map_or(operands.as_slice(), |(_, sources)| sources);
            for target in split.map(|(last, _)| (*last).clone()).into_iter().chain(named) {
                // Of what lies elsewhere only the other side knows.
                if target.as_text().contains(':') && matches!(name, "rsync" | "scp") {
                    continue;
                }
                found.extend(sources.iter().map(|source| Inner::Writes(beneath(&target, source), tree)));
                if links {
                    let behind = sources.iter().flat_map(|source| behind(&target, source));
                    found.extend(behind.map(|path| Inner::Writes(path, Tree::Yes)));
                }
                found.push(Inner::Writes(target, Tree::No));
            }
            if name == "mv" || links {
                found.extend(sources.iter().map(|source| Inner::Writes((*source).clone(), Tree::Yes)));
            }
        }
    }
    found
}

/// A link is a second name for what it leads to, and is not there yet when a path behind it is looked at: whoever makes one to
/// something counts as its writer.
fn makes_links(name: &str, words: &[Arg]) -> bool {
    let copies_as_links = |word: &Arg| {
        let text = word.as_text();
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['l', 's']);
        short || text.starts_with("--sy") || text.starts_with("--l")
    };
    name == "ln" || name == "cp" && words[1..].iter().any(copies_as_links)
}

/// A relative link starts in the folder it lies in, which is the target or the one above it.
fn behind(target: &Arg, source: &Arg) -> Vec<Arg> {
    let (Some(Spot::At(target)), Some(source)) = (&target.spot, source.text.as_deref()) else { return Vec::new() };
    if source.starts_with('/') {
        return Vec::new();
    }
    let above = target.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above);
    vec![Arg::known(&format!("{target}/{source}")), Arg::known(&format!("{above}/{source}"))]
}

/// `-ofile`, `--output=file`.
fn joined<'t>(text: &'t str, option: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(option)?;
    if option.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) }
}

/// The path that a source gets in a folder.
fn beneath(target: &Arg, source: &Arg) -> Arg {
    match (&target.spot, source.text.as_deref().map(|text| base(text.trim_end_matches('/')))) {
        (Some(Spot::At(folder)), Some(name)) if !matches!(name, "" | "." | "..") => {
            Arg::known(&format!("{folder}/{name}"))
        }
        (Some(Spot::At(folder)), _) => Arg { text: None, spot: Some(Spot::Inside(folder.clone())) },
        (Some(Spot::Inside(_)) | None, _) => target.clone(),
    }
}
