//! The mechanical part of a verification: checks that there is an output, that it is long enough and fits its schema,
//! and that the checks pass.

use std::path::PathBuf;

use engine::verification::Verdict;
use wire::message::OutputType;

use super::Fault;
use super::check::{self, Place};
use super::contract::Contract;
use super::evidence::{Checked, Code, Evidence, Output, Problem};
use super::file::{self, Content};
use super::reference::{Facts, Found, find};
use super::schema;

/// The result of the mechanical part of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub output_ref: Option<String>,
    /// The text of the output, for an evaluator.
    pub text: Option<String>,
    pub evidence: Evidence,
}

/// The progress of a verification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress<'a> {
    /// The output is read and judged.
    Output,
    /// A check runs. The first check has the number 1.
    Check {
        number: usize,
        of: usize,
        command: &'a [String],
    },
    Checked {
        number: usize,
        of: usize,
        check: &'a Checked,
    },
}

impl Verified {
    pub fn mechanical(&self) -> Verdict {
        if self.evidence.has_passed() { Verdict::Pass } else { Verdict::Fail }
    }
}

/// Runs the whole verification, also after a failure. Call it after the last change of the worktree. Dropping the
/// future cuts off the running check.
pub async fn verify(
    contract: &Contract,
    facts: &Facts,
    place: Place<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Verified, Fault> {
    progress(Progress::Output);
    let mut verified = judge_output(contract, facts, place).await?;
    let of = contract.checks.len();
    for (number, check) in (1..).zip(&contract.checks) {
        progress(Progress::Check { number, of, command: &check.command });
        let checked = check::run(place, number, check, contract.scripts.as_ref()).await?;
        progress(Progress::Checked { number, of, check: &checked });
        verified.evidence.checks.push(checked);
    }
    Ok(verified)
}

async fn judge_output(contract: &Contract, facts: &Facts, place: Place<'_>) -> Result<Verified, Fault> {
    let evidence = Evidence { commit: place.commit.map(str::to_owned), ..Evidence::default() };
    let mut verified = Verified { output_ref: None, text: None, evidence };
    // An output that is neither named nor needed may be missing. A wrong name is always a problem.
    let counts = contract.output_ref_required || reads(contract) || facts.name().is_some();
    let found = match find(contract.kind, facts) {
        Ok(found) => found,
        Err(problem) => {
            verified.evidence.problems.extend(counts.then_some(problem));
            return Ok(verified);
        }
    };
    let output_ref = found.as_str().to_owned();
    match found {
        Found::File(path) => {
            let (problems, content) = judge_file(contract.clone(), place.worktree.to_owned(), path.clone()).await?;
            if content.is_none() && !counts {
                return Ok(verified);
            }
            verified.evidence.problems = problems;
            if let Some(Content { bytes, sha256, text }) = content {
                verified.evidence.output = Some(Output { path, bytes, sha256 });
                verified.text = text.ok();
            }
        }
        Found::Message(text) => {
            verified.evidence.problems.extend(too_short(contract, &text));
            verified.text = Some(text);
        }
        Found::Url(name) | Found::Commit(name) => {
            verified.evidence.problems.extend(too_short(contract, &name));
            verified.text = Some(request(&name, facts));
        }
    }
    verified.output_ref = Some(output_ref);
    Ok(verified)
}

/// Tells whether the contract needs the content of the output.
fn reads(contract: &Contract) -> bool {
    let has_schema = contract.kind == OutputType::Json && contract.schema.is_some();
    contract.min_length > 0 || contract.evaluate.is_some() || has_schema
}

/// Judges a file outside of the runtime's threads, because the file may be large and its schema slow.
async fn judge_file(
    contract: Contract,
    worktree: PathBuf,
    path: String,
) -> Result<(Vec<Problem>, Option<Content>), Fault> {
    let judged = tokio::task::spawn_blocking(move || {
        let content = match file::read(&worktree, &path)? {
            Ok(content) => content,
            Err(problem) => return Ok((vec![problem], None)),
        };
        let is_read = reads(&contract) || contract.kind == OutputType::Json;
        let problems = match &content.text {
            Ok(text) => too_short(&contract, text).into_iter().chain(mismatch(&contract, &path, text)).collect(),
            Err(problem) if is_read => vec![problem.clone()],
            Err(_) => Vec::new(),
        };
        Ok((problems, Some(content)))
    });
    judged.await.unwrap_or_else(|error| Err(error.into())).map_err(Fault::Output)
}

fn too_short(contract: &Contract, text: &str) -> Option<Problem> {
    let length = text.chars().count() as u64;
    let least = contract.min_length;
    (length < least).then(|| {
        Problem::new(Code::OutputTooShort, format!("the output has {length} characters; at least {least} are wanted"))
    })
}

/// Compares a file with the schema, when the output has to be JSON. A contract may serve outputs of other types, too.
fn mismatch(contract: &Contract, path: &str, text: &str) -> Vec<Problem> {
    if contract.kind != OutputType::Json {
        return Vec::new();
    }
    if text.len() > schema::JSON_BYTES_MAX {
        let told = format!("{path} has {} bytes; at most {} can be judged as JSON", text.len(), schema::JSON_BYTES_MAX);
        return vec![Problem::new(Code::OutputTooLarge, told)];
    }
    if let Err(problem) = wire::json::parse(text) {
        return vec![Problem::new(Code::OutputNotJson, format!("{path} is not JSON: {problem}"))];
    }
    let problems = contract.schema.as_ref().map(|schema| schema.problems(text)).unwrap_or_default();
    problems.into_iter().map(|told| Problem::new(Code::SchemaMismatch, told)).collect()
}

/// Describes a pull request without opening its page.
fn request(name: &str, facts: &Facts) -> String {
    const FILES: usize = 200;
    let mut text = format!("{name}\n\n{}", facts.said.summary);
    if !facts.changed.is_empty() {
        text.push_str("\n\nchanged files:");
    }
    facts.changed.iter().take(FILES).for_each(|file| text.push_str(&format!("\n- {file}")));
    if facts.changed.len() > FILES {
        text.push_str("\n- …");
    }
    text
}
