//! `handover doctor`: checks the store, the settings and this machine, and prints the result of each check.

use std::io::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Color, Style};
use clap::Args;
use handover::doctor::{DoctorFinding, DoctorState, examine};
use wire::json::{Value, object};

use super::show::plain;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print the findings as JSON on one line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(named: Option<&str>, asked: &Doctor) -> anyhow::Result<ExitCode> {
    let json = asked.json;
    let mut tell = |finding: &DoctorFinding| {
        if !json {
            // Ignore a failure to print the result of a check, because the result still counts for the exit code.
            let _unseen = show(finding);
        }
    };
    let found = examine(named, &mut tell).await;
    let bad = found.iter().filter(|finding| finding.state == DoctorState::Bad).count();
    let mut out = anstream::stdout().lock();
    if json {
        let findings = Value::List(found.iter().map(DoctorFinding::to_value).collect());
        writeln!(out, "{}", object([("healthy", (bad == 0).into()), ("findings", findings)]))?;
    } else if bad == 0 {
        writeln!(out, "\nNo problems found.")?;
    } else {
        writeln!(out, "\n{} to fix. Nothing was changed.", base::ground::words::count(bad, "problem"))?;
    }
    Ok(ExitCode::from(u8::from(bad > 0)))
}

fn show(finding: &DoctorFinding) -> std::io::Result<()> {
    let colour = match finding.state {
        DoctorState::Good => AnsiColor::Green,
        DoctorState::Notice => AnsiColor::Yellow,
        DoctorState::Bad => AnsiColor::Red,
    };
    let style = Style::new().fg_color(Some(Color::Ansi(colour)));
    let mut out = anstream::stdout().lock();
    writeln!(out, "{style}{:<7}{style:#} {:<14} {}", finding.state.as_str(), finding.what, plain(&finding.seen))?;
    if let Some(advice) = &finding.advice {
        writeln!(out, "{:<23}→ {}", "", plain(advice))?;
    }
    out.flush()
}
