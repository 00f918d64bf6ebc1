//! An identity provider on loopback, whose answers the tests choose.

use super::super::{Returned, rfc7515};
use super::{BASE64, NOW, SECOND};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{self, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What the provider does.
pub struct Fake {
    pub issuer: String,
    state: Arc<Mutex<Inside>>,
}

pub struct Inside {
    issuer: String,
    ec: EcdsaKeyPair,
    /// Code to challenge, nonce and redirect_uri.
    codes: HashMap<String, (String, String, String)>,
    discoveries: usize,
    key_requests: usize,
    redeemed: usize,
    /// Which algorithm the next token has.
    pub alg: &'static str,
    /// Under which name the key is published and named.
    pub kid: &'static str,
    /// Claims over the usual ones; null removes one.
    pub claims: Value,
    pub damaged: bool,
    pub names_itself: Option<String>,
    pub endpoints: Option<String>,
    pub moved: bool,
    pub huge: bool,
    pub methods: Vec<&'static str>,
}

type Shared = Arc<Mutex<Inside>>;

impl Fake {
    pub async fn run() -> Fake {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}/realms/voice", listener.local_addr().unwrap());
        let random = SystemRandom::new();
        let curve = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        let state = Arc::new(Mutex::new(Inside {
            issuer: issuer.clone(),
            ec: EcdsaKeyPair::from_pkcs8(curve, pkcs8.as_ref(), &random).unwrap(),
            codes: HashMap::new(),
            discoveries: 0,
            key_requests: 0,
            redeemed: 0,
            alg: "ES256",
            kid: "first",
            claims: json!({}),
            damaged: false,
            names_itself: None,
            endpoints: None,
            moved: false,
            huge: false,
            methods: vec!["client_secret_basic"],
        }));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Fake { issuer, state }
    }

    pub fn tell(&self, what: impl FnOnce(&mut Inside)) {
        what(&mut self.state.lock().unwrap());
    }

    pub fn discoveries(&self) -> usize {
        self.state.lock().unwrap().discoveries
    }

    pub fn key_requests(&self) -> usize {
        self.state.lock().unwrap().key_requests
    }

    pub fn redeemed(&self) -> usize {
        self.state.lock().unwrap().redeemed
    }

    /// What the authorization endpoint sends the browser back with, once somebody signed in there.
    pub fn authorize(&self, location: &str) -> Returned {
        assert!(location.starts_with(&format!("{}/authorize?prompt=login&", self.issuer.replace("/realms/voice", ""))));
        let query = query_of(location);
        assert_eq!(query["client_id"], "trunkline");
        let mut inside = self.state.lock().unwrap();
        let code = format!("code{}", inside.codes.len());
        let asked = (query["code_challenge"].clone(), query["nonce"].clone(), query["redirect_uri"].clone());
        inside.codes.insert(code.clone(), asked);
        Returned { code: Some(code), state: Some(query["state"].clone()), ..Returned::default() }
    }
}

/// The query of an address, decoded.
pub fn query_of(address: &str) -> HashMap<String, String> {
    decoded(address.split_once('?').unwrap().1)
}

fn decoded(query: &str) -> HashMap<String, String> {
    let text = |part: &str| {
        let mut octets = vec![];
        let mut rest = part.as_bytes();
        while let Some((first, more)) = rest.split_first() {
            rest = more;
            octets.push(*first);
            if *first == b'%' {
                let hex = std::str::from_utf8(&rest[..2]).unwrap();
                *octets.last_mut().unwrap() = u8::from_str_radix(hex, 16).unwrap();
                rest = &rest[2..];
            }
        }
        String::from_utf8(octets).unwrap()
    };
    query.split('&').map(|pair| pair.split_once('=').unwrap()).map(|(n, v)| (text(n), text(v))).collect()
}

