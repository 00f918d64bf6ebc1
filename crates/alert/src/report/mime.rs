//! A report as the body of a mail (RFC 2045, 2046, 2387, 2392): a text, or HTML with the pictures that it shows.

use super::document::Document;
use super::html::{Pictures, html};
use super::plain::plain;
use crate::job::base64;

/// Header fields from `MIME-Version` on, and the body, in lines of ASCII none of which begins with a dot. `id` is of
/// this report alone, a name of letters, digits, `-` and dots with `@`.
pub fn mime(document: &Document, id: &str) -> String {
    // No line of base64 has these characters.
    let (alternative, related) = ("=_alternative", "=_related");
    let encoded = "Content-Transfer-Encoding: base64\r\n";
    let mut out = format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=\"{alternative}\"\r\n\r\n\
         --{alternative}\r\nContent-Type: text/plain; charset=utf-8\r\n{encoded}\r\n{}\
         --{alternative}\r\nContent-Type: multipart/related; type=\"text/html\"; boundary=\"{related}\"\r\n\r\n\
         --{related}\r\nContent-Type: text/html; charset=utf-8\r\n{encoded}\r\n{}",
        base64(plain(document).replace('\n', "\r\n").as_bytes()),
        base64(html(document, Pictures::Parts(id)).replace('\n', "\r\n").as_bytes()),
    );
    for (number, png) in document.pictures.iter().enumerate() {
        out.push_str(&format!(
            "--{related}\r\nContent-Type: image/png\r\n{encoded}Content-ID: <{number}.{id}>\r\n\
             Content-Disposition: inline; filename=\"graph-{}.png\"\r\n\r\n{}",
            number + 1,
            base64(png)
        ));
    }
    out.push_str(&format!("--{related}--\r\n--{alternative}--\r\n"));
    out
}
