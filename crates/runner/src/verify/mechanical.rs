//! The mechanical part of a verification, which asks no agent. It tests that an output exists, is long enough and fits
//! its schema, and that the check commands pass.

use std::path::PathBuf;

use engine::verification::Verdict;
use wire::message::OutputType;

use super::VerifyFault;
use super::check::{self, CheckPlace};
use super::contract::VerifiedContract;
use super::evidence::{CheckResult, EvidenceCode, JudgedOutput, VerificationEvidence, VerificationProblem};
use super::file::{self, OutputContent};
use super::reference::{FoundReference, TurnFacts, find};
use super::schema;

/// The result of the part of a verification that asks no agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub output_ref: Option<String>,
    /// The text of the output, which an evaluator judges. `None` when the output has no text.
    pub text: Option<String>,
    pub evidence: VerificationEvidence,
}

/// A step of a verification that is reported while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VerificationProgress<'a> {
    /// The output is being read and judged.
    Output,
    /// A check is running. The first check has the number 1.
    Check {
        number: usize,
        of: usize,
        command: &'a [String],
    },
    Checked {
        number: usize,
        of: usize,
        check: &'a CheckResult,
    },
}

impl Verified {
    pub fn mechanical(&self) -> Verdict {
        if self.evidence.has_passed() { Verdict::Pass } else { Verdict::Fail }
    }
}

/// Runs all mechanical steps of the verification, also after one of them failed. Call this function after the last
/// change of the worktree. When this future is dropped, the running check is ended.
pub async fn verify(
    contract: &VerifiedContract,
    facts: &TurnFacts,
    place: CheckPlace<'_>,
    progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
) -> Result<Verified, VerifyFault> {
    progress(VerificationProgress::Output);
    let mut verified = judge_output(contract, facts, place).await?;
    let of = contract.checks.len();
    for (number, check) in (1..).zip(&contract.checks) {
        progress(VerificationProgress::Check { number, of, command: &check.command });
        let checked = check::run(place, number, check, contract.scripts.as_ref()).await?;
        progress(VerificationProgress::Checked { number, of, check: &checked });
        verified.evidence.checks.push(checked);
    }
    Ok(verified)
}

async fn judge_output(
    contract: &VerifiedContract,
    facts: &TurnFacts,
    place: CheckPlace<'_>,
) -> Result<Verified, VerifyFault> {
    let evidence = VerificationEvidence { commit: place.commit.map(str::to_owned), ..VerificationEvidence::default() };
    let mut verified = Verified { output_ref: None, text: None, evidence };
    // A missing output is a problem only when the contract needs an output or the agent named one.
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
        FoundReference::File(path) => {
            let (problems, content) = judge_file(contract.clone(), place.worktree.to_owned(), path.clone()).await?;
            if content.is_none() && !counts {
                return Ok(verified);
            }
            verified.evidence.problems = problems;
            if let Some(OutputContent { bytes, sha256, text }) = content {
                verified.evidence.output = Some(JudgedOutput { path, bytes, sha256 });
                verified.text = text.ok();
            }
        }
        FoundReference::Message(text) => {
            verified.evidence.problems.extend(too_short(contract, &text));
            verified.text = Some(text);
        }
        FoundReference::Url(name) | FoundReference::Commit(name) => {
            verified.evidence.problems.extend(too_short(contract, &name));
            verified.text = Some(request(&name, facts));
        }
    }
    verified.output_ref = Some(output_ref);
    Ok(verified)
}

/// Returns true when the contract needs the content of the output, and not only its existence.
fn reads(contract: &VerifiedContract) -> bool {
    let has_schema = contract.kind == OutputType::Json && contract.schema.is_some();
    contract.min_length > 0 || contract.evaluate.is_some() || has_schema
}

/// Judges an output file on a thread for blocking work, because the file may be large and the schema slow.
async fn judge_file(
    contract: VerifiedContract,
    worktree: PathBuf,
    path: String,
) -> Result<(Vec<VerificationProblem>, Option<OutputContent>), VerifyFault> {
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
    judged.await.unwrap_or_else(|error| Err(error.into())).map_err(VerifyFault::Output)
}

fn too_short(contract: &VerifiedContract, text: &str) -> Option<VerificationProblem> {
    let length = text.chars().count() as u64;
    let least = contract.min_length;
    (length < least).then(|| {
        VerificationProblem::new(
            EvidenceCode::OutputTooShort,
            format!("the output has {length} characters; at least {least} are required"),
        )
    })
}

/// Compares the text of an output with the contract's schema. Does so only when the output must be JSON, because one
/// contract may serve outputs of other types, too.
fn mismatch(contract: &VerifiedContract, path: &str, text: &str) -> Vec<VerificationProblem> {
    if contract.kind != OutputType::Json {
        return Vec::new();
    }
    if text.len() > schema::JSON_BYTES_MAX {
        let told = format!("{path} has {} bytes; at most {} can be judged as JSON", text.len(), schema::JSON_BYTES_MAX);
        return vec![VerificationProblem::new(EvidenceCode::OutputTooLarge, told)];
    }
    if let Err(problem) = wire::json::parse(text) {
        return vec![VerificationProblem::new(EvidenceCode::OutputNotJson, format!("{path} is not JSON: {problem}"))];
    }
    let problems = contract.schema.as_ref().map(|schema| schema.problems(text)).unwrap_or_default();
    problems.into_iter().map(|told| VerificationProblem::new(EvidenceCode::SchemaMismatch, told)).collect()
}

/// Returns a text that describes a pull request or a commit: its name, the agent's summary and the changed files. Opens
/// no web page.
fn request(name: &str, facts: &TurnFacts) -> String {
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
