//! Patterns of names.

/// A pattern with `*` (any characters) and `?` (one), whatever its capitals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// In small letters.
    pattern: Box<[char]>,
}

impl Glob {
    /// What is written so.
    pub fn new(pattern: &str) -> Glob {
        Glob { pattern: pattern.chars().flat_map(char::to_lowercase).collect() }
    }

    /// Whether it is all of a text.
    pub fn takes(&self, text: &str) -> bool {
        let mut text = text.chars().flat_map(char::to_lowercase);
        let (mut at, mut star) = (0, None);
        loop {
            let mut rest = text.clone();
            match (rest.next(), self.pattern.get(at)) {
                (None, _) => return self.pattern[at..].iter().all(|c| *c == '*'),
                (Some(_), Some('*')) => {
                    star = Some((at, text.clone()));
                    at += 1;
                }
                (Some(c), Some(wanted)) if *wanted == '?' || *wanted == c => {
                    text = rest;
                    at += 1;
                }
                _ => match &mut star {
                    // One character more belongs to the star.
                    Some((begins, taken)) => {
                        taken.next();
                        text = taken.clone();
                        at = *begins + 1;
                    }
                    None => return false,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn patterns() {
        let matches = |pattern: &str, text: &str| Glob::new(pattern).takes(text);
        for (pattern, text) in [
            ("*", ""),
            ("", ""),
            ("Gi0/*", "gi0/12"),
            ("*uplink*", "the Uplink to ams"),
            ("a*b*c", "aXbYbZc"),
            ("?d", "éd"),
            ("É*", "éd"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("a*b", "ac"), ("?", ""), ("a*b*c", "acb"), ("ab", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
