-- Words in braces differ between the databases and are filled in by migrate.rs:
-- {text} compares by bytes on both, {pos} counts up, {keyed} keeps a table in its key on SQLite.
-- Times are milliseconds since 1970. Lists and values that are carried are JSON text.

CREATE TABLE workflow (
    id {text} PRIMARY KEY,
    name {text} NOT NULL,
    status {text} NOT NULL,
    parallel_max BIGINT,
    lease_ms BIGINT NOT NULL,
    lock_owner {text},
    lock_since BIGINT,
    lock_until BIGINT,
    draft_token {text},
    draft_until BIGINT,
    tasks BIGINT NOT NULL,
    open BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CHECK (status IN ('planning', 'ready', 'in_progress', 'paused', 'awaiting_merge', 'completed', 'failed', 'abandoned')),
    CHECK ((lock_owner IS NULL) = (lock_until IS NULL) AND (lock_owner IS NULL) = (lock_since IS NULL)),
    CHECK ((draft_token IS NULL) = (draft_until IS NULL)),
    CHECK (open BETWEEN 0 AND tasks)
);
CREATE INDEX workflow_lock ON workflow (lock_owner) WHERE lock_owner IS NOT NULL;

CREATE TABLE workflow_detail (
    workflow {text} PRIMARY KEY,
    source_type {text} NOT NULL,
    source_ref {text},
    source_content {text} NOT NULL,
    plan_summary {text},
    auto_workspaces BIGINT NOT NULL,
    config {text}
);

CREATE TABLE task (
    id {text} PRIMARY KEY,
    workflow {text} NOT NULL,
    name {text} NOT NULL,
    sequence BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    role {text},
    capabilities {text},
    touches {text},
    parallel_group {text},
    verify BIGINT NOT NULL,
    attempts_max BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    crashes BIGINT NOT NULL,
    unmet BIGINT NOT NULL,
    checkpoints BIGINT NOT NULL,
    repository {text},
    workspace {text},
    status {text} NOT NULL,
    holder {text},
    lease_since BIGINT,
    lease_until BIGINT,
    actor {text},
    note {text},
    block_kind {text},
    block_role {text},
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    UNIQUE (workflow, name),
    CHECK (priority BETWEEN 1 AND 3),
    CHECK (unmet >= 0),
    CHECK ((holder IS NULL) = (lease_until IS NULL) AND (holder IS NULL) = (lease_since IS NULL)),
    CHECK (CASE status
        WHEN 'pending' THEN actor IS NULL
        WHEN 'planning' THEN holder IS NOT NULL
        WHEN 'in_progress' THEN holder IS NOT NULL
        WHEN 'paused' THEN holder IS NOT NULL
        WHEN 'blocked' THEN holder IS NULL AND actor IS NOT NULL AND note IS NOT NULL AND block_kind IS NOT NULL
        WHEN 'failed' THEN holder IS NULL AND actor IS NOT NULL AND note IS NOT NULL
        WHEN 'completed' THEN holder IS NULL AND actor IS NOT NULL AND note IS NOT NULL
        WHEN 'skipped' THEN holder IS NULL AND actor IS NOT NULL AND note IS NOT NULL
        ELSE FALSE END)
);
-- What can be claimed, in the order in which it is offered.
CREATE INDEX task_ready ON task (workflow, priority, sequence, id)
    WHERE status = 'pending' AND holder IS NULL AND unmet = 0;
CREATE INDEX task_failed ON task (workflow, priority, sequence, id) WHERE status = 'failed';
CREATE INDEX task_held ON task (holder, id) WHERE holder IS NOT NULL;
-- Leases that run out.
CREATE INDEX task_lease ON task (workflow, lease_until) WHERE holder IS NOT NULL AND status <> 'paused';
CREATE INDEX task_files ON task (workflow, id) WHERE holder IS NOT NULL AND touches IS NOT NULL;

CREATE TABLE task_detail (
    task {text} PRIMARY KEY,
    description {text},
    brief {text},
    plan {text},
    context {text},
    context_from {text},
    extra {text},
    outcome_detail {text}
);

