//! What a text must look like.

/// Whether a text names a metric of Prometheus, perhaps with labels: `name`, `name{a="b",c="d"}`.
pub(super) fn is_metric(text: &str) -> bool {
    let (name, labels) = match text.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}')),
        None => (text, Some("")),
    };
    let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b':';
    let named = name.bytes().all(inside) && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    named && labels.is_some_and(are_labels)
}

fn are_labels(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let Some((name, behind)) = rest.split_once("=\"") else { return false };
        let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(inside) {
            return false;
        }
        let Some(end) = end_of_value(behind) else { return false };
        rest = &behind[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None if rest.is_empty() => {}
            None => return false,
        }
    }
    true
}

/// Where the quote stands that ends a value; a backslash takes away what the octet after it means.
fn end_of_value(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, octet) in text.bytes().enumerate() {
        match octet {
            b'"' if !escaped => return Some(at),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_with_and_without_labels() {
        for right in ["up", "a:b_c1", "n{}", "n{a=\"b\"}", "n{a=\"b\",c=\"d,}\\\"\"}", "n{a=\"\",}"] {
            assert!(is_metric(right), "{right}");
        }
        for wrong in ["", "1up", "n{", "n{a}", "n{a=b}", "n{a=\"b}", "n{a=\"b\"c=\"d\"}", "a b", "n{=\"b\"}"] {
            assert!(!is_metric(wrong), "{wrong}");
        }
    }
}
