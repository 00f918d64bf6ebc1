//! `stats hotkeys` and `stats slow`, which memcached does not have: a row each, its values as `watch` tells them.

use super::super::watch::shown;
use super::Rows;
use crate::protocol::Now;
use crate::service::{Shared, SlowCommand};

impl Shared {
    pub(super) fn hot_key_rows(&self, rows: &mut Rows<'_>, now: Now) {
        for (place, hot) in (1..).zip(self.hot_keys(now)) {
            let (key, rate, share) = (shown(&hot.key), hot.requests_per_s, hot.share);
            rows.row(&format!("hotkey:{place}"), format_args!("key={key} requests_per_s={rate:.1} share={share:.4}"));
        }
    }

    pub(super) fn slow_rows(&self, rows: &mut Rows<'_>) {
        for (place, slow) in (1..).zip(self.slow_commands()) {
            let (second, micros) = (slow.unix_us / 1_000_000, slow.unix_us % 1_000_000);
            let SlowCommand { took_us, served_us, keys, octets, peer, together, .. } = &slow;
            let (command, key) = (shown(slow.command.as_bytes()), shown(&slow.key));
            let waited = if slow.waited { "yes" } else { "no" };
            let text = format_args!(
                "ts={second}.{micros:06} took_us={took_us} served_us={served_us} waited={waited} command={command} \
                 key={key} keys={keys} octets={octets} together={together} peer={peer}"
            );
            rows.row(&format!("slow:{place}"), text);
        }
    }
}
