//! Builds the commands that call tools. A tool's schema gives the options, the options become the tool's arguments, and
//! the reply is shown.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use handover::below;
use handover::desk::ClientAgents;
use handover::desk::{ToolOutcome, Visitor};
use handover::keeper;
use handover::office::Office;
use handover::person;
use wire::json::{Object, Value};
use wire::lifecycle::{Effect, Tool, ToolError, ToolId};

use super::argument_file::{self, ArgumentFile, json};
use super::example::with_example;
use super::verbs::{NOUNS, ToolVerb, VERBS, words_of};
use super::{agent_add, names, reply, review, show, task_list, verify, work};

/// The form in which a tool's argument is typed on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Text,
    Whole,
    Flag,
    /// The argument is a list of texts. Its option is typed once for each text.
    Texts,
    /// The argument is JSON text, or `@FILE` for a file with JSON or YAML.
    Json,
    /// The argument is a text. If it starts with a brace, it is parsed as JSON.
    Either,
}

fn kind(schema: &Value) -> ArgumentKind {
    let word = schema.get("type").and_then(Value::as_text);
    match word {
        Some("boolean") => ArgumentKind::Flag,
        Some("integer") => ArgumentKind::Whole,
        Some("array") => {
            let item = schema.get("items").map(kind);
            if item == Some(ArgumentKind::Text) { ArgumentKind::Texts } else { ArgumentKind::Json }
        }
        Some("object" | "number") => ArgumentKind::Json,
        Some(_) => ArgumentKind::Text,
        None if schema.get("enum").is_some() => ArgumentKind::Text,
        // If the `type` in the schema is a list of types, the argument can be a text or JSON.
        None if schema.get("type").is_some() => ArgumentKind::Either,
        None => match schema.get("anyOf").and_then(Value::as_list).and_then(<[Value]>::first) {
            Some(first) => kind(first),
            None => ArgumentKind::Json,
        },
    }
}

fn choices(schema: &Value) -> Option<Vec<String>> {
    let list = schema.get("enum").or_else(|| schema.get("items").and_then(|items| items.get("enum")))?;
    Some(list.as_list()?.iter().filter_map(Value::as_text).map(str::to_owned).collect())
}

fn properties(tool: &Tool) -> Object {
    match tool.arguments().get("properties") {
        Some(Value::Object(members)) => members.clone(),
        Some(_) | None => Object::new(),
    }
}

/// Returns a command for each noun, such as `task`. A command line has at most one noun, and this program is started
/// often. So the verbs of a noun are built only when the noun was typed.
pub(crate) fn nouns() -> impl Iterator<Item = Command> {
    bare_nouns().map(|noun| noun.defer(verbs))
}

/// Returns a command for each noun, with all its verbs, such as `task claim`.
pub(crate) fn whole_nouns() -> impl Iterator<Item = Command> {
    bare_nouns().map(verbs)
}

fn bare_nouns() -> impl Iterator<Item = Command> {
    let noun = |(noun, about): &(&'static str, &'static str)| {
        let noun = with_example(Command::new(*noun), noun);
        noun.about(*about).subcommand_required(true).arg_required_else_help(true)
    };
    NOUNS.iter().map(noun)
}

fn verbs(noun: Command) -> Command {
    let name = noun.get_name().to_owned();
    let own = match name.as_str() {
        verify::NOUN => vec![task_list::command(), verify::command()],
        reply::NOUN => vec![reply::command()],
        agent_add::NOUN => vec![agent_add::command()],
        review::NOUN => review::commands(),
        _ => Vec::new(),
    };
    let commands = VERBS.iter().filter(|verb| verb.noun == name).map(command).chain(own);
    noun.subcommands(commands.map(|command| {
        let path = format!("{name} {}", command.get_name());
        with_example(command, &path)
    }))
}

fn command(verb: &ToolVerb) -> Command {
    let tool = verb.tool.tool();
    let schema = tool.arguments();
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_text).collect();
    let mut command = Command::new(verb.verb)
        .about(verb.about)
        .after_help(format!("Clients use the tool {} for this, over MCP or HTTP.", tool.name));
    for (name, schema) in properties(&tool) {
        let place = verb.places.iter().position(|place| *place == name);
        let about = words_of(verb, &name);
        command = command.arg(argument(&name, about, &schema, place).required(required.contains(&name.as_str())));
    }
    let json = Arg::new("--json").long("json").action(ArgAction::SetTrue).help("Print the reply as JSON on one line");
    let watch = Arg::new("--watch").long("watch").action(ArgAction::SetTrue).conflicts_with("--json");
    let watch = watch.help("Show the reply again after every change, until you press Ctrl-C");
    command = command.arg(json);
    if tool.effect == Effect::Reads {
        command = command.arg(watch);
    }
    command
}

