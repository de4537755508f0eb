//! The seal of an approval: a fingerprint of the request, the agent that asks, the task, and the attempt (the number of
//! the task's claim). An action may use the approval only when its fingerprint is the same. Only the caption and the
//! time limit of a shell call are left out of the fingerprint.

use std::fmt;

use engine::approval::ApprovalRequest;
use engine::id::{AgentId, TaskId};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use wire::json::{Value, object};

use crate::ground::digest::sha256;

/// Fields of a shell call that an approval's fingerprint leaves out, because they do not change which program runs:
/// time limits, and the caption, which a model writes differently each time.
const INCIDENTAL: &[&str] = &[
    "description",
    "timeout",
    "timeout_ms",
    "timeoutMs",
    "timeout_millis",
    "timeoutMillis",
    "timeout_sec",
    "timeoutSec",
    "timeout_secs",
    "timeout_seconds",
    "timeoutSeconds",
    "yield_time_ms",
];

/// The content that the fingerprint of an approval covers. All approvals use this type, whether a handoff, a gate rule,
/// a gated task (`exec.gate`) or a program over ACP (Agent Client Protocol) asks for them.
#[derive(Debug, Clone, Copy)]
pub struct Seal<'a> {
    pub request: &'a ApprovalRequest,
    pub task: Option<TaskId>,
    pub attempt: Option<u32>,
    pub agent: Option<AgentId>,
}

impl Seal<'_> {
    /// Returns the fingerprint: the SHA-256, in hexadecimal, of the content as canonical JSON (RFC 8785). No text is
    /// case-folded, trimmed or shortened.
    pub fn fingerprint(&self) -> String {
        sha256(self.canonical().as_bytes())
    }

    fn canonical(&self) -> String {
        let ApprovalRequest { operation, content, scope, directory, risk, rollback, verification } = self.request;
        let text = |text: &String| Value::from(text.as_str());
        let sealed = object([
            ("operation", text(operation)),
            ("exact_content", text(content)),
            ("scope", text(scope)),
            ("directory", text(directory)),
            ("risk_level", text(risk)),
            ("rollback", text(rollback)),
            ("verification", text(verification)),
            ("task", self.task.map(|task| task.to_string()).into()),
            ("attempt", self.attempt.map(u64::from).into()),
            ("agent", self.agent.map(|agent| agent.to_string()).into()),
        ]);
        sealed.jcs()
    }
}

/// The members of a JSON object in their written order, each value as its exact bytes.
struct RawMembers(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for RawMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawMembers;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Returns the part of a tool call's input that an approval covers. For a shell call this is the input without the
/// caption and the time limit; for other calls it is the exact input. So two shell calls with equal results of this
/// function run the same command.
pub fn sealed_input(input: &str) -> String {
    let Ok(RawMembers(members)) = serde_json::from_str::<RawMembers>(input) else { return input.to_owned() };
    if !members.iter().any(|(name, _)| gate::COMMAND_FIELDS.contains(&name.as_str())) {
        return input.to_owned();
    }
    let kept = members.iter().filter(|(name, _)| !INCIDENTAL.contains(&name.as_str()));
    let shown: Vec<String> =
        kept.map(|(name, value)| format!("{}:{}", serde_json::Value::from(name.as_str()), value.get())).collect();
    format!("{{{}}}", shown.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> ApprovalRequest {
        let text = |words: &str| words.to_owned();
        ApprovalRequest {
            operation: text("push"),
            content: text("git push origin main\n"),
            scope: text("origin"),
            directory: text("/repo"),
            risk: text("HIGH"),
            rollback: text("revert"),
            verification: text("look"),
        }
    }

    #[test]
    fn shell_calls_are_sealed_without_caption_and_time_limit() {
        let plain = r#"{"command":"git push"}"#;
        for same in [
            plain,
            r#"{"command":"git push","description":"Push it"}"#,
            r#"{"description":"Send the work","command":"git push","timeout":5000}"#,
            r#"{ "command" : "git push" , "timeout_ms" : 1 }"#,
        ] {
            assert_eq!(sealed_input(same), plain, "{same}");
        }
        for other in [
            r#"{"command":"git  push"}"#,
            r#"{"command":"git push","run_in_background":true}"#,
            r#"{"command":"git push","workdir":"x"}"#,
            r#"{"command":"git push","Description":"x"}"#,
            r#"{"command":["git","push"]}"#,
            r#"{"file_path":"a","content":"x","description":"y"}"#,
            r#"["git push"]"#,
        ] {
            assert_ne!(sealed_input(other), plain, "{other}");
        }
        // The input of a tool that is no shell keeps every byte, including a field named `description`.
        let write = r#"{"file_path": "a", "description": "y"}"#;
        assert_eq!(sealed_input(write), write);
        let nested = r#"{"command":"x","input":{"description":"kept"}}"#;
        assert_eq!(sealed_input(nested), nested);
    }

    #[test]
    fn the_bytes_are_those_of_the_rfc() {
        let (task, agent) = (TaskId::FIRST, AgentId::FIRST);
        let request = request();
        let seal = Seal { request: &request, task: Some(task), attempt: Some(2), agent: Some(agent) };
        let expected = format!(
            "{{\"agent\":\"{agent}\",\"attempt\":2,\"directory\":\"/repo\",\"exact_content\":\"git push origin main\\n\",\
             \"operation\":\"push\",\"risk_level\":\"HIGH\",\"rollback\":\"revert\",\"scope\":\"origin\",\"task\":\"{task}\",\
             \"verification\":\"look\"}}"
        );
        assert_eq!(seal.canonical(), expected);
        assert_eq!(seal.fingerprint(), sha256(expected.as_bytes()));
    }

    /// A different letter case, space, path or redirection, or the same text in another field, gives a different
    /// fingerprint.
    #[test]
    fn any_other_byte_is_another_seal() {
        let (one, base) = (request(), request());
        let of = |request: &ApprovalRequest, task, attempt, agent| Seal { request, task, attempt, agent }.fingerprint();
        let (task, agent) = (Some(TaskId::FIRST), Some(AgentId::FIRST));
        let mut seals = vec![
            of(&one, task, Some(1), agent),
            of(&one, Some(TaskId::LAST), Some(1), agent),
            of(&one, task, Some(2), agent),
            of(&one, task, None, agent),
            of(&one, None, None, None),
            of(&one, task, Some(1), Some(AgentId::LAST)),
        ];
        let fields: [fn(&mut ApprovalRequest) -> &mut String; 7] = [
            |request| &mut request.operation,
            |request| &mut request.content,
            |request| &mut request.scope,
            |request| &mut request.directory,
            |request| &mut request.risk,
            |request| &mut request.rollback,
            |request| &mut request.verification,
        ];
        let edits: [fn(&str) -> String; 5] = [
            str::to_uppercase,
            |text| format!("{text} "),
            |text| format!("{text} > /dev/null"),
            |text| format!("./{text}"),
            |text| format!("{text}\u{200b}"),
        ];
        for field in fields {
            for edit in edits {
                let mut other = base.clone();
                let text = field(&mut other);
                *text = edit(text);
                if other != base {
                    seals.push(of(&other, task, Some(1), agent));
                }
            }
        }
        let mut moved = base.clone();
        std::mem::swap(&mut moved.scope, &mut moved.rollback);
        seals.push(of(&moved, task, Some(1), agent));
        let count = seals.len();
        seals.sort_unstable();
        seals.dedup();
        assert_eq!(seals.len(), count, "every one is different");
        assert_eq!(of(&base, task, Some(1), agent), of(&one, task, Some(1), agent), "and the same is the same");
    }
}
