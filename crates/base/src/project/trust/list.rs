//! The list of items that a person accepts: each setting that runs a program or widens access, and each script, in a
//! fixed order.

mod further;
pub(super) mod work;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::script::ScriptMarks;
use crate::project::settings::team::{AgentSettings, CheckSettings, HomeSettings, LimitSettings};
use crate::project::settings::{Approvals, SettingSource, Settings, Webhook};
use agents::adapter::Permissions;
use gate::GateDecision;
use wire::visible::redacted;

/// The rule that says which changes of a setting widen access. Such a change waits for a person; any other change takes
/// effect immediately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ItemOrder {
    /// The setting is a permission. A new or changed value waits for a person; the removal takes effect immediately.
    Grant,
    /// The setting is a permission whose removal can also widen access. Every change waits for a person.
    Fixed,
    /// The setting is an upper bound. A lower number takes effect immediately; a higher number waits for a person.
    Bound(f64),
    /// The setting is a requirement with a strength. A new or stronger requirement takes effect immediately. A weaker
    /// one, a removal, or another value of the same strength waits for a person.
    Demand(u8),
    /// A person sees and accepts the item, but a change does not wait for a person. Example: the script of a check,
    /// which is compared with its accepted content when the check runs.
    Noted,
}

/// One setting, or the content of one script, that a person accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct TrustItem {
    /// The key of the setting, as `keys::KEYS` writes it, or `script`.
    pub key: &'static str,
    /// The name that distinguishes items of the same key: the name of an agent or of a contract, or a member of a list.
    pub subject: String,
    /// The complete value of the setting or script, including secrets. It is only hashed and compared, never shown.
    pub value: Value,
    /// The line that shows the setting or script to a person, without secrets.
    pub text: String,
    /// True when no file sets the value, so that the default applies.
    pub is_default: bool,
    /// The origin of the value: a settings file, or the detection on this machine.
    pub source: SettingSource,
    pub(super) order: ItemOrder,
}

/// All settings and scripts that a person must accept, in a fixed order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrustList(pub Vec<TrustItem>);

impl TrustList {
    /// Makes the list of items that a person must accept in these settings. `store` is the store's URL or path if a
    /// person must accept it, else `None`. `scripts` holds the contents of the scripts that commands name.
    pub(super) fn of(settings: &Settings, store: Option<&str>, scripts: &ScriptMarks) -> Self {
        let mut list = AcceptedItems::default();
        if let Some(store) = store {
            list.grant("store", "", json!(store), format!("store: {}", redacted(store)));
        }
        if let Some(path) = &settings.worktrees {
            list.grant("worktrees", "", json!(path), format!("worktrees in: {}", path.display()));
        }
        list.serve(settings);
        list.approvals(settings.approvals);
        list.notify(settings);
        list.limits(&settings.team.limits);
        if let Some(evaluator) = &settings.team.evaluator {
            let text = format!("evaluator: {}", evaluator.agent);
            list.add(("evaluator.agent", ""), json!(evaluator.agent), text, ItemOrder::Fixed);
        }
        settings.team.agents.iter().for_each(|agent| list.agent(agent));
        list.worktree(&settings.team.worktree);
        list.verify(&settings.team.verify);
        list.environment(&settings.team.environment);
        list.contracts(settings);
        list.gates(settings);
        for client in &settings.mcp.coordinators {
            list.grant("mcp.coordinators", client, json!(client), format!("coordinator over MCP: {client}"));
        }
        list.scripts(scripts);
        for item in &mut list.0 {
            item.source = work::source(&settings.team, item);
            item.text = format!("{}{}", visible(&item.text), work::found(item));
        }
        Self(list.0)
    }

    /// Returns the hash of the list of items that a person must accept. Two settings files with the same items have the
    /// same hash.
    pub fn sha256(&self) -> String {
        let mut whole = Sha256::new();
        for item in &self.0 {
            whole.update(format!("{}\n", json!([item.key, item.subject, item.value])));
        }
        crate::ground::digest::hexadecimal(&whole.finalize())
    }

