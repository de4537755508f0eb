//! Tests each setting with a changed value: if the change waits for a person, and which value takes effect.

use serde_json::json;

use super::Clone;
use crate::project::settings::{Settings, VerifyCheck};

/// A settings file that a person accepted, and a changed one. The other fields are the expected changes, which of them
/// wait for a person, and the value that takes effect until a person accepts.
struct ValueCase {
    accepted: &'static str,
    file: &'static str,
    /// The expected changes. A change that waits for a person starts with `?`; one that takes effect immediately starts
    /// with `.`.
    changes: &'static [&'static str],
    in_force: fn(&Settings) -> serde_json::Value,
    value: serde_json::Value,
}

macro_rules! agent {
    ($more:literal) => {
        concat!("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n", $more)
    };
}

macro_rules! gate {
    ($matter:literal, $decision:literal) => {
        concat!("[[gate]]\n", $matter, "\ndecision = \"", $decision, "\"\n")
    };
}

fn checks(settings: &Settings) -> serde_json::Value {
    let contract = &settings.team.contracts["code"];
    json!([contract.checks.iter().map(|check| check.command.join(" ")).collect::<Vec<_>>(), contract.is_unaccepted])
}

fn words(settings: &Settings) -> serde_json::Value {
    let agents = settings.team.agents.iter();
    json!(agents.map(|agent| agent.command.iter().chain(&agent.args).cloned().collect()).collect::<Vec<Vec<String>>>())
}

