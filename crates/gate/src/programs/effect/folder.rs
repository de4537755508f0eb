//! Reads commands of programs that run or write what they find in a folder, such as make, and of programs that install
//! hooks.

use super::ProgramEffect;
use crate::command::Arg;
use crate::programs::options::{GivenOption, ParsedOptions};
use crate::programs::table::{self, CommandKind, OptionEffect, ProgramTable};

/// Sub-commands after which the name of a script follows: `run` of `npm run build`.
const RUNS: &[&str] = &["run", "run-script", "task", "exec", "x"];

/// Options that name a part of the project, such as `mvn -pl api`. The option `-f` of make is not listed here, because
/// it names another file with targets.
const MEMBER_OPTIONS: &[&str] = &[
    "-pl",
    "--projects",
    "-rf",
    "--resume-from",
    "--filter",
    "-F",
    "--scope",
    "--to",
    "--from",
    "--only",
    "-p",
    "--project",
];

/// Returns the operands that are sub-commands or targets of a program: `check` of `cargo check`, `build` of
/// `npm run build`, and all operands of `make a b`.
fn commands<'p>(table: &ProgramTable, operands: &'p [Arg]) -> &'p [Arg] {
    let is_toolchain = |word: &&Arg| word.as_text().starts_with('+');
    let skipped = operands.iter().take_while(is_toolchain).count();
    let skipped = skipped + usize::from(operands.get(skipped).is_some_and(|word| RUNS.contains(&word.as_text())));
    let rest = operands.get(skipped..).unwrap_or_default();
    if table.style.targets { rest } else { rest.get(..1).unwrap_or_default() }
}

/// Tells whether a command such as `terraform plan` only reads the folder where the program works. For make and similar
/// programs, every operand must be a target that only reads. An assignment such as `SHELL=x` is no such target.
fn only_reads(table: &ProgramTable, parsed: &ParsedOptions) -> bool {
    let commands = commands(table, &parsed.operands);
    // An option such as `make -f other` names another file with targets. A target there may write, even if the target
    // of the same name in the default file only reads.
    let is_other = |given: &GivenOption| given.effect == OptionEffect::Place && !MEMBER_OPTIONS.contains(&given.name);
    if table.style.targets && parsed.given.iter().any(is_other) {
        return false;
    }
    // `cargo clippy --fix` and `npm audit fix` change files, although `clippy` and `audit` alone only read.
    if parsed.has(&["--fix"]) || parsed.operands.get(1).is_some_and(|word| word.as_text() == "fix") {
        return false;
    }
    if let [only] = parsed.operands.as_slice()
        && table.only_reads(&format!("{}.", only.as_text()))
    {
        return true;
    }
    let both = pair(parsed);
    // In `gradle :infra:test` the sub-command `test` comes after `infra`, the part of the project.
    let last = |text: &str| text.rsplit(':').next().is_some_and(|command| table.only_reads(command));
    let reads = |text: &str| table.only_reads(text) || table.style.members && last(text);
    !commands.is_empty() && commands.iter().all(|word| reads(word.as_text()))
        || both.is_some_and(|both| table.only_reads(&both))
}

/// Returns the first two operands as a sub-command of two words, as the option tables spell it: `state:list`.
fn pair(parsed: &ParsedOptions) -> Option<String> {
    parsed.operands.get(..2).map(|words| format!("{}:{}", words[0].as_text(), words[1].as_text()))
}

/// Returns the folders that an operand may name as a part of the project: `infra` for `infra`, `:infra:build`,
/// `infra::build`, `infra/compile` and `./infra...`.
fn members(word: &Arg) -> Vec<Arg> {
    let Some(text) = word.text.as_deref() else { return Vec::new() };
    let bare = text.trim_matches(['.', '{', '}', '^', '!']).trim_start_matches(['/', ':']);
    let above = bare.rsplit_once([':', '/']).map(|(above, _)| above.trim_end_matches(':').replace(':', "/"));
    [Some(bare.to_owned()), above].into_iter().flatten().map(|path| Arg::known(&path)).collect()
}

