//! Reads commands that copy, move or link files.

use super::{ProgramEffect, TreeEffect, write};
use crate::command::Arg;
use crate::programs::options::{ParsedOptions, base};
use crate::spot::PathSpot;

/// Returns the effects of cp, mv, ln, install and scp. The target is the last operand, or the folder that `-t` names.
pub(crate) fn operands(name: &str, kind: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let operands = parsed.operands.as_slice();
    if parsed.has(&["-d", "--directory"]) && name.ends_with("install") {
        return operands.iter().map(write).collect();
    }
    let named: Vec<Arg> = parsed.values(&["-t", "--target-directory"]).cloned().collect();
    let links = kind == "link" || parsed.has(&["-l", "-s", "--link", "--symbolic-link"]) && name.ends_with("cp");
    let here = Arg::known(".");
    let (sources, last) = match operands.split_last() {
        _ if !named.is_empty() => (operands, None),
        // With one operand, `ln -s file` makes the link in the current folder.
        Some((only, [])) if kind == "link" => (std::slice::from_ref(only), Some(&here)),
        Some((last, sources)) => (sources, Some(last)),
        None => (operands, None),
    };
    let deep = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]) || kind == "move";
    let tree = if deep { TreeEffect::Yes } else { TreeEffect::No };
    let mut found: Vec<ProgramEffect> = Vec::new();
    for target in last.into_iter().chain(&named) {
        // A target on another machine (`host:path`) means that no file on this machine is written.
        if kind == "copy-remote" && target.as_text().contains(':') {
            continue;
        }
        for source in sources {
            found.push(ProgramEffect::Writes(beneath(target, source), tree));
            if parsed.has(&["--parents"]) {
                found.push(ProgramEffect::Writes(joined(target, source), tree));
            }
        }
        if links {
            let behind = sources.iter().flat_map(|source| behind(target, source));
            found.extend(behind.map(|path| ProgramEffect::Writes(path, TreeEffect::Yes)));
        }
        if deep && parsed.has(&["-T", "--no-target-directory"]) {
            found.push(ProgramEffect::Writes(target.below(), TreeEffect::Yes));
        }
        found.push(write(target));
    }
    // With these options cp does not follow links, so the copy of a link is a link.
    let keeps = ["-P", "-d", "-a", "-r", "-R", "--no-dereference", "--archive", "--recursive"];
    if kind == "copy" && parsed.has(&keeps) && !parsed.has(&["-L", "--dereference"]) {
        found.extend(sources.iter().cloned().map(ProgramEffect::Copies));
    }
    // A link is a second name for its target, and a later command may write to the target by that name. The gate cannot
    // resolve the name, because the link does not exist yet. So making a link counts as writing its target.
    if kind == "move" || links {
        found.extend(sources.iter().map(|source| ProgramEffect::Writes(source.clone(), TreeEffect::Yes)));
    }
    found
}

