//! Resolves the contract that an output must meet. It consists of fields of the task's brief, and of the contract in
//! the settings that the brief names in `schema_ref`.

use std::path::{Component, Path};

use wire::message::{OutputContract, OutputType};

use super::schema::Schema;
use base::project::place::FOLDER;
use base::project::settings::team::{CheckSettings, ScriptSource};
use base::project::settings::{CONTRACTS, TeamSettings};

/// The largest number of checks in a contract. A contract with more checks is an error, because the results of all
/// checks must fit into one record.
pub(super) const CHECKS_MAX: usize = 20;

#[derive(Debug, Clone)]
pub struct VerifiedContract {
    pub kind: OutputType,
    pub output_ref_required: bool,
    /// The shortest output that is accepted, in characters. A shorter output fails the verification.
    pub min_length: u64,
    /// The criterion that an evaluator judges, in the exact words of the brief. `None` when no evaluator is asked.
    pub evaluate: Option<String>,
    pub schema: Option<Schema>,
    pub checks: Vec<CheckSettings>,
    /// The source of the accepted contents of the scripts that the checks run. `None` means that the scripts are not
    /// compared with accepted contents.
    pub scripts: Option<ScriptSource>,
}

/// The error that a contract of the settings cannot be used, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("contract {name}: {problem}")]
pub struct Unresolved {
    pub name: String,
    pub problem: String,
}

/// Returns the contract for which a brief asks, from the settings that are in force.
pub fn resolve(team: &TeamSettings, asked: &OutputContract) -> Result<VerifiedContract, Unresolved> {
    let (schema, checks) = match asked.schema_ref.get() {
        Some(name) => named(team, name.as_str())?,
        None => (None, Vec::new()),
    };
    Ok(VerifiedContract {
        kind: asked.kind,
        output_ref_required: asked.output_ref_required,
        // A length that needs more than 64 bits becomes the largest number, which no output can reach.
        min_length: asked.min_length.as_ref().map_or(0, |length| length.number().as_u64().unwrap_or(u64::MAX)),
        evaluate: asked.evaluate.get().map(ToString::to_string),
        schema,
        checks,
        scripts: team.scripts.clone(),
    })
}

/// Returns the problems of all contracts in the settings that cannot be used.
pub fn survey(team: &TeamSettings) -> Vec<Unresolved> {
    team.contracts.keys().filter_map(|name| named(team, name).err()).collect()
}

/// Returns the schema and the checks of a named contract. The checks come from the settings. The schema is the file
/// that the settings name, else `contracts/<name>.json`. If that file exists, the contract needs no entry in the
/// settings.
fn named(team: &TeamSettings, name: &str) -> Result<(Option<Schema>, Vec<CheckSettings>), Unresolved> {
    let unresolved = |problem: String| Unresolved { name: name.to_owned(), problem };
    let written = team.contracts.get(name);
    let checks = written.map_or(&[][..], |contract| &contract.checks);
    if checks.len() > CHECKS_MAX {
        return Err(unresolved(format!("has {} checks; at most {CHECKS_MAX} are allowed", checks.len())));
    }
    if written.is_some_and(|contract| contract.is_unaccepted) {
        let problem = "no person has accepted its checks on this machine; a person accepts them with `handover trust`";
        return Err(unresolved(problem.to_owned()));
    }
    if checks.iter().any(|check| check.seconds == 0) {
        return Err(unresolved("a check has 0 seconds, so it could never pass; give it 1 or more".to_owned()));
    }
    let bare = Path::new(CONTRACTS).join(format!("{name}.json"));
    let chosen = written.and_then(|contract| contract.schema.as_deref());
    let path = chosen.unwrap_or(&bare);
    if !is_trusted(path) {
        let shown = path.display();
        return Err(unresolved(format!(
            "the schema {shown} must be a file in {FOLDER}/{CONTRACTS}/, because a person accepts only the files \
             there"
        )));
    }
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unreadable = |problem: &str| unresolved(format!("read the schema {}: {problem}", path.display()));
    let schema = match team.schemas.get(&file) {
        Some(Ok(text)) => Some(text.clone()),
        Some(Err(problem)) => return Err(unreadable(problem)),
        None if chosen.is_none() => None,
        None => return Err(unreadable("there is no such file")),
    };
    if schema.is_none() && written.is_none() {
        let problem = format!("there is neither [contract.{name}] in the settings nor {FOLDER}/{}", bare.display());
        return Err(unresolved(problem));
    }
    let compile = |text: String| {
        Schema::compile(&text).map_err(|problem| unresolved(format!("the schema {} {problem}", path.display())))
    };
    Ok((schema.map(compile).transpose()?, checks.to_vec()))
}

