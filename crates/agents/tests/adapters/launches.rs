//! Compares the launches for every program, permission, home folder and kind of start (new or resumed) with the files
//! `launch/*.txt`, which `UPDATE=1` rewrites.

use std::fmt::Write;

use agents::adapter::{
    AdapterKind, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable, launch,
};

use super::replay::{folder, order};

/// The longest argument or variable with which the system starts a program, in bytes.
const ARGUMENT_BYTES_MAX: usize = 128 << 10;

fn orders(kind: AdapterKind) -> Vec<(String, TurnOrder)> {
    let mut orders = Vec::new();
    for (permissions, may) in [(Permissions::Read, "read"), (Permissions::Edit, "edit"), (Permissions::All, "all")] {
        for (home, whose) in [(ProgramHome::User, "user"), (ProgramHome::Own("/home/agent".into()), "own")] {
            for (resume, how) in [(None, "new"), (Some("conv-1".to_owned()), "resumed")] {
                let first = resume.is_none();
                let order = TurnOrder {
                    permissions,
                    home: home.clone(),
                    resume,
                    model: first.then(|| "the-model".to_owned()),
                    usd_left: first.then_some(1.25),
                    args: vec!["--extra".into()],
                    ..order(kind)
                };
                orders.push((format!("permissions {may}, home {whose}, {how}"), order));
            }
        }
    }
    orders
}

#[test]
fn what_is_started_is_what_the_files_show() {
    for kind in AdapterKind::ALL {
        let mut text = String::new();
        for (title, order) in orders(kind) {
            describe(&mut text, &title, &launch(&order).unwrap());
        }
        let path = folder().join(format!("launch/{}.txt", kind.name()));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{}", kind.name());
    }
}

#[test]
fn no_prompt_travels_in_an_argument_or_a_variable() {
    for kind in AdapterKind::ALL {
        for (title, order) in orders(kind) {
            let order = TurnOrder {
                system: format!("SYSTEM-MARK {}", "s".repeat(300_000)),
                message: format!("MESSAGE-MARK {}", "m".repeat(300_000)),
                input: Some(format!("INPUT-MARK {}", "i".repeat(300_000))),
                ..order
            };
            let launch = launch(&order).unwrap();
            let variables = launch.environment.iter().map(|(_, value)| value);
            for word in launch.arguments.iter().chain(variables).chain([&launch.program]) {
                assert!(!word.contains("-MARK"), "{} {title}: {word:.80}", kind.name());
                assert!(word.len() < ARGUMENT_BYTES_MAX);
            }
            if launch.input != ProgramInput::Relay {
                let files: String = launch.files.iter().map(|(_, text)| text.as_str()).collect();
                assert!(files.contains("SYSTEM-MARK") && files.contains("MESSAGE-MARK"), "{} {title}", kind.name());
            }
            let own = match &order.home {
                ProgramHome::User => &order.folder,
                ProgramHome::Own(home) => home,
            };
            for (path, _) in &launch.files {
                let ours = path.starts_with(&order.folder) || path.starts_with(own);
                assert!(ours, "{} writes {}", kind.name(), path.display());
            }
        }
    }
}

#[test]
fn codex_shows_no_value_of_our_servers_environment() {
    let launch = launch(&order(AdapterKind::Codex)).unwrap();
    assert!(!launch.arguments.iter().any(|argument| argument.contains("tn_1")));
    assert!(launch.environment.contains(&("HANDOVER_TURN".into(), "tn_1".into())));
}

#[test]
fn an_empty_command_cannot_be_started() {
    for kind in AdapterKind::ALL {
        let order = TurnOrder { command: vec![], ..order(kind) };
        assert_eq!(launch(&order), Err(Unlaunchable::NoCommand));
    }
}

#[test]
fn every_kind_has_the_name_of_the_configuration() {
    let names = AdapterKind::ALL.map(AdapterKind::name);
    assert_eq!(names, ["claude", "opencode", "codex", "gemini", "acp", "exec"]);
    assert_eq!(names.map(AdapterKind::named), AdapterKind::ALL.map(Some));
    assert_eq!(AdapterKind::named("goose"), None);
}

fn describe(text: &mut String, title: &str, launch: &ProgramLaunch) {
    writeln!(text, "## {title}\n{} {}", launch.program, launch.arguments.join(" ")).unwrap();
    for (name, value) in &launch.environment {
        writeln!(text, "  variable {name}={value}").unwrap();
    }
    for folder in &launch.folders {
        writeln!(text, "  folder   {}", folder.display()).unwrap();
    }
    for (path, content) in &launch.files {
        writeln!(text, "  file     {} {content:?}", path.display()).unwrap();
    }
    match &launch.input {
        ProgramInput::Nothing => writeln!(text, "  reads    nothing\n").unwrap(),
        ProgramInput::File(path) => writeln!(text, "  reads    {}\n", path.display()).unwrap(),
        ProgramInput::Relay => writeln!(text, "  reads    what acp::converse says\n").unwrap(),
    }
}
