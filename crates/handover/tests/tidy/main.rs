//! Checks the structure of the repository: layers, names, sizes, words and documents.
//!
//! The rules are the tables at the top, each row with its reason. Below them is the code that applies them to a tree of
//! files, the test of this repository, and a test of every rule with a bad sample.

mod commits;
mod edges;
mod self_test;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use text::*;

/// All crates. A crate exists only when the compiler must keep two parts separate; everything else is a module.
const CRATES: &[&str] = &[
    "chance",
    "spawn",
    "engine",
    "wire",
    "store",
    "agents",
    "gate",
    "git",
    "mcp",
    "base",
    "dashboard",
    "runner",
    "work",
    "handover",
];

/// Cargo manifests outside of the workspace, each with the reason.
const OUTSIDE: &[(&str, &str)] =
    &[("fuzz/Cargo.toml", "needs a nightly compiler, so it stands outside of the workspace")];

/// The rule that says which dependencies the manifest of one crate may name.
struct Layer {
    name: &'static str,
    /// The only dependencies that the crate may have outside of its tests, or `None` when they are not limited.
    only: Option<&'static [&'static str]>,
    /// Crates of this workspace that the crate must not use, not even in its tests.
    never: &'static [&'static str],
    reason: &'static str,
}

const LAYERS: &[Layer] = &[
    Layer {
        name: "chance",
        only: Some(&[]),
        never: &[
            "spawn", "engine", "wire", "store", "agents", "gate", "git", "mcp", "base", "runner", "work", "handover",
        ],
        reason: "random numbers for tests know nothing of what is tested",
    },
    Layer {
        name: "spawn",
        only: Some(&[]),
        never: &[
            "chance", "engine", "wire", "store", "agents", "gate", "git", "mcp", "base", "runner", "work", "handover",
        ],
        reason: "the one constructor of commands serves every crate that starts programs",
    },
    Layer {
        name: "engine",
        only: Some(&["serde", "serde_json", "globset"]),
        never: &["wire", "store", "agents", "gate", "git", "mcp", "base", "runner", "work", "handover"],
        reason: "the engine decides on data alone, so it depends on pure data crates only",
    },
    Layer {
        name: "wire",
        only: None,
        never: &["store", "agents", "gate", "git", "mcp", "base", "runner", "work", "handover"],
        reason: "wire speaks and does not know what remembers",
    },
    Layer {
        name: "store",
        only: None,
        never: &["wire", "agents", "gate", "git", "mcp", "base", "runner", "work", "handover"],
        reason: "the store remembers and does not know what speaks",
    },
    Layer {
        name: "agents",
        only: None,
        never: &["store", "gate", "git", "mcp", "base", "runner", "work", "handover"],
        reason: "programs are started, read and ended without knowing a workflow",
    },
    Layer {
        name: "gate",
        only: Some(&["brush-parser", "serde", "spawn", "wire"]),
        never: &["engine", "store", "agents", "git", "mcp", "base", "runner", "work", "handover"],
        reason: "a gate gets a call and rules and gives a decision; it knows no store and no product",
    },
    Layer {
        name: "git",
        only: None,
        never: &["engine", "store", "agents", "gate", "mcp", "base", "runner", "work", "handover"],
        reason: "worktrees and branches know no task",
    },
    Layer {
        name: "mcp",
        only: None,
        never: &["engine", "store", "agents", "gate", "git", "base", "runner", "work", "handover"],
        reason: "the protocol over pipes and HTTP knows no tool",
    },
    Layer {
        name: "dashboard",
        only: Some(&[]),
        never: &[
            "chance", "spawn", "engine", "wire", "store", "agents", "gate", "git", "mcp", "base", "runner", "handover",
        ],
        reason: "the page knows the public API only, so it cannot use what other clients do not have",
    },
    Layer {
        name: "base",
        only: None,
        never: &["mcp", "runner", "work", "handover"],
        reason: "every interface and the runner stand on it, so it opens no interface and runs no agent",
    },
    Layer {
        name: "runner",
        only: None,
        never: &["mcp", "gate", "work", "handover"],
        reason: "the runner works through the service like every other caller; it knows no interface",
    },
    Layer {
        name: "work",
        only: Some(&[
            "agents",
            "base",
            "engine",
            "git",
            "runner",
            "serde",
            "serde_json",
            "spawn",
            "thiserror",
            "tokio",
            "wire",
        ]),
        never: &["gate", "mcp", "handover"],
        reason: "a person's acts on work are the same through every interface; it prints nothing and knows no interface",
    },
];

