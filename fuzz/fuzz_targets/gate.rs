//! Any text as a command: judged without an abort or a panic, the same twice, and never allowed where it could not be read.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use handover::gate::{Call, Decision, Gates};
use libfuzzer_sys::fuzz_target;
use wire::json::{Value, object};

const RULES: &str = "[gates]\ndefault = \"allow\"\n\
                     [[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"deny\"\n\
                     [[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

static GATES: OnceLock<Gates> = OnceLock::new();

fn gates() -> &'static Gates {
    GATES.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("handover-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(root.join(".handover")).expect("a folder for the rules");
        std::fs::write(root.join(".handover/config.toml"), RULES).expect("the rules");
        handover::settings::read(Some(&root)).expect("the rules").gates
    })
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let directory = Path::new("/tmp");
    let input = object([("command", Value::Text(text.to_string()))]);
    let judge = || gates().judge(&Call { tool: "Bash", input: &input, directory });
    let verdict = judge();
    assert_eq!(verdict, judge(), "the same text, judged twice");
    if handover::gate::commands(&text, directory).is_err() {
        assert_ne!(verdict.decision, Decision::Allow, "{text:?}");
    }
});