    /// Returns the lines that show the items to a person who must accept them. Items with their default value are left
    /// out.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().filter(|item| !item.is_default).map(|item| item.text.clone()).collect()
    }

    /// Returns the lines that show the settings that run a program or call a URL.
    pub fn commands(&self) -> Vec<String> {
        let runs = [
            "agent.command",
            "worktree.setup.command",
            "verify.checks.command",
            "contract.*.checks.command",
            "notify.command",
            "notify.webhook.url",
        ];
        self.0.iter().filter(|item| runs.contains(&item.key)).map(|item| item.text.clone()).collect()
    }
}

#[derive(Debug, Default)]
struct AcceptedItems(Vec<TrustItem>);

impl AcceptedItems {
    fn add(&mut self, (key, subject): (&'static str, &str), value: Value, text: String, order: ItemOrder) {
        let (subject, is_default) = (subject.to_owned(), false);
        self.0.push(TrustItem { key, subject, value, text, is_default, source: SettingSource::File, order });
    }

    fn grant(&mut self, key: &'static str, subject: &str, value: Value, text: String) {
        self.add((key, subject), value, text, ItemOrder::Grant);
    }

    /// Adds an upper bound to the list of settings that a person accepts, also when no file sets it and the default
    /// applies. A `value` of `None` means that there is no bound.
    fn bound(&mut self, key: &'static str, name: &str, value: Option<f64>, default: Option<f64>) {
        let shown = value.map_or_else(|| "no limit".to_owned(), |value| value.to_string());
        let order = ItemOrder::Bound(value.unwrap_or(f64::INFINITY));
        let text = format!("{name}: {shown}");
        let item = TrustItem {
            key,
            subject: String::new(),
            value: json!(value),
            text,
            is_default: false,
            source: SettingSource::File,
            order,
        };
        self.0.push(TrustItem { is_default: value == default, ..item });
    }

    fn serve(&mut self, settings: &Settings) {
        let serve = &settings.serve;
        for host in &serve.hosts {
            self.grant("serve.hosts", host, json!(host), format!("the server is reached as: {host}"));
        }
        for origin in &serve.origins {
            self.grant("serve.origins", origin, json!(origin), format!("pages that may call the server: {origin}"));
        }
        let default = f64::from(crate::project::settings::RATE_DEFAULT);
        let rate = serve.rate_per_second.map_or(default, f64::from);
        self.bound("serve.rate_per_second", "requests per second", Some(rate), Some(default));
    }

    fn approvals(&mut self, approvals: Approvals) {
        let Approvals { pending_seconds, approved_seconds } = approvals;
        let default = Approvals::default();
        let rows = [
            ("approvals.pending_seconds", "seconds to decide", pending_seconds, default.pending_seconds),
            ("approvals.approved_seconds", "seconds to use an approval", approved_seconds, default.approved_seconds),
        ];
        for (key, name, value, default) in rows {
            self.bound(key, name, Some(value.into()), Some(default.into()));
        }
    }

    fn notify(&mut self, settings: &Settings) {
        if let Some(words) = &settings.notify.command {
            self.grant("notify.command", "", json!(words), format!("notify: {}", shown(words)));
        }
        let is_on = settings.notify.desktop;
        let text = format!("notify: {} the desktop", if is_on { "on" } else { "not on" });
        let (key, subject, order) = ("notify.desktop", String::new(), ItemOrder::Bound(f64::from(u8::from(is_on))));
        self.0.push(TrustItem {
            key,
            subject,
            value: json!(is_on),
            text,
            is_default: is_on,
            source: SettingSource::File,
            order,
        });
        let Some(webhook) = &settings.notify.webhook else { return };
        let Webhook { url, secret_file, secret_env, allow, private } = webhook;
        let signs = match (secret_file, secret_env) {
            (Some(file), _) => format!("the file {}", file.display()),
            (None, name) => format!("the variable {}", name.as_deref().unwrap_or_default()),
        };
        let near = if *private { ", also addresses of this machine and of private networks" } else { "" };
        let calls = allow.join(", ");
        let text = format!("notify: POST {}, signed with {signs}, may call {calls}{near}", redacted(url));
        // All parts of the webhook are one item. With separate items, a mix of accepted and new parts could take
        // effect, and no person accepted that mix.
        let value = json!([url, secret_file, secret_env, allow, private]);
        self.grant("notify.webhook.url", "", value, text);
    }

    #[expect(clippy::cast_precision_loss, reason = "compared with numbers that people write")]
    fn limits(&mut self, limits: &LimitSettings) {
        let LimitSettings { repairs, turn_seconds, output_bytes, usd, tokens, turns, seconds } = limits.clone();
        let of = LimitSettings::default();
        let whole = |number: Option<u64>| number.map(|number| number as f64);
        let rows = [
            ("limits.repairs", "limit repairs", Some(repairs.into()), Some(of.repairs.into())),
            ("limits.turn_seconds", "limit turn_seconds", Some(turn_seconds.into()), Some(of.turn_seconds.into())),
            ("limits.output_bytes", "limit output_bytes", whole(Some(output_bytes)), whole(Some(of.output_bytes))),
            ("limits.usd", "limit usd", usd, of.usd),
            ("limits.tokens", "limit tokens", whole(tokens), whole(of.tokens)),
            ("limits.turns", "limit turns", turns.map(f64::from), of.turns.map(f64::from)),
            ("limits.seconds", "limit seconds", whole(seconds), whole(of.seconds)),
        ];
        for (key, name, value, default) in rows {
            self.bound(key, name, value, default);
        }
    }

    fn agent(&mut self, agent: &AgentSettings) {
        let AgentSettings { slug, adapter, command, args, model, permissions, max_parallel, home, env, .. } = agent;
        let at = |what: &str| format!("agent {slug}: {what}");
        self.grant("agent.command", slug, json!(command), at(&shown(command)));
        self.grant("agent.adapter", slug, json!(adapter.name()), at(&format!("adapter {}", adapter.name())));
        if !args.is_empty() {
            let text = at(&format!("arguments {}", shown(args)));
            self.add(("agent.args", slug), json!(args), text, ItemOrder::Fixed);
        }
        // Every change of an argument or a variable waits for a person: removing one (`--sandbox`, `SANDBOX=1`) can
        // widen access as much as adding one.
        for (name, value) in env {
            let text = at(&format!("env {}", variable(name, value)));
            self.add(("agent.env.*", &format!("{slug} {name}")), json!(value), text, ItemOrder::Fixed);
        }
        if let Some(model) = model {
            self.add(("agent.model", slug), json!(model), at(&format!("model {model}")), ItemOrder::Fixed);
        }
        let (word, rank) = permissions_rank(*permissions);
        let text = at(&format!("permissions {word}"));
        self.add(("agent.permissions", slug), json!(word), text, ItemOrder::Bound(rank));
        let (word, rank) = home_rank(*home);
        self.add(("agent.home", slug), json!(word), at(&format!("home {word}")), ItemOrder::Bound(rank));
        let text = at(&format!("at most {max_parallel} at once"));
        let order = ItemOrder::Bound((*max_parallel).into());
        self.add(("agent.max_parallel", slug), json!(max_parallel), text, order);
        self.agent_work(agent);
        if agent.plans {
            self.grant("agent.plans", slug, json!(true), at("adds tasks to the plan it works on"));
        }
        for section in &agent.writable_sections {
            let (subject, text) = (format!("{slug} {section}"), at(&format!("writes the section {section}")));
            self.grant("agent.writable_sections", &subject, json!(section), text);
        }
        match &agent.readable_sections {
            None => {
                let (subject, text) = (format!("{slug} *"), at("reads every section"));
                self.grant("agent.readable_sections", &subject, json!("*"), text);
            }
            Some(sections) => {
                for section in sections {
                    let (subject, text) = (format!("{slug} {section}"), at(&format!("reads the section {section}")));
                    self.grant("agent.readable_sections", &subject, json!(section), text);
                }
            }
        }
    }

    fn contracts(&mut self, settings: &Settings) {
        for (name, contract) in &settings.team.contracts {
            for check in &contract.checks {
                let CheckSettings { command, seconds } = check;
                let subject = format!("{name} {}", json!(command));
                let text = format!("check of {name}: {}", shown(command));
                self.add(("contract.*.checks.command", &subject), json!(command), text, ItemOrder::Fixed);
                let text = format!("check of {name}: {} has at most {seconds} s", shown(command));
                let order = ItemOrder::Bound((*seconds).into());
                self.add(("contract.*.checks.seconds", &subject), json!(seconds), text, order);
            }
            if let Some(schema) = &contract.schema {
                let text = format!("contract {name}: schema {}", schema.display());
                self.add(("contract.*.schema", name), json!(schema), text, ItemOrder::Demand(1));
            }
        }
        // A schema in a new file only adds requirements for outputs, so it takes effect immediately. A changed schema
        // may require less, so it waits for a person.
        for (name, text) in &settings.team.schemas {
            let Ok(text) = text else { continue };
            let hash = crate::ground::digest::sha256(text.as_bytes());
            let shown = format!("schema contracts/{name}: sha256 {}", &hash[..16]);
            self.add(("contract.*.schema", &format!("file {name}")), json!(hash), shown, ItemOrder::Demand(1));
        }
    }

    fn gates(&mut self, settings: &Settings) {
        let (word, strength) = match settings.gates.otherwise() {
            GateDecision::Allow => ("allow", 1),
            GateDecision::Ask | GateDecision::Deny => ("ask", 2),
        };
        let text = format!("gates: what no rule names: {word}");
        let (key, subject) = ("gates.default", String::new());
        let (is_default, order) = (settings.gates.is_empty(), ItemOrder::Demand(strength));
        self.0.push(TrustItem {
            key,
            subject,
            value: json!(word),
            text,
            is_default,
            source: SettingSource::File,
            order,
        });
        let (word, strength) = match settings.gates.opaque() {
            GateDecision::Allow => ("allow", 1),
            GateDecision::Ask | GateDecision::Deny => ("ask", 2),
        };
        let text = format!("gates: programs that cannot be looked into: {word}");
        let (key, subject, order) = ("gates.opaque", String::new(), ItemOrder::Demand(strength));
        // The setting `gates.opaque` decides about programs that cannot be analyzed. When the file does not set it, the
        // decision of `gates.default` applies, and the list already shows that decision in a line of its own.
        let is_default = settings.gates.opaque() == settings.gates.otherwise();
        self.0.push(TrustItem {
            key,
            subject,
            value: json!(word),
            text,
            is_default,
            source: SettingSource::File,
            order,
        });
        for (matter, decision) in settings.gates.strictest() {
            let key = if matter.starts_with("write ") { "gate.write" } else { "gate.command" };
            let (word, order) = match decision {
                GateDecision::Allow => ("allow", ItemOrder::Grant),
                GateDecision::Ask => ("ask", ItemOrder::Demand(2)),
                GateDecision::Deny => ("deny", ItemOrder::Demand(3)),
            };
            self.add((key, &matter), json!(word), format!("gate: {word} {matter}"), order);
        }
    }

    fn scripts(&mut self, scripts: &ScriptMarks) {
        for (name, script) in &scripts.0 {
            let text = format!("script {name}: {}", script.shown());
            let order = if script.starts_something { ItemOrder::Grant } else { ItemOrder::Noted };
            self.add((super::SCRIPT, name), json!(script.marks), text, order);
        }
    }
}

pub(super) fn permissions_rank(permissions: Permissions) -> (&'static str, f64) {
    match permissions {
        Permissions::Read => ("read", 0.0),
        Permissions::Edit => ("edit", 1.0),
        Permissions::All => ("all", 2.0),
    }
}

pub(super) fn home_rank(home: HomeSettings) -> (&'static str, f64) {
    match home {
        HomeSettings::Own => ("own", 0.0),
        HomeSettings::User => ("user", 1.0),
    }
}

/// Returns an environment variable and its value for a person to read. Leaves out a value that looks like a secret.
fn variable(name: &str, value: &str) -> String {
    redacted(&format!("{name}={}", quoted(value)))
}

fn shown<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| quoted(word)).collect();
    redacted(&words.join(" "))
}

/// Escapes characters that move or delete other characters on a terminal, because they could hide the real text.
fn visible(text: &str) -> String {
    let escaped =
        |letter: char| if "'\"\\".contains(letter) { letter.to_string() } else { letter.escape_debug().to_string() };
    text.chars().map(escaped).collect()
}

fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./=:,@+".contains(letter));
    if is_plain { word.to_owned() } else { format!("{word:?}") }
}