/// Texts that must not occur in certain files. In such a text, `…` stands for up to three words.
struct Ban {
    texts: &'static [&'static str],
    part: Part,
    /// The files that are checked. A path that ends with a slash means all files below that folder, and `*` in it
    /// stands for one name. `*` at the start means all files whose path ends with the text after the `*`.
    places: &'static [&'static str],
    /// Exceptions among the checked files, each with the reason for the exception.
    except: &'static [(&'static str, &'static str)],
    reason: &'static str,
}

#[derive(Clone, Copy)]
enum Part {
    /// The rule applies only to the code of a file: a comment may name a forbidden thing in order to say that it is not
    /// used.
    Code,
    /// The rule applies to the code and to the comments of a file.
    Everything,
}

const ENGINE: &[&str] = &["crates/engine/src/"];
const RUST: &[&str] = &["*.rs"];
const SELF: (&str, &str) = ("crates/handover/tests/tidy/", "names what it forbids");

const BANS: &[Ban] = &[
    Ban {
        texts: &["std::fs", "std::net", "std::process", "std::env", "println!", "eprintln!"],
        part: Part::Code,
        places: ENGINE,
        except: &[],
        reason: "the engine does no I/O",
    },
    Ban {
        texts: &["print!", "println!", "eprint!", "eprintln!"],
        part: Part::Code,
        places: &["crates/work/src/"],
        except: &[],
        reason: "an interface turns the value that an act returns into words",
    },
    Ban {
        texts: &["SystemTime", "Instant"],
        part: Part::Code,
        places: ENGINE,
        except: &[],
        reason: "time is an argument of the engine",
    },
    Ban {
        texts: &["std::thread", "async fn", "tokio"],
        part: Part::Code,
        places: ENGINE,
        except: &[],
        reason: "the engine does not wait, so that a decision can run inside any transaction",
    },
    Ban {
        texts: &["store::"],
        part: Part::Code,
        places: &[
            "crates/mcp/src/",
            "crates/agents/src/",
            "crates/handover/src/http/",
            "crates/runner/src/",
            "crates/work/src/",
        ],
        except: &[],
        reason: "a door knows wire and the service, never the store",
    },
    Ban {
        texts: &["SELECT", "INSERT INTO", "UPDATE … SET", "DELETE FROM"],
        part: Part::Code,
        places: &[
            "crates/engine/src/",
            "crates/wire/src/",
            "crates/base/src/",
            "crates/runner/src/",
            "crates/work/src/",
            "crates/handover/src/",
        ],
        except: &[],
        reason: "only the store writes SQL, and no rule is written in it",
    },
    Ban {
        texts: &["SystemTime::now"],
        part: Part::Code,
        places: RUST,
        except: &[
            ("crates/base/src/ground/clock.rs", "is the clock"),
            ("crates/agents/src/host/clock.rs", "is the clock of the turn host, a process that nobody hands a clock"),
            ("crates/store/tests/processes.rs", "compares the times of two processes"),
            SELF,
        ],
        reason: "only the clock of `base` reads the time",
    },
    Ban {
        texts: &["Instant::now"],
        part: Part::Code,
        places: RUST,
        except: &[
            ("crates/base/src/ground/clock.rs", "is the clock"),
            ("crates/handover/src/keeper/renewal.rs", "measures waking time, which no rule sees"),
            ("crates/base/src/live/sessions.rs", "measures waking time, which no rule sees"),
            ("crates/store/src/sqlite.rs", "bounds a wait for the lock"),
            ("crates/store/src/sqlite/", "bounds a wait for the lock"),
            ("crates/store/src/postgres.rs", "bounds a wait for the server"),
            ("crates/store/src/postgres/", "bounds a wait for the server"),
            ("crates/store/tests/", "bounds what a test waits for"),
            ("crates/store/benches/", "measures"),
            ("crates/wire/tests/", "measures, and runs for some seconds"),
            ("crates/*/tests/", "bounds what a test waits for"),
            ("crates/handover/benches/", "measures"),
            ("crates/handover/src/demo.rs", "measures"),
            ("crates/handover/src/demo/", "measures"),
            ("crates/handover/src/keeper.rs", "counts waking time, which no clock of ours shows"),
            ("crates/runner/src/claim/lock.rs", "bounds the wait for the lock of a killed runner"),
            ("crates/runner/src/claim/open.rs", "bounds the wait for another's last git"),
            ("crates/runner/src/claim/lease.rs", "measures when to renew"),
            ("crates/runner/src/claim/run.rs", "bounds rests"),
            ("crates/runner/src/screen.rs", "shows how long a turn runs"),
            ("crates/agents/src/host/kin.rs", "bounds the waits of the host"),
        ],
        reason: "time is an argument, except where a wait is bounded or measured",
    },
    Ban {
        texts: &["TODO", "FIXME", "XXX"],
        part: Part::Everything,
        places: &["*.rs", "*.sql", "*.toml", "scripts/", ".ci/"],
        except: &[SELF],
        reason: "finish it, or say in the issue what is left",
    },
    Ban {
        texts: &["todo!(", "unimplemented!(", "dbg!("],
        part: Part::Code,
        places: RUST,
        except: &[SELF],
        reason: "code that is not finished",
    },
    Ban {
        texts: &["#[ignore"],
        part: Part::Code,
        places: RUST,
        except: &[SELF],
        reason: "a test that does not run proves nothing",
    },
    Ban {
        texts: &["#[allow(", "#![allow("],
        part: Part::Code,
        places: RUST,
        except: &[SELF],
        reason: "write #[expect(…, reason = …)], which complains when it is no longer needed",
    },
];

