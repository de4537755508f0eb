//! Converts tokens to database columns and back.

use engine::token::{AccessTokenKind, Scope, Token};

use crate::fault::Fault;
use crate::value::{Columns, SqlValue, optional, text};

pub(crate) fn token(row: &Token) -> Vec<SqlValue> {
    let (kind, used) = match row.kind {
        AccessTokenKind::Secret => ("secret", None),
        AccessTokenKind::EnrolmentCode => ("enrolment_code", None),
        AccessTokenKind::BrowserKey { used } => ("browser_key", Some(used)),
    };
    vec![
        text(row.id),
        (&row.name).into(),
        (&row.hash).into(),
        row.scope.as_str().into(),
        optional(row.agent),
        row.created.into(),
        row.revoked.map_or(SqlValue::Null, SqlValue::from),
        kind.into(),
        used.map_or(SqlValue::Null, SqlValue::from),
    ]
}

pub(crate) fn read_token(row: Vec<SqlValue>) -> Result<Token, Fault> {
    let mut columns = Columns::new("token", row);
    let row = &mut columns;
    let mut token = Token {
        id: row.parsed()?,
        name: row.text()?,
        hash: row.text()?,
        scope: row.word(Scope::parse)?,
        agent: row.maybe_parsed()?,
        created: row.time()?,
        revoked: row.maybe_time()?,
        kind: AccessTokenKind::Secret,
    };
    let (kind, used) = (row.text()?, row.maybe_time()?);
    let is_person = token.scope == Scope::Person && token.agent.is_none();
    token.kind = match (kind.as_str(), used) {
        ("secret", None) => AccessTokenKind::Secret,
        ("enrolment_code", None) if is_person => AccessTokenKind::EnrolmentCode,
        ("browser_key", Some(used)) if is_person => AccessTokenKind::BrowserKey { used },
        (kind, _) => {
            let what = format!("token {} is a {kind} without what belongs to it", token.id);
            return Err(Fault::Damaged { what });
        }
    };
    Ok(token)
}

#[cfg(test)]
mod tests {
    use engine::Timestamp;
    use engine::id::{AgentId, TokenId};

    use super::*;

    fn of_kind(kind: AccessTokenKind) -> Token {
        let (id, created) = (TokenId::FIRST, Timestamp(1));
        let (name, hash) = ("a name".to_owned(), "a hash".to_owned());
        Token { id, name, hash, scope: Scope::Person, agent: None, created, revoked: None, kind }
    }

    #[test]
    fn a_row_whose_columns_do_not_fit_its_kind_is_damaged() {
        let kinds = [
            AccessTokenKind::Secret,
            AccessTokenKind::EnrolmentCode,
            AccessTokenKind::BrowserKey { used: Timestamp(2) },
        ];
        for kind in kinds {
            let whole = of_kind(kind);
            assert_eq!(read_token(token(&whole)).ok(), Some(whole.clone()));
            let mut other_use = token(&whole);
            other_use[8] = if kind == kinds[2] { SqlValue::Null } else { Timestamp(2).into() };
            assert!(matches!(read_token(other_use), Err(Fault::Damaged { .. })), "{kind:?}");
            if kind != AccessTokenKind::Secret {
                let admin = token(&Token { scope: Scope::Admin, ..whole.clone() });
                assert!(matches!(read_token(admin), Err(Fault::Damaged { .. })), "{kind:?} of scope admin");
                let bound = token(&Token { agent: Some(AgentId::FIRST), ..whole });
                assert!(matches!(read_token(bound), Err(Fault::Damaged { .. })), "{kind:?} of an agent");
            }
        }
        let mut nonsense = token(&of_kind(AccessTokenKind::Secret));
        nonsense[7] = "nonsense".into();
        assert!(matches!(read_token(nonsense), Err(Fault::Damaged { .. })));
    }
}
