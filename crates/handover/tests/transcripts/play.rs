//! Plays the test transcripts (files of tool calls with their expected answers) through one interface of the program,
//! and compares the answers.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::door::{self, Door, Kind, Library, Place, Who};
use super::postgres::schema_of;
use super::schema;
use super::script::{self, Answer, Script, Step, What, World};
use super::show::Names;

/// The database in which an interface stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Memory,
    Sqlite,
    Postgres,
}

/// The pause between two steps of a transcript. Rows that are written in the same millisecond have no order, so the
/// steps must be further apart.
const STEP: Duration = Duration::from_millis(2);

/// The number of worlds (sequences of steps) that are played at the same time. There can be several, because a step
/// mostly waits for the disk or for a process.
const STAGES: usize = 3;

/// The result of one world (a sequence of steps): its position in the scripts, its answers, and the differences from
/// the expected answers.
struct Played {
    script: usize,
    world: usize,
    answers: Vec<Option<Answer>>,
    problems: Vec<String>,
}

/// Plays all worlds (sequences of steps) that this interface can play. With `UPDATE` set, the run through the library
/// writes its answers into the transcripts.
pub(crate) fn play(kind: Kind, database: Database) {
    let only = std::env::var("TRANSCRIPT").ok();
    let mut scripts = script::all();
    scripts.retain(|script| only.as_ref().is_none_or(|only| *only == script.name));
    // Skip the script `advice` on PostgreSQL: the advice does not depend on the database, and each of its many
    // sequences of steps would need its own schema.
    scripts.retain(|script| database != Database::Postgres || script.name != "advice");
    let all = scripts
        .iter()
        .enumerate()
        .flat_map(|(script, found)| (0..found.worlds.len()).map(move |world| (script, world)));
    let is_played = |(script, world): &(usize, usize)| {
        !scripts[*script].worlds[*world].except.iter().any(|except| except.is_for(kind.name()))
    };
    let jobs: Mutex<VecDeque<(usize, usize)>> = Mutex::new(all.filter(is_played).collect());
    let played: Mutex<Vec<Played>> = Mutex::default();
    let next = || jobs.lock().unwrap().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..STAGES {
            scope.spawn(|| {
                while let Some((script, world)) = next() {
                    let mut stage = Stage::new(kind, database, &format!("{}_{world}", scripts[script].name));
                    let answers = stage.play(&scripts[script].name, &scripts[script].worlds[world]);
                    let problems = std::mem::take(&mut stage.problems);
                    played.lock().unwrap().push(Played { script, world, answers, problems });
                }
            });
        }
    });
    let mut played = played.into_inner().unwrap();
    played.sort_by_key(|played| (played.script, played.world));
    let steps: usize = played.iter().map(|played| played.answers.len()).sum();
    eprintln!("{}: {} worlds, {steps} steps", kind.name(), played.len());
    if kind == Kind::Library && std::env::var_os("UPDATE").is_some() {
        return update(&mut scripts, played);
    }
    let problems: Vec<String> = played.into_iter().flat_map(|played| played.problems).collect();
    assert!(problems.is_empty(), "{} problems:\n\n{}", problems.len(), problems.join("\n\n"));
}

fn update(scripts: &mut [Script], played: Vec<Played>) {
    for Played { script, world, answers, .. } in played {
        let steps = &mut scripts[script].worlds[world].steps;
        assert_eq!(answers.len(), steps.len(), "{} was not played to its end", scripts[script].name);
        steps.iter_mut().zip(answers).for_each(|(step, answer)| step.answer = answer);
    }
    scripts.iter().for_each(|script| std::fs::write(&script.path, script.text()).unwrap());
}

struct Stage {
    kind: Kind,
    place: Place,
    names: Names,
    /// The agent that each connection registered last, by the name of the connection.
    agents: HashMap<String, String>,
    door: Box<dyn Door>,
    beside: Option<Library>,
    problems: Vec<String>,
    /// The temporary folder. It is the last field, so it is dropped after everything that uses the folder.
    _folder: tempfile::TempDir,
}

impl Stage {
    fn new(kind: Kind, database: Database, name: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        let store = match database {
            Database::Memory => "memory:".to_owned(),
            Database::Sqlite => folder.join("state/handover.db").display().to_string(),
            Database::Postgres => place_for(&format!("{}_{name}", kind.name())),
        };
        let place = Place { folder: folder.clone(), store };
        std::fs::create_dir(folder.join("state")).unwrap();
        let mut names = Names::default();
        names.save("$folder", folder.display().to_string());
        Self {
            kind,
            door: Box::new(door::Lazy::new(kind, &place)),
            place,
            names,
            agents: HashMap::new(),
            beside: None,
            problems: Vec::new(),
            _folder: temporary,
        }
    }

    /// Plays a world (a sequence of steps). Returns the answers up to the first step that failed, with ids and times
    /// replaced by names.
    fn play(&mut self, name: &str, world: &World) -> Vec<Option<Answer>> {
        if uses_repository(world) {
            let path = repository(&self.place.folder);
            self.names.save("$repo", path);
        }
        let mut answers = Vec::new();
        for step in &world.steps {
            let place = format!("{name}.txt:{} through {}: {}", step.line, self.kind.name(), world.title);
            let found = match catch_unwind(AssertUnwindSafe(|| self.step(step))) {
                Ok(found) => found,
                Err(panic) => {
                    let words = panic.downcast_ref::<String>().cloned();
                    let words = words.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                    self.problems.push(format!("{place}: {}", words.unwrap_or_default()));
                    break;
                }
            };
            let (shown, wanted) = (shown(found.as_ref()), shown(step.answer.as_ref()));
            if shown != wanted {
                self.problems.push(format!("{place}\nexpected {wanted}\nfound    {shown}"));
            }
            answers.push(found);
        }
        answers
    }

