//! Text with wildcards: `+4420*`, `*1234`, `a*b`. ASCII letters match in either case.

/// Literal parts with any characters between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// At least one; a single part is an exact text.
    parts: Vec<String>,
}

impl Pattern {
    /// A text without wildcards.
    pub fn exact(text: &str) -> Self {
        Pattern { parts: vec![text.to_owned()] }
    }

    /// From its text: `*` is the wildcard, a backslash takes the next character as it is.
    pub fn parse(text: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '*' => parts.push(String::new()),
                '\\' => last(&mut parts).push(characters.next().unwrap_or('\\')),
                c => last(&mut parts).push(c),
            }
        }
        Pattern { parts }
    }

    /// The text that [`Pattern::parse`] makes this pattern of.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (i, part) in self.parts.iter().enumerate() {
            if i > 0 {
                out.push('*');
            }
            for c in part.chars() {
                if matches!(c, '*' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        out
    }

    /// The text, if it has no wildcard.
    pub fn as_exact(&self) -> Option<&str> {
        if self.parts.len() == 1 { self.parts.first().map(String::as_str) } else { None }
    }

    /// Whether it is a beginning and nothing more: `+4420*`.
    pub fn is_prefix(&self) -> bool {
        self.parts.len() == 2 && self.parts.last().is_some_and(String::is_empty)
    }

    /// What every match begins with.
    pub fn prefix(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// Whether a text matches from its first to its last character.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_octets(text.as_bytes())
    }

    /// Whether a text matches of which there are the octets.
    pub fn matches_octets(&self, text: &[u8]) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else {
            return text.eq_ignore_ascii_case(first.as_bytes());
        };
        let Some(mut text) = after_prefix(text, first.as_bytes()) else { return false };
        for part in middle {
            match find(text, part.as_bytes()) {
                Some(end) => text = &text[end..],
                None => return false,
            }
        }
        text.len() >= last.len() && text[text.len() - last.len()..].eq_ignore_ascii_case(last.as_bytes())
    }
}

fn last(parts: &mut Vec<String>) -> &mut String {
    if parts.is_empty() {
        parts.push(String::new());
    }
    let at = parts.len() - 1;
    &mut parts[at]
}

fn after_prefix<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Where the first occurrence of `part` ends.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|w| w.eq_ignore_ascii_case(part)).map(|at| at + part.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wildcards_stand_for_anything() {
        for (pattern, text, holds) in [
            ("+4420*", "+442071234567", true),
            ("+4420*", "+4421", false),
            ("*1234", "+44201234", true),
            ("*1234", "12345", false),
            ("a*b*c", "axxBxxC", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
            ("alice", "ALICE", true),
            ("\\*21#", "*21#", true),
            ("\\*21#", "x21#", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::parse(pattern).matches(text), holds, "{pattern} {text}");
        }
    }

    /// The plainest matcher there is.
    fn oracle(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => oracle(rest, text) || (!text.is_empty() && oracle(pattern, &text[1..])),
            (Some((p, rest)), Some((t, text))) => p.eq_ignore_ascii_case(t) && oracle(rest, text),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_plainest_matcher(pattern in "[abA*]{0,6}", text in "[abB]{0,8}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            let ours = Pattern::parse(&pattern);
            prop_assert_eq!(ours.matches(&text), oracle(&p, &t));
            prop_assert_eq!(Pattern::parse(&ours.text()), ours);
        }
    }
}
