//! Tests `handover agent add` and `handover check set`: a person who types such a command accepts exactly the change
//! that the command makes.

use serde_json::Value;

use crate::scene::{BeginScene, PersonAct};
use crate::screens::CLAUDE;

const BOT: &str = "#!/bin/sh\ncat > /dev/null\necho 'hello' >> notes.txt\necho 'added a line'\n";
const YES: PersonAct<'_> = PersonAct::Types { after: "[Y/n] ", text: "y\n" };

/// Makes a repository with a check and an agent's program, in which a person ran `handover init`.
fn begun() -> BeginScene {
    let files =
        [("Makefile", "test:\n\tgrep -q a Makefile\n.PHONY: test\n"), ("tools/bot", BOT), ("notes.txt", "one\n")];
    let scene = BeginScene::new("greet", &files);
    scene.install("make", "exit 0");
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    scene
}

fn waiting(scene: &BeginScene) -> (bool, Vec<String>) {
    let said = scene.script(&["trust", "--json"]);
    let printed: Value = serde_json::from_str(&said.text).unwrap_or_else(|_| panic!("{}", said.text));
    let changes = printed["changes"].as_array().cloned().unwrap_or_default();
    let text = |change: &Value| change["change"].as_str().unwrap().to_owned();
    (printed["trusted"] == true, changes.iter().map(text).collect())
}

#[test]
fn an_added_program_is_accepted_and_does_a_task() {
    let scene = begun();
    let said = scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[]);
    assert_eq!(
        (said.code, said.text.as_str()),
        (
            0,
            "bot   ./tools/bot   gets the task as text, exit code 0 means done\n\
             It runs as you, in worktrees, without a sandbox. Added to .handover/local.toml.\n"
        )
    );
    assert_eq!(waiting(&scene), (true, Vec::new()), "nothing waits for the person");
    assert_eq!(scene.git(&["status", "--porcelain", "-uall"]), "?? .handover/.gitignore\n?? .handover/config.toml");
    let again = scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[]);
    assert_eq!((again.code, again.text.as_str()), (0, "bot is an agent already: ./tools/bot\n"));
    let run = scene.person("", &["add", "Add a line to the notes", "--run"], &[]);
    assert_eq!(run.code, 0, "{}", run.text);
    assert!(run.text.contains("added a line"), "{}", run.text);
    // After the program of the agent changed, a person must accept it again, because it runs with the person's rights.
    scene.write("tools/bot", "#!/bin/sh\nrm -rf /nothing\n");
    assert!(!waiting(&scene).0);
}

#[test]
fn other_changes_are_not_accepted_with_an_agent() {
    let scene = begun();
    let config = scene.read(".handover/config.toml").unwrap();
    scene.write(".handover/config.toml", &format!("{config}\n[notify]\ncommand = [\"true\"]\n"));
    let no = PersonAct::Types { after: "[y/N] ", text: "n\n" };
    let said = scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[no]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(said.text.contains("+ notify: true") && !said.text.contains("+ agent bot"), "{}", said.text);
    assert_eq!(waiting(&scene), (false, vec!["+ notify: true".to_owned()]));
}

#[test]
fn the_first_agent_keeps_the_installed_clients() {
    let scene = begun();
    scene.install("claude", CLAUDE);
    let no = PersonAct::Types { after: "[y/N] ", text: "n\n" };
    let said = scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[no]);
    assert_eq!(said.code, 0, "{}", said.text);
    let local = scene.read(".handover/local.toml").unwrap();
    assert!(local.contains("slug = \"claude\"") && local.contains("slug = \"bot\""), "{local}");
    // The client `claude` was installed after the person had accepted the settings. Now the person answered no to the
    // question about it. So only this client is not accepted.
    let (is_trusted, changes) = waiting(&scene);
    assert!(!is_trusted && changes.iter().all(|change| change.contains("agent claude")), "{changes:?}");
}

