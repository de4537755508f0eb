//! Limits the size of a YAML text before it is loaded. The loader copies the target of each alias, so without a limit a
//! few lines could fill all memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// The maximum number of items in one list of a YAML text; a longer list is an error. The limit is the maximum number
/// of tasks in a plan.
const LIST_ITEMS_MAX: u64 = engine::limits::PLAN_TASKS_MAX as u64;
/// The maximum number of values in a YAML text, including the values that aliases repeat; more values are an error.
const VALUES_MAX: u64 = 2_000_000;

/// A list or a mapping whose end is not read yet.
struct OpenNode {
    anchor: usize,
    is_list: bool,
    entries: u64,
    /// The number of values read so far in this list or mapping, including those inside its entries.
    values: u64,
}

/// Refuses a YAML text that would become too many values. Accepts a text that cannot be parsed, because the loader then
/// reports the error.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut open: Vec<OpenNode> = Vec::new();
    let mut anchors: HashMap<usize, u64> = HashMap::new();
    let mut total: u64 = 0;
    for event in Parser::new_from_str(text) {
        let Ok((event, _)) = event else { return Ok(()) };
        let ended = match event {
            Event::SequenceStart(anchor, _) => {
                open.push(OpenNode { anchor, is_list: true, entries: 0, values: 1 });
                continue;
            }
            Event::MappingStart(anchor, _) => {
                open.push(OpenNode { anchor, is_list: false, entries: 0, values: 1 });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|node| (node.anchor, node.values)),
            Event::Scalar(_, _, anchor, _) => Some((anchor, 1)),
            Event::Alias(anchor) => Some((0, anchors.get(&anchor).copied().unwrap_or(1))),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                None
            }
        };
        let Some((anchor, values)) = ended else { continue };
        if anchor > 0 {
            anchors.insert(anchor, values);
        }
        match open.last_mut() {
            Some(node) => {
                node.entries += 1;
                node.values = node.values.saturating_add(values);
                total = total.max(node.values);
                if node.is_list && node.entries > LIST_ITEMS_MAX {
                    return Err(format!(
                        "a list has more than {LIST_ITEMS_MAX} entries; split the work into several plans"
                    ));
                }
            }
            None => total = total.saturating_add(values),
        }
        if total > VALUES_MAX {
            return Err(format!(
                "the file has more than {VALUES_MAX} values, counting those that aliases repeat; \
                split it"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for number in 1..12 {
            let names = vec![format!("*a{}", number - 1); 10].join(", ");
            text.push_str(&format!("a{number}: &a{number} [{names}]\n"));
        }
        assert!(check(&text).unwrap_err().contains("more than 2000000 values"));
    }

    #[test]
    fn a_list_of_more_tasks_than_a_plan_has_is_refused() {
        let list = |entries: usize| format!("tasks:\n{}", "  - name: x\n".repeat(entries));
        assert_eq!(check(&list(100_000)), Ok(()));
        assert!(check(&list(100_001)).unwrap_err().contains("more than 100000 entries"));
    }

    #[test]
    fn an_alias_or_two_are_welcome() {
        assert_eq!(check("a: &b {c: 1}\nd: [*b, *b]\n"), Ok(()));
        assert_eq!(check("[broken"), Ok(()), "the loader says what is wrong");
    }
}
