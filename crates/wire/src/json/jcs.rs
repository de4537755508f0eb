//! Writes the canonical JSON of RFC 8785. All programs get the same bytes for the same value, so that they can compare
//! hashes of the values.
//!
//! Members are sorted by the UTF-16 code units of their names. Texts are escaped as little as JSON allows. Numbers are
//! written as ECMAScript writes doubles. A number that does not fit into a double has no canonical form. It keeps its
//! original spelling, so that it does not become equal to another number.

use std::fmt::Write as _;

use super::{Number, Value};

impl Value {
    /// Returns the value as canonical JSON by RFC 8785.
    pub fn jcs(&self) -> String {
        let mut out = String::new();
        self.write_jcs(&mut out);
        out
    }

    fn write_jcs(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&spelled(number)),
            Self::Text(text) => quote(text, out),
            Self::List(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    item.write_jcs(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<&(String, Self)> = members.iter().collect();
                members.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
                out.push('{');
                for (number, (name, value)) in members.into_iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    quote(name, out);
                    out.push(':');
                    value.write_jcs(out);
                }
                out.push('}');
            }
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

fn spelled(number: &Number) -> String {
    let value = number.as_f64();
    if value.is_finite() { double(value) } else { number.to_string() }
}

/// Writes a 64-bit floating-point number as ECMAScript's `Number::toString` does.
fn double(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    // ECMAScript writes the fewest digits that parse back to the same double. If several decimal numbers with so few
    // digits parse back to it, ECMAScript writes the one nearest to the double. Rounding the double to this number of
    // digits also gives the nearest one.
    let shortest = format!("{:e}", value.abs());
    let places = shortest.split_once('e').map_or(0, |(mantissa, _)| mantissa.len().saturating_sub(2));
    let nearest = format!("{:.places$e}", value.abs());
    let spelled = if nearest.parse() == Ok(value.abs()) { nearest } else { shortest };
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The position of the decimal point, counted from the first digit of the number.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{rest}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let (way, power) = if point > 0 { ('+', point - 1) } else { ('-', 1 - point) };
        format!("{first}{dot}{rest}e{way}{power}")
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    /// Checks the numbers of Appendix B of RFC 8785.
    #[test]
    fn numbers_are_written_as_the_rfc_shows() {
        let cases = [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, expected) in cases {
            assert_eq!(double(f64::from_bits(bits)), expected, "{bits:016x}");
            assert_eq!(parse(expected).map(|node| node.to_value().jcs()).unwrap_or_default(), expected);
        }
    }

    /// Checks the examples of sections 3.2.2 and 3.2.3 of RFC 8785.
    #[test]
    fn texts_and_members_are_written_as_the_rfc_shows() {
        let cases = [
            (
                r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
                "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                 \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
            ),
            (
                r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
                    "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
                    "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
                 \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\
                 \"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
            (
                r#"["\b\t\f\u0000\u001f\u007f", {}, [], -0, -0.0, 1e1]"#,
                "[\"\\b\\t\\f\\u0000\\u001f\u{7f}\",{},[],0,0,10]",
            ),
        ];
        for (text, expected) in cases {
            let Ok(node) = parse(text) else { panic!("{text} is not JSON") };
            assert_eq!(node.to_value().jcs(), expected);
        }
    }

    #[test]
    fn a_number_beyond_doubles_is_still_told_from_others() {
        let form = |text: &str| parse(text).map(|node| node.to_value().jcs()).unwrap_or_default();
        assert_ne!(form("1e400"), form("1e401"));
        assert_ne!(form("1e400"), form("1e308"));
    }
}