fn argument(name: &str, about: &str, schema: &Value, place: Option<usize>) -> Arg {
    let kind = kind(schema);
    let mut help = about.to_owned();
    if let Some(choices) = choices(schema) {
        help = format!("{help} [{}]", choices.join(", "));
    }
    let mut arg = Arg::new(name.to_owned()).help(help);
    match place {
        Some(place) => arg = arg.index(place + 1).value_name(name.to_uppercase()),
        None => {
            let upper = name.rsplit('_').next().unwrap_or(name).to_uppercase();
            arg = arg.long(name.replace('_', "-")).value_name(upper);
            if name == "include_archived" {
                arg = arg.visible_alias("all");
            }
        }
    }
    match kind {
        ArgumentKind::Flag => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(value_parser!(bool)),
        ArgumentKind::Whole => arg.value_parser(value_parser!(u64)),
        ArgumentKind::Texts if place.is_some() => arg.action(ArgAction::Append).num_args(1..),
        ArgumentKind::Texts => arg.action(ArgAction::Append),
        ArgumentKind::Text | ArgumentKind::Json | ArgumentKind::Either => arg.allow_hyphen_values(false),
    }
}

/// A typed command that calls a tool: the tool, its arguments, and the form in which the reply is shown.
#[derive(Debug)]
pub(crate) struct TypedToolCall {
    tool: Tool,
    arguments: Value,
    files: Vec<ArgumentFile>,
    json: bool,
    watch: bool,
}

#[cfg(test)]
impl TypedToolCall {
    /// Returns the problems of the typed arguments; `None` when the tool accepts them.
    pub(crate) fn problems(&self) -> Option<String> {
        let text = self.arguments.to_string();
        let judged = wire::lifecycle::judge(self.tool.name, text.as_bytes())?;
        let problems = judged.report.errors().iter().map(|problem| judged.report.message(problem));
        Some(problems.collect::<Vec<_>>().join("; ")).filter(|problems| !problems.is_empty())
    }
}

/// Returns the tool's call that was typed; `None` when the typed command calls no tool.
pub(crate) fn asked(matches: &ArgMatches) -> anyhow::Result<Option<TypedToolCall>> {
    let Some((noun, inner)) = matches.subcommand() else { return Ok(None) };
    let Some((verb, inner)) = inner.subcommand() else { return Ok(None) };
    let Some(found) = VERBS.iter().find(|found| found.noun == noun && found.verb == verb) else { return Ok(None) };
    let tool = found.tool.tool();
    let (mut members, mut files) = (Object::new(), Vec::new());
    for (name, schema) in properties(&tool) {
        if let Some(value) = typed(inner, &name, kind(&schema), &mut files)? {
            members.push((name, value));
        }
    }
    let flag = |name: &str| inner.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false);
    let (arguments, json, watch) = (Value::Object(members), flag("--json"), flag("--watch"));
    Ok(Some(TypedToolCall { tool, arguments, files, json, watch }))
}

fn typed(
    matches: &ArgMatches,
    name: &str,
    kind: ArgumentKind,
    files: &mut Vec<ArgumentFile>,
) -> anyhow::Result<Option<Value>> {
    let text = || matches.get_one::<String>(name);
    Ok(match kind {
        ArgumentKind::Flag => matches.get_one::<bool>(name).map(|yes| Value::Bool(*yes)),
        ArgumentKind::Whole => matches.get_one::<u64>(name).map(|number| (*number).into()),
        ArgumentKind::Texts => matches
            .get_many::<String>(name)
            .map(|items| Value::List(items.map(|item| Value::from(item.as_str())).collect())),
        ArgumentKind::Text => text().map(|text| text.as_str().into()),
        ArgumentKind::Either => match text() {
            Some(text) if text.trim_start().starts_with('{') => Some(json(name, text, files)?),
            found => found.map(|text| text.as_str().into()),
        },
        ArgumentKind::Json => text().map(|text| json(name, text, files)).transpose()?,
    })
}

