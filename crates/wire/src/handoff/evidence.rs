//! The section `evidence_report` of a handoff contract: the agent's actions and results. It includes the verification
//! that the status `COMPLETE` needs.

use super::field::{ContractSource, ExtraMembers, ObjectWriting, WrittenValue, given};
use super::problem::{Findings, quoted, shown};
use super::rule::{self, ContractRule};
use super::status::PlanStatus;
use crate::json::{JsonNode, Value};

/// One element of a list in an evidence report: a text, or an object with any fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceNote {
    Text(String),
    Record(WrittenValue),
}

/// Shows an element of a list in an evidence report as one text. An object is shown as JSON.
impl std::fmt::Display for EvidenceNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Record(record) => write!(f, "{}", record.value()),
        }
    }
}

/// One command that an agent ran, as its evidence report lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceCommand {
    Line(String),
    /// A command that the evidence report lists as an object with further fields, such as its result.
    Run {
        command: String,
        extra: ExtraMembers,
    },
}

/// The section `evidence_report` of a handoff contract. All of its seven lists are present, and each may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceReport {
    pub patterns_checked: Vec<EvidenceNote>,
    pub files_checked: Vec<EvidenceNote>,
    pub commands_run: Vec<EvidenceCommand>,
    pub key_outputs: Vec<EvidenceNote>,
    pub verbatim_outputs: Vec<EvidenceNote>,
    pub cross_layer_impacts: Vec<EvidenceNote>,
    pub open_gaps: Vec<EvidenceNote>,
    /// All keys of the evidence report except its seven lists, unchanged. They include `verification` when the status
    /// is not `COMPLETE`.
    pub extra: ExtraMembers,
}

/// An agent's statement that it verified its work and that the result is "pass".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceVerification {
    /// The result of the verification: the word "pass", as the agent spelled it.
    result: String,
    extra: ExtraMembers,
}

impl EvidenceVerification {
    /// Returns all fields of the verification except its result, such as its method, checks and details.
    pub fn extra(&self) -> &ExtraMembers {
        &self.extra
    }

    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Option<Self> {
        let result = node.get("result")?.text().filter(|text| text.trim().eq_ignore_ascii_case("pass"))?;
        Some(Self { result: result.to_owned(), extra: source.others(node, &["result"]) })
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default().field("result", self.result.as_str()).extra(&self.extra)
    }
}

/// One of the seven keys of an evidence report, with the rule that is broken when its value is absent and the rule that
/// is broken when its value is wrong.
struct EvidenceKey {
    name: &'static str,
    absent: &'static ContractRule,
    wrong: &'static ContractRule,
}

/// Declares the keys of an evidence report. The values for each key are: the code of the problem when the key is
/// absent, the name of the key in JSON, and the code of the problem when the value of the key is wrong.
macro_rules! keys {
    ($($key:ident = $name:literal, $wrong:ident;)*) => {
        $(static $key: EvidenceKey = EvidenceKey { name: $name, absent: &rule::$key, wrong: &rule::$wrong };)*
        const KNOWN: &[&str] = &[$($name),*];
        const KNOWN_COMPLETE: &[&str] = &[$($name,)* "verification"];
    };
}

keys! {
    PATTERNS_CHECKED = "patterns_checked", PATTERNS_CHECKED_TYPE;
    FILES_CHECKED = "files_checked", FILES_CHECKED_TYPE;
    COMMANDS_RUN = "commands_run", COMMANDS_RUN_TYPE;
    KEY_OUTPUTS = "key_outputs", KEY_OUTPUTS_TYPE;
    VERBATIM_OUTPUTS = "verbatim_outputs", VERBATIM_OUTPUTS_TYPE;
    CROSS_LAYER_IMPACTS = "cross_layer_impacts", CROSS_LAYER_IMPACTS_TYPE;
    OPEN_GAPS = "open_gaps", OPEN_GAPS_TYPE;
}

/// Reads the evidence report of a handoff contract. If the contract's status is `COMPLETE`, also reads the
/// verification.
pub(super) fn read(
    node: Option<&JsonNode<'_>>,
    plan: Option<PlanStatus>,
    findings: &mut Findings<'_>,
) -> (Option<EvidenceReport>, Option<EvidenceVerification>) {
    let is_complete = plan == Some(PlanStatus::Complete);
    let report = node.filter(|node| node.members().is_some());
    if report.is_none() {
        findings.missing(&rule::EVIDENCE_REPORT, node);
    }
    let evidence = report.and_then(|node| lists(node, is_complete, findings));
    let verification = if is_complete { verification(report, findings) } else { None };
    (evidence, verification)
}

