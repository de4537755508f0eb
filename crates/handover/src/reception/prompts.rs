//! Defines the MCP prompts with which a person tells a model to start or to resume work.

use std::collections::BTreeMap;

use mcp::{Argument, BackendProblem, Prompt, PromptText, Speaker};

pub(super) fn prompts() -> Vec<Prompt> {
    let argument =
        |name: &str, about: &str| Argument { name: name.to_owned(), description: about.to_owned(), required: false };
    let prompt = |name: &str, title: &str, about: &str| Prompt {
        name: name.to_owned(),
        title: Some(title.to_owned()),
        description: about.to_owned(),
        arguments: vec![
            argument("workflow_id", "The workflow to work on; without it, any workflow that is running"),
            argument("name", "The name to register with"),
            argument("role", "The role to register with"),
        ],
    };
    vec![
        prompt("start_work", "Start working", "Register, take tasks one after the other, and finish them"),
        prompt(
            "resume_work",
            "Resume work",
            "Find the task that you worked on before your context was lost, and \
            continue it",
        ),
    ]
}

pub(super) fn say(name: &str, arguments: &BTreeMap<String, String>) -> Result<Vec<PromptText>, BackendProblem> {
    let own =
        arguments.get("name").map_or_else(|| "a name of your own".to_owned(), |name| format!("the name \"{name}\""));
    let role = arguments.get("role").map(|role| format!(", role \"{role}\"")).unwrap_or_default();
    let register = format!("Call agent_register with {own}{role} and your program as runtime.");
    let workflow = arguments.get("workflow_id");
    let within = workflow.map(|id| format!(" with workflow_id {id}")).unwrap_or_default();
    let text = match name {
        "start_work" => format!(
            "Work on the team's tasks through Handover.\n\n\
             1. {register}\n\
             2. Call inbox_read; deal with what is there and inbox_ack it.\n\
             3. Call task_next{within}. It claims a task for you and gives its context. Without one, wait with \
             task_wait, or stop.\n\
             4. Call task_update_status with in_progress, and task_set_plan with the steps of your plan.\n\
             5. Work. Call checkpoint_add after each significant step: what was done, what was decided, which files \
             changed.\n\
             6. Check your result. Then task_update_status: completed with an outcome that says what is true now, \
             failed with the error, or blocked with a reason and blocker_type.\n\
             7. Repeat from step 2. When there is no more work, call agent_unregister.\n\n\
             When a call is refused, read its code and suggestion. After CLAIM_LOST stop: another agent has the \
             task."
        ),
        "resume_work" => format!(
            "Your context was lost. Find out through Handover what you were doing, and continue.\n\n\
             1. {register} With the same name on the same connection you are the same agent, and `holds` lists your \
             tasks.\n\
             2. {}\n\
             3. For your task call task_load_context with include {{\"all_checkpoints\": true, \"workflow_plan\": \
             true}}.\n\
             4. Compare the last checkpoints with the files as they are now; trust the files.\n\
             5. Claim the task if you do not hold it (task_claim), set it in_progress, record a checkpoint of type \
             recovery, and continue from there.\n\
             6. Call inbox_read: another agent or a person may have answered in the meantime.",
            match workflow {
                Some(id) => format!("Call workflow_progress with workflow_id {id}."),
                None =>
                    "If `holds` is empty, call workflow_list with status [\"in_progress\"], then workflow_progress."
                        .to_owned(),
            }
        ),
        other => {
            return Err(BackendProblem::NotFound(format!(
                "there is no prompt {other}; the prompts are start_work and resume_work"
            )));
        }
    };
    Ok(vec![PromptText { by: Speaker::User, text }])
}
