//! Finds live values in updates of a project contract (a stored JSON object with facts about the project). Live values
//! are values that a running system reports, such as a pod count or an IP address. They are out of date as soon as they
//! are written, so they do not belong in a project contract.
//!
//! Reports a value only when it is clearly live. False alarms would teach agents to ignore the warning.

use std::net::{IpAddr, SocketAddr};

use super::pointer::{PointerPart, push_path};
use super::problem::{Findings, quoted};
use super::rule;
use crate::json::{JsonKind, JsonNode};

/// The limit in bytes for all JSON pointers to live values that are reported for one handoff contract. After the limit
/// is reached, further live values are not reported. Without the limit, a hostile agent could write a hundred thousand
/// values under one long name, and each pointer would repeat the name.
const POINTERS_BYTES_MAX: usize = 1 << 20;

/// Names of numbers that only a running system knows, such as the count of ready replicas. The names are written in
/// lower case and without `_` and `-`.
const COUNTS: &[&str] = &[
    "availablereplicas",
    "currentreplicas",
    "healthyhosts",
    "podcount",
    "podsready",
    "podsrunning",
    "readypods",
    "readyreplicas",
    "replicasavailable",
    "replicasready",
    "restartcount",
    "runningcount",
    "runninginstances",
    "runningpods",
    "runningtasks",
    "unavailablereplicas",
    "unhealthyhosts",
    "uptime",
    "uptimeseconds",
];

/// Names of conditions that a running system reports, such as the health of a cluster.
const CONDITIONS: &[&str] = &[
    "clusterstatus",
    "deploymentstatus",
    "health",
    "healthstatus",
    "instancestate",
    "instancestatus",
    "nodestatus",
    "phase",
    "podphase",
    "podstatus",
    "runtimestatus",
    "state",
    "status",
];

/// Values that a running system reports for a condition of the list [`CONDITIONS`].
const ANSWERS: &[&str] = &[
    "containercreating",
    "crashloopbackoff",
    "evicted",
    "healthy",
    "imagepullbackoff",
    "notready",
    "oomkilled",
    "running",
    "stopped",
    "stopping",
    "terminated",
    "terminating",
    "unhealthy",
];

/// Words that mark a field as a version when its name contains them. A version such as `1.2.3.4` looks like the IP
/// address of a running machine, but it is not one.
const VERSIONS: &[&str] = &["version", "release", "tag", "build", "revision"];

/// A walk through an agent's updates of project contracts (stored JSON objects with facts about the project). It
/// reports live values, that is, values that a running system reports and that are soon out of date.
pub(super) struct LiveWalk<'f, 't, 'n> {
    findings: &'f mut Findings<'t>,
    /// The index, in the list `update_contracts`, of the update that is searched for values of a running system, such
    /// as IP addresses and pod counts.
    update: usize,
    /// The path to the value that is checked now. It begins at the payload (the new values) of the update.
    path: Vec<PointerPart<'n>>,
    room: usize,
}

/// The kind of value that a field holds according to its name. The elements of a list count as fields with the list's
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedValue {
    Count,
    Condition,
    /// The value is a version. A version with four numbers, such as `1.2.3.4`, must not count as an IP address.
    Version,
    Otherwise,
}

impl<'f, 't, 'n> LiveWalk<'f, 't, 'n> {
    pub(super) fn new(findings: &'f mut Findings<'t>) -> Self {
        Self { findings, update: 0, path: Vec::new(), room: POINTERS_BYTES_MAX }
    }

    /// Reports the live values (such as IP addresses and pod counts) in the payload of the update with this index.
    pub(super) fn look(&mut self, index: usize, payload: &'n JsonNode<'_>) {
        self.update = index;
        self.value(NamedValue::Otherwise, payload);
    }

    fn value(&mut self, named: NamedValue, node: &'n JsonNode<'_>) {
        match &node.kind {
            JsonKind::Object(members) => {
                for member in members {
                    self.path.push(PointerPart::Name(&member.name));
                    self.value(NamedValue::of(&member.name), &member.node);
                    self.path.pop();
                }
            }
            JsonKind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(PointerPart::Index(index));
                    self.value(named, item);
                    self.path.pop();
                }
            }
            JsonKind::Text(text) if is_live(named, text) => self.report(node, text),
            JsonKind::Number(text) if named == NamedValue::Count => self.report(node, text),
            JsonKind::Text(_) | JsonKind::Number(_) | JsonKind::Null | JsonKind::Bool(_) => {}
        }
    }

    fn report(&mut self, node: &JsonNode<'_>, found: &str) {
        if self.room == 0 {
            return;
        }
        let mut pointer = format!("/update_contracts/{}/payload", self.update);
        push_path(&mut pointer, &self.path);
        self.room = self.room.saturating_sub(pointer.len());
        let problem = self.findings.problem(&rule::LIVE_STATE, Some(node));
        self.findings.warnings.push(problem.named(pointer).saying(quoted(found)));
    }
}

impl NamedValue {
    fn of(name: &str) -> Self {
        let Some(plain) = Plain::of(name) else { return Self::Otherwise };
        if plain.is_in(COUNTS) {
            Self::Count
        } else if plain.is_in(CONDITIONS) {
            Self::Condition
        } else if VERSIONS.iter().any(|word| plain.has(word)) {
            Self::Version
        } else {
            Self::Otherwise
        }
    }
}

/// A word in lower case, without `_`, `-` and blanks, for a search in the lists of known words. A word that has more
/// than `MAX` bytes without these characters is not converted, because all words in the lists are shorter.
struct Plain {
    letters: [u8; Self::MAX],
    length: usize,
}

