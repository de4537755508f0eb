//! Failures of commands: the texts for people, the JSON object for programs, and the exit code. No other code prints
//! why a command failed.

use std::io::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Color, Style};
use wire::json::{Value, object};
use wire::lifecycle::{self, ToolError};
use wire::visible;

use super::advice;
use super::show::plain;

/// The exit code when a rule refuses the command.
const REFUSED: u8 = 1;
/// The exit code when the caller can fix the cause: a wrong option, a wrong store URL, an unreadable file.
const UNUSABLE: u8 = 2;
/// The exit code for a fault of the machine or of Handover.
const FAULT: u8 = 3;

/// The reason why a command failed. A command returns it as an error, and `tell` prints it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CommandFailure {
    code: String,
    message: String,
    suggestion: String,
    /// `true` when the same command can succeed after the caller followed the suggestion.
    retry: bool,
    details: Option<Value>,
    exit: u8,
    /// The text that is printed for people on standard error.
    shown: String,
}

impl CommandFailure {
    /// Returns the failure of a call that a rule refused.
    pub(crate) fn refused(said: &ToolError) -> Self {
        Self::said(said, REFUSED)
    }

    /// Returns the failure of a call that ended because of a fault of the machine, such as a full disk.
    pub(crate) fn fault(said: &ToolError) -> Self {
        Self::said(said, FAULT)
    }

    /// Returns the failure of a command that a rule refuses. The text has the form `CODE what happened; what to do
    /// next`.
    pub(crate) fn by_text(text: &str) -> Self {
        Self::parsed(text, REFUSED, text.to_owned())
    }

    /// Returns the failure of a command that a rule refuses. `problem` is the error with which the rule refused it.
    pub(crate) fn refusal_of(problem: &dyn std::error::Error) -> Self {
        Self::parsed(&problem.to_string(), REFUSED, format!("handover: {problem}"))
    }

    /// Returns the failure of a command when the caller can fix the cause. The text says what is wrong.
    pub(crate) fn unusable(text: &str) -> Self {
        Self::parsed(text, UNUSABLE, format!("handover: {text}"))
    }

    /// Returns the failure of a command for which something is missing. The text says in a full sentence what the
    /// person must do, so it is shown without the prefix `handover: `.
    pub(crate) fn needed(text: &str) -> Self {
        Self::parsed(text, UNUSABLE, text.to_owned())
    }

    /// Returns the failure of a command for which something is missing that the caller can supply. The text says what
    /// is missing and what to type, so it is shown without the code and without the prefix `handover: `.
    pub(crate) fn missing(code: &str, text: &str) -> Self {
        Self { code: code.to_owned(), ..Self::parsed(text, UNUSABLE, text.to_owned()) }
    }

    fn said(said: &ToolError, exit: u8) -> Self {
        Self {
            code: said.code.to_owned(),
            message: said.message.clone(),
            suggestion: said.suggestion.clone(),
            retry: said.recoverable,
            details: said.details.clone(),
            exit,
            shown: lines(said),
        }
    }

    /// Splits a text into its code, its message and its suggestion. A text without a code gets the default code for
    /// `exit`.
    fn parsed(text: &str, exit: u8, shown: String) -> Self {
        let is_code =
            |word: &str| word.contains('_') && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        let (code, rest) = match text.split_once([' ', ':']) {
            Some((word, rest)) if is_code(word) => (word, rest.trim_start()),
            Some(_) | None => (code_of(exit), text),
        };
        let (message, suggestion) = rest.split_once("; ").unwrap_or((rest, suggestion_of(exit)));
        Self {
            code: code.to_owned(),
            message: message.to_owned(),
            suggestion: suggestion.to_owned(),
            retry: exit == REFUSED,
            details: None,
            exit,
            shown,
        }
    }

    /// Converts an error of any kind into the failure that is printed for it.
    fn of(error: &anyhow::Error) -> Self {
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        if let Some(usage) = error.downcast_ref::<clap::Error>() {
            return Self::usage(usage);
        }
        let shown = format!("handover: {error:#}");
        let exit = error.chain().find_map(exit_code).unwrap_or(UNUSABLE);
        let refusal = error.chain().find_map(|cause| match base_error(cause) {
            Some(base::Error::Refused(refusal)) => Some(lifecycle::refusal(refusal)),
            Some(base::Error::Fault(_) | base::Error::Random(_)) | None => None,
        });
        match refusal {
            Some(said) => Self { shown, ..Self::said(&said, exit) },
            None => Self::parsed(&format!("{error:#}"), exit, shown),
        }
    }

