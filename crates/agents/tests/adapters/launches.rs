//! Compares the launches of every program, permission, home and kind of start with `launch/*.txt`, which `UPDATE=1`
//! rewrites.

use std::fmt::Write;

use agents::adapter::{Home, Input, Kind, Launch, Order, Permissions, Unlaunchable, launch};

use super::replay::{folder, order};

/// The longest argument or variable with which the system starts a program, in bytes.
const ARGUMENT_BYTES_MAX: usize = 128 << 10;

fn orders(kind: Kind) -> Vec<(String, Order)> {
    let mut orders = Vec::new();
    for (permissions, may) in [(Permissions::Read, "read"), (Permissions::Edit, "edit"), (Permissions::All, "all")] {
        for (home, whose) in [(Home::User, "user"), (Home::Own("/home/agent".into()), "own")] {
            for (resume, how) in [(None, "new"), (Some("conv-1".to_owned()), "resumed")] {
                let first = resume.is_none();
                let order = Order {
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
    for kind in Kind::ALL {
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
    for kind in Kind::ALL {
        for (title, order) in orders(kind) {
            let order = Order {
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
            if launch.input != Input::Relay {
                let files: String = launch.files.iter().map(|(_, text)| text.as_str()).collect();
                assert!(files.contains("SYSTEM-MARK") && files.contains("MESSAGE-MARK"), "{} {title}", kind.name());
            }
            let own = match &order.home {
                Home::User => &order.folder,
                Home::Own(home) => home,
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
    let launch = launch(&order(Kind::Codex)).unwrap();
    assert!(!launch.arguments.iter().any(|argument| argument.contains("tn_1")));
    assert!(launch.environment.contains(&("HANDOVER_TURN".into(), "tn_1".into())));
}

#[test]
fn an_empty_command_cannot_be_started() {
    for kind in Kind::ALL {
        let order = Order { command: vec![], ..order(kind) };
        assert_eq!(launch(&order), Err(Unlaunchable::NoCommand));
    }
}

#[test]
fn every_kind_has_the_name_of_the_configuration() {
    let names = Kind::ALL.map(Kind::name);
    assert_eq!(names, ["claude", "opencode", "codex", "gemini", "acp", "exec"]);
    assert_eq!(names.map(Kind::named), Kind::ALL.map(Some));
    assert_eq!(Kind::named("goose"), None);
}

fn describe(text: &mut String, title: &str, launch: &Launch) {
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
        Input::Nothing => writeln!(text, "  reads    nothing\n").unwrap(),
        Input::File(path) => writeln!(text, "  reads    {}\n", path.display()).unwrap(),
        Input::Relay => writeln!(text, "  reads    what acp::converse says\n").unwrap(),
    }
}
