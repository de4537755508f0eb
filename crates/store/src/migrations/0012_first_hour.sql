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
