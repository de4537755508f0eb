//! Registers many agents with nearly the same name on one connection. This checks that a connection has at most a fixed
//! number of agents, and that slugs (short names of agents) stay unique.

use engine::command::Register;
use engine::id::SessionId;
use engine::{Caller, Command, Reply, Rights};

use super::oracle::Oracle;
use super::{StoreOrder, lock_step, needs};
use crate::Store;

const NOW: i64 = 1_800_000_000_000;

/// Registers agents whose slugs (short names) begin with the same word, and checks that all slugs are different. First
/// registers one agent more than a connection may have, so the last one is refused. Then registers agents whose slugs
/// end in numbers.
pub(super) async fn keeps_slugs_apart(store: &dyn Store, oracle: &mut Oracle) {
    let mut serial = 0;
    let mut register = |name: String, slug: Option<&str>, session: Option<SessionId>| {
        serial += 1;
        let register = Register {
            role: Some("crowd".to_owned()),
            slug: slug.map(str::to_owned),
            ..Register::named(name, "crowd")
        };
        let caller = Caller { session, ..Caller::with_rights(Rights::Agent) };
        StoreOrder::new(caller, Command::Register(register), NOW, (serial << 100) | 0xC40)
    };
    for number in 0..=engine::limits::SESSION_AGENTS_MAX {
        let order = register(format!("kim long-ending-{number}x"), None, Some(SessionId::LAST));
        let change = lock_step(store, oracle, &order, "a crowd").await;
        assert_eq!(change.reply.is_ok(), number < engine::limits::SESSION_AGENTS_MAX, "{change:?}");
    }
    let wanted: [(Option<&str>, &str); 9] = [
        (None, "kim"),
        (None, "kim-2"),
        (None, "kim-3"),
        (Some("kim-00000000000000000009"), "kim-00000000000000000009"),
        (Some("kim-12"), "kim-12"),
        (Some("kim-9"), "kim-9"),
        (None, "kim-13"),
        (Some("kim-99999999999"), "kim-99999999999"),
        (None, "kim-14"),
    ];
    for (given, expected) in wanted {
        let change = lock_step(store, oracle, &register("kim".to_owned(), given, None), "a crowd").await;
        assert!(
            matches!(&change.reply, Ok(Reply::Registered { slug, .. }) if slug == expected),
            "{expected}: {change:?}"
        );
    }
    needs::same_answers(store, oracle.tables(), engine::Timestamp(NOW)).await;
}
