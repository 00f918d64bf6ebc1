//! What the fuzz targets drive.

use crate::archive::{Archive, Rows, Time, Value};
use crate::fetch::{Question, Window};
use crate::info::facts;
use crate::rpn::{self, Calendar, Machine, Row, Variable};
use crate::shape::Consolidation;

/// Octets of the files that are tried: what a window reads behind them is zeros.
const FILE_OCTETS: usize = 1 << 16;

/// A file of any octets: refused, or described, asked and updated without harm; no row is written outside of its ring,
/// and what it becomes can be opened again.
pub fn file(octets: &[u8]) {
    let Ok(mut archive) = Archive::open(octets) else { return };
    assert!(!facts(&archive, "x").is_empty());
    ask(&archive, octets);
    let values: Vec<Value<'_>> = archive
        .shape()
        .read_sources()
        .zip([Value::Unsigned(7), Value::Float(-0.5), Value::Text("12"), Value::Unknown].iter().cycle())
        .map(|(_, value)| *value)
        .collect();
    let mut rows = Rows::default();
    let last = archive.last();
    let step_s = archive.shape().step_s as i64;
    for after_s in [1, step_s, step_s / 2 + 1, step_s.saturating_mul(40), 3] {
        let time = Time { seconds: archive.last().seconds.saturating_add(after_s), ..last };
        let before = archive.last();
        match archive.update(time, &values, &mut rows) {
            Ok(()) => assert_eq!(archive.last().seconds, time.seconds),
            Err(_) => assert_eq!(archive.last(), before),
        }
    }
    for write in rows.writes(archive.shape()) {
        let end = write.at + write.octets();
        assert!(write.at >= archive.shape().header_octets as u64 && end <= archive.shape().file_octets);
    }
    let mut live = Vec::new();
    archive.write_live(&mut live);
    assert!(Archive::of(archive.shape().clone(), &live).is_ok());
}

fn ask(archive: &Archive, octets: &[u8]) {
    let last_s = archive.last().seconds;
    for consolidation in Consolidation::ALL {
        for (start_s, end_s) in [(last_s.saturating_sub(5000).max(0), last_s), (last_s, last_s), (0, 1)] {
            let question = Question { consolidation, start_s, end_s, step_s: 1 };
            let Ok(window) = Window::choose(archive, &question) else { continue };
            if window.rows() * archive.shape().sources.len() > FILE_OCTETS {
                continue;
            }
            let series = window.series(archive, |at, into| {
                assert!(at + into.len() as u64 <= archive.shape().file_octets);
                let there = usize::try_from(at).ok().and_then(|at| octets.get(at..)).unwrap_or(&[]);
                let length = there.len().min(into.len());
                into[..length].copy_from_slice(&there[..length]);
                into[length..].fill(0);
                Ok(())
            });
            assert_eq!(series.map(|series| series.rows()).ok(), Some(window.rows()));
        }
    }
}

/// An expression of any text: refused with a place in it, or run over a few rows without harm, twice with the same
/// result.
pub fn expression(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let expression = match rpn::parse(&text, |name| ["a", "b"].iter().position(|known| *known == name)) {
        Ok(expression) => expression,
        Err(misread) => return assert!(misread.at <= text.len()),
    };
    let named = expression.text(|number| ["a", "b"][number].to_owned());
    assert!(!named.is_empty());
    let values = [1.5, f64::NAN, -2.0, f64::INFINITY, 0.0, 7e9];
    let run = || {
        let mut machine = Machine::new(&expression, |number| if number == 0 { 60 } else { 120 });
        let mut previous = f64::NAN;
        let mut all = Vec::new();
        for index in 0..values.len() {
            let time_s = 1_700_000_040 + index as i64 * 60;
            let row = Row { time_s, index, step_s: 60, previous, calendar: Calendar::utc(1_700_000_000) };
            let variable = |number: usize| Variable { values: &values[number..], step_s: 60 + number as i64 * 60 };
            let value = machine.row(&row, variable);
            previous = value.unwrap_or(f64::NAN);
            all.push(value.map(f64::to_bits));
        }
        all
    };
    assert_eq!(run(), run());
}
