//! The outputs of the checks that judged the work of a task.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base::Service;
use base::ground::objects;
use engine::id::TaskId;
use engine::list::VerificationQuery;
use engine::verification::Verification;
use runner::verify::{CheckResult, VerificationEvidence, plain_tail};

/// The largest output that is shown, in bytes. The runner keeps no larger output as a whole.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// The output of one or several checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckOutput {
    pub text: String,
    /// True when only the end of an output is known.
    pub is_cut: bool,
}

/// Returns the outputs of the checks of one verification of a task: of the check at a position from 1, or of all of
/// them. The checks of the task's contract come before the checks of the project. Returns `None` when there is no such
/// verification or check.
pub async fn check_output(
    service: &Service,
    state: &Path,
    task: TaskId,
    (number, check): (u32, Option<usize>),
) -> Result<Option<CheckOutput>, base::Error> {
    let query = VerificationQuery { task, after: number.saturating_sub(1), limit: 1 };
    let found = service.ask(query).await?.into_iter().find(|row| row.number == number);
    let state = state.to_owned();
    let read = move || found.and_then(|found| outputs(&state, &found, check));
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|error| base::Error::file("read the output of a check", io::Error::other(error)))
}

fn outputs(state: &Path, verified: &Verification, check: Option<usize>) -> Option<CheckOutput> {
    let evidence = VerificationEvidence::parse(verified.evidence.as_str())?;
    let all = evidence.checks.iter().chain(evidence.project.iter().map(|check| &check.last));
    let wanted: Vec<&CheckResult> = match check {
        Some(position) => all.skip(position.checked_sub(1)?).take(1).collect(),
        None => all.collect(),
    };
    let mut output = CheckOutput::default();
    for result in &wanted {
        if wanted.len() > 1 {
            output.text.push_str(&format!("$ {}\n", result.command.join(" ")));
        }
        let whole = whole(state, result);
        output.is_cut |= whole.is_none() && !result.tail.is_empty();
        output.text.push_str(whole.as_deref().unwrap_or(&result.tail));
        if !output.text.is_empty() && !output.text.ends_with('\n') {
            output.text.push('\n');
        }
    }
    (!wanted.is_empty()).then_some(output)
}

/// Returns the whole output of a check, or `None` when this machine does not have it.
fn whole(state: &Path, result: &CheckResult) -> Option<String> {
    let file: File = objects::open(state, &result.output_sha256).ok()?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(OUTPUT_BYTES_MAX).unwrap_or(u64::MAX)).read_to_end(&mut bytes).ok()?;
    Some(plain_tail(&bytes, OUTPUT_BYTES_MAX))
}