    /// Does one step of a transcript. Returns its answer, with ids and times replaced by names.
    fn step(&mut self, step: &Step) -> Option<Answer> {
        pause();
        match &step.what {
            What::Nothing => None,
            What::Close { who } => {
                self.door.close(who);
                None
            }
            What::File { path, text } => {
                let path = std::path::PathBuf::from(self.names.fill(path));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, self.names.fill(text)).unwrap();
                None
            }
            What::Trust { folder } => {
                let folder = std::path::PathBuf::from(self.names.fill(folder));
                let view = base::project::trust::view(&folder, Some(&folder)).unwrap();
                base::project::trust::accept(&folder, &view).unwrap();
                None
            }
            What::Git { folder, words } => {
                let words: Vec<String> = words.iter().map(|word| self.names.fill(word)).collect();
                let said = git(Path::new(&self.names.fill(folder)), &words);
                step.saves.iter().for_each(|save| self.names.save(&save.name, said.clone()));
                None
            }
            What::Call { who, tool, arguments } => Some(self.call(step, who, tool, arguments)),
        }
    }

    fn call(&mut self, step: &Step, name: &str, tool: &str, arguments: &str) -> Answer {
        let filled = self.names.fill(arguments);
        let missing = filled.split('"').find(|word| word.starts_with('$'));
        assert_eq!(missing, None, "nothing is called that");
        let mut last = None;
        for number in 1..=step.times {
            let arguments = filled.replace("%n%", &number.to_string());
            // While a caller registers a new agent, it does not act as the agent that it registered before.
            let agent = self.agents.get(name).filter(|_| tool != "agent_register").cloned();
            let who = Who { name, agent: agent.as_deref() };
            let answer = if step.except.iter().any(|except| except.is_for(self.kind.name())) {
                let place = &self.place;
                self.beside.get_or_insert_with(|| Library::beside(place)).call(who, tool, &arguments)
            } else {
                self.door.call(who, tool, &arguments)
            };
            last = Some(answer);
        }
        let answer = last.unwrap();
        match &answer {
            Answer::Done(value) => schema::check_reply(tool, value),
            Answer::Refused(value) => schema::check_refusal(tool, value),
        }
        if let (Answer::Done(value), "agent_register") = (&answer, tool) {
            self.agents.insert(name.to_owned(), value["id"].as_str().unwrap().to_owned());
        }
        for save in &step.saves {
            let found = at(answer.value(), &save.path);
            self.names.save(&save.name, found.unwrap_or_else(|| panic!("no {} in {}", save.path, answer.show())));
        }
        match answer {
            Answer::Done(value) => Answer::Done(self.names.cover(tool, &value)),
            Answer::Refused(value) => Answer::Refused(self.names.cover("", &value)),
        }
    }
}

/// Returns an answer as text. Texts are compared and not values, because the order of members must be the same, too.
fn shown(answer: Option<&Answer>) -> String {
    answer.map_or_else(|| "nothing".to_owned(), Answer::show)
}

fn at(value: &Value, path: &str) -> Option<String> {
    let mut place = value;
    for part in path.split('.') {
        place = match part.parse::<usize>() {
            Ok(index) => place.get(index)?,
            Err(_) => place.get(part)?,
        };
    }
    Some(place.as_str().map_or_else(|| place.to_string(), str::to_owned))
}

fn pause() {
    // There is no event to wait for, so sleep.
    std::thread::sleep(STEP);
}

fn uses_repository(world: &World) -> bool {
    world.steps.iter().any(|step| match &step.what {
        What::Call { arguments, .. } => arguments.contains("$repo"),
        What::Git { folder, .. } => folder.contains("$repo"),
        What::File { .. } | What::Trust { .. } | What::Close { .. } | What::Nothing => false,
    })
}

/// Creates a repository with one commit on `main`, and returns its path.
fn repository(folder: &Path) -> String {
    let path = folder.join("repo");
    std::fs::create_dir(&path).unwrap();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    git(&path, &words("init -q -b main"));
    std::fs::write(path.join("README.md"), "A project.\n").unwrap();
    git(&path, &words("add -A"));
    git(&path, &words("commit -q -m start"));
    path.display().to_string()
}

fn git(folder: &Path, words: &[String]) -> String {
    let mut command = std::process::Command::new("git");
    for (name, value) in
        [("AUTHOR_NAME", "t"), ("AUTHOR_EMAIL", "t@t"), ("COMMITTER_NAME", "t"), ("COMMITTER_EMAIL", "t@t")]
    {
        command.env(format!("GIT_{name}"), value);
    }
    let command = command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn place_for(name: &str) -> String {
    let url = schema_of(&format!("transcript_{}", name.replace('-', "_")));
    // Commits need not wait for the disk, because this test kills no process.
    format!("{url}%20-csynchronous_commit%3Doff")
}
