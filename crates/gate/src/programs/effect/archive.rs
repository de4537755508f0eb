//! Reads commands that pack and unpack archives. The content of an archive is unknown, so unpacking may write any file
//! below a folder.

use super::{ProgramEffect, TreeEffect, write};
use crate::command::Arg;
use crate::programs::options::ParsedOptions;

fn tree(path: &Arg) -> ProgramEffect {
    ProgramEffect::Writes(path.clone(), TreeEffect::Yes)
}

/// Returns the files that a command unpacks from an archive. If the command names no file, it may write any file below
/// the current folder.
fn members(named: &[Arg], renamed: bool) -> Vec<ProgramEffect> {
    let plain = |word: &Arg| word.text.as_deref().is_some_and(|text| !text.contains(['*', '?', '[']));
    if named.is_empty() || renamed || !named.iter().all(plain) {
        return vec![tree(&Arg::inside("."))];
    }
    named.iter().map(tree).collect()
}

pub(super) fn tar(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let creates = parsed.has(&[
        "-c",
        "--create",
        "-r",
        "--append",
        "-u",
        "--update",
        "-A",
        "--catenate",
        "--concatenate",
        "--delete",
    ]);
    let extracts = parsed.has(&["-x", "--extract", "--get"]);
    for file in parsed.values(&["-f", "--file"]).filter(|_| creates) {
        found.extend((file.text.as_deref() != Some("-")).then(|| write(file)));
    }
    for action in parsed.values(&["--checkpoint-action"]) {
        match action.text.as_deref().map(|text| text.split_once('=').unwrap_or((text, ""))) {
            Some(("exec", command)) => found.push(ProgramEffect::Script(command.to_owned())),
            Some(_) => {}
            None => found.push(ProgramEffect::Ask("tar with an action that is not literal".to_owned())),
        }
    }
    if creates && parsed.has(&["--remove-files"]) {
        found.extend(parsed.operands.iter().map(tree));
    }
    if !extracts || parsed.has(&["-O", "--to-stdout", "--to-command"]) {
        return found;
    }
    if parsed.has(&["-P", "--absolute-names"]) {
        found.push(write(&Arg::unknown()));
    }
    let renames = ["--transform", "--xform", "--strip-components", "-T", "--files-from", "--wildcards"];
    match parsed.values(&["--one-top-level"]).next() {
        Some(folder) => found.push(tree(folder)),
        None => found.extend(members(&parsed.operands, parsed.has(&renames))),
    }
    found
}

pub(super) fn unzip(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if parsed.has(&["-p", "-c", "-l", "-t", "-v", "-z", "-Z"]) {
        return Vec::new();
    }
    let mut found: Vec<ProgramEffect> = parsed.values(&["-d"]).cloned().map(ProgramEffect::Folder).collect();
    if parsed.has(&["-:"]) {
        found.push(write(&Arg::unknown()));
    }
    let named = parsed.operands.get(1..).unwrap_or_default();
    found.extend(members(named, parsed.has(&["-j"])));
    found
}

pub(super) fn zip(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let Some((archive, files)) = parsed.operands.split_first() else { return found };
    if archive.text.as_deref() != Some("-") {
        found.push(write(archive));
        found.extend(archive.text.as_ref().map(|text| write(&Arg::known(&format!("{text}.zip")))));
    }
    if parsed.has(&["-m", "--move"]) {
        found.extend(files.iter().map(tree));
    }
    found
}

/// Returns the files that gzip and similar programs write. These programs replace a file with its packed or unpacked
/// form.
pub(super) fn squeeze(name: &str, ending: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if parsed.has(&["-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list"]) {
        return Vec::new();
    }
    let elsewhere = parsed.has(&["-o", "--output-dir-flat", "--output-dir-mirror"]) && !parsed.has(&["--rm"]);
    if elsewhere && name.contains("zst") {
        return Vec::new();
    }
    let deep = if parsed.has(&["-r", "--recursive"]) { TreeEffect::Yes } else { TreeEffect::No };
    let mut found = Vec::new();
    for word in &parsed.operands {
        found.push(ProgramEffect::Writes(word.clone(), deep));
        if let Some(text) = &word.text {
            found.push(write(&Arg::known(&format!("{text}.{ending}"))));
            found.extend(text.rsplit_once('.').map(|(stem, _)| write(&Arg::known(stem))));
        }
    }
    let odd = |suffix: &&Arg| suffix.text.as_deref().is_none_or(|text| text.contains('/'));
    if parsed.values(&["-S", "--suffix"]).any(|suffix| odd(&suffix)) {
        found.push(ProgramEffect::Doubt("a suffix with a slash".to_owned()));
    }
    found
}

