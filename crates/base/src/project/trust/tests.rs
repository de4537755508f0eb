//! Tests of trust in settings: which changes wait until a person accepts them, and which values take effect.

mod keys;
mod scripts;
mod values;

use std::path::{Path, PathBuf};

use super::*;
use git::FOLDER;

/// A function that creates a file, a link, a pipe or a folder at a path.
type FileMaker = fn(&Path);

/// A clone of a repository with settings, and the data folder of a user.
struct Clone {
    folder: tempfile::TempDir,
}

impl Clone {
    fn new(config: &str) -> Self {
        let clone = Self { folder: tempfile::tempdir().unwrap() };
        clone.file(".handover/config.toml", config);
        clone
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("clone")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.folder.path().join("clone").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn config(&self, text: &str) {
        self.file(".handover/config.toml", text);
    }

    fn view(&self) -> TrustView {
        view(&self.root(), Some(&self.data())).unwrap()
    }

    fn accept(&self) {
        accept(&self.data(), &self.view()).unwrap();
    }

    fn required(&self) -> Result<(), String> {
        require(&self.root(), Some(&self.data())).map(|_| ()).map_err(|refused| refused.to_string())
    }
}

#[test]
fn nothing_is_started_before_a_person_accepted_it() {
    let clone = Clone::new("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n");
    assert!(clone.required().unwrap_err().starts_with("NOT_TRUSTED no person has accepted the commands of "));
    assert_eq!(clone.view().settings.team.agents, [], "an agent that nobody accepted is not in force");
    clone.accept();
    assert_eq!(clone.required(), Ok(()));
    // A change of a route, a persona or a comment takes effect without asking a person.
    clone.config(
        "# a comment\n[routes]\nspec_gap = \"roles.ba\"\n[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\n\
         persona = \"You are quick.\"\nroles = [\"developer\"]\ncommand = [\"sh\"]\n",
    );
    assert_eq!((clone.required(), clone.view().changes), (Ok(()), Vec::new()));
    assert_eq!(clone.view().settings.team.agents[0].persona.as_deref(), Some("You are quick."));
    clone.config("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\", \"-x\"]\n");
    let refused = clone.required().unwrap_err();
    assert!(refused.contains("NOT_TRUSTED") && refused.contains("~ agent quinn: sh -> sh -x"), "{refused}");
    let without_home = require(&clone.root(), None).unwrap_err().to_string();
    assert!(without_home.contains("set HOME"), "{without_home}");
}

#[test]
fn another_clone_of_the_same_settings_is_another_question() {
    let (one, other) = (Clone::new(""), Clone::new(""));
    accept(&one.data(), &one.view()).unwrap();
    assert!(require(&other.root(), Some(&one.data())).is_err());
    assert!(one.required().is_ok());
}

/// The settings file changes after it was shown to a person and before the person accepts it. The acceptance counts
/// only for the content that the person saw.
#[test]
fn what_was_shown_is_what_is_accepted() {
    let agent = |words: &str| format!("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [{words}]\n");
    let clone = Clone::new(&agent("\"sh\""));
    let shown = clone.view();
    clone.config(&agent("\"sh\", \"-c\", \"steal\""));
    accept(&clone.data(), &shown).unwrap();
    let refused = clone.required().unwrap_err();
    assert!(refused.contains("~ agent quinn: sh -> sh -c steal"), "{refused}");
    assert_eq!(clone.view().settings.team.agents[0].command, ["sh"]);
}

#[test]
fn the_accepted_copy_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let clone = Clone::new("");
    clone.accept();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = record_of(&clone.root(), &clone.data()).unwrap();
    assert_eq!((mode(&file), mode(&folder(&clone.data()))), (0o600, 0o700));
    // The file with the accepted settings does not count when other users can write it, because one of them could have
    // written it.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(view(&clone.root(), Some(&clone.data())).unwrap_err().to_string().contains("read the accepted settings"));
    assert!(clone.required().is_err());
    std::fs::remove_file(&file).unwrap();
    clone.accept();
    assert!(clone.required().is_ok(), "the advice can be followed");
}

