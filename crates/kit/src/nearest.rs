//! The nearest right name for one that is wrong.

/// Characters of names that are compared.
const COMPARED_MAX: usize = 32;

/// `; did you mean 'callee'?` where one of the names is near, else which there are.
pub fn suggestion<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(name) = names.clone().find(|name| name.eq_ignore_ascii_case(wrong)) {
        return format!("; did you mean '{name}'?");
    }
    let lower = wrong.to_ascii_lowercase();
    let near = names.clone().map(|n| (distance(&lower, &n.to_ascii_lowercase()), n)).min();
    match near {
        Some((d, name)) if d <= 1 + lower.chars().take(COMPARED_MAX).count() / 4 => format!("; did you mean '{name}'?"),
        _ => match names.clone().find(|n| lower.len() >= 2 && (n.starts_with(&lower) || lower.starts_with(n))) {
            Some(name) => format!("; did you mean '{name}'?"),
            None => format!("; there are {}", names.collect::<Vec<_>>().join(", ")),
        },
    }
}

/// Edit distance with neighbours exchanged counted once (optimal string alignment), of at most [`COMPARED_MAX`]
/// characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(COMPARED_MAX).collect();
    let b: Vec<char> = b.chars().take(COMPARED_MAX).collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest() {
        let names = ["caller", "callee", "mos", "duration"];
        assert_eq!(suggestion("calee", names.into_iter()), "; did you mean 'callee'?");
        assert_eq!(suggestion("msо", ["mos"].into_iter()), "; there are mos");
        assert_eq!(suggestion("dur", names.into_iter()), "; did you mean 'duration'?");
        assert_eq!(suggestion("mib", ["MB", "MiB"].into_iter()), "; did you mean 'MiB'?");
        assert_eq!(suggestion("zzz", ["mos"].into_iter()), "; there are mos");
        // Neither the one's capitals nor the other's keep them apart.
        assert_eq!(suggestion("MAXIMUN", ["MINIMUM", "MAXIMUM"].into_iter()), "; did you mean 'MAXIMUM'?");
        // What is very long is near nothing.
        assert_eq!(suggestion(&"z".repeat(500), ["mos"].into_iter()), "; there are mos");
    }
}
