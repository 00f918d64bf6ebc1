//! The words of an expression with their places.

use core::ops::Range;

/// A word, a sign, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    And,
    Or,
    Not,
    Open,
    Close,
    /// A sign of libpcap's arithmetic: brackets, relations, operators.
    Sign(&'a str),
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed<'a> {
    pub(super) token: Token<'a>,
    pub(super) place: Range<usize>,
}

/// Cuts a text into tokens, [`Token::End`] last.
pub(super) fn tokens(text: &str) -> Vec<Placed<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            at += blank;
            continue;
        }
        let (token, octets) = token(rest);
        found.push(Placed { token, place: at..at + octets });
        at += octets;
    }
    found.push(Placed { token: Token::End, place: text.len()..text.len() });
    found
}

fn token(rest: &str) -> (Token<'_>, usize) {
    let two = rest.get(..2).unwrap_or_default();
    match two {
        "&&" => return (Token::And, 2),
        "||" => return (Token::Or, 2),
        "!=" | ">=" | "<=" | "==" | "<<" | ">>" => return (Token::Sign(two), 2),
        _ => {}
    }
    let word_end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    if word_end > 0 {
        let word = &rest[..word_end];
        let token = match word {
            "and" => Token::And,
            "or" => Token::Or,
            "not" => Token::Not,
            word => Token::Word(word),
        };
        return (token, word_end);
    }
    let one = rest.chars().next().map_or(1, char::len_utf8);
    let token = match &rest[..one] {
        "(" => Token::Open,
        ")" => Token::Close,
        "!" => Token::Not,
        sign => Token::Sign(sign),
    };
    (token, one)
}

/// Letters, digits, and what addresses, ranges and names are written with. A bracket is none: `udp[8:4]` is a word and
/// signs around another.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | ':' | '-' | '_' | '/' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs() {
        let kinds: Vec<Token<'_>> = tokens("!(udp[8:4]>=5)&&host 10.0.0.0/8").into_iter().map(|p| p.token).collect();
        use Token::*;
        assert_eq!(
            kinds,
            [
                Not,
                Open,
                Word("udp"),
                Sign("["),
                Word("8:4"),
                Sign("]"),
                Sign(">="),
                Word("5"),
                Close,
                And,
                Word("host"),
                Word("10.0.0.0/8"),
                End
            ]
        );
        assert_eq!(tokens(" a\u{a0}é§")[2].token, Sign("§"));
    }
}
