//! The requirements of a task that this project does not meet, such as an agent that can review its work. While a
//! requirement is not met, no agent starts the task.

use std::path::Path;

use base::project::plan_file::PlanFile;
use base::project::settings::TeamSettings;
use engine::task::Task;

use crate::review::provider::slug;

/// One requirement of a task that is not met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskLack {
    pub number: u32,
    pub name: String,
    pub kind: LackKind,
}

/// The kind of a requirement that is not met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LackKind {
    /// No agent can review the work of the task.
    Reviewer {
        role: String,
        /// The plan file, as an argument of `handover run`. `None` for a plan that is stored already.
        file: Option<String>,
    },
    /// Any other requirement that is not met. The text also says what to do about it.
    Other(String),
}

impl LackKind {
    fn reviewer(named: &str, file: Option<&Path>) -> Self {
        let role = named.strip_prefix("roles.").unwrap_or(named).to_owned();
        Self::Reviewer { role, file: file.map(|file| quoted(&file.display().to_string())) }
    }
}

/// Returns the tasks of a plan file that no agent of the settings can review. The number of each task is its position
/// in the file, counted from 1.
pub fn unreviewed(plan: &PlanFile, settings: &TeamSettings, file: &Path) -> Vec<TaskLack> {
    let named = plan.tasks().iter().zip(1_u32..).filter_map(|(task, number)| {
        let reviewer = task.review.as_ref()?.to_string();
        let kind = LackKind::reviewer(&reviewer, Some(file));
        let is_missing = slug(settings, &reviewer, None).is_none();
        is_missing.then(|| TaskLack { number, name: task.name.to_string(), kind })
    });
    named.collect()
}

impl TaskLack {
    pub(crate) fn reviewer(task: &Task, named: &str) -> Self {
        Self { number: task.number, name: task.name.clone(), kind: LackKind::reviewer(named, None) }
    }

    pub(crate) fn other(task: &Task, text: String) -> Self {
        Self { number: task.number, name: task.name.clone(), kind: LackKind::Other(text) }
    }

    /// Returns the requirement that is not met and what to do about it. The sentences need no further context.
    pub fn sentence(&self) -> String {
        match &self.kind {
            LackKind::Reviewer { role, file } => {
                let advice = match file {
                    Some(file) => format!("Run it without: handover run {file} --without-review"),
                    None => "Add an agent with this role to .handover/local.toml, then: handover run".to_owned(),
                };
                format!("Nobody here can review task {} (role {role}). {advice}", self.number)
            }
            LackKind::Other(text) => format!("{}: {text}", self.name),
        }
    }
}

/// Returns a path as one argument of a command line.
fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_reviewer_is_named_with_the_command_that_runs_without_it() {
        let lack = |file: Option<&str>| TaskLack {
            number: 3,
            name: "Login".to_owned(),
            kind: LackKind::reviewer("roles.reviewer", file.map(Path::new)),
        };
        assert_eq!(
            lack(Some("sign in.yaml")).sentence(),
            "Nobody here can review task 3 (role reviewer). Run it without: handover run 'sign in.yaml' --without-review"
        );
        assert!(
            lack(None)
                .sentence()
                .ends_with("(role reviewer). Add an agent with this role to .handover/local.toml, then: handover run")
        );
        assert_eq!(
            (quoted("plans/sign-in.yaml").as_str(), quoted("it's").as_str()),
            ("plans/sign-in.yaml", "'it'\\''s'")
        );
    }

    #[test]
    fn tasks_of_a_plan_file_that_nobody_can_review_are_found_by_their_place() {
        use base::project::plan_file::DocumentFormat;
        let text = "name: w\ntasks:\n  - one\n  - {name: two, review: roles.reviewer}\n";
        let plan = PlanFile::read(text, DocumentFormat::Yaml, &[]).unwrap();
        let found = unreviewed(&plan, &TeamSettings::default(), Path::new("plan.yaml"));
        let numbers: Vec<u32> = found.iter().map(|lack| lack.number).collect();
        assert_eq!(numbers, [2]);
        let without = plan.without_review();
        assert_eq!(unreviewed(&without, &TeamSettings::default(), Path::new("plan.yaml")), Vec::new());
    }
}
