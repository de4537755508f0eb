//! Counts the values of a JSON text before the text is parsed, so that a text whose parsed values would take too much
//! memory can be refused.

/// The number of values in a JSON text, and the length of its longest list. When the text is not JSON, both numbers are
/// meaningless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JsonMeasure {
    /// The number of JSON values of all kinds. It may be slightly too high, because an empty list or object counts one
    /// value too many.
    pub(crate) values: usize,
    /// The number of elements in the longest list of the text.
    pub(crate) longest_list: usize,
}

/// The deepest level of nesting that is counted. Counting stops at a deeper list or object, because the parser refuses
/// a text that is nested so deeply.
const DEPTH_MAX: usize = 256;

/// Counts the values of a JSON text in one pass, without copying the text.
pub(crate) fn measure(bytes: &[u8]) -> JsonMeasure {
    let mut measure = JsonMeasure { values: 1, longest_list: 0 };
    // One entry for each list or object around the current byte. The entry of a list is the number of its commas so
    // far. The entry of an object is `None`.
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in bytes {
        if in_string {
            in_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' if open.len() >= DEPTH_MAX => return measure,
            b'[' | b'{' => {
                measure.values += 1;
                open.push((*byte == b'[').then_some(0));
            }
            b']' | b'}' => drop(open.pop()),
            b',' => {
                measure.values += 1;
                if let Some(Some(commas)) = open.last_mut() {
                    *commas += 1;
                    measure.longest_list = measure.longest_list.max(*commas + 1);
                }
            }
            _ => {}
        }
    }
    measure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_measured_outside_of_strings() {
        let cases = [
            ("[]", 2, 0),
            ("[1,2,3]", 4, 3),
            (r#"{"a":[1,2],"b":{"c":[1,2,3,4]}}"#, 10, 4),
            (r#"{"a":"[1,2,3,\"4,5\\","b":[1,2]}"#, 5, 2),
            ("[[1,2],[3,4,5]]", 8, 3),
        ];
        for (text, values, longest_list) in cases {
            assert_eq!(measure(text.as_bytes()), JsonMeasure { values, longest_list }, "{text}");
        }
    }
}
