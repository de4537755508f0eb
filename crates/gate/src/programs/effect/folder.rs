//! Reads commands of programs that run or write what they find in a folder, such as make, and of programs that install
//! hooks.

use super::ProgramEffect;
use crate::command::Arg;
use crate::programs::options::{GivenOption, ParsedOptions};
use crate::programs::table::{self, CommandKind, OptionEffect, ProgramTable};

/// Sub-commands after which the name of a script follows: `run` of `npm run build`.
const RUNS: &[&str] = &["run", "run-script", "task", "exec", "x"];

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
    if table.style.targets && parsed.given.iter().any(|given| given.effect == OptionEffect::Place) {
        return false;
    }
    let both = parsed.operands.get(..2).map(|words| format!("{}:{}", words[0].as_text(), words[1].as_text()));
    !commands.is_empty() && commands.iter().all(|word| table.only_reads(word.as_text()))
        || both.is_some_and(|both| table.only_reads(&both))
}

/// Returns the places where the program works. Each place is a folder, or a file that stands for its folder.
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
    let mut found: Vec<ProgramEffect> =
        named.filter_map(|given| given.value.clone()).map(ProgramEffect::Works).collect();
    let is_path = |word: &&Arg| word.as_text().contains(['/', '.']);
    match table.does.as_str() {
        "places" => found.extend(parsed.operands.iter().filter(is_path).cloned().map(ProgramEffect::Works)),
        "pip" if parsed.operands.first().is_some_and(|verb| matches!(verb.as_text(), "install" | "wheel")) => {
            found.extend(parsed.operands.iter().skip(1).filter(is_path).cloned().map(ProgramEffect::Works));
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

/// Returns the reason for approval of a command that changes hooks, or settings of git or of an agent. A command that
/// only lists such settings needs no approval.
pub(crate) fn guarded(name: &str, table: &ProgramTable, parsed: &ParsedOptions) -> Option<ProgramEffect> {
    let command = parsed.operands.first().map(Arg::as_text);
    let lists = parsed.operands.get(1).is_some_and(|word| table::is_verb(CommandKind::Reads, word.as_text()));
    let changes = table.changes_guarded(command) && !lists
        || parsed.given.iter().any(|given| table.changes_guarded(Some(given.name)));
    let shown = command.unwrap_or_default();
    changes.then(|| {
        ProgramEffect::Guarded(format!("{name} {shown}, which changes hooks or settings of git or of an agent"))
    })
}