fn nothing(_: &Settings) -> serde_json::Value {
    json!(null)
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<ValueCase> {
    vec![
        ValueCase {
            accepted: "",
            file: "[limits]\nusd = 3.0\n",
            changes: &[". ~ limit usd: 5 -> 3"],
            in_force: |settings| json!(settings.team.limits.usd),
            value: json!(3.0),
        },
        ValueCase {
            accepted: "",
            file: "[limits]\nusd = 100.0\nturns = 9\n",
            changes: &["? ~ limit usd: 5 -> 100", ". ~ limit turns: no limit -> 9"],
            in_force: |settings| json!([settings.team.limits.usd, settings.team.limits.turns]),
            value: json!([5.0, 9]),
        },
        ValueCase {
            accepted: "[limits]\ntokens = 7\n",
            file: "",
            changes: &["? ~ limit tokens: 7 -> no limit"],
            in_force: |settings| json!(settings.team.limits.tokens),
            value: json!(7),
        },
        ValueCase {
            accepted: agent!(""),
            file: agent!("args = [\"-x\"]\n"),
            changes: &["? + agent quinn: arguments -x"],
            in_force: words,
            value: json!([["sh"]]),
        },
        ValueCase {
            accepted: agent!("args = [\"--sandbox\"]\n"),
            file: agent!(""),
            changes: &["? - agent quinn: arguments --sandbox"],
            in_force: words,
            value: json!([["sh", "--sandbox"]]),
        },
        ValueCase {
            accepted: agent!(""),
            file: "",
            changes: &[
                ". - agent quinn: sh",
                ". - agent quinn: adapter exec",
                ". - agent quinn: permissions edit",
                ". - agent quinn: home user",
                ". - agent quinn: at most 1 at once",
                ". - agent quinn: gets every API key",
                ". - agent quinn: reads every section",
            ],
            in_force: words,
            value: json!([]),
        },
        ValueCase {
            accepted: agent!("env = { SANDBOX = \"1\" }\n"),
            file: agent!("env = { PATH = \"/tmp\" }\n"),
            changes: &["? + agent quinn: env PATH=/tmp", "? - agent quinn: env SANDBOX=1"],
            in_force: |settings| json!(settings.team.agents[0].env),
            value: json!({"SANDBOX": "1"}),
        },
        ValueCase {
            accepted: agent!("permissions = \"all\"\nhome = \"user\"\nmax_parallel = 3\n"),
            file: agent!("permissions = \"read\"\nhome = \"own\"\nmax_parallel = 2\n"),
            changes: &[
                ". ~ agent quinn: permissions all -> permissions read",
                ". ~ agent quinn: home user -> home own",
                ". ~ agent quinn: at most 3 at once -> at most 2 at once",
            ],
            in_force: |settings| {
                let agent = &settings.team.agents[0];
                json!([format!("{:?} {:?}", agent.permissions, agent.home), agent.max_parallel])
            },
            value: json!(["Read Own", 2]),
        },
        ValueCase {
            accepted: agent!("permissions = \"read\"\nhome = \"own\"\n"),
            file: agent!("permissions = \"all\"\nmax_parallel = 9\n"),
            changes: &[
                "? ~ agent quinn: permissions read -> permissions all",
                "? ~ agent quinn: home own -> home user",
                "? ~ agent quinn: at most 1 at once -> at most 9 at once",
            ],
            in_force: |settings| {
                let agent = &settings.team.agents[0];
                json!([format!("{:?} {:?}", agent.permissions, agent.home), agent.max_parallel])
            },
            value: json!(["Read Own", 1]),
        },
        ValueCase {
            accepted: agent!("model = \"small\"\n"),
            file: agent!("model = \"large\"\n"),
            changes: &["? ~ agent quinn: model small -> model large"],
            in_force: |settings| json!(settings.team.agents[0].model),
            value: json!("small"),
        },
        ValueCase {
            accepted: agent!("writable_sections = [\"stack\", \"glossary\"]\n"),
            file: agent!("writable_sections = [\"stack\", \"secrets\"]\nreadable_sections = [\"stack\"]\n"),
            changes: &[
                "? + agent quinn: writes the section secrets",
                ". + agent quinn: reads the section stack",
                ". - agent quinn: writes the section glossary",
                ". - agent quinn: reads every section",
            ],
            in_force: |settings| {
                let agent = &settings.team.agents[0];
                json!([agent.writable_sections, agent.readable_sections])
            },
            value: json!([["stack"], ["stack"]]),
        },
        ValueCase {
            accepted: "[contract.code]\nchecks = [{ command = [\"make\", \"test\"], seconds = 60 }]\n",
            file: "[contract.code]\nchecks = [{ command = [\"make\", \"lint\"], seconds = 60 }]\n",
            changes: &[
                "? + check of code: make lint",
                "? + check of code: make lint has at most 60 s",
                "? - check of code: make test",
                ". - check of code: make test has at most 60 s",
            ],
            in_force: checks,
            value: json!([["make test"], false]),
        },
        ValueCase {
            accepted: "[contract.code]\nchecks = [{ command = [\"make\", \"test\"], seconds = 60 }]\n",
            file: "",
            changes: &["? - check of code: make test", ". - check of code: make test has at most 60 s"],
            in_force: checks,
            value: json!([["make test"], false]),
        },
        ValueCase {
            accepted: "",
            file: "[contract.code]\nchecks = [{ command = [\"true\"], seconds = 60 }]\n",
            changes: &["? + check of code: true", "? + check of code: true has at most 60 s"],
            in_force: checks,
            value: json!([["true"], true]),
        },
        ValueCase {
            accepted: "[contract.code]\nchecks = [{ command = [\"make\"], seconds = 60 }]\n",
            file: "[contract.code]\nchecks = [{ command = [\"make\"], seconds = 5 }]\n",
            changes: &[". ~ check of code: make has at most 60 s -> make has at most 5 s"],
            in_force: |settings| json!(settings.team.contracts["code"].checks[0].seconds),
            value: json!(5),
        },
        ValueCase {
            accepted: agent!("[evaluator]\nagent = \"quinn\"\n"),
            file: agent!(""),
            changes: &["? - evaluator: quinn"],
            in_force: |settings| json!(settings.team.evaluator.as_ref().map(|found| found.agent.clone())),
            value: json!("quinn"),
        },
        ValueCase {
            accepted: "[notify]\ncommand = [\"true\"]\n",
            file: "[notify]\ncommand = [\"curl\", \"evil\"]\n",
            changes: &["? ~ notify: true -> curl evil"],
            in_force: |settings| json!(settings.notify.command),
            value: json!(["true"]),
        },
        ValueCase {
            accepted: "[notify]\nwebhook = { url = \"https://a/\", secret_env = \"A\", allow = [\"a:443\"] }\n",
            file: "[notify]\nwebhook = { url = \"https://b/\", secret_env = \"A\", allow = [\"b:443\"] }\n",
            changes: &["? ~ notify: POST https://a/, signed with the variable A, may call a:443 -> \
                 POST https://b/, signed with the variable A, may call b:443"],
            in_force: |settings| json!(settings.notify.webhook.as_ref().map(|webhook| webhook.url.clone())),
            value: json!("https://a/"),
        },
        ValueCase {
            accepted: "[serve]\nhosts = [\"a.example\", \"b.example\"]\norigins = [\"https://a.example\"]\n",
            file: "[serve]\nport = 1\nhosts = [\"a.example\", \"c.example\"]\nrate_per_second = 5\n",
            changes: &[
                "? + the server is reached as: c.example",
                ". ~ requests per second: 20000 -> 5",
                ". - the server is reached as: b.example",
                ". - pages that may call the server: https://a.example",
            ],
            in_force: |settings| {
                json!([
                    settings.serve.port,
                    settings.serve.hosts,
                    settings.serve.origins,
                    settings.serve.rate_per_second
                ])
            },
            value: json!([1, ["a.example"], [], 5]),
        },
        ValueCase {
            accepted: "",
            file: "[approvals]\npending_seconds = 60\napproved_seconds = 86400\n",
            changes: &[". ~ seconds to decide: 86400 -> 60", "? ~ seconds to use an approval: 300 -> 86400"],
            in_force: |settings| json!([settings.approvals.pending_seconds, settings.approvals.approved_seconds]),
            value: json!([60, 300]),
        },
        ValueCase {
            accepted: agent!("works = false\n"),
            file: agent!("works = true\nkeys = [\"openai\"]\n"),
            changes: &[
                "? ~ agent quinn: takes no tasks -> takes tasks",
                ". + agent quinn: gets the key openai",
                ". - agent quinn: gets every API key",
            ],
            in_force: |settings| json!([settings.team.agents[0].works, settings.team.agents[0].keys]),
            value: json!([false, ["openai"]]),
        },
        ValueCase {
            accepted: agent!("works = true\nkeys = [\"OPENAI_API_KEY\"]\n"),
            file: agent!("works = false\nkeys = [\"OPENAI_API_KEY\", \"google\"]\n"),
            changes: &[". ~ agent quinn: takes tasks -> takes no tasks", "? + agent quinn: gets the key google"],
            in_force: |settings| json!([settings.team.agents[0].works, settings.team.agents[0].keys]),
            value: json!([false, ["OPENAI_API_KEY"]]),
        },
        ValueCase {
            accepted: "[worktree]\nsetup = [{ command = [\"npm\", \"ci\"] }]\ncopy = [\".env\", \"b\"]\n",
            file: "[worktree]\nsetup = [{ command = [\"npm\", \"i\"], seconds = 9 }]\ncopy = [\".env\", \"c\"]\n",
            changes: &[
                "? + setup: npm i",
                "? + setup: npm i has at most 9 s",
                "? + copy: c",
                "? - setup: npm ci",
                ". - copy: b",
            ],
            in_force: |settings| {
                let worktree = &settings.team.worktree;
                json!([worktree.setup.iter().map(|setup| setup.command.join(" ")).collect::<Vec<_>>(), worktree.copy])
            },
            value: json!([["npm ci"], [".env"]]),
        },
        ValueCase {
            accepted: "[worktree]\ncopy = [\"conf\", \"!conf/secret\"]\n",
            file: "[worktree]\ncopy = [\"conf\"]\nslots_per_turn = 9\n",
            changes: &["? + copy: conf", "? ~ worktrees for each turn: 4 -> 9", "? - copy: conf, !conf/secret"],
            in_force: |settings| json!([settings.team.worktree.copy, settings.team.worktree.slots_per_turn]),
            value: json!([["conf", "!conf/secret"], 4]),
        },
        ValueCase {
            accepted: "[verify]\nchecks = [{ command = [\"make\"], when = \"end\" }]\nretries = 2\n",
            file: "[verify]\nchecks = [{ command = [\"make\"], seconds = 5 }, { command = [\"make\", \"lint\"], \
                   folder = \"web\" }]\nretries = 3\nparallel = 1\nrecheck = \"files\"\n",
            changes: &[
                ". ~ check: make has at most 600 s -> make has at most 5 s",
                ". ~ check: make runs only at the end -> make runs after each task",
                "? + check: make lint in web",
                "? ~ retries of a failed check: 2 -> 3",
                ". ~ checks at once: 2 -> 1",
                "? ~ check again after a merge: always -> only when both sides changed a file",
            ],
            in_force: |settings| {
                let verify = &settings.team.verify;
                let check =
                    |check: &VerifyCheck| format!("{} {} {:?}", check.command.join(" "), check.seconds, check.when);
                let checks: Vec<String> = verify.checks.iter().map(check).collect();
                json!([checks, verify.retries, verify.parallel, format!("{:?}", verify.recheck)])
            },
            value: json!([["make 5 Task"], 2, 1, "Always"]),
        },
        ValueCase {
            accepted: "[verify]\nchecks = [{ command = [\"make\"] }]\n",
            file: "[verify]\nchecks = []\n",
            changes: &["? - check: make"],
            in_force: |settings| json!(settings.team.verify.checks[0].command),
            value: json!(["make"]),
        },
        ValueCase {
            accepted: "[env]\npass = [\"AWS_*\", \"PIN\"]\ndrop = [\"TERM\"]\n",
            file: "[env]\npass = [\"AWS_*\", \"DATABASE_URL\"]\ndrop = [\"USER\"]\n",
            changes: &[
                "? + environment: programs get DATABASE_URL",
                ". + environment: programs do not get USER",
                ". - environment: programs get PIN",
                "? - environment: programs do not get TERM",
            ],
            in_force: |settings| json!([settings.team.environment.pass, settings.team.environment.drop]),
            value: json!([["AWS_*"], ["USER", "TERM"]]),
        },
        ValueCase {
            accepted: "[notify]\ndesktop = false\n",
            file: "[notify]\nquiet = \"22:00-08:00\"\n",
            changes: &["? ~ notify: not on the desktop -> on the desktop"],
            in_force: |settings| json!([settings.notify.desktop, settings.notify.quiet.is_some()]),
            value: json!([false, true]),
        },
        ValueCase {
            accepted: "",
            file: "worktrees = \"/etc\"\n",
            changes: &["? + worktrees in: /etc"],
            in_force: |settings| json!(settings.worktrees),
            value: json!(null),
        },
        ValueCase {
            accepted: "[mcp]\ncoordinators = [\"claude\"]\n",
            file: "[mcp]\ncoordinators = [\"claude\", \"codex\"]\n",
            changes: &["? + coordinator over MCP: codex"],
            in_force: |settings| json!(settings.mcp.coordinators),
            value: json!(["claude"]),
        },
        ValueCase {
            accepted: "",
            file: "store = \"postgres://me:hunter2@db.example/team\"\n",
            changes: &["? + store: postgres://[redacted]@db.example/team"],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: "",
            file: "store = \"data/work.db\"\n",
            changes: &[],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: "",
            file: "store = \"../work.db\"\n",
            changes: &["? + store: ../work.db"],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: gate!("write = \"infra/**\"", "ask"),
            file: concat!(gate!("write = \"infra/**\"", "deny"), gate!("command = [\"git\", \"push\"]", "ask")),
            changes: &[". + gate: ask command git push", ". ~ gate: ask write infra/** -> deny write infra/**"],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: concat!(gate!("write = \"infra/**\"", "deny"), gate!("command = [\"git\"]", "ask")),
            file: concat!(gate!("write = \"infra/**\"", "ask"), gate!("command = [\"ls\"]", "allow")),
            changes: &[
                "? + gate: allow command ls",
                "? ~ gate: deny write infra/** -> ask write infra/**",
                "? - gate: ask command git",
            ],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: gate!("command = [\"git\"]", "ask"),
            file: concat!("[gates]\ndefault = \"allow\"\n", gate!("command = [\"git\"]", "ask")),
            changes: &[
                "? ~ gates: what no rule names: ask -> allow",
                "? ~ gates: programs that cannot be looked into: ask -> allow",
            ],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: "[gates]\ndefault = \"allow\"\nopaque = \"ask\"\n",
            file: "[gates]\ndefault = \"allow\"\n",
            changes: &["? ~ gates: programs that cannot be looked into: ask -> allow"],
            in_force: nothing,
            value: json!(null),
        },
        ValueCase {
            accepted: "",
            file: "[gates]\ndefault = \"ask\"\n",
            changes: &[
                ". ~ gates: what no rule names: allow -> ask",
                ". ~ gates: programs that cannot be looked into: allow -> ask",
            ],
            in_force: nothing,
            value: json!(null),
        },
    ]
}

#[test]
fn of_two_copies_the_stricter_counts() {
    for ValueCase { accepted, file, changes, in_force, value } in cases() {
        let clone = Clone::new(accepted);
        clone.accept();
        clone.config(file);
        let view = clone.view();
        let line = |change: &crate::project::trust::TrustChange| {
            format!("{} {}", if change.waits { "?" } else { "." }, change.text)
        };
        assert_eq!(view.changes.iter().map(line).collect::<Vec<_>>(), changes, "{accepted} -> {file}");
        assert_eq!(in_force(&view.settings), value, "{accepted} -> {file}");
        assert_eq!(view.is_trusted(), changes.iter().all(|change| change.starts_with('.')), "{accepted} -> {file}");
        clone.accept();
        assert_eq!(clone.view().changes, [], "accepted: {file}");
    }
}

/// For every pair of an accepted and a current settings file, the settings that take effect contain nothing that a
/// person would have to accept first.
#[test]
fn what_is_in_force_never_asks_for_more() {
    let files: Vec<&str> = cases().iter().flat_map(|case| [case.accepted, case.file]).collect();
    for accepted in &files {
        for file in &files {
            let (before, after) =
                (crate::project::settings::parse(accepted).unwrap(), crate::project::settings::parse(file).unwrap());
            let list = |settings: &Settings| {
                crate::project::trust::TrustList::of(settings, None, &crate::project::trust::ScriptMarks::default())
            };
            let mut force = crate::project::trust::force::in_force(&after, &before);
            // Leave out gate rules, because a hook checks the rules of the file and the accepted rules. Leave out
            // unaccepted contracts, because they run no program.
            force.gates = before.gates.clone();
            force.team.contracts.retain(|_, contract| !contract.is_unaccepted);
            let changes = crate::project::trust::change::changes(&list(&before), &list(&force));
            let wider: Vec<_> = changes.iter().filter(|change| change.waits).collect();
            assert_eq!(wider, Vec::<&crate::project::trust::TrustChange>::new(), "{accepted} -> {file}");
        }
    }
}

#[test]
fn a_schema_that_was_accepted_judges_until_the_next_one_is() {
    let clone = Clone::new("[contract.code]\nschema = \"contracts/code.json\"\n");
    clone.file(".handover/contracts/code.json", "{\"required\": [\"summary\"]}");
    clone.accept();
    clone.file(".handover/contracts/code.json", "{}");
    clone.file(".handover/contracts/new.json", "{}");
    let view = clone.view();
    assert_eq!(view.settings.team.schemas["code.json"], Ok("{\"required\": [\"summary\"]}".to_owned()));
    assert_eq!(view.settings.team.schemas["new.json"], Ok("{}".to_owned()), "a new schema only demands");
    assert_eq!(view.waiting().len(), 1, "{:?}", view.changes);
    assert!(view.waiting()[0].starts_with("~ schema contracts/code.json: sha256 "), "{:?}", view.changes);
    std::fs::remove_file(clone.root().join(".handover/contracts/code.json")).unwrap();
    let view = clone.view();
    assert!(view.waiting()[0].starts_with("- schema contracts/code.json"), "{:?}", view.changes);
    assert!(view.settings.team.schemas.contains_key("code.json"), "the accepted one judges");
}
