-- Two lists that every call reads come from their index in order. Before, each read built and dropped a tree to sort a few rows.

DROP INDEX agent_session;
CREATE INDEX agent_session ON agent (session, registered, created, id) WHERE session IS NOT NULL AND left_at IS NULL;
DROP INDEX workflow_lock;
CREATE INDEX workflow_lock ON workflow (lock_owner, id) WHERE lock_owner IS NOT NULL;
