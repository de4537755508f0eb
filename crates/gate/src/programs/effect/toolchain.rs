//! Finds the files that commands of toolchains such as npm and cargo write. Only some words of these commands name such
//! files.

use super::{ProgramEffect, TreeEffect, effects, write};
use crate::command::Arg;
use crate::programs::options::ParsedOptions;
use crate::spot::PathSpot;

fn tree(path: &Arg) -> ProgramEffect {
    ProgramEffect::Writes(path.clone(), TreeEffect::Yes)
}

/// Options of npm and similar programs that name their working folder.
const NPM_FOLDERS: &[&str] = &["--prefix", "-C", "--dir", "--cwd"];
/// Commands of npm and similar programs that write files in their working folder.
const NPM_CHANGES: &[&str] = &[
    "install",
    "i",
    "ci",
    "add",
    "init",
    "create",
    "update",
    "upgrade",
    "up",
    "uninstall",
    "remove",
    "rm",
    "link",
    "dedupe",
    "prune",
    "pack",
    "version",
    "pkg",
];

/// Returns the folder that an option of npm, pnpm, yarn or bun names, if the command writes files in that folder.
pub(super) fn npm(words: &[Arg]) -> Vec<ProgramEffect> {
    let changes = words.iter().skip(1).any(|word| NPM_CHANGES.contains(&word.as_text()));
    option(words, NPM_FOLDERS).iter().filter(|_| changes).map(tree).collect()
}

/// Returns the files and folders that cargo writes. `cargo new folder` and `cargo init folder` may write everything in
/// the folder.
pub(super) fn cargo(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut operands = parsed.operands.iter().filter(|word| !word.as_text().starts_with('+'));
    let mut found: Vec<ProgramEffect> = match operands.next().map(Arg::as_text) {
        Some("new" | "init" | "vendor") => operands.map(tree).collect(),
        Some("fmt" | "fix" | "add" | "remove" | "update") => parsed.values(&["--manifest-path"]).map(write).collect(),
        Some(_) | None => Vec::new(),
    };
    // A setting of cargo can name the folder of the output: `--config 'build.target-dir="folder"'`.
    let settings = parsed.values(&["--config"]).filter_map(|value| value.text.as_deref()?.split_once('='));
    let folders = settings.filter(|(key, _)| key.contains("dir") || key.contains("root"));
    found.extend(folders.map(|(_, folder)| tree(&Arg::known(folder.trim().trim_matches(['"', '\''])))));
    found
}