/// Names of modules that are refused, because they say nothing about the domain and so attract unrelated code.
const NAMES: &[&str] = &["utils", "common", "helpers", "types", "models", "imp", "manager"];

/// The number of lines that a file may have. The first row that matches a file's path counts. A `#[cfg(test)]` module
/// at the end of a file is not counted.
const LENGTHS: &[(&str, usize)] = &[
    ("crates/handover/src/main.rs", 60),
    // These files are databases that released versions of the program wrote, so their length does not matter.
    ("crates/store/tests/fixtures/", 100_000),
    ("crates/*/tests/", 800),
    ("crates/*/benches/", 800),
    ("*/tests.rs", 800),
    ("*_tests.rs", 800),
    ("*.rs", 500),
];

/// A rule about the text of one file, checked without other files.
struct Look {
    places: &'static [&'static str],
    /// Returns the lines that break the rule, counted from 1.
    find: fn(&str) -> Vec<usize>,
    /// A text that breaks the rule. The test of the rule must find it.
    sample: &'static str,
    reason: &'static str,
}

const LOOKS: &[Look] = &[
    Look {
        places: RUST,
        find: without_module_doc,
        sample: "use std::fmt;\n",
        reason: "the first line is a //! comment that says what the file is for",
    },
    Look {
        places: RUST,
        find: with_riddle,
        sample: "//! Sample.\n\n/// What is left.\nfn a() {}\n",
        reason: "the comment opens with what, who, how, where or those: name the subject",
    },
    Look {
        places: &["crates/*/src/"],
        find: with_marker_word,
        sample: "//! Sample.\n\n/// Ends the turn of whoever holds the task.\nfn a() {}\n",
        reason: "the comment has a word that hides the subject, or an unusual one: name the caller, the agent, the person",
    },
    Look { places: RUST, find: with_tab, sample: "fn a() {\n\t1;\n}\n", reason: "a tab" },
    Look {
        places: &["*.rs", "*.md", "*.toml", "*.sql", "scripts/", ".ci/"],
        find: with_space_at_end,
        sample: "//! A.\nlet a = 1; \n",
        reason: "white space at the end of the line",
    },
    Look {
        places: &["*.md"],
        find: over_140_columns,
        sample: "line line line line line line line line line line line line line line line line \
                 line line line line line line line line line line line line line line line line\n",
        reason: "over 140 columns, and neither a table nor a link",
    },
];

/// The folders whose files are not checked by any rule.
const SKIPPED: &[&str] = &["target", ".git"];

/// The files of a repository: the path from its root, with slashes, and the text. The text is empty when no rule reads
/// it.
type Tree = BTreeMap<String, String>;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    path: String,
    line: usize,
    reason: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.reason)
    }
}

fn complaint(path: &str, line: usize, reason: impl Into<String>) -> Complaint {
    Complaint { path: path.to_owned(), line, reason: reason.into() }
}

