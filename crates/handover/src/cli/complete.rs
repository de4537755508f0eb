//! Completions: the script for a shell, and the hidden command `handover complete`, with which the script asks for the
//! tasks, workflows and agents of the store.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use base::Service;
use base::ground::clock::SystemClock;
use base::ground::random;
use base::people::task_list::{self, ListedTask, TaskListFilter};
use clap::{Arg, Args, Command};
use clap_complete::Shell;
use engine::view;
use handover::office;

use super::show::plain;

/// The longest time that a completion may take. A person waits for it after each press of the tab key.
const ANSWER_MAX: Duration = Duration::from_millis(50);
/// The largest number of values that one completion offers. A person does not read more, but types another letter.
const VALUES_MAX: usize = 200;

/// The words of a command line, of which the last one is to be completed.
#[derive(Debug, Args)]
pub(crate) struct CompleteArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The kind of stored thing that an argument of a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletedNoun {
    Task,
    Workflow,
    Agent,
}

/// The part of the completion script for bash that asks `handover complete` for values from the store. For all other
/// words it calls the function that clap generated.
const BASH: &str = r#"
_handover_values() {
    local values
    values=$(handover complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
    if [ -n "$values" ]; then
        COMPREPLY=($(compgen -W "$values" -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        _handover "$@"
    fi
}
complete -F _handover_values -o bashdefault -o default handover
"#;

/// The part of the completion script for zsh that asks `handover complete` for values from the store. For all other
/// words it calls the function that clap generated.
const ZSH: &str = r#"
_handover_values() {
    local -a values
    values=(${(f)"$(handover complete -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t/:/')"})
    if (( $#values )); then
        _describe -V value values
    else
        _handover "$@"
    fi
}
compdef _handover_values handover
"#;

/// The part of the completion script for fish that asks `handover complete` for values from the store. fish shows the
/// text after the tab as the description of a value.
const FISH: &str = r#"
complete -c handover -f -a '(handover complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"#;

/// Returns the script with which a shell completes the arguments of `handover`.
pub(super) fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::whole(), "handover", &mut script);
    let values = match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        // In these shells the script completes only commands and options, and no values from the store.
        Shell::Elvish | Shell::PowerShell | _ => "",
    };
    script.extend_from_slice(values.as_bytes());
    script
}

/// Prints the values that can complete the last typed word, one per line, with a description after a tab. Prints
/// nothing when there are none or when the store does not answer in time. Never fails, because an error message would
/// appear in the middle of the line that the person types.
pub(super) fn run(named: Option<&str>, asked: &CompleteArguments) -> ExitCode {
    let Some(noun) = super::help::find(&[]).ok().and_then(|program| noun(&program, &asked.words)) else {
        return ExitCode::SUCCESS;
    };
    let (sender, receiver) = mpsc::channel();
    let named = named.map(str::to_owned);
    // Read the store in a thread. The thread ends with this process, even if it still waits for a slow database server.
    std::thread::spawn(move || sender.send(stored(named.as_deref(), noun)));
    let values = receiver.recv_timeout(ANSWER_MAX).ok().flatten().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for (value, about) in values.iter().take(VALUES_MAX) {
        let _closed = writeln!(out, "{value}\t{}", plain(about));
    }
    ExitCode::SUCCESS
}

/// Returns the kind of stored thing that the last typed word names: a task, a workflow or an agent. Returns `None` when
/// the word names anything else.
fn noun(program: &Command, words: &[String]) -> Option<CompletedNoun> {
    let (last, before) = words.split_last()?;
    let (mut command, mut path, mut place) = (program, Vec::new(), 1);
    let mut awaited: Option<&Arg> = None;
    for word in before {
        if awaited.take().is_some() {
            continue;
        }
        if let Some(option) = word.strip_prefix("--") {
            let is_it = |arg: &&Arg| arg.get_long() == Some(option) && arg.get_action().takes_values();
            awaited = command.get_arguments().find(is_it);
        } else if let Some(inner) = command.find_subcommand(word) {
            (command, place) = (inner, 1);
            path.push(word.as_str());
        } else if !word.starts_with('-') {
            place += 1;
        }
    }
    if last.starts_with('-') {
        return None;
    }
    let argument = awaited.or_else(|| command.get_positionals().find(|arg| arg.get_index() == Some(place)))?;
    match (argument.get_id().as_str(), path.first().copied()) {
        ("task" | "task_id" | "work" | "works" | "what" | "after", _) | ("id", Some("task")) => {
            Some(CompletedNoun::Task)
        }
        ("workflow" | "workflow_id" | "plans", _) | ("id", Some("workflow")) | ("plan", Some("task")) => {
            Some(CompletedNoun::Workflow)
        }
        ("agent" | "agent_id" | "sender_id" | "recipient_id", _) | ("id", Some("agent")) => Some(CompletedNoun::Agent),
        _ => None,
    }
}

/// Reads the values that can complete a word from the store. Returns `None` when there is no store yet, instead of
/// creating one.
fn stored(named: Option<&str>, noun: CompletedNoun) -> Option<Vec<(String, String)>> {
    let place = office::find(named).ok()?;
    let file = place.store.strip_prefix("sqlite:").unwrap_or(&place.store);
    if !place.store.contains("://") && !Path::new(file).exists() {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let store = store::open(&place.store, random::store_seed().ok()?).await.ok()?;
        values(&Service::new(store, Arc::new(SystemClock)), noun).await.ok()
    })
}

/// Returns the ids or slugs (short names) of the stored tasks, workflows or agents, each with its description.
async fn values(service: &Service, noun: CompletedNoun) -> Result<Vec<(String, String)>, base::Error> {
    let now = service.now();
    let found = service.view(move |world| view::overview(world, &[], now)).await?;
    let workflows = found.workflows.iter().map(|(workflow, _)| workflow).chain(&found.finished);
    match noun {
        CompletedNoun::Workflow => Ok(workflows.map(|row| (row.id.to_string(), row.name.clone())).collect()),
        CompletedNoun::Agent => {
            Ok(found.agents.iter().map(|row| (row.agent.slug.clone(), row.agent.role.clone())).collect())
        }
        // The newest tasks come first, because a person rarely means an old one.
        CompletedNoun::Task => {
            let page = task_list::read(service, TaskListFilter::default()).await?;
            let value = |row: &ListedTask| (row.task.number.to_string(), format!("{} ({})", row.task.name, row.state));
            Ok(page.rows.iter().rev().map(value).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::command::{CreateWorkflow, Register};
    use engine::plan::PlanTask;
    use engine::{Caller, Reply, Rights};

    use super::*;

    #[test]
    fn the_argument_decides_which_values_are_offered() {
        let program = super::super::help::find(&[]).unwrap();
        let cases = [
            ("task claim ", Some(CompletedNoun::Task)),
            ("task show tk_0", Some(CompletedNoun::Task)),
            ("turn list --task ", Some(CompletedNoun::Task)),
            ("turn list --json --task ", Some(CompletedNoun::Task)),
            ("turn list --task tk_0 --workflow ", Some(CompletedNoun::Workflow)),
            ("--store x.db workflow show ", Some(CompletedNoun::Workflow)),
            ("agent show ", Some(CompletedNoun::Agent)),
            ("task claim tk_0 ", Some(CompletedNoun::Agent)),
            ("diff ", Some(CompletedNoun::Task)),
            ("add Docs --after ", Some(CompletedNoun::Task)),
            ("archive ", Some(CompletedNoun::Workflow)),
            ("task list --plan ", Some(CompletedNoun::Workflow)),
            ("task claim --", None),
            ("task ", None),
            ("inbox send ", Some(CompletedNoun::Agent)),
            ("inbox send amy ", None),
            ("", None),
        ];
        for (line, expected) in cases {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(noun(&program, &words), expected, "handover {line}");
        }
    }

    #[tokio::test]
    async fn tasks_come_by_number_with_names_and_agents_by_their_slugs() {
        let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock));
        let person = Caller::with_rights(Rights::Person);
        let register = engine::Command::Register(Register::named("quinn", "custom"));
        service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
        let create = engine::Command::CreateWorkflow(CreateWorkflow::named("release"));
        let Reply::WorkflowCreated { workflow, .. } = service.execute(person.clone(), create).await.unwrap() else {
            panic!("no workflow")
        };
        let planned = service.set_plan(person, workflow, "one".to_owned(), vec![PlanTask::named("build")]).await;
        assert!(matches!(planned, Ok(Reply::PlanSet { .. })), "no plan");
        let pair = |value: String, about: &str| vec![(value, about.to_owned())];
        assert_eq!(values(&service, CompletedNoun::Task).await.unwrap(), pair("1".to_owned(), "build (ready)"));
        assert_eq!(values(&service, CompletedNoun::Workflow).await.unwrap(), pair(workflow.to_string(), "release"));
        let agents = values(&service, CompletedNoun::Agent).await.unwrap();
        assert_eq!(agents.iter().map(|(slug, _)| slug.as_str()).collect::<Vec<_>>(), ["quinn"]);
    }
}
