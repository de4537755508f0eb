//! The SQL statements for turns (runs of agents' programs), verifications, runners, the project context (the shared
//! knowledge about the project) and approvals.

macro_rules! turn_columns {
    () => {
        "SELECT id, task, workflow, agent, attempt, number, purpose, adapter, runner, started, ended, ending, reason, \
         conversation, usd_micros, tokens, ms, turns, tool_calls, stream, stream_bytes, verdict, \
         tokens_in, tokens_out, model FROM turn "
    };
}
/// The sums of the known costs. A sum is NULL when no row has a known value.
macro_rules! spent_columns {
    () => {
        "SELECT CAST(sum(usd_micros) AS BIGINT), CAST(sum(tokens) AS BIGINT), CAST(sum(ms) AS BIGINT), \
         CAST(sum(turns) AS BIGINT), CAST(sum(tokens_in) AS BIGINT), CAST(sum(tokens_out) AS BIGINT) FROM turn "
    };
}
macro_rules! approval_columns {
    () => {
        "SELECT id, source, agent, workflow, task, attempt, operation, content, scope, directory, risk, rollback, \
         verification, fingerprint, asked, status, until, actor, decided, reason, shown, used_by, used FROM approval "
    };
}

pub(crate) const TURN: &str = concat!(turn_columns!(), "WHERE id = $1");
pub(crate) const TURN_COUNT: &str = "SELECT count(*) FROM turn WHERE task = $1";
pub(crate) const TURN_RUNNING: &str = concat!(
    turn_columns!(),
    "WHERE task = $1 AND ended IS NULL AND purpose NOT IN ('evaluation', 'review') ORDER BY number DESC LIMIT 1"
);
pub(crate) const TURNS_OF_TASK: &str =
    concat!(turn_columns!(), "WHERE task = $1 AND (started, id) < ($2, $3) ORDER BY started DESC, id DESC LIMIT $4");
pub(crate) const TURNS_OF_WORKFLOW: &str = concat!(
    turn_columns!(),
    "WHERE workflow = $1 AND (started, id) < ($2, $3) ORDER BY started DESC, id DESC LIMIT $4"
);
pub(crate) const TURNS_STARTED: &str = concat!(
    turn_columns!(),
    "WHERE started >= $1 AND (started, id) < ($2, $3) ORDER BY started DESC, id DESC LIMIT $4"
);
pub(crate) const TURNS_RUNNING: &str =
    concat!(turn_columns!(), "WHERE runner = $1 AND ended IS NULL ORDER BY started, id LIMIT $2");
pub(crate) const SPENT_ON_TASK: &str = concat!(spent_columns!(), "WHERE task = $1 AND ended IS NOT NULL");
pub(crate) const SPENT_ON_WORKFLOW: &str = concat!(spent_columns!(), "WHERE workflow = $1 AND ended IS NOT NULL");
/// Inserts a turn (one run of an agent's program), or updates the columns that describe its end. The other columns
/// never change.
pub(crate) const PUT_TURN: &str = "INSERT INTO turn (id, task, workflow, agent, attempt, number, purpose, adapter, runner, \
     started, ended, ending, reason, conversation, usd_micros, tokens, ms, turns, tool_calls, stream, stream_bytes, verdict, \
     tokens_in, tokens_out, model) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, \
     $24, $25) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, ending = excluded.ending, reason = excluded.reason, \
     conversation = excluded.conversation, usd_micros = excluded.usd_micros, tokens = excluded.tokens, ms = excluded.ms, \
     turns = excluded.turns, tool_calls = excluded.tool_calls, stream = excluded.stream, \
     stream_bytes = excluded.stream_bytes, verdict = excluded.verdict, tokens_in = excluded.tokens_in, \
     tokens_out = excluded.tokens_out, model = excluded.model";

pub(crate) const VERIFICATION_COUNT: &str = "SELECT count(*) FROM verification WHERE task = $1";
pub(crate) const VERIFICATIONS: &str = "SELECT task, number, workflow, attempt, turn, actor, mechanical, semantic, output_ref, \
     evidence, at FROM verification WHERE task = $1 AND number > $2 ORDER BY number LIMIT $3";

pub(crate) const REMINDER: &str = "SELECT conversation, part, prompt, count, task, attempt, goes_on, at FROM reminder \
     WHERE conversation = $1 AND part = $2";
pub(crate) const PUT_REMINDER: &str = "INSERT INTO reminder (conversation, part, prompt, count, task, attempt, goes_on, at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (conversation, part) DO UPDATE SET prompt = excluded.prompt, \
     count = excluded.count, task = excluded.task, attempt = excluded.attempt, goes_on = excluded.goes_on, at = excluded.at";
pub(crate) const DROP_REMINDERS: &str = "DELETE FROM reminder WHERE conversation = $1";
pub(crate) const FORGET_REMINDERS: &str = "DELETE FROM reminder WHERE at <= $1";

pub(crate) const RUNNER: &str = "SELECT name, host, pid, agents, since, seen FROM runner WHERE name = $1";
pub(crate) const RUNNERS: &str = "SELECT name, host, pid, agents, since, seen FROM runner ORDER BY name LIMIT $1";
pub(crate) const PUT_RUNNER: &str = "INSERT INTO runner (name, host, pid, agents, since, seen) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO UPDATE SET host = excluded.host, pid = excluded.pid, \
     agents = excluded.agents, since = excluded.since, seen = excluded.seen";
pub(crate) const DROP_RUNNER: &str = "DELETE FROM runner WHERE name = $1";

