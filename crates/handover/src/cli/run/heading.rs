//! The lines that are shown before a run: the numbers of tasks and agents, the commit from which the tasks start, and
//! the uncommitted files, which are not part of the run.

use base::ground::words::count;
use base::project::settings::TeamSettings;
use base::project::settings::team::AgentWork;
use git::facts::CheckoutFacts;

use super::super::show::plain;

/// The facts that are shown before a run.
#[derive(Debug)]
pub(super) struct RunHeading<'a> {
    /// The number of tasks that no agent has worked on yet.
    pub(super) tasks: usize,
    pub(super) settings: &'a TeamSettings,
    /// The commit from which the tasks start. `None` outside of git, and for a plan that has a branch already.
    pub(super) start: Option<&'a CheckoutFacts>,
    pub(super) notices: &'a [String],
}

impl RunHeading<'_> {
    /// Returns the lines for a terminal of this width. Returns no lines when there is no new task.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        if self.tasks == 0 {
            return Vec::new();
        }
        let agents = self.settings.agents.iter().filter(|agent| agent.work(false) != AgentWork::OnlyAsked).count();
        let from = self.start.map(|start| match &start.branch {
            Some(branch) => format!(", from {} at {}", plain(branch), start.short_commit),
            None => format!(", from {}", start.short_commit),
        });
        let first = format!("{}, {}{}", count(self.tasks, "task"), count(agents, "agent"), from.unwrap_or_default());
        let mut lines = vec![first];
        lines.extend(self.start.and_then(|start| uncommitted(start, width)));
        if self.settings.verify.checks.is_empty() {
            lines.push(
                "No test command found; tasks will end unchecked. Add one: handover check set \"make test\"".to_owned(),
            );
        }
        lines.extend(self.notices.iter().map(|notice| plain(notice)));
        lines.push(String::new());
        lines
    }
}

/// Returns the line about uncommitted files, with as many file names as fit the width.
fn uncommitted(start: &CheckoutFacts, width: usize) -> Option<String> {
    let number = start.uncommitted;
    let verb = match number {
        0 => return None,
        1 => "is",
        _ => "are",
    };
    let begin = format!("{} {verb} not part of this run:", count(number, "uncommitted file"));
    let mut line = begin.clone();
    let mut named = 0;
    for name in &start.uncommitted_names {
        let comma = if named == 0 { " " } else { ", " };
        let left = number - named - 1;
        let more = if left == 0 { String::new() } else { format!(" and {left} more") };
        let longer = format!("{line}{comma}{}", plain(name));
        // Always show the first name, even if the line is then too wide.
        if named > 0 && format!("{longer}{more}").chars().count() > width {
            break;
        }
        (line, named) = (longer, named + 1);
    }
    let left = number - named;
    Some(match (named, left) {
        (0, _) => begin.trim_end_matches(':').to_owned() + ".",
        (_, 0) => line,
        (_, left) => format!("{line} and {left} more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(branch: Option<&str>, names: &[&str], uncommitted: usize) -> CheckoutFacts {
        CheckoutFacts {
            branch: branch.map(str::to_owned),
            commit: "4f2c1aa0".to_owned(),
            short_commit: "4f2c1aa".to_owned(),
            uncommitted,
            uncommitted_names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn settings() -> TeamSettings {
        let text = "[[agent]]\nslug = \"claude\"\nadapter = \"claude\"\ncommand = [\"claude\"]\n\
                    [verify]\nchecks = [{ command = [\"npm\", \"test\"] }]\n";
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".handover")).unwrap();
        std::fs::write(folder.path().join(".handover/config.toml"), text).unwrap();
        base::project::settings::read(Some(folder.path())).unwrap().team
    }

    #[test]
    fn the_lines_name_tasks_agents_commit_and_files_that_are_left_out() {
        let settings = settings();
        let lines = |tasks, start: Option<&CheckoutFacts>| {
            RunHeading { tasks, settings: &settings, start, notices: &[] }.lines(80)
        };
        let theme = start(Some("main"), &["src/theme.css"], 1);
        let line = "1 uncommitted file is not part of this run: src/theme.css";
        assert_eq!(lines(2, Some(&theme)), ["2 tasks, 1 agent, from main at 4f2c1aa", line, ""]);
        assert_eq!(lines(0, Some(&theme)), Vec::<String>::new());
        assert_eq!(lines(1, None), ["1 task, 1 agent", ""]);
        assert_eq!(lines(1, Some(&start(None, &[], 0))), ["1 task, 1 agent, from 4f2c1aa", ""]);
    }

    #[test]
    fn names_that_do_not_fit_are_counted() {
        let two = start(Some("main"), &["src/theme.css", "notes.md"], 2);
        assert_eq!(
            uncommitted(&two, 80).unwrap(),
            "2 uncommitted files are not part of this run: src/theme.css, notes.md"
        );
        let many = start(Some("main"), &["a-long-name.txt", "another-long-name.txt", "third.txt"], 9);
        let line = uncommitted(&many, 80).unwrap();
        assert_eq!(line, "9 uncommitted files are not part of this run: a-long-name.txt and 8 more");
    }
}
