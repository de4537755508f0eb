//! The evidence of a verification: its problems and the results of its checks, in the form for the store and in the
//! form for the agent. The lengths are limited, so that all evidence fits into one record.

use engine::Json;
use serde::{Deserialize, Serialize};

use super::project::{CheckedWork, ProjectCheckResult, ProjectVerdict};

/// The longest command in the evidence (the stored details) of a verification, in bytes. A longer command is cut.
const COMMAND_MAX: usize = 1 << 10;
/// The maximum number of bytes from the end of a check's output that the evidence of a verification keeps. The
/// beginning of a longer output is left out.
pub(super) const TAIL_MAX: usize = 8 << 10;
/// The longest text of an evaluator in the evidence of a verification, in bytes. A longer text is cut.
const EVALUATION_MAX: usize = 16 << 10;
const NOTES_MAX: usize = 50;

/// The content of the field `evidence` of a recorded verification. An older version of Handover did not write all of
/// these fields. A missing field reads as empty, so that the records of the older version stay readable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerificationEvidence {
    /// The commit that was checked out when the checks ran. `None` outside of git.
    pub commit: Option<String>,
    pub output: Option<JudgedOutput>,
    pub problems: Vec<VerificationProblem>,
    pub checks: Vec<CheckResult>,
    /// The git tree (the id of all files) on which the checks ran. `None` outside of git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The results of the project's checks, which run for every task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub project: Vec<ProjectCheckResult>,
    /// The evaluator's judgement. `None` when no evaluator was asked, or its answer was unusable.
    pub evaluation: Option<Evaluation>,
}

/// The output file that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedOutput {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationProblem {
    pub code: EvidenceCode,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvidenceCode {
    OutputRefMissing,
    OutputRefAmbiguous,
    OutputRefInvalid,
    PathOutsideRoot,
    OutputMissing,
    OutputNotAFile,
    OutputNotText,
    OutputTooLarge,
    OutputTooShort,
    OutputNotJson,
    SchemaMismatch,
    CheckFailed,
    CheckChanged,
    EvaluationFailed,
}

/// The result of one run of a check (a command of the contract or of the project's settings).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    pub command: Vec<String>,
    pub ended: CheckEnded,
    /// The exit code. `None` when a signal or a limit ended the check.
    pub exit_code: Option<i32>,
    pub seconds: f64,
    /// The SHA-256 hash of the check's standard output followed by its standard error.
    pub output_sha256: String,
    /// The end of the check's standard output and of its standard error, as plain text.
    pub tail: String,
    /// True when the check ended while some of its processes still ran. These processes were ended.
    pub leaked: bool,
    /// The scripts of the check whose content no person accepted: the name, and the hash of the content. If the list is
    /// not empty, the success of the check does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckEnded {
    Exited,
    Signalled { signal: i32 },
    TimedOut,
    TooMuchOutput,
    NotStarted { why: String },
}

/// The judgement of an evaluator on an output, in the evaluator's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    pub summary: String,
    pub notes: Vec<String>,
}

impl EvidenceCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutputRefMissing => "OUTPUT_REF_MISSING",
            Self::OutputRefAmbiguous => "OUTPUT_REF_AMBIGUOUS",
            Self::OutputRefInvalid => "OUTPUT_REF_INVALID",
            Self::PathOutsideRoot => "PATH_OUTSIDE_ROOT",
            Self::OutputMissing => "OUTPUT_MISSING",
            Self::OutputNotAFile => "OUTPUT_NOT_A_FILE",
            Self::OutputNotText => "OUTPUT_NOT_TEXT",
            Self::OutputTooLarge => "OUTPUT_TOO_LARGE",
            Self::OutputTooShort => "OUTPUT_TOO_SHORT",
            Self::OutputNotJson => "OUTPUT_NOT_JSON",
            Self::SchemaMismatch => "SCHEMA_MISMATCH",
            Self::CheckFailed => "CHECK_FAILED",
            Self::CheckChanged => "CHECK_CHANGED",
            Self::EvaluationFailed => "EVALUATION_FAILED",
        }
    }
}

impl VerificationProblem {
    /// Creates a problem of a verification. Cuts the message, because it quotes text of an agent and may be long.
    pub(super) fn new(code: EvidenceCode, message: impl AsRef<str>) -> Self {
        Self { code, message: head(message.as_ref(), COMMAND_MAX) }
    }
}