pub(crate) const SECTION: &str = "SELECT name, body, version, actor, updated FROM section WHERE name = $1";
pub(crate) const SECTIONS: &str =
    "SELECT name, body, version, actor, updated FROM section WHERE name > $1 ORDER BY name LIMIT $2";
pub(crate) const PUT_SECTION: &str = "INSERT INTO section (name, body, version, actor, updated) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (name) DO UPDATE SET body = excluded.body, version = excluded.version, actor = excluded.actor, \
     updated = excluded.updated";
pub(crate) const SECTION_CHANGES: &str = "SELECT section, version, actor, task, at, body_before, body_after \
     FROM section_change WHERE section = $1 AND version < $2 ORDER BY version DESC LIMIT $3";

pub(crate) const APPROVAL: &str = concat!(approval_columns!(), "WHERE id = $1");
pub(crate) const APPROVAL_SEALED: &str = concat!(
    approval_columns!(),
    "WHERE fingerprint = $1 AND status IN ('pending', 'approved') ORDER BY asked, id LIMIT 10"
);
pub(crate) const APPROVAL_REFUSED: &str = concat!(
    approval_columns!(),
    "WHERE fingerprint = $1 AND status IN ('rejected', 'revoked') ORDER BY asked DESC, id DESC LIMIT 1"
);
pub(crate) const APPROVALS: &str = concat!(
    approval_columns!(),
    "WHERE status IN ($1, $2, $3, $4, $5, $6) AND (asked, id) < ($7, $8) ORDER BY asked DESC, id DESC LIMIT $9"
);
pub(crate) const APPROVALS_OF_TASK: &str =
    concat!(approval_columns!(), "WHERE task = $1 ORDER BY asked DESC, id DESC LIMIT $2");
pub(crate) const OPEN_APPROVALS: &str =
    concat!(approval_columns!(), "WHERE task = $1 AND status IN ('pending', 'approved') ORDER BY asked, id LIMIT $2");
pub(crate) const OVERDUE_APPROVALS: &str =
    concat!(approval_columns!(), "WHERE until <= $1 AND status IN ('pending', 'approved') ORDER BY asked, id LIMIT $2");
/// Inserts an approval, or updates its status. The columns of the request never change.
pub(crate) const PUT_APPROVAL: &str = "INSERT INTO approval (id, source, agent, workflow, task, attempt, operation, content, \
     scope, directory, risk, rollback, verification, fingerprint, asked, status, until, actor, decided, reason, shown, \
     used_by, used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
     $22, $23) \
     ON CONFLICT (id) DO UPDATE SET status = excluded.status, until = excluded.until, actor = excluded.actor, \
     decided = excluded.decided, reason = excluded.reason, shown = excluded.shown, used_by = excluded.used_by, \
     used = excluded.used";

pub(crate) const APPROVALS_OF: &str =
    concat!(approval_columns!(), "WHERE agent = $1 AND status IN ('pending', 'approved') ORDER BY asked, id LIMIT $2");
pub(crate) const GATES: &str = concat!(
    approval_columns!(),
    "WHERE workflow = $1 AND source = 'exec_gate' AND agent = 'system' AND status IN ('pending', 'approved') \
     ORDER BY asked, id LIMIT $2"
);
pub(crate) const GATED: &str = concat!(
    super::list::task_columns!(),
    "WHERE gate = 1 AND status = 'pending' AND holder IS NULL AND unmet = 0 \
     AND workflow IN (SELECT id FROM workflow WHERE status IN ('ready', 'in_progress')) \
     AND NOT EXISTS (SELECT 1 FROM approval WHERE approval.task = task.id AND approval.source = 'exec_gate' \
     AND approval.agent = 'system' AND approval.status IN ('pending', 'approved')) ORDER BY id LIMIT $1"
);
pub(crate) const NOTICE: &str =
    "SELECT approval, channel, tries, next, problem FROM notice WHERE approval = $1 AND channel = $2";
pub(crate) const TOLD_ITEMS: &str = "SELECT way, item, at FROM told_item WHERE way = $1 ORDER BY item LIMIT $2";
pub(crate) const PUT_TOLD_ITEM: &str = "INSERT INTO told_item (way, item, at) VALUES ($1, $2, $3) \
     ON CONFLICT (way, item) DO UPDATE SET at = excluded.at";
pub(crate) const DROP_TOLD_ITEM: &str = "DELETE FROM told_item WHERE way = $1 AND item = $2";
pub(crate) const PUT_OFFS: &str = "SELECT item, until, actor FROM put_off ORDER BY item LIMIT $1";
pub(crate) const PUT_PUT_OFF: &str = "INSERT INTO put_off (item, until, actor) VALUES ($1, $2, $3) \
     ON CONFLICT (item) DO UPDATE SET until = excluded.until, actor = excluded.actor";
pub(crate) const DROP_PUT_OFF: &str = "DELETE FROM put_off WHERE item = $1";
pub(crate) const DUE_NOTICES: &str = concat!(
    approval_columns!(),
    "WHERE status = 'pending' AND until > $1 AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.approval = approval.id \
     AND notice.channel = $2 AND (notice.next IS NULL OR notice.next > $1)) ORDER BY asked, id LIMIT $3"
);
pub(crate) const PUT_NOTICE: &str = "INSERT INTO notice (approval, channel, tries, next, problem) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (approval, channel) DO UPDATE SET tries = excluded.tries, next = excluded.next, problem = excluded.problem";
