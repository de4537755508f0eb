-- An attempt reads the approvals and questions of its own task. Before, it searched the newest ones of all tasks for them, and did
-- not find them any more when enough others had come.

CREATE INDEX approval_of_task ON approval (task, asked, id) WHERE task IS NOT NULL;
CREATE INDEX message_question_of_task ON message (task, sequence)
    WHERE owner = 'human' AND kind = 'question' AND task IS NOT NULL;
