//! The few pieces of JSON (RFC 8259) that rows need, written straight into a `String`.

use crate::time::push_rfc3339;
use core::fmt::{Display, Write};
use trunkline_wire::Endpoint;

/// An object being written. Keys come out in the order of the calls; names must need no escape.
pub struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    /// Opens an object.
    pub fn new(out: &'a mut String) -> Self {
        out.push('{');
        Object { out, empty: true }
    }

    /// Closes it.
    pub fn end(self) {
        self.out.push('}');
    }

    /// Writes the name; the value is the caller's to append.
    pub fn field(&mut self, name: &str) -> &mut String {
        self.out.push_str(if self.empty { "\"" } else { ",\"" });
        self.empty = false;
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    /// A text.
    pub fn text(&mut self, name: &str, text: &str) -> &mut Self {
        push_text(self.field(name), text);
        self
    }

    /// A text, or null where it is empty.
    pub fn some_text(&mut self, name: &str, text: &str) -> &mut Self {
        self.maybe_text(name, (!text.is_empty()).then_some(text))
    }

    /// A text or null.
    pub fn maybe_text(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    /// What displays as text that needs no escape: an identifier.
    pub fn display(&mut self, name: &str, value: impl Display) -> &mut Self {
        let _ = write!(self.field(name), "\"{value}\"");
        self
    }

    /// A time or null.
    pub fn time(&mut self, name: &str, at_ns: Option<i64>) -> &mut Self {
        let Some(at) = at_ns else { return self.null(name) };
        let out = self.field(name);
        out.push('"');
        push_rfc3339(out, at);
        out.push('"');
        self
    }

    /// Nanoseconds as milliseconds, or null.
    pub fn ms(&mut self, name: &str, ns: Option<i64>) -> &mut Self {
        let Some(ns) = ns else { return self.null(name) };
        let us = (i128::from(ns) + if ns < 0 { -500 } else { 500 }) / 1000;
        push_thousandths(self.field(name), us as i64);
        self
    }

    /// A number with up to three decimals, or null (also for what is not finite: JSON has no such numbers).
    pub fn real(&mut self, name: &str, value: Option<f64>) -> &mut Self {
        let Some(value) = value.filter(|v| v.is_finite()) else { return self.null(name) };
        let out = self.field(name);
        if value.abs() < 9e14 {
            push_thousandths(out, (value * 1000.0).round() as i64);
        } else {
            let _ = write!(out, "{value:.0}");
        }
        self
    }

    /// A whole number or null.
    pub fn int<T: Into<u64>>(&mut self, name: &str, value: Option<T>) -> &mut Self {
        match value {
            Some(value) => push_int(self.field(name), value.into()),
            None => self.field(name).push_str("null"),
        }
        self
    }

    /// A whole number that may be negative, or null.
    pub fn signed(&mut self, name: &str, value: Option<i64>) -> &mut Self {
        let Some(value) = value else { return self.null(name) };
        let out = self.field(name);
        if value < 0 {
            out.push('-');
        }
        push_int(out, value.unsigned_abs());
        self
    }

    /// true or false.
    pub fn bool(&mut self, name: &str, value: bool) -> &mut Self {
        self.field(name).push_str(if value { "true" } else { "false" });
        self
    }

    /// A value that is JSON already.
    pub fn json(&mut self, name: &str, text: &str) -> &mut Self {
        self.field(name).push_str(if text.is_empty() { "null" } else { text });
        self
    }

    /// An object inside; close it with [`Object::end`].
    pub fn object(&mut self, name: &str) -> Object<'_> {
        Object::new(self.field(name))
    }

    /// A list of numbers.
    pub fn numbers<T: Into<u64> + Copy>(&mut self, name: &str, numbers: &[T]) -> &mut Self {
        self.list(name, numbers, |out, n| push_int(out, (*n).into()))
    }

    /// A list, each element as `write` writes it.
    pub fn list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut String, &T)) -> &mut Self {
        let out = self.field(name);
        out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write(out, item);
        }
        out.push(']');
        self
    }

    /// `ip:port`, or null where neither is known.
    pub fn endpoint(&mut self, name: &str, e: Endpoint) -> &mut Self {
        if e.port == 0 && e.address.is_unspecified() { self.null(name) } else { self.display(name, e) }
    }

    fn null(&mut self, name: &str) -> &mut Self {
        self.field(name).push_str("null");
        self
    }
}

/// Appends a JSON string.
pub fn push_text(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, b) in text.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => drop(write!(out, "\\u{b:04x}")),
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

fn push_int(out: &mut String, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.push_str(core::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// Thousandths as a decimal without needless zeros: 1500 is `1.5`.
fn push_thousandths(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    let value = value.unsigned_abs();
    push_int(out, value / 1000);
    let rest = value % 1000;
    if rest != 0 {
        let digits = [b'0' + (rest / 100) as u8, b'0' + (rest / 10 % 10) as u8, b'0' + (rest % 10) as u8];
        out.push('.');
        out.push_str(core::str::from_utf8(&digits).unwrap_or_default().trim_end_matches('0'));
    }
}
