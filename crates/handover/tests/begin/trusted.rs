//! Tests that a person accepts with `handover init` exactly the settings that the person saw.

use crate::scene::{BeginScene, PersonAct};
use crate::screens::CLAUDE;

const YES: PersonAct<'_> = PersonAct::Types { after: "[Y/n] ", text: "y\n" };
const MAKEFILE: &str = "test:\n\tgrep -q a Makefile\n.PHONY: test\n";

fn project() -> BeginScene {
    let scene = BeginScene::new("greet", &[("Makefile", MAKEFILE)]);
    scene.install("make", "exit 0");
    scene.install("claude", CLAUDE);
    scene
}

fn trust(scene: &BeginScene) -> serde_json::Value {
    let said = scene.script(&["trust", "--json"]);
    serde_json::from_str(&said.text).unwrap_or_else(|_| panic!("{}", said.text))
}

/// Tests a check that changes the settings. After the person has answered, `handover init` runs the check, and the
/// check writes another command into the settings file.
#[test]
fn a_file_that_appears_after_the_answer_is_not_accepted() {
    let scene = project();
    let config = scene.project().join(".handover/config.toml");
    let folder = scene.project().join(".handover");
    scene.install(
        "make",
        &format!("mkdir -p {}; echo '[notify]\ncommand = [\"evil\"]' > {}", folder.display(), config.display()),
    );
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(scene.read(".handover/config.toml").unwrap().contains("evil"), "the other file is kept");
    let view = trust(&scene);
    assert_eq!(view["trusted"], false, "{view}");
    assert!(view["changes"].to_string().contains("+ notify: evil"), "{view}");
}

#[test]
fn settings_of_the_team_are_shown_before_they_are_accepted() {
    let scene = project();
    scene.write(
        ".handover/config.toml",
        "[notify]\ncommand = [\"tell-me\"]\n[verify]\nchecks = [{ command = [\"make\", \"all\"] }]\n\
         [[agent]]\nslug = \"claude\"\nadapter = \"claude\"\ncommand = [\"claude\", \"--fast\"]\n",
    );
    let said = scene.person("", &["init"], &[YES]);
    for words in [
        "make all",
        "also     notify: tell-me",
        "agent claude: claude --fast",
        "Nothing changed: .handover/config.toml stays",
    ] {
        assert!(said.text.contains(words), "{words}: {}", said.text);
    }
    assert_eq!(trust(&scene)["trusted"], true);
}

#[test]
fn one_check_more_is_shown_as_that_line_and_a_lower_limit_asks_nothing() {
    let scene = project();
    assert_eq!(scene.person("", &["init"], &[YES]).code, 0);
    let config = scene.read(".handover/config.toml").unwrap();
    scene.write(".handover/config.toml", &config.replace("usd = 5.0", "usd = 1.0"));
    let said = scene.person("", &["init"], &[]);
    assert!(said.code == 0 && said.text.contains("Limit: $1 a task.") && !said.text.contains("[Y/n]"), "{}", said.text);
    let more = config.replace(
        "{ command = [\"make\", \"test\"]",
        "{ command = [\"make\", \"lint\"] }, { command = [\"make\", \"test\"]",
    );
    assert_ne!(more, config);
    scene.write(".handover/config.toml", &more);
    let said = scene.person("", &["init"], &[YES]);
    assert!(said.code == 0 && said.text.contains("changed  + check: make lint\n"), "{}", said.text);
    assert_eq!(trust(&scene)["trusted"], true);
}

/// Tests that `handover init` stores the result of the check that it runs. The first run of the agents then does not
/// repeat the check on the same commit.
#[test]
fn the_result_of_the_trial_is_the_baseline() {
    let scene = project();
    let runs = scene.path("runs");
    scene.install("make", &format!("echo run >> {}; exit 1", runs.display()));
    let said = scene.person("", &["init"], &[YES]);
    assert!(said.text.contains("Until it passes on main, tasks end \"unchecked\"."), "{}", said.text);
    let count = || std::fs::read_to_string(&runs).unwrap().lines().count();
    assert_eq!(count(), 2, "a failing check runs again once");
    scene.write("tools/bot", "#!/bin/sh\ncat > /dev/null\necho x >> notes.txt\necho done\n");
    let added = scene.person("", &["agent", "add", "bot", "--", "./tools/bot"], &[]);
    assert_eq!(added.code, 0, "{}", added.text);
    scene.write(
        ".handover/local.toml",
        "[[agent]]\nslug = \"bot\"\nadapter = \"exec\"\ncommand = [\"./tools/bot\"]\noutput = \"plain\"\n",
    );
    let run = scene.person("", &["add", "Change the notes", "--run"], &[]);
    assert!(run.text.contains("make test already fails on main"), "{}", run.text);
    // The third start of the check was on the agent's work. The check failed there. It also fails on the commit from
    // which the task started, so Handover did not repeat it.
    assert_eq!(count(), 3, "{}", run.text);
}