CREATE TABLE dependency (
    task {text} NOT NULL,
    depends_on {text} NOT NULL,
    PRIMARY KEY (task, depends_on)
) {keyed};
CREATE INDEX dependency_of ON dependency (depends_on, task);

CREATE TABLE checkpoint (
    task {text} NOT NULL,
    sequence BIGINT NOT NULL,
    id {text} NOT NULL,
    attempt BIGINT NOT NULL,
    actor {text} NOT NULL,
    kind {text} NOT NULL,
    summary {text} NOT NULL,
    detail {text},
    files {text},
    at BIGINT NOT NULL,
    PRIMARY KEY (task, sequence)
) {keyed};

CREATE TABLE agent (
    id {text} PRIMARY KEY,
    slug {text} NOT NULL UNIQUE,
    name {text} NOT NULL,
    runtime {text} NOT NULL,
    role {text} NOT NULL,
    capabilities {text},
    workflow {text},
    workspace_path {text},
    metadata {text},
    session {text},
    seen BIGINT NOT NULL,
    left_at BIGINT,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX agent_session ON agent (session) WHERE session IS NOT NULL AND left_at IS NULL;
CREATE INDEX agent_role ON agent (role, id) WHERE left_at IS NULL;

CREATE TABLE mailbox (
    owner {text} PRIMARY KEY,
    sequence BIGINT NOT NULL,
    unread BIGINT NOT NULL,
    CHECK (unread BETWEEN 0 AND sequence)
) {keyed};

CREATE TABLE message (
    id {text} PRIMARY KEY,
    owner {text} NOT NULL,
    sequence BIGINT NOT NULL,
    sender {text} NOT NULL,
    thread {text} NOT NULL,
    state {text} NOT NULL,
    state_at BIGINT,
    kind {text} NOT NULL,
    priority BIGINT NOT NULL,
    subject {text},
    body {text} NOT NULL,
    body_json BIGINT NOT NULL,
    action_required BIGINT NOT NULL,
    workflow {text},
    task {text},
    reply_to {text},
    at BIGINT NOT NULL,
    UNIQUE (owner, sequence),
    CHECK (state IN ('unread', 'read', 'archived')),
    CHECK ((state = 'unread') = (state_at IS NULL))
);
CREATE INDEX message_unread ON message (owner, priority, sequence) WHERE state = 'unread';

CREATE TABLE workspace (
    id {text} PRIMARY KEY,
    workflow {text} NOT NULL,
    repository {text},
    path {text} NOT NULL,
    branch {text} NOT NULL,
    base_branch {text},
    status {text} NOT NULL,
    merge_commit {text},
    pr_url {text},
    config {text},
    created_by_us BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX workspace_workflow ON workspace (workflow);

CREATE TABLE repository (
    id {text} PRIMARY KEY,
    path {text} NOT NULL UNIQUE,
    name {text},
    created BIGINT NOT NULL
);

CREATE TABLE attachment (
    workflow {text} NOT NULL,
    repository {text} NOT NULL,
    added BIGINT NOT NULL,
    PRIMARY KEY (workflow, repository)
) {keyed};

CREATE TABLE template (
    id {text} PRIMARY KEY,
    name {text} NOT NULL UNIQUE,
    description {text},
    body {text} NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE kept_answer (
    owner {text} NOT NULL,
    act {text} NOT NULL,
    idempotency_key {text} NOT NULL,
    fingerprint {text} NOT NULL,
    answer {text} NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (owner, act, idempotency_key)
) {keyed};
CREATE INDEX kept_answer_until ON kept_answer (until);

-- The head of each topic: its last number, hash and time.
CREATE TABLE topic (
    name {text} PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash {text} NOT NULL,
    at BIGINT NOT NULL
) {keyed};

-- Append-only. `xid` is the writing transaction on PostgreSQL and 0 elsewhere; see docs/decisions/0001.
CREATE TABLE event (
    pos {pos},
    xid BIGINT NOT NULL,
    topic {text} NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    type {text} NOT NULL,
    sender {text} NOT NULL,
    body {text} NOT NULL,
    prev {text} NOT NULL,
    hash {text} NOT NULL,
    UNIQUE (topic, seq)
);
{postgres}CREATE INDEX event_order ON event (xid, pos);
