//! The section `update_contracts` of a handoff contract: the changes that the agent wants to make to project contracts,
//! which are stored JSON objects with facts about the project.

use std::collections::HashSet;

use super::advice::list;
use super::field::{ContractSource, ExtraMembers, Lenient, Listing, ObjectWriting, WrittenValue};
use super::live;
use super::problem::{Findings, Lack, RequiredPart, quoted};
use super::rule;
use crate::json::{JsonNode, Value};

/// An agent's update of one project contract (a stored JSON object with facts about the project), with the decision
/// whether the agent may make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractUpdate {
    /// The index of the update in the list `update_contracts`.
    index: usize,
    contract: String,
    /// The new values of the update, which are merged into the stored project contract. They are always a JSON object.
    payload: WrittenValue,
    is_permitted: bool,
    extra: ExtraMembers,
}

impl ContractUpdate {
    pub fn index(&self) -> usize {
        self.index
    }

    pub fn contract(&self) -> &str {
        &self.contract
    }

    /// Returns the values to merge into the stored project contract, see [`super::merge()`].
    pub fn payload(&self) -> Value {
        self.payload.value()
    }

    /// Returns true when the INPUT envelope (the JSON that started the agent's turn) lists the stored contract as
    /// writable.
    pub fn is_permitted(&self) -> bool {
        self.is_permitted
    }

    fn read(index: usize, node: &JsonNode<'_>, source: ContractSource<'_>) -> Result<Self, Lack> {
        node.members().ok_or(None)?;
        let contract = node.get("contract").and_then(JsonNode::text).ok_or(Some(RequiredPart::Contract))?.to_owned();
        let payload =
            node.get("payload").filter(|payload| payload.members().is_some()).ok_or(Some(RequiredPart::Payload))?;
        let extra = source.others(node, &["contract", "payload"]);
        Ok(Self { index, contract, payload: source.written(payload), is_permitted: false, extra })
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default()
            .field("contract", self.contract.as_str())
            .field("payload", self.payload())
            .extra(&self.extra)
    }
}

pub(super) fn read(
    node: Option<&JsonNode<'_>>,
    input: Option<&Value>,
    findings: &mut Findings<'_>,
) -> Lenient<Listing<ContractUpdate>> {
    let source = findings.source;
    let read = |index, node: &JsonNode<'_>| ContractUpdate::read(index, node, source);
    let mut field = list(node, &rule::UPDATE_CONTRACTS_TYPE, &rule::UPDATE_CONTRACTS, read, findings);
    let (Lenient::Is(updates), Some(nodes)) = (&mut field, node.and_then(JsonNode::list)) else { return field };
    let writable: HashSet<&str> = writable(input).collect();
    let mut denied = HashSet::new();
    for update in &mut updates.kept {
        update.is_permitted = writable.contains(update.contract.as_str());
        if !update.is_permitted && denied.insert(update.contract.as_str()) {
            let node = nodes.get(update.index).and_then(|node| node.get("contract"));
            let problem = findings.problem(&rule::UPDATE_CONTRACT_DENIED, node);
            let problem = problem.named(update.contract.as_str()).saying(quoted(&update.contract));
            findings.warnings.push(problem);
        }
    }
    let mut watch = live::LiveWalk::new(findings);
    for update in updates.kept() {
        if let Some(payload) = nodes.get(update.index).and_then(|node| node.get("payload")) {
            watch.look(update.index, payload);
        }
    }
    field
}

/// Returns the names of the stored project contracts that the agent may write. The INPUT envelope (the JSON that
/// started the agent's turn) lists them. Without an envelope or without the list, the agent may write none.
fn writable(input: Option<&Value>) -> impl Iterator<Item = &str> {
    let sections = input.and_then(|input| input.get("write_permissions")?.get("writable_sections")?.as_list());
    sections.unwrap_or_default().iter().filter_map(Value::as_text)
}
