//! Whether a request comes from our own page: the token of the session in a header, and what the browser says of its
//! origin. A cookie is SameSite=Strict besides; each of the three would do, and none is trusted alone.

use super::refusal::Refusal;
use super::secret::same;
use super::viewer::Viewer;

/// The header that holds the session's token.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// What a request says of where it comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// The method, upper case.
    pub method: &'a str,
    /// The header `X-CSRF-Token`.
    pub token: Option<&'a str>,
    /// The header `Origin`.
    pub origin: Option<&'a str>,
    /// The header `Sec-Fetch-Site`.
    pub site: Option<&'a str>,
    /// The host (and port) that the browser asked: `Host`, or what a trusted proxy says it was.
    pub host: Option<&'a str>,
    /// Whether the browser asked by https.
    pub https: bool,
}

/// Refuses what may come from another page. `viewer` is none where nobody is signed in yet: then there is no token, but
/// a sign-in from another page is refused too.
///
/// # Errors
/// [`Refusal::Csrf`].
pub fn check(viewer: Option<&Viewer>, from: &Origin<'_>) -> Result<(), Refusal> {
    if matches!(from.method, "GET" | "HEAD") {
        return Ok(());
    }
    // No browser sends a bearer token by itself.
    if viewer.is_some_and(|v| v.csrf().is_none()) {
        return Ok(());
    }
    if from.site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(Refusal::Csrf("this request was made by another site's page"));
    }
    if from.origin.is_some_and(|origin| !is_own(origin, from)) {
        return Err(Refusal::Csrf("the origin of this request is not this server"));
    }
    match viewer.and_then(Viewer::csrf) {
        Some(wanted) if !from.token.is_some_and(|token| same(token, wanted)) => Err(Refusal::Csrf(
            "the header X-CSRF-Token does not hold this session's token: GET /api/v1/session tells it",
        )),
        _ => Ok(()),
    }
}

/// RFC 6454 section 7: scheme, host and port, or `null`, which is nobody's.
fn is_own(origin: &str, from: &Origin<'_>) -> bool {
    let scheme = if from.https { "https" } else { "http" };
    let Some((its_scheme, its_host)) = origin.split_once("://") else { return false };
    let host = |text: &str| {
        let port = if from.https { ":443" } else { ":80" };
        let text = text.trim().to_ascii_lowercase();
        text.strip_suffix(port).map_or(text.clone(), str::to_owned)
    };
    its_scheme == scheme && from.host.is_some_and(|own| !own.is_empty() && host(own) == host(its_host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{How, Permissions, Role};

    fn viewer(csrf: Option<&str>) -> Viewer {
        let how = match csrf {
            Some(csrf) => How::Session { id: "1".to_owned(), csrf: csrf.to_owned() },
            None => How::Token { id: 1, name: "t".to_owned() },
        };
        Viewer {
            user_id: 1,
            name: "alice".to_owned(),
            display_name: String::new(),
            role: Role::Viewer,
            permissions: Permissions::NONE,
            graphs: None,
            must_change_password: false,
            how,
        }
    }

    #[test]
    fn a_foreign_page_is_refused_however_it_asks() {
        let (session, token) = (viewer(Some("right")), viewer(None));
        let own = Origin {
            method: "POST",
            token: Some("right"),
            origin: Some("https://pbx.example:8443"),
            site: Some("same-origin"),
            host: Some("pbx.example:8443"),
            https: true,
        };
        let s = Some(&session);
        let table: [(&str, Option<&Viewer>, Origin<'_>, bool); 16] = [
            ("our page", s, own, true),
            ("no token", s, Origin { token: None, ..own }, false),
            ("empty token", s, Origin { token: Some(""), ..own }, false),
            ("another session's token", s, Origin { token: Some("wrong"), ..own }, false),
            (
                "another origin, though it knew the token",
                s,
                Origin { origin: Some("https://evil.example"), ..own },
                false,
            ),
            ("another port", s, Origin { origin: Some("https://pbx.example"), ..own }, false),
            ("another scheme", s, Origin { origin: Some("http://pbx.example:8443"), ..own }, false),
            ("a sandboxed frame", s, Origin { origin: Some("null"), ..own }, false),
            (
                "a name that begins alike",
                s,
                Origin { origin: Some("https://pbx.example:8443.evil.example"), ..own },
                false,
            ),
            ("a sister site", s, Origin { site: Some("same-site"), ..own }, false),
            ("another site", s, Origin { site: Some("cross-site"), ..own }, false),
            ("a program without a browser's headers", s, Origin { origin: None, site: None, ..own }, true),
            ("looking", s, Origin { method: "GET", token: None, ..own }, true),
            ("a bearer token", Some(&token), Origin { token: None, origin: Some("https://evil.example"), ..own }, true),
            ("sign-in from our page", None, Origin { token: None, ..own }, true),
            ("sign-in from another page", None, Origin { origin: Some("https://evil.example"), ..own }, false),
        ];
        for (what, viewer, origin, passes) in table {
            assert_eq!(check(viewer, &origin).is_ok(), passes, "{what}");
        }
        let default_port = Origin { origin: Some("https://PBX.example"), host: Some("pbx.example:443"), ..own };
        assert!(check(s, &default_port).is_ok());
    }
}
