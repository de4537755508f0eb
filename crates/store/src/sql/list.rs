//! The SQL statements that list or count rows.

macro_rules! eight {
    () => {
        "IN ($1, $2, $3, $4, $5, $6, $7, $8)"
    };
}

macro_rules! workflow_filter {
    () => {
        concat!(
            "FROM workflow WHERE status ",
            eight!(),
            " AND (CAST($9 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM attachment \
             WHERE attachment.workflow = workflow.id AND attachment.repository = $9)) \
             AND ($10 = 1 OR archived = 0)"
        )
    };
}

pub(crate) const WORKFLOWS: &str = concat!(
    "SELECT id, name, status, parallel_max, lease_ms, lock_owner, lock_since, lock_until, draft_token, draft_until, \
     tasks, open, sequence, created, updated, standing, archived, branch ",
    workflow_filter!(),
    " AND (created, id) < ($11, $12) ORDER BY created DESC, id DESC LIMIT $13 OFFSET $14"
);
pub(crate) const WORKFLOW_TOTAL: &str = concat!("SELECT count(*) ", workflow_filter!());

macro_rules! task_columns {
    () => {
        "SELECT id, workflow, name, sequence, priority, role, capabilities, touches, parallel_group, verify, gate, \
         attempts_max, attempt, crashes, unmet, checkpoints, repository, workspace, status, holder, lease_since, \
         lease_until, actor, note, block_kind, block_role, created, updated, review, limited, author, \
         number FROM task "
    };
}
pub(crate) use task_columns;

pub(crate) const TASKS: &str = concat!(
    task_columns!(),
    "WHERE status ",
    eight!(),
    " AND workflow = $9 AND (sequence, id) > ($10, $11) ORDER BY sequence, id LIMIT $12"
);
pub(crate) const WAITING: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND status = 'pending' AND unmet > 0 AND (sequence, id) > ($2, $3) ORDER BY sequence, id LIMIT $4"
);
pub(crate) const FINISHED: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND status IN ('completed', 'skipped') AND sequence < $2 \
     ORDER BY sequence DESC, id DESC LIMIT $3"
);
pub(crate) const GROUP: &str =
    concat!(task_columns!(), "WHERE workflow = $1 AND parallel_group = $2 ORDER BY sequence, id LIMIT $3");
pub(crate) const NUMBERED: &str = concat!(task_columns!(), "WHERE number = $1");
pub(crate) const ID_BEGINNING: &str = concat!(task_columns!(), "WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3");
pub(crate) const NAMED: &str = concat!(task_columns!(), "WHERE name = $1 ORDER BY id LIMIT $2");
pub(crate) const RECENT: &str =
    concat!(task_columns!(), "WHERE status ", eight!(), " AND number < $9 ORDER BY number DESC LIMIT $10");
pub(crate) const HELD: &str = concat!(task_columns!(), "WHERE holder IS NOT NULL ORDER BY lease_since, id LIMIT $1");
pub(crate) const STUCK: &str =
    concat!(task_columns!(), "WHERE status IN ('paused', 'blocked', 'failed') ORDER BY updated, id LIMIT $1");
pub(crate) const STATUSES: &str =
    "SELECT status, count(*) FROM task WHERE workflow = $1 GROUP BY status ORDER BY status";
pub(crate) const GROUPS: &str = "SELECT parallel_group, count(*), \
     count(CASE WHEN status IN ('completed', 'skipped') THEN 1 END) FROM task \
     WHERE workflow = $1 AND parallel_group IS NOT NULL GROUP BY parallel_group ORDER BY parallel_group LIMIT $2";
pub(crate) const FIRST_OPEN: &str = "SELECT sequence FROM task WHERE workflow = $1 \
     AND status NOT IN ('completed', 'skipped') ORDER BY sequence, id LIMIT 1";

pub(crate) const AGENTS: &str = "SELECT id, slug, name, runtime, role, capabilities, workflow, workspace_path, metadata, \
     session, seen, left_at, created, updated, conversation, part, call_id, principal, registered, \
     (SELECT task.id FROM task WHERE task.holder = agent.id AND task.holder IS NOT NULL ORDER BY task.lease_since DESC, task.id DESC LIMIT 1) FROM agent \
     WHERE (CAST($1 AS TEXT) IS NULL OR role = $1) AND (CAST($2 AS TEXT) IS NULL OR runtime = $2) \
     AND (CAST($3 AS TEXT) IS NULL OR workflow = $3) AND (created, id) > ($4, $5) \
     ORDER BY agent.created, agent.id LIMIT $6";
pub(crate) const WORKSPACES: &str = "SELECT id, workflow, repository, path, branch, base_branch, status, merge_commit, \
     pr_url, config, created_by_us, created, updated FROM workspace WHERE workflow = $1 AND status IN ($2, $3, $4) \
     AND (created, id) > ($5, $6) ORDER BY created, id LIMIT $7";
pub(crate) const ATTACHED: &str = "SELECT r.id, r.path, r.name, r.created, r.actor, a.added FROM attachment a \
     JOIN repository r ON r.id = a.repository WHERE a.workflow = $1 ORDER BY a.added, r.id LIMIT $2";
pub(crate) const REPOSITORIES: &str = "SELECT id, path, name, created, actor, created FROM repository \
     WHERE (created, id) < ($1, $2) ORDER BY created DESC, id DESC LIMIT $3 OFFSET $4";
pub(crate) const REPOSITORY_TOTAL: &str = "SELECT count(*) FROM repository";
pub(crate) const TEMPLATES: &str =
    "SELECT id, name, description, body, created FROM template WHERE name > $1 ORDER BY name LIMIT $2";
pub(crate) const MAIL: &str = "SELECT id, owner, sequence, sender, thread, state, state_at, kind, priority, subject, body, \
     body_json, action_required, workflow, task, reply_to, at, answer FROM message WHERE owner = $1 AND sequence < $2 \
     ORDER BY sequence DESC LIMIT $3";
pub(crate) const QUESTIONS: &str = "SELECT id, owner, sequence, sender, thread, state, state_at, kind, priority, subject, \
     body, body_json, action_required, workflow, task, reply_to, at, answer FROM message \
     WHERE owner = 'human' AND kind = 'question' AND answer IS NULL AND sequence > $1 ORDER BY sequence LIMIT $2";
pub(crate) const QUESTIONS_OF_TASK: &str = "SELECT id, owner, sequence, sender, thread, state, state_at, kind, priority, \
     subject, body, body_json, action_required, workflow, task, reply_to, at, answer FROM message \
     WHERE owner = 'human' AND kind = 'question' AND task = $1 ORDER BY sequence DESC LIMIT $2";
pub(crate) const UNREAD: &str = "SELECT CAST(priority AS TEXT), count(*) FROM message \
     WHERE owner = $1 AND state = 'unread' GROUP BY priority ORDER BY priority";
pub(crate) const TOKENS: &str = "SELECT id, name, hash, scope, agent, created, revoked, kind, used FROM token \
     WHERE ($1 = 1 OR revoked IS NULL) AND (created, id) > ($2, $3) ORDER BY created, id LIMIT $4";
