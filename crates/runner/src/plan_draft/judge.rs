//! Reads and checks the plan in an agent's answer.

use base::project::plan_file::{DocumentFormat, PlanFile};
use wire::json::Value;
use wire::shape::Shape as _;

/// A valid plan that an agent drafted, with the YAML in which the agent wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftedPlan {
    pub text: String,
    pub plan: PlanFile,
}

/// The keys that a drafted plan may have. The other keys, such as limits and repositories, are decisions of a person.
const PLAN_KEYS: &[&str] = &["name", "summary", "description", "approach", "risks", "assumptions", "tasks"];
/// The keys that a drafted task may have. The other keys, such as gates and roles, are decisions of a person.
const TASK_KEYS: &[&str] = &[
    "name",
    "description",
    "depends_on",
    "after",
    "touches",
    "files_likely_affected",
    "context_from",
    "priority",
    "estimated_complexity",
    "brief",
];
const BRIEF_KEYS: &[&str] =
    &["goal", "context", "constraints", "acceptance_criteria", "output_contract", "escalation_triggers"];
const CONTRACT_KEYS: &[&str] = &["type", "output_ref_required"];
/// The maximum number of problems that one message to the agent lists. The agent answers with the whole plan again, so
/// the next check finds the problems that were left out.
const PROBLEMS_MAX: usize = 20;

/// Returns the plan in an agent's answer, or the problems of the answer. The first text of a problem names the part of
/// the answer that it is about, such as `line 7`.
pub(super) fn judge(answer: &[u8], tasks_max: usize) -> Result<DraftedPlan, Vec<(String, String)>> {
    let only = |words: &str| Err(vec![("answer".to_owned(), words.to_owned())]);
    let Ok(answer) = std::str::from_utf8(answer) else { return only("it is not UTF-8 text") };
    if answer.len() > wire::document::BYTES_MAX {
        return only("it is longer than 1 MiB; send a shorter plan");
    }
    let Some(text) = yaml_in(answer) else {
        return only("it has no plan; send one YAML document in a fence that begins with ```yaml");
    };
    let plan = PlanFile::read(&text, DocumentFormat::Yaml, &[]).map_err(|problems| {
        let place = |line: Option<usize>| line.map_or_else(|| "plan".to_owned(), |line| format!("line {line}"));
        let problems = problems.list().iter().take(PROBLEMS_MAX);
        problems.map(|problem| (place(problem.line), problem.words.clone())).collect::<Vec<_>>()
    })?;
    let problems = draft_problems(&plan, tasks_max);
    if problems.is_empty() { Ok(DraftedPlan { text, plan }) } else { Err(problems) }
}

/// Returns the YAML in an answer. It is in the last closed fence with the label `yaml`, else in the last closed fence
/// without a label. Without any fence, the whole answer is the YAML if it begins with a key.
fn yaml_in(answer: &str) -> Option<String> {
    let mut found: [Option<String>; 2] = [None, None];
    let mut open: Option<(usize, usize, String)> = None;
    for line in answer.lines() {
        let marks = line.bytes().take_while(|byte| *byte == b'`').count();
        let label = line[marks..].trim();
        open = match open.take() {
            None if marks >= 3 => {
                let kind = match label {
                    "yaml" | "yml" => 0,
                    "" => 1,
                    // A fence with another label holds no plan. It is read only to find its end.
                    _ => 2,
                };
                Some((marks, kind, String::new()))
            }
            None => None,
            Some((length, kind, text)) if marks >= length && label.is_empty() => {
                if let Some(place) = found.get_mut(kind) {
                    *place = Some(text);
                }
                None
            }
            Some((length, kind, text)) => Some((length, kind, format!("{text}{line}\n"))),
        };
    }
    let [labelled, plain] = found;
    let is_plan = |text: &str| ["name:", "summary:", "tasks:", "---"].iter().any(|start| text.starts_with(start));
    labelled.or(plain).or_else(|| Some(answer.trim()).filter(|text| is_plan(text)).map(|text| format!("{text}\n")))
}

