//! The files of the UI: compressed once, told apart by what is in them. Every path that is no file and no part of the
//! API is a page, and a page is `index.html`: the UI finds the rest by its address.

use crate::problem::{Kind, Problem};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

/// What a program shows that was built without its UI.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Trunkline</title>\
    <h1>The pages are not built</h1><p>This program was built without its web UI. Run <code>make ui</code>, then build \
    the program again. Everything the pages show is in the <a href=\"/api/v1/openapi.json\">API</a>, too.</p>\n";
/// Files whose names change with what is in them: browsers may keep them for ever.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// Files whose names stay: browsers ask whether they changed.
const ASK_AGAIN: &str = "no-cache";

/// The files of the UI.
pub struct Pages(BTreeMap<&'static str, File>);

struct File {
    octets: &'static [u8],
    kind: &'static str,
    tag: String,
    compressed: OnceLock<Option<Bytes>>,
}

impl Pages {
    /// Those that the program was built with.
    pub fn embedded() -> Self {
        let files = trunkline_ui_embed::paths().filter_map(|path| Some((path, trunkline_ui_embed::file(path)?)));
        Pages::of(files)
    }

    fn of(files: impl Iterator<Item = (&'static str, &'static [u8])>) -> Self {
        Pages(files.map(|(path, octets)| (path, File::new(path, octets))).collect())
    }

    /// Whether the program was built with its pages.
    pub fn are_built(&self) -> bool {
        !self.0.is_empty()
    }

    /// Answers a request for a file or a page.
    pub fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Problem::new(Kind::Method, "Pages are only read.").into_response();
        }
        let path = uri.path().trim_start_matches('/');
        if path.starts_with("api/") || path == "api" {
            return Problem::new(Kind::NotFound, "The API has no such endpoint.").into_response();
        }
        if let Some(file) = self.0.get(path) {
            return file.answer(headers, if path.starts_with("assets/") { FOREVER } else { ASK_AGAIN });
        }
        // What looks like a file and is none is not a page: a browser must not take HTML for a script.
        if path.starts_with("assets/") || looks_like_a_file(path) {
            return Problem::new(Kind::NotFound, "There is no such file.").into_response();
        }
        match self.0.get("index.html") {
            Some(index) => index.answer(headers, ASK_AGAIN),
            None => {
                let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
                (StatusCode::OK, [kind], NOT_BUILT).into_response()
            }
        }
    }
}

/// Whether the last part has a dot; below a page a dot is part of a name: a call may be named by its Call-ID, which
/// ends in an address most often.
fn looks_like_a_file(path: &str) -> bool {
    let is_page = |part: &str| part.bytes().all(|o| o.is_ascii_lowercase() || o == b'-');
    match path.split_once('/') {
        Some((page, _)) if !page.is_empty() && is_page(page) => false,
        _ => path.rsplit('/').next().is_some_and(|name| name.contains('.')),
    }
}

impl File {
    fn new(path: &str, octets: &'static [u8]) -> Self {
        let digest = Sha256::digest(octets);
        let tag: String = digest.iter().take(12).map(|octet| format!("{octet:02x}")).collect();
        File { octets, kind: kind_of(path), tag, compressed: OnceLock::new() }
    }

    fn answer(&self, headers: &HeaderMap, keep: &'static str) -> Response {
        let compressed = if takes_gzip(headers) { self.compressed() } else { None };
        let tag = format!("\"{}{}\"", self.tag, if compressed.is_some() { "-gz" } else { "" });
        let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok());
        let known = known.flat_map(|v| v.split(',')).any(|t| {
            let t = t.trim();
            t == "*" || t.strip_prefix("W/").unwrap_or(t) == tag
        });
        let mut response = match (known, &compressed) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, Some(octets)) => Body::from(octets.clone()).into_response(),
            (false, None) => Body::from(Bytes::from_static(self.octets)).into_response(),
        };
        let out = response.headers_mut();
        out.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
        out.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            out.insert(header::ETAG, tag);
        }
        if !known && compressed.is_some() {
            out.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    /// Compressed, made when it is first asked for; none where that does not make it smaller.
    fn compressed(&self) -> Option<Bytes> {
        let make = || {
            let text = self.kind.starts_with("text/") || self.kind.contains("json") || self.kind.contains("svg");
            if !text {
                return None;
            }
            let mut out = GzEncoder::new(Vec::new(), Compression::best());
            out.write_all(self.octets).ok()?;
            let octets = out.finish().ok()?;
            (octets.len() < self.octets.len()).then(|| Bytes::from(octets))
        };
        self.compressed.get_or_init(make).clone()
    }
}

/// Whether an answer may be compressed with gzip (RFC 9110 section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    fields.flat_map(|field| field.split(',')).any(|entry| {
        let (name, quality) = entry.split_once(';').map_or((entry, ""), |(name, q)| (name, q));
        let refused = quality.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0);
        matches!(name.trim(), "gzip" | "*") && !refused
    })
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        const SCRIPT: &[u8] = &[b'a'; 4096];
        Pages::of([("assets/a-1.js", SCRIPT), ("index.html", &b"<p>x"[..]), ("mark.png", &b"png"[..])].into_iter())
    }

    fn get(path: &str, headers: &[(&str, &str)]) -> Response {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        pages().answer(&Method::GET, &path.parse().unwrap(), &map)
    }

    fn field(response: &Response, name: &str) -> String {
        response.headers().get(name).map_or(String::new(), |v| v.to_str().unwrap().to_owned())
    }

    #[test]
    fn assets_are_kept_and_pages_are_asked_for_again() {
        let asset = get("/assets/a-1.js", &[("accept-encoding", "br, gzip")]);
        assert_eq!(
            (field(&asset, "content-encoding"), field(&asset, "cache-control")),
            ("gzip".into(), FOREVER.into())
        );
        let tag = field(&asset, "etag");
        let again = get("/assets/a-1.js", &[("accept-encoding", "gzip"), ("if-none-match", &tag)]);
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        let plain = get("/assets/a-1.js", &[("if-none-match", &tag)]);
        assert_eq!((plain.status(), field(&plain, "content-encoding")), (StatusCode::OK, String::new()));
        for page in ["/", "/calls", "/calls/0199", "/calls/a84b4c76%40192.0.2.7", "/settings/users"] {
            let page = get(page, &[]);
            assert_eq!(field(&page, "content-type"), "text/html; charset=utf-8");
            assert_eq!(field(&page, "cache-control"), ASK_AGAIN);
        }
    }

    #[test]
    fn nothing_else_is_a_file() {
        for path in
            ["/assets/b.js", "/../Cargo.toml", "/assets/../../etc/passwd", "/%2e%2e/x.rs", "/api/v2/x", "/x.php"]
        {
            assert_eq!(get(path, &[]).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn no_gzip_for_who_refuses_it() {
        assert_eq!(field(&get("/assets/a-1.js", &[("accept-encoding", "gzip;q=0")]), "content-encoding"), "");
        assert_eq!(field(&get("/mark.png", &[("accept-encoding", "gzip")]), "content-encoding"), "");
    }
}
