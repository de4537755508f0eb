-- The tokens that a turn read and wrote, and the model that its program named. Rows of older versions keep only the total.

ALTER TABLE turn ADD COLUMN tokens_in BIGINT CHECK (tokens_in IS NULL OR (tokens_in >= 0 AND ended IS NOT NULL));
ALTER TABLE turn ADD COLUMN tokens_out BIGINT CHECK (tokens_out IS NULL OR (tokens_out >= 0 AND ended IS NOT NULL));
ALTER TABLE turn ADD COLUMN model {text} CHECK (model IS NULL OR ended IS NOT NULL);
ALTER TABLE review_round ADD COLUMN tokens_in BIGINT CHECK (tokens_in IS NULL OR (tokens_in >= 0 AND ended IS NOT NULL));
ALTER TABLE review_round ADD COLUMN tokens_out BIGINT CHECK (tokens_out IS NULL OR (tokens_out >= 0 AND ended IS NOT NULL));

-- The turns of all workflows by time, for the sums of what was spent.

CREATE INDEX turn_started ON turn (started, id);

-- The things that need a person and that a person put off until a time.

CREATE TABLE put_off (
    item {text} PRIMARY KEY,
    until BIGINT NOT NULL,
    actor {text} NOT NULL
) {keyed};