async fn answer(State(state): State<Shared>, headers: HeaderMap, request: Request) -> Response {
    match (request.method().as_str(), request.uri().path()) {
        ("GET", "/realms/voice/.well-known/openid-configuration") => discovery(&state),
        ("GET", "/keys") => keys(&state),
        ("POST", "/token") => {
            let body = axum::body::to_bytes(request.into_body(), 65536).await.unwrap();
            token(&state, &headers, std::str::from_utf8(&body).unwrap())
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn discovery(state: &Shared) -> Response {
    let mut inside = state.lock().unwrap();
    inside.discoveries += 1;
    if inside.moved {
        return Redirect::to("http://127.0.0.1:1/").into_response();
    }
    let base = inside.endpoints.clone().unwrap_or_else(|| inside.issuer.replace("/realms/voice", ""));
    let mut told = json!({
        "issuer": inside.names_itself.as_ref().unwrap_or(&inside.issuer),
        "authorization_endpoint": format!("{base}/authorize?prompt=login"),
        "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/keys"),
        "claims_supported": ["sub", "iss"],
    });
    if !inside.methods.is_empty() {
        told["token_endpoint_auth_methods_supported"] = json!(inside.methods);
    }
    if inside.huge {
        told["padding"] = json!("x".repeat(2 << 20));
    }
    json_answer(StatusCode::OK, &told)
}

fn keys(state: &Shared) -> Response {
    let mut inside = state.lock().unwrap();
    inside.key_requests += 1;
    let point = inside.ec.public_key().as_ref();
    let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
    let ec = json!({ "kty": "EC", "crv": "P-256", "kid": inside.kid, "use": "sig", "x": x, "y": y });
    let rsa = json!({ "kty": "RSA", "kid": inside.kid, "n": rfc7515::N, "e": "AQAB" });
    json_answer(StatusCode::OK, &json!({ "keys": [ec, rsa] }))
}

fn token(state: &Shared, headers: &HeaderMap, body: &str) -> Response {
    let mut inside = state.lock().unwrap();
    inside.redeemed += 1;
    let form = decoded(body);
    let refused = |error: &str, why: &str| {
        json_answer(StatusCode::BAD_REQUEST, &json!({ "error": error, "error_description": why }))
    };
    if !knows_client(&inside.methods, headers, &form) {
        return refused("invalid_client", "");
    }
    assert_eq!(form["grant_type"], "authorization_code");
    let Some((challenge, nonce, redirect_uri)) = inside.codes.remove(&form["code"]) else {
        // A place is kept, so that codes do not repeat.
        let used = format!("used{}", inside.redeemed);
        inside.codes.insert(used, Default::default());
        return refused("invalid_grant", "");
    };
    let used = format!("used{}", inside.redeemed);
    inside.codes.insert(used, Default::default());
    if BASE64.encode(Sha256::digest(&form["code_verifier"])) != challenge {
        return refused("invalid_grant", "PKCE");
    }
    if form["redirect_uri"] != redirect_uri {
        return refused("invalid_grant", "redirect_uri");
    }
    let id_token = signed(&inside, &nonce);
    json_answer(StatusCode::OK, &json!({ "access_token": "x", "token_type": "Bearer", "id_token": id_token }))
}

fn knows_client(methods: &[&str], headers: &HeaderMap, form: &HashMap<String, String>) -> bool {
    let in_form = form.get("client_id").map(String::as_str) == Some("trunkline");
    let secret = form.get("client_secret").map(String::as_str);
    if methods == ["none"] {
        return in_form && secret.is_none() && !headers.contains_key(header::AUTHORIZATION);
    }
    if methods == ["client_secret_post"] {
        return in_form && secret == Some("s3cret/with:signs") && !headers.contains_key(header::AUTHORIZATION);
    }
    let basic = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()?.strip_prefix("Basic "));
    let pair = basic.and_then(|b| base64::engine::general_purpose::STANDARD.decode(b).ok());
    secret.is_none() && pair.as_deref() == Some(b"trunkline:s3cret%2Fwith%3Asigns")
}

fn signed(inside: &Inside, nonce: &str) -> String {
    let now_s = NOW / SECOND;
    let mut claims = json!({
        "iss": inside.issuer, "sub": "248289761001", "aud": "trunkline", "nonce": nonce, "iat": now_s,
        "exp": now_s + 300, "preferred_username": "alice", "name": "Alice Miller", "groups": ["voice-noc"],
    });
    for (name, value) in inside.claims.as_object().unwrap() {
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        }
    }
    let head = BASE64.encode(json!({ "alg": inside.alg, "kid": inside.kid, "typ": "JWT" }).to_string());
    let text = format!("{head}.{}", BASE64.encode(claims.to_string()));
    let mut signature = sign(inside, text.as_bytes());
    if inside.damaged {
        signature[7] ^= 1;
    }
    format!("{text}.{}", BASE64.encode(signature))
}

fn sign(inside: &Inside, text: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    let padding: &'static dyn signature::RsaEncoding = match inside.alg {
        "RS256" => &signature::RSA_PKCS1_SHA256,
        "PS256" => &signature::RSA_PSS_SHA256,
        "ES256" => return inside.ec.sign(&random, text).unwrap().as_ref().to_vec(),
        _ => return Sha256::digest(text).to_vec(),
    };
    let part = |text: &str| BASE64.decode(text).unwrap();
    let key = KeyPair::from_components(&KeyPairComponents {
        public_key: PublicKeyComponents { n: part(rfc7515::N), e: part("AQAB") },
        d: part(rfc7515::D),
        p: part(rfc7515::P),
        q: part(rfc7515::Q),
        dP: part(rfc7515::DP),
        dQ: part(rfc7515::DQ),
        qInv: part(rfc7515::QI),
    })
    .unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(padding, &random, text, &mut signature).unwrap();
    signature
}

fn json_answer(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
