//! Measures the speed of checking documents: one handoff (the report of an agent at the end of its work), a mebibyte of
//! input that is made to be slow to check, and a complete run of `handover check`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::rounds::{Bar, Report, median};

/// A handoff (the report of an agent at the end of its work) of about 600 bytes, which the benchmark checks again and
/// again.
const HANDOFF: &str = r#"All tests pass; the login page is live.

```agent_contract_handoff
{
  "agent_status": {"plan_status": "COMPLETE", "agent_id": "ab7e4d2", "pending_steps": [], "next_action": "review the change"},
  "evidence_report": {
    "patterns_checked": ["login"], "files_checked": ["src/login.rs"],
    "commands_run": [{"command": "cargo test", "result": "ok"}], "key_outputs": ["login page renders"],
    "verbatim_outputs": [], "cross_layer_impacts": [], "open_gaps": [],
    "verification": {"method": "tests", "result": "pass"}
  },
  "user_facing_summary": "The login page works."
}
```
"#;

fn judge() -> bool {
    wire::handoff::judge(std::hint::black_box(HANDOFF), &wire::handoff::HandoffContext::default()).is_valid()
}

pub(crate) fn handoff(report: &mut Report) -> Result<()> {
    const TIMES: u32 = 2_000;
    let mut rounds = Vec::new();
    for _ in 0..30 {
        let start = Instant::now();
        let valid = (0..TIMES).filter(|_| std::hint::black_box(judge())).count();
        anyhow::ensure!(valid > 0, "the handoff must be valid");
        rounds.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES));
    }
    let what = format!("a handoff of {} bytes is judged, median of 30 rounds", HANDOFF.len());
    report.figure(&what, median(&mut rounds), "us", Some(Bar::AtMost(10.0)));
    Ok(())
}

/// Runs as a child process: checks the example report of an agent `times` times, while the parent counts machine
/// instructions.
pub(crate) fn child(times: &str) -> Result<()> {
    let valid = (0..times.parse::<u32>()?).filter(|_| std::hint::black_box(judge())).count();
    anyhow::ensure!(valid > 0, "the handoff must be valid");
    Ok(())
}

pub(crate) fn instructions(folder: &Path, report: &mut Report) -> Result<()> {
    let count = |times: u32| -> Result<f64> {
        let out = folder.join(format!("handoff-{times}.callgrind"));
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", &format!("--callgrind-out-file={}", out.display())])
            .arg(std::env::current_exe()?)
            .args(["child-handoff", &times.to_string()])
            .output()?;
        anyhow::ensure!(output.status.success(), "callgrind failed: {}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&out)?;
        let line = text.lines().find(|line| line.starts_with("summary:") || line.starts_with("totals:"));
        Ok(line.and_then(|line| line.split_whitespace().nth(1)).context("a total")?.parse()?)
    };
    report.figure("instructions of judging that handoff", (count(1_100)? - count(100)?) / 1_000.0, "", None);
    Ok(())
}

/// Checks several inputs of one mebibyte that are made to be slow to check, and reports the slowest check.
pub(crate) fn hostile(report: &mut Report) -> Result<()> {
    const MEBIBYTE: usize = 1 << 20;
    let fill = |piece: &str, room: usize| piece.repeat(room / piece.len());
    let inside = |open: &str, piece: &str, close: &str| {
        format!("{open}{}{close}", fill(piece, MEBIBYTE - open.len() - close.len()))
    };
    let handoff = |open: &str, piece: &str, close: &str| {
        inside(&format!("```agent_contract_handoff\n{{{open}"), piece, &format!("{close}}}\n```\n"))
    };
    let mut worst = (0.0_f64, "");
    let mut measure = |name: &'static str, judge: &dyn Fn() -> usize| {
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(judge());
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        let found = median(&mut times);
        if found > worst.0 {
            worst = (found, name);
        }
    };
    let contract =
        |text: &str| wire::handoff::judge(text, &wire::handoff::HandoffContext::default()).problems().count();
    let fences = fill("```\n", MEBIBYTE);
    measure("fences", &|| contract(&fences));
    let wrong = handoff("\"evidence_report\":{\"files_checked\":[", "1,", "1]}");
    measure("wrong elements of a contract", &|| contract(&wrong));
    let unknown: String = (0..90_000).map(|number| format!("\"k{number}\":1,")).collect();
    let unknown = format!("```agent_contract_handoff\n{{{unknown}\"z\":1}}\n```\n");
    measure("unknown keys of a contract", &|| contract(&unknown));
    let wire = |text: &str| wire::message::judge(text.as_bytes()).report.errors().len();
    let goal = inside("{\"wire\":\"1.0\",\"type\":\"brief\",\"payload\":{\"goal\":\"A.", "(", "\"}}");
    measure("brackets after a point in a goal", &|| wire(&goal));
    let criteria = inside("{\"wire\":\"1.0\",\"type\":\"brief\",\"payload\":{\"acceptance_criteria\":[", "1,", "1]}}");
    measure("wrong elements of a wire", &|| wire(&criteria));
    let files = inside("{\"success\":true,\"artifacts\":[", "{},", "{}]}");
    measure("empty artifacts", &|| wire::envelope::judge_output(files.as_bytes()).report.errors().len());
    let lists = inside("{\"x\":[", "[[]],", "1]}");
    measure("nested lists in an unknown field", &|| {
        wire::envelope::judge_output(lists.as_bytes()).report.errors().len()
    });
    let lines = fill("x\n", MEBIBYTE);
    measure("bad lines of a stream", &|| {
        wire::stream::read(lines.as_bytes()).map_or(0, |read| usize::from(read.is_valid()))
    });
    report.figure(
        &format!("a mebibyte of the worst of eight hostile inputs ({})", worst.1),
        worst.0,
        "ms",
        Some(Bar::AtMost(50.0)),
    );
    Ok(())
}

/// Measures a run of `handover check` from the start of the process to its verdict, compared with a program that does
/// nothing.
pub(crate) fn starts(folder: &Path, report: &mut Report) -> Result<()> {
    let (source, empty, text) = (folder.join("empty.rs"), folder.join("empty"), folder.join("handoff.md"));
    std::fs::write(&source, "fn main() {}")?;
    std::fs::write(&text, HANDOFF)?;
    let built = Command::new("rustc").arg("-O").arg("-o").arg(&empty).arg(&source).status()?;
    anyhow::ensure!(built.success(), "rustc could not build the empty program");
    let start = |program: &Path, arguments: &[&str]| -> Result<f64> {
        let began = Instant::now();
        let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
        anyhow::ensure!(status.success(), "{} failed", program.display());
        Ok(began.elapsed().as_secs_f64() * 1e3)
    };
    let text = text.display().to_string();
    let handover = Path::new(env!("CARGO_BIN_EXE_handover"));
    let (mut nothing, mut checking) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        nothing.push(start(&empty, &[])?);
        checking.push(start(handover, &["check", "handoff", &text])?);
    }
    let (nothing, checking) = (median(&mut nothing), median(&mut checking));
    let what =
        format!("`handover check handoff` ({checking:.2} ms) beyond an empty program ({nothing:.2} ms), 200 starts");
    report.figure(&what, checking - nothing, "ms", Some(Bar::AtMost(1.2)));
    Ok(())
}