fn complaints(tree: &Tree) -> Vec<Complaint> {
    let mut found = crates(tree);
    found.extend(edges::edges(tree));
    found.extend(duplicate_types(tree));
    for (path, text) in tree {
        found.extend(layers(path, text));
        found.extend(bans(path, text));
        found.extend(names(path, text));
        found.extend(length(path, text));
        found.extend(looks(path, text));
        found.extend(links(tree, path, text));
    }
    found.sort();
    found.dedup();
    found
}

fn crates(tree: &Tree) -> Vec<Complaint> {
    let manifest = |name: &&str| format!("crates/{name}/Cargo.toml");
    let known: BTreeSet<String> = CRATES.iter().map(manifest).collect();
    let missing = known.iter().filter(|path| !tree.contains_key(*path));
    let missing = missing.map(|path| complaint(path, 1, "a crate of the house is missing"));
    let outside = |path: &str| OUTSIDE.iter().any(|(known, _)| *known == path);
    let extra = tree.keys().filter(|path| path.ends_with("/Cargo.toml") && !known.contains(*path) && !outside(path));
    let extra = extra.map(|path| {
        complaint(
            path,
            1,
            "a crate exists only where the compiler must hold a rule: add it to CRATES and LAYERS, or make it a module",
        )
    });
    missing.chain(extra).collect()
}

/// Finds types that have the same name in two places: in a search or a compiler error a reader could not tell them
/// apart.
fn duplicate_types(tree: &Tree) -> Vec<Complaint> {
    let mut places: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in tree.iter().filter(|(path, _)| path.ends_with(".rs") && path.contains("/src/")) {
        for (line, text) in numbered(text) {
            if let Some(name) = defined_type(text) {
                places.entry(name).or_default().push((path, line));
            }
        }
    }
    let several = places.into_iter().filter(|(_, places)| places.len() > 1);
    let each = several.flat_map(|(name, places)| places.into_iter().map(move |place| (name, place)));
    each.map(|(name, (path, line))| complaint(path, line, format!("`{name}` is the name of several types"))).collect()
}

/// One dependency that the manifest of a crate names.
struct Dependency {
    line: usize,
    name: String,
    only_tests: bool,
}

fn layers(path: &str, text: &str) -> Vec<Complaint> {
    let of_path = |layer: &&Layer| path == format!("crates/{}/Cargo.toml", layer.name);
    let Some(layer) = LAYERS.iter().find(of_path) else {
        return Vec::new();
    };
    let wrong = |dependency: &Dependency| {
        let name = dependency.name.as_str();
        let unlisted = layer.only.is_some_and(|only| !only.contains(&name));
        layer.never.contains(&name) || (unlisted && !dependency.only_tests)
    };
    let wrong = dependencies(text).into_iter().filter(wrong);
    wrong.map(|it| complaint(path, it.line, format!("`{}`: {}", it.name, layer.reason))).collect()
}

fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut table = "";
    for (line, text) in numbered(manifest) {
        let text = text.trim();
        if let Some(header) = text.strip_prefix('[') {
            table = header.trim_end_matches(']');
            // Handle the form `[dependencies.name]` of a dependency.
            if let Some((_, name)) = table.rsplit_once("dependencies.") {
                let only_tests = table.contains("dev-dependencies");
                found.push(Dependency { line, name: name.to_owned(), only_tests });
            }
        } else if table.ends_with("dependencies")
            && let Some((key, value)) = text.split_once('=')
        {
            let key = key.trim().trim_matches('"');
            let key = key.split('.').next().unwrap_or(key);
            // Handle the form `name = { package = "real-name" }` of a dependency.
            let real = value.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
            let name = real.unwrap_or(key).to_owned();
            found.push(Dependency { line, name, only_tests: table.contains("dev-dependencies") });
        }
    }
    found
}

fn bans(path: &str, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    let code = code_of(path, text);
    for ban in BANS {
        let excepted = ban.except.iter().any(|(place, _)| fits(place, path));
        if excepted || !ban.places.iter().any(|place| fits(place, path)) {
            continue;
        }
        let searched = match ban.part {
            Part::Code => &code,
            Part::Everything => text,
        };
        for banned in ban.texts {
            let reason = format!("`{banned}`: {}", ban.reason);
            let lines = lines_with(searched, banned).into_iter();
            found.extend(lines.map(|line| complaint(path, line, reason.as_str())));
        }
    }
    found
}

