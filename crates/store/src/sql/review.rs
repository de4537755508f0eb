//! The SQL statements for reviews, their rounds and their findings.

macro_rules! review_columns {
    () => {
        "SELECT id, provider, actor, workflow, task, attempt, rounds_max, rounds, status, findings, open, conversation, \
         opened, updated FROM review "
    };
}
macro_rules! round_columns {
    () => {
        "SELECT review, number, tries, turn, media_type, artifact_ref, request, request_bytes, started, status, host, \
         until, ended, confidence, summary, found, response, response_bytes, code, usd_micros, tokens, ms, turns, \
         tokens_in, tokens_out FROM review_round "
    };
}
macro_rules! finding_columns {
    () => {
        "SELECT review, name, number, round, aspect, description, recommendation, status, actor, decided, code, \
         explanation, told FROM finding "
    };
}

pub(crate) const REVIEW: &str = concat!(review_columns!(), "WHERE id = $1");
pub(crate) const REVIEWS: &str =
    concat!(review_columns!(), "WHERE (opened, id) < ($1, $2) ORDER BY opened DESC, id DESC LIMIT $3");
pub(crate) const TASK_REVIEWS: &str =
    concat!(review_columns!(), "WHERE task = $1 AND task IS NOT NULL ORDER BY opened DESC, id DESC LIMIT $2");
pub(crate) const PUT_REVIEW: &str = "INSERT INTO review (id, provider, actor, workflow, task, attempt, rounds_max, rounds, \
     status, findings, open, conversation, opened, updated) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
     ON CONFLICT (id) DO UPDATE SET rounds = excluded.rounds, status = excluded.status, findings = excluded.findings, \
     open = excluded.open, conversation = excluded.conversation, updated = excluded.updated";

pub(crate) const ROUND: &str = concat!(round_columns!(), "WHERE review = $1 AND number = $2");
pub(crate) const ROUNDS: &str = concat!(round_columns!(), "WHERE review = $1 AND number > $2 ORDER BY number LIMIT $3");
pub(crate) const PUT_ROUND: &str = "INSERT INTO review_round (review, number, tries, turn, media_type, artifact_ref, request, \
     request_bytes, started, status, host, until, ended, confidence, summary, found, response, response_bytes, code, \
     usd_micros, tokens, ms, turns, tokens_in, tokens_out) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
     $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25) ON CONFLICT (review, number) DO UPDATE SET tries = excluded.tries, \
     turn = excluded.turn, media_type = excluded.media_type, artifact_ref = excluded.artifact_ref, \
     request = excluded.request, request_bytes = excluded.request_bytes, started = excluded.started, \
     status = excluded.status, host = excluded.host, until = excluded.until, ended = excluded.ended, \
     confidence = excluded.confidence, summary = excluded.summary, found = excluded.found, \
     response = excluded.response, response_bytes = excluded.response_bytes, code = excluded.code, \
     usd_micros = excluded.usd_micros, tokens = excluded.tokens, ms = excluded.ms, turns = excluded.turns, \
     tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out";

pub(crate) const FINDING: &str = concat!(finding_columns!(), "WHERE review = $1 AND name = $2");
pub(crate) const FINDINGS: &str =
    concat!(finding_columns!(), "WHERE review = $1 AND number > $2 ORDER BY number LIMIT $3");
pub(crate) const PUT_FINDING: &str = "INSERT INTO finding (review, name, number, round, aspect, description, recommendation, \
     status, actor, decided, code, explanation, told) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
     ON CONFLICT (review, name) DO UPDATE SET round = excluded.round, aspect = excluded.aspect, \
     description = excluded.description, recommendation = excluded.recommendation, status = excluded.status, \
     actor = excluded.actor, decided = excluded.decided, code = excluded.code, explanation = excluded.explanation, \
     told = excluded.told";