    /// Returns the failure of a command line that the parser does not understand.
    fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        let message = parts.next().unwrap_or_default();
        let rest: Vec<String> = parts.collect();
        let find = |word: &str| rest.iter().find_map(|part| part.strip_prefix(word)).map(str::trim);
        let suggestion =
            find("tip:").map(str::to_owned).or_else(|| find("Usage:").map(|usage| format!("write: {usage}")));
        Self {
            code: "USAGE".to_owned(),
            message: message.strip_prefix("error: ").unwrap_or(&message).to_owned(),
            suggestion: suggestion.unwrap_or_else(|| "read `handover help all`".to_owned()),
            retry: true,
            details: None,
            exit: u8::try_from(error.exit_code()).unwrap_or(UNUSABLE),
            shown: text,
        }
    }

    fn json(&self) -> Value {
        let Value::Object(mut members) = object([
            ("code", self.code.as_str().into()),
            ("message", self.message.as_str().into()),
            ("suggestion", self.suggestion.as_str().into()),
            ("retry", self.retry.into()),
        ]) else {
            return Value::Null;
        };
        members.extend(self.details.clone().map(|details| ("details".to_owned(), details)));
        object([("error", Value::Object(members))])
    }
}

fn code_of(exit: u8) -> &'static str {
    match exit {
        REFUSED => "REFUSED",
        UNUSABLE => "INVALID_INPUT",
        _ => "INTERNAL_ERROR",
    }
}

fn suggestion_of(exit: u8) -> &'static str {
    match exit {
        FAULT => "run `handover doctor`, which says what is wrong",
        _ => "fix the cause, then run the command again",
    }
}

/// Returns the lines for people about a refused call: the code with the message, the wrong arguments, the suggestion.
fn lines(said: &ToolError) -> String {
    let red = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))).bold();
    let mut text = format!("{red}{}{red:#} {}\n", said.code, plain(&said.message));
    let fields = said.details.as_ref().and_then(|details| details.get("fields")).and_then(Value::as_list);
    for problem in fields.unwrap_or_default() {
        let part = |name: &str| problem.get(name).and_then(Value::as_text).unwrap_or_default();
        let near = problem.get("nearest").and_then(Value::as_text);
        let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
        // Skip a problem that the refusal's message already contains, unless there is a similar name to suggest.
        if !said.message.contains(part("problem")) || !near.is_empty() {
            text.push_str(&format!("  `{}` {}{near}\n", plain(part("field")), plain(part("problem"))));
        }
    }
    text + &plain(&advice::typed(&said.suggestion))
}

/// Tells whether this process was started with `--json`. Searches the words of the command line, because a command line
/// that the parser does not understand has no parsed options. Words after `--` are no options.
pub(crate) fn is_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Prints why a command failed, and returns the exit code. With `--json`, prints one JSON object on standard error and
/// nothing else. Help and the version arrive here, too, because the parser returns them as errors.
pub(crate) fn tell(error: &anyhow::Error) -> ExitCode {
    if is_unread(error) {
        return ExitCode::SUCCESS;
    }
    if let Some(parsed) = error.downcast_ref::<clap::Error>()
        && (!is_json() || !parsed.use_stderr())
    {
        // Ignore a failed print: there is no other place where a person could see it.
        let _unseen = parsed.print();
        return ExitCode::from(u8::try_from(parsed.exit_code()).unwrap_or(UNUSABLE));
    }
    let failure = CommandFailure::of(error);
    let text = if is_json() { visible::json(&failure.json().to_string()) } else { failure.shown };
    let _unseen = writeln!(anstream::stderr(), "{}", text.trim_end());
    ExitCode::from(failure.exit)
}

/// Tells whether the error means that the reader of our output closed the pipe, as `head` does after its last line.
fn is_unread(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Returns the error of the service that a cause is. An error of an act on work stands for the error of the service that
/// it holds.
fn base_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a base::Error> {
    match cause.downcast_ref::<work::WorkError>() {
        Some(work::WorkError::Service(error)) => Some(error),
        Some(_) | None => cause.downcast_ref::<base::Error>(),
    }
}

fn exit_code(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    let fault = |fault: &store::Fault| if matches!(fault, store::Fault::Url { .. }) { UNUSABLE } else { FAULT };
    if let Some(closed) = cause.downcast_ref::<handover::office::OfficeClosed>()
        && closed.is_refusal()
    {
        return Some(REFUSED);
    }
    match base_error(cause) {
        Some(base::Error::Refused(_)) => Some(REFUSED),
        Some(base::Error::Fault(found)) => Some(fault(found)),
        Some(base::Error::Random(_)) => Some(FAULT),
        None => cause.downcast_ref::<store::Fault>().map(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_code_message_and_suggestion() {
        let cases = [
            ("NOT_A_PERSON no terminal; open one", REFUSED, ("NOT_A_PERSON", "no terminal", "open one")),
            ("NOT_TRUSTED: settings changed", REFUSED, ("NOT_TRUSTED", "settings changed", suggestion_of(REFUSED))),
            (
                "open plan.yaml: no such file",
                UNUSABLE,
                ("INVALID_INPUT", "open plan.yaml: no such file", suggestion_of(UNUSABLE)),
            ),
            ("SQL is broken", FAULT, ("INTERNAL_ERROR", "SQL is broken", suggestion_of(FAULT))),
        ];
        for (text, exit, expected) in cases {
            let found = CommandFailure::parsed(text, exit, text.to_owned());
            assert_eq!((found.code.as_str(), found.message.as_str(), found.suggestion.as_str()), expected);
        }
    }
}
