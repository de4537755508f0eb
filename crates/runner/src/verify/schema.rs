//! A JSON Schema that judges outputs. Compiling it uses no network and no disk. The cost of judging is limited.
//!
//! A person has accepted the schema, but an agent wrote the output. Therefore patterns run in linear time where that is
//! possible. The depth and the size of an output are limited before the comparison starts. The comparison runs on a
//! stack that is large enough for this depth.

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The largest JSON Schema that is accepted, in bytes. A larger schema is refused. People write schemas by hand, so
/// real schemas are smaller.
pub(super) const SCHEMA_BYTES_MAX: usize = 1 << 20;
/// The largest JSON output that is judged, in bytes. A larger output fails, because parsed JSON takes about forty times
/// as much memory as its text.
pub(super) const JSON_BYTES_MAX: usize = 4 << 20;
/// The size of an output in bytes above which only the first problem is reported, because a large output could have a
/// problem for every value.
const ALL_PROBLEMS_BYTES_MAX: usize = 256 << 10;
const PROBLEMS_MAX: usize = 10;
const PROBLEM_CHARS_MAX: usize = 300;
/// The largest number of backtracking steps of a pattern on one text; matching fails when the steps are used up. Only
/// patterns with look-around need such steps, because these patterns cannot run in linear time.
const STEPS_BACK_MAX: usize = 20_000;
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// The stack of the thread that compares an output with its schema, in bytes. It is enough for an output with 128
/// levels of nesting and a schema with 128 levels for each level of the output.
const STACK_BYTES: usize = 64 << 20;

#[derive(Clone)]
pub struct Schema(Arc<Validator>);

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

impl Schema {
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("is larger than {SCHEMA_BYTES_MAX} bytes"));
        }
        let schema = value(text)?;
        with_stack(move || {
            let options = || jsonschema::options().offline();
            let linear = options().with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX));
            let patient = PatternOptions::fancy_regex().backtrack_limit(STEPS_BACK_MAX).size_limit(PATTERN_BYTES_MAX);
            let built = linear.build(&schema).or_else(|_| options().with_pattern_options(patient).build(&schema));
            built.map(|validator| Self(Arc::new(validator))).map_err(|error| clip(&error.to_string()))
        })
    }

    /// Returns the problems that an output's text has with the schema. The list is empty when the text fits the schema.
    /// Do not call this function from an async task, because a large text blocks the thread for a while.
    pub fn problems(&self, text: &str) -> Vec<String> {
        if text.len() > JSON_BYTES_MAX {
            return vec![format!("is larger than {JSON_BYTES_MAX} bytes")];
        }
        let instance = match value(text) {
            Ok(instance) => instance,
            Err(problem) => return vec![problem],
        };
        let most = if text.len() > ALL_PROBLEMS_BYTES_MAX { 1 } else { PROBLEMS_MAX };
        let validator = Arc::clone(&self.0);
        let judged = with_stack(move || {
            if most == 1 {
                return Ok(validator.validate(&instance).err().iter().map(told).collect());
            }
            Ok(validator.iter_errors(&instance).take(most).map(|error| told(&error)).collect())
        });
        judged.unwrap_or_else(|problem| vec![problem])
    }
}

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    clip(&format!("{}: {error}", if at.is_empty() { "/" } else { &at }))
}

/// Parses one JSON value. Refuses duplicate keys, and nesting that is deeper than the protocols allow.
pub(super) fn value(text: &str) -> Result<Value, String> {
    wire::json::parse(text).map_err(|error| format!("is not JSON: {error}"))?;
    serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))
}