/// Returns true when the schema's path is a file directly in the contracts folder. A person who accepts the settings
/// also accepts the files of this folder, but no files of other folders.
fn is_trusted(path: &Path) -> bool {
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let is_there = parts.next().is_some_and(|part| part.as_os_str() == CONTRACTS);
    is_there && matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use wire::message::{WirePayload, judge};

    use super::*;

    fn asked(contract: &str) -> OutputContract {
        let text = format!(
            r#"{{"wire": "1.0", "type": "brief", "sender": "system", "ts": "2026-04-28T00:00:00Z", "payload":
            {{"goal": "X is built.", "acceptance_criteria": ["It is."], "output_contract": {contract}}}}}"#
        );
        match judge(text.as_bytes()).value.map(|wire| wire.payload) {
            Some(WirePayload::Brief(brief)) => brief.output_contract,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_asks_for_something_is_completed_by_verification_only() {
        let cases = [
            (r#""output_ref_required": false"#, false),
            (r#""output_ref_required": false, "schema_ref": null, "evaluate": null, "min_length": 9"#, false),
            (r#""output_ref_required": true"#, true),
            (r#""output_ref_required": false, "schema_ref": "code""#, true),
            (r#""output_ref_required": false, "evaluate": "Is it?""#, true),
        ];
        for (fields, expected) in cases {
            assert_eq!(asked(&format!(r#"{{"type": "file", {fields}}}"#)).is_verified(), expected, "{fields}");
        }
    }

    fn named(name: &str) -> OutputContract {
        asked(&format!(r#"{{"type": "json", "schema_ref": "{name}", "output_ref_required": false}}"#))
    }

    fn project(settings: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, TeamSettings) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(".handover/contracts/deeper")).unwrap();
        fs::write(root.path().join(".handover/config.toml"), settings).unwrap();
        for (name, text) in files {
            fs::write(root.path().join(".handover").join(name), text).unwrap();
        }
        let team = base::project::settings::read(Some(root.path())).unwrap().team;
        (root, team)
    }

    #[test]
    fn names_lead_to_checks_and_schemas() {
        let (_root, team) = project(
            "[contract.code]\nchecks = [{ command = [\"cargo\", \"test\"], seconds = 5 }]\n\
             [contract.both]\nschema = \"contracts/other.json\"\nchecks = [{ command = [\"true\"] }]\n\
             [contract.bare]\nchecks = [{ command = [\"true\"] }]\n",
            &[("contracts/other.json", "{}"), ("contracts/bare.json", "{}"), ("contracts/alone.json", "{}")],
        );
        let cases = [("code", 1, false), ("both", 1, true), ("bare", 1, true), ("alone", 0, true)];
        for (name, checks, has_schema) in cases {
            let found = resolve(&team, &named(name)).unwrap();
            assert_eq!((found.checks.len(), found.schema.is_some()), (checks, has_schema), "{name}");
        }
        assert_eq!(survey(&team), []);
    }

    #[test]
    fn without_a_name_only_the_brief_counts() {
        let (_root, team) = project("", &[]);
        let brief = asked(
            r#"{"type": "report", "schema_ref": null, "output_ref_required": true, "min_length": 7, "evaluate": " Is it?\n"}"#,
        );
        let found = resolve(&team, &brief).unwrap();
        assert_eq!(
            (found.output_ref_required, found.min_length, found.evaluate.as_deref()),
            (true, 7, Some(" Is it?\n"))
        );
        assert!(found.schema.is_none() && found.checks.is_empty());
        let endless = asked(r#"{"type": "file", "output_ref_required": false, "min_length": 99999999999999999999999}"#);
        assert_eq!(resolve(&team, &endless).unwrap().min_length, u64::MAX);
    }

    #[test]
    fn what_cannot_be_held_up_is_told_by_name() {
        let many = format!("[contract.many]\nchecks = [{}]\n", "{ command = [\"true\"] },".repeat(CHECKS_MAX + 1));
        let (root, _) = project(
            &format!(
                "[contract.lost]\nschema = \"contracts/lost.json\"\n[contract.out]\nschema = \"../outside.json\"\n\
                 [contract.deep]\nschema = \"contracts/deeper/x.json\"\n[contract.root]\nschema = \"/etc/passwd\"\n\
                 [contract.never]\nchecks = [{{ command = [\"true\"], seconds = 0 }}]\n{many}"
            ),
            &[("contracts/bad.json", "{"), ("contracts/far.json", r#"{"$ref": "https://example.org/x"}"#)],
        );
        fs::create_dir(root.path().join(".handover/contracts/folder.json")).unwrap();
        fs::write(root.path().join(".handover/contracts/bytes.json"), b"\xff").unwrap();
        let team = base::project::settings::read(Some(root.path())).unwrap().team;
        let cases = [
            ("nothing", "there is neither [contract.nothing] in the settings nor .handover/contracts/nothing.json"),
            ("lost", "read the schema contracts/lost.json: "),
            ("out", "must be a file in .handover/contracts/"),
            ("deep", "must be a file in .handover/contracts/"),
            ("root", "must be a file in .handover/contracts/"),
            ("never", "0 seconds"),
            ("many", "has 21 checks"),
            ("bad", "the schema contracts/bad.json is not JSON"),
            ("far", "Retrieval is disabled"),
            ("folder", "is not a file"),
            ("bytes", "UTF-8"),
        ];
        for (name, words) in cases {
            let told = resolve(&team, &named(name)).map(|_| ()).unwrap_err().to_string();
            assert!(told.starts_with(&format!("contract {name}: ")) && told.contains(words), "{told}");
        }
        assert_eq!(survey(&team).len(), 6);
    }
}
