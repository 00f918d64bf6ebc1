//! Object identifiers.

use core::fmt;

/// Numbers of an object identifier (RFC 3416 section 4.1: 128 sub-identifiers).
pub const OID_ARCS_MAX: usize = 128;

/// An object identifier, compared number by number as SNMP compares them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(Box<[u32]>);

impl Oid {
    /// Of its numbers; none if there are fewer than two or more than [`OID_ARCS_MAX`], or the first two cannot stand
    /// there (X.660: 0 to 2, and 0 to 39 below the first two of them).
    pub fn new(arcs: &[u32]) -> Option<Oid> {
        let &[first, second, ..] = arcs else { return None };
        let right = first <= 2 && (second < 40 || first == 2) && arcs.len() <= OID_ARCS_MAX;
        right.then(|| Oid(arcs.into()))
    }

    /// Reads `1.3.6.1.2.1.1.3.0`, with or without a point before it.
    pub fn parse(text: &str) -> Option<Oid> {
        let text = text.strip_prefix('.').unwrap_or(text);
        let mut arcs = Vec::new();
        for arc in text.split('.') {
            let digits = !arc.is_empty() && arc.len() <= 10 && arc.bytes().all(|b| b.is_ascii_digit());
            arcs.push(digits.then(|| arc.parse().ok()).flatten()?);
            if arcs.len() > OID_ARCS_MAX {
                return None;
            }
        }
        Oid::new(&arcs)
    }

    /// Its numbers.
    pub fn arcs(&self) -> &[u32] {
        &self.0
    }

    /// Whether `prefix` is its beginning, or all of it.
    pub fn starts_with(&self, prefix: &Oid) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// With an index behind it; none if that is too long.
    pub fn with(&self, index: &[u32]) -> Option<Oid> {
        Oid::new(&[&self.0[..], index].concat())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, arc) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(".")?;
            }
            write!(f, "{arc}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for text in ["1.3.6.1.2.1.1.3.0", "0.0", "2.999.4294967295"] {
            assert_eq!(Oid::parse(text).map(|oid| oid.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Oid::parse(".1.3.6"), Oid::parse("1.3.6"));
        for text in ["", ".", "1", "1.", "1..3", "3.1", "1.40", "1.3.4294967296", "1.3.-1", "1.3.x", "1.3.00000000001"]
        {
            assert_eq!(Oid::parse(text), None, "{text}");
        }
        assert_eq!(Oid::parse(&vec!["1"; OID_ARCS_MAX + 1].join(".")), None);
    }

    #[test]
    fn order_is_by_number() {
        let oid = |text| Oid::parse(text).unwrap();
        assert!(oid("1.3.6.9") < oid("1.3.6.10"));
        assert!(oid("1.3.6") < oid("1.3.6.0"));
        assert!(oid("1.3.61").starts_with(&oid("1.3.61")) && !oid("1.3.61").starts_with(&oid("1.3.6")));
    }
}
