//! Reads commands that download files, and commands of openssl, to find the files that they write.

use super::{ProgramEffect, TreeEffect, write};
use crate::command::Arg;
use crate::programs::options::ParsedOptions;
use crate::spot::PathSpot;

/// Joins a file name to the folder that an option of a download program names.
fn in_folder(folder: Option<&Arg>, file: &Arg) -> Arg {
    let Some(folder) = folder else { return file.clone() };
    match (&folder.text, &file.text) {
        (Some(_), Some(file)) if file.starts_with('/') => Arg::known(file),
        (Some(folder), Some(file)) => Arg::known(&format!("{folder}/{file}")),
        (Some(folder), None) => Arg::inside(folder),
        (None, _) => Arg::unknown(),
    }
}

/// Returns a file with an unknown name in a folder. The server of a download chooses the name.
fn some_name(folder: Option<&Arg>) -> Arg {
    let folder = match folder {
        None => ".",
        Some(Arg { text: Some(folder), .. }) => folder,
        Some(_) => return Arg::unknown(),
    };
    Arg { spot: Some(PathSpot::Matching { folder: folder.to_owned(), pattern: "*".to_owned() }), ..Arg::unknown() }
}

/// Returns the file name at the end of a web address. Returns None when the name is unknown.
fn name_of(address: &Arg, default: Option<&str>, keeps_query: bool) -> Option<Arg> {
    let text = address.text.as_deref()?;
    let path = text.split_once("://").map_or(text, |(_, rest)| rest);
    let path = path.split('#').next().unwrap_or(path);
    let end = if keeps_query { path } else { path.split('?').next().unwrap_or(path) };
    let name = end.split_once('/').map_or("", |(_, rest)| rest);
    let name = if keeps_query {
        let (before, query) = name.split_once('?').map_or((name, None), |(before, query)| (before, Some(query)));
        let last = before.rsplit('/').next().unwrap_or_default();
        query.map_or_else(|| last.to_owned(), |query| format!("{last}?{query}"))
    } else {
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    // curl makes several file names from `{a,b}` or `[1-9]` in an address, and `%` begins an escaped letter. The file
    // name is then unknown.
    if name.contains(['{', '[', '%']) {
        return None;
    }
    match (name.is_empty(), default) {
        (false, _) => Some(Arg::known(&name)),
        (true, Some(default)) => Some(Arg::known(default)),
        (true, None) => None,
    }
}

pub(super) fn curl(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let folder = parsed.values(&["--output-dir", "--expand-output-dir"]).last();
    let shown = |value: &Arg| value.text.as_deref() == Some("-") || value.as_text() == "%";
    for given in &parsed.given {
        let Some(value) = &given.value else { continue };
        let writes = given.effect == crate::programs::table::OptionEffect::Write && !shown(value);
        // In the name of curl's output file, `#1` stands for the first part of the address that is in braces or
        // brackets. So the name of the file may be unknown.
        let numbered =
            value.as_text().split('#').skip(1).any(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()));
        if writes && numbered && parsed.operands.iter().any(|address| address.as_text().contains(['{', '['])) {
            found.push(write(&Arg::unknown()));
        }
        if writes && (given.name.starts_with("--expand") || value.as_text().contains("{{")) {
            found.push(write(&Arg::unknown()));
        } else if matches!(given.name, "-o" | "--output") && !shown(value) {
            found.push(write(&in_folder(folder, value)));
        } else if writes {
            found.push(write(value));
        } else if matches!(given.name, "-w" | "--write-out") {
            found.extend(written_out(value));
        }
    }
    let sent = parsed.values(&["-T", "--upload-file"]).next();
    for address in parsed.operands.iter().chain(parsed.values(&["--url", "--expand-url"])).filter(|_| sent.is_some()) {
        found.extend(uploaded(address, sent));
    }
    let remote = parsed.has(&["-O", "--remote-name", "--remote-name-all"]);
    let by_header = parsed.has(&["-J", "--remote-header-name"]);
    let addresses = parsed.operands.iter().chain(parsed.values(&["--url"]));
    for address in addresses.filter(|_| remote) {
        let name = name_of(address, None, false).filter(|_| !by_header);
        found.push(write(&name.map_or_else(|| some_name(folder), |name| in_folder(folder, &name))));
    }
    found
}

