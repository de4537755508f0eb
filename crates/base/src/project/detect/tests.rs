//! Tests the detection with the fixtures of `crates/base/tests/detect/`. A fixture has the files of a repository, and
//! the expected result in words.
//!
//! ```text
//! == The condition and the result, as one sentence
//! in packages/shop            the person's folder, when it is not the root
//! programs cargo-nextest      programs that are installed
//! absent .env build/          paths that git ignores or does not track
//! --- package.json            a file; the lines up to the next `---` or `=>` are its content
//! --- Makefile -> ../x        a link
//! --- tests/                  a folder
//! => check: npm test          a line of the expected result
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::table::{CheckRow, DetectionRow, table};
use super::{DetectedProject, RepositoryFiles, detect};

/// One fixture: the files of a repository, and the expected result of the detection.
#[derive(Debug, Default)]
struct Fixture {
    place: String,
    folder: String,
    programs: Vec<String>,
    absent: Vec<String>,
    files: Vec<(String, String)>,
    wanted: Vec<String>,
}

#[test]
fn fixtures_give_the_result_that_they_state() {
    let wrong: Vec<String> = fixtures().iter().filter_map(|fixture| problem(fixture, &play(fixture))).collect();
    assert!(wrong.is_empty(), "{} of the fixtures fail\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn every_row_and_every_check_of_the_table_has_a_fixture() {
    let played: Vec<DetectedProject> = fixtures().iter().map(play).collect();
    let rows = &table().rows;
    assert!(rows.len() > 15, "the table cannot be read");
    for row in rows {
        let is_found = |project: &DetectedProject| {
            let by_check = project.check.as_ref().is_some_and(|check| check.row == row.name);
            by_check || project.languages.iter().any(|language| language.row == row.name)
        };
        assert!(played.iter().any(is_found), "no fixture for the row `{}`", row.name);
        for check in &row.checks {
            assert!(played.iter().any(|project| uses(project, row, check)), "no fixture for `{}`", check.run);
        }
    }
}

#[test]
fn names_of_rows_are_unique() {
    let mut names: Vec<&str> = table().rows.iter().map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_folder_outside_of_the_repository_counts_as_the_root() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("go.mod"), "module a\n").unwrap();
    let files = RepositoryFiles::new(root.path()).unwrap();
    for folder in ["", ".", "..", "../other", "/etc", "a/../.."] {
        let found = detect(&files, Path::new(folder), &|_| false);
        assert_eq!(found.check.map(|check| check.to_string()).as_deref(), Some("go test ./..."), "{folder}");
    }
}

#[test]
fn only_the_beginning_of_a_large_file_is_read() {
    let root = tempfile::tempdir().unwrap();
    let lines = "# filler\n".repeat(200_000);
    fs::write(root.path().join("Makefile"), format!("check:\n\ttrue && ./run\n{lines}test:\n\t./run\n")).unwrap();
    let files = RepositoryFiles::new(root.path()).unwrap();
    let found = detect(&files, Path::new(""), &|_| false);
    assert_eq!(found.check.map(|check| check.to_string()).as_deref(), Some("make check"));
}

fn uses(project: &DetectedProject, row: &DetectionRow, check: &CheckRow) -> bool {
    let Some(found) = project.check.as_ref().filter(|found| found.row == row.name) else { return false };
    let mut words = found.words.iter().map(String::as_str).peekable();
    let fits = check.run.split(' ').all(|word| match word {
        "{extra}" => {
            if words.next_if(|next| ["--extra", "--group"].contains(next)).is_some() {
                words.next();
            }
            true
        }
        "{workspace}" => words.next_if_eq(&"--workspace").is_some() || words.peek().is_none(),
        "{tests}" => words.next().is_some(),
        word => words.next() == Some(word),
    });
    fits && words.next().is_none()
}

fn problem(fixture: &Fixture, found: &DetectedProject) -> Option<String> {
    let lines = lines(found);
    let shown = |lines: &[String]| lines.iter().map(|line| format!("    => {line}\n")).collect::<String>();
    let report = || format!("{}\n  wanted\n{}  found\n{}", fixture.place, shown(&fixture.wanted), shown(&lines));
    (lines != fixture.wanted).then(report)
}

/// Returns the result of a detection in the words of the fixtures, one line for each fact.
fn lines(found: &DetectedProject) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &found.languages {
        lines.push(format!("{} by {} ({})", one.language.name(), one.manager, one.marker));
    }
    for one in &found.setup {
        assert_eq!(one.seconds, 600);
        lines.push(format!("setup: {one} [{}]", one.inputs.join(", ")));
    }
    lines.extend(found.check.iter().map(|check| format!("check: {check}")));
    lines.extend(found.elsewhere.iter().map(|check| format!("elsewhere: {check}")));
    lines.extend(found.no_check.iter().map(|reason| format!("no check: {reason}")));
    lines
}

fn play(fixture: &Fixture) -> DetectedProject {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("repository");
    fs::create_dir_all(&root).unwrap();
    // Some fixtures have a link that leads out of the repository. This file is the target of the link.
    fs::write(above.path().join("outside"), "test:\n\t./run\n").unwrap();
    for (path, content) in &fixture.files {
        let (path, target) = path.split_once(" -> ").map_or((path.as_str(), None), |(path, to)| (path, Some(to)));
        let place = root.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match target {
            Some(target) => std::os::unix::fs::symlink(target, place).unwrap(),
            None if path.ends_with('/') => fs::create_dir_all(place).unwrap(),
            None => fs::write(place, content).unwrap(),
        }
    }
    let files = RepositoryFiles::new(&root).unwrap().without(fixture.absent.iter().cloned());
    let has_program = |name: &str| fixture.programs.iter().any(|program| program == name);
    detect(&files, &PathBuf::from(&fixture.folder), &has_program)
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/detect");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "txt"));
    paths.sort();
    let found: Vec<Fixture> = paths.iter().flat_map(|path| read(path)).collect();
    assert!(found.len() > 50, "{} fixtures", found.len());
    found
}

fn read(path: &Path) -> Vec<Fixture> {
    let text = fs::read_to_string(path).unwrap();
    let file = path.file_name().unwrap().to_string_lossy();
    let mut found: Vec<Fixture> = Vec::new();
    let mut is_content = false;
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("== ") {
            let place = format!("{file}:{} {name}", number + 1);
            found.push(Fixture { place, ..Fixture::default() });
            is_content = false;
            continue;
        }
        // The lines before the first fixture explain the fixture file, so they are skipped.
        let Some(fixture) = found.last_mut() else { continue };
        let words = |rest: &str| rest.split(' ').map(str::to_owned).collect();
        if let Some(path) = line.strip_prefix("--- ") {
            fixture.files.push((path.to_owned(), String::new()));
            is_content = true;
        } else if let Some(wanted) = line.strip_prefix("=> ") {
            fixture.wanted.push(wanted.to_owned());
            is_content = false;
        } else if is_content && let Some((_, content)) = fixture.files.last_mut() {
            content.push_str(line);
            content.push('\n');
        } else if let Some(folder) = line.strip_prefix("in ") {
            fixture.folder = folder.to_owned();
        } else if let Some(rest) = line.strip_prefix("programs ") {
            fixture.programs = words(rest);
        } else if let Some(rest) = line.strip_prefix("absent ") {
            fixture.absent = words(rest);
        } else {
            assert!(line.is_empty(), "{file}:{}: `{line}` is no line of a fixture", number + 1);
        }
    }
    found
}
