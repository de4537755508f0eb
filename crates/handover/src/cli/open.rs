//! `handover open`: connects a browser with the page of the running server, by a link with a one-time code.

use std::io::IsTerminal as _;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use base::Service;
use clap::Args;
use handover::http::ServerRecord;
use handover::office::Office;
use handover::{person, token};
use spawn::{StartEnvironment, StartFolder};

use super::failure::CommandFailure;
use super::say;

pub(super) const HELP: &str = "\
The link has a one-time code. It connects one browser of this machine with your rights, once, and within a minute. The browser
stays connected until you have not used it for 30 days. `handover token list` shows the browsers, and `handover token revoke ID`
disconnects one.

Over SSH, the command shows how to reach the page from your own computer.";

/// The text when no server of the store runs on this machine.
const NO_SERVER: &str = "No server is up. Start it: handover up";
/// The longest time to wait for the program that opens the link. Some of these programs run as long as the browser, so a
/// program that still runs has not failed.
const OPENER_WAIT: Duration = Duration::from_secs(3);
/// The program that opens a link in the browser of the desktop.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// Print the link and open nothing
    #[arg(long)]
    print: bool,
}

/// The way on which a link gets to the person's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BrowserWay {
    /// A program of this machine's desktop opens the link.
    Desktop,
    /// The person is connected over SSH, so the browser is on another machine. `login` has the arguments of `ssh` that
    /// lead to this machine.
    Ssh { login: String },
    /// This machine has no screen, so the person copies the link.
    Copy,
}

impl BrowserWay {
    /// Chooses the way by the environment variables of this process.
    fn choose(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(connection) = set("SSH_CONNECTION").or_else(|| set("SSH_TTY")) {
            return Self::Ssh { login: login(&connection, set("USER").or_else(|| set("LOGNAME")).as_deref()) };
        }
        let has_screen = cfg!(target_os = "macos") || set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some();
        if has_screen { Self::Desktop } else { Self::Copy }
    }

    fn here() -> Self {
        Self::choose(|name| std::env::var(name).ok())
    }
}

/// Returns the arguments of `ssh` that lead to this machine. `connection` is the value of `SSH_CONNECTION`: address and
/// port of the client, then address and port of this machine. For another text, the machine's name stands for its
/// address.
fn login(connection: &str, user: Option<&str>) -> String {
    let words: Vec<&str> = connection.split(' ').collect();
    let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let (address, port) = match words.as_slice() {
        [_, _, address, port] => ((*address).to_owned(), Some(*port).filter(|port| *port != "22")),
        _ => (own_name, None),
    };
    let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("{port}{user}{address}")
}

/// The address of the page, and the link that connects a browser with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PageLink {
    port: u16,
    address: String,
    link: String,
}

impl PageLink {
    /// Makes a link with a new code. The caller must have checked that a person runs this process.
    async fn make(service: &Service, port: u16) -> anyhow::Result<Self> {
        let code = token::browser::offer_code(service).await?;
        let address = address(port);
        Ok(Self { port, link: format!("{address}#code={code}"), address })
    }

    /// Returns the lines with which a person opens the link.
    fn lines(&self, way: &BrowserWay) -> Vec<String> {
        let mut lines = vec![self.link.clone()];
        match way {
            BrowserWay::Desktop | BrowserWay::Copy => {
                lines.push("Open this link in your browser within a minute; it works once.".to_owned());
            }
            BrowserWay::Ssh { login } => {
                let port = self.port;
                lines.push(format!("On your own computer, first: ssh -L {port}:127.0.0.1:{port} {login}"));
                lines.push("Then open the link there, within a minute; it works once.".to_owned());
            }
        }
        lines
    }
}

fn address(port: u16) -> String {
    format!("http://127.0.0.1:{port}/")
}

