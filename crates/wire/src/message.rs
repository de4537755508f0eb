//! Agent Wire 1.0: the messages between agents, which are briefs, inbox messages, completions, blockers and claims. All
//! messages have the same outer fields.
//!
//! ```
//! let wire = br#"{"wire": "1.0", "type": "claim", "sender": "quinn", "ts": "2026-04-28T12:00:00Z",
//!                 "payload": {"task_id": "0.0.17", "agent": "quinn", "role": "developer"}}"#;
//! let judged = wire::message::judge(wire);
//! assert!(judged.report.is_valid());
//! let Some(wire::message::Wire { payload: wire::message::WirePayload::Claim(claim), .. }) = judged.value else { panic!() };
//! assert_eq!(claim.role.as_str(), "developer");
//!
//! let foreign = br#"{"wire": "2.0", "anything": 1}"#;
//! assert_eq!(wire::message::judge(foreign).report.codes().0, ["UNSUPPORTED_VERSION"]);
//! ```

use engine::task::BlockKind;

use crate::document::{self, BYTES_MAX, JudgedDocument};
use crate::json::{JsonKind, JsonNode, Number, Object, Value, object};
use crate::report::{At, Report, Unknown};
use crate::schema::{self, FieldPresence, Property};
pub use crate::shape::Id;
use crate::shape::{
    AtLeastOne, ExtraFields, Integer, ListShape, Maybe, Measure, NonBlank, ObjectFields, Sentences, Shape, Slug,
    Summary, Text, Words, message, vocabulary,
};
use crate::time::DateTime;

pub const VERSION: &str = "1.0";

/// One message of Agent Wire, the protocol of messages between agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Wire {
    pub sender: Sender,
    pub ts: DateTime,
    pub payload: WirePayload,
    pub extra: ExtraFields,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WirePayload {
    Brief(Brief),
    Inbox(InboxMessage),
    Complete(Complete),
    Blocked(Blocked),
    Claim(Claim),
}

vocabulary! {
    pub enum Type {
        Brief = "brief",
        Inbox = "inbox",
        Complete = "complete",
        Blocked = "blocked",
        Claim = "claim",
    }
}

/// The sender of an Agent Wire message: the slug (short name) of an agent, or `human`, `system` or `runner`, which are
/// not agents but have the form of a slug.
pub type Sender = Slug;

message! {
    /// The brief of a task: the goal, the limits of the work, and the conditions that must be true when the task is
    /// done.
    pub struct Brief {
        goal: required Sentences<1>,
        context: optional Words<200>,
        constraints: optional ListShape<NonBlank>,
        acceptance_criteria: required AtLeastOne<NonBlank>,
        output_contract: required OutputContract,
        escalation_triggers: optional ListShape<NonBlank>,
        env: optional Env,
    }
    judge(fields) {
        // Check the form of the goal even when the goal is too long, so that the author of the brief gets both problems
        // in one report.
        if fields.text("goal").is_some_and(is_imperative) {
            fields.warning(
                "GOAL_NOT_DECLARATIVE",
                "`/payload/goal` should say what is true in the end (\"X is built\"), not what to do (\"Build X\")",
            );
        }
    }
}

message! {
    pub struct OutputContract {
        kind = "type": required OutputType,
        schema_ref: maybe Slug,
        output_ref_required: required bool,
        min_length: optional Integer<0>,
        evaluate: maybe NonBlank,
    }
}

impl OutputContract {
    /// Returns true when the task's output must be checked before the task is complete. The output of a task with a
    /// `schema_ref` must be checked, because `schema_ref` names an output contract that has a schema or checks.
    pub fn is_verified(&self) -> bool {
        self.output_ref_required || self.evaluate.get().is_some() || self.schema_ref.get().is_some()
    }
}

vocabulary! {
    pub enum OutputType {
        File = "file",
        Json = "json",
        Pr = "pr",
        Message = "message",
        Report = "report",
    }
}

message! {
    pub struct Env {
        client_id: optional Id,
        task_id: optional Id,
        project_id: optional Id,
        repo_url: maybe NonBlank,
        worktree_path: maybe NonBlank,
    }
}

message! {
    /// A message from one agent to the inbox of another agent.
    pub struct InboxMessage {
        to_agent: required Slug,
        priority: required WirePriority,
        message_type: required MessageType,
        ref_task_id: maybe Id,
        subject: required NonBlank,
        body: required Text,
        action_required: required bool,
    }
    judge(fields) {
        if let (Some(priority), Some(kind)) = (&priority, &message_type)
            && kind.priority() != priority.0
        {
            fields.warning(
                "PRIORITY_MISMATCH",
                "`/payload/priority` is 1 for task.blocked and exec.gate, 2 for question and task.feedback, 3 for \
                 status.update and info",
            );
        }
    }
}

vocabulary! {
    pub enum MessageType {
        TaskFeedback = "task.feedback",
        StatusUpdate = "status.update",
        TaskBlocked = "task.blocked",
        ExecGate = "exec.gate",
        Question = "question",
        Info = "info",
    }
}

