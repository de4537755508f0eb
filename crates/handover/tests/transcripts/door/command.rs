//! Plays the steps of transcripts on the command line: one process per step.

use serde_json::Value;
use wire::lifecycle::Tool;

use super::{Door, Place, Who, program};
use crate::script::Answer;
use crate::terminal::Terminal;
use crate::verbs::VERBS;

pub(super) struct CommandLine {
    place: Place,
}

impl CommandLine {
    pub(super) fn new(place: &Place) -> Self {
        Self { place: place.clone() }
    }
}

impl Door for CommandLine {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        let mut arguments: Value = serde_json::from_str(arguments).unwrap();
        name_agent(who, tool, &mut arguments);
        let mut program = program(&self.place.folder, &self.place.store);
        let terminal = (who.scope() == "person").then(Terminal::new);
        if let Some(terminal) = &terminal {
            terminal.seat(&mut program);
        }
        run(&mut program, tool, &arguments)
    }

    fn close(&mut self, _who: &str) {
        panic!("there is no connection to close");
    }
}

/// Runs the command that calls a tool, and returns its answer.
pub(crate) fn run(program: &mut std::process::Command, tool: &str, arguments: &Value) -> Answer {
    let words = words(tool, arguments);
    let output = program.args(&words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let value = |text: &str| -> Value {
        let line = text
            .strip_suffix('\n')
            .unwrap_or_else(|| panic!("handover {} printed {out:?} and {err:?}", words.join(" ")));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    match output.status.code() {
        Some(0) => Answer::Done(value(&out)),
        Some(1) => {
            assert_eq!(out, "", "a refusal is on standard error: {}", words.join(" "));
            Answer::Refused(refusal(&value(&err)))
        }
        code => {
            panic!("handover {} ended with {code:?}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr))
        }
    }
}

/// Converts the refusal that a command prints into the refusal that a tool returns. A command prints `{"error": …}`,
/// and calls the member `recoverable` of a tool's refusal `retry`.
fn refusal(printed: &Value) -> Value {
    let members = printed["error"].as_object().unwrap_or_else(|| panic!("no error: {printed}"));
    // Keep the members in this order, because the transcripts compare the text of the object.
    let names = [("code", "code"), ("message", "message"), ("retry", "recoverable"), ("suggestion", "suggestion")];
    let names = names.into_iter().chain([("details", "details")]);
    assert!(members.keys().all(|name| names.clone().any(|(printed, _)| printed == name)), "{printed}");
    Value::Object(names.filter_map(|(from, to)| Some((to.to_owned(), members.get(from)?.clone()))).collect())
}

/// Adds the agent to the arguments, because a command has no connection that could tell which agent calls.
fn name_agent(who: Who<'_>, tool: &str, arguments: &mut Value) {
    let (Some(agent), Some(members)) = (who.agent, arguments.as_object_mut()) else { return };
    let schema = Tool::find(tool).unwrap().arguments();
    let fields: &[&str] = match tool {
        "agent_get" | "agent_update" | "agent_unregister" => &["id"],
        // Name no agent: this tool filters by the roles of a named agent, and on the other interfaces the call names
        // none.
        "workflow_next_tasks" => return,
        _ => &["agent_id", "sender_id"],
    };
    if fields.iter().any(|field| members.contains_key(*field)) {
        return;
    }
    let takes = |field: &&&str| schema.get("properties").and_then(|properties| properties.get(field)).is_some();
    if let Some(field) = fields.iter().find(takes) {
        members.insert((*field).to_owned(), agent.into());
    }
}

fn words(tool: &str, arguments: &Value) -> Vec<String> {
    let verb = VERBS.iter().find(|verb| verb.tool.tool().name == tool).unwrap();
    let mut words = vec![verb.noun.to_owned(), verb.verb.to_owned(), "--json".to_owned()];
    let members = arguments.as_object().unwrap();
    for (name, value) in members.iter().filter(|(name, _)| !verb.places.contains(&name.as_str())) {
        let option = format!("--{}", name.replace('_', "-"));
        match value {
            // An option with the value true or false is written as one word, `--option=true`.
            Value::Bool(yes) => words.push(format!("{option}={yes}")),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                words.extend(items.iter().flat_map(|item| [option.clone(), plain(item)]));
            }
            _ => words.extend([option, plain(value)]),
        }
    }
    let given = verb.places.iter().map_while(|place| members.get(*place));
    // The words after `--` are arguments, even when they look like options.
    words.push("--".to_owned());
    for value in given {
        match value {
            Value::Array(items) => words.extend(items.iter().map(plain)),
            _ => words.push(plain(value)),
        }
    }
    words
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
