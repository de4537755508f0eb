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
use clap::{Arg, Args, Command};
use clap_complete::Shell;
use engine::view;
use handover::office;

use super::show::plain;

/// The longest time that a completion may take. A person waits for it after each press of the tab key.
const ANSWER_MAX: Duration = Duration::from_millis(50);
/// The largest number of values that are offered. People type another letter instead of reading more.
const VALUES_MAX: usize = 200;
/// The number of workflows whose tasks are offered, and the number of tasks of each.
const WORKFLOWS_MAX: usize = 10;
const TASKS_MAX: u32 = 50;

/// The words of a command line, of which the last one is to be completed.
#[derive(Debug, Args)]
pub(crate) struct CompleteArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The kind of things that an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletedNoun {
    Task,
    Workflow,
    Agent,
}

/// The part of the script for bash that asks for values and uses the generated function for all other words.
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

/// The part of the script for zsh that asks for values and uses the generated function for all other words.
const ZSH: &str = r#"
_handover_values() {
    local -a values
    values=(${(f)"$(handover complete -- "${(@)words[2,CURRENT]}" 2>/dev/null | cut -f1)"})
    if (( $#values )); then
        compadd -a values
    else
        _handover "$@"
    fi
}
compdef _handover_values handover
"#;

/// The part of the script for fish that asks for values. fish shows the text after the tab beside each value.
const FISH: &str = r#"
complete -c handover -f -a '(handover complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"#;

/// Returns the script that completes `handover` in a shell.
pub(super) fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::whole(), "handover", &mut script);
    let values = match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        // The other shells complete commands and options only.
        Shell::Elvish | Shell::PowerShell | _ => "",
    };
    script.extend_from_slice(values.as_bytes());
    script
}

/// Prints the values for the last word, one per line, with a description after a tab. Prints nothing when there are none
/// or when the store does not answer in time. Never fails, because a person sees errors in the middle of a typed line.
pub(super) fn run(named: Option<&str>, asked: &CompleteArguments) -> ExitCode {
    let Some(noun) = super::help::find(&[]).ok().and_then(|program| noun(&program, &asked.words)) else {
        return ExitCode::SUCCESS;
    };
    let (sender, receiver) = mpsc::channel();
    let named = named.map(str::to_owned);
    // The thread ends with this process, also while it waits for a slow database server.
    std::thread::spawn(move || sender.send(stored(named.as_deref(), noun)));
    let values = receiver.recv_timeout(ANSWER_MAX).ok().flatten().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for (value, about) in values.iter().take(VALUES_MAX) {
        let _closed = writeln!(out, "{value}\t{}", plain(about));
    }
    ExitCode::SUCCESS
}

/// Returns the kind of things that the last of these words names; `None` when it names something else.
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
        ("task" | "task_id", _) | ("id", Some("task")) => Some(CompletedNoun::Task),
        ("workflow" | "workflow_id", _) | ("id", Some("workflow")) => Some(CompletedNoun::Workflow),
        ("agent" | "agent_id" | "sender_id" | "recipient_id", _) | ("id", Some("agent")) => Some(CompletedNoun::Agent),
        _ => None,
    }
}

/// Reads values from the store. Creates no store.
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

/// Returns the ids or names of things with their descriptions.
async fn values(service: &Service, noun: CompletedNoun) -> Result<Vec<(String, String)>, base::Error> {
    let now = service.now();
    let found = service.view(move |world| view::overview(world, &[], now)).await?;
    let workflows = found.workflows.iter().map(|(workflow, _)| workflow).chain(&found.finished);
    match noun {
        CompletedNoun::Workflow => Ok(workflows.map(|row| (row.id.to_string(), row.name.clone())).collect()),
        CompletedNoun::Agent => {
            Ok(found.agents.iter().map(|row| (row.agent.slug.clone(), row.agent.role.clone())).collect())
        }
        CompletedNoun::Task => {
            let mut all = Vec::new();
            for workflow in workflows.take(WORKFLOWS_MAX).map(|workflow| workflow.id) {
                let page = service.view(move |world| view::tasks(world, workflow, &[], None, TASKS_MAX)).await?;
                all.extend(page.rows.into_iter().map(|row| (row.task.id.to_string(), row.task.name)));
            }
            Ok(all)
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
    async fn ids_come_with_names_and_agents_by_their_slugs() {
        let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock));
        let person = Caller::with_rights(Rights::Person);
        let register = engine::Command::Register(Register::named("quinn", "custom"));
        service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
        let create = engine::Command::CreateWorkflow(CreateWorkflow::named("release"));
        let Reply::WorkflowCreated { workflow, .. } = service.execute(person.clone(), create).await.unwrap() else {
            panic!("no workflow")
        };
        let planned = service.set_plan(person, workflow, "one".to_owned(), vec![PlanTask::named("build")]).await;
        let Ok(Reply::PlanSet { task_ids, .. }) = planned else { panic!("no plan") };
        let pair = |value: String, about: &str| vec![(value, about.to_owned())];
        assert_eq!(values(&service, CompletedNoun::Task).await.unwrap(), pair(task_ids[0].1.to_string(), "build"));
        assert_eq!(values(&service, CompletedNoun::Workflow).await.unwrap(), pair(workflow.to_string(), "release"));
        let agents = values(&service, CompletedNoun::Agent).await.unwrap();
        assert_eq!(agents.iter().map(|(slug, _)| slug.as_str()).collect::<Vec<_>>(), ["quinn"]);
    }
}
