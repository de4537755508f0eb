//! The notice on this machine: a window of the desktop, or the bell and a message of the terminal.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use base::project::detect::clients::find_program;
use wire::visible;

use super::command::{self, NoticeSite};
use super::item_words::NoticeText;

/// The place where notices appear on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoticeScreen {
    Desktop(DesktopProgram),
    Terminal(TerminalMessage),
    /// Notices cannot appear: there is no desktop, or this process has no terminal.
    Nowhere,
}

/// A program that shows a window on the desktop. On Linux, each of these programs calls the D-Bus service
/// `org.freedesktop.Notifications`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DesktopProgram {
    NotifySend,
    /// The D-Bus tool of GLib, which every GTK desktop has.
    Gdbus,
    /// The D-Bus tool of systemd.
    Busctl,
    /// The script interpreter of macOS.
    Osascript,
}

/// The escape sequence by which a terminal shows a message. A terminal ignores a sequence that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalMessage {
    Osc9,
    Osc777,
    /// Both sequences, for a terminal about which nothing is known.
    Both,
}

/// The values of `TERM_PROGRAM` of terminals that understand OSC 9. These terminals get no OSC 777, because some of
/// them understand it, too, and would show two messages.
const OSC_9_PROGRAMS: [&str; 4] = ["iTerm.app", "WezTerm", "ghostty", "kitty"];
/// The values of `TERM` of terminals that understand OSC 9.
const OSC_9_TERMS: [&str; 2] = ["xterm-kitty", "xterm-ghostty"];
/// The beginnings of the values of `TERM` of terminals that understand OSC 777, but not OSC 9.
const OSC_777_TERMS: [&str; 2] = ["rxvt", "foot"];

impl NoticeScreen {
    /// Returns the desktop of this user, if this process can reach one.
    pub(super) fn of_desktop() -> Self {
        let variable = |name: &str| std::env::var_os(name);
        desktop_program(cfg!(target_os = "macos"), &variable).map_or(Self::Nowhere, Self::Desktop)
    }

    /// Returns the terminal of this process, if standard error is one.
    pub(super) fn of_terminal() -> Self {
        if std::io::stderr().is_terminal() {
            Self::Terminal(terminal_message(&|name| std::env::var_os(name)))
        } else {
            Self::Nowhere
        }
    }

    pub(super) async fn show(&self, site: NoticeSite<'_>, text: &NoticeText) -> Result<(), String> {
        match self {
            Self::Desktop(program) => command::run(site, &program.words(text), "").await,
            Self::Terminal(message) => {
                let mut out = std::io::stderr().lock();
                let written = out.write_all(message.sequence(text).as_bytes()).and_then(|()| out.flush());
                written.map_err(|error| format!("the terminal cannot be written: {error}"))
            }
            Self::Nowhere => Err("this machine has no desktop, and this process has no terminal".to_owned()),
        }
    }
}

/// Returns the program that shows windows on the desktop of this user. `None` when there is no desktop, such as on a
/// server or over SSH.
fn desktop_program(is_mac: bool, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<DesktopProgram> {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let path = variable("PATH").unwrap_or_default();
    let has = |name: &str| find_program(&path, name).is_some();
    if is_mac {
        // A login over SSH has no window server.
        return (!is_set("SSH_CONNECTION") && has("osascript")).then_some(DesktopProgram::Osascript);
    }
    if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return None;
    }
    let programs = [
        ("notify-send", DesktopProgram::NotifySend),
        ("busctl", DesktopProgram::Busctl),
        ("gdbus", DesktopProgram::Gdbus),
    ];
    programs.into_iter().find(|(name, _)| has(name)).map(|(_, program)| program)
}

impl DesktopProgram {
    /// Returns the program and its arguments for one notice. `--` keeps a text from being read as an option.
    fn words(self, text: &NoticeText) -> Vec<String> {
        let (title, body) = (visible::one_line(&text.title), visible::one_line(&text.body));
        // The desktops of Linux read the body as markup, so escape its special characters.
        let marked = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let words: Vec<&str> = match self {
            Self::NotifySend => vec!["notify-send", "--app-name=Handover", "--", &title, &marked],
            Self::Gdbus => {
                let call = [
                    "gdbus call --session --dest=org.freedesktop.Notifications",
                    "--object-path=/org/freedesktop/Notifications",
                    "--method=org.freedesktop.Notifications.Notify --",
                ];
                // `gdbus` expects each value in the text notation of GLib. Numbers and empty lists need their type
                // before them.
                let texts = [quoted("Handover"), "uint32 0".to_owned(), quoted(""), quoted(&title), quoted(&marked)];
                let rest = ["@as []", "@a{sv} {}", "int32 -1"].map(str::to_owned);
                let call = call.iter().flat_map(|part| part.split(' ')).map(str::to_owned);
                return call.chain(texts).chain(rest).collect();
            }
            Self::Busctl => {
                let call = [
                    "busctl --user -- call org.freedesktop.Notifications /org/freedesktop/Notifications",
                    "org.freedesktop.Notifications Notify susssasa{sv}i Handover 0",
                ];
                let values = ["", &title, &marked, "0", "0", "-1"];
                call.iter().flat_map(|part| part.split(' ')).chain(values).collect()
            }
            Self::Osascript => {
                let show = "display notification (item 2 of argv) with title (item 1 of argv)";
                vec!["osascript", "-e", "on run argv", "-e", show, "-e", "end run", "--", &title, &body]
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Returns a text as a quoted string in the text notation of GLib, which `gdbus` reads.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns the escape sequence that a terminal understands. The environment variables tell which terminal it is.
fn terminal_message(variable: &dyn Fn(&str) -> Option<OsString>) -> TerminalMessage {
    let text = |name: &str| variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    let (program, term) = (text("TERM_PROGRAM"), text("TERM"));
    if OSC_9_PROGRAMS.contains(&program.as_str()) || OSC_9_TERMS.contains(&term.as_str()) {
        TerminalMessage::Osc9
    } else if !text("VTE_VERSION").is_empty() || OSC_777_TERMS.iter().any(|known| term.starts_with(known)) {
        TerminalMessage::Osc777
    } else {
        TerminalMessage::Both
    }
}

impl TerminalMessage {
    /// Returns the bell character and the escape sequence that shows the message. Control characters in the texts are
    /// made visible, so that they cannot end the sequence.
    fn sequence(self, text: &NoticeText) -> String {
        let (title, body) = (visible::one_line(&text.title), visible::one_line(&text.body));
        // A semicolon separates the fields of OSC 777, so replace each semicolon in the title.
        let osc_777 = format!("\x1b]777;notify;{};{body}\x1b\\", title.replace(';', ","));
        let osc_9 = format!("\x1b]9;{title}: {body}\x1b\\");
        match self {
            Self::Osc9 => format!("\x07{osc_9}"),
            Self::Osc777 => format!("\x07{osc_777}"),
            Self::Both => format!("\x07{osc_9}{osc_777}"),
        }
    }
}

/// Returns the name of a repository: the name of its folder.
pub(super) fn repository_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_else(|| OsStr::new("/"));
    visible::one_line(&name.to_string_lossy())
}

#[cfg(test)]
mod tests;
