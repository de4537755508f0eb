//! `handover check`: checks a document and prints the result for a person or a program. With `--batch`, it checks a
//! file of test cases.
//!
//! The check needs no store and no async runtime. Hooks call it often, so it runs before the program would set up the
//! store and the runtime.

mod show;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use clap::builder::PossibleValue;
use wire::check::{CheckContext, DocumentKind, check, line};
use wire::json::{Value, parse};
use wire::report::Registry;

pub(crate) const HELP: &str = "\
Examples:
  handover check handoff turn.md                   shows what is wrong with an agent's last text, and how to fix it
  handover check card .handover/cards/quinn.json --registry names.json
  agent | handover check envelope-output --json    prints the verdict for a program
  handover check wire --batch cases.jsonl          prints one verdict for each line

Exit code: 0 when the document is valid, 1 when it is not, 2 for a wrong option or an unreadable file. With --batch: 0 when
every line is a test case, else 2.";

/// The maximum number of bytes that are read of a document. Only one kind of document may be so long: the output stream
/// of a review tool. Every other kind has a smaller limit, and a longer document is reported as invalid.
const BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The kind of document to check
    #[arg(value_parser = Kinds)]
    kind: DocumentKind,
    /// The file with the document; without it or with `-`, standard input
    file: Option<PathBuf>,
    /// Print the verdict as JSON on one line
    #[arg(long)]
    json: bool,
    /// Read one test case per line, a JSON object with the document in `text`, and print a verdict for each
    #[arg(long)]
    batch: bool,
    /// For feedback-response: the file with the request that the document answers
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// For feedback-response: the id of a finding in an earlier response of the session; may be repeated
    #[arg(long = "issued", value_name = "ID", requires = "request")]
    issued: Vec<String>,
    /// For card: a JSON file with the names that the card may use, in the lists `roles`, `agents` and `output_types`
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// For handoff: the JSON file with the INPUT that the agent received
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// For handoff: the id with which the agent was dispatched, such as a1b2c3
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// The parser for the argument that names the kind of a document. The help lists all kinds.
#[derive(Clone)]
struct Kinds;

impl clap::builder::TypedValueParser for Kinds {
    type Value = DocumentKind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<DocumentKind, clap::Error> {
        let words = DocumentKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>();
        let word = clap::builder::PossibleValuesParser::new(words).parse_ref(command, argument, value)?;
        DocumentKind::parse(&word)
            .ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DocumentKind::ALL.iter().map(|kind| PossibleValue::new(kind.as_str()).help(kind.about()))))
    }
}

/// Checks the document and prints the result. The exit code tells whether the document is valid.
pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    if arguments.batch {
        return batch(arguments);
    }
    let (name, bytes) = document(arguments.file.as_deref())?;
    let context = context(arguments)?;
    let finding = check(arguments.kind, &bytes, &context);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", finding.verdict)?;
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        out.write_all(show::text(arguments.kind, &name, &bytes, &finding, colour).as_bytes())?;
    }
    Ok(if finding.valid { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn document(file: Option<&Path>) -> anyhow::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    match file.filter(|file| *file != Path::new("-")) {
        None => {
            std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes).context("read standard input")?;
            Ok(("standard input".to_owned(), bytes))
        }
        Some(path) => {
            let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
            file.take(BYTES_MAX).read_to_end(&mut bytes).with_context(|| format!("read {}", path.display()))?;
            Ok((path.display().to_string(), bytes))
        }
    }
}

fn context(arguments: &CheckArguments) -> anyhow::Result<CheckContext> {
    let read =
        |path: &Option<PathBuf>| path.as_deref().map(|path| document(Some(path)).map(|(_, bytes)| bytes)).transpose();
    let value = |path: &Option<PathBuf>| -> anyhow::Result<Option<Value>> {
        let Some(bytes) = read(path)? else { return Ok(None) };
        let text = String::from_utf8(bytes)?;
        let name = path.as_deref().unwrap_or(Path::new("")).display();
        Ok(Some(parse(&text).with_context(|| format!("read {name}"))?.to_value()))
    };
    Ok(CheckContext {
        request: read(&arguments.request)?,
        issued_ids: (!arguments.issued.is_empty()).then(|| arguments.issued.clone()),
        registry: value(&arguments.registry)?.as_ref().map(Registry::from_value),
        input: value(&arguments.input)?,
        dispatch_agent_id: arguments.agent.clone(),
    })
}

/// Prints one verdict for each line of the input, in the same order. A line that is not a valid test case gets a
/// verdict, too, but makes the exit code 2.
fn batch(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let source: Box<dyn Read> = match arguments.file.as_deref().filter(|file| *file != Path::new("-")) {
        None => Box::new(std::io::stdin()),
        Some(path) => Box::new(std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?),
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut all = true;
    let mut reader = BufReader::new(source);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).context("read a line")? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            continue;
        }
        let (verdict, judged) = line(arguments.kind, &text);
        all &= judged;
        writeln!(out, "{verdict}")?;
        // Flush when no more input is waiting: the caller may wait for this verdict before it sends the next line.
        if reader.buffer().is_empty() {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