#[test]
fn a_known_client_is_started_by_its_adapter() {
    let scene = begun();
    scene.install("goose", "echo 1.34.0");
    let yes = PersonAct::Types { after: "[y/N] ", text: "y\n" };
    let said = scene.person("", &["agent", "add", "helper", "--", "goose"], &[yes]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(said.text.contains("helper   goose acp"), "{}", said.text);
    let local = scene.read(".handover/local.toml").unwrap();
    assert!(local.contains("slug = \"helper\"\nadapter = \"acp\"\ncommand = [\"goose\", \"acp\"]"), "{local}");
}

#[test]
fn a_wrong_agent_is_refused_with_one_clear_line() {
    let scene = begun();
    scene.write("tools/plain.txt", "no program\n");
    scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[]);
    let local = scene.read(".handover/local.toml");
    let rows: [(&[&str], &str); 7] = [
        (&["bot", "--", "true"], "there is already an agent `bot` with another command"),
        (&["The Bot", "--", "./tools/bot"], "`The Bot` cannot be the name of an agent"),
        (&["human", "--", "./tools/bot"], "`human` cannot be the name of an agent"),
        (&["b", "--", "no-such-program"], "There is no program `no-such-program` on this machine."),
        (&["b", "--", "./tools/nothing"], "There is no file ./tools/nothing."),
        (&["b", "--", "./tools/plain.txt"], "chmod +x ./tools/plain.txt"),
        (&["b", "--", "./tools"], "./tools is a folder."),
    ];
    for (words, told) in rows {
        let said = scene.person("", &[&["agent", "add"], words].concat(), &[]);
        assert_eq!((said.code, said.text.lines().count()), (2, 1), "{words:?}: {}", said.text);
        assert!(said.text.contains(told), "{words:?}: {}", said.text);
    }
    assert_eq!(scene.read(".handover/local.toml"), local);
}

#[test]
fn a_path_is_relative_to_the_folder_in_which_it_is_typed() {
    let scene = begun();
    let said = scene.person("tools", &["agent", "add", "bot", "--", "./bot"], &[]);
    assert!(said.code == 0 && said.text.starts_with("bot   ./tools/bot   "), "{}", said.text);
}

#[test]
fn a_set_check_replaces_the_found_one_and_is_accepted() {
    let scene = begun();
    let said = scene.person("", &["check", "set", "sh -c 'grep -q a Makefile'"], &[]);
    assert_eq!(
        (said.code, said.text.as_str()),
        (
            0,
            "check   sh -c grep -q a Makefile   after each task\n\
             It replaces make test. Written to .handover/config.toml (commit it).\n"
        )
    );
    assert_eq!(waiting(&scene), (true, Vec::new()));
    let config = scene.read(".handover/config.toml").unwrap();
    assert!(config.contains("[\"sh\", \"-c\", \"grep -q a Makefile\"]") && !config.contains("make"), "{config}");
    let again = scene.person("", &["check", "set", "sh", "-c", "grep -q a Makefile"], &[]);
    assert_eq!((again.code, again.text.as_str()), (0, "sh -c grep -q a Makefile is the check already.\n"));
    let rows =
        [("make lint && make test", "without a shell"), ("no-such-program", "There is no program"), ("'", "closing")];
    for (text, told) in rows {
        let said = scene.person("", &["check", "set", text], &[]);
        assert!(said.code == 2 && said.text.contains(told) && said.text.lines().count() == 1, "{text}: {}", said.text);
    }
    assert_eq!(scene.read(".handover/config.toml").unwrap(), config);
}

#[test]
fn a_check_is_set_where_none_was_found() {
    let scene = BeginScene::new("notes", &[("README.md", "# Notes\n")]);
    scene.install("claude", CLAUDE);
    scene.person("", &["init"], &[YES]);
    let said = scene.person("", &["check", "set", "true"], &[]);
    assert_eq!(said.code, 0, "{}", said.text);
    let config = scene.read(".handover/config.toml").unwrap();
    assert!(config.contains("checks = [{ command = [\"true\"] }]") && !config.contains("No test command"), "{config}");
    scene.write(".handover/local.toml", "[verify]\nchecks = []\n");
    let said = scene.person("", &["check", "set", "false"], &[]);
    assert!(said.code == 2 && said.text.contains(".handover/local.toml wins"), "{}", said.text);
}

#[test]
fn without_a_person_nothing_is_added() {
    let scene = begun();
    let config = scene.read(".handover/config.toml");
    for words in [&["agent", "add", "bot", "--", "./tools/bot"][..], &["check", "set", "true"]] {
        let said = scene.script(words);
        assert!(said.code == 1 && said.text.contains("NOT_A_PERSON"), "{words:?}: {}", said.text);
    }
    assert_eq!((scene.read(".handover/local.toml"), scene.read(".handover/config.toml")), (None, config));
}

/// Tests that the example templates work with any agent, because they name no role and no reviewer.
#[test]
fn the_example_templates_complete_with_one_added_program() {
    let scene = begun();
    scene.person("", &["init", "--examples"], &[]);
    scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[]);
    for (name, variable) in [("bugfix", "bug=crash"), ("feature", "feature=sign-in")] {
        let plan = format!(".handover/templates/{name}.yaml");
        let said = scene.person("", &["run", "--plan", &plan, "--var", variable], &[]);
        assert_eq!(said.code, 0, "{}", said.text);
    }
    let said = scene.script(&["workflow", "list", "--json"]);
    let listed: Value = serde_json::from_str(&said.text).unwrap();
    let states = listed["workflows"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap());
    assert_eq!(states.filter(|state| *state == "completed").count(), 2, "{listed}");
}
