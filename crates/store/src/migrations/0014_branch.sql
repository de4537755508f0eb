-- The git branch into which the work of a workflow's tasks is merged. A workflow keeps the branch that it began with.

ALTER TABLE workflow ADD COLUMN branch {text};
CREATE UNIQUE INDEX workflow_branch ON workflow (branch) WHERE branch IS NOT NULL;