/// Runs `work` on a new thread with a large stack, because the threads of the async runtime have only two megabytes.
fn with_stack<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let thread = std::thread::Builder::new().name("schema".to_owned()).stack_size(STACK_BYTES);
    let thread = thread.spawn(work).map_err(|error| format!("cannot be judged: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("cannot be judged: the validator failed".to_owned()))
}

pub(super) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(PROBLEM_CHARS_MAX).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> Schema {
        Schema::compile(text).unwrap()
    }

    #[test]
    fn what_cannot_be_a_schema_is_told() {
        let deep = format!("{}{}", r#"{"not":"#.repeat(200), "}".repeat(200));
        let large = format!(r#"{{"title": "{}"}}"#, "x".repeat(SCHEMA_BYTES_MAX));
        let cases = [
            ("", "is not JSON"),
            ("5", "not of types"),
            (r#"{"type": 5}"#, "5"),
            (r#"{"type": "object", "type": "object"}"#, "twice"),
            (r#"{"pattern": "("}"#, "regex"),
            (r#"{"$ref": "https://example.org/x.json"}"#, "Retrieval is disabled"),
            (r#"{"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}"#, "Retrieval is disabled"),
            (r#"{"$ref": "file:///etc/passwd"}"#, "Retrieval is disabled"),
            (r#"{"$ref": "other.json"}"#, "other.json"),
            (r##"{"$ref": "#/$defs/nothing"}"##, "nothing"),
            (r#"{"$schema": "https://example.org/meta"}"#, "meta"),
            (&deep, "is not JSON"),
            (&large, "larger than"),
        ];
        for (text, word) in cases {
            let problem = Schema::compile(text).err().unwrap_or_default();
            assert!(problem.contains(word), "{text:.100}\n{problem}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_output_is_told_with_its_place() {
        let schema = compiled(include_str!("../../../base/src/project/init/report.json"));
        assert_eq!(schema.problems(r#"{"summary": "done"}"#), Vec::<String>::new());
        let cases = [
            ("", "is not JSON"),
            ("done", "is not JSON"),
            (r#"{"summary": "a", "summary": "b"}"#, "twice"),
            (r#"[]"#, "/: [] is not of type \"object\""),
            (r#"{"summary": ""}"#, "/summary: "),
            (r#"{"summary": "a", "changed_files": ["a", 1]}"#, "/changed_files/1: 1 is not of type \"string\""),
        ];
        for (text, words) in cases {
            let problems = schema.problems(text);
            assert!(matches!(&problems[..], [one] if one.contains(words)), "{text}\n{problems:?}");
        }
    }

    #[test]
    fn what_is_told_is_bounded() {
        let schema = compiled(r#"{"items": {"type": "string", "maxLength": 3}}"#);
        let many = format!("[{}]", vec!["1"; 1_000].join(","));
        assert_eq!(schema.problems(&many).len(), PROBLEMS_MAX);
        let huge = format!("[{}1]", "1,".repeat(200_000));
        assert_eq!(schema.problems(&huge).len(), 1);
        let long = format!(r#"["{}"]"#, "x".repeat(10_000));
        assert!(schema.problems(&long)[0].chars().count() <= PROBLEM_CHARS_MAX + 1);
        let too_large = format!(r#""{}""#, "x".repeat(JSON_BYTES_MAX));
        assert_eq!(schema.problems(&too_large), [format!("is larger than {JSON_BYTES_MAX} bytes")]);
    }

    #[test]
    fn depth_and_loops_end() {
        let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let tree = r##"{"anyOf": [{"type": "integer"}, {"allOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}]}]}"##;
        assert_eq!(compiled(tree).problems(&nested(120)), Vec::<String>::new());
        assert!(compiled(tree).problems(&nested(100_000))[0].contains("is not JSON"));
        for endless in [
            r##"{"$ref": "#"}"##,
            r##"{"allOf": [{"$ref": "#"}]}"##,
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
        ] {
            compiled(endless).problems("{}");
        }
    }

    #[test]
    fn patterns_do_not_run_away() {
        let text = format!("\"{}!\"", "a".repeat(100_000));
        assert_eq!(compiled(r#"{"pattern": "^(a+)+$"}"#).problems(&text).len(), 1);
        // A pattern with look-around needs the backtracking engine, which stops at its limit of steps.
        assert_eq!(compiled(r#"{"pattern": "^(?!b)(a+)+(?!c)$"}"#).problems(&text).len(), 1);
        assert_eq!(compiled(r#"{"pattern": "^(?!b)a"}"#).problems("\"a\""), Vec::<String>::new());
    }
}
