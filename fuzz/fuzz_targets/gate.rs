//! Judges a random text as a command. The gate must not abort or panic. It must give the same decision when it is asked
//! twice, and must not allow a text that it cannot read.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use gate::{GateCall, GateDecision, Gates};
use libfuzzer_sys::fuzz_target;
use wire::json::{Value, object};

const BASICS: &str = "default = \"allow\"\n";
const RULES: [&str; 2] = [
    "command = [\"git\", \"push\"]\ndecision = \"deny\"\n",
    "write = \"infra/**\"\ndecision = \"deny\"\n",
];

static GATES: OnceLock<Gates> = OnceLock::new();

fn gates() -> &'static Gates {
    GATES.get_or_init(|| {
        let rules = RULES.iter().map(|rule| toml::from_str(rule).expect("a rule")).collect();
        Gates::new(toml::from_str(BASICS).expect("the default"), rules).expect("the rules")
    })
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let directory = Path::new("/tmp");
    let input = object([("command", Value::Text(text.to_string()))]);
    let judge = || gates().judge(&GateCall { tool: "Bash", input: &input, directory });
    let verdict = judge();
    assert_eq!(verdict, judge(), "the same text, judged twice");
    if gate::commands(&text, directory).is_err() {
        assert_ne!(verdict.decision, GateDecision::Allow, "{text:?}");
    }
});
