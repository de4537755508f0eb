//! Finds the arguments of a program that probably name files which the program writes. This guess is used for options
//! that are missing in the program's option table, and for programs without a table.

use crate::command::Arg;
use crate::programs::table::{self, CommandKind};

/// Options that most programs use for an output file. The file is the value of the option or one of the operands.
const OUTPUTS: &[&str] = &[
    "-o",
    "-O",
    "-w",
    "-i",
    "--output",
    "--output-file",
    "--out",
    "--outfile",
    "--out-file",
    "--out-dir",
    "--outdir",
    "--output-dir",
    "--output-path",
    "--outFile",
    "--outDir",
    "--dest",
    "--destination",
    "--target-dir",
    "--write",
    "--in-place",
    "--inplace",
    "--fix",
    "--save",
    "--dist-dir",
    "--log-file",
    "--logfile",
];

/// Parts of the names of long options whose value is usually an output file or an output folder.
const OUTPUT_PARTS: &[&str] = &[
    "out",
    "report",
    "junit",
    "basetemp",
    "coverage",
    "emit",
    "site-dir",
    "cachedir",
    "buildinfo",
    "declarationdir",
    "tee",
];

/// Parts of the names of options whose value may be a file that the program writes. Only the value counts, because the
/// operands are often files that the program reads.
const VALUE_PARTS: &[&str] = &[
    "archive",
    "artifact",
    "blob",
    "cache",
    "debugfile",
    "dest",
    "dump",
    "export",
    "freeze",
    "history",
    "home",
    "install",
    "keystore",
    "log",
    "pid",
    "prefix",
    "prof",
    "record",
    "redirect",
    "save",
    "snapshot",
    "socket",
    "store",
    "target",
    "temp",
    "tmp",
    "trace",
];

/// Parts of the names of options whose value is a file that the program reads, or no file at all. A part with at most
/// three letters must be a whole word of the option's name.
const READ_PARTS: &[&str] = &[
    "ca",
    "cert",
    "config",
    "constraint",
    "credential",
    "env",
    "exclude",
    "filter",
    "from",
    "glob",
    "grep",
    "ignore",
    "import",
    "include",
    "input",
    "inventory",
    "key",
    "kube",
    "manifest",
    "module",
    "only",
    "package",
    "plugin",
    "policy",
    "project",
    "query",
    "require",
    "root",
    "schema",
    "scope",
    "script",
    "skip",
    "source",
    "spec",
    "src",
    "template",
    "test",
    "url",
    "values",
    "var",
    "workspace",
];

/// Ends of the names of options whose value is a file that the program reads. An option whose name also has a part from
/// `VALUE_PARTS` does not count.
const READ_ENDS: &[&str] = &["data", "file", "files", "path", "paths", "pattern"];

/// The letters of one-letter options whose attached value is a file that the program reads, or no file: `-Iinclude`,
/// `-DX=y`.
const READ_LETTERS: &str = "DILUefgiklmnprsuxy";

/// Programs that create a project in the folder that an argument names.
const SCAFFOLDERS: &[&str] =
    &["npx", "npm", "pnpm", "yarn", "bun", "bunx", "composer", "dotnet", "ng", "vue", "nest", "deno"];

/// Options with which a command only prints the changes that it would make, and writes nothing.
const SHOWS: &[&str] = &["--dry-run", "--check", "-check", "--diff", "-diff", "-n", "--list", "--help", "--stdout"];

/// Returns the arguments of a program that probably name output files or output folders.
pub(super) fn outputs(name: &str, arguments: &[Arg]) -> Vec<String> {
    let mut found = Vec::new();
    let mut writes = false;
    let known = table::find(name);
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.text.as_deref() else { continue };
        let (option, value) = split(text);
        if !text.starts_with('-') || text.len() < 2 {
            // The word may be a setting whose value is a file: `php -d error_log=file`.
            found.extend(value.filter(|_| is_value(&format!("--{option}"))).into_iter().flat_map(parts));
            continue;
        }
        // Skip an option that the program's option table has, because the table says what the option does. Do not skip
        // it if the program's options end at its first operand. This word may come after that operand, and then the
        // table says nothing about it.
        if known.is_some_and(|known| known.has(option) && !known.style.stop) {
            continue;
        }
        if OUTPUTS.contains(&option) || is_bundled_output(option) || is_output(option) {
            writes |= value.is_none() || !is_output(option);
            found.extend(value.into_iter().flat_map(parts));
        } else if let Some(rest) = text.strip_prefix("-o").filter(|value| !value.is_empty()) {
            // In `-out=file` the text after the equals sign is the file. In `-ofile` the text after `-o` is the file.
            found.push(value.unwrap_or(rest).to_owned());
        } else if is_value(option) {
            let next = arguments.get(at + 1).and_then(|word| word.text.as_deref()).filter(|_| value.is_none());
            found.extend(value.into_iter().chain(next).flat_map(parts));
        } else {
            found.extend(attached(text).into_iter().filter(|path| path.contains('/')));
        }
    }
    let scaffolds = SCAFFOLDERS.contains(&name) && arguments.iter().any(|word| makes(word.as_text()));
    if writes || scaffolds {
        let operands = arguments.iter().filter_map(|word| word.text.clone()).filter(|text| !text.starts_with('-'));
        // An operand may hold the output folder after an equals sign: `type=local,dest=folder`.
        let values = |text: String| [text.rsplit_once('=').map(|(_, value)| value.to_owned()), Some(text)];
        found.extend(operands.flat_map(values).flatten());
    }
    found.extend(named_by_command(name, arguments));
    found
}

