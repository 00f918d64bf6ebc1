//! As much of HTTP as a benchmark needs to sign in.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
pub struct Answer {
    /// Its header fields.
    pub head: String,
    /// Its body.
    pub body: String,
}

/// Asks once, over a connection of its own.
///
/// # Errors
/// Nobody answers, or not with 2xx.
pub fn ask(to: SocketAddr, line: &str, fields: &[(&str, &str)], body: &str) -> Result<Answer, String> {
    let failed = |e: std::io::Error| format!("{line}: {e}");
    let mut connection = TcpStream::connect(to).map_err(failed)?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut text = format!("{line} HTTP/1.0\r\nHost: {to}\r\nContent-Length: {}\r\n", body.len());
    if !body.is_empty() {
        text.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.write_all((text + "\r\n" + body).as_bytes()).map_err(failed)?;
    let mut octets = vec![];
    connection.read_to_end(&mut octets).map_err(failed)?;
    read(&String::from_utf8_lossy(&octets)).map_err(|why| format!("{line}: {why}"))
}

fn read(text: &str) -> Result<Answer, String> {
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        return Err(format!("{} {body}", head.lines().next().unwrap_or_default()));
    }
    Ok(Answer { head: head.to_owned(), body: body.to_owned() })
}

impl Answer {
    /// The cookie that it sets, name and value.
    pub fn cookie(&self) -> Option<&str> {
        let value = self.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        })?;
        value.split(';').next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_a_refusal_told() {
        let answer = read("HTTP/1.1 201 Created\r\nset-cookie: a=b; Path=/\r\n\r\n{}").unwrap();
        assert_eq!((answer.cookie(), answer.body.as_str()), (Some("a=b"), "{}"));
        assert_eq!(read("HTTP/1.1 403 Forbidden\r\n\r\nno").err().unwrap(), "HTTP/1.1 403 Forbidden no");
        assert!(read("").is_err());
    }
}
