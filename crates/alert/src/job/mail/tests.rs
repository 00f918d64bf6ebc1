//! Answers of servers as they are met.

use super::*;

/// What comes of an answer to something that 250 is the right answer to.
fn answer(said: &[u8]) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mut given, taken) = tokio::io::duplex(said.len() + 1);
        given.write_all(said).await.unwrap();
        drop(given);
        Talk::new(taken).answer(250).await.map_err(|failure| match failure {
            Failure::Later(why) => format!("later: {why}"),
            Failure::Never(why) => format!("never: {why}"),
            Failure::Broken(error) => format!("broken: {error}"),
        })
    })
}

#[test]
fn an_answer_ends_with_the_line_that_has_no_hyphen() {
    let lines = |said: &[u8]| answer(said).unwrap();
    assert_eq!(lines(b"250-mx.example\r\n250-SIZE 10\r\n250 HELP\r\n"), ["mx.example", "SIZE 10", "HELP"]);
    // RFC 5321 section 4.2: clients must be ready for a code alone.
    assert_eq!(lines(b"250\r\n"), [""]);
    assert_eq!(lines(b"250-First line\r\n250-234 text beginning with numbers\n250 end\n").len(), 3);
    assert_eq!(lines(b"250-\r\n250 \r\nmore"), ["", ""]);
}

#[test]
fn the_last_line_counts_where_codes_differ() {
    // A server that greets and refuses in one answer.
    let said = b"220-mx.example ESMTP\r\n521 5.7.1 Service unavailable; client blocked\r\n";
    assert_eq!(answer(said).unwrap_err(), "never: the server says 521 5.7.1 Service unavailable; client blocked");
    assert_eq!(answer(b"250-a\r\n451 later\r\n").unwrap_err(), "later: the server says 451 later");
    assert_eq!(answer(b"421\r\n").unwrap_err(), "later: the server says 421");
}

#[test]
fn what_is_no_answer_is_none() {
    for said in [
        &b"+25 ok\r\n"[..],
        b"2500 ok\r\n",
        b"250_ok\r\n",
        b"25\r\n",
        b"HTTP/1.1 400\r\n",
        b"250 ok",
        b"\xff\xff\xff\n",
    ] {
        assert!(answer(said).unwrap_err().starts_with("broken: the server says"), "{said:?}");
    }
    let endless = b"250-more\r\n".repeat(LINES_MAX + 1);
    assert!(answer(&endless).unwrap_err().starts_with("broken"));
    assert!(answer(&[&b"250 "[..], &[b'x'; 4096], b"\r\n"].concat()).unwrap_err().starts_with("broken"));
    assert!(!answer(b"500 \x1b[31mred\r\n").unwrap_err().contains(char::is_control));
}
