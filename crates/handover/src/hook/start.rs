//! Builds the text that the model gets when its session starts: its agent, its tasks, its mail, and the next tool
//! calls.

use engine::agent::Agent;
use engine::inbox::{MailboxOwner, Message};
use engine::task::Task;
use engine::{DecisionStop, World, view};
use wire::prompt::fenced;

use super::{HookAnswer, HookCall, HookError, who};
use crate::office::Office;
use base::project::trust;

/// The largest numbers of agents, tasks, messages and changed settings in the text for the model of a new session. The
/// text adds how many more tasks and settings there are, and the number of all unread messages.
const AGENTS_MAX: usize = 5;
const TASKS_MAX: usize = 10;
const MAIL_MAX: usize = 10;
const CHANGES_MAX: usize = 5;
/// The longest name or subject in the text for the model of a new session, in characters. A longer one is cut.
const CHARS_MAX: usize = 200;
/// The longest text for the model of a new session, in characters. The hook cuts a longer text itself, because a client
/// could cut it at any place.
const TEXT_CHARS_MAX: usize = 8_000;

struct KnownAgent {
    agent: Agent,
    tasks: Vec<Task>,
    unread: u32,
    mail: Vec<Message>,
}

pub(super) async fn context(office: &Office, hook: &HookCall<'_>) -> Result<HookAnswer, HookError> {
    let whose = who::ToldConversation { part: None, ..hook.told(office) };
    let known = office.desk.service().view(move |world| known(world, &whose)).await?;
    let text = if known.is_empty() { nobody(hook.payload.source.as_deref()) } else { told(&known) };
    // The notice about settings that wait for a person is never cut. The rest of the text gets the room that is left.
    let notice = unaccepted(hook).unwrap_or_default();
    let room = TEXT_CHARS_MAX.saturating_sub(notice.chars().count());
    Ok(HookAnswer::Context(text.chars().take(room).chain(notice.chars()).collect()))
}

/// Returns a notice about settings that wait for a person to accept them. The model can pass the notice on to the
/// person.
fn unaccepted(hook: &HookCall<'_>) -> Option<String> {
    let waiting = trust::view(&hook.root()?, base::project::place::data_folder().as_deref()).ok()?.waiting();
    if waiting.is_empty() {
        return None;
    }
    let shown: Vec<String> = waiting.iter().take(CHANGES_MAX).map(|change| short(change)).collect();
    let more = waiting.len().saturating_sub(CHANGES_MAX);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    Some(format!(
        "\n\
         Some settings of this project are not in force, because no person has accepted them. Ask your person to \
         read and accept them with `handover trust`.\n\
         {}\n",
        fenced("the settings", &format!("{}{more}", shown.join("\n")))
    ))
}

fn known(world: &World, whose: &who::ToldConversation) -> Result<Vec<KnownAgent>, DecisionStop> {
    let agents = who::agents(world, whose)?;
    let held = who::held(world, &agents)?;
    let mut found = Vec::new();
    for agent in agents.into_iter().take(AGENTS_MAX) {
        let rows = u32::try_from(MAIL_MAX).unwrap_or(u32::MAX);
        let mail = view::unread(world, MailboxOwner::Agent(agent.id), rows)?;
        let unread = mail.by_priority.iter().map(|(_, count)| *count).sum();
        let tasks = held.iter().filter(|(holder, _)| holder.id == agent.id).map(|(_, task)| task.clone()).collect();
        found.push(KnownAgent { agent, tasks, unread, mail: mail.messages });
    }
    Ok(found)
}

/// Returns the text for a session in which no agent has registered with Handover.
fn nobody(source: Option<&str>) -> String {
    let before = match source {
        Some("clear" | "compact" | "resume") => {
            " If you worked here before, register with the same name: `holds` lists your tasks."
        }
        Some(_) | None => "",
    };
    format!(
        "Handover keeps the tasks of this project. You are not registered in this session. To work on a task, call \
         agent_register, then task_next.{before}"
    )
}

fn told(known: &[KnownAgent]) -> String {
    let mut text = "Handover keeps the tasks of this project, and knows you from earlier in this session.\n".to_owned();
    for KnownAgent { agent, tasks, unread, mail } in known {
        text.push_str(&format!(
            "\n\
             You are agent {} ({}), in handoffs {}. Call agent_register with name {:?} and runtime {:?} to continue \
             as this agent.\n",
            agent.id,
            agent.slug,
            wire::handoff::alias(agent.id),
            short(&agent.name),
            short(&agent.runtime)
        ));
        text.push_str(&holding(tasks));
        if *unread > 0 {
            text.push_str(&format!("Unread mail: {unread}. Read it with inbox_read.\n"));
            let subjects: Vec<String> = mail.iter().map(subject).collect();
            text.push_str(&format!("{}\n", fenced("the mailbox", &subjects.join("\n"))));
        }
    }
    text
}

fn holding(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "You hold no task. task_next gives you one.\n".to_owned();
    }
    let line = |task: &Task| format!("{} {} attempt {}: {}", task.id, task.status(), task.attempt, short(&task.name));
    let lines: Vec<String> = tasks.iter().take(TASKS_MAX).map(line).collect();
    let more = tasks.len().saturating_sub(TASKS_MAX);
    let more = if more > 0 { format!(", of which {more} are not listed") } else { String::new() };
    format!(
        "You hold {}{more}. Call task_load_context with include {{\"all_checkpoints\": true}} to see what \
         was done, compare it with the files, and continue; a paused task waits for a person.\n\
         {}\n",
        base::ground::words::count(tasks.len(), "task"),
        fenced("the plan", &lines.join("\n"))
    )
}

fn subject(message: &Message) -> String {
    let subject = message.draft.subject.as_deref().unwrap_or(&message.draft.body);
    format!("from {}, priority {}: {}", message.from, message.draft.priority.get(), short(subject))
}

/// Returns a text on one line and without control characters, cut to `CHARS_MAX` characters.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(CHARS_MAX).collect()
}
