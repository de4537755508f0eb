//! Proposes gate rules (rules about tool calls) that allow the commands with which the project builds and tests itself.
//! A person can extend the proposed rules.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The largest number of `package.json` scripts for which gate rules (rules about tool calls) are proposed, and the
/// largest number of Makefile targets. Further scripts and targets are left out.
const NAMES_MAX: usize = 8;
/// The names of Makefile targets for which gate rules (rules about tool calls) are proposed. These targets usually
/// build or check the project.
const TARGETS: &[&str] = &["all", "build", "check", "clean", "fmt", "format", "lint", "test", "tests", "typecheck"];
/// The largest `package.json` or Makefile that is read, in bytes. A larger one is ignored.
const BYTES_MAX: u64 = 1 << 20;

/// Returns settings that allow the commands with which a project builds and tests itself, and ask a person about all
/// other commands. Returns `None` if no build tool is recognized.
pub(super) fn settings(root: &Path) -> Option<String> {
    let commands = commands(root);
    if commands.is_empty() {
        return None;
    }
    let git =
        ["status", "diff", "log", "show", "add", "commit"].map(|command| vec!["git".to_owned(), command.to_owned()]);
    let mut text = "[gates]\ndefault = \"ask\"\n".to_owned();
    for words in commands.iter().chain(&git) {
        let words: Vec<String> = words.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
        // A write to a string does not fail.
        let _: Result<(), _> = write!(text, "\n[[gate]]\ncommand = [{}]\ndecision = \"allow\"\n", words.join(", "));
    }
    Some(text)
}

fn commands(root: &Path) -> Vec<Vec<String>> {
    let has = |name: &str| root.join(name).is_file();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.extend(["cargo build", "cargo check", "cargo test", "cargo clippy", "cargo fmt"].map(words));
    }
    if has("go.mod") {
        found.extend(["go build", "go test", "go vet", "go fmt"].map(words));
    }
    let python = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    if python.iter().any(|name| has(name)) {
        found.extend(["pytest", "python -m pytest"].map(words));
        found.extend(has("uv.lock").then(|| words("uv run pytest")));
        found.extend(has("poetry.lock").then(|| words("poetry run pytest")));
    }
    let manager = match () {
        () if has("pnpm-lock.yaml") => "pnpm",
        () if has("yarn.lock") => "yarn",
        () if has("bun.lock") || has("bun.lockb") => "bun",
        () => "npm",
    };
    for script in scripts(root) {
        found.push(words(&format!("{manager} run {script}")));
        found.extend((script == "test").then(|| words(&format!("{manager} test"))));
    }
    found.extend(targets(root).iter().map(|target| words(&format!("make {target}"))));
    found
}

fn text_of(root: &Path, name: &str) -> Option<String> {
    let path = root.join(name);
    let small = path.metadata().is_ok_and(|about| about.is_file() && about.len() <= BYTES_MAX);
    small.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// Tells whether a name is a single shell word that needs no quotes and does not look like an option.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-:.".contains(letter))
}

fn scripts(root: &Path) -> Vec<String> {
    let package = text_of(root, "package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let scripts = package.as_ref().and_then(|package| package.get("scripts")).and_then(Value::as_object);
    let names = scripts.into_iter().flat_map(|scripts| scripts.keys());
    // Leave out scripts that publish or deploy: a person should be asked before they run.
    let daily =
        |name: &&String| is_plain(name) && !["publish", "deploy", "release"].iter().any(|word| name.contains(word));
    names.filter(daily).take(NAMES_MAX).cloned().collect()
}

fn targets(root: &Path) -> Vec<String> {
    let text = text_of(root, "Makefile").unwrap_or_default();
    let target = |line: &str| line.split_once(':').map(|(name, _)| name.trim().to_owned());
    let known = |name: &String| TARGETS.contains(&name.as_str());
    text.lines().filter_map(target).filter(known).take(NAMES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_those_of_the_project_and_can_be_read() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(settings(folder.path()), None);
        for (name, text) in [
            ("Cargo.toml", ""),
            ("go.mod", ""),
            ("pyproject.toml", ""),
            ("uv.lock", ""),
            ("package.json", r#"{"scripts":{"test":"x","build":"x","deploy":"x","a b":"x","-x":"x","e\"2e":"x"}}"#),
            ("Makefile", "test: build\n\tx\nbuild:\n\ty\nship:\n"),
        ] {
            std::fs::write(folder.path().join(name), text)?;
        }
        let proposed = settings(folder.path()).expect("rules");
        for wanted in [
            r#"["cargo", "test"]"#,
            r#"["go", "vet"]"#,
            r#"["python", "-m", "pytest"]"#,
            r#"["uv", "run", "pytest"]"#,
            r#"["npm", "test"]"#,
            r#"["npm", "run", "build"]"#,
            r#"["make", "test"]"#,
            r#"["git", "commit"]"#,
        ] {
            assert!(proposed.contains(wanted), "{wanted} is missing in {proposed}");
        }
        assert!(!proposed.contains("deploy") && !proposed.contains("ship") && !proposed.contains("a b"), "{proposed}");
        std::fs::create_dir_all(folder.path().join(".handover"))?;
        std::fs::write(folder.path().join(".handover/config.toml"), &proposed)?;
        let read = base::project::settings::read(Some(folder.path())).expect("settings that can be read");
        assert!(!read.gates.is_empty());
        Ok(())
    }
}