impl MessageType {
    /// Returns the priority that a message of this type should have.
    pub fn priority(self) -> u8 {
        match self {
            Self::TaskBlocked | Self::ExecGate => 1,
            Self::Question | Self::TaskFeedback => 2,
            Self::StatusUpdate | Self::Info => 3,
        }
    }
}

message! {
    /// An agent's message that its task is done and that the result was verified.
    pub struct Complete {
        task_id: required Id,
        agent: required Slug,
        output_ref: nullable NonBlank,
        summary: required Summary<150>,
        cost_usd: required Measure,
        duration_seconds: required Measure,
        verification: required WireVerification,
    }
}

message! {
    pub struct WireVerification {
        mechanical: required Mechanical,
        semantic: required Semantic,
        attempts: required Integer<1>,
    }
    judge(fields) {
        if mechanical == Some(Mechanical::Fail) || semantic == Some(Semantic::Fail) {
            fields.error(
                "COMPLETE_WITHOUT_PASS",
                "a task whose `/payload/verification` failed is not complete: send `blocked`, or verify again",
            );
        }
    }
}

vocabulary! {
    pub enum Mechanical {
        Pass = "pass",
        Fail = "fail",
    }
}

vocabulary! {
    pub enum Semantic {
        Pass = "pass",
        Fail = "fail",
        Skipped = "skipped",
    }
}

message! {
    /// An agent's message that its task cannot continue.
    pub struct Blocked {
        task_id: required Id,
        agent: required Slug,
        reason: required NonBlank,
        blocker_type: required BlockerType,
        suggested_resolution: maybe Text,
        attempts: required Integer<0>,
    }
}

vocabulary! {
    pub enum BlockerType {
        SpecGap = "spec_gap",
        Dependency = "dependency",
        ToolFailure = "tool_failure",
        Ambiguity = "ambiguity",
        Resource = "resource",
        VerificationFail = "verification_fail",
    }
}

impl BlockerType {
    /// Returns the engine's kind of obstacle for this type of blocker in an Agent Wire message.
    pub fn kind(self) -> BlockKind {
        match self {
            Self::SpecGap => BlockKind::SpecGap,
            Self::Dependency => BlockKind::Dependency,
            Self::ToolFailure => BlockKind::ToolFailure,
            Self::Ambiguity => BlockKind::Ambiguity,
            Self::Resource => BlockKind::Resource,
            Self::VerificationFail => BlockKind::VerificationFail,
        }
    }
}

message! {
    /// An agent's message that it claims a task.
    pub struct Claim {
        task_id: required Id,
        agent: required Slug,
        role: required Slug,
    }
}

/// The priority of a message: 1 must be handled immediately, 2 before the next task, 3 at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WirePriority(u8);

impl WirePriority {
    pub fn new(number: u8) -> Option<Self> {
        (1..=3).contains(&number).then_some(Self(number))
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

impl Shape for WirePriority {
    const LEGAL: &'static str = "1, 2 or 3";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let wanted = "must be 1, 2 or 3";
        let JsonKind::Number(text) = node.kind else {
            report.error("TYPE", at, node.span, wanted);
            return None;
        };
        let number = Number::of(text);
        let found = number.as_u64().and_then(|number| u8::try_from(number).ok()).and_then(Self::new);
        match (number.is_integer(), found) {
            (false, _) => report.error("TYPE", at, node.span, wanted),
            (true, None) => report.error("RANGE", at, node.span, wanted),
            (true, found) => return found,
        }
        None
    }

    fn render(&self) -> Value {
        u64::from(self.0).into()
    }

    fn schema(_: Unknown) -> Value {
        object([("enum", vec![1_u64, 2, 3].into())])
    }
}

/// Verbs that give an order. A task's goal should describe a result, so a goal that begins with one of these verbs gets
/// a warning.
const IMPERATIVES: [&str; 10] =
    ["build", "add", "fix", "implement", "write", "create", "make", "update", "remove", "refactor"];

fn is_imperative(goal: &str) -> bool {
    let first = goal.split_whitespace().next().unwrap_or_default();
    IMPERATIVES.iter().any(|verb| first.eq_ignore_ascii_case(verb))
}

pub fn judge(bytes: &[u8]) -> JudgedDocument<'_, Wire> {
    match document::open(bytes, BYTES_MAX) {
        Err(report) => JudgedDocument { value: None, report: *report },
        Ok((text, node)) => match document::other_version(text, &node, "wire", VERSION) {
            Some(report) => JudgedDocument { value: None, report },
            None => document::read(&node, Report::new(text, Unknown::Warned)),
        },
    }
}

/// Checks the bytes of a task's brief that is not inside an Agent Wire message. Briefs are stored with their tasks in
/// this form.
pub fn judge_brief(bytes: &[u8]) -> JudgedDocument<'_, Brief> {
    match document::open(bytes, BYTES_MAX) {
        Err(report) => JudgedDocument { value: None, report: *report },
        Ok((text, node)) => document::read(&node, Report::new(text, Unknown::Warned)),
    }
}

impl WirePayload {
    pub fn kind(&self) -> Type {
        match self {
            Self::Brief(_) => Type::Brief,
            Self::Inbox(_) => Type::Inbox,
            Self::Complete(_) => Type::Complete,
            Self::Blocked(_) => Type::Blocked,
            Self::Claim(_) => Type::Claim,
        }
    }

