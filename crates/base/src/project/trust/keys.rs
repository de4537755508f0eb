//! Lists all settings. For each setting, the list says if a person must accept a change. A test fails when a setting is
//! missing here.

/// The class of a setting. It decides if a person must accept a new value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyClass {
    /// Every new value of the setting waits for a person: the setting runs a program, or decides something important,
    /// such as which store is used or which outputs count.
    Asks,
    /// The setting can become stricter or wider. A stricter value takes effect immediately; a wider one waits for a
    /// person.
    Narrows,
    /// The setting neither runs a program nor widens access: a new value takes effect immediately.
    AsksNothing,
}

/// One row of the list of settings. The key is written as in `config.toml`; `*` stands for a name that the person
/// chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingKey {
    pub key: &'static str,
    pub class: KeyClass,
    /// The reason why a change of the setting waits, or does not wait, for a person.
    pub reason: &'static str,
}

const fn asks(key: &'static str, reason: &'static str) -> SettingKey {
    SettingKey { key, class: KeyClass::Asks, reason }
}

const fn narrows(key: &'static str, reason: &'static str) -> SettingKey {
    SettingKey { key, class: KeyClass::Narrows, reason }
}

const fn free(key: &'static str, reason: &'static str) -> SettingKey {
    SettingKey { key, class: KeyClass::AsksNothing, reason }
}

/// All settings. A new setting needs a row here. Unless it has the class `AsksNothing`, it also needs an item in the
/// module `list` and a line in the module `force`.
pub const KEYS: &[SettingKey] = &[
    asks("store", "a URL, or a file outside of the repository, gets all work and all mail"),
    asks("worktrees", "folders are made and removed there"),
    free("serve.port", "the server listens on this machine only"),
    narrows("serve.hosts", "each name is one more way in"),
    narrows("serve.origins", "each page may call the server"),
    narrows("serve.rate_per_second", "a bound"),
    narrows("approvals.pending_seconds", "a bound"),
    narrows("approvals.approved_seconds", "a bound"),
    asks("notify.command", "a command"),
    narrows("notify.desktop", "a program of this machine shows the notice"),
    free("notify.quiet", "says when notices are sent"),
    asks("notify.webhook.url", "gets every notice"),
    asks("notify.webhook.secret_file", "a file that is read"),
    asks("notify.webhook.secret_env", "a variable that is read"),
    asks("notify.webhook.allow", "addresses that are called"),
    asks("notify.webhook.private", "addresses that are called"),
    narrows("limits.repairs", "a bound"),
    narrows("limits.turn_seconds", "a bound"),
    narrows("limits.output_bytes", "a bound"),
    narrows("limits.usd", "a bound"),
    narrows("limits.tokens", "a bound"),
    narrows("limits.turns", "a bound"),
    narrows("limits.seconds", "a bound"),
    free("routes.*", "says who reads about an obstacle"),
    asks("evaluator.agent", "decides whose judgement counts"),
    asks("agent.slug", "names an agent that is started"),
    asks("agent.adapter", "decides how the program is started"),
    asks("agent.command", "a command"),
    asks("agent.args", "part of a command"),
    asks("agent.model", "decides what is paid for and how the agent behaves"),
    free("agent.roles", "says which tasks the agent is offered"),
    free("agent.capabilities", "says which tasks the agent is offered"),
    free("agent.persona", "a text"),
    free("agent.media_types", "says which reviews the agent is offered"),
    narrows("agent.permissions", "read, edit, all: from strict to wide"),
    narrows("agent.max_parallel", "a bound"),
    free("agent.output", "the form of an answer"),
    narrows("agent.plans", "it lets an agent add tasks that others then work on"),
    narrows("agent.writable_sections", "each section is one more place to write"),
    narrows("agent.readable_sections", "each section is one more text that is read; without the key it is all of them"),
    narrows("agent.home", "own, user: from strict to wide"),
    asks("agent.env.*", "reaches the program"),
    narrows("agent.keys", "each key is one more secret that the program gets; without the key it is all of them"),
    free("agent.surfaces", "says for which parts of the product the agent is primary"),
    narrows("agent.works", "it lets an agent that judges also work"),
    asks("worktree.setup.command", "a command"),
    narrows("worktree.setup.seconds", "a bound"),
    free("worktree.setup.inputs", "says when the command runs again"),
    asks("worktree.setup.folder", "part of a command"),
    narrows("worktree.copy", "each pattern takes one more ignored file to the agents"),
    narrows("worktree.slots_per_turn", "a bound"),
    asks("verify.checks.command", "a command, and decides which work counts"),
    narrows("verify.checks.seconds", "a bound"),
    narrows("verify.checks.when", "task, end: from strict to wide"),
    asks("verify.checks.folder", "part of a command"),
    narrows("verify.retries", "a bound"),
    narrows("verify.parallel", "a bound"),
    narrows("verify.recheck", "always, files: from strict to wide"),
    narrows("env.pass", "each variable is one more value that programs get"),
    narrows("env.drop", "each variable is one value less that programs get"),
    asks("contract.*.schema", "decides which output counts"),
    asks("contract.*.checks.command", "a command, and decides which output counts"),
    narrows("contract.*.checks.seconds", "a bound"),
    narrows("gates.default", "ask, allow: from strict to wide"),
    narrows("gates.opaque", "ask, allow: from strict to wide"),
    narrows("gate.command", "a rule that asks or denies narrows, one that allows widens"),
    narrows("gate.write", "a rule that asks or denies narrows, one that allows widens"),
    narrows("gate.decision", "deny, ask, allow: from strict to wide"),
    narrows("mcp.coordinators", "each client is one more coordinator"),
];

/// Returns the class of a setting, which decides if a new value waits for a person. A setting that is missing in `KEYS`
/// has the class `Asks`.
pub fn class(key: &str) -> KeyClass {
    KEYS.iter().find(|row| row.key == key).map_or(KeyClass::Asks, |row| row.class)
}