pub(super) async fn run(office: &Office, asked: &OpenArguments) -> anyhow::Result<ExitCode> {
    let Some(server) = ServerRecord::find(&office.live) else {
        return Err(CommandFailure::missing("NO_SERVER", NO_SERVER).into());
    };
    let made = PageLink::make(office.desk.service(), server.port).await?;
    if asked.print {
        say(&made.link)?;
        return Ok(ExitCode::SUCCESS);
    }
    let way = BrowserWay::here();
    if way == BrowserWay::Desktop && was_opened(&made.link).await {
        say(&made.link)?;
        say("Opened in your browser. The link works once, within a minute.")?;
        return Ok(ExitCode::SUCCESS);
    }
    made.lines(&way).iter().try_for_each(|line| say(line))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the lines about the page for `handover up`, and opens the page in the browser. Makes a link only when a person
/// sits at a terminal and reads the output there: a service writes its output to a log that others may read.
pub(super) async fn announce(service: &Service, port: u16) -> Vec<String> {
    if person::at_a_terminal().is_err() || !std::io::stdout().is_terminal() {
        return vec![format!("{}    connect your browser: handover open", address(port))];
    }
    let (made, way) = match PageLink::make(service, port).await {
        Ok(made) => (made, BrowserWay::here()),
        // The agents can work without the page, so a link that cannot be made does not stop them.
        Err(error) => return vec![format!("{}    no browser can be connected: {error:#}", address(port))],
    };
    if way == BrowserWay::Desktop && was_opened(&made.link).await {
        return vec![format!("{}    opened in your browser", made.address)];
    }
    made.lines(&way)
}

/// Opens a link in the browser of the desktop. Returns false when the program for that is missing or fails.
async fn was_opened(link: &str) -> bool {
    // The browser is the person's own program, so it gets the person's environment, but no secret of Handover.
    let environment = StartEnvironment::Without(|name| name.to_string_lossy().starts_with("HANDOVER_"));
    let mut command: tokio::process::Command = spawn::command(OPENER, StartFolder::Own, environment).into();
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without a process group of its own, the browser would end with Ctrl-C at this terminal.
    command.process_group(0);
    let Ok(mut child) = command.spawn() else { return false };
    match tokio::time::timeout(OPENER_WAIT, child.wait()).await {
        Ok(ended) => ended.is_ok_and(|status| status.success()),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(variables: &[(&str, &str)]) -> BrowserWay {
        BrowserWay::choose(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn ssh(login: &str) -> BrowserWay {
        BrowserWay::Ssh { login: login.to_owned() }
    }

    #[test]
    fn a_display_opens_the_browser_unless_the_person_is_connected_over_ssh() {
        let connection = ("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.7 22");
        assert_eq!(way(&[("DISPLAY", ":0"), connection, ("USER", "amy")]), ssh("amy@192.0.2.7"));
        let other_port = ("SSH_CONNECTION", "2001:db8::1 50000 2001:db8::7 2222");
        assert_eq!(way(&[other_port, ("LOGNAME", "amy")]), ssh("-p 2222 amy@2001:db8::7"));
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert_eq!(way(&[("SSH_TTY", "/dev/pts/1")]), ssh(&name));
        if cfg!(target_os = "linux") {
            assert_eq!(way(&[("DISPLAY", ":0")]), BrowserWay::Desktop);
            assert_eq!(way(&[("WAYLAND_DISPLAY", "wayland-0"), ("SSH_CONNECTION", "")]), BrowserWay::Desktop);
            assert_eq!(way(&[("DISPLAY", "")]), BrowserWay::Copy);
        }
    }

    #[test]
    fn over_ssh_the_lines_say_how_to_reach_the_page() {
        let link = "http://127.0.0.1:4747/#code=abc".to_owned();
        let made = PageLink { port: 4747, address: address(4747), link };
        let lines = made.lines(&ssh("amy@192.0.2.7")).join("\n");
        assert_eq!(
            lines,
            "http://127.0.0.1:4747/#code=abc\n\
             On your own computer, first: ssh -L 4747:127.0.0.1:4747 amy@192.0.2.7\n\
             Then open the link there, within a minute; it works once."
        );
    }
}
