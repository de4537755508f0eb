//! Reads arguments that are JSON. A person types them on the command line, or names a file with `@FILE`. Problems in
//! such a file are reported with their line numbers.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use base::project::plan_file::{DocumentFormat, located};
use wire::json::{Value, parse};
use wire::lifecycle::{Tool, argument_problems};

/// The size of the largest file that is read for an argument, in bytes. A larger file is refused, because no tool
/// accepts more.
const FILE_BYTES_MAX: u64 = wire::lifecycle::PLAN_BYTES_MAX as u64;

/// A file that was given as an argument with `@FILE`.
#[derive(Debug)]
pub(super) struct ArgumentFile {
    /// The name of the command's argument whose value is in the file, such as `plan`.
    argument: String,
    path: String,
    text: String,
}

/// Parses an argument as JSON. `@FILE` reads it from a file, which may be YAML, and `@-` from standard input. A file
/// that was read is added to `files`.
pub(super) fn json(name: &str, text: &str, files: &mut Vec<ArgumentFile>) -> anyhow::Result<Value> {
    let Some(path) = text.strip_prefix('@') else {
        let node = parse(text).map_err(|error| {
            anyhow::anyhow!(
                "`{name}` must be JSON: {error}; to read it from a file, \
                give @FILE"
            )
        })?;
        return Ok(node.to_value());
    };
    let mut content = String::new();
    if path == "-" {
        std::io::stdin().take(FILE_BYTES_MAX + 1).read_to_string(&mut content).context("read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("open {path}"))?;
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut content).with_context(|| format!("read {path}"))?;
    }
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        anyhow::bail!(
            "{path} has more than {} MiB, the largest size that a command accepts; split it",
            FILE_BYTES_MAX >> 20
        );
    }
    let is_yaml = [".yaml", ".yml"].iter().any(|ending| path.ends_with(ending));
    let format = if is_yaml { DocumentFormat::Yaml } else { DocumentFormat::Json };
    let value = format.parse(&content).map_err(|problem| anyhow::anyhow!("{path}: {problem}"))?;
    files.push(ArgumentFile { argument: name.to_owned(), path: path.to_owned(), text: content });
    Ok(value)
}

/// Checks the files that were given as arguments, and fails with the problems of the first wrong file, each with its
/// line number. The tool cannot report line numbers, because it gets only the parsed values.
pub(super) fn check(tool: &Tool, arguments: &Value, files: &[ArgumentFile]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let text = arguments.to_string();
    let judged = tool.judge(text.as_bytes());
    let problems = argument_problems(tool, &judged.report);
    for file in files {
        let below = format!("/{}", file.argument);
        let is_inside = |pointer: &str| pointer.strip_prefix(&below).is_some_and(|rest| rest.starts_with('/'));
        let own: Vec<_> = problems.iter().filter(|problem| is_inside(&problem.pointer)).cloned().collect();
        if !own.is_empty() {
            let shown = Path::new(&file.path).display().to_string();
            anyhow::bail!("{}", located(own, &below, &file.text).at(&shown));
        }
    }
    Ok(())
}
