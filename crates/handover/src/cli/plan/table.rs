//! Shows a plan as a table: its tasks, the tasks that they wait for, the files that they touch, and which tasks can run
//! at the same time.

use std::collections::HashMap;
use std::fmt::Write as _;

use base::project::plan_file::PlanFile;
use engine::plan::PlanTask;
use engine::touches::overlap;

use super::super::show::plain;

/// The smallest and the largest width of the table that shows a plan, in characters.
const WIDTH: std::ops::RangeInclusive<usize> = 60..=120;

/// Returns the table that shows a plan to a person, at most `width` characters wide.
pub(super) fn shown(plan: &PlanFile, width: usize) -> String {
    let width = width.clamp(*WIDTH.start(), *WIDTH.end());
    let tasks = plan.planned();
    let numbers: HashMap<&str, usize> =
        tasks.iter().enumerate().map(|(index, task)| (task.name.as_str(), index)).collect();
    let waves = waves(&tasks, &numbers);
    let last = waves.iter().copied().max().map_or(0, |wave| wave + 1);
    let count = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let mut text = format!("{}: {}, {}\n\n", plain(plan.name()), count(tasks.len(), "task"), count(last, "wave"));
    let after: Vec<String> = tasks.iter().map(|task| after(task, &numbers)).collect();
    let after_width = after.iter().map(String::len).max().unwrap_or(0).clamp(5, 12);
    let rest = width.saturating_sub(4 + 6 + 2 + after_width + 2);
    let (name_width, touch_width) = (rest * 3 / 5, rest - rest * 3 / 5 - 2);
    let mut row = |number: &str, wave: &str, cells: [&str; 3]| {
        let [name, after, touches] = cells;
        let line = format!(
            "{number:>3}  {wave:<4}  {}  {}  {}",
            fit(name, name_width),
            fit(after, after_width),
            fit(touches, touch_width)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    row("#", "wave", ["task", "after", "touches"]);
    for (index, task) in tasks.iter().enumerate() {
        let (number, wave) = ((index + 1).to_string(), (waves[index] + 1).to_string());
        row(&number, &wave, [&plain(&task.name), &after[index], &plain(&task.touches.join(", "))]);
    }
    text.push('\n');
    for wave in 0..last {
        let members: Vec<usize> = (0..tasks.len()).filter(|index| waves[*index] == wave).collect();
        let _ = writeln!(text, "{}", wave_line(wave, &members, &tasks));
    }
    text
}

/// Returns the wave of each task, counted from 0. The tasks of one wave do not wait for each other. A task is in the
/// first wave after the waves of all tasks that it waits for.
fn waves(tasks: &[PlanTask], numbers: &HashMap<&str, usize>) -> Vec<usize> {
    let mut waves = vec![0_usize; tasks.len()];
    // A valid plan has no circular dependencies, so the wave numbers stop growing after at most as many rounds as there
    // are tasks.
    for _ in tasks {
        let mut is_settled = true;
        for (index, task) in tasks.iter().enumerate() {
            let on = task.depends_on.iter().filter_map(|name| numbers.get(name.as_str()));
            let wave = on.map(|number| waves[*number] + 1).max().unwrap_or(0);
            is_settled &= waves[index] == wave;
            waves[index] = wave;
        }
        if is_settled {
            break;
        }
    }
    waves
}

fn after(task: &PlanTask, numbers: &HashMap<&str, usize>) -> String {
    let mut on: Vec<usize> = task.depends_on.iter().filter_map(|name| numbers.get(name.as_str()).copied()).collect();
    on.sort_unstable();
    on.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the line about one wave, that is, about tasks that do not wait for each other. The line says which of them
/// run at the same time, and which wait because they touch the same files.
fn wave_line(wave: usize, members: &[usize], tasks: &[PlanTask]) -> String {
    let mut free: Vec<usize> = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    for &index in members {
        match free.iter().find(|other| overlap(&tasks[**other].touches, &tasks[index].touches)) {
            Some(other) => waiting.push(format!("{} after {} (same files)", index + 1, other + 1)),
            None => free.push(index),
        }
    }
    let numbers = free.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", ");
    let at_once = if free.len() > 1 { " at the same time" } else { "" };
    let waiting = if waiting.is_empty() { String::new() } else { format!("; {}", waiting.join(", ")) };
    format!("wave {}: {numbers}{at_once}{waiting}", wave + 1)
}

/// Returns the text with exactly this number of characters: filled with blanks, or cut with `…` at its end.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return format!("{text:<width$}");
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use base::project::plan_file::DocumentFormat;

    use super::*;

    #[test]
    fn a_plan_is_shown_with_its_waves() {
        let text = "name: Log in with a passkey
tasks:
  - {name: Add the key store, touches: [src/keys/**]}
  - {name: Show the form, touches: [web/login.html]}
  - {name: Check keys on login and refuse keys that were revoked, after: Add the key store, touches: [src/login.rs]}
  - {name: Log failed tries, after: Add the key store, touches: ['src/log*.rs']}
  - {name: Write the guide, after: [Show the form, Log failed tries], touches: [docs/**]}
";
        let plan = PlanFile::read(text, DocumentFormat::Yaml, &[]).unwrap();
        let expected = "Log in with a passkey: 5 tasks, 3 waves

  #  wave  task                                  after  touches
  1  1     Add the key store                            src/keys/**
  2  1     Show the form                                web/login.html
  3  2     Check keys on login and refuse keys…  1      src/login.rs
  4  2     Log failed tries                      1      src/log*.rs
  5  3     Write the guide                       2, 4   docs/**

wave 1: 1, 2 at the same time
wave 2: 3; 4 after 3 (same files)
wave 3: 5
";
        assert_eq!(shown(&plan, 80), expected);
    }

    #[test]
    fn hidden_characters_of_a_draft_are_shown() {
        let text = "name: w\ntasks: [\"a\\u202Eb\"]\n";
        let plan = PlanFile::read(text, DocumentFormat::Yaml, &[]).unwrap();
        assert!(shown(&plan, 80).contains("a<U+202E>b"), "{}", shown(&plan, 80));
    }
}
