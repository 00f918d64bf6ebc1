//! An identity provider on loopback, and a browser that goes there and back.

use crate::client::{Answer, Client};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING as CURVE, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use trunkline_web::auth::{OidcOptions, Role};

/// The provider; its thread ends with the test.
#[derive(Clone)]
pub struct Provider {
    pub issuer: String,
    inside: Arc<Mutex<Inside>>,
}

pub struct Inside {
    key: EcdsaKeyPair,
    /// Challenge, nonce and redirect_uri of codes that were not redeemed yet.
    codes: HashMap<String, (String, String, String)>,
    made: usize,
    /// Claims over the usual ones.
    pub claims: Value,
    /// While true, it takes connections and answers nothing.
    pub away: bool,
    /// Codes that were redeemed, or tried to.
    pub redeemed: usize,
}

impl Provider {
    pub fn run() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&CURVE, &random).unwrap();
        let inside = Inside {
            key: EcdsaKeyPair::from_pkcs8(&CURVE, pkcs8.as_ref(), &random).unwrap(),
            codes: HashMap::new(),
            made: 0,
            claims: json!({ "groups": ["noc"] }),
            away: false,
            redeemed: 0,
        };
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let provider = Provider { issuer, inside: Arc::new(Mutex::new(inside)) };
        let serving = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = stream.map(|stream| serving.serve(stream));
            }
        });
        provider
    }

    /// As the web is told of it.
    pub fn options(&self) -> OidcOptions {
        OidcOptions {
            label: "Voice house".to_owned(),
            roles: vec![("noc".to_owned(), Role::Support), ("admins".to_owned(), Role::Administrator)],
            ..OidcOptions::new(self.issuer.clone(), "trunkline")
        }
    }

    pub fn tell<T>(&self, what: impl FnOnce(&mut Inside) -> T) -> T {
        what(&mut self.inside.lock().unwrap())
    }

    /// Somebody signs in here: the path and query of ours to which their browser is sent back.
    pub fn authorize(&self, location: &str) -> String {
        let query =
            location.strip_prefix(&format!("{}/authorize?", self.issuer)).unwrap_or_else(|| panic!("{location}"));
        let asked = decoded(query);
        assert_eq!((asked["client_id"].as_str(), asked["response_type"].as_str()), ("trunkline", "code"));
        let code = self.tell(|inside| {
            inside.made += 1;
            let code = format!("code-{}", inside.made);
            let of = |name: &str| asked[name].clone();
            inside.codes.insert(code.clone(), (of("code_challenge"), of("nonce"), of("redirect_uri")));
            code
        });
        let path = asked["redirect_uri"].split_once("/api/v1/session/oidc/return").unwrap();
        assert_eq!(path.1, "");
        format!("/session/oidc/return?code={code}&state={}&session_state=more", asked["state"])
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? <= 2 {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        if self.tell(|inside| inside.away) {
            return Ok(());
        }
        let (status, told) = match first.split(' ').nth(1).unwrap_or_default() {
            "/.well-known/openid-configuration" => ("200 OK", self.discovery()),
            "/keys" => ("200 OK", self.keys()),
            "/token" => self.token(&decoded(std::str::from_utf8(&body).unwrap_or_default())),
            _ => ("404 Not Found", json!({})),
        };
        let told = told.to_string();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{told}", told.len())
    }

    fn discovery(&self) -> Value {
        let at = |path: &str| format!("{}/{path}", self.issuer);
        json!({
            "issuer": self.issuer, "authorization_endpoint": at("authorize"), "token_endpoint": at("token"),
            "jwks_uri": at("keys"), "token_endpoint_auth_methods_supported": ["none"],
        })
    }

    fn keys(&self) -> Value {
        let point = self.tell(|inside| inside.key.public_key().as_ref().to_vec());
        let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "x": x, "y": y }] })
    }

    fn token(&self, form: &HashMap<String, String>) -> (&'static str, Value) {
        self.tell(|inside| {
            inside.redeemed += 1;
            let known = inside.codes.remove(&form["code"]);
            let right = known.filter(|(challenge, _, redirect_uri)| {
                *challenge == BASE64.encode(Sha256::digest(&form["code_verifier"]))
                    && *redirect_uri == form["redirect_uri"]
            });
            let Some((_, nonce, _)) = right else {
                return ("400 Bad Request", json!({ "error": "invalid_grant" }));
            };
            let now_s = jiff::Timestamp::now().as_second();
            let mut claims = json!({
                "iss": self.issuer, "sub": "4711", "aud": "trunkline", "nonce": nonce, "iat": now_s,
                "exp": now_s + 300, "preferred_username": "alice", "name": "Alice Miller",
            });
            for (name, value) in inside.claims.as_object().unwrap() {
                claims[name] = value.clone();
            }
            let part = |value: Value| BASE64.encode(value.to_string());
            let text = format!("{}.{}", part(json!({ "alg": "ES256", "kid": "k" })), part(claims));
            let signature = inside.key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
            ("200 OK", json!({ "id_token": format!("{text}.{}", BASE64.encode(signature)) }))
        })
    }
}

/// A query or a form, decoded.
fn decoded(query: &str) -> HashMap<String, String> {
    let text = |part: &str| {
        let mut pieces = part.split('%');
        let mut octets = pieces.next().unwrap_or_default().as_bytes().to_vec();
        for piece in pieces {
            octets.push(u8::from_str_radix(&piece[..2], 16).unwrap());
            octets.extend_from_slice(&piece.as_bytes()[2..]);
        }
        String::from_utf8(octets).unwrap()
    };
    query.split('&').filter_map(|pair| pair.split_once('=')).map(|(n, v)| (text(n), text(v))).collect()
}

/// A browser that is about to come back from the provider.
pub struct Begun {
    /// With the cookie of this sign-in.
    pub browser: Client,
    /// Where the provider is.
    pub location: String,
}

/// Begins to sign in.
pub fn begin(client: &Client, return_to: &str) -> Begun {
    let answer = client.get(&format!("/session/oidc/start?return_to={return_to}"));
    assert_eq!(answer.status, 303, "{}", crate::client::text(&answer.body));
    let (name, value) = answer.cookies().remove(0);
    assert!(name.starts_with("trunkline-oidc-") && answer.header("set-cookie").contains("; SameSite=Lax"), "{name}");
    let browser = client.with("Cookie", &format!("{name}={value}"));
    Begun { browser, location: answer.header("location").to_owned() }
}

/// Goes to the provider and back: the last answer.
pub fn go(client: &Client, provider: &Provider, return_to: &str) -> Answer {
    let begun = begin(client, return_to);
    begun.browser.get(&provider.authorize(&begun.location))
}

/// A client with the session that an answer opens.
pub fn with_session(client: &Client, answer: &Answer) -> Client {
    let mut signed_in = client.clone();
    signed_in.cookie = Some(answer.cookie().unwrap_or_else(|| panic!("{:?}", answer.headers)));
    signed_in.csrf = signed_in.get("/session").ok(200)["csrf"].as_str().map(str::to_owned);
    signed_in
}
