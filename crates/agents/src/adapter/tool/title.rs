//! Writes the title of a tool call: one line that names the action, its target and its result.

use std::path::Path;

use engine::time::duration_words;
use wire::visible;

use super::super::stream::head;
use super::{LineChange, ToolCallDetail, ToolCallKind, ToolCallResult};

/// The longest title, in bytes. A longer command or path is cut, so that the result at the end stays visible.
const TITLE_BYTES_MAX: usize = 200;
/// The duration in milliseconds from which the title of a command shows it. A shorter duration would be shown as `0 s`.
const RUN_SHOWN_FROM_MS: u64 = 100;
/// The duration in milliseconds from which the title of any other call shows it.
const SHOWN_FROM_MS: u64 = 1_000;

/// Returns the title of a tool call in plain words, such as `edit src/api.js +12 −3`, `run npm test → 1 (6.1 s)` or
/// `read src/a.rs`. The title is one line without secrets and without hidden characters. Paths in `folder`, the folder
/// of the agent's work, are shown from there. A call without a known target has the name of its tool as its title.
pub fn tool_title(name: &str, call: &ToolCallDetail, result: Option<&ToolCallResult>, folder: Option<&Path>) -> String {
    let ending = ending(call, result);
    let begin = match call.targets.as_slice() {
        [target, more @ ..] if call.kind != ToolCallKind::Other => {
            let more = match more.len() {
                0 => String::new(),
                1 => " and 1 more file".to_owned(),
                count => format!(" and {count} more files"),
            };
            format!("{} {}{more}", call.kind.as_str(), below(target, folder))
        }
        _ => name.to_owned(),
    };
    let begin = visible::decided(&begin.split_whitespace().collect::<Vec<_>>().join(" "));
    let room = TITLE_BYTES_MAX.saturating_sub(ending.len());
    if begin.len() <= room {
        return format!("{begin}{ending}");
    }
    format!("{}…{ending}", head(&begin, room.saturating_sub('…'.len_utf8())).trim_end())
}

/// Returns the end of a title: the changed lines, the exit code or the failure, and the duration.
fn ending(call: &ToolCallDetail, result: Option<&ToolCallResult>) -> String {
    let ok = result.and_then(|result| result.ok);
    let exit_code = result.and_then(|result| result.exit_code);
    let is_run = call.kind == ToolCallKind::Run;
    let mut text = String::new();
    // A failed edit changed nothing.
    if ok != Some(false)
        && let Some(lines) = result.and_then(|result| result.lines).or(call.lines)
    {
        text.push_str(&changed(lines));
    }
    match (exit_code, ok) {
        (Some(code), _) if is_run => text.push_str(&format!(" → {code}")),
        (_, Some(false)) => text.push_str(" → failed"),
        (_, Some(true)) if is_run => text.push_str(" → ok"),
        (_, Some(true) | None) => {}
    }
    let shown_from = if is_run { RUN_SHOWN_FROM_MS } else { SHOWN_FROM_MS };
    if let Some(ms) = result.and_then(|result| result.ms).filter(|ms| *ms >= shown_from) {
        text.push_str(&format!(" ({})", duration_words(ms)));
    }
    text
}

fn changed(lines: LineChange) -> String {
    match (lines.added, lines.removed) {
        (0, 0) => String::new(),
        (added, 0) => format!(" +{added}"),
        (0, removed) => format!(" −{removed}"),
        (added, removed) => format!(" +{added} −{removed}"),
    }
}

/// Returns a path as it is seen from the folder. Returns the whole target when it is not in the folder.
fn below<'t>(target: &'t str, folder: Option<&Path>) -> &'t str {
    let inside = folder.and_then(|folder| Path::new(target).strip_prefix(folder).ok()).and_then(Path::to_str);
    inside.filter(|path| !path.is_empty()).unwrap_or(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolCallKind, targets: &[&str], lines: Option<(u32, u32)>) -> ToolCallDetail {
        let lines = lines.map(|(added, removed)| LineChange { added, removed });
        ToolCallDetail { id: None, kind, targets: targets.iter().map(|&target| target.to_owned()).collect(), lines }
    }

    fn result(ok: Option<bool>, exit_code: Option<i32>, ms: Option<u64>) -> ToolCallResult {
        ToolCallResult { ok, exit_code, ms, ..ToolCallResult::default() }
    }

    fn titled(call: &ToolCallDetail, result: Option<&ToolCallResult>) -> String {
        tool_title("the_tool", call, result, Some("/repo".as_ref()))
    }

    #[test]
    fn a_title_names_the_action_the_target_and_the_result() {
        use ToolCallKind::{Edit, Fetch, Other, Read, Run, Search, Write};
        let edit = call(Edit, &["/repo/src/api.js"], Some((12, 3)));
        let run = call(Run, &["npm test"], None);
        let cases = [
            (&edit, None, "edit src/api.js +12 −3"),
            (&edit, Some(result(Some(true), None, Some(40))), "edit src/api.js +12 −3"),
            (&edit, Some(result(Some(false), None, None)), "edit src/api.js → failed"),
            (&run, None, "run npm test"),
            (&run, Some(result(Some(false), Some(1), Some(6_100))), "run npm test → 1 (6.1 s)"),
            (&run, Some(result(Some(true), Some(0), Some(99))), "run npm test → 0"),
            (&run, Some(result(Some(true), None, None)), "run npm test → ok"),
            (&run, Some(result(Some(false), None, None)), "run npm test → failed"),
            (&run, Some(result(None, None, Some(65_000))), "run npm test (1 min 5 s)"),
            (&call(Write, &["/repo/a"], Some((3, 0))), None, "write a +3"),
            (&call(Edit, &["/repo/a"], Some((0, 2))), None, "edit a −2"),
            (&call(Edit, &["/repo/a", "b", "c"], None), None, "edit a and 2 more files"),
            (&call(Edit, &["a", "b"], None), None, "edit a and 1 more file"),
            (&call(Read, &["/repository/a"], None), None, "read /repository/a"),
            (&call(Search, &["fn  main\n("], None), None, "search fn main ("),
            (
                &call(Fetch, &["https://x.org/y"], None),
                Some(result(None, None, Some(2_000))),
                "fetch https://x.org/y (2 s)",
            ),
            (&call(Read, &[], None), None, "the_tool"),
            (&call(Other, &["never shown"], None), Some(result(Some(false), None, None)), "the_tool → failed"),
        ];
        for (call, result, expected) in cases {
            assert_eq!(titled(call, result.as_ref()), expected);
        }
    }

    #[test]
    fn a_title_is_one_bounded_line_without_secrets() {
        let long = "x".repeat(500);
        let title = titled(&call(ToolCallKind::Run, &[&long], None), Some(&result(Some(false), Some(1), Some(6_100))));
        assert_eq!(title.len(), TITLE_BYTES_MAX);
        assert!(title.ends_with("x… → 1 (6.1 s)"), "{title}");
        let secret =
            "curl -H 'Authorization: Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'\n\u{1b}[2Kexample.org";
        let title = titled(&call(ToolCallKind::Run, &[secret], None), None);
        assert!(!title.contains("abcdefghijkl") && !title.contains(['\n', '\u{1b}']), "{title}");
    }
}