/// Returns the write that an upload to a `file:` address makes: the address is a file on this machine.
fn uploaded(address: &Arg, file: Option<&Arg>) -> Option<ProgramEffect> {
    let lead = address.lead.to_ascii_lowercase();
    if !lead.starts_with("file:") {
        return None;
    }
    // The gate does not decode escaped letters and patterns in an address. So such an address may name any file.
    let Some(path) = address.text.as_deref().filter(|text| !text.contains(['%', '{', '[', '\\'])) else {
        return Some(write(&Arg::unknown()));
    };
    let path = path["file:".len()..].trim_start_matches('/');
    let path = path.strip_prefix("localhost/").or_else(|| path.strip_prefix("127.0.0.1/")).unwrap_or(path);
    let name = file.map(|file| crate::programs::options::base(file.as_text())).filter(|_| path.ends_with('/'));
    Some(write(&Arg::known(&format!("/{path}{}", name.unwrap_or_default()))))
}

/// Returns the files that curl's option `-w '%output{file}'` writes.
fn written_out(format: &Arg) -> Vec<ProgramEffect> {
    let Some(text) = &format.text else { return Vec::new() };
    if text.starts_with('@') {
        return vec![ProgramEffect::Doubt("a format from a file".to_owned())];
    }
    let files = text.split("%output{").skip(1).filter_map(|rest| rest.split('}').next());
    files.map(|file| write(&Arg::known(file.strip_prefix(">>").unwrap_or(file)))).collect()
}

pub(super) fn wget(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let folder = parsed.values(&["-P", "--directory-prefix"]).last();
    for given in &parsed.given {
        let writes = given.effect == crate::programs::table::OptionEffect::Write;
        if let Some(value) = given.value.as_ref().filter(|value| writes && value.text.as_deref() != Some("-")) {
            found.push(write(value));
            found.extend(
                value
                    .text
                    .as_ref()
                    .filter(|_| given.name == "--warc-file")
                    .map(|text| write(&Arg::known(&format!("{text}.warc.gz")))),
            );
        }
    }
    if parsed.has(&["-b", "--background"]) && !parsed.has(&["-o", "--output-file", "-a", "--append-output"]) {
        found.push(write(&Arg::known("wget-log")));
    }
    if parsed.has(&["-O", "--output-document", "--spider", "-V", "--version", "-h", "--help"]) {
        return found;
    }
    let many = [
        "-r",
        "--recursive",
        "-m",
        "--mirror",
        "-p",
        "--page-requisites",
        "-x",
        "--force-directories",
        "-i",
        "--input-file",
        "--protocol-directories",
    ];
    if parsed.has(&many) {
        let below = folder.and_then(|folder| folder.text.clone()).unwrap_or_else(|| ".".to_owned());
        found.push(ProgramEffect::Writes(Arg::inside(&below), TreeEffect::Yes));
        return found;
    }
    let by_server = parsed.has(&["--content-disposition", "--trust-server-names"]);
    for address in &parsed.operands {
        let name = name_of(address, Some("index.html"), true).filter(|_| !by_server);
        found.push(write(&name.map_or_else(|| some_name(folder), |name| in_folder(folder, &name))));
    }
    found
}

/// Options of openssl's commands that name an output file. Options whose names end with `out` are not listed here,
/// because all of them count as output options.
const OPENSSL_FILES: &[&str] = &[
    "writerand",
    "CAserial",
    "outdir",
    "keylogfile",
    "sess_out",
    "msgfile",
    "signer_out",
    "genconf",
    "newkey_file",
    "outkey",
    "crl_out",
    "serial_out",
];
/// Options of openssl that end with `out` but name no file.
const OPENSSL_FLAGS: &[&str] = &["noout", "pubout", "text_out", "param_out", "nocertout", "timeout"];

pub(super) fn openssl(words: &[Arg]) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    if words.len() < 2 {
        // openssl without arguments reads commands from its standard input.
        return vec![ProgramEffect::Doubt("commands from its input".to_owned())];
    }
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(option) = word.lead.strip_prefix('-').map(|lead| lead.strip_prefix('-').unwrap_or(lead)) else {
            continue;
        };
        let (option, attached) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let writes = option.ends_with("out") && !OPENSSL_FLAGS.contains(&option) || OPENSSL_FILES.contains(&option);
        if writes {
            let next = words.get(at + 1).cloned().unwrap_or_else(Arg::unknown);
            let file = attached.map_or(next, |value| match &word.text {
                Some(_) => Arg::known(value),
                None => Arg::unknown(),
            });
            found.push(ProgramEffect::Writes(file, TreeEffect::Yes));
        }
    }
    found
}
