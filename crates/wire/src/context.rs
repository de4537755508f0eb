//! The reply of `task_load_context`: the facts that the worker of a task must know, cut to a limited number of tokens.
//!
//! The cost of a text is measured as its weight, an estimate in parts of a token, see [`tokens`]. Each piece of the
//! reply, such as a field, is weighed once. The parts of the reply share the token budget: the workflow gets 15 %, the
//! task 55 %, earlier tasks 20 %, dependencies and siblings 10 %. When a part does not need all of its tokens, the next
//! part gets the unused tokens. Tokens that the last part does not need go back to the parts that were shortened. Then
//! each part is written, and it is cut if its share is too small. The reply lists the pieces that were cut or left out,
//! each with the tool call that fetches it. At the end the complete reply is weighed. A reply that costs more than the
//! caller's limit is written again with fewer tokens.

mod checkpoints;
mod cuts;
mod fields;
mod piece;
mod tasks;
mod wanted;

use engine::context::ContextFacts;

use checkpoints::History;
use cuts::{Cuts, Fetch};
use piece::{PieceField, share};
use tasks::Tasks;
use wanted::WantedContext;

use crate::json::{Object, Value};
use crate::lifecycle::Include;
use crate::tokens::{self, weight};

/// The smallest number of tokens to which a caller may limit the reply of `task_load_context`. With fewer tokens not
/// even the names of the task and the workflow fit, so a smaller limit is refused.
pub const MAX_TOKENS_MIN: u32 = 500;
/// The limit in tokens for the reply of `task_load_context` when the caller gives no limit.
pub const MAX_TOKENS_DEFAULT: u32 = 8_000;

/// The shares of the token budget that the parts of the reply of `task_load_context` get, in percent. The parts are, in
/// this order: the workflow, the task, earlier tasks, and the task's siblings and dependencies together.
const SHARES: [u64; 4] = [15, 55, 20, 10];
/// The order in which the shortened parts of the reply of `task_load_context` get the tokens that other parts did not
/// need. The numbers are indexes into [`SHARES`].
const BACK: [usize; 4] = [1, 2, 3, 0];
/// In the reply of `task_load_context`, the task's own fields and its checkpoints (progress notes) share the tokens for
/// the task. The fields get this percentage, and the checkpoints get the rest.
const FIELDS_SHARE: u64 = 60;
/// The maximum number of times that a reply of `task_load_context` is written, each time with a different budget, until
/// its cost is near the token limit. The first reply often leaves tokens unused, because the estimated weights of the
/// pieces add up to more than the weight of the whole reply.
const ROUNDS_MAX: u32 = 6;
/// The part of the token limit that may stay unused: one 32nd. The reply of `task_load_context` is written again with
/// more text until its unused tokens are less than the token limit divided by `NEAR`.
const NEAR: u64 = 32;

/// The maximum number of checkpoints (progress notes of a task) that are loaded by default; older ones are only
/// counted. With a small token budget, fewer checkpoints are loaded: only as many as would fit if each took
/// [`ROW_TOKENS`] tokens.
const ROWS_DEFAULT_MAX: u32 = 100;
/// The maximum number of checkpoints (progress notes of a task) that are loaded when the caller wants the whole history
/// or many details; older ones are only counted.
const ROWS_MAX: u32 = 2_000;
/// The minimum number of tokens that one checkpoint (progress note of a task) takes in the reply of
/// `task_load_context`.
const ROW_TOKENS: u32 = 10;

/// Returns the number of checkpoints (progress notes of a task), counted from the newest, that the caller must load
/// from the store before it calls [`fit`].
pub fn rows_wanted(include: Option<&Include>, max_tokens: u32) -> u32 {
    let wanted = WantedContext::of(include);
    let fitting = max_tokens.div_ceil(ROW_TOKENS);
    let max = if wanted.history { ROWS_MAX } else { ROWS_DEFAULT_MAX.max(wanted.detailed).min(ROWS_MAX) };
    fitting.min(max)
}

