-- Reviews in rounds, what they found, and tasks that wait for that.

ALTER TABLE task ADD COLUMN review BIGINT NOT NULL DEFAULT 0;

CREATE TABLE review (
    id {text} PRIMARY KEY,
    provider {text} NOT NULL,
    actor {text} NOT NULL,
    workflow {text},
    task {text},
    attempt BIGINT,
    rounds_max BIGINT NOT NULL,
    rounds BIGINT NOT NULL,
    status {text} NOT NULL,
    findings BIGINT NOT NULL,
    open BIGINT NOT NULL,
    conversation {text},
    opened BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CHECK (status IN ('opened', 'running', 'answered', 'failed')),
    CHECK ((task IS NULL) = (workflow IS NULL) AND (task IS NULL) = (attempt IS NULL))
);
CREATE INDEX review_opened ON review (opened, id);
CREATE INDEX review_task ON review (task, opened, id) WHERE task IS NOT NULL;

CREATE TABLE review_round (
    review {text} NOT NULL,
    number BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    turn {text},
    media_type {text} NOT NULL,
    artifact_ref {text},
    request {text} NOT NULL,
    request_bytes BIGINT NOT NULL,
    started BIGINT NOT NULL,
    status {text} NOT NULL,
    host {text},
    until BIGINT,
    ended BIGINT,
    confidence {text},
    summary {text},
    found BIGINT,
    response {text},
    response_bytes BIGINT,
    code {text},
    usd_micros BIGINT,
    tokens BIGINT,
    ms BIGINT,
    turns BIGINT,
    PRIMARY KEY (review, number),
    CHECK (status IN ('running', 'answered', 'failed')),
    CHECK ((status = 'running') = (ended IS NULL)),
    CHECK ((status = 'running') = (host IS NOT NULL AND until IS NOT NULL)),
    CHECK ((status = 'failed') = (code IS NOT NULL))
);

CREATE TABLE finding (
    review {text} NOT NULL,
    name {text} NOT NULL,
    number BIGINT NOT NULL,
    round BIGINT NOT NULL,
    aspect {text} NOT NULL,
    description {text} NOT NULL,
    recommendation {text} NOT NULL,
    status {text} NOT NULL,
    actor {text},
    decided BIGINT,
    code {text},
    explanation {text},
    told BIGINT,
    PRIMARY KEY (review, name),
    CHECK (status IN ('open', 'accepted', 'partial', 'rejected')),
    CHECK ((status = 'open') = (actor IS NULL) AND (status = 'open') = (decided IS NULL))
);
CREATE INDEX finding_number ON finding (review, number);
