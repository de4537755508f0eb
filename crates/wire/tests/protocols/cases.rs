//! Reads the test cases of the protocols from a folder next to the repository if that folder exists, otherwise from the
//! copy in the repository.

use std::path::PathBuf;

use wire::json::{Value, parse};

pub(crate) struct Case(Value);

/// Returns the folder with the test cases of the protocols.
pub(crate) fn folder() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let beside = here.join("../../../shared/vectors");
    if beside.is_dir() { beside } else { here.join("tests/fixtures/vectors") }
}

/// Calls `judge` with every test case in a file.
pub(crate) fn each(file: &str, mut judge: impl FnMut(&Case)) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut count = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let node = parse(line).unwrap_or_else(|error| panic!("{file}: {error}"));
        judge(&Case(node.to_value()));
        count += 1;
    }
    assert!(count > 0, "{file} has no cases");
}

impl Case {
    pub(crate) fn of(value: Value) -> Self {
        Self(value)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(crate) fn get(&self, name: &str) -> &Value {
        self.find(name).unwrap_or_else(|| panic!("{} has no {name}", self.0))
    }

    pub(crate) fn id(&self) -> &str {
        self.get("id").as_text().unwrap_or("a case without an id")
    }

    /// Returns the document of a test case. The file has the document as text, as base64, or as a list of parts, each
    /// with the number of its repetitions.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if let Some(text) = self.find("text").and_then(Value::as_text) {
            return text.as_bytes().to_vec();
        }
        if let Some(text) = self.find("text_b64").and_then(Value::as_text) {
            return base64(text);
        }
        let mut bytes = Vec::new();
        for part in self.get("parts").as_list().unwrap_or_default() {
            let Some([Value::Text(text), Value::Number(times)]) = part.as_list() else { panic!("{part} is no part") };
            (0..times.as_u64().unwrap_or(0)).for_each(|_| bytes.extend_from_slice(text.as_bytes()));
        }
        bytes
    }
}

fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes().filter(|byte| *byte != b'=') {
        let place = LETTERS.iter().position(|known| *known == letter).unwrap_or_else(|| panic!("{letter} in base64"));
        bits = (bits << 6) | u32::try_from(place).unwrap_or(0);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 255).unwrap_or(0));
        }
    }
    bytes
}

impl Case {
    /// Returns the facts from outside the document that its rules need, such as the request that a review response
    /// answers.
    pub(crate) fn context(&self) -> wire::check::CheckContext {
        let issued = self.find("issued_ids").and_then(Value::as_list);
        wire::check::CheckContext {
            request: self.find("request").and_then(Value::as_text).map(|text| text.as_bytes().to_vec()),
            issued_ids: issued.map(|ids| ids.iter().filter_map(Value::as_text).map(str::to_owned).collect()),
            registry: self
                .find("registry")
                .filter(|found| **found != Value::Null)
                .map(wire::report::Registry::from_value),
            input: self.find("input_envelope").cloned(),
            dispatch_agent_id: self.find("dispatch_agent_id").and_then(Value::as_text).map(str::to_owned),
        }
    }
}
