//! Text with SGR sequences (ECMA-48 section 8.3.117), as far as the program writes them, as pieces with a style each.

/// How a piece is drawn: the class that the SVG's style sheet knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Plain,
    Bold,
    Dim,
    Signal,
    Media,
    Good,
    Warn,
    Bad,
}

/// A piece of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub class: Class,
    pub text: String,
}

/// The pieces of each line.
pub fn lines(text: &[&str]) -> Vec<Vec<Piece>> {
    text.iter().map(|line| pieces(line)).collect()
}

/// A line without its sequences.
pub fn plain(line: &str) -> String {
    pieces(line).into_iter().map(|piece| piece.text).collect()
}

fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut class = Class::Plain;
    for (i, part) in line.split('\x1b').enumerate() {
        let sequence = if i == 0 { None } else { part.strip_prefix('[').and_then(|rest| rest.split_once('m')) };
        let text = match sequence {
            Some((parameters, text)) => {
                class = class_of(parameters);
                text
            }
            None => part,
        };
        if !text.is_empty() {
            pieces.push(Piece { class, text: text.to_owned() });
        }
    }
    pieces
}

fn class_of(parameters: &str) -> Class {
    match parameters {
        "1" => Class::Bold,
        "2" => Class::Dim,
        "36" => Class::Signal,
        "35" => Class::Media,
        "32" => Class::Good,
        "33" => Class::Warn,
        "1;31" => Class::Bad,
        _ => Class::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_become_classes() {
        let line = "a \x1b[1;31m✗ \x1b[0mb\x1b[2mc\x1b[0m";
        let found: Vec<_> = pieces(line).into_iter().map(|p| (p.class, p.text)).collect();
        let expected = [(Class::Plain, "a "), (Class::Bad, "✗ "), (Class::Plain, "b"), (Class::Dim, "c")];
        assert_eq!(found, expected.map(|(class, text)| (class, text.to_owned())));
        assert_eq!(plain(line), "a ✗ bc");
    }
}
