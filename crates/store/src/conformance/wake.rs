//! Checks that a change of the store wakes a caller that waits for it.

use std::time::Duration;

use super::{act, small};
use crate::Store;

/// Checks that a change through the store `writer` wakes a caller that waits at the store `waiter`. Both are open on
/// the same data, and they may be the same store.
pub async fn wakes(writer: &dyn Store, waiter: &dyn Store) {
    let mut watch = waiter.watch();
    for number in 0..3 {
        while watch.changed(Duration::from_millis(60)).await {}
        let change = act(writer, &small(1_000_000 + number)).await;
        assert!(change.reply.is_ok(), "{change:?}");
        assert!(watch.changed(Duration::from_secs(10)).await, "nobody was woken by change {number}");
    }
}
