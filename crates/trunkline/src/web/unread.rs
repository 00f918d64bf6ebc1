//! What was seen but is not analysed, as the web has it.

use trunkline_calls::unread::{Protocol, Row, Unread};
use trunkline_web::sources::NotAnalysed;

/// All protocols that were seen.
pub fn not_analysed(unread: &Unread) -> Vec<NotAnalysed> {
    let shown = |(protocol, row): (Protocol, &Row)| NotAnalysed {
        protocol: protocol.name().to_owned(),
        packets_total: row.packets,
        first_on: protocol.place(row),
        hint: protocol.hint().map(str::to_owned),
        may_hide_calls: protocol.may_hide_calls(),
    };
    unread.seen().map(shown).collect()
}