fn draft_problems(plan: &PlanFile, tasks_max: usize) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut tell = |place: &str, words: String| {
        if problems.len() < PROBLEMS_MAX {
            problems.push((place.to_owned(), words));
        }
    };
    for key in plan.keys().iter().filter(|key| !PLAN_KEYS.contains(&key.as_str())) {
        tell("plan", format!("a draft must not set {key}; remove it"));
    }
    match plan.tasks().len() {
        0 => tell("tasks", "the plan has no task".to_owned()),
        count if count > tasks_max => {
            tell("tasks", format!("the plan has {count} tasks, but at most {tasks_max} are wanted; combine some"));
        }
        _ => {}
    }
    for task in plan.tasks() {
        let place = format!("task {}", task.name);
        let value = task.render();
        for (object, allowed) in [
            (Some(&value), TASK_KEYS),
            (value.get("brief"), BRIEF_KEYS),
            (value.get("brief").and_then(|brief| brief.get("output_contract")), CONTRACT_KEYS),
        ] {
            let Some(Value::Object(members)) = object else { continue };
            for (key, _) in members.iter().filter(|(key, _)| !allowed.contains(&key.as_str())) {
                tell(&place, format!("a draft must not set {key}; remove it"));
            }
        }
        if task.brief.is_none() {
            tell(&place, "it needs a brief with goal, acceptance_criteria and output_contract".to_owned());
        }
        if task.planned(None).touches.is_empty() {
            tell(&place, "it needs touches, a list of the files that it changes".to_owned());
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "  - name: a\n    touches: [src/**]\n    brief:\n      goal: It works.\n      \
        acceptance_criteria: [It is tested.]\n      output_contract: {type: message, output_ref_required: false}\n";

    fn problems(answer: &str) -> Vec<String> {
        let judged = judge(answer.as_bytes(), 2);
        judged.err().unwrap_or_default().into_iter().map(|(place, words)| format!("{place}: {words}")).collect()
    }

    #[test]
    fn the_plan_is_found_in_the_answer() {
        let plan = format!("name: w\ntasks:\n{TASK}");
        let answers = [
            format!("```yaml\n{plan}```"),
            format!("I read it.\n\n```yml\n{plan}```\n"),
            format!("```json\n{{}}\n```\n```\n{plan}```"),
            format!("First:\n```yaml\nname: old\n```\nBetter:\n````yaml\n{plan}````"),
            plan.clone(),
        ];
        for answer in answers {
            let drafted = judge(answer.as_bytes(), 2).unwrap_or_else(|problems| panic!("{answer}\n{problems:?}"));
            assert_eq!((drafted.text, drafted.plan.name()), (plan.clone(), "w"), "{answer}");
        }
    }

    #[test]
    fn a_draft_with_problems_is_told_all_of_them() {
        let fenced = |plan: &str| format!("```yaml\n{plan}```");
        let more = TASK.replace("name: a", "name: b") + &TASK.replace("name: a", "name: c");
        let gated = format!("name: w\nmax_parallel_tasks: 9\ntasks:\n{TASK}    gate: false\n    role: admin\n");
        let contract = TASK.replace("output_ref_required: false", "output_ref_required: false, schema_ref: deploy");
        let cases = [
            (
                "I cannot.".to_owned(),
                vec!["answer: it has no plan; send one YAML document in a fence that begins with ```yaml"],
            ),
            (fenced("name: w\ntasks: []\n"), vec!["tasks: the plan has no task"]),
            (
                fenced(&format!("name: w\ntasks:\n{TASK}{more}")),
                vec!["tasks: the plan has 3 tasks, but at most 2 are wanted; combine some"],
            ),
            (
                fenced("name: w\ntasks:\n  - a\n"),
                vec![
                    "task a: it needs a brief with goal, acceptance_criteria and output_contract",
                    "task a: it needs touches, a list of the files that it changes",
                ],
            ),
            (
                fenced(&gated),
                vec![
                    "plan: a draft must not set max_parallel_tasks; remove it",
                    "task a: a draft must not set role; remove it",
                    "task a: a draft must not set gate; remove it",
                ],
            ),
            (
                fenced(&format!("name: w\ntasks:\n{contract}")),
                vec!["task a: a draft must not set schema_ref; remove it"],
            ),
            (
                fenced(&format!("name: w\ntasks:\n{}", TASK.replace("touches", "touch"))),
                vec!["line 4: unknown key touch; did you mean touches?"],
            ),
        ];
        for (answer, expected) in cases {
            assert_eq!(problems(&answer), expected, "{answer}");
        }
        assert_eq!(judge(b"\xff", 2).map(|_| ()).unwrap_err()[0].1, "it is not UTF-8 text");
    }
}
