//! Reads the settings files. Each file is read only once, so that the checked text, the hashed text and the text that a
//! person accepts are the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::{DetectedDefaults, Settings, Unreadable, parse, parse_both, parse_text, unknown};
use git::FOLDER;

const CONFIG: &str = "config.toml";
/// The file with the personal settings, which git ignores.
const LOCAL: &str = "local.toml";
/// The folder in `.handover/` with the JSON schemas of contracts. Outputs of agents are checked against them.
pub const CONTRACTS: &str = "contracts";
/// The maximum size of `config.toml` in bytes; a longer file is an error. A usual file has some kilobytes, and a person
/// cannot review more than this.
const CONFIG_BYTES_MAX: u64 = 4 << 20;
/// The maximum number of bytes of a schema file that are read: one byte more than a schema may have. So the later check
/// of the schema notices a file that is too long, and its error names the schema's own limit.
const CONTRACT_BYTES_MAX: u64 = (1 << 20) + 1;
/// The maximum number of files in `contracts/` that are read; further files are ignored.
const CONTRACTS_MAX: usize = 1_000;

/// The texts of `config.toml` and `local.toml`, the files in `contracts/` by name, and the values that apply where no
/// file has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsFiles {
    /// The text of `config.toml`. It is empty when the file does not exist.
    pub config: String,
    /// The text of `local.toml`, whose values win over `config.toml`. It is empty when the file does not exist.
    pub local: String,
    /// The values that Handover found on this machine and in the files of the repository.
    pub detected: DetectedDefaults,
    /// The text of each file in `contracts/` by its name, or the reason why the file cannot be read.
    pub contracts: BTreeMap<String, Result<String, String>>,
}

impl SettingsFiles {
    /// Reads the two settings files and the files in `contracts/`.
    pub fn read(root: &Path) -> Result<Self, Unreadable> {
        let files = Self::without_contracts(root)?;
        let folder = root.join(FOLDER).join(CONTRACTS);
        let unreadable =
            |error: io::Error| Unreadable { path: folder.display().to_string(), problem: error.to_string() };
        let mut contracts = BTreeMap::new();
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(files),
            Err(error) => return Err(unreadable(error)),
        };
        for entry in entries.take(CONTRACTS_MAX) {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            contracts.insert(name, text(&entry.path(), CONTRACT_BYTES_MAX).map_err(|error| error.to_string()));
        }
        Ok(Self { contracts, ..files })
    }

    /// Reads only the two settings files, without the schemas. The gate rules are read before every tool call and need
    /// no schema.
    pub fn without_contracts(root: &Path) -> Result<Self, Unreadable> {
        Ok(Self { config: Self::text_of(root, CONFIG)?, local: Self::text_of(root, LOCAL)?, ..Self::default() })
    }

    fn text_of(root: &Path, name: &str) -> Result<String, Unreadable> {
        let path = root.join(FOLDER).join(name);
        match text(&path, CONFIG_BYTES_MAX) {
            Ok(text) => Ok(text),
            Err(error) if is_absent(&error) => Ok(String::new()),
            Err(error) => Err(Unreadable { path: path.display().to_string(), problem: error.to_string() }),
        }
    }

    /// Parses the settings from the texts that were read before. `root` is only used to name the file in an error.
    pub fn settings(&self, root: &Path) -> Result<Settings, Unreadable> {
        let in_file = |name: &str, problem: String| Unreadable {
            path: root.join(FOLDER).join(name).display().to_string(),
            problem,
        };
        let mut settings = parse_text(&self.config).map_err(|problem| in_file(CONFIG, problem))?;
        if !self.local.trim().is_empty() {
            // Parse this file alone first, because only then an error names the right line.
            unknown::look(&self.local).map_err(|problem| in_file(LOCAL, problem))?;
            settings = parse_both(&self.config, &self.local).map_err(|problem| in_file(LOCAL, problem))?;
        }
        self.detected.fill(&mut settings);
        if let Some(problem) = settings.problem() {
            let is_shared = self.local.trim().is_empty() || parse(&self.config).is_err();
            let file = if is_shared { CONFIG } else { LOCAL };
            return Err(in_file(file, problem));
        }
        settings.team.schemas = self.contracts.clone();
        Ok(settings)
    }
}

/// Returns true when the error means that the settings file does not exist. `NotADirectory` is included, because
/// `.handover` may be a file of another program.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a regular file. Refuses a pipe or a device, even if the path is a link to it, because reading it could block
/// or never end.
fn text(path: &Path, most: u64) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("is larger than {most} bytes")));
    }
    Ok(text)
}

/// Opens a file without blocking, because another process may replace the file by a pipe after its kind was checked.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}
