//! The database tables and their columns. Inserts, exports and imports all use the lists in this file.

use std::sync::LazyLock;

/// A table and its columns, in the order in which the values of a row are written and read.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// The columns by which an export sorts the rows.
    pub(crate) order: &'static str,
    /// The SQL statement that inserts one row into the table.
    pub(crate) insert: LazyLock<String>,
}

macro_rules! tables {
    ($($table:ident = $name:literal by $order:literal { $($column:ident)* })*) => {
        $(pub(crate) static $table: Table = Table {
            name: $name,
            columns: &[$(stringify!($column)),*],
            order: $order,
            insert: LazyLock::new(|| insert_sql($name, &[$(stringify!($column)),*], 1)),
        };)*
        /// All tables, in the order in which they are exported.
        pub(crate) static TABLES: &[&Table] = &[$(&$table),*];
    };
}

/// Returns `INSERT INTO table (…) VALUES ($1, …), (…)` for a number of rows.
pub(crate) fn insert_sql(table: &str, columns: &[&str], rows: usize) -> String {
    use std::fmt::Write as _;
    let mut sql = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    let width = columns.len();
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=width {
            let comma = if column == 1 { "" } else { ", " };
            let _ = write!(sql, "{comma}${}", row * width + column);
        }
        sql.push(')');
    }
    sql
}

// New columns are added at the end of a table's list. So the values of a row from an older schema belong to the first
// columns of the present schema.
tables! {
    WORKFLOW = "workflow" by "id" {
        id name status parallel_max lease_ms lock_owner lock_since lock_until draft_token draft_until tasks open sequence
        created updated standing archived branch
    }
    WORKFLOW_DETAIL = "workflow_detail" by "workflow" {
        workflow source_type source_ref source_content plan_summary auto_workspaces config
    }
    TASK = "task" by "id" {
        id workflow name sequence priority role capabilities touches parallel_group verify gate attempts_max attempt
        crashes unmet checkpoints repository workspace status holder lease_since lease_until actor note block_kind block_role
        created updated review limited author number
    }
    TASK_DETAIL = "task_detail" by "task" { task description brief plan context context_from extra outcome_detail }
    COUNTER = "counter" by "name" { name value }
    DEPENDENCY = "dependency" by "task, depends_on" { task depends_on }
    CHECKPOINT = "checkpoint" by "task, sequence" { task sequence id attempt actor kind summary detail files at }
    AGENT = "agent" by "id" {
        id slug name runtime role capabilities workflow workspace_path metadata session seen left_at created updated
        conversation part call_id principal registered
    }
    MAILBOX = "mailbox" by "owner" { owner sequence unread }
    MESSAGE = "message" by "id" {
        id owner sequence sender thread state state_at kind priority subject body body_json action_required workflow task
        reply_to at answer
    }
    WORKSPACE = "workspace" by "id" {
        id workflow repository path branch base_branch status merge_commit pr_url config created_by_us created updated
    }
    REPOSITORY = "repository" by "id" { id path name created actor }
    ATTACHMENT = "attachment" by "workflow, repository" { workflow repository added }
    TEMPLATE = "template" by "id" { id name description body created }
    TOKEN = "token" by "id" { id name hash scope agent created revoked kind used }
    TURN = "turn" by "id" {
        id task workflow agent attempt number purpose adapter runner started ended ending reason conversation usd_micros
        tokens ms turns tool_calls stream stream_bytes verdict tokens_in tokens_out model
    }
    VERIFICATION = "verification" by "task, number" {
        task number workflow attempt turn actor mechanical semantic output_ref evidence at
    }
    REMINDER = "reminder" by "conversation, part" { conversation part prompt count task attempt goes_on at }
    RUNNER = "runner" by "name" { name host pid agents since seen }
    SECTION = "section" by "name" { name body version actor updated }
    SECTION_CHANGE = "section_change" by "section, version" {
        section version actor task at body_before body_after
    }
    APPROVAL = "approval" by "id" {
        id source agent workflow task attempt operation content scope directory risk rollback verification fingerprint
        asked status until actor decided reason shown used_by used
    }
    REVIEW = "review" by "id" {
        id provider actor workflow task attempt rounds_max rounds status findings open conversation opened updated
    }
    REVIEW_ROUND = "review_round" by "review, number" {
        review number tries turn media_type artifact_ref request request_bytes started status host until ended confidence
        summary found response response_bytes code usd_micros tokens ms turns tokens_in tokens_out
    }
    FINDING = "finding" by "review, name" {
        review name number round aspect description recommendation status actor decided code explanation told
    }
    NOTICE = "notice" by "approval, channel" { approval channel tries next problem }
    TOLD_ITEM = "told_item" by "way, item" { way item at }
    PUT_OFF = "put_off" by "item" { item until actor }
    DELIVERY = "delivery" by "task" {
        task workflow attempt agent check_outcome check_why check_text check_run check_of check_ms branch base_branch base
        commit_id tree files added removed tries state merged_into before_commit result_commit actor decided kept_as
        created updated
    }
    WORKFLOW_DELIVERY = "workflow_delivery" by "workflow" {
        workflow check_outcome check_why check_text check_run check_of check_ms branch base_branch base
        commit_id tree files added removed tries state merged_into before_commit result_commit actor decided kept_as
        created updated
    }
    CONDITION = "condition" by "kind, subject" { kind subject title detail since updated }
    KEPT_ANSWER = "kept_answer" by "owner, act, idempotency_key" { owner act idempotency_key fingerprint answer until }
    TOPIC = "topic" by "name" { name seq hash at }
    EVENT = "event" by "xid, pos" { topic seq at type sender body prev hash }
}
