//! Finds the handoff contract in the text of an agent. Recognises Markdown's fenced code blocks, but no other Markdown.

/// The word that follows the opening backticks of a code block and marks the block as the agent's handoff contract.
pub(super) const TAG: &str = "agent_contract_handoff";

/// The Markdown code blocks in the text of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scan<'t> {
    /// The number of code blocks that are marked as a handoff contract. A block that was opened but never closed
    /// counts, too.
    pub(crate) opened: usize,
    /// The last closed code block that is marked as a handoff contract. Only this block is read as the contract.
    pub(crate) block: Option<FencedBlock<'t>>,
    /// The last closed code block that is marked as `json` or not marked at all.
    pub(crate) json: Option<FencedBlock<'t>>,
}

/// A fenced code block of a Markdown text, that is, a block between lines of backticks or tildes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FencedBlock<'t> {
    /// The byte offset of `body` in the whole text. `body` is the content of the code block without its last line end.
    pub(crate) start: usize,
    pub(crate) body: &'t str,
}

/// Searches a text for Markdown code blocks, line by line. Looks at each byte only once, so that no input makes the
/// search slow.
pub(crate) fn scan(text: &str) -> Scan<'_> {
    let mut found = Scan { opened: 0, block: None, json: None };
    // The code block that contains the current line: its opening fence (the line of backticks or tildes), and the byte
    // offset at which its content begins. `None` when the current line is outside of code blocks.
    let mut open: Option<(Fence, usize)> = None;
    let mut at = 0;
    while at < text.len() {
        let next = text[at..].find('\n').map_or(text.len(), |far| at + far + 1);
        let line = without_end(&text[at..next]);
        match open {
            None => {
                open = Fence::opening(line).map(|fence| (fence, next));
                found.opened += usize::from(open.is_some_and(|(fence, _)| fence.kind == FenceKind::Ours));
            }
            Some((fence, start)) if fence.is_closed_by(line) => {
                let block = Some(FencedBlock { start, body: without_end(&text[start..at]) });
                match fence.kind {
                    FenceKind::Ours => found.block = block,
                    FenceKind::Json => found.json = block,
                    FenceKind::Other => {}
                }
                open = None;
            }
            // Inside a code block, every line except the closing fence is content, even a line that looks like an
            // opening fence.
            Some(_) => {}
        }
        at = next;
    }
    found
}

/// Removes the line end from a line. A carriage return is part of the line end only when a line feed follows.
fn without_end(line: &str) -> &str {
    line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line)
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    kind: FenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceKind {
    /// A code block that is marked as an agent's handoff contract.
    Ours,
    /// A code block that is marked as JSON or not marked at all.
    Json,
    Other,
}

impl Fence {
    fn opening(line: &str) -> Option<Self> {
        let (mark, length, info) = fence(line)?;
        let label = info.trim_matches([' ', '\t']);
        let kind = if mark == '`' && info.strip_prefix(TAG).is_some_and(is_space) {
            FenceKind::Ours
        } else if label.is_empty() || label.eq_ignore_ascii_case("json") {
            FenceKind::Json
        } else {
            FenceKind::Other
        };
        (!info.contains('`')).then_some(Self { mark, length, kind })
    }

    fn is_closed_by(self, line: &str) -> bool {
        fence(line).is_some_and(|(mark, length, rest)| mark == self.mark && length >= self.length && is_space(rest))
    }
}

/// Reads a line as the fence of a Markdown code block: at most three spaces, then three or more of one mark (backtick
/// or tilde). Returns the mark, the number of marks and the text after them.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let marks = line.trim_start_matches(' ');
    if line.len() - marks.len() > 3 {
        return None;
    }
    let mark = marks.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = marks.trim_start_matches(mark);
    let length = marks.len() - rest.len();
    (length >= 3).then_some((mark, length, rest))
}

fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a scan of `text` finds `opened` code blocks that are marked as a handoff contract, and that the last
    /// closed block among them has the content `body`.
    fn check(text: &str, opened: usize, body: Option<&str>) {
        let found = scan(text);
        assert_eq!((found.opened, found.block.as_ref().map(|block| block.body)), (opened, body), "{text:?}");
        if let Some(block) = found.block {
            assert!(text[block.start..].starts_with(block.body), "{text:?}");
        }
    }

    #[test]
    fn a_block_has_an_exact_tag() {
        check("```agent_contract_handoff\n{}\n```", 1, Some("{}"));
        check("```agent_contract_handoff \t \n{}\n```\t \n", 1, Some("{}"));
        check("   `````agent_contract_handoff\n{}\n   ``````\n", 1, Some("{}"));
        check("``` agent_contract_handoff\n{}\n```", 0, None);
        check("```agent_contract_handoff x\n{}\n```", 0, None);
        check("```agent_contract_handoff\u{a0}\n{}\n```", 0, None);
        check("    ```agent_contract_handoff\n{}\n```", 0, None);
        check("\t```agent_contract_handoff\n{}\n```", 0, None);
        check("> ```agent_contract_handoff\n{}\n```", 0, None);
        check("~~~agent_contract_handoff\n{}\n~~~", 0, None);
    }

    #[test]
    fn only_its_own_closing_line_ends_a_code_block() {
        check("```agent_contract_handoff\n{\n~~~\n```x\n    ```\n}\n```", 1, Some("{\n~~~\n```x\n    ```\n}"));
        check("````agent_contract_handoff\n```\n{}\n````", 1, Some("```\n{}"));
        check("~~~\n```agent_contract_handoff\n{}\n```\n~~~\n", 0, None);
        check("~~~~ text\n~~~\n```\n~~~~\n```agent_contract_handoff\n{}\n```", 1, Some("{}"));
        check("```\n```agent_contract_handoff\n{}\n```", 0, None);
        check("```agent_contract_handoff\n1\n```agent_contract_handoff\n```", 1, Some("1\n```agent_contract_handoff"));
    }

    #[test]
    fn an_info_string_with_a_backtick_opens_nothing() {
        check("```a`b\n```agent_contract_handoff\n{}\n```", 1, Some("{}"));
        check("~~~a`b\n```agent_contract_handoff\n{}\n```", 1, Some("{}"));
        check("```agent_contract_handoff`\n{}\n```", 0, None);
    }

    #[test]
    fn line_ends_are_lf_and_crlf() {
        check("a\r\n```agent_contract_handoff\r\n{\r\n}\r\n```\r\n", 1, Some("{\r\n}"));
        check("```agent_contract_handoff\n{}\r\n```", 1, Some("{}"));
        check("```agent_contract_handoff\r\n{}\n```\r", 1, None);
        check("```agent_contract_handoff\r{}\r```\r", 0, None);
        check("```agent_contract_handoff\n{}\r\r\n```", 1, Some("{}\r"));
    }

    #[test]
    fn the_last_closed_block_counts() {
        let one = "```agent_contract_handoff\n1\n```\n";
        check(&format!("{one}{one}```agent_contract_handoff\n2\n```\n"), 3, Some("2"));
        check(&format!("{one}```agent_contract_handoff\n2\n"), 2, Some("1"));
        check(
            &format!("```agent_contract_handoff\n2\n````x\n{one}"),
            1,
            Some("2\n````x\n```agent_contract_handoff\n1"),
        );
        check("```agent_contract_handoff", 1, None);
        check("```agent_contract_handoff\n```", 1, Some(""));
        check("```agent_contract_handoff\n\n```", 1, Some(""));
        check("```agent_contract_handoff\n\n\n```", 1, Some("\n"));
        check("", 0, None);
    }
}