/// Hostile settings files: a link to a device, a pipe, a folder, and a file that is longer than a person can read.
#[test]
fn a_configuration_that_is_no_file_is_refused_and_does_not_block() {
    let cases: [(&str, FileMaker); 4] = [
        ("a link to a device", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()),
        ("a pipe", |path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("a folder", |path| std::fs::create_dir(path).unwrap()),
        ("eight megabytes", |path| std::fs::write(path, "#".repeat(8 << 20)).unwrap()),
    ];
    for (case, make) in cases {
        let clone = Clone::new("");
        let path = clone.root().join(FOLDER).join("config.toml");
        std::fs::remove_file(&path).unwrap();
        make(&path);
        let told = clone.required().unwrap_err();
        assert!(told.contains("is not a file") || told.contains("is larger than"), "{case}: {told}");
    }
}

/// When the settings file is a link, a person accepts the text of the file that the link leads to.
#[test]
fn a_configuration_behind_a_link_is_accepted_by_its_text() {
    let clone = Clone::new("");
    let path = clone.root().join(FOLDER).join("config.toml");
    clone.file("elsewhere.toml", "[notify]\ncommand = [\"true\"]\n");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("../elsewhere.toml", &path).unwrap();
    clone.accept();
    assert_eq!(clone.required(), Ok(()));
    clone.file("elsewhere.toml", "[notify]\ncommand = [\"false\"]\n");
    assert!(clone.required().unwrap_err().contains("~ notify: true -> false"));
}

#[test]
fn secrets_are_left_out_of_what_is_shown_and_still_compared() {
    let agent = |key: &str| {
        format!(
            "[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n\
             env = {{ API_TOKEN = \"{key}\", MODE = \"fast\" }}\n"
        )
    };
    let clone = Clone::new(&agent("correct-horse"));
    let lines = clone.view().list.lines().join("\n");
    assert!(lines.contains("agent quinn: env MODE=fast"), "{lines}");
    assert!(lines.contains("agent quinn: env API_TOKEN=[redacted]") && !lines.contains("horse"), "{lines}");
    clone.accept();
    clone.config(&agent("battery-staple"));
    let refused = clone.required().unwrap_err();
    assert!(refused.contains("~ agent quinn: env API_TOKEN=[redacted] (another value)"), "{refused}");
    assert!(!refused.contains("staple") && !refused.contains("horse"), "{refused}");
}

#[test]
fn the_hash_is_that_of_the_list() {
    let clone = Clone::new("[notify]\ncommand = [\"true\"]\n");
    let before = clone.view().list.sha256();
    clone.config("# only a comment\n\n[routes]\nspec_gap = \"roles.ba\"\n[notify]\ncommand = [ 'true' ]\n");
    assert_eq!(clone.view().list.sha256(), before);
    clone.config("[notify]\ncommand = [\"false\"]\n");
    assert_ne!(clone.view().list.sha256(), before);
}

/// A hook checks a tool call against the gate rules of the settings file and against the gate rules that a person
/// accepted. If nothing was accepted, it uses only the settings file.
#[test]
fn a_call_passes_the_gates_of_both_copies() {
    let rule =
        |word: &str| format!("[gates]\ndefault = \"allow\"\n[[gate]]\nwrite = \"infra/**\"\ndecision = \"{word}\"\n");
    let clone = Clone::new(&rule("deny"));
    let gates = || gates(&clone.root(), Some(&clone.data())).unwrap();
    assert_eq!(gates().len(), 1);
    assert!(!gates()[0].is_empty(), "the file's rules count before anything was accepted");
    clone.accept();
    assert_eq!(gates().len(), 1);
    clone.config(&format!("# a comment\n{}", rule("deny")));
    assert_eq!(gates().len(), 1, "two copies of the same rules are looked at once");
    clone.config("");
    let both = gates();
    assert!(both[0].is_empty() && !both[1].is_empty(), "an accepted rule holds although the file lost it");
}
