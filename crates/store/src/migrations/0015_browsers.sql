-- The kind of each token, with the last use of a browser's key. A code or a key belongs to a person and to no agent.

ALTER TABLE token ADD COLUMN kind {text} NOT NULL DEFAULT 'secret'
    CHECK (kind = 'secret' OR (kind IN ('enrolment_code', 'browser_key') AND scope = 'person' AND agent IS NULL));
ALTER TABLE token ADD COLUMN used BIGINT CHECK ((used IS NOT NULL) = (kind = 'browser_key'));
