use crate::json::Value;
use crate::lifecycle::Include;
use engine::context::Facts;
pub const MAX_TOKENS_DEFAULT: u32 = 8000;
pub fn rows_wanted(_: Option<&Include>, _: u32) -> u32 {
    100
}
pub fn fit(facts: &Facts, _: Option<&Include>, _: u32) -> Value {
    crate::json::object([("task", facts.task.name.as_str().into())])
}
