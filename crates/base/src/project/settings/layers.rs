//! Joins the two settings files. The values of `local.toml`, which is personal, win over the values of `config.toml`,
//! which the team shares.
//!
//! Tables are joined key by key, and agents are joined by their slug (short name). A list and any other value of the
//! personal file replaces the value of the team's file.

use toml::{Table, Value};

/// The section of the agents. Two entries with the same `slug` (short name) describe the same agent.
const AGENTS: &str = "agent";

/// Returns the settings of both files. `own` is the content of the personal file.
pub(super) fn joined(mut team: Table, own: Table) -> Table {
    for (key, value) in own {
        match (key.as_str(), team.get_mut(&key), value) {
            (AGENTS, Some(Value::Array(known)), Value::Array(agents)) => join_agents(known, agents),
            (_, Some(Value::Table(known)), Value::Table(own)) => {
                let whole = joined(std::mem::take(known), own);
                team.insert(key, whole.into());
            }
            (_, _, value) => {
                team.insert(key, value);
            }
        }
    }
    team
}

fn join_agents(known: &mut Vec<Value>, agents: Vec<Value>) {
    let slug = |agent: &Value| agent.get("slug").and_then(Value::as_str).map(str::to_owned);
    for own in agents {
        let same = known.iter_mut().find(|agent| slug(agent).is_some() && slug(agent) == slug(&own));
        match (same, own) {
            (Some(Value::Table(agent)), Value::Table(own)) => *agent = joined(std::mem::take(agent), own),
            (_, own) => known.push(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_personal_file_wins_key_by_key() {
        let rows = [
            (
                "table by key",
                "[limits]\nusd = 5.0\nturns = 3\n",
                "[limits]\nusd = 1.0\n",
                "[limits]\nusd = 1.0\nturns = 3\n",
            ),
            (
                "inline table by key",
                "limits = { usd = 5.0, turns = 3 }\n",
                "[limits]\nusd = 1.0\n",
                "[limits]\nusd = 1.0\nturns = 3\n",
            ),
            ("list whole", "[env]\npass = [\"A\", \"B\"]\n", "[env]\npass = [\"C\"]\n", "[env]\npass = [\"C\"]\n"),
            (
                "empty list",
                "[verify]\nchecks = [{ command = [\"a\"] }]\n",
                "[verify]\nchecks = []\n",
                "[verify]\nchecks = []\n",
            ),
            (
                "new section",
                "store = \"a.db\"\n",
                "[env]\npass = [\"C\"]\n",
                "store = \"a.db\"\n[env]\npass = [\"C\"]\n",
            ),
            (
                "agents by slug",
                "[[agent]]\nslug = \"a\"\nmodel = \"x\"\nargs = [\"1\"]\n[[agent]]\nslug = \"b\"\n",
                "[[agent]]\nslug = \"c\"\n[[agent]]\nslug = \"a\"\nmodel = \"y\"\n",
                "[[agent]]\nslug = \"a\"\nmodel = \"y\"\nargs = [\"1\"]\n[[agent]]\nslug = \"b\"\n[[agent]]\nslug = \"c\"\n",
            ),
            (
                "sections between agents",
                "[[agent]]\nslug = \"a\"\n[agent.env]\nA = \"1\"\n[limits]\nusd = 5.0\n[[agent]]\nslug = \"b\"\n",
                "[limits]\nturns = 2\n[[agent]]\nslug = \"a\"\nenv = { B = \"2\" }\n[[agent]]\nslug = \"c\"\n[verify]\nretries = 0\n",
                "[limits]\nusd = 5.0\nturns = 2\n[verify]\nretries = 0\n[[agent]]\nslug = \"a\"\nenv = { A = \"1\", B = \"2\" }\n\
                 [[agent]]\nslug = \"b\"\n[[agent]]\nslug = \"c\"\n",
            ),
        ];
        for (name, config, local, expected) in rows {
            let table = |text: &str| toml::from_str::<Table>(text).unwrap();
            assert_eq!(joined(table(config), table(local)), table(expected), "{name}");
        }
    }
}