/// Returns the reply of `task_load_context`. As compact JSON, the reply costs at most `max_tokens` by
/// [`tokens::estimate`]. The reply contains this estimate.
pub fn fit(facts: &ContextFacts, include: Option<&Include>, max_tokens: u32) -> Value {
    let max_tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let parts = ContextParts::of(facts, WantedContext::of(include));
    let limit = tokens::weight_within(max_tokens);
    // Try to write the reply uncut, even when the sum of the estimated weights (token costs) of its pieces exceeds the
    // limit by up to a quarter. The weight of the whole reply is lower than this sum.
    if parts.want() <= limit + limit / 4 {
        let whole = parts.write(&parts.everything(), limit);
        if tokens::tokens(weight_said(&whole)) <= max_tokens {
            return with_estimate(whole);
        }
    }
    with_estimate(parts.fitted(limit, max_tokens))
}

/// The parts of the reply of `task_load_context`, each with its weight (estimated token cost).
struct ContextParts<'f> {
    facts: &'f ContextFacts,
    workflow: Option<Vec<PieceField<'f>>>,
    task: Vec<PieceField<'f>>,
    history: History<'f>,
    /// True when all checkpoints (progress notes) of the task get their tokens before any other part of the reply.
    history_first: bool,
    prior: Option<Tasks<'f>>,
    siblings: Option<Tasks<'f>>,
    dependencies: Option<Tasks<'f>>,
}

/// The weight (estimated token cost) that each part of the reply of `task_load_context` may use in addition to its
/// least weight, which every part always gets.
#[derive(Clone, Copy)]
struct Grants {
    shares: [u64; 4],
    /// The weight (estimated token cost) that the checkpoints (progress notes) get before the budget is divided among
    /// the parts of the reply.
    history: u64,
}

impl<'f> ContextParts<'f> {
    fn of(facts: &'f ContextFacts, wanted: WantedContext) -> Self {
        let detailed = usize::try_from(wanted.detailed).unwrap_or(usize::MAX);
        let plain = |tasks: &'f [engine::task::Task]| tasks.iter().map(|task| (task, None));
        let siblings = wanted.siblings && facts.task.group.is_some();
        Self {
            facts,
            workflow: wanted.workflow.then(|| fields::workflow(facts, wanted.plan_summary)),
            task: fields::task(facts),
            history: History::new(&facts.checkpoints, facts.task.checkpoints, detailed),
            history_first: wanted.history,
            prior: wanted.prior.then(|| {
                let detail = |prior: &'f engine::context::Prior| prior.outcome_detail.as_ref();
                let tasks =
                    facts.prior.iter().map(|prior| (&prior.task, detail(prior).filter(|_| wanted.prior_detail)));
                Tasks::new("prior_tasks", tasks, facts.prior_more)
            }),
            siblings: siblings.then(|| Tasks::new("sibling_tasks", plain(&facts.siblings), facts.siblings_more)),
            dependencies: wanted
                .dependencies
                .then(|| Tasks::new("dependency_outcomes", plain(&facts.dependencies), facts.dependencies_more)),
        }
    }

