//! Lists the files of the page, so that the program contains every file of the folder `assets` that a browser needs. Leaves
//! out comments and indentation, which are for people who read the files in the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The types of files that a browser gets, by the ending of the name. Other files are for people who change the page.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
];

/// The file that other people wrote. It is embedded byte for byte.
const LIBRARY: &str = "lit.js";

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let Some((_, content_type)) = TYPES.iter().find(|(known, _)| *known == ending) else { continue };
        let text = fs::read_to_string(folder.join(&name))?;
        let is_ours = name != LIBRARY && matches!(ending, "js" | "css");
        let path = out.join(&name);
        fs::write(&path, if is_ours { bare(&text) } else { text })?;
        writeln!(
            list,
            "PageFile {{ name: {name:?}, content_type: {content_type:?}, bytes: include_bytes!({path:?}) }},"
        )
        .map_err(io::Error::other)?;
    }
    list.push(']');
    fs::write(out.join("files.rs"), list)
}

/// Returns a script or a style sheet without comments, indentation and empty lines. Comments are found without reading the
/// language: no text or template in our files has `/*` or a line that begins with `//`.
fn bare(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.fold(String::new(), |text, line| text + line + "\n")
}
