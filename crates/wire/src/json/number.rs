//! JSON numbers of any size, which keep their original spelling.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A JSON number. It keeps its spelling, so that a number is written exactly as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(Spelling);

/// The spelling of a JSON number. Most numbers are small integers. They are stored as integers, from which their text
/// can be restored exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Spelling {
    Small(i64),
    Written(Box<str>),
}

impl Number {
    /// Creates a number from its JSON text. The caller must have checked that the text is a JSON number.
    pub(crate) fn of(text: &str) -> Self {
        // An integer of up to eighteen characters fits into an `i64`, and its spelling can be restored from the `i64`.
        // Only `-0` is an exception, because it would become `0`.
        match text.parse::<i64>() {
            Ok(number) if text.len() <= 18 && text != "-0" => Self(Spelling::Small(number)),
            _ => Self(Spelling::Written(text.into())),
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Spelling::Small(number) => number.to_string().into(),
            Spelling::Written(text) => (&**text).into(),
        }
    }

    /// Returns true when the number is written without a fraction and without an exponent.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Spelling::Small(_) => true,
            Spelling::Written(text) => Self::is_integer_text(text),
        }
    }

    pub(crate) fn is_integer_text(text: &str) -> bool {
        !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }

    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Spelling::Small(number) => u64::try_from(*number).ok(),
            Spelling::Written(text) if &**text == "-0" => Some(0),
            Spelling::Written(text) => text.parse().ok(),
        }
    }

    pub fn as_f64(&self) -> f64 {
        self.text().parse().unwrap_or(f64::NAN)
    }

    /// Compares the values of two numbers and ignores their spelling: `1.0` equals `1`.
    pub fn compare(&self, other: &Self) -> Ordering {
        if let (Spelling::Small(left), Spelling::Small(right)) = (&self.0, &other.0) {
            return left.cmp(right);
        }
        Decimal::of(&self.text()).compare(&Decimal::of(&other.text()))
    }

    /// Returns a text that is the same for all spellings of a value, such as `1.0` and `1`.
    pub(super) fn canonical(&self) -> String {
        let Decimal { negative, digits, exponent } = Decimal::of(&self.text());
        format!("{}{digits}e{exponent}", if negative { "-" } else { "" })
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(Spelling::Small(number))
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self(Spelling::Written(number.to_string().into())), Self::from)
    }
}

/// Fails for a double that JSON cannot express: an infinity or NaN.
impl TryFrom<f64> for Number {
    type Error = f64;

    fn try_from(number: f64) -> Result<Self, f64> {
        if number.is_finite() { Ok(Self::of(&format!("{number:?}"))) } else { Err(number) }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Spelling::Small(number) => write!(f, "{number}"),
            Spelling::Written(text) => f.write_str(text),
        }
    }
}

/// A JSON number as `0.digits` times ten to the power of `exponent`. The last digit is never zero, and the number zero
/// has no digits.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    fn of(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let leading = i128::try_from(all.len() - digits.len()).unwrap_or(i128::MAX);
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        // An exponent that does not fit into an `i128` is replaced by the largest or the smallest `i128`.
        let far = if power.starts_with('-') { i128::MIN } else { i128::MAX };
        let power = power.strip_prefix('+').unwrap_or(power).parse::<i128>().unwrap_or(far);
        let whole = i128::try_from(whole.len()).unwrap_or(i128::MAX);
        Self { negative, digits, exponent: power.saturating_add(whole).saturating_sub(leading) }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let size = || match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        };
        match (self.negative, other.negative) {
            (false, false) => size(),
            (true, true) => size().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        let order = [
            "-1e400",
            "-10",
            "-9.5",
            "-1e-9999",
            "0",
            "1e-99999999999999999999999999999999999999999",
            "0.09",
            "0.1",
            "1",
            "1.5",
            "2",
            "10",
            "99.99",
            "100",
            "1e30",
            "1e99999999999999999999999999999999999999999",
        ];
        for (i, left) in order.iter().enumerate() {
            for (j, right) in order.iter().enumerate() {
                assert_eq!(Number::of(left).compare(&Number::of(right)), i.cmp(&j), "{left} and {right}");
            }
        }
        for text in
            ["0", "-0", "7", "-7", "123456789012345678", "1234567890123456789", "1e5", "1.50", "-9223372036854775808"]
        {
            assert_eq!(Number::of(text).to_string(), text, "the spelling is kept");
        }
        for (left, right) in [("-0", "0"), ("1", "1.0"), ("10", "1e1"), ("100e-2", "1E+0"), ("0.10", "1e-1")] {
            assert_eq!(Number::of(left).compare(&Number::of(right)), Ordering::Equal, "{left} and {right}");
            assert_eq!(Number::of(left).canonical(), Number::of(right).canonical());
        }
    }
}