impl CheckResult {
    pub fn has_passed(&self) -> bool {
        self.ended == CheckEnded::Exited && self.exit_code == Some(0)
    }

    /// Describes in words how the check ended, without the command of the check.
    pub fn how(&self) -> String {
        match (&self.ended, self.exit_code) {
            (CheckEnded::Exited, Some(code)) => format!("exited with {code}"),
            (CheckEnded::Exited, None) => "ended".to_owned(),
            (CheckEnded::Signalled { signal }, _) => format!("was ended by signal {signal}"),
            (CheckEnded::TimedOut, _) => "ran out of time".to_owned(),
            (CheckEnded::TooMuchOutput, _) => "wrote more than is allowed".to_owned(),
            (CheckEnded::NotStarted { why }, _) => format!("could not be started: {why}"),
        }
    }

    /// Describes in words how the check ended, with the command and the duration of the check.
    pub fn told(&self) -> String {
        let how = self.how();
        let changed = if self.changed.is_empty() { "" } else { "; this task changed the check" };
        format!("`{}` {how} after {:.1} s{changed}", self.command.join(" "), self.seconds)
    }

    /// Returns an explanation that the success of the check does not count, because its scripts changed and no person
    /// saw them.
    fn unseen(&self) -> String {
        let names: Vec<&str> = self.changed.iter().map(|(name, _)| name.as_str()).collect();
        format!(
            "this task changed a check: `{}` runs {}, which differs from the version that a person accepted; the \
             check counts only after a person approves the change. Restore the accepted version, unless the task is \
             to change it",
            self.command.join(" "),
            names.join(", ")
        )
    }
}

impl Evaluation {
    pub(super) fn new(summary: &str, notes: impl IntoIterator<Item = String>) -> Self {
        let mut left = EVALUATION_MAX;
        let mut take = |text: &str| {
            let text = head(text, left);
            left = left.saturating_sub(text.len());
            text
        };
        let summary = take(summary);
        let notes = notes.into_iter().take(NOTES_MAX).map(|note| take(&note)).filter(|note| !note.is_empty()).collect();
        Self { summary, notes }
    }
}

impl VerificationEvidence {
    pub fn has_passed(&self) -> bool {
        self.has_passed_but_for_scripts() && self.changed().next().is_none()
    }

