-- What the runner records, and what people decide: turns, verifications, runners, project context, approvals.

CREATE TABLE turn (
    id {text} PRIMARY KEY,
    task {text} NOT NULL,
    workflow {text} NOT NULL,
    agent {text} NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    purpose {text} NOT NULL,
    adapter {text} NOT NULL,
    runner {text} NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT,
    ending {text},
    reason {text},
    conversation {text},
    usd_micros BIGINT,
    tokens BIGINT,
    ms BIGINT,
    turns BIGINT,
    tool_calls BIGINT,
    stream {text},
    stream_bytes BIGINT,
    verdict {text},
    CHECK ((ended IS NULL) = (ending IS NULL))
);
CREATE INDEX turn_task ON turn (task, started, id);
CREATE INDEX turn_workflow ON turn (workflow, started, id);
CREATE INDEX turn_running ON turn (runner, started, id) WHERE ended IS NULL;

CREATE TABLE verification (
    task {text} NOT NULL,
    number BIGINT NOT NULL,
    workflow {text} NOT NULL,
    attempt BIGINT NOT NULL,
    turn {text},
    actor {text} NOT NULL,
    mechanical {text} NOT NULL,
    semantic {text} NOT NULL,
    output_ref {text},
    evidence {text} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (task, number)
) {keyed};

CREATE TABLE runner (
    name {text} PRIMARY KEY,
    host {text} NOT NULL,
    pid BIGINT NOT NULL,
    agents {text},
    since BIGINT NOT NULL,
    seen BIGINT NOT NULL
);

CREATE TABLE section (
    name {text} PRIMARY KEY,
    body {text} NOT NULL,
    version BIGINT NOT NULL,
    actor {text} NOT NULL,
    updated BIGINT NOT NULL
);

CREATE TABLE section_change (
    section {text} NOT NULL,
    version BIGINT NOT NULL,
    actor {text} NOT NULL,
    task {text},
    at BIGINT NOT NULL,
    body_before {text},
    body_after {text} NOT NULL,
    PRIMARY KEY (section, version)
) {keyed};

CREATE TABLE approval (
    id {text} PRIMARY KEY,
    source {text} NOT NULL,
    agent {text} NOT NULL,
    workflow {text},
    task {text},
    attempt BIGINT,
    operation {text} NOT NULL,
    content {text} NOT NULL,
    scope {text} NOT NULL,
    directory {text} NOT NULL,
    risk {text} NOT NULL,
    rollback {text} NOT NULL,
    verification {text} NOT NULL,
    fingerprint {text} NOT NULL,
    asked BIGINT NOT NULL,
    status {text} NOT NULL,
    until BIGINT,
    actor {text},
    decided BIGINT,
    reason {text},
    CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'revoked', 'consumed'))
);
CREATE INDEX approval_asked ON approval (asked, id);
CREATE INDEX approval_sealed ON approval (fingerprint, asked, id) WHERE status IN ('pending', 'approved');
CREATE INDEX approval_task ON approval (task, asked, id) WHERE status IN ('pending', 'approved');
CREATE INDEX approval_until ON approval (until) WHERE status IN ('pending', 'approved');
