-- What people and agents look at: lists in a fixed order. Few indexes, because every one is written with every change.

CREATE INDEX workflow_created ON workflow (created, id);
CREATE INDEX task_plan ON task (workflow, sequence, id, status);
CREATE INDEX task_group ON task (workflow, parallel_group, sequence, id) WHERE parallel_group IS NOT NULL;
CREATE INDEX task_since ON task (lease_since, id) WHERE holder IS NOT NULL;
CREATE INDEX task_stuck ON task (updated, id) WHERE status IN ('paused', 'blocked', 'failed');
CREATE INDEX agent_created ON agent (created, id);
CREATE INDEX repository_created ON repository (created, id);

-- Who may come in over HTTP. The secret itself is not kept.
CREATE TABLE token (
    id {text} PRIMARY KEY,
    name {text} NOT NULL,
    hash {text} NOT NULL UNIQUE,
    scope {text} NOT NULL,
    agent {text},
    created BIGINT NOT NULL,
    revoked BIGINT,
    CHECK (scope IN ('agent', 'coordinator', 'person', 'admin'))
);
