-- What a person answered to a message, and the questions that wait for that.

ALTER TABLE message ADD COLUMN answer {text};
CREATE INDEX message_question ON message (sequence) WHERE owner = 'human' AND kind = 'question' AND answer IS NULL;
