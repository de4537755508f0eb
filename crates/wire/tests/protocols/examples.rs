//! Tests that every example of the specifications is accepted or refused as expected. A refused example has the reason
//! in its file name: `what--CODE--path.to.field.json`.

use std::path::{Path, PathBuf};

use wire::check::{CheckContext, DocumentKind, check};

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn examples_of_the_specifications() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut count = 0;
    for kind in DocumentKind::ALL {
        for file in files(&root.join(kind.as_str()).join("accept")) {
            let finding = check(*kind, &std::fs::read(&file).unwrap(), &CheckContext::default());
            assert!(finding.valid, "{}: {:?}", file.display(), finding.notes);
            count += 1;
        }
        for file in files(&root.join(kind.as_str()).join("reject")) {
            let finding = check(*kind, &std::fs::read(&file).unwrap(), &CheckContext::default());
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let mut parts = name.split("--").skip(1);
            let code = parts.next().unwrap_or_else(|| panic!("{name} says no reason"));
            let code = parts.next().map_or(code.to_owned(), |path| format!("{code}:/{}", path.replace('.', "/")));
            assert_eq!(finding.notes.first().map(|note| note.code.as_str()), Some(code.as_str()), "{name}");
            assert!(!finding.valid, "{name}");
            count += 1;
        }
    }
    assert!(count >= 20, "only {count} examples were found");
}

/// Tests the examples of tool calls. Each file is named after its tool. The specification shortens most ids, such as
/// `tk_xyz...`. No stored thing has a shortened id, but a call with such an id is legal.
#[test]
fn examples_of_the_lifecycle() {
    let files = files(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lifecycle/accept"));
    assert!(files.len() >= 13);
    let mut shortened = 0;
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let bytes = std::fs::read(file).unwrap();
        let judged = wire::lifecycle::judge(name.split("--").next().unwrap(), &bytes).unwrap();
        assert_eq!(judged.report.codes().0, [""; 0], "{name}");
        assert!(judged.value.is_some(), "{name}");
        let text = std::str::from_utf8(&bytes).unwrap();
        let short: Vec<&str> = text.split('"').filter(|word| word.ends_with("...")).collect();
        let found: Vec<&str> = judged.report.stand_ins().iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(found, short, "{name}");
        shortened += short.len();
    }
    assert!(shortened >= 9, "only {shortened} shortened ids");
}