    /// Returns the weight (estimated token cost) that each part of the reply of `task_load_context` could use in
    /// addition to its least weight, which every part always gets. The parts are in the order of [`SHARES`].
    fn wants(&self) -> [u64; 4] {
        let fields = |fields: &[PieceField<'_>]| fields.iter().map(|field| field.want - field.least).sum::<u64>();
        let tasks = |tasks: &Option<Tasks<'_>>| tasks.as_ref().map_or(0, |tasks| tasks.want);
        [
            self.workflow.as_deref().map_or(0, fields),
            fields(&self.task) + self.history.want,
            tasks(&self.prior),
            tasks(&self.siblings) + tasks(&self.dependencies),
        ]
    }

    /// Returns the weight (estimated token cost) of the pieces that the reply of `task_load_context` contains at every
    /// budget, even the smallest.
    fn leasts(&self) -> u64 {
        let fields = |fields: &[PieceField<'_>]| fields.iter().map(|field| field.least).sum::<u64>();
        let tasks = |tasks: &Option<Tasks<'_>>| tasks.as_ref().map_or(0, |tasks| tasks.least);
        let frame = weight("{\"workflow\":{},\"current_task\":{},\"token_estimate\":1000000}");
        frame
            + self.workflow.as_deref().map_or(0, fields)
            + fields(&self.task)
            + self.history.least
            + tasks(&self.prior)
            + tasks(&self.siblings)
            + tasks(&self.dependencies)
    }

    fn want(&self) -> u64 {
        self.wants().iter().fold(self.leasts(), |sum, want| sum.saturating_add(*want))
    }

    fn everything(&self) -> Grants {
        Grants { shares: self.wants(), history: 0 }
    }

    /// Writes the reply of `task_load_context` several times, each time with a different limit for its total weight
    /// (token cost). Returns the longest of these replies that costs at most `max_tokens`. When all of them cost more,
    /// returns the shortest possible reply.
    fn fitted(&self, limit: u64, max_tokens: usize) -> Value {
        let worst = self.compose(&self.shared(0)).1.weight(0);
        let (mut fits, mut breaks) = (0_u64, u64::MAX);
        let mut best = None;
        let mut total = limit;
        for _ in 0..ROUNDS_MAX {
            let written = self.within(total, worst);
            let weight = weight_said(&written);
            if tokens::tokens(weight) > max_tokens {
                breaks = total;
                total = if fits > 0 {
                    fits.midpoint(breaks)
                } else {
                    total.saturating_sub(weight.saturating_sub(limit) + limit / 64)
                };
                continue;
            }
            best = Some(written);
            let unused = limit.saturating_sub(weight);
            if unused < limit / NEAR || total >= self.want() {
                break;
            }
            fits = total;
            total = if total + unused < breaks { total + unused } else { fits.midpoint(breaks) };
        }
        best.unwrap_or_else(|| self.write(&Grants { shares: [0; 4], history: 0 }, 0))
    }

    /// Writes the reply of `task_load_context` for a total weight (token cost). The reply includes a list of the pieces
    /// that were cut, and the weight of this list is known only after cutting. Therefore a first pass reserves room for
    /// the largest possible list and finds the cuts. The second pass reserves only the room that the list of these cuts
    /// needs. The parts then have more room, so they are never cut more than in the first pass.
    fn within(&self, total: u64, worst: u64) -> Value {
        let cuts = self.compose(&self.shared(total.saturating_sub(worst))).1;
        let room = total.saturating_sub(cuts.weight(cuts::budget(total)));
        self.write(&self.shared(room), total)
    }

    /// Divides a total weight (token cost) among the parts of the reply of `task_load_context` in the proportions of
    /// [`SHARES`].
    fn shared(&self, total: u64) -> Grants {
        let mut free = total.saturating_sub(self.leasts());
        let wants = self.wants();
        let history = if self.history_first { self.history.want.min(free) } else { 0 };
        free -= history;
        let wants = [wants[0], wants[1] - history, wants[2], wants[3]];
        let mut shares = [0; 4];
        let mut left = 0;
        for (part, share) in shares.iter_mut().enumerate() {
            let budget = free * SHARES[part] / 100 + left;
            *share = budget.min(wants[part]);
            left = budget - *share;
        }
        for part in BACK {
            let more = left.min(wants[part] - shares[part]);
            shares[part] += more;
            left -= more;
        }
        Grants { shares, history }
    }

    /// Writes the reply of `task_load_context` without the field `token_estimate`.
    fn write(&self, grants: &Grants, total: u64) -> Value {
        let (mut members, cuts) = self.compose(grants);
        members.extend(cuts.render(cuts::budget(total)).map(|list| ("cut".to_owned(), list)));
        Value::Object(members)
    }

    fn compose(&self, grants: &Grants) -> (Object, Cuts) {
        let mut cuts = Cuts { workflow: self.facts.workflow.id, task: self.facts.task.id, list: Vec::new() };
        let mut members = Object::new();
        let [workflow, task, prior, beside] = grants.shares;
        if let Some(fields) = &self.workflow {
            let value = written(fields, workflow, ("workflow", Fetch::Workflow), &mut cuts);
            members.push(("workflow".to_owned(), Value::Object(value)));
        }
        members.push(("current_task".to_owned(), self.current(task, grants.history, &mut cuts)));
        if let Some(tasks) = &self.prior {
            members.push(("prior_tasks".to_owned(), tasks.render(prior, &mut cuts)));
        }
        let want = |tasks: &Option<Tasks<'_>>| tasks.as_ref().map_or(0, |tasks| tasks.want);
        // The siblings and the dependencies share one weight (token cost). The dependencies get their weight first,
        // because the task builds on them. The siblings get the rest, but at least a third of the whole weight if they
        // need it.
        let siblings = want(&self.siblings).min((beside - want(&self.dependencies).min(beside)).max(beside / 3));
        if let Some(tasks) = &self.siblings {
            members.push(("sibling_tasks".to_owned(), tasks.render(siblings, &mut cuts)));
        }
        if let Some(tasks) = &self.dependencies {
            members.push(("dependency_outcomes".to_owned(), tasks.render(beside - siblings, &mut cuts)));
        }
        (members, cuts)
    }

    fn current(&self, share: u64, history: u64, cuts: &mut Cuts) -> Value {
        let wanted: u64 = self.task.iter().map(|field| field.want - field.least).sum();
        let open = self.history.want - history;
        let fields = wanted.min((share * FIELDS_SHARE / 100).max(share.saturating_sub(open)));
        let mut members = written(&self.task, fields, ("current_task", Fetch::Task), cuts);
        let (list, earlier) = self.history.render(history + (share - fields), cuts);
        members.push(("checkpoints".to_owned(), list));
        if earlier > 0 {
            members.push(("earlier_checkpoints".to_owned(), u64::from(earlier).into()));
        }
        Value::Object(members)
    }
}

/// Writes fields of the reply of `task_load_context` into a JSON object, and cuts them if necessary. Each field gets
/// its least weight (token cost). In addition, the fields share the weight `grant`.
fn written(fields: &[PieceField<'_>], grant: u64, whose: (&str, Fetch), cuts: &mut Cuts) -> Object {
    let least: u64 = fields.iter().map(|field| field.least).sum();
    let mut members = Object::with_capacity(fields.len());
    for (field, grant) in fields.iter().zip(share(fields, least + grant)) {
        let rendered = field.render(grant);
        cuts.add(format!("{}.{}", whose.0, field.name), rendered.left_out, whose.1);
        members.extend(rendered.value.map(|value| (field.name.to_owned(), value)));
    }
    members
}

/// Returns the weight (estimated token cost) of a reply of `task_load_context`, including the field `token_estimate`
/// that is added to it later.
fn weight_said(reply: &Value) -> u64 {
    let text = reply.to_string();
    // The tokenizer always splits a text before a number. Therefore the weight of the text before the estimate does not
    // depend on the number that is written as the estimate.
    let before = text.strip_suffix('}').unwrap_or(&text);
    let fixed = weight(&format!("{before},\"token_estimate\":")) + weight("}");
    let mut all = fixed;
    loop {
        let said = tokens::tokens(all);
        let with = fixed + weight(&said.to_string());
        if with == all {
            return all;
        }
        all = with;
    }
}

fn with_estimate(reply: Value) -> Value {
    let said = u64::try_from(tokens::tokens(weight_said(&reply))).unwrap_or(u64::MAX);
    match reply {
        Value::Object(mut members) => {
            members.push(("token_estimate".to_owned(), said.into()));
            Value::Object(members)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => reply,
    }
}
