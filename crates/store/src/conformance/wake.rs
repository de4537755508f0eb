//! Checks that a waiting caller is woken by a change.

use std::time::Duration;

use super::{act, small};
use crate::Store;

/// Checks that a change through one store wakes a caller that waits at another store (or the same one) on the same
/// data.
pub async fn wakes(writer: &dyn Store, waiter: &dyn Store) {
    let mut watch = waiter.watch();
    for number in 0..3 {
        while watch.changed(Duration::from_millis(60)).await {}
        let change = act(writer, &small(1_000_000 + number)).await;
        assert!(change.reply.is_ok(), "{change:?}");
        assert!(watch.changed(Duration::from_secs(10)).await, "nobody was woken by change {number}");
    }
}
