//! Tests `handover open`: a person at a terminal gets a link that connects a browser, and no other caller does.

use std::os::unix::fs::PermissionsExt as _;

use crate::browser::Browser;
use crate::place::{Place, Ran};
use crate::serve::Server;
use crate::terminal::Terminal;

/// Runs `handover open` as a person at a terminal, with these environment variables.
fn open(place: &Place, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    let terminal = Terminal::new();
    let mut program = place.program();
    terminal.seat(&mut program);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"] {
        program.env_remove(name);
    }
    let output = program.arg("open").args(words).envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the code of a link to the page of this server.
fn code<'a>(link: &'a str, server: &Server) -> &'a str {
    let start = format!("http://127.0.0.1:{}/#code=", server.port);
    let code = link.strip_prefix(&start).unwrap_or_else(|| panic!("{link} is no link to {start}"));
    assert_eq!(code.len(), 43, "{code} is not 32 bytes");
    code
}

#[test]
fn the_link_connects_one_browser_and_revoking_its_key_disconnects_it() {
    let place = Place::new();
    let server = Server::start(&place);
    let printed = open(&place, &["--print"], &[]);
    assert_eq!((printed.code, printed.out.lines().count()), (Some(0), 1), "{printed:?}");
    let browser = Browser::new();
    let enrolled = browser.enrol(server.port, code(printed.out.trim(), &server));
    assert_eq!(enrolled.status, 201, "{}", enrolled.text());
    let token = browser.log_in(server.port).json()["token"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&token, "/api/v1/workflows").status, 200);
    // A person follows the advice of the refusal, and the next browser is connected.
    let other = Browser::new();
    let refused = other.enrol(server.port, code(printed.out.trim(), &server));
    assert_eq!((refused.status, refused.code().as_str()), (403, "CODE_INVALID"), "{}", refused.text());
    assert!(refused.text().contains("run `handover open`"), "{}", refused.text());
    let refused = other.log_in(server.port);
    assert!(refused.code() == "KEY_UNKNOWN" && refused.text().contains("run `handover open`"), "{}", refused.text());
    let again = open(&place, &["--print"], &[]);
    let enrolled = other.enrol(server.port, code(again.out.trim(), &server));
    assert_eq!((enrolled.status, other.log_in(server.port).status), (201, 200));
    let spare = enrolled.json()["key_id"].as_str().unwrap().to_owned();
    assert_eq!(place.decide(&["token", "revoke", &spare]).code, Some(0));
    // The list has the browser and no code, also not that of a link that was not opened.
    assert_eq!(open(&place, &["--print"], &[]).code, Some(0));
    let tokens = place.json(&["token", "list", "--json"])["tokens"].clone();
    let rows: Vec<&serde_json::Value> =
        tokens.as_array().unwrap().iter().filter(|row| row["kind"] != "secret" && row["revoked"] == false).collect();
    assert_eq!(rows.len(), 1, "{tokens}");
    assert_eq!((&rows[0]["name"], &rows[0]["scope"]), (&"Firefox on Linux".into(), &"person".into()));
    assert!(rows[0]["last_used_at"].is_i64(), "{tokens}");
    let shown = place.run(&["token", "list"]).out;
    assert!(shown.contains("Firefox on Linux") && shown.contains("last used"), "{shown}");
    // Only a person disconnects a browser, and then its token ends at once.
    let key = rows[0]["id"].as_str().unwrap();
    assert!(place.run(&["token", "revoke", key]).err.contains("NOT_A_PERSON"));
    assert_eq!(place.decide(&["token", "revoke", key]).code, Some(0));
    let began = std::time::Instant::now();
    while server.get(&token, "/api/v1/workflows").status != 401 {
        assert!(began.elapsed() < crate::busy::patience(std::time::Duration::from_secs(2)), "it is still connected");
    }
    server.stop();
}

#[test]
fn without_a_terminal_or_a_server_there_is_no_link() {
    let place = Place::new();
    let ran = open(&place, &[], &[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), "No server is up. Start it: handover up\n"), "{ran:?}");
    let server = Server::start(&place);
    for words in [&["open"][..], &["open", "--print"]] {
        let ran = place.run(words);
        assert!(ran.code == Some(1) && ran.err.contains("NOT_A_PERSON") && ran.out.is_empty(), "{ran:?}");
    }
    // A server that has ended is not found: neither after a stop nor after a kill.
    server.stop();
    assert_eq!(open(&place, &[], &[]).code, Some(2));
    let killed = Server::start(&place);
    assert_eq!(open(&place, &["--print"], &[]).code, Some(0));
    drop(killed);
    assert_eq!(open(&place, &[], &[]).code, Some(2));
}

#[test]
fn the_desktop_opens_the_link_and_over_ssh_a_tunnel_is_shown() {
    let place = Place::new();
    let server = Server::start(&place);
    let bin = place.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opener = bin.join("xdg-open");
    let write = |script: &str| {
        std::fs::write(&opener, script).unwrap();
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let seen = place.outside().join("opened");
    write(&format!("#!/bin/sh\nprintf '%s %s' \"$1\" \"$HANDOVER_TOKEN\" >{}\n", seen.display()));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let desktop = [("PATH", path.as_str()), ("DISPLAY", ":7"), ("HANDOVER_TOKEN", "a secret")];
    let ran = open(&place, &[], &desktop);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[1..], ["Opened in your browser. The link works once, within a minute."], "{ran:?}");
    code(lines[0], &server);
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), format!("{} ", lines[0]), "the browser gets the link alone");
    std::fs::remove_file(&seen).unwrap();
    // A desktop without a browser: the person copies the link.
    write("#!/bin/sh\nexit 3\n");
    let ran = open(&place, &[], &desktop);
    assert!(ran.out.ends_with("\nOpen this link in your browser within a minute; it works once.\n"), "{ran:?}");
    write(&format!("#!/bin/sh\ntouch {}\n", seen.display()));
    assert_eq!(open(&place, &["--print"], &desktop).out.lines().count(), 1);
    let over_ssh = [desktop[0], desktop[1], ("SSH_CONNECTION", "192.0.2.1 5 192.0.2.7 22"), ("USER", "amy")];
    let ran = open(&place, &[], &over_ssh);
    let port = server.port;
    let tunnel = format!("On your own computer, first: ssh -L {port}:127.0.0.1:{port} amy@192.0.2.7");
    assert_eq!(ran.out.lines().nth(1), Some(tunnel.as_str()), "{ran:?}");
    assert!(!seen.exists(), "a browser was opened");
    server.stop();
}