pub(super) fn rsync(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    for given in &parsed.given {
        let Some(value) = &given.value else { continue };
        match given.name {
            "-e" | "--rsh" | "--rsync-path" => match &value.text {
                // With a plain `ssh` as the value of `-e`, rsync itself adds the host and the command `rsync`, so no
                // other command runs.
                Some(text) if is_plain_ssh(text) || text == "rsync" => {}
                Some(text) => found.push(ProgramEffect::Script(text.clone())),
                None if is_plain_ssh(&value.lead) => {}
                None => found.push(ProgramEffect::Ask("rsync with a command that is not literal".to_owned())),
            },
            "--backup-dir" | "-T" | "--temp-dir" | "--partial-dir" => {
                found.push(ProgramEffect::Writes(value.clone(), TreeEffect::Yes));
            }
            "--log-file" | "--write-batch" | "--only-write-batch" => found.push(write(value)),
            _ => {}
        }
    }
    let Some((target, sources)) = parsed.operands.split_last() else { return found };
    if sources.is_empty() {
        return found;
    }
    if parsed.has(&["--remove-source-files"]) {
        found.extend(sources.iter().map(|source| ProgramEffect::Writes(source.clone(), TreeEffect::Yes)));
    }
    if target.as_text().contains(':') {
        return found;
    }
    // A relative path in one of these options of rsync starts at the folder to which rsync copies.
    for folder in parsed.values(&["--backup-dir", "-T", "--temp-dir", "--partial-dir"]) {
        found.push(ProgramEffect::Writes(joined(target, folder), TreeEffect::Yes));
    }
    if parsed.has(&["-a", "-l", "--archive", "--links"]) {
        found.extend(sources.iter().cloned().map(ProgramEffect::Copies));
    }
    let relative = parsed.has(&["-R", "--relative"]);
    let contents = |source: &Arg| source.text.as_deref().is_none_or(|text| text.ends_with(['/', '.']));
    let deletes = parsed.given.iter().any(|given| given.name.starts_with("--del"));
    for source in sources {
        if relative {
            found.push(ProgramEffect::Writes(joined(target, source), TreeEffect::Yes));
        } else if !contents(source) && !source.as_text().contains(':') {
            found.push(ProgramEffect::Writes(beneath(target, source), TreeEffect::Yes));
        } else {
            found.push(ProgramEffect::Writes(target.below(), TreeEffect::Yes));
        }
    }
    if deletes {
        found.push(ProgramEffect::Writes(target.below(), TreeEffect::Yes));
    }
    found.push(write(target));
    found
}

/// Tells whether the text is a plain command like `ssh -p 22`, which runs no other command.
fn is_plain_ssh(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let option = |word: &str| word.starts_with("-o") || word.starts_with("-F");
    words.next().is_some_and(|program| matches!(base(program), "ssh" | "rsh"))
        && !words.any(option)
        && !text.contains(|letter: char| ";|&<>()`\n\"'\\".contains(letter))
}

/// Returns the files to which a new relative link may lead. A relative link is resolved from the folder that contains
/// the link. This folder is `target` if `target` is a folder, otherwise the folder above `target`. Both cases are
/// returned.
fn behind(target: &Arg, source: &Arg) -> Vec<Arg> {
    let (Some(PathSpot::At(target)), Some(source)) = (&target.spot, source.text.as_deref()) else { return Vec::new() };
    if source.starts_with('/') {
        return Vec::new();
    }
    let above = target.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above);
    vec![Arg::known(&format!("{target}/{source}")), Arg::known(&format!("{above}/{source}"))]
}

/// Returns the path to which `cp --parents` and `rsync -R` copy a source. They keep the folders of the source: `t/a/b`
/// for the source `a/b` and the target `t`.
fn joined(target: &Arg, source: &Arg) -> Arg {
    match (&target.spot, &source.text) {
        (Some(PathSpot::At(folder)), Some(source)) => {
            Arg::known(&format!("{folder}/{}", source.trim_start_matches('/')))
        }
        _ => target.below(),
    }
}

/// Returns the path of a copied file in the target folder: `t/b` for the source `a/b` and the target `t`.
pub(super) fn beneath(target: &Arg, source: &Arg) -> Arg {
    let name = source.text.as_deref().map(|text| base(text.trim_end_matches('/')));
    match (&target.spot, name, &source.spot) {
        (Some(PathSpot::At(folder)), Some(name), _) if !matches!(name, "" | "." | "..") => {
            Arg::known(&format!("{folder}/{name}"))
        }
        (Some(PathSpot::At(folder)), _, Some(PathSpot::Matching { pattern, .. })) => Arg {
            spot: Some(PathSpot::Matching { folder: folder.clone(), pattern: pattern.clone() }),
            ..Arg::unknown()
        },
        (Some(PathSpot::At(folder)), _, _) => Arg::inside(folder),
        (Some(PathSpot::Inside(_) | PathSpot::Matching { .. } | PathSpot::Named { .. }) | None, _, _) => target.clone(),
    }
}
