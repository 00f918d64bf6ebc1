//! Which metrics are wanted: `name{label="value"}`.

use super::line::{Line, Lines};
use super::{Metric, Number};

/// A name, and labels that a metric must have; it may have others, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    name: String,
    labels: Vec<(String, String)>,
}

impl Selector {
    /// Reads one; none if it is none.
    pub fn parse(text: &str) -> Option<Selector> {
        // It is a line without its value.
        let line = format!("{text} 0");
        match Lines::new(line.as_bytes()).next()?.ok()? {
            Line::Metric(Metric { name, labels, value: Number::Whole(0), unix_ms: None }) => {
                let labels = labels.iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect();
                (!name.starts_with(|c: char| c.is_ascii_digit())).then(|| Selector { name: name.to_owned(), labels })
            }
            _ => None,
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a metric is wanted. Bounds of classes and quantiles are numbers: 1 is 1.0.
    pub fn fits(&self, metric: &Metric<'_>) -> bool {
        let has = |(name, value): &(String, String)| {
            metric
                .labels
                .iter()
                .any(|(other, there)| other == name && (there == *value || is_same(name, value, &there)))
        };
        metric.name == self.name && self.labels.iter().all(has)
    }
}

fn is_same(name: &str, one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    matches!(name, "le" | "quantile") && number(one).is_some_and(|one| number(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_names_with_labels() {
        assert!(["up", "a:b", "n{}", "n{a=\"b\",c=\"d\"}"].iter().all(|text| Selector::parse(text).is_some()));
        assert!(["", "1a", "n{", "n 1", "n{a}", "# n", "n{} 5"].iter().all(|text| Selector::parse(text).is_none()));
    }
}
