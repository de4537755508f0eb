//! Checks which top-level modules of a crate use which others, against the table `edges.txt`.
//!
//! A line of the table is `crate module: used used …`. There is a complaint about a use that the table lacks, about a
//! use in the table that no code has, and about a circle of uses. A new use is a decision: add it to the table only if
//! the module may depend on the module that it uses.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{code_of, line_of, positions};
use super::{Complaint, Tree, complaint, tests_start};

pub(crate) const TABLE: &str = "crates/handover/tests/tidy/edges.txt";

/// The name of a crate, and the name of one of its top-level modules.
type Module = (String, String);

/// The uses of each module: the modules that it uses, each with the file and line of the first use.
type Uses = BTreeMap<Module, BTreeMap<String, (String, usize)>>;

pub(crate) fn edges(tree: &Tree) -> Vec<Complaint> {
    let (uses, Some(table)) = (uses(tree), tree.get(TABLE)) else { return Vec::new() };
    let allowed = allowed(table);
    let mut found = Vec::new();
    for ((krate, module), used) in &uses {
        let known = allowed.get(&(krate.clone(), module.clone()));
        for (other, (path, line)) in used {
            if known.is_none_or(|(_, known)| !known.contains(other)) {
                let reason = format!("`{module}` of {krate} uses `{other}`, and {TABLE} does not allow it");
                found.push(complaint(path, *line, reason));
            }
        }
    }
    for ((krate, module), (line, others)) in &allowed {
        let used = uses.get(&(krate.clone(), module.clone()));
        for other in others.iter().filter(|other| used.is_none_or(|used| !used.contains_key(*other))) {
            found.push(complaint(TABLE, *line, format!("`{module}` of {krate} does not use `{other}`: remove it")));
        }
    }
    found.extend(circles(&uses));
    found
}

/// Returns one complaint for each module that uses itself through other modules.
fn circles(uses: &Uses) -> Vec<Complaint> {
    let mut found = Vec::new();
    for ((krate, module), used) in uses {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next: Vec<&str> = used.keys().map(String::as_str).collect();
        while let Some(other) = next.pop() {
            if reached.insert(other) {
                let further = uses.get(&(krate.clone(), other.to_owned()));
                next.extend(further.into_iter().flat_map(|used| used.keys().map(String::as_str)));
            }
        }
        if reached.contains(module.as_str()) {
            let place = used.values().next().map_or((TABLE, 1), |(path, line)| (path, *line));
            found.push(complaint(place.0, place.1, format!("`{module}` of {krate} uses itself through others")));
        }
    }
    found
}

/// Reads the table of allowed uses. Returns for each module its line in the table, and the modules that it may use.
fn allowed(table: &str) -> BTreeMap<Module, (usize, BTreeSet<String>)> {
    let lines = table.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let (module, others) = line.split_once(':')?;
        let (krate, module) = module.split_once(' ')?;
        let others = others.split_whitespace().map(str::to_owned).collect();
        Some(((krate.to_owned(), module.trim().to_owned()), (number + 1, others)))
    };
    lines.filter_map(read).collect()
}

/// Finds the uses of modules in the code of all crates, without the tests at the end of files.
fn uses(tree: &Tree) -> Uses {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (krate, module, _) in tree.keys().filter_map(|path| place(path)) {
        modules.entry(krate).or_default().insert(module);
    }
    let mut found = Uses::new();
    for (path, text) in tree {
        let Some((krate, module, depth)) = place(path) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines[..tests_start(&lines).unwrap_or(lines.len())].join("\n");
        let code = code_of(path, &shown);
        let Some(known) = modules.get(&krate) else { continue };
        // In the file of a top-level module, one `super` leads to the root of the crate. In a file of the module's
        // folder, two `super` lead there.
        for root in ["crate::".to_owned(), "super::".repeat(depth)] {
            for at in positions(&code, &root) {
                if code[..at].ends_with("super::") {
                    continue;
                }
                for name in names_after(&code[at + root.len()..]) {
                    if name != module && known.contains(name) {
                        let used = found.entry((krate.clone(), module.clone())).or_default();
                        used.entry(name.to_owned()).or_insert_with(|| (path.clone(), line_of(&code, at)));
                    }
                }
            }
        }
    }
    found
}

/// Returns the crate, the top-level module and the depth of a source file (the number of `super::` that lead to the
/// root of the crate). Returns `None` for the root of a crate, which belongs to no module.
fn place(path: &str) -> Option<(String, String, usize)> {
    let (krate, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let parts: Vec<&str> = file.strip_suffix(".rs")?.split('/').collect();
    let depth = if parts.last() == Some(&"mod") { parts.len() - 1 } else { parts.len() };
    let module = *parts.first()?;
    (!matches!(file, "lib.rs" | "main.rs")).then(|| (krate.to_owned(), module.to_owned(), depth))
}

/// Returns the first name of the path at the start of `rest`. When `rest` starts with a list in braces, returns the
/// first name of each path in the list.
fn names_after(rest: &str) -> Vec<&str> {
    let name =
        |text: &'_ str| text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let Some(list) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let (mut names, mut depth, mut begins) = (Vec::new(), 0_u32, true);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && !letter.is_whitespace() => {
                names.push(&list[at..at + name(&list[at..])]);
                begins = false;
            }
            _ => {}
        }
    }
    names
}
