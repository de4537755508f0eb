-- Short numbers of tasks, which are never given twice: the counter keeps the last one, so that removing a task frees none.

CREATE TABLE counter (
    name {text} PRIMARY KEY,
    value BIGINT NOT NULL,
    CHECK (name = 'task_number' AND value >= 1)
) {keyed};

ALTER TABLE task ADD COLUMN number BIGINT CHECK (number >= 1);
UPDATE task SET number = ordered.number
    FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY created, workflow, sequence, id) AS number FROM task) AS ordered
    WHERE task.id = ordered.id;
{postgres}ALTER TABLE task ALTER COLUMN number SET NOT NULL;
CREATE UNIQUE INDEX task_number ON task (number);
CREATE INDEX task_named ON task (name, id);
INSERT INTO counter (name, value) SELECT 'task_number', max(number) FROM task HAVING max(number) IS NOT NULL;

-- The standing list, of which a store has at most one, and workflows that are over and were put away.

ALTER TABLE workflow ADD COLUMN standing BIGINT NOT NULL DEFAULT 0
    CHECK (standing = 0 OR (standing = 1 AND status IN ('ready', 'in_progress', 'paused')));
ALTER TABLE workflow ADD COLUMN archived BIGINT NOT NULL DEFAULT 0
    CHECK (archived = 0 OR (archived = 1 AND status IN ('completed', 'failed', 'abandoned')));
CREATE UNIQUE INDEX workflow_standing ON workflow (standing) WHERE standing = 1;

-- The work of tasks and of whole workflows in git.

CREATE TABLE delivery (
    task {text} PRIMARY KEY,
    workflow {text} NOT NULL,
    attempt BIGINT NOT NULL,
    agent {text} NOT NULL,
    check_outcome {text} NOT NULL,
    check_why {text},
    check_text {text},
    check_run BIGINT,
    check_of BIGINT,
    check_ms BIGINT,
    branch {text} NOT NULL,
    base_branch {text},
    base {text} NOT NULL,
    commit_id {text} NOT NULL,
    tree {text} NOT NULL,
    files BIGINT NOT NULL,
    added BIGINT NOT NULL,
    removed BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    state {text} NOT NULL,
    merged_into {text},
    before_commit {text},
    result_commit {text},
    actor {text},
    decided BIGINT,
    kept_as {text},
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CHECK (CASE check_outcome
        WHEN 'checked' THEN check_why IS NULL AND check_text IS NOT NULL AND check_run IS NULL AND check_of IS NULL
            AND check_ms IS NOT NULL
        WHEN 'checked_flaky' THEN check_why IS NULL AND check_text IS NOT NULL AND check_run IS NOT NULL
            AND check_of IS NOT NULL AND check_ms IS NOT NULL
        WHEN 'unchecked' THEN check_run IS NULL AND check_of IS NULL AND check_ms IS NULL
            AND (check_why IN ('no_check', 'not_run') AND check_text IS NULL
                OR check_why IN ('baseline', 'timed_out', 'check_changed', 'taken_as_is') AND check_text IS NOT NULL)
        WHEN 'no_changes' THEN check_why IS NULL AND check_text IS NULL AND check_run IS NULL AND check_of IS NULL
            AND check_ms IS NULL
        ELSE FALSE END),
    CHECK (CASE state
        WHEN 'waiting' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NULL AND actor IS NULL
            AND decided IS NULL AND kept_as IS NULL
        WHEN 'in_plan' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NOT NULL AND actor IS NULL
            AND decided IS NULL AND kept_as IS NULL
        WHEN 'merged' THEN merged_into IS NOT NULL AND before_commit IS NOT NULL AND result_commit IS NOT NULL
            AND actor IS NOT NULL AND decided IS NOT NULL AND kept_as IS NULL
        WHEN 'dropped' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NULL
            AND actor IS NOT NULL AND decided IS NOT NULL
        ELSE FALSE END)
);
CREATE INDEX delivery_waiting ON delivery (updated, task) WHERE state = 'waiting';
CREATE INDEX delivery_changed ON delivery (updated, task);

CREATE TABLE workflow_delivery (
    workflow {text} PRIMARY KEY,
    check_outcome {text} NOT NULL,
    check_why {text},
    check_text {text},
    check_run BIGINT,
    check_of BIGINT,
    check_ms BIGINT,
    branch {text} NOT NULL,
    base_branch {text},
    base {text} NOT NULL,
    commit_id {text} NOT NULL,
    tree {text} NOT NULL,
    files BIGINT NOT NULL,
    added BIGINT NOT NULL,
    removed BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    state {text} NOT NULL,
    merged_into {text},
    before_commit {text},
    result_commit {text},
    actor {text},
    decided BIGINT,
    kept_as {text},
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CHECK (CASE check_outcome
        WHEN 'checked' THEN check_why IS NULL AND check_text IS NOT NULL AND check_run IS NULL AND check_of IS NULL
            AND check_ms IS NOT NULL
        WHEN 'checked_flaky' THEN check_why IS NULL AND check_text IS NOT NULL AND check_run IS NOT NULL
            AND check_of IS NOT NULL AND check_ms IS NOT NULL
        WHEN 'unchecked' THEN check_run IS NULL AND check_of IS NULL AND check_ms IS NULL
            AND (check_why IN ('no_check', 'not_run') AND check_text IS NULL
                OR check_why IN ('baseline', 'timed_out', 'check_changed', 'taken_as_is') AND check_text IS NOT NULL)
        WHEN 'no_changes' THEN check_why IS NULL AND check_text IS NULL AND check_run IS NULL AND check_of IS NULL
            AND check_ms IS NULL
        ELSE FALSE END),
    CHECK (CASE state
        WHEN 'waiting' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NULL AND actor IS NULL
            AND decided IS NULL AND kept_as IS NULL
        WHEN 'in_plan' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NOT NULL AND actor IS NULL
            AND decided IS NULL AND kept_as IS NULL
        WHEN 'merged' THEN merged_into IS NOT NULL AND before_commit IS NOT NULL AND result_commit IS NOT NULL
            AND actor IS NOT NULL AND decided IS NOT NULL AND kept_as IS NULL
        WHEN 'dropped' THEN merged_into IS NULL AND before_commit IS NULL AND result_commit IS NULL
            AND actor IS NOT NULL AND decided IS NOT NULL
        ELSE FALSE END)
);
CREATE INDEX workflow_delivery_changed ON workflow_delivery (updated, workflow);

-- Facts about the project that need a person and belong to no task.

CREATE TABLE condition (
    kind {text} NOT NULL,
    subject {text} NOT NULL,
    title {text} NOT NULL,
    detail {text} NOT NULL,
    since BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (kind, subject),
    CHECK (kind IN ('agent_rests', 'setup_failed', 'baseline_fails', 'tip_failed')),
    CHECK (since <= updated)
) {keyed};
