-- Gated tasks, who was shown an approval, and the telling of people outside.

ALTER TABLE task ADD COLUMN gate BIGINT NOT NULL DEFAULT 0;
CREATE INDEX task_gated ON task (id) WHERE gate = 1 AND status = 'pending';

ALTER TABLE approval ADD COLUMN shown {text};
CREATE INDEX approval_agent ON approval (agent, asked, id) WHERE status IN ('pending', 'approved');
CREATE INDEX approval_gate ON approval (workflow, asked, id)
    WHERE source = 'exec_gate' AND agent = 'system' AND status IN ('pending', 'approved');
CREATE INDEX approval_pending ON approval (asked, id) WHERE status = 'pending';

CREATE TABLE notice (
    approval {text} NOT NULL,
    channel {text} NOT NULL,
    tries BIGINT NOT NULL,
    next BIGINT,
    problem {text},
    PRIMARY KEY (approval, channel),
    CHECK (channel IN ('command', 'webhook'))
) {keyed};
