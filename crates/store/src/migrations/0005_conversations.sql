-- Where in its client an agent lives, and what a conversation was reminded of.

ALTER TABLE agent ADD COLUMN conversation {text};
ALTER TABLE agent ADD COLUMN part {text};
ALTER TABLE agent ADD COLUMN call_id {text};
CREATE INDEX agent_conversation ON agent (conversation) WHERE conversation IS NOT NULL AND left_at IS NULL;
CREATE INDEX agent_call ON agent (call_id) WHERE call_id IS NOT NULL AND left_at IS NULL;

CREATE TABLE reminder (
    conversation {text} NOT NULL,
    part {text} NOT NULL,
    prompt {text} NOT NULL,
    count BIGINT NOT NULL,
    task {text} NOT NULL,
    attempt BIGINT NOT NULL,
    goes_on BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (conversation, part)
) {keyed};
CREATE INDEX reminder_at ON reminder (at);

CREATE INDEX approval_refused ON approval (fingerprint, asked, id) WHERE status IN ('rejected', 'revoked');
