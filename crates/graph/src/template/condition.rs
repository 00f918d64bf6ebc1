//! Which rows of a table count.

/// A condition on a field of a row: `hrStorageType = 1.3.6.1.2.1.25.2.1.4`, `ifType != 24, 53`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The field.
    pub field: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what: one of them (or, for `!=`, none of them).
    pub values: Vec<String>,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It is one of the values.
    Is,
    /// It is none of the values.
    IsNot,
}

impl Condition {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let wrong = || format!("'{text}': a condition is \"FIELD = VALUE, VALUE\" or \"FIELD != VALUE\"");
        let (field, values) = text.split_once('=').ok_or_else(wrong)?;
        let (field, comparison) = match field.strip_suffix('!') {
            Some(field) => (field, Comparison::IsNot),
            None => (field, Comparison::Is),
        };
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        let field = field.trim().to_owned();
        if field.is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Condition { field, comparison, values })
    }

    /// Whether it holds for a row; a field that a row does not have is none of the values.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let found = value.is_some_and(|value| {
            let value = value.trim_start_matches('.');
            self.values.iter().any(|wanted| wanted.trim_start_matches('.') == value)
        });
        found == (self.comparison == Comparison::Is)
    }
}

impl core::fmt::Display for Condition {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sign = if self.comparison == Comparison::Is { "=" } else { "!=" };
        write!(f, "{} {sign} {}", self.field, self.values.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_or_not() {
        let disk = Condition::parse("hrStorageType = 1.3.6.1.2.1.25.2.1.4, 1.3.6.1.2.1.25.2.1.10").unwrap();
        assert!(disk.holds(Some("1.3.6.1.2.1.25.2.1.10")) && disk.holds(Some(".1.3.6.1.2.1.25.2.1.4")));
        assert!(!disk.holds(Some("1.3.6.1.2.1.25.2.1.1")) && !disk.holds(None));
        let others = Condition::parse("ifType!=24,53").unwrap();
        assert!(others.holds(Some("6")) && others.holds(None) && !others.holds(Some("53")));
        assert_eq!(others.to_string(), "ifType != 24, 53");
        assert_eq!(Condition::parse(&disk.to_string()), Ok(disk));
        for wrong in ["", "ifType", "= 3", "ifType =", "ifType = 1,,2"] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
