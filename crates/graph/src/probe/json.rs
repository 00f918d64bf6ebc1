//! What is read of a document of JSON (RFC 8259), by pointers (RFC 6901).

use super::output::number;
use crate::poller::{Reading, Unknown};
use serde_json::Value;

/// Reads what is wanted: for each reading the first pointer that points to anything.
///
/// # Errors
/// What is wrong with the document, with its place.
pub fn read(octets: &[u8], wanted: &[Vec<String>]) -> Result<Vec<Reading>, String> {
    let document: Value = serde_json::from_slice(octets).map_err(|error| format!("no JSON: {error}"))?;
    let find = |pointer: &String| document.pointer(pointer).map(reading);
    let unknown = Reading::Unknown(Unknown::Omitted);
    Ok(wanted.iter().map(|ways| ways.iter().find_map(find).unwrap_or(unknown)).collect())
}

/// Numbers, numbers in texts, and 1 and 0 for true and false.
fn reading(value: &Value) -> Reading {
    match value {
        Value::Bool(flag) => Reading::Integer((*flag).into()),
        Value::String(text) => number(text.trim()),
        Value::Number(written) => match (written.as_i64(), written.as_u64(), written.as_f64()) {
            (Some(whole), ..) => Reading::Integer(whole),
            (None, Some(whole), _) => Reading::Gauge(whole),
            (None, None, Some(real)) if real.is_finite() => Reading::Real(real),
            _ => Reading::Unknown(Unknown::NoNumber),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Reading::Unknown(Unknown::NoNumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pointers of RFC 6901 section 5.
    #[test]
    fn pointers_of_the_standard() {
        let text = br#"{"foo":["bar","7"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
        let wanted = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
        let ways: Vec<Vec<String>> = wanted.iter().map(|pointer| vec![(*pointer).to_owned()]).collect();
        assert_eq!(read(text, &ways), Ok((0..9).map(Reading::Integer).collect()));
        let ways = ["/foo/1", "/foo/0", "/foo", "/none"].map(|pointer| vec![pointer.to_owned()]);
        let [number, omitted] = [Unknown::NoNumber, Unknown::Omitted].map(Reading::Unknown);
        assert_eq!(read(text, &ways), Ok(vec![Reading::Integer(7), number, number, omitted]));
    }

    #[test]
    fn numbers_of_all_kinds() {
        let one = |text: &str| read(text.as_bytes(), &[vec!["/gone".to_owned(), String::new()]]).map(|all| all[0]);
        assert_eq!(one("18446744073709551615"), Ok(Reading::Gauge(u64::MAX)));
        assert_eq!((one("-1.5e2"), one("true")), (Ok(Reading::Real(-150.0)), Ok(Reading::Integer(1))));
        assert_eq!(one("null"), Ok(Reading::Unknown(Unknown::NoNumber)));
        assert!(one("{").is_err_and(|why| why.contains("line 1")));
        assert!(one(&"[".repeat(100_000)).is_err());
    }
}
