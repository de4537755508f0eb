//! Reads token counts and the names of models from messages of the Agent Client Protocol (ACP).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::raw::{elements, member, members, some_text};
use super::super::said::TokenUse;

/// The tokens of a turn or of one model. Agents use different names for the same numbers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpTokenCounts {
    total_tokens: Option<u64>,
    #[serde(alias = "input_tokens")]
    input_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    output_tokens: Option<u64>,
    #[serde(alias = "reasoningOutputTokens", default)]
    thought_tokens: u64,
    #[serde(alias = "cachedInputTokens", default)]
    cached_read_tokens: u64,
    #[serde(alias = "cacheWriteInputTokens", default)]
    cached_write_tokens: u64,
}

impl AcpTokenCounts {
    /// Returns the counted tokens, or `None` when the message counts none.
    pub(super) fn used(&self) -> Option<TokenUse> {
        let apart = self.input_tokens.zip(self.output_tokens);
        match (self.total_tokens, apart) {
            (None, None) => None,
            (None, Some((read, written))) => Some(TokenUse::apart(read, written)),
            (Some(total), apart) => {
                let apart = apart.and_then(|apart| self.parts_of(total, apart));
                let (input, output) = apart.unzip();
                Some(TokenUse { total, input, output })
            }
        }
    }

    /// Returns the input and the output that add up to the total. Some agents count cached tokens in the input and
    /// thinking in the output, others count them apart, and the protocol does not say which. So only a sum that is the
    /// total is believed.
    fn parts_of(&self, total: u64, (input, output): (u64, u64)) -> Option<(u64, u64)> {
        let cached = self.cached_read_tokens.saturating_add(self.cached_write_tokens);
        let with_cache = input.saturating_add(cached);
        let with_thought = output.saturating_add(self.thought_tokens);
        let parts = [(input, output), (with_cache, output), (input, with_thought), (with_cache, with_thought)];
        parts.into_iter().find(|(read, written)| read.saturating_add(*written) == total)
    }
}

/// The tokens of one model, as some agents list them in `_meta`.
#[derive(Debug, Deserialize)]
pub(super) struct AcpModelUsage {
    model: Option<String>,
    token_count: AcpTokenCounts,
}

/// Returns the sum of the tokens of all models. The sum of an empty list is zero.
pub(super) fn of_models(models: &[AcpModelUsage]) -> TokenUse {
    let used = models.iter().filter_map(|model| model.token_count.used());
    used.reduce(TokenUse::and).unwrap_or_else(|| TokenUse::apart(0, 0))
}

/// Returns the name of the model that used the most tokens.
pub(super) fn main_model(models: &[AcpModelUsage]) -> Option<&str> {
    let total = |model: &&AcpModelUsage| model.token_count.used().map_or(0, |used| used.total);
    models.iter().max_by_key(total).and_then(|model| model.model.as_deref())
}

/// Returns the model that an agent names when it opens a conversation. It is in `models`, or in the list of options.
/// Returns `None` for the word `default`, which names no model.
pub(super) fn session_model(result: Option<&RawValue>) -> Option<String> {
    let [models, options] = members(result, ["models", "configOptions"]);
    let named = some_text(member(models, "currentModelId"));
    let option = || {
        let option = elements(options)
            .into_iter()
            .find(|option| some_text(member(Some(option), "category")).as_deref() == Some("model"));
        some_text(member(option, "currentValue"))
    };
    named.or_else(option).filter(|model| model != "default")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(json: &str) -> Option<(u64, Option<u64>, Option<u64>)> {
        let counts: AcpTokenCounts = serde_json::from_str(json).ok()?;
        counts.used().map(|used| (used.total, used.input, used.output))
    }

    #[test]
    fn input_and_output_are_believed_only_when_they_add_up_to_the_total() {
        let cases = [
            (r#"{"totalTokens":120,"inputTokens":100,"outputTokens":20}"#, (120, Some(100), Some(20))),
            // The cache is counted apart from the input.
            (
                r#"{"totalTokens":620,"inputTokens":100,"outputTokens":20,"cachedReadTokens":400,"cachedWriteTokens":100}"#,
                (620, Some(600), Some(20)),
            ),
            // The cache is a part of the input, and the thinking is counted apart from the output.
            (
                r#"{"totalTokens":130,"inputTokens":100,"outputTokens":20,"cachedInputTokens":90,"reasoningOutputTokens":10}"#,
                (130, Some(100), Some(30)),
            ),
            (r#"{"totalTokens":999,"inputTokens":100,"outputTokens":20}"#, (999, None, None)),
            (r#"{"totalTokens":999}"#, (999, None, None)),
            (r#"{"input_tokens":100,"output_tokens":20}"#, (120, Some(100), Some(20))),
        ];
        for (json, expected) in cases {
            assert_eq!(used(json), Some(expected), "{json}");
        }
        assert_eq!(used("{}"), None);
    }

    #[test]
    fn a_conversation_names_its_model_in_models_or_in_its_options() {
        let model = |json: &str| session_model(serde_json::from_str::<Box<RawValue>>(json).ok().as_deref());
        assert_eq!(model(r#"{"models":{"currentModelId":"a"},"configOptions":[]}"#).as_deref(), Some("a"));
        let options =
            r#"{"configOptions":[{"category":"mode","currentValue":"build"},{"category":"model","currentValue":"b"}]}"#;
        assert_eq!(model(options).as_deref(), Some("b"));
        assert_eq!(model(r#"{"configOptions":[{"category":"model","currentValue":"default"}]}"#), None);
        assert_eq!(model("{}"), None);
    }
}