    /// Returns true when the output passed everything, but some checks ran changed scripts, which a person has to see.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        self.has_passed_but_for_scripts() && self.changed().next().is_some()
    }

    fn has_passed_but_for_scripts(&self) -> bool {
        let has_failed = |check: &ProjectCheckResult| check.verdict == ProjectVerdict::Failed;
        self.problems.is_empty()
            && self.checks.iter().all(CheckResult::has_passed)
            && !self.project.iter().any(has_failed)
    }

    /// Returns the changed scripts of all checks: the name of each script, and the hash of its content.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &(String, String)> {
        self.checks.iter().flat_map(|check| &check.changed)
    }

    /// Makes the results of checks with changed scripts count, after a person has seen the scripts.
    pub(super) fn count_changed(&mut self) {
        self.checks.iter_mut().for_each(|check| check.changed.clear());
    }

    /// Returns the commands of the checks that failed.
    pub fn failed_commands(&self) -> Vec<String> {
        let project = self.project.iter().filter(|check| check.verdict == ProjectVerdict::Failed);
        let contract = self.checks.iter().filter(|check| !check.has_passed());
        contract.chain(project.map(|check| &check.last)).map(|check| check.command.join(" ")).collect()
    }

    /// Returns the combined result of all checks: the checks of the project, and the checks of the task's contract.
    pub fn checked_work(&self) -> CheckedWork {
        let of_contract = self.checks.iter().map(|check| ProjectCheckResult {
            verdict: if check.has_passed() { ProjectVerdict::Checked } else { ProjectVerdict::Failed },
            runs: 1,
            last_line: String::new(),
            last: check.clone(),
        });
        CheckedWork::of(&of_contract.chain(self.project.iter().cloned()).collect::<Vec<_>>())
    }

    /// Returns the evidence (the details of a verification) as the JSON that the engine stores.
    pub fn to_json(&self) -> Json {
        let json = |evidence: &Self| Json::from(&serde_json::to_value(evidence).unwrap_or_default());
        let mut found = json(self);
        let mut shorter = self.clone();
        // With many checks, the stored ends of their outputs may not fit into one record. Then each stored end is cut.
        while found.as_str().len() > engine::limits::TEXT_BYTES_MAX && shorter.halve_tails() {
            found = json(&shorter);
        }
        found
    }

    /// Keeps only the second half of each check's output. Returns false when no output is left.
    fn halve_tails(&mut self) -> bool {
        let project = self.project.iter_mut().map(|check| &mut check.last);
        let mut is_cut = false;
        for check in self.checks.iter_mut().chain(project).filter(|check| !check.tail.is_empty()) {
            let begin = check.tail.ceil_char_boundary(check.tail.len().div_ceil(2));
            check.tail.drain(..begin);
            is_cut = true;
        }
        is_cut
    }

    /// Reads the evidence (the details of a verification) from the JSON that the engine stores.
    pub fn parse(stored: &str) -> Option<Self> {
        serde_json::from_str(stored).ok()
    }

    /// Returns the problems of a verification that failed. The evaluator's judgement is one of them only if everything
    /// else passed, because otherwise no evaluator is asked.
    pub fn failed_complaints(&self) -> Vec<(String, String)> {
        self.complaints(self.evaluation.as_ref().filter(|_| self.has_passed()))
    }

    /// Returns the problems that the agent has to fix: codes, each with its explanation. If `failed` has the
    /// evaluator's negative judgement, it is one of the problems.
    pub fn complaints(&self, failed: Option<&Evaluation>) -> Vec<(String, String)> {
        let told = |code: EvidenceCode, text: String| (code.as_str().to_owned(), text);
        let problems = self.problems.iter().map(|problem| told(problem.code, problem.message.clone()));
        let failed_project = self.project.iter().filter(|check| check.verdict == ProjectVerdict::Failed);
        let failed_checks = self.checks.iter().filter(|check| !check.has_passed());
        let checks = failed_checks.chain(failed_project.map(|check| &check.last)).map(|check| {
            let tail = if check.tail.is_empty() {
                "the check printed nothing".to_owned()
            } else {
                format!("the last output of the check:\n{}", wire::prompt::fenced("a check", &check.tail))
            };
            told(EvidenceCode::CheckFailed, format!("{}; {tail}", check.told()))
        });
        let unseen = self.checks.iter().filter(|check| check.has_passed() && !check.changed.is_empty());
        let unseen = unseen.map(|check| told(EvidenceCode::CheckChanged, check.unseen()));
        let evaluation = failed.map(|said| {
            let notes = said.notes.iter().map(|note| format!("\n- {note}")).collect::<String>();
            let text = format!("{}{notes}", said.summary);
            told(EvidenceCode::EvaluationFailed, wire::prompt::fenced("the evaluator", &text))
        });
        problems.chain(checks).chain(unseen).chain(evaluation).collect()
    }
}

/// Returns the words of a command for the evidence of a verification. Cuts them when they are longer than `COMMAND_MAX`
/// bytes together.
pub(super) fn shortened(command: &[String]) -> Vec<String> {
    let mut left = COMMAND_MAX;
    let mut short = Vec::new();
    for word in command {
        if left == 0 {
            short.push("…".to_owned());
            break;
        }
        short.push(head(word, left));
        // Each word also takes three bytes for two quotes and a comma in the JSON, which matters when there are many
        // short words.
        left = left.saturating_sub(word.len() + 3);
    }
    short
}

/// Returns the text unchanged if it has at most `bytes` bytes. Cuts a longer text to that length and adds `…`.
fn head(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..cut])
}

/// Returns at most `most` bytes from the end of an output, as plain text without the control sequences of a terminal.
pub fn plain_tail(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // A control sequence of a terminal has parameters, and then one letter for the action. Skips both.
            while letters.next_if(|next| matches!(next, ' '..='?')).is_some() {}
            letters.next();
        } else if !letter.is_control() || matches!(letter, '\n' | '\t') {
            plain.push(letter);
        }
    }
    let plain = plain.trim_end();
    let begin = plain.ceil_char_boundary(plain.len().saturating_sub(most));
    plain[begin..].to_owned()
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