fn names(path: &str, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    if !path.ends_with(".rs") {
        return found;
    }
    let code = code_of(path, text);
    for name in NAMES {
        let reason = format!("`{name}` names nothing of the domain");
        let stems = path.split('/').map(|part| part.trim_end_matches(".rs"));
        if stems.into_iter().any(|stem| stem == *name) {
            found.push(complaint(path, 1, reason.as_str()));
        }
        let lines = lines_with(&code, &format!("mod {name}"));
        found.extend(lines.into_iter().map(|line| complaint(path, line, reason.as_str())));
    }
    found
}

fn length(path: &str, text: &str) -> Option<Complaint> {
    let (_, most) = LENGTHS.iter().find(|(place, _)| fits(place, path))?;
    let lines: Vec<&str> = text.lines().collect();
    let counted = tests_start(&lines).unwrap_or(lines.len());
    let reason = format!("{counted} lines, at most {most}: split it by what it is about");
    (counted > *most).then(|| complaint(path, most + 1, reason))
}

/// Returns the line at which the test module at the end of a file starts.
fn tests_start(lines: &[&str]) -> Option<usize> {
    let start = lines.iter().rposition(|line| *line == "#[cfg(test)]")?;
    let module = lines[start..].iter().position(|line| !line.starts_with("#["))? + start;
    let opened = lines[module].strip_prefix("mod ")?;
    let end =
        if opened.ends_with('{') { module + lines[module..].iter().position(|line| *line == "}")? } else { module };
    (end + 1 == lines.len()).then_some(start)
}

fn looks(path: &str, text: &str) -> Vec<Complaint> {
    let here = LOOKS.iter().filter(|look| look.places.iter().any(|place| fits(place, path)));
    here.flat_map(|look| {
        let lines = (look.find)(text);
        lines.into_iter().map(|line| complaint(path, line, look.reason))
    })
    .collect()
}

fn links(tree: &Tree, path: &str, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    if !path.ends_with(".md") {
        return found;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (line, text) in prose(text) {
        for target in link_targets(&text) {
            let resolved = resolve(folder, &target);
            let inside = |resolved: &String| {
                let below = format!("{resolved}/");
                resolved.is_empty() || tree.contains_key(resolved) || tree.keys().any(|path| path.starts_with(&below))
            };
            if !resolved.as_ref().is_some_and(inside) {
                found.push(complaint(path, line, format!("there is no `{target}` to link to")));
            }
        }
    }
    found
}

/// Returns the lines of a document outside of code blocks, without the text between backticks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.push((number, line.split('`').step_by(2).collect()));
        }
    }
    found
}

/// Returns the targets of `[text](target)` and `[text]: target` that are files, without anchors.
fn link_targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let reference = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    let all = inline.chain(reference.map(|(_, target)| target));
    let first_words = all.filter_map(|target| target.split_whitespace().next());
    let paths = first_words.filter_map(|target| target.split('#').next());
    paths.filter(|path| !path.is_empty() && !path.contains(':')).map(str::to_owned).collect()
}

/// Returns the path of a link's target from the root of the repository, or `None` when the target is outside of it.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let from_root = target.starts_with('/');
    let start = if from_root { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn read_tree(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if SKIPPED.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let name = path.to_string_lossy().replace('\\', "/");
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_read(&name) {
                tree.insert(name, String::from_utf8_lossy(&fs::read(entry.path())?).into_owned());
            } else {
                tree.insert(name, String::new());
            }
        }
    }
    Ok(tree)
}

fn is_read(path: &str) -> bool {
    if path == edges::TABLE {
        return true;
    }
    let places = BANS.iter().flat_map(|ban| ban.places);
    let places = places.chain(LOOKS.iter().flat_map(|look| look.places));
    places.into_iter().any(|place| fits(place, path))
}

#[test]
fn the_house_is_tidy() {
    let built_in = || env!("CARGO_MANIFEST_DIR").into();
    let package: PathBuf = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(built_in, PathBuf::from);
    let tree = read_tree(&package.join("../..")).unwrap();
    let found: Vec<String> = complaints(&tree).iter().map(Complaint::to_string).collect();
    assert!(found.is_empty(), "{} complaints\n{}", found.len(), found.join("\n"));
}