pub(super) fn cpio(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if parsed.has(&["-t", "--list", "--to-stdout"]) {
        return Vec::new();
    }
    if parsed.has(&["-p", "--pass-through"]) {
        let inside = |word: &Arg| word.text.as_ref().map(|folder| tree(&Arg::inside(folder)));
        return parsed
            .operands
            .last()
            .into_iter()
            .flat_map(|word| [Some(write(word)), inside(word)])
            .flatten()
            .collect();
    }
    if parsed.has(&["-i", "--extract"]) {
        // Without `--no-absolute-filenames`, cpio writes the absolute paths that are in the archive, so it may write
        // any file.
        let bounded = parsed.has(&["--no-absolute-filenames"]);
        return vec![if bounded { tree(&Arg::inside(".")) } else { write(&Arg::unknown()) }];
    }
    Vec::new()
}

/// Returns the files that ar writes: the archive, or the files that it extracts from the archive.
pub(super) fn ar(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found: Vec<ProgramEffect> = parsed.operands.iter().take(2).map(write).collect();
    let first = parsed.operands.first().map(Arg::as_text).unwrap_or_default();
    let takes_out = first.contains('x') && !first.contains(['/', '.']) || parsed.has(&["-x"]);
    if takes_out && !parsed.has(&["--output"]) {
        found.push(tree(&Arg::inside(".")));
    }
    found
}

/// Returns the files that lz4 writes. By default it writes one file, next to the source file or at the path of the
/// second operand. With `-m` or `-r` it packs or unpacks every operand.
pub(super) fn lz4(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if parsed.has(&["-c", "--stdout", "-t", "--test", "--list"]) {
        return Vec::new();
    }
    let many = parsed.has(&["-m", "-r", "--multiple", "--rm"]);
    let mut found = Vec::new();
    for word in &parsed.operands {
        let text = word.as_text();
        // lz4 may pack or unpack the operand, so both possible names of the result count as written.
        found.extend(word.text.is_some().then(|| write(&Arg::known(&format!("{text}.lz4")))));
        found.extend(text.strip_suffix(".lz4").map(|stem| write(&Arg::known(stem))));
        found.extend(many.then(|| tree(word)));
    }
    found.extend(parsed.operands.get(1).filter(|word| !matches!(word.as_text(), "-" | "stdout" | "null")).map(write));
    found
}

/// Returns the files that pax writes. With `-w` it packs, with `-r` it unpacks, and with both options it copies files
/// into the folder that the last operand names.
pub(super) fn pax(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let inside = |word: &Arg| match &word.text {
        Some(folder) => tree(&Arg::inside(folder)),
        None => tree(word),
    };
    match (parsed.has(&["-r"]), parsed.has(&["-w"])) {
        (true, true) => parsed.operands.last().into_iter().flat_map(|word| [write(word), inside(word)]).collect(),
        (false, true) => parsed.values(&["-f"]).map(write).collect(),
        // When pax unpacks, it writes the absolute paths that are in the archive, so it may write any file.
        (true, false) => vec![write(&Arg::unknown())],
        (false, false) => Vec::new(),
    }
}

/// Returns the files that jar writes. The first word holds the letters of the options (`jar xf`), and the second word
/// is the archive.
pub(super) fn jar(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let first = parsed.operands.first().map(Arg::as_text).unwrap_or_default();
    let has = |letter: char, names: &[&str]| parsed.has(names) || first.contains(letter);
    if has('x', &["-x", "--extract"]) {
        return vec![tree(&Arg::inside("."))];
    }
    if has('t', &["-t", "--list"]) { Vec::new() } else { parsed.operands.get(1).map(write).into_iter().collect() }
}
