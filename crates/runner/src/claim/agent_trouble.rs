//! Recognises a program that cannot work until a person does something: it is not logged in, has no credit, or is
//! missing. Such a failure is no fault of the task, so it uses up no attempt.

use agents::adapter::AdapterKind;
use engine::turn::TurnEnd;

/// The texts by which the runner recognises that an agent's program needs a person. They are in a file of their own,
/// which is easy to extend.
const TABLE: &str = include_str!("agent_trouble.txt");

/// The reason why the program of an agent cannot work, with the advice for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTrouble {
    pub kind: AgentTroubleKind,
    pub advice: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTroubleKind {
    NotLoggedIn,
    NoCredit,
    Missing,
}

impl AgentTroubleKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::NotLoggedIn => "not logged in",
            Self::NoCredit => "no credit left",
            Self::Missing => "its program is missing",
        }
    }
}

/// Returns the reason why the program of an agent cannot work until a person does something. The reason is found in the
/// way the turn ended and in the last words of the program. Returns `None` for any other failure.
pub fn agent_trouble(adapter: AdapterKind, end: TurnEnd, said: &str) -> Option<AgentTrouble> {
    match end {
        TurnEnd::Failed | TurnEnd::ApiError | TurnEnd::SpawnFailed => {}
        TurnEnd::Finished
        | TurnEnd::Signalled
        | TurnEnd::TimedOut
        | TurnEnd::OverBudget
        | TurnEnd::ClaimLost
        | TurnEnd::Interrupted
        | TurnEnd::Cancelled
        | TurnEnd::ConversationLost => return None,
    }
    // Programs write an apostrophe as `'` or as `’`. The table has only `'`.
    let said = said.to_lowercase().replace('’', "'");
    if end == TurnEnd::SpawnFailed && said.contains("no such file or directory") {
        let advice = "install the program, or change `command` of the agent".to_owned();
        return Some(AgentTrouble { kind: AgentTroubleKind::Missing, advice });
    }
    rows().find(|row| (row.adapter == "any" || row.adapter == adapter.name()) && said.contains(row.words)).map(|row| {
        let kind = match row.kind {
            "login" => AgentTroubleKind::NotLoggedIn,
            "credit" => AgentTroubleKind::NoCredit,
            _ => AgentTroubleKind::Missing,
        };
        AgentTrouble { kind, advice: row.advice.to_owned() }
    })
}

struct TroubleRow {
    adapter: &'static str,
    words: &'static str,
    kind: &'static str,
    advice: &'static str,
}

fn rows() -> impl Iterator<Item = TroubleRow> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split('|').map(str::trim);
        let (adapter, words, kind, advice) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some(TroubleRow { adapter, words, kind, advice })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_whole() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
        assert_eq!(rows().count(), lines);
        for row in rows() {
            let is_known = row.adapter == "any" || AdapterKind::named(row.adapter).is_some();
            assert!(is_known && ["login", "credit", "missing"].contains(&row.kind), "{} {}", row.adapter, row.kind);
            assert!(row.words == row.words.to_lowercase() && !row.advice.is_empty(), "{}", row.words);
        }
    }

    /// Compares the table with recorded messages of real programs. The kind `none` in a recorded row marks a failure
    /// that a person cannot fix.
    #[test]
    fn recorded_last_words_of_real_programs_are_recognised() {
        let recorded = include_str!("agent_trouble_recorded.txt");
        let rows = recorded.lines().filter(|line| !line.starts_with('#'));
        let mut found = 0;
        for row in rows {
            let fields: Vec<&str> = row.splitn(5, '|').map(str::trim).collect();
            let [adapter, _version, cause, kind, said] = fields.as_slice() else { panic!("{row}") };
            let wanted = match *kind {
                "login" => Some(AgentTroubleKind::NotLoggedIn),
                "credit" => Some(AgentTroubleKind::NoCredit),
                "none" => None,
                other => panic!("{other}"),
            };
            let adapter = AdapterKind::named(adapter).unwrap();
            for end in [TurnEnd::ApiError, TurnEnd::Failed] {
                let trouble = agent_trouble(adapter, end, said);
                assert_eq!(trouble.map(|trouble| trouble.kind), wanted, "{cause}: {said}");
            }
            found += 1;
        }
        assert_eq!(found, 22);
    }

    #[test]
    fn last_words_of_programs_are_recognised() {
        use AgentTroubleKind::{Missing, NoCredit, NotLoggedIn};
        for (adapter, end, said, wanted) in [
            (AdapterKind::Claude, TurnEnd::ApiError, "Invalid API key · Please run /login", Some(NotLoggedIn)),
            (AdapterKind::Claude, TurnEnd::ApiError, "Credit balance is too low", Some(NoCredit)),
            (AdapterKind::Codex, TurnEnd::Failed, "Please run codex login", Some(NotLoggedIn)),
            (AdapterKind::Codex, TurnEnd::Failed, "You've hit your usage limit. Try again later.", Some(NoCredit)),
            (AdapterKind::Gemini, TurnEnd::Failed, "Please set an Auth method in your settings", Some(NotLoggedIn)),
            (AdapterKind::Opencode, TurnEnd::Failed, "Error: no providers configured", Some(NotLoggedIn)),
            (AdapterKind::Acp, TurnEnd::Failed, "Authentication required", Some(NotLoggedIn)),
            (AdapterKind::Exec, TurnEnd::Failed, "bot.sh: 3: frob: command not found", Some(Missing)),
            (AdapterKind::Exec, TurnEnd::SpawnFailed, "No such file or directory (os error 2)", Some(Missing)),
            (AdapterKind::Exec, TurnEnd::Failed, "open data.txt: No such file or directory", None),
            (AdapterKind::Exec, TurnEnd::Failed, "out of paper", None),
            (AdapterKind::Claude, TurnEnd::Signalled, "Please run /login", None),
            (AdapterKind::Exec, TurnEnd::Finished, "not logged in", None),
        ] {
            let found = agent_trouble(adapter, end, said).map(|trouble| trouble.kind);
            assert_eq!(found, wanted, "{said}");
        }
    }
}
