-- A turn whose program no longer knew its conversation has an ending of its own. Before, it was a failed turn with a fixed
-- sentence as its reason.

UPDATE turn SET ending = 'conversation_lost', reason = NULL
WHERE ending = 'failed' AND reason = 'the conversation it was to resume is gone';
