//! What gists add up to.

use super::{Column, flags, number};
use crate::columns;
use crate::rollup::Told;
use crate::time::Day;

/// The columns that [`told`] looks at.
pub const SUMMED: [Column; 6] =
    [Column::State, Column::Code, Column::Mos, Column::Verdict, Column::Duration, Column::Pdd];

/// What a call counts, from its values in [`SUMMED`]; none if its row has to say.
#[inline]
pub fn told(values: [u64; SUMMED.len()]) -> Option<Told> {
    let [state, code, mos, verdict, duration, pdd] = values;
    if duration == 1 || pdd == 1 {
        return None;
    }
    let us = |value: u64| (value > 0).then(|| value as i64 - 2);
    Some(Told {
        state: columns::state_of(Some((state & 15) as i64)),
        code: code as u16,
        duration_us: us(duration),
        pdd_us: us(pdd),
        mos: (mos > 0).then(|| number(mos)),
        bad: verdict > 0,
    })
}

/// When a call of a day started, from its key and state; none if its row has to say.
#[inline]
pub fn start_ns(day: Day, key: u64, state: u64) -> Option<i64> {
    (state & flags::ODD_START == 0).then(|| day.start_ns().saturating_add((key as i64) >> 16))
}