/// Splits a word into an option and its value: `--log` and `file` for `--log=file`, `-Xlog` and `file` for
/// `-Xlog:file`.
fn split(text: &str) -> (&str, Option<&str>) {
    let sign = if text.starts_with("--") || !text.starts_with('-') { text.find('=') } else { text.find(['=', ':']) };
    sign.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])))
}

fn makes(word: &str) -> bool {
    matches!(word, "create" | "init" | "new" | "create-project") || word.starts_with("create-")
}

/// Returns the files that a sub-command such as `init` writes. They are its operands: `folder` for `foo init folder`.
fn named_by_command(name: &str, arguments: &[Arg]) -> Vec<String> {
    let shows = arguments.iter().any(|word| SHOWS.contains(&word.as_text()));
    let operands: Vec<&str> =
        arguments.iter().filter_map(|word| word.text.as_deref()).filter(|text| !text.starts_with('-')).collect();
    let verb = operands.iter().take(2).position(|word| table::is_verb(CommandKind::Writes, word));
    let known = table::find(name).is_some_and(|table| {
        !table.style.works || verb.and_then(|at| operands.get(at)).is_some_and(|verb| table.only_reads(verb))
    });
    if shows || known || table::is_remote(name) {
        return Vec::new();
    }
    match verb.and_then(|at| operands.get(at + 1..)) {
        // A sub-command such as `init` without an operand writes into the current folder.
        Some([]) => vec![".".to_owned()],
        Some(named) => named.iter().map(|path| (*path).to_owned()).collect(),
        None => Vec::new(),
    }
}

/// Returns the value of an option and all parts of this value, because the file name may be one of the parts:
/// `--emit=asm=file`, `--cov-report=html:folder`.
fn parts(value: &str) -> Vec<String> {
    let parts = value.split(['=', ':', ',']).chain([value]);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the paths that may be attached to an unknown option: `-MFfile`, `-Xlog:gc:file`, `--trace-to=file`.
fn attached(text: &str) -> Vec<String> {
    let (option, value) = split(text);
    if value.is_some() && reads(option) {
        return Vec::new();
    }
    if option.starts_with("--") {
        return value.map(parts).unwrap_or_default();
    }
    let letters = text.get(1..).unwrap_or_default();
    if letters.starts_with(|letter| READ_LETTERS.contains(letter)) {
        return Vec::new();
    }
    // One, two or three letters of this word may be the name of the option. The rest of the word is its value.
    let behind = (1..=3).filter_map(|count| letters.get(count..)).map(str::to_owned);
    behind.chain(parts(letters)).collect()
}

fn normalized(option: &str) -> String {
    option.trim_start_matches('-').to_lowercase().replace(['_', '.'], "-")
}

fn names_value(name: &str) -> bool {
    VALUE_PARTS.iter().any(|part| name.contains(part))
}

/// Tells whether the name of an option shows that the program only reads the file in the option's value.
fn reads(option: &str) -> bool {
    let name = normalized(option);
    let has = |part: &&str| name.split('-').any(|word| word == *part) || part.len() > 3 && name.contains(*part);
    READ_PARTS.iter().any(has) || READ_ENDS.iter().any(|end| name.ends_with(end)) && !names_value(&name)
}

/// Tells whether the name of an option shows that the program may write the file in the option's value. The name ends
/// with `dir` or the like, or has a part from `VALUE_PARTS`.
fn is_value(option: &str) -> bool {
    let name = normalized(option);
    let is_word = option.starts_with("--") || name.len() > 3;
    let folder = ["dir", "directory", "folder"].iter().any(|end| name.ends_with(end));
    is_word && !reads(option) && (folder || names_value(&name))
}

/// Tells whether the name of a long option shows that its value is an output file: `--junitxml`, `--go_out`,
/// `--html-report`.
fn is_output(option: &str) -> bool {
    let Some(name) = option.strip_prefix("--").map(str::to_lowercase) else { return false };
    let about =
        ["timeout", "without", "layout", "checkout", "route", "about", "outdated", "no-out", "stdout", "outside"];
    OUTPUT_PARTS.iter().any(|part| name.replace('_', "-").contains(part) || name.replace('-', "").contains(part))
        && !about.iter().any(|word| name.contains(word))
}

/// Tells whether a word is several one-letter options, the last of which is `-o`: `-fo file`.
fn is_bundled_output(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.len() <= 5 && letters.ends_with('o') && letters.chars().all(|letter| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let arguments: Vec<Arg> = words.map(Arg::known).collect();
        let mut found = outputs(name, &arguments);
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn values_of_options_that_write_are_told_from_others() {
        for (line, wanted) in [
            ("foo --trace-redirect=infra/x", "infra/x"),
            ("foo --heap-prof-dir infra", "infra"),
            ("foo -MFinfra/x", "infra/x"),
            ("foo -Xlog:gc:infra/x", "infra/x"),
            ("foo -Xlog:gc:file=infra/x", "infra/x"),
            ("foo --whatever=infra/x", "infra/x"),
            ("foo init infra", "infra"),
            ("foo db init infra", "infra"),
        ] {
            assert!(found(line).contains(&wanted.to_owned()), "{line}: {:?}", found(line));
        }
        for line in [
            "foo --config=infra/x",
            "foo --env-file infra/.env",
            "foo --namespace=infra",
            "foo --verbose infra/x",
            "foo -Iinfra/include",
            "foo -f infra/x",
            "foo list infra",
            "foo init --dry-run infra",
            "foo run",
            "kubectl create -f infra/x.yaml",
        ] {
            assert_eq!(found(line), Vec::<String>::new(), "{line}");
        }
    }
}
