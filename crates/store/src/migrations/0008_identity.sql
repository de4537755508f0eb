-- Where agents are at home, what protects tasks, and who used an approval.

ALTER TABLE agent ADD COLUMN principal {text};
ALTER TABLE agent ADD COLUMN registered BIGINT NOT NULL DEFAULT 0;
UPDATE agent SET registered = created;
CREATE INDEX agent_named ON agent (name, runtime, registered) WHERE left_at IS NULL;

ALTER TABLE task ADD COLUMN limited BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN author {text};
UPDATE task SET limited = 1 WHERE id IN (SELECT task FROM task_detail WHERE extra LIKE '%"limits":%');

ALTER TABLE approval ADD COLUMN used_by {text};
ALTER TABLE approval ADD COLUMN used BIGINT;
-- Version 0.1.0 wrote the user over the person who decided, who is named in the log.
UPDATE approval SET used_by = actor, used = decided, actor = NULL, decided = NULL WHERE status = 'consumed';

ALTER TABLE repository ADD COLUMN actor {text};
