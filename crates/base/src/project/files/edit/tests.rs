//! Tests that a changed settings file keeps everything that a person wrote, and that it can still be parsed.

use agents::adapter::AdapterKind;

use super::*;
use crate::project::settings::parse;
use crate::project::settings::team::OutputSettings;

fn command(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

const OWN: &str = "# mine\nstore = 'a.db' # here\n\n[limits]   # low\nusd=1.0\n\n# the last line\n";

#[test]
fn an_added_agent_follows_everything_that_a_person_wrote() {
    for before in [
        "",
        OWN,
        "[[agent]]\nslug = \"a\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n[agent.env]\nA = \"1\"\n\n[limits]\nusd = 1.0",
    ] {
        let after = agent_added(before, "bot", &command("./tools/bot --fast")).unwrap();
        assert!(after.starts_with(before.trim_end()), "{after}");
        let agents = parse(&after).unwrap().team.agents;
        let bot = agents.last().unwrap();
        assert_eq!((bot.slug.as_str(), bot.command.join(" ").as_str()), ("bot", "./tools/bot --fast"));
        assert_eq!((bot.adapter, bot.output()), (AdapterKind::Exec, OutputSettings::Plain));
        assert_eq!(agent_added(&after, "bot", &command("./tools/bot --fast")).as_ref(), Ok(&after), "again");
        assert_eq!(agent_added(&after, "bot", &command("other")), Err(EditProblem::NameTaken("bot".to_owned())));
    }
}

#[test]
fn words_with_quotes_and_spaces_survive() {
    let words = vec!["sh".to_owned(), "-c".to_owned(), "echo \"it's\\n\" && exit".to_owned()];
    let after = agent_added("", "bot", &words).unwrap();
    assert_eq!(parse(&after).unwrap().team.agents[0].command, words, "{after}");
    let after = check_set("", &words).unwrap();
    assert_eq!(parse(&after).unwrap().team.verify.checks[0].command, words, "{after}");
}

#[test]
fn a_file_that_cannot_be_changed_is_refused_with_the_reason() {
    let rows = [
        (agent_added("a = ", "bot", &command("x")), "the file cannot be read"),
        (agent_added("agent = []\n", "bot", &command("x")), "write it as [[agent]]"),
        (agent_added("", "The Bot", &command("x")), "`The Bot` cannot be the name"),
        (agent_added("", "human", &command("x")), "`human` cannot be the name"),
        (agent_added("", "bot", &[]), "names no program"),
        (check_set("a = ", &command("x")), "the file cannot be read"),
        (check_set("verify = 1\n", &command("x")), "write it as [verify]"),
        (check_set("", &[]), "names no program"),
    ];
    for (found, told) in rows {
        let problem = found.unwrap_err().to_string();
        assert!(problem.contains(told), "{told}: {problem}");
    }
}

#[test]
fn a_check_replaces_the_checks_and_nothing_else() {
    let rows = [
        ("", "[verify]\nchecks = [{ command = [\"make\", \"test\"] }]\n".to_owned()),
        (OWN, format!("{OWN}\n[verify]\nchecks = [{{ command = [\"make\", \"test\"] }}]\n")),
        (
            "# a\n[verify] # b\nretries = 0 # c\n# d\n",
            "# a\n[verify] # b\nretries = 0 # c\nchecks = [{ command = [\"make\", \"test\"] }]\n# d\n".to_owned(),
        ),
        (
            "[verify]\n# why\nchecks = [{ command = [\"a\"] }] # slow\nparallel = 1\n\n[env]\npass = [] # e\n",
            "[verify]\n# why\nchecks = [{ command = [\"make\", \"test\"] }] # slow\nparallel = 1\n\n[env]\npass = [] # e\n"
                .to_owned(),
        ),
    ];
    for (before, expected) in rows {
        let after = check_set(before, &command("make test")).unwrap();
        assert_eq!(after, expected);
        assert_eq!(check_set(&after, &command("make test")), Ok(after.clone()), "again");
    }
    let tables = "[[verify.checks]]\ncommand = [\"a\"]\n[[verify.checks]]\ncommand = [\"b\"]\n";
    let after = check_set(tables, &command("make test")).unwrap();
    let checks = parse(&after).unwrap().team.verify.checks;
    assert_eq!(checks.iter().map(|check| check.command.join(" ")).collect::<Vec<_>>(), ["make test"], "{after}");
    let slow = "[verify]\nchecks = [{ command = [\"make\", \"test\"], seconds = 9, when = \"end\" }]\n";
    assert_eq!(check_set(slow, &command("make test")).as_deref(), Ok(slow), "the limits of the same check stay");
}

#[test]
fn installed_programs_are_written_once() {
    let agent = |slug: &str| DetectedAgent {
        slug: slug.to_owned(),
        adapter: AdapterKind::Claude,
        command: vec![slug.to_owned()],
        max_parallel: 3,
    };
    let after = agents_written(OWN, &[agent("claude"), agent("codex")]).unwrap();
    assert!(after.starts_with(OWN.trim_end()));
    let slugs = |text: &str| parse(text).unwrap().team.agents.into_iter().map(|agent| agent.slug).collect::<Vec<_>>();
    assert_eq!(slugs(&after), ["claude", "codex"]);
    assert_eq!(agents_written(&after, &[agent("goose")]), Ok(after.clone()));
    assert_eq!(agents_written("", &[]).as_deref(), Ok(""));
    let both = agent_added(&after, "bot", &command("./bot")).unwrap();
    assert_eq!(slugs(&both), ["claude", "codex", "bot"]);
}
