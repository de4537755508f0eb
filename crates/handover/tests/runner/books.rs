//! Checks of a completed workflow. A workflow must pass them after any number of kills of its runners.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::scene::Scene;

/// A task of the workflow, as the command line shows it.
#[derive(Debug)]
struct Row {
    id: String,
    name: String,
    attempt: u64,
    outcome: String,
}

/// Returns all problems of a completed workflow, or an empty list when there are none.
pub(crate) fn problems(scene: &Scene, workflow: &str) -> Vec<String> {
    let log = log(scene, workflow);
    let mut found = Vec::new();
    let verdict = scene.ask(&["log", "verify"]);
    if !verdict.status.success() {
        found.push(format!("the log: {}", String::from_utf8_lossy(&verdict.stdout)));
    }
    let rows = rows(scene, workflow, &mut found);
    let branch = scene.plan_branch(workflow);
    for row in &rows {
        found.extend(log_of(row, &log));
        found.extend(branch_of(scene, &branch, row));
    }
    found.extend(turns(&log));
    found.extend(left(scene, &rows));
    found
}

fn rows(scene: &Scene, workflow: &str, found: &mut Vec<String>) -> Vec<Row> {
    let progress = scene.json(&["workflow", "progress", workflow]);
    let status = &progress["status"];
    if status != "completed" {
        found.push(format!("the workflow is {status}: {progress}"));
    }
    let tasks = scene.json(&["workflow", "show", workflow, "--include-tasks"]);
    let text = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let tasks = tasks["tasks"].as_array().cloned().unwrap_or_default();
    if tasks.is_empty() {
        found.push("there are no tasks".to_owned());
    }
    let row = |task: &Value| Row {
        id: text(task, "id"),
        name: text(task, "name"),
        attempt: task["attempt"].as_u64().unwrap_or(0),
        outcome: text(task, "outcome"),
    };
    tasks.iter().map(row).collect()
}

fn log(scene: &Scene, workflow: &str) -> Vec<Value> {
    let topic = format!("workflows/{workflow}");
    let output = scene.ask(&["log", "tail", "--json", "-n", "1000000", "--topic", &topic]);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect()
}

/// Checks in the log that a task was completed exactly once, and by its last claim (attempt).
fn log_of(row: &Row, log: &[Value]) -> Option<String> {
    let is_end = |entry: &&Value| {
        let body = &entry["body"];
        body["task"] == *row.id && body["state"]["status"] == "completed"
    };
    let ends: Vec<&Value> = log.iter().filter(is_end).collect();
    let is_right = ends.len() == 1 && ends[0]["body"]["attempt"] == row.attempt;
    (!is_right).then(|| format!("{}: completed {} times: {ends:?}", row.name, ends.len()))
}

/// Checks in the log that every turn (one run of an agent's program) started once and ended once.
fn turns(log: &[Value]) -> Vec<String> {
    let mut count: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for entry in log {
        let id = entry["body"]["turn"]["id"].as_str().unwrap_or_default().to_owned();
        match entry["kind"].as_str() {
            Some("turn_started") => count.entry(id).or_default().0 += 1,
            Some("turn_ended") => count.entry(id).or_default().1 += 1,
            Some(_) | None => {}
        }
    }
    let odd = count.iter().filter(|(_, count)| **count != (1, 1));
    odd.map(|(turn, (began, ended))| format!("{turn} began {began} times and ended {ended} times")).collect()
}

/// Checks that the work of a task is in the workflow's branch once, with the content that the accepted run of its agent
/// wrote.
fn branch_of(scene: &Scene, branch: &str, row: &Row) -> Vec<String> {
    let mut found = Vec::new();
    let path = format!("out/{}.txt", row.id);
    let added = scene.git(&["log", "--format=%H", "--diff-filter=A", branch, "--", &path]);
    if added.lines().count() != 1 {
        found.push(format!("{}: {path} came in {} times", row.name, added.lines().count()));
        return found;
    }
    let content = scene.git(&["show", &format!("{branch}:{path}")]);
    let turn = row.outcome.rsplit(' ').next().unwrap_or_default();
    let is_right = content == "right" || content == format!("made by {} in turn {turn}", row.id);
    if !is_right {
        found.push(format!("{}: {content:?} is there, but the outcome is {:?}", row.name, row.outcome));
    }
    let merges = scene.git(&["log", "--format=%s", "--merges", branch]);
    let count = merges.lines().filter(|line| line.ends_with(&format!("({})", row.id))).count();
    if count > 1 {
        found.push(format!("{}: merged {count} times", row.name));
    }
    // Commits that earlier claims (attempts) of the task made must not be in the branch.
    let grep = format!("--grep=^Task: {}$", row.id);
    let bodies = scene.git(&["log", "--format=%B", &grep, branch]);
    let own = format!("Attempt: {}", row.attempt);
    let strange = bodies.lines().filter(|line| line.starts_with("Attempt: ") && *line != own);
    found.extend(strange.map(|line| format!("{}: a commit of {line} came in, and {own} was the last", row.name)));
    found
}

/// Returns the worktrees, branches, folders, locks and processes that the runners of the workflow left behind.
fn left(scene: &Scene, rows: &[Row]) -> Vec<String> {
    let mut found = scene.leftovers();
    let git = scene.project().join(".git");
    let inside = scene.project().join(".handover/state/worktrees");
    found.extend(inside.exists().then(|| format!("{} inside of the repository", inside.display())));
    let registered = fs::read_dir(git.join("worktrees")).into_iter().flatten().count();
    if registered != scene.worktrees().len() {
        found.push(format!("{registered} registrations for {:?}", scene.worktrees()));
    }
    found.extend(locks(&git));
    let branches = scene.git(&["branch", "--list", "--format=%(refname:short)", "handover/tk_*"]);
    for row in rows {
        let attempt = |branch: &str| branch.strip_prefix(&format!("handover/{}-", row.id))?.parse::<u64>().ok();
        for (branch, attempt) in branches.lines().filter_map(|branch| Some((branch, attempt(branch)?))) {
            // The branch of an earlier claim may stay when it has work that is in no branch of a workflow. Any other
            // branch of a claim is a leftover.
            let ahead =
                scene.git(&["log", "--oneline", branch, "--not", "--exclude=handover/tk_*", "--branches=handover/*"]);
            if attempt >= row.attempt || ahead.trim().is_empty() {
                found.push(format!("the branch {branch} of {}, with {ahead:?}", row.name));
            }
        }
    }
    found
}

fn locks(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "lock") {
                found.push(path.display().to_string());
            }
        }
    }
    found
}