/// Replaces the numbers and names of tasks, and the names of plans and agents, by ids in the arguments. People know
/// these names, but tools need ids. A text that names nothing stays, and the tool refuses it. Returns the exit code
/// when a text can mean several things and the person chose none of them.
async fn with_ids(office: &Office, asked: &TypedToolCall) -> anyhow::Result<Result<Value, ExitCode>> {
    let Value::Object(mut members) = asked.arguments.clone() else { return Ok(Ok(asked.arguments.clone())) };
    let of = |noun: &str| asked.tool.name.starts_with(noun);
    for (name, value) in &mut members {
        let Some(text) = value.as_text() else { continue };
        let found = match name.as_str() {
            "agent_id" | "sender_id" => work::agent_named(office, text).await?,
            "id" if of("agent_") => work::agent_named(office, text).await?,
            "task_id" => work::task_named(office, text).await?,
            "id" if of("task_") => work::task_named(office, text).await?,
            "workflow_id" => work::plan_named(office, text).await?,
            "id" if of("workflow_") => work::plan_named(office, text).await?,
            _ => continue,
        };
        match found {
            Ok(Some(id)) => *value = id.into(),
            Ok(None) => {}
            Err(code) => return Ok(Err(code)),
        }
    }
    // Without `--json`, a person reads the reply, so ask for details, too, such as the tasks of a workflow. A program
    // that uses `--json` names the details that it needs.
    let more: Option<(&str, Value)> = if asked.tool.id == ToolId::WorkflowGet {
        Some(("include_tasks", true.into()))
    } else if asked.tool.id == ToolId::WorkflowGetSummary {
        Some(("format", "markdown".into()))
    } else {
        (asked.tool.id == ToolId::TaskGet).then(|| ("include_checkpoints", true.into()))
    };
    if let Some((name, value)) = more.filter(|(more, _)| !asked.json && members.iter().all(|(name, _)| name != more)) {
        members.push((name.to_owned(), value));
    }
    Ok(Ok(Value::Object(members)))
}

/// Tells whether a command must know which agent calls it. This matters when an agent client started the command,
/// because one client can have several agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeedsAgent {
    Yes,
    No,
}

impl NeedsAgent {
    /// Returns `Yes` for a call that changes something and does not name its agent itself.
    fn of(asked: &TypedToolCall) -> Self {
        let names_one = ["agent_id", "sender_id"].iter().any(|name| asked.arguments.get(name).is_some());
        let changes = asked.tool.effect != Effect::Reads && asked.tool.id != ToolId::AgentRegister;
        if changes && !names_one { Self::Yes } else { Self::No }
    }
}

/// Returns the caller of the command. If the runner started this process for a turn (one run of an agent's program),
/// the caller is the turn's agent. If an agent client started this process, the caller is the client's agent. Otherwise
/// the caller is a person or a person's script.
pub(super) async fn visitor(office: &Office, needs: NeedsAgent) -> anyhow::Result<Result<Visitor, ToolError>> {
    if let Some(seat) = office.desk.seat().await? {
        return Ok(Ok(Visitor::seated(seat)));
    }
    let Some(below) = below::look(Some(&office.live)) else {
        return Ok(Ok(Visitor::at_command_line(person::rights(office.desk.service()).await?)));
    };
    let agents = ClientAgents::find(office.desk.service(), &below).await?;
    Ok(match agents.only() {
        // A call that changes something must name its agent if the client has several agents. A reviewer's process is
        // exempt, because it may only read.
        Err(required) if needs == NeedsAgent::Yes && !runner::review::is_below_a_review() => Err(required),
        Ok(_) | Err(_) => Ok(agents.visitor()),
    })
}

/// Calls the tool and shows its outcome. With `--watch`, does this again after every change in the store.
pub(crate) async fn run(office: &Office, asked: &TypedToolCall) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let visitor = match visitor(office, NeedsAgent::of(asked)).await? {
        Ok(visitor) => visitor,
        Err(said) => return show::outcome(asked.tool.name, &ToolOutcome::Refused(said), asked.json, asked.watch),
    };
    let arguments = match with_ids(office, asked).await? {
        Ok(arguments) => arguments,
        Err(code) => return Ok(code),
    };
    // A program that uses `--json` gets the tool's own refusal. A person gets the problems with their lines in the
    // file.
    if !asked.json {
        argument_file::check(&asked.tool, &arguments, &asked.files)?;
    }
    let text = arguments.to_string();
    loop {
        let mut bell = office.desk.service().store().watch();
        let mut outcome = office.desk.call(&visitor, asked.tool.name, text.as_bytes(), None).await;
        if let (ToolOutcome::Done(value), false) = (&mut outcome, asked.json) {
            *value = names::with_names(office.desk.service(), value).await?;
        }
        let shown = show::outcome(asked.tool.name, &outcome, asked.json, asked.watch);
        // Wait for reviews that this call started in the background: they would end with this process.
        office.desk.settled().await;
        let code = shown?;
        if !asked.watch {
            return Ok(code);
        }
        while !bell.changed(std::time::Duration::from_secs(60)).await {}
    }
}
