//! Tests that every rule about the repository finds its violations.

use super::*;

/// Returns a path that matches the pattern `place` of a rule.
fn path_in(place: &str) -> String {
    match place.strip_prefix('*') {
        Some(end) => format!("crates/wire/src/sample{end}"),
        None if place.ends_with('/') => format!("{}sample.rs", place.replace('*', "wire")),
        None => place.to_owned(),
    }
}

/// Returns a repository without problems, plus the given files.
fn tree_with(files: &[(&str, &str)]) -> Tree {
    let manifests = CRATES.iter().map(|name| (format!("crates/{name}/Cargo.toml"), String::new()));
    let given = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    manifests.chain(given).collect()
}

/// Checks that a repository with these files has complaints at exactly these places.
#[track_caller]
fn check(files: &[(&str, &str)], wanted: &[&str]) {
    let found = complaints(&tree_with(files));
    let found: Vec<String> = found.iter().map(|it| format!("{}:{}", it.path, it.line)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_ban_is_found_where_it_holds() {
    for ban in BANS {
        for banned in ban.texts {
            let text = format!("//! Sample.\n{}\n", banned.replace('…', "task AS t"));
            let reason = format!("`{banned}`: {}", ban.reason);
            let found = |place: &str| {
                let tree = tree_with(&[(&path_in(place), &text)]);
                complaints(&tree).into_iter().any(|it| it.line == 2 && it.reason == reason)
            };
            for place in ban.places {
                assert!(found(place), "{banned} in {place}");
            }
            for (place, why) in ban.except {
                assert!(!found(place), "{banned} in {place}, which {why}");
            }
        }
    }
}

#[test]
fn every_look_finds_its_sample() {
    for look in LOOKS {
        for place in look.places {
            let found = looks(&path_in(place), look.sample);
            assert!(found.iter().any(|it| it.reason == look.reason), "{} in {place}", look.reason);
        }
    }
}

#[test]
fn a_word_counts_only_by_itself_and_in_code() {
    let text = "//! No tokio, no Instant.\n\
                let a = \"https://x\"; // tokio\n\
                let b = '\"'; // tokio\n\
                let c = tokio_like + Instantly;\n\
                use std::{\n    collections::BTreeMap, fs,\n};\n\
                let d = \"// \"; tokio::spawn(d);\n";
    check(&[("crates/engine/src/a.rs", text)], &["crates/engine/src/a.rs:5", "crates/engine/src/a.rs:8"]);
    let sql = "//! A.\nlet a = \"UPDATE task AS t\n  SET b = 1\";\nvar(\"UPDATE\"); set(SET);\n";
    check(&[("crates/wire/src/a.rs", sql)], &["crates/wire/src/a.rs:2"]);
}

#[test]
fn a_layer_must_not_know_what_is_above_it() {
    let engine = "[dependencies]\nserde.workspace = true\nglobset = \"0.4\"\ntokio = \"1\"\n\
                  [dev-dependencies]\nstateright = \"0.31\"\nstore.workspace = true\n\
                  [target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n\
                  [build-dependencies.cc]\nversion = \"1\"\n";
    let wire = "[dependencies]\nengine.workspace = true\nmemory = { package = \"store\" }\n";
    let store = "[dependencies]\nengine.workspace = true\n[dependencies.wire]\nworkspace = true\n";
    check(
        &[
            ("crates/engine/Cargo.toml", engine),
            ("crates/wire/Cargo.toml", wire),
            ("crates/store/Cargo.toml", store),
            ("crates/handover/Cargo.toml", "[dependencies]\nstore.workspace = true\ntokio = \"1\"\n"),
        ],
        &[
            "crates/engine/Cargo.toml:4",
            "crates/engine/Cargo.toml:7",
            "crates/engine/Cargo.toml:9",
            "crates/engine/Cargo.toml:10",
            "crates/store/Cargo.toml:3",
            "crates/wire/Cargo.toml:3",
        ],
    );
}

#[test]
fn a_crate_on_no_list_is_refused() {
    check(&[("Cargo.toml", ""), ("crates/extra/Cargo.toml", "")], &["crates/extra/Cargo.toml:1"]);
    for (path, why) in OUTSIDE {
        let tree = tree_with(&[(path, "")]);
        assert!(complaints(&tree).is_empty(), "{path}, which {why}");
    }
    let mut tree = tree_with(&[]);
    tree.remove("crates/wire/Cargo.toml");
    assert_eq!(complaints(&tree).len(), 1);
}

#[test]
fn a_name_says_what_a_file_is_about() {
    for name in NAMES {
        let file = format!("crates/wire/src/{name}.rs");
        check(&[(&file, "//! A.\n")], &[&format!("{file}:1")]);
        let folder = format!("crates/wire/tests/{name}/mod.rs");
        check(&[(&folder, "//! A.\n")], &[&format!("{folder}:1")]);
        let module = format!("//! A.\npub(crate) mod {name} {{}}\nmod {name}_of_wire;\n");
        check(&[("crates/wire/src/lib.rs", &module)], &["crates/wire/src/lib.rs:2"]);
    }
}

#[test]
fn a_file_stays_readable() {
    for (place, most) in LENGTHS {
        let path = path_in(place);
        let full = format!("//! A.\n{}", "\n".repeat(most - 1));
        check(&[(&path, &full)], &[]);
        check(&[(&path, &format!("{full}\n"))], &[&format!("{path}:{}", most + 1)]);
        check(&[(&path, &format!("{full}#[cfg(test)]\nmod tests {{\n\n\n}}\n"))], &[]);
        check(&[(&path, &format!("{full}#[cfg(test)]\n#[path = \"a.rs\"]\nmod a;\n"))], &[]);
        let early = format!("//! A.\n#[cfg(test)]\nmod a;\n{}", "\n".repeat(most - 2));
        check(&[(&path, &early)], &[&format!("{path}:{}", most + 1)]);
        let early = format!("//! A.\n#[cfg(test)]\nmod a {{\n}}\n{}}}\n", "\n".repeat(most - 4));
        check(&[(&path, &early)], &[&format!("{path}:{}", most + 1)]);
    }
}

#[test]
fn a_link_leads_somewhere() {
    let text = "[a](../README.md) [b](b.md#part) [c](decisions)\n\
                [d](https://x.y/z) [e](#here) `[f](f.md)`\n\
                ```text\n[g](g.md)\n```\n\
                [h](gone.md \"title\")\n\
                [i]: ../../outside.md\n\
                [j](/docs/b.md) [k](../docs/decisions/)\n";
    let files = [("README.md", ""), ("docs/a.md", text), ("docs/b.md", ""), ("docs/decisions/1.md", "")];
    check(&files, &["docs/a.md:6", "docs/a.md:7"]);
    let long = format!("| {0} |\n[a](b.md) {0}\nhttps://{0}\n{0}\n", "x".repeat(141));
    check(&[("docs/a.md", &long), ("docs/b.md", "")], &["docs/a.md:4"]);
}

#[test]
fn a_module_uses_only_what_the_table_allows() {
    let table = "wire json:\nwire report: json\nwire shape: report\n";
    let files = [
        (edges::TABLE, table),
        ("crates/wire/src/json.rs", "//! Sample.\nuse crate::{fmt, shape::{a, b}};\n"),
        ("crates/wire/src/report.rs", "//! Sample.\n"),
        ("crates/wire/src/shape/list.rs", "//! Sample.\n\nuse super::super::report;\n"),
    ];
    // The table lacks the use that `json` has, and it lists a use that `report` does not have.
    check(&files, &["crates/handover/tests/tidy/edges.txt:2", "crates/wire/src/json.rs:2"]);
    let circle = [
        (edges::TABLE, "wire json: report\nwire report: json\n"),
        ("crates/wire/src/json.rs", "//! Sample.\nuse crate::report;\n"),
        ("crates/wire/src/report.rs", "//! Sample.\nuse crate::json;\n"),
    ];
    check(&circle, &["crates/wire/src/json.rs:2", "crates/wire/src/report.rs:2"]);
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let files = [
        ("crates/wire/src/a.rs", "//! Sample.\npub(crate) struct Found;\n"),
        ("crates/wire/src/b.rs", "//! Sample.\nenum Found {}\n    type Found = u8;\nstruct Other;\n"),
    ];
    check(&files, &["crates/wire/src/a.rs:2", "crates/wire/src/b.rs:2"]);
}