impl Plain {
    const MAX: usize = 32;

    fn of(word: &str) -> Option<Self> {
        let mut plain = Self { letters: [0; Self::MAX], length: 0 };
        for byte in word.bytes().filter(|byte| !matches!(byte, b'_' | b'-' | b' ')) {
            *plain.letters.get_mut(plain.length)? = byte.to_ascii_lowercase();
            plain.length += 1;
        }
        Some(plain)
    }

    fn letters(&self) -> &[u8] {
        self.letters.get(..self.length).unwrap_or_default()
    }

    fn is_in(&self, sorted: &[&str]) -> bool {
        sorted.binary_search_by(|word| word.as_bytes().cmp(self.letters())).is_ok()
    }

    fn has(&self, word: &str) -> bool {
        self.letters().windows(word.len()).any(|letters| letters == word.as_bytes())
    }
}

fn is_live(named: NamedValue, text: &str) -> bool {
    match named {
        NamedValue::Condition => Plain::of(text).is_some_and(|plain| plain.is_in(ANSWERS)),
        NamedValue::Version => false,
        NamedValue::Count | NamedValue::Otherwise => is_address(text) || is_load_balancer(text),
    }
}

/// Returns true when a text is the IP address of one machine. Returns false for a network in CIDR notation, a mask and
/// localhost: these are configuration and not values that a running system reports.
fn is_address(text: &str) -> bool {
    // The longest text of an IP address has 45 characters; brackets and a port add 8.
    if text.len() > 53 || !text.contains([':', '.']) {
        return false;
    }
    let address = text.parse().or_else(|_| text.parse().map(|socket: SocketAddr| socket.ip()));
    address.is_ok_and(|address: IpAddr| {
        let is_mask = matches!(address, IpAddr::V4(address) if address.octets()[0] == 255);
        !(address.is_unspecified() || address.is_loopback() || is_mask)
    })
}

/// Returns true when a text is a host name that a cloud provider generates for a load balancer.
fn is_load_balancer(text: &str) -> bool {
    if text.len() > 253 || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')) {
        return false;
    }
    let ends = |end: &str| {
        let start = text.len().checked_sub(end.len());
        start.and_then(|start| text.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    let is_amazon = ends(".amazonaws.com") || ends(".amazonaws.com.cn");
    (is_amazon && text.to_ascii_lowercase().contains(".elb."))
        || ends(".cloudapp.azure.com")
        || ends(".trafficmanager.net")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Returns the JSON pointers to the live values (such as IP addresses) in the payload, relative to the payload.
    fn live(payload: &str) -> Vec<String> {
        let node = json::parse(payload).expect("JSON");
        let mut findings = Findings::default();
        LiveWalk::new(&mut findings).look(0, &node);
        let code = |problem: &super::super::HandoffProblem| {
            problem.code().replace("LIVE_STATE:/update_contracts/0/payload", "")
        };
        findings.warnings.iter().map(code).collect()
    }

    #[test]
    fn live_values_are_named() {
        for value in [
            r#"{"a":"10.0.0.1"}"#,
            r#"{"a":"10.0.0.1:8080"}"#,
            r#"{"a":"2001:db8::1"}"#,
            r#"{"a":"[2001:db8::1]:443"}"#,
            r#"{"a":"my-lb-123.eu-west-1.elb.amazonaws.com"}"#,
            r#"{"a":"nlb-1.ELB.us-east-1.amazonaws.com"}"#,
        ] {
            assert_eq!(live(value), ["/a"], "{value}");
        }
        assert_eq!(live(r#"{"pod_count":3,"readyReplicas":1,"replicas-ready":2}"#).len(), 3);
        assert_eq!(live(r#"{"x":{"status":"Running"},"phase":"CrashLoopBackOff"}"#), ["/x/status", "/phase"]);
        assert_eq!(live(r#"{"a/b":{"c~d":["x","10.1.2.3"]}}"#), ["/a~1b/c~0d/1"]);
    }

    #[test]
    fn what_stays_true_is_not() {
        for value in [
            r#"{"version":"10.0.0.1","image_tag":"1.2.3.4","v":"1.2.3","go":"1.22"}"#,
            r#"{"cidr":"10.0.0.0/16","mask":"255.255.255.0","bind":"0.0.0.0","host":"127.0.0.1"}"#,
            r#"{"v6":"::1","any":"::"}"#,
            r#"{"date":"2026-05-01","time":"12:30","when":"2026-05-01T12:30:00Z","ratio":"1:2","hex":"beef"}"#,
            r#"{"replicas":3,"port":8080,"count":2,"max_pods":10,"pod_count":"see the console"}"#,
            r#"{"status":"accepted","state":"planned","name":"running","phase":2,"note":"status is running"}"#,
            r#"{"bucket":"x.s3.amazonaws.com","site":"example.com","elb":"elb.amazonaws.com.example.com","e":""}"#,
            r#"{"module":"github.com/org/iac:tf_modules/gke","mac":"00:1b:44:11:3a:b7"}"#,
        ] {
            assert_eq!(live(value), [""; 0], "{value}");
        }
    }

    #[test]
    fn lists_are_sorted() {
        assert!([COUNTS, CONDITIONS, ANSWERS].iter().all(|list| list.is_sorted()));
    }

    #[test]
    fn pointers_are_bounded_together() {
        let name = "n".repeat(600_000);
        assert_eq!(live(&format!(r#"{{"{name}":["10.0.0.1","10.0.0.2","10.0.0.3"]}}"#)).len(), 2);
    }
}
