//! Shows a plan to the person at the terminal, and starts, edits or saves it.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use base::project::plan_file::{DocumentFormat, PlanFile};
use handover::desk::Visitor;
use handover::office::Office;
use handover::plan_file::make_workflow;

use super::super::{run, say};
use super::{OfferedPlan, editor, table};

/// The folder, inside the project's state folder, in which drafts of plans are saved.
const FOLDER: &str = "plans";

/// A plan that is shown to a person, who starts it, edits it or quits.
pub(super) struct PlanOffer<'a> {
    pub(super) office: &'a Office,
    pub(super) draft: OfferedPlan,
    /// The file in which the plan is saved. `None` until a draft is saved for the first time.
    pub(super) file: Option<PathBuf>,
}

impl PlanOffer<'_> {
    /// Shows the plan and does what the person answers. The end of the input counts as "quit".
    pub(super) async fn ask(mut self) -> anyhow::Result<ExitCode> {
        loop {
            say(&table::shown(&self.draft.plan, run::look(false).1))?;
            if !self.draft.cost.is_empty() {
                say(&self.draft.cost)?;
            }
            match answer("Start, edit or quit? [S/e/q] ")?.as_deref() {
                Some("" | "s" | "S" | "start") => return self.start().await,
                Some("e" | "E" | "edit") => {
                    if !self.edit()? {
                        return self.quit();
                    }
                }
                Some("q" | "Q" | "quit") | None => return self.quit(),
                Some(_) => say("Type s to start, e to edit or q to quit.")?,
            }
        }
    }

    /// Stores the plan as a workflow and lets the agents work on it. The texts of the tasks stay marked as those of the
    /// agent that drafted them.
    async fn start(self) -> anyhow::Result<ExitCode> {
        let visitor = Visitor { author: self.draft.author.clone(), ..Visitor::person() };
        let workflow = make_workflow(&self.office.desk, &visitor, &self.draft.plan).await?;
        say(&format!("workflow {workflow}"))?;
        Box::pin(run::run(self.office, &run::RunArguments::of_workflow(workflow))).await
    }

    /// Opens the plan in the person's editor, again and again until the plan is valid. Returns false if the person
    /// gives up.
    fn edit(&mut self) -> anyhow::Result<bool> {
        let path = self.save()?;
        loop {
            editor::open(&path)?;
            let text = run::plan_text(&path)?;
            match PlanFile::read(&text, DocumentFormat::of_path(&path), &[]) {
                Ok(plan) => {
                    (self.draft.text, self.draft.plan) = (text, plan);
                    return Ok(true);
                }
                Err(problems) => say(&problems.to_string())?,
            }
            match answer("Edit again or quit? [E/q] ")?.as_deref() {
                Some("q" | "Q" | "quit") | None => {
                    self.draft.text = text;
                    return Ok(false);
                }
                Some(_) => {}
            }
        }
    }

    fn quit(mut self) -> anyhow::Result<ExitCode> {
        let path = self.save()?;
        say(&format!("Nothing was started. The plan is in {}", path.display()))?;
        say(&format!("Use it: handover plan --file {}", quoted(&path)))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the path of the plan's file. A draft that has no file yet is first saved in a new file.
    fn save(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.file {
            return Ok(path.clone());
        }
        let folder = self.office.state.join(FOLDER);
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let name = slug(self.draft.plan.name());
        for number in 1_u32.. {
            let ending = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{name}{ending}.yaml"));
            match std::fs::File::create_new(&path) {
                Ok(mut file) => {
                    file.write_all(self.draft.text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
                    self.file = Some(path.clone());
                    return Ok(path);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("create {}", path.display())),
            }
        }
        anyhow::bail!("every name for the plan is taken in {}", folder.display())
    }
}

/// Asks a question and reads one line. Returns `None` at the end of the input.
fn answer(question: &str) -> anyhow::Result<Option<String>> {
    let mut out = anstream::stdout();
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// Turns the name of a plan into a text that can be the name of a file.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.to_lowercase().chars().take(60) {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "plan".to_owned() } else { slug.to_owned() }
}

/// Returns a path as one word of a shell command, in quotes if necessary.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=@:,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plans_become_names_of_files() {
        let cases =
            [("Faster tests!", "faster-tests"), ("../../etc/passwd", "etc-passwd"), ("漢字", "plan"), ("", "plan")];
        for (name, expected) in cases {
            assert_eq!(slug(name), expected, "{name}");
        }
    }

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(quoted(Path::new("a/b.yaml")), "a/b.yaml");
        assert_eq!(quoted(Path::new("my plans/it's.yaml")), "'my plans/it'\\''s.yaml'");
    }
}
