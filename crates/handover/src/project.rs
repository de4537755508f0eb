//! A project's own files: what `handover init` writes, and the cards and contracts that are there.

use std::io;
use std::path::{Path, PathBuf};

use engine::template::TemplateBody;
use wire::card::{self, Card};
use wire::json::Value;
use wire::report::Registry;

use crate::place::FOLDER;

/// What a new project begins with, below `.handover/`.
const FILES: &[(&str, &str)] = &[
    ("config.toml", include_str!("init/config.toml")),
    ("cards/builder.json", include_str!("init/builder.json")),
    ("cards/reviewer.json", include_str!("init/reviewer.json")),
    ("skills/platform-env.md", include_str!("init/platform-env.md")),
    ("skills/inbox-protocol.md", include_str!("init/inbox-protocol.md")),
    ("contracts/report.json", include_str!("init/report.json")),
    ("templates/feature.yaml", include_str!("init/feature.yaml")),
    ("templates/bugfix.yaml", include_str!("init/bugfix.yaml")),
    ("state/.gitignore", "*\n"),
];

/// Roles that blocked tasks are routed to unless the configuration says otherwise, and those agents register with.
const ROLES: &[&str] = &["ba", "infra", "pm", "supervisor", "worker", "coordinator", "developer", "reviewer"];

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    /// It was there before and was left as it is.
    pub kept: bool,
}

/// Writes what a project begins with. A file that is there is kept, so it may be called again.
pub fn init(root: &Path) -> io::Result<Vec<Written>> {
    let mut written = Vec::new();
    for (name, text) in FILES {
        let path = root.join(FOLDER).join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let created = std::fs::File::options().write(true).create_new(true).open(&path);
        let kept = match created {
            Ok(mut file) => {
                io::Write::write_all(&mut file, text.as_bytes())?;
                false
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(error),
        };
        written.push(Written { path, kept });
    }
    Ok(written)
}

/// A card of the project, judged.
#[derive(Debug)]
pub struct Judged {
    pub path: PathBuf,
    /// When it is valid.
    pub card: Option<Card>,
    pub verdict: Value,
    /// How many.
    pub errors: usize,
}

/// Every card, judged against the names of this project.
pub fn cards(root: &Path) -> io::Result<Vec<Judged>> {
    let documents: Vec<(PathBuf, Vec<u8>)> = files(&root.join(FOLDER).join("cards"), "json")?
        .into_iter()
        .map(|path| Ok((path.clone(), std::fs::read(path)?)))
        .collect::<io::Result<_>>()?;
    let registry = registry(root, &documents)?;
    let judge = |(path, bytes): (PathBuf, Vec<u8>)| {
        let judged = card::judge(&bytes, Some(&registry));
        let (verdict, errors) = (judged.report.to_value(), judged.report.errors().len());
        Judged { path, card: judged.value, verdict, errors }
    };
    Ok(documents.into_iter().map(judge).collect())
}

/// A plan with variables that a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateFile {
    /// Where, relative to the project.
    pub path: String,
    pub name: String,
    pub description: Option<String>,
    pub body: TemplateBody,
}

/// Templates of the project, by the names of their files. The first that cannot be read is named.
pub fn templates(root: &Path) -> Result<Vec<TemplateFile>, String> {
    let folder = root.join(FOLDER).join("templates");
    let listed = |ending| files(&folder, ending).map_err(|error| format!("{}: {error}", folder.display()));
    let mut paths = listed("yaml")?;
    paths.extend(listed("yml")?);
    paths.extend(listed("json")?);
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{shown}: {error}"))?;
        // JSON is YAML, too; it is read by the stricter reader of the two.
        let text = if shown.ends_with("json") {
            text
        } else {
            crate::yaml::parse(&text).map_err(|problem| format!("{shown}: {problem}"))?.to_string()
        };
        let judged = wire::lifecycle::TemplateFile::judge(&text);
        let Some(file) = judged.value else {
            let first = judged.report.errors().first().map(|problem| judged.report.message(problem));
            return Err(format!("{shown}: {}", first.unwrap_or_default()));
        };
        let (name, description) = (file.name.to_string(), file.description.as_ref().map(ToString::to_string));
        found.push(TemplateFile { path: shown, name, description, body: file.plan() });
    }
    Ok(found)
}

/// The names cards may use: agents by the cards there are, output types by the contracts, and the usual roles.
fn registry(root: &Path, documents: &[(PathBuf, Vec<u8>)]) -> io::Result<Registry> {
    let stems =
        |paths: Vec<PathBuf>| paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    let slug = |bytes: &Vec<u8>| {
        let node = wire::json::parse_object(std::str::from_utf8(bytes).ok()?).ok()?;
        Some(node.get("identity")?.get("slug")?.text()?.to_owned())
    };
    Ok(Registry {
        roles: ROLES.iter().map(|role| (*role).to_owned()).collect(),
        agents: documents.iter().filter_map(|(_, bytes)| slug(bytes)).collect(),
        output_types: stems(files(&root.join(FOLDER).join("contracts"), "json")?),
    })
}

/// The files of a folder with an extension, by name; none when there is no folder.
fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}