fn lists(node: &JsonNode<'_>, is_complete: bool, findings: &mut Findings<'_>) -> Option<EvidenceReport> {
    let patterns_checked = list(node, &PATTERNS_CHECKED, EvidenceNote::read, findings);
    let files_checked = list(node, &FILES_CHECKED, EvidenceNote::read, findings);
    let commands_run = list(node, &COMMANDS_RUN, EvidenceCommand::read, findings);
    let key_outputs = list(node, &KEY_OUTPUTS, EvidenceNote::read, findings);
    let verbatim_outputs = list(node, &VERBATIM_OUTPUTS, EvidenceNote::read, findings);
    let cross_layer_impacts = list(node, &CROSS_LAYER_IMPACTS, EvidenceNote::read, findings);
    let open_gaps = list(node, &OPEN_GAPS, EvidenceNote::read, findings);
    Some(EvidenceReport {
        patterns_checked: patterns_checked?,
        files_checked: files_checked?,
        commands_run: commands_run?,
        key_outputs: key_outputs?,
        verbatim_outputs: verbatim_outputs?,
        cross_layer_impacts: cross_layer_impacts?,
        open_gaps: open_gaps?,
        extra: findings.source.others(node, if is_complete { KNOWN_COMPLETE } else { KNOWN }),
    })
}

fn list<T>(
    node: &JsonNode<'_>,
    key: &EvidenceKey,
    read: fn(&JsonNode<'_>, ContractSource<'_>) -> Option<T>,
    findings: &mut Findings<'_>,
) -> Option<Vec<T>> {
    let Some(node) = node.get(key.name) else {
        findings.missing(key.absent, None);
        return None;
    };
    let Some(items) = node.list() else {
        findings.invalid(key.wrong, node);
        return None;
    };
    let mut notes = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(note) = read(item, findings.source) else {
            let words = format!("{} at index {index}", item.noun());
            findings.invalid.push(findings.problem(key.wrong, Some(item)).saying(words));
            return None;
        };
        notes.push(note);
    }
    Some(notes)
}

fn verification(report: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Option<EvidenceVerification> {
    let node = report.and_then(|node| node.get("verification"));
    let Some(node) = given(node).filter(|node| node.members().is_some()) else {
        findings.missing(&rule::VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE, node);
        return None;
    };
    let verification = EvidenceVerification::read(node, findings.source);
    if verification.is_none() {
        let result = node.get("result");
        let problem = findings.problem(&rule::VERIFICATION_RESULT_MUST_BE_PASS, result);
        findings.missing.push(match result {
            Some(result) => problem.saying(quoted(&shown(result))),
            None => problem,
        });
    }
    verification
}

impl EvidenceNote {
    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Option<Self> {
        let record = |node: &JsonNode<'_>| node.members().map(|_| Self::Record(source.written(node)));
        node.text().map(|text| Self::Text(text.to_owned())).or_else(|| record(node))
    }

    fn render(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Record(record) => record.value(),
        }
    }
}

impl EvidenceCommand {
    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Option<Self> {
        if let Some(line) = node.text() {
            return Some(Self::Line(line.to_owned()));
        }
        let command = node.get("command")?.text()?.to_owned();
        Some(Self::Run { command, extra: source.others(node, &["command"]) })
    }

    fn render(&self) -> Value {
        match self {
            Self::Line(line) => line.as_str().into(),
            Self::Run { command, extra } => ObjectWriting::default().field("command", command.as_str()).extra(extra),
        }
    }
}

impl EvidenceReport {
    pub(super) fn render(&self, verification: Option<&EvidenceVerification>) -> Value {
        let notes = |notes: &[EvidenceNote]| Value::List(notes.iter().map(EvidenceNote::render).collect());
        ObjectWriting::default()
            .field(PATTERNS_CHECKED.name, notes(&self.patterns_checked))
            .field(FILES_CHECKED.name, notes(&self.files_checked))
            .field(COMMANDS_RUN.name, Value::List(self.commands_run.iter().map(EvidenceCommand::render).collect()))
            .field(KEY_OUTPUTS.name, notes(&self.key_outputs))
            .field(VERBATIM_OUTPUTS.name, notes(&self.verbatim_outputs))
            .field(CROSS_LAYER_IMPACTS.name, notes(&self.cross_layer_impacts))
            .field(OPEN_GAPS.name, notes(&self.open_gaps))
            .optional("verification", verification.map(EvidenceVerification::render))
            .extra(&self.extra)
    }
}