/// Returns the index of the word after `-m module` in a python command. The options of python itself end before this
/// word.
fn module_at(words: &[Arg]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let letters = word.as_text().strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        match letters {
            _ if letters.ends_with('m') => return Some(at + 2),
            "W" | "X" => at += 1,
            _ if letters.contains('c') => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the values of the named options. The value is in the same word after `=`, or in the next word.
fn option(words: &[Arg], names: &[&str]) -> Vec<Arg> {
    let value = |(at, word): (usize, &Arg)| match word.lead.split_once('=') {
        Some((name, _)) if names.contains(&name) => Some(word.behind(name.len() + 1)),
        None if names.contains(&word.lead.as_str()) => words.get(at + 1).cloned(),
        Some(_) | None => None,
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// Returns the effects of `python -m module`. Some modules write the files that their operands name. Others are
/// programs with an option table.
pub(super) fn python(words: &[Arg]) -> Vec<ProgramEffect> {
    let Some(at) = module_at(words) else { return Vec::new() };
    let Some(module) = words.get(at - 1) else { return Vec::new() };
    let operands = words.get(at..).unwrap_or_default();
    let plain = || operands.iter().filter(|word| !word.lead.starts_with('-'));
    let has = |names: &[&str]| operands.iter().any(|word| names.contains(&word.as_text()));
    match module.as_text() {
        "venv" | "virtualenv" | "compileall" | "py_compile" => plain().map(tree).collect(),
        "zipfile" | "tarfile" if has(&["-l", "--list", "-t", "--test"]) => Vec::new(),
        "zipfile" | "tarfile" => {
            let inside = |word: &Arg| match &word.text {
                Some(folder) => tree(&Arg::inside(folder)),
                None => tree(word),
            };
            // If no folder is given, the archive is unpacked in the current folder.
            let here = (plain().count() < 2).then(|| tree(&Arg::inside(".")));
            plain().flat_map(|word| [write(word), inside(word)]).chain(here).collect()
        }
        "json.tool" | "uu" => plain().nth(1).map(write).into_iter().collect(),
        "trace" => option(operands, &["-C", "--coverdir", "-f", "--file"]).iter().map(tree).collect(),
        name => {
            // The module of a package is spelled with `_` and its program with `-`: module `pre_commit`, program
            // `pre-commit`.
            let name = name.split('.').next().unwrap_or(name).replace('_', "-");
            let words: Vec<Arg> = std::iter::once(Arg::known(&name)).chain(operands.iter().cloned()).collect();
            effects(&words).unwrap_or_default()
        }
    }
}

/// Returns the database file that sqlite3 creates or changes.
pub(super) fn sqlite(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let Some(database) = parsed.operands.first() else { return Vec::new() };
    let name = database.as_text();
    if parsed.has(&["-readonly"])
        || name.contains("mode=ro")
        || matches!(name, ":memory:" | "") && database.text.is_some()
    {
        return Vec::new();
    }
    match name.strip_prefix("file:") {
        Some(path) => vec![write(&Arg::known(path.split('?').next().unwrap_or(path)))],
        None => vec![write(database)],
    }
}

/// Returns the target of `docker cp` and `kubectl cp`: the last operand, unless it is a path in a container.
pub(super) fn copy_verb(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let copies = parsed.operands.iter().take(2).any(|word| word.as_text() == "cp");
    let target = parsed.operands.last().filter(|word| copies && !word.as_text().contains(':'));
    let first = parsed.operands.first().map(Arg::as_text);
    let second = parsed.operands.get(1).map(Arg::as_text).unwrap_or_default();
    // `kubectl config` changes the file with the settings, unless it only shows them.
    let sets = first == Some("config") && !matches!(second, "view" | "current-context" | "get-contexts" | "get-users");
    let settings = parsed.values(&["--kubeconfig"]).filter(|_| sets).map(write);
    target.map(|target| tree(&target.below())).into_iter().chain(settings).collect()
}

/// Returns a write to the last operand if the program's sub-command is in `verbs`: `svn export URL folder` writes
/// `folder`.
pub(super) fn verb(verbs: &str, operands: &[Arg]) -> Vec<ProgramEffect> {
    let is_verb = |word: &Arg| verbs.split(' ').any(|verb| verb == word.as_text());
    let Some(at) = operands.iter().take(3).position(is_verb) else { return Vec::new() };
    // Without an operand, `init`, `new` and `create` write into the current folder.
    let makes = matches!(operands[at].as_text(), "init" | "new" | "create");
    let here = || makes.then(|| ProgramEffect::Works(Arg::known(".")));
    operands.get(at + 1..).and_then(<[Arg]>::last).map(tree).or_else(here).into_iter().collect()
}

/// Returns a write to every operand after the sub-command if the sub-command is in `verbs`: `qemu-img resize disk 1G`
/// writes `disk`.
pub(super) fn verb_all(verbs: &str, operands: &[Arg]) -> Vec<ProgramEffect> {
    match operands.split_first() {
        Some((first, rest)) if verbs.split(' ').any(|verb| verb == first.as_text()) => rest.iter().map(tree).collect(),
        Some(_) | None => Vec::new(),
    }
}

/// Returns the files that a formatter writes, if the first operand is the given verb: `ruff format src`,
/// `terraform fmt src`.
pub(super) fn format(verb: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let shows = parsed.has(&["--check", "--diff", "-check", "-diff", "-write=false", "--write=false"]);
    match parsed.operands.split_first() {
        Some((first, [])) if first.as_text() == verb && verb == "fmt" && !shows => {
            let below = PathSpot::Named { folder: ".".to_owned(), pattern: "*.tf".to_owned() };
            let below = parsed.has(&["-recursive"]).then(|| write(&Arg { spot: Some(below), ..Arg::unknown() }));
            std::iter::once(write(&Arg::known("."))).chain(below).collect()
        }
        Some((first, rest)) if first.as_text() == verb && !shows => rest.iter().map(write).collect(),
        Some(_) | None => Vec::new(),
    }
}

/// Programs that write files. If such a program appears in the command that a container runs, the paths in that command
/// count as written.
const CONTAINER_WRITERS: &[&str] = &[
    "rm", "touch", "cp", "mv", "tee", "mkdir", "rmdir", "truncate", "dd", "ln", "chmod", "chown", "sed", "sh", "bash",
];

/// Returns the paths that `docker run -v` may write. A container may write each folder that is mounted in it, unless
/// the mount is read-only. If the container's command names a path below such a folder, the matching path on this
/// machine counts as written.
pub(super) fn mounts(words: &[Arg]) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    // In the path of a mount, a variable or a command is nearly always the current folder: `$PWD`, `$(pwd)`.
    let text = |word: &Arg| word.text.clone().or_else(|| word.shape.as_ref().map(|shape| shape.replace("$_", ".")));
    for (at, word) in words.iter().enumerate().skip(1) {
        let (name, attached) = match word.lead.split_once('=') {
            Some((name, _)) if name.starts_with("--") => {
                (name.to_owned(), text(word).and_then(|word| Some(word.split_once('=')?.1.to_owned())))
            }
            _ => (word.as_text().to_owned(), None),
        };
        let Some(value) = attached.or_else(|| words.get(at + 1).and_then(text)) else { continue };
        let (from, to, reads) = match name.as_str() {
            "-v" | "--volume" => {
                let mut parts = value.split(':');
                let (from, to, rest) =
                    (parts.next().unwrap_or_default(), parts.next(), parts.next().unwrap_or_default());
                (from.to_owned(), to.map(str::to_owned), rest.split(',').any(|option| option == "ro"))
            }
            "--mount" => {
                let field = |names: &[&str]| {
                    let fields = value.split(',').filter_map(|field| field.split_once('='));
                    fields.filter(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned()).next()
                };
                let reads =
                    value.split(',').any(|field| matches!(field, "readonly" | "ro" | "readonly=true" | "ro=true"));
                (field(&["src", "source"]).unwrap_or_default(), field(&["dst", "target", "destination"]), reads)
            }
            _ => continue,
        };
        if reads || !from.contains(['/', '.']) || to.is_none() {
            continue;
        }
        found.push(write(&Arg::known(&from)));
        let behind = words.get(at + 1..).unwrap_or_default();
        let writes = |word: &Arg| CONTAINER_WRITERS.contains(&word.as_text()) || word.as_text().contains('>');
        let to = to.unwrap_or_default();
        if to.len() > 1 && behind.iter().any(writes) {
            let below = behind
                .iter()
                .filter(|word| word.as_text().contains(&format!("{to}/")) && !word.as_text().contains(':'));
            let here = below.map(|word| word.as_text().replace(&to, &from)).collect::<Vec<String>>();
            found.extend((!here.is_empty()).then(|| ProgramEffect::Code(here.join(" "))));
        }
    }
    found
}

/// Returns the files that a compiler's options name after commas or an equals sign: `-Wp,-MD,file`, `-Map=file`,
/// `-a=file`.
pub(super) fn compiler(words: &[Arg]) -> Vec<ProgramEffect> {
    let passed = |text: &str| {
        ["-Wp,", "-Wa,", "-Wl,", "-Map=", "--Map=", "-a", "-fdump", "-fopt-info", "--print=", "--emit=", "-C", "-Z"]
            .iter()
            .any(|start| text.starts_with(start))
    };
    let is_apart = |text: &str| matches!(text, "-Xlinker" | "-Xassembler" | "--print" | "--emit" | "-C" | "-Z");
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let apart = is_apart(words[at - 1].as_text());
        if !passed(&word.lead) && !apart {
            continue;
        }
        match &word.text {
            // The linker reads objects and libraries. Any other file that an option of the linker names counts as
            // written.
            Some(text) if apart && !text.contains(['=', ',']) => {
                let reads = [".o", ".a", ".so", ".ld"].iter().any(|end| text.ends_with(end)) || text.starts_with('-');
                found.extend((!reads && text.contains('/')).then(|| write(word)));
            }
            Some(text) => {
                let parts = text.split([',', '=']).skip(1).filter(|part| !part.is_empty() && !part.starts_with('-'));
                found.extend(parts.map(|part| write(&Arg::known(part))));
            }
            None => found.push(ProgramEffect::Doubt("an option that is not literal".to_owned())),
        }
    }
    found
}

/// Returns the effects of socat, whose addresses can run a command or open a file.
pub(super) fn socat(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    for address in &parsed.operands {
        let Some(text) = &address.text else {
            found.push(ProgramEffect::Doubt("an address that is not literal".to_owned()));
            continue;
        };
        for part in text.split("!!") {
            let Some((kind, rest)) = part.split_once(':') else { continue };
            let path = rest.split(',').next().unwrap_or(rest);
            match kind.to_ascii_uppercase().as_str() {
                "EXEC" | "SYSTEM" | "SHELL" => found.push(ProgramEffect::Script(rest.to_owned())),
                "CREATE" | "CREAT" | "OPEN" | "GOPEN" | "FILE" | "PIPE" => found.push(write(&Arg::known(path))),
                _ if rest.contains('/') && kind.to_ascii_uppercase().contains("UNIX") => {
                    found.push(write(&Arg::known(path)));
                }
                _ => {}
            }
        }
    }
    found
}
