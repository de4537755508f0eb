//! Who waits for a change is woken.

use std::time::Duration;

use super::{act, small};
use crate::Store;

/// A change through one store wakes who waits at another (or the same) on the same data.
pub async fn wakes(writer: &dyn Store, waiter: &dyn Store) {
    let mut watch = waiter.watch();
    for number in 0..3 {
        while watch.changed(Duration::from_millis(60)).await {}
        let change = act(writer, &small(1_000_000 + number)).await;
        assert!(change.reply.is_ok(), "{change:?}");
        assert!(watch.changed(Duration::from_secs(10)).await, "nobody was woken by change {number}");
    }
}