/// Returns the path in an operand such as `file:infra` or `name@file:infra`, and any other operand as it is.
fn local(word: &Arg) -> Arg {
    let Some(text) = word.text.as_deref() else { return word.clone() };
    let starts = ["file:", "link:", "portal:"];
    let path = starts.iter().find_map(|start| text.split_once(start)).map(|(_, path)| path);
    path.map_or_else(|| word.clone(), |path| Arg::known(path.strip_prefix("//").unwrap_or(path)))
}

/// Returns the folders in which the program works. A returned path may also be a file. The program then works in the
/// folder that contains this file.
pub(super) fn places(table: &ProgramTable, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if only_reads(table, parsed) {
        return Vec::new();
    }
    let open = |given: &&GivenOption| given.value.as_ref().is_some_and(|value| value.spot.is_none());
    let leads = |given: &&GivenOption| matches!(given.effect, OptionEffect::Place | OptionEffect::Folder);
    if let Some(given) = parsed.given.iter().filter(leads).find(open) {
        return vec![ProgramEffect::Doubt(format!("the option {} with a folder that is not literal", given.name))];
    }
    let named = parsed.given.iter().filter(|given| given.effect == OptionEffect::Place);
    let named: Vec<Arg> = named.filter_map(|given| given.value.clone()).collect();
    // The value of an option may list several parts of the project: `mvn -pl api,infra`.
    let listed =
        named.iter().filter_map(|value| value.text.as_deref()).flat_map(|text| text.split(',')).map(Arg::known);
    let mut found: Vec<ProgramEffect> = listed.flat_map(|part| members(&part)).map(ProgramEffect::Works).collect();
    found.extend(named.iter().cloned().map(ProgramEffect::Works));
    if table.style.members {
        found.extend(parsed.operands.iter().flat_map(members).map(ProgramEffect::Works));
    }
    let is_path = |word: &&Arg| word.as_text().contains(['/', '.', ':']);
    match table.does.as_str() {
        "places" => found.extend(parsed.operands.iter().filter(is_path).cloned().map(ProgramEffect::Works)),
        "pip" if parsed.operands.first().is_some_and(|verb| matches!(verb.as_text(), "install" | "wheel")) => {
            found.extend(parsed.operands.iter().skip(1).filter(is_path).map(local).map(ProgramEffect::Works));
        }
        // npm runs the scripts of a package that it installs from a folder. `yarn workspace infra` works in the folder
        // of `infra`, which is a part of the project.
        "npm" => {
            found.extend(parsed.operands.iter().skip(1).filter(is_path).map(local).map(ProgramEffect::Works));
            let member = parsed.operands.first().filter(|word| word.as_text() == "workspace");
            found.extend(member.and(parsed.operands.get(1)).cloned().map(ProgramEffect::Works));
        }
        _ if table.does.starts_with("verb copy ") => {
            found.extend(parsed.operands.iter().cloned().map(ProgramEffect::Works));
        }
        "typescript" if !parsed.has(&["--noEmit", "--showConfig", "--listFilesOnly", "--help"]) => {
            // The TypeScript compiler writes its output next to the files that it reads, unless an option names another
            // folder.
            found.extend(parsed.operands.iter().cloned().map(ProgramEffect::Works));
            found.push(ProgramEffect::Works(Arg::known(".")));
        }
        "typescript" => return Vec::new(),
        _ => {}
    }
    if table.style.works {
        found.push(ProgramEffect::Works(Arg::known(".")));
    }
    found
}

/// Returns the reason why a person must approve a command that changes hooks, or settings of git or of an agent. A
/// command that only lists such settings needs no approval.
pub(crate) fn guarded(name: &str, table: &ProgramTable, parsed: &ParsedOptions) -> Option<ProgramEffect> {
    let command = parsed.operands.first().map(Arg::as_text);
    let lists = parsed.operands.get(1).is_some_and(|word| table::is_verb(CommandKind::Reads, word.as_text()));
    let changes = table.changes_guarded(command) && !lists
        || table.changes_guarded(pair(parsed).as_deref())
        || parsed.given.iter().any(|given| table.changes_guarded(Some(given.name)));
    let shown = command.unwrap_or_default();
    changes.then(|| {
        ProgramEffect::Guarded(format!("{name} {shown}, which changes hooks or settings of git or of an agent"))
    })
}
