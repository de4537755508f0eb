//! The numbered migrations of the database schema. They run under a lock. A database that a newer program has migrated
//! is refused.

use crate::fault::Fault;
use crate::sql::SqlDialect;

/// The number of the database schema that this program reads and writes.
pub(crate) const SCHEMA: i64 = 16;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_core.sql"),
    include_str!("migrations/0002_lists.sql"),
    include_str!("migrations/0003_turns.sql"),
    include_str!("migrations/0004_answers.sql"),
    include_str!("migrations/0005_conversations.sql"),
    include_str!("migrations/0006_reviews.sql"),
    include_str!("migrations/0007_gates.sql"),
    include_str!("migrations/0008_identity.sql"),
    include_str!("migrations/0009_sorted.sql"),
    include_str!("migrations/0010_lost_conversations.sql"),
    include_str!("migrations/0011_of_task.sql"),
    include_str!("migrations/0012_first_hour.sql"),
    include_str!("migrations/0013_told_items.sql"),
    include_str!("migrations/0014_branch.sql"),
    include_str!("migrations/0015_browsers.sql"),
    include_str!("migrations/0016_spend.sql"),
];

/// Returns the scripts that bring a database from schema `found` to [`SCHEMA`]. Each script comes with the number of
/// the schema that it leads to.
pub(crate) fn pending(found: i64, dialect: &SqlDialect) -> Result<Vec<(i64, String)>, Fault> {
    if found > SCHEMA {
        return Err(Fault::Newer { found, known: SCHEMA });
    }
    let numbered = (1..).zip(MIGRATIONS).filter(|(number, _)| *number > found);
    Ok(numbered.map(|(number, script)| (number, fill(script, dialect))).collect())
}

fn fill(script: &str, dialect: &SqlDialect) -> String {
    script
        .replace("{text}", dialect.text)
        .replace("{pos}", dialect.pos)
        .replace("{keyed}", dialect.keyed)
        .replace("{postgres}", dialect.postgres)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_in_braces_is_filled() {
        assert_eq!(i64::try_from(MIGRATIONS.len()), Ok(SCHEMA));
        for dialect in [crate::sql::SQLITE, crate::sql::POSTGRES] {
            for (_, script) in pending(0, &dialect).unwrap_or_default() {
                let code = script.lines().filter(|line| !line.starts_with("--"));
                assert_eq!(code.filter(|line| line.contains('{')).collect::<Vec<_>>(), Vec::<&str>::new());
            }
        }
        assert!(matches!(pending(SCHEMA + 1, &crate::sql::SQLITE), Err(Fault::Newer { .. })));
    }
}
