//! The SQL statements about deliveries (the work of tasks and workflows in git) and conditions (facts about the project
//! that need a person).

macro_rules! delivered_columns {
    () => {
        "check_outcome, check_why, check_text, check_run, check_of, check_ms, branch, base_branch, base, commit_id, \
         tree, files, added, removed, tries, state, merged_into, before_commit, result_commit, actor, decided, kept_as, \
         created, updated"
    };
}

macro_rules! delivered_updates {
    () => {
        "check_outcome = excluded.check_outcome, check_why = excluded.check_why, check_text = excluded.check_text, \
         check_run = excluded.check_run, check_of = excluded.check_of, check_ms = excluded.check_ms, \
         branch = excluded.branch, base_branch = excluded.base_branch, base = excluded.base, \
         commit_id = excluded.commit_id, tree = excluded.tree, files = excluded.files, added = excluded.added, \
         removed = excluded.removed, tries = excluded.tries, state = excluded.state, \
         merged_into = excluded.merged_into, before_commit = excluded.before_commit, \
         result_commit = excluded.result_commit, actor = excluded.actor, decided = excluded.decided, \
         kept_as = excluded.kept_as, created = excluded.created, updated = excluded.updated"
    };
}

macro_rules! task_delivery {
    () => {
        concat!("SELECT task, workflow, attempt, agent, ", delivered_columns!(), " FROM delivery ")
    };
}

macro_rules! workflow_delivery {
    () => {
        concat!("SELECT workflow, ", delivered_columns!(), " FROM workflow_delivery ")
    };
}

pub(crate) const DELIVERY: &str = concat!(task_delivery!(), "WHERE task = $1");
pub(crate) const WAITING: &str =
    concat!(task_delivery!(), "WHERE state = 'waiting' AND (updated, task) > ($1, $2) ORDER BY updated, task LIMIT $3");
pub(crate) const CHANGED: &str =
    concat!(task_delivery!(), "WHERE updated >= $1 AND (updated, task) > ($2, $3) ORDER BY updated, task LIMIT $4");
pub(crate) const DROP_DELIVERY: &str = "DELETE FROM delivery WHERE task = $1";
pub(crate) const PUT_DELIVERY: &str = concat!(
    "INSERT INTO delivery (task, workflow, attempt, agent, ",
    delivered_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, \
     $23, $24, $25, $26, $27, $28) ON CONFLICT (task) DO UPDATE SET workflow = excluded.workflow, \
     attempt = excluded.attempt, agent = excluded.agent, ",
    delivered_updates!()
);

pub(crate) const WORKFLOW_DELIVERY: &str = concat!(workflow_delivery!(), "WHERE workflow = $1");
pub(crate) const WORKFLOWS_WAITING: &str = concat!(
    workflow_delivery!(),
    "WHERE state = 'waiting' AND (updated, workflow) > ($1, $2) ORDER BY updated, workflow LIMIT $3"
);
pub(crate) const WORKFLOWS_CHANGED: &str = concat!(
    workflow_delivery!(),
    "WHERE updated >= $1 AND (updated, workflow) > ($2, $3) ORDER BY updated, workflow LIMIT $4"
);
pub(crate) const PUT_WORKFLOW_DELIVERY: &str = concat!(
    "INSERT INTO workflow_delivery (workflow, ",
    delivered_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, \
     $23, $24, $25) ON CONFLICT (workflow) DO UPDATE SET ",
    delivered_updates!()
);

pub(crate) const CONDITION: &str =
    "SELECT kind, subject, title, detail, since, updated FROM condition WHERE kind = $1 AND subject = $2";
pub(crate) const CONDITIONS: &str =
    "SELECT kind, subject, title, detail, since, updated FROM condition ORDER BY since, kind, subject LIMIT $1";
pub(crate) const CONDITION_COUNT: &str = "SELECT count(*) FROM condition";
pub(crate) const PUT_CONDITION: &str = "INSERT INTO condition (kind, subject, title, detail, since, updated) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, subject) DO UPDATE SET title = excluded.title, \
     detail = excluded.detail, since = excluded.since, updated = excluded.updated";
pub(crate) const DROP_CONDITION: &str = "DELETE FROM condition WHERE kind = $1 AND subject = $2";
