//! The files of a project in `.handover/`. This module writes the files of `handover init`. It reads cards
//! (descriptions of agents), contracts (descriptions of outputs) and templates of plans.

pub mod edit;
mod first;

use std::io;
use std::path::{Path, PathBuf};

use engine::template::TemplateBody;
use wire::card::{self, Card};
use wire::json::Value;
use wire::report::Registry;

use crate::project::place::FOLDER;
use crate::project::plan_file::{self, DocumentFormat};

pub use first::{InitPlan, InitTexts, ignore_own_files, init_files};

/// The examples that `handover init --examples` writes into a project: the path below `.handover/`, and the content.
const FILES: &[(&str, &str)] = &[
    ("config.example.toml", include_str!("init/config.toml")),
    ("cards/builder.json", include_str!("init/builder.json")),
    ("cards/reviewer.json", include_str!("init/reviewer.json")),
    ("skills/platform-env.md", include_str!("init/platform-env.md")),
    ("skills/inbox-protocol.md", include_str!("init/inbox-protocol.md")),
    ("contracts/report.json", include_str!("init/report.json")),
    ("templates/feature.yaml", include_str!("init/feature.yaml")),
    ("templates/bugfix.yaml", include_str!("init/bugfix.yaml")),
];

/// The role names that cards (descriptions of agents) may use. They are the roles to which blocked tasks are routed by
/// default, and the roles with which agents register.
const ROLES: &[&str] = &["ba", "infra", "pm", "supervisor", "worker", "coordinator", "developer", "reviewer"];

/// The result of `handover init` for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitResult {
    pub path: PathBuf,
    /// True when the file existed before and was left unchanged.
    pub kept: bool,
}

/// Writes cards (descriptions of agents), skills (texts for prompts), contracts, templates and an example of all
/// settings. Keeps existing files, so it can be called again.
pub fn init_examples(root: &Path) -> io::Result<Vec<InitResult>> {
    FILES.iter().map(|(name, text)| create(&root.join(FOLDER).join(name), text)).collect()
}

/// Writes a file, unless it exists already.
fn create(path: &Path, text: &str) -> io::Result<InitResult> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let created = std::fs::File::options().write(true).create_new(true).open(path);
    let kept = match created {
        Ok(mut file) => {
            io::Write::write_all(&mut file, text.as_bytes())?;
            false
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
        Err(error) => return Err(error),
    };
    Ok(InitResult { path: path.to_owned(), kept })
}

/// A card file (the description of an agent) of the project, with the result of its check.
#[derive(Debug)]
pub struct JudgedCard {
    pub path: PathBuf,
    /// The card (description of an agent) in the file. `None` when the file is no valid card.
    pub card: Option<Card>,
    pub verdict: Value,
    /// The number of errors in the card file (the description of an agent).
    pub errors: usize,
}

/// Returns every card file (description of an agent) with the result of its check. A card may only use agents, roles
/// and output types of this project.
pub fn cards(root: &Path) -> io::Result<Vec<JudgedCard>> {
    let documents: Vec<(PathBuf, Vec<u8>)> = files(&root.join(FOLDER).join("cards"), "json")?
        .into_iter()
        .map(|path| Ok((path.clone(), std::fs::read(path)?)))
        .collect::<io::Result<_>>()?;
    let registry = registry(root, &documents)?;
    let judge = |(path, bytes): (PathBuf, Vec<u8>)| {
        let judged = card::judge(&bytes, Some(&registry));
        let (verdict, errors) = (judged.report.to_value(), judged.report.errors().len());
        JudgedCard { path, card: judged.value, verdict, errors }
    };
    Ok(documents.into_iter().map(judge).collect())
}

/// A template file: a plan with variables.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectTemplate {
    /// The path of the template file, relative to the project.
    pub path: String,
    pub name: String,
    pub description: Option<String>,
    pub body: TemplateBody,
}

/// Returns the templates of the project, sorted by file name. Fails when a file cannot be read, with an error that
/// names the file.
pub fn templates(root: &Path) -> Result<Vec<ProjectTemplate>, String> {
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
        let file = plan_file::document(&text, DocumentFormat::of_path(&path), wire::document::BYTES_MAX);
        let file = file.map_err(|problems| problems.at(&shown))?;
        let (name, description) = (file.name.to_string(), file.description.as_ref().map(ToString::to_string));
        found.push(ProjectTemplate { path: shown, name, description, body: file.body() });
    }
    Ok(found)
}

/// Returns the names that cards (descriptions of agents) may use: the agents of all cards, the output types of all
/// contracts, and the known roles.
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

/// Returns the files of a folder that have this extension, sorted by name. Returns an empty list when the folder does
/// not exist.
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
