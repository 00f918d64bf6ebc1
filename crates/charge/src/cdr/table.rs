//! Records as lines of a table (CSV, RFC 4180): a line for each service of a record, and one for a record without any.

use super::facts::Facts;
use super::fold::Usage;
use super::packets::{Node, time};
use super::record::Cdr;
use crate::money::Money;
use core::fmt::Write;
use trunkline_kit::untrusted::cell;

/// The names of the columns, in their order; docs/manual/cdr.md says what each holds.
pub const COLUMNS: [&str; 34] = [
    "node",
    "number",
    "entry",
    "kind",
    "cause",
    "record",
    "session",
    "origin",
    "subscriber",
    "account",
    "imsi",
    "msisdn",
    "apn",
    "network",
    "rat",
    "destination",
    "charging_id",
    "gateway",
    "began",
    "ended",
    "duration_s",
    "rating_group",
    "service",
    "rated",
    "octets",
    "octets_in",
    "octets_out",
    "seconds",
    "service_units",
    "money",
    "short",
    "allowance_units",
    "reported",
    "possible_duplicate",
];

/// The first line of a table.
pub fn head() -> String {
    COLUMNS.join(",") + "\n"
}

/// Appends the lines of a record.
pub fn write(cdr: &Cdr, node: &Node, duplicate: bool, out: &mut String) {
    let before = before(cdr, node);
    let mut line = |usage: Option<&Usage>| {
        out.push_str(&before);
        service(usage, cdr, out);
        out.push_str(if duplicate { ",1\n" } else { ",0\n" });
    };
    cdr.services.iter().for_each(|usage| line(Some(usage)));
    if cdr.services.is_empty() || cdr.refunded != Money::ZERO {
        line(None);
    }
}

/// What the lines of a record have in common.
fn before(cdr: &Cdr, node: &Node) -> String {
    let facts = Facts::read(&cdr.opening.facts);
    let (opening, place) = (&cdr.opening, &cdr.opening.place);
    let mut out = String::with_capacity(256);
    // Nothing fails that writes to a text.
    let _ = write!(out, "{},{},{},{},{}", cell(node.id()), cdr.number, cdr.entry, cdr.kind.word(), cdr.cause);
    field(&mut out, cdr.sequence);
    text(&mut out, &opening.session);
    text(&mut out, &opening.origin);
    field(&mut out, Some(opening.subscriber).filter(|number| *number > 0));
    field(&mut out, Some(opening.account).filter(|number| *number > 0));
    text(&mut out, facts.imsi.unwrap_or_default());
    text(&mut out, facts.msisdn.unwrap_or_default());
    text(&mut out, &place.apn);
    text(&mut out, facts.ps.sgsn_mcc_mnc.unwrap_or_default());
    field(&mut out, place.rat);
    text(&mut out, &place.destination);
    field(&mut out, facts.charging_id());
    field(&mut out, facts.gateway());
    let _ = write!(out, ",{},{},{}", time(cdr.began), time(cdr.ended), cdr.duration_s());
    out
}

fn service(usage: Option<&Usage>, cdr: &Cdr, out: &mut String) {
    let Some(usage) = usage else {
        // What was given back has no service of its own.
        let _ = write!(out, ",,,,,,,,,{},,,", Money::ZERO.minus(cdr.refunded));
        return;
    };
    let used = &usage.used;
    field(out, usage.key.rating_group);
    field(out, usage.key.service);
    let _ = write!(out, ",{},{},{},{}", u8::from(usage.rated), used.octets, used.octets_in, used.octets_out);
    let _ = write!(out, ",{},{},{},{}", used.seconds, used.service_units, usage.money, usage.short);
    let _ = write!(out, ",{},{}", usage.taken, time(usage.last));
}

fn field(out: &mut String, value: Option<impl core::fmt::Display>) {
    out.push(',');
    if let Some(value) = value {
        let _ = write!(out, "{value}");
    }
}

/// A text that a client told: on one line, and no formula ([`cell`]).
fn text(out: &mut String, text: &str) {
    out.push(',');
    out.push_str(&cell(text));
}

#[cfg(test)]
mod tests {
    use super::super::record::Opening;
    use super::*;
    use crate::account::Place;

    /// The columns of one record, of which a client chose the texts.
    fn told(session: &str, origin: &str, destination: &str) -> Vec<String> {
        let place = Place { destination: destination.into(), ..Place::default() };
        let opening = Opening { session: session.into(), origin: origin.into(), place, ..Opening::default() };
        let mut out = String::new();
        write(
            &Cdr { opening, ..Cdr::default() },
            &Node::new("ocs1", core::net::Ipv4Addr::LOCALHOST.into()),
            false,
            &mut out,
        );
        let line = out.strip_suffix('\n').expect("a line");
        assert!(!line.contains(['\n', '\r', '\t', '\x1b', '\u{9b}']), "{line:?}");
        let columns: Vec<String> = line.split(',').map(str::to_owned).collect();
        [6, 7, 15].map(|at| columns[at].clone()).to_vec()
    }

    #[test]
    fn what_clients_say_is_on_one_line_and_no_formula() {
        // As they are in the field, they stay as they are.
        assert_eq!(
            told("gw.example;1;42;x@y", "gw.example", "+442079460123"),
            ["gw.example;1;42;x@y", "gw.example", "+442079460123"]
        );
        for (text, cell) in [
            ("a\nocs1,2,3", None),
            ("a\r\nb\tc\x1b]0;x\x07", Some("a  b c\u{fffd}]0;x\u{fffd}")),
            ("=cmd|'/C calc'!A0", Some("'=cmd|'/C calc'!A0")),
            ("gw;1;@SUM(1)", Some("gw;1;'@SUM(1)")),
        ] {
            match cell {
                Some(cell) => assert_eq!(told(text, text, text), [cell, cell, cell]),
                None => drop(told(text, text, text)),
            }
        }
    }
}