    fn read(kind: Type, node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        match kind {
            Type::Brief => Brief::read(node, at, report).map(Self::Brief),
            Type::Inbox => InboxMessage::read(node, at, report).map(Self::Inbox),
            Type::Complete => Complete::read(node, at, report).map(Self::Complete),
            Type::Blocked => Blocked::read(node, at, report).map(Self::Blocked),
            Type::Claim => Claim::read(node, at, report).map(Self::Claim),
        }
    }

    fn render(&self) -> Value {
        match self {
            Self::Brief(payload) => payload.render(),
            Self::Inbox(payload) => payload.render(),
            Self::Complete(payload) => payload.render(),
            Self::Blocked(payload) => payload.render(),
            Self::Claim(payload) => payload.render(),
        }
    }

    fn schema(kind: Type, unknown: Unknown) -> Value {
        match kind {
            Type::Brief => Brief::schema(unknown),
            Type::Inbox => InboxMessage::schema(unknown),
            Type::Complete => Complete::schema(unknown),
            Type::Blocked => Blocked::schema(unknown),
            Type::Claim => Claim::schema(unknown),
        }
    }
}

impl Shape for Wire {
    const LEGAL: &'static str = "a wire";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = ObjectFields::open(node, at, report)?;
        fields.required::<Text>("wire");
        let kind = fields.required::<Type>("type");
        let sender = fields.required::<Sender>("sender");
        let ts = fields.required::<DateTime>("ts");
        let payload = fields.required::<AnyObject>("payload");
        let found = node.get("payload").filter(|_| payload.is_some());
        let (report, at) = fields.report();
        let payload =
            kind.zip(found).and_then(|(kind, found)| WirePayload::read(kind, found, &at.field("payload"), report));
        if kind == Some(Type::Claim) {
            claimed_by_its_sender(node, report);
        }
        let extra = fields.close();
        Some(Self { sender: sender?, ts: ts?, payload: payload?, extra })
    }

    fn render(&self) -> Value {
        let mut members: Object = vec![
            ("wire".to_owned(), VERSION.into()),
            ("type".to_owned(), self.payload.kind().render()),
            ("sender".to_owned(), self.sender.render()),
            ("ts".to_owned(), self.ts.render()),
            ("payload".to_owned(), self.payload.render()),
        ];
        members.extend(self.extra.iter().cloned());
        Value::Object(members)
    }

    fn schema(unknown: Unknown) -> Value {
        object([("oneOf", Value::List(Type::ALL.iter().map(|kind| kind.wire_schema(unknown)).collect()))])
    }
}

/// Checks that an agent claims a task only in its own name: the agent in the claim must be the sender of the message.
/// The check runs even when the message has other errors.
fn claimed_by_its_sender(node: &JsonNode<'_>, report: &mut Report<'_>) {
    let agent = node.get("payload").and_then(|payload| payload.get("agent"));
    let names = node.get("sender").and_then(JsonNode::text).zip(agent.and_then(JsonNode::text));
    if let (Some((sender, claimer)), Some(agent)) = (names, agent)
        && sender != claimer
    {
        let hint = "`/payload/agent` must be the `/sender`: a task is claimed in one's own name";
        report.plain_error("CLAIM_SENDER_MISMATCH", agent.span, hint);
    }
}

impl Type {
    /// Returns the schema of a whole Agent Wire message whose payload has this type.
    pub fn wire_schema(self, unknown: Unknown) -> Value {
        let property = |name, schema| Property { name, presence: FieldPresence::required, schema };
        schema::object(
            unknown,
            &[
                property("wire", object([("const", VERSION.into())])),
                property("type", object([("const", self.as_str().into())])),
                property("sender", Sender::schema(unknown)),
                property("ts", DateTime::schema(unknown)),
                property("payload", WirePayload::schema(self, unknown)),
            ],
        )
    }
}

/// The payload of an Agent Wire message. Reading it only checks that it is an object. Its fields are read later,
/// depending on the type of the message.
struct AnyObject;

impl Shape for AnyObject {
    const LEGAL: &'static str = "the payload of its type, an object";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if node.members().is_none() {
            report.error("TYPE", at, node.span, "must be an object");
        }
        node.members().map(|_| Self)
    }

    fn render(&self) -> Value {
        Value::Null
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "object".into())])
    }
}

impl Env {
    /// Returns the ids, the repository URL and the worktree path that a brief's `env` has, each as a name and a value.
    /// They are in the order of the specification.
    pub fn entries(&self) -> Vec<(&'static str, &str)> {
        let ids = [("client_id", &self.client_id), ("task_id", &self.task_id), ("project_id", &self.project_id)];
        let ids = ids.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?.as_str())));
        let places: [(&str, &Maybe<NonBlank>); 2] =
            [("repo_url", &self.repo_url), ("worktree_path", &self.worktree_path)];
        let places = places.into_iter().filter_map(|(name, place)| Some((name, place.get()?.as_str())));
        ids.chain(places).collect()
    }
}
