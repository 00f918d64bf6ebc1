//! Vectors of RFC 7515 and RFC 8037, and tokens that must not be believed.

use super::super::rfc7515;
use super::*;
use proptest::prelude::*;
use serde_json::json;

const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const RS256: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb\
    F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--x\
    i12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ\
    Ge77Rw";
const ES256: &str = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

fn keys(all: serde_json::Value) -> Keys {
    Keys::new(&serde_json::from_value(json!({ "keys": all })).unwrap())
}

fn published() -> Keys {
    keys(json!([
        { "kty": "oct", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow" },
        "not a key",
        { "kty": "RSA", "kid": "rsa", "n": rfc7515::N, "e": "AQAB" },
        { "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
          "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" },
        { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    ]))
}

fn token(header: &str, signature: &str) -> String {
    format!("{}.{PAYLOAD}.{signature}", BASE64.encode(header))
}

#[test]
fn vectors_of_the_rfcs_hold() {
    let keys = published();
    assert_eq!(keys.0.len(), 3);
    let payload = keys.verify(&token("{\"alg\":\"RS256\"}", RS256)).unwrap();
    assert!(payload.starts_with(b"{\"iss\":\"joe\""));
    assert!(keys.verify(&token("{\"alg\":\"ES256\"}", ES256)).is_ok());
    let eddsa = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhij\
                 cNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(keys.verify(eddsa).unwrap(), b"Example of Ed25519 signing");
}

#[test]
fn what_is_not_signed_by_a_published_key_is_not_believed() {
    let keys = published();
    // RFC 7515 A.1: the right HMAC of a key that stands in the set; and A.5: none at all.
    let hs256 = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl\
                 LmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let table = [
        (hs256.to_owned(), Wrong::Algorithm),
        (token("{\"alg\":\"none\"}", ""), Wrong::Algorithm),
        (token("{\"alg\":\"None\"}", ""), Wrong::Algorithm),
        (token("{\"alg\":\"RS256\"}", ""), Wrong::Signature),
        (token("{\"alg\":\"RS256\"}", ES256), Wrong::Signature),
        (token("{\"alg\":\"PS256\"}", RS256), Wrong::Signature),
        (token("{\"alg\":\"ES384\"}", ES256), Wrong::UnknownKey),
        (token("{\"alg\":\"RS256\",\"kid\":\"other\"}", RS256), Wrong::UnknownKey),
        (token("{\"alg\":\"RS256\",\"crit\":[\"exp\"]}", RS256), Wrong::Critical),
        (token("{\"alg\":\"RS256\" }", RS256), Wrong::Signature),
        (token("{}", RS256), Wrong::Shape),
        ("a.b".to_owned(), Wrong::Shape),
        (String::new(), Wrong::Shape),
        ("a".repeat(TOKEN_OCTETS_MAX + 1), Wrong::Shape),
    ];
    for (token, wrong) in table {
        assert_eq!(keys.verify(&token), Err(wrong), "{token}");
    }
}

#[test]
fn keys_for_something_else_are_left_out() {
    let rsa = |more: serde_json::Value| {
        let mut key = json!({ "kty": "RSA", "n": rfc7515::N, "e": "AQAB" });
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        keys(json!([key])).verify(&token("{\"alg\":\"RS256\"}", RS256)).is_ok()
    };
    assert!(rsa(json!({})) && rsa(json!({ "use": "sig" })) && rsa(json!({ "alg": "RS256" })));
    // A modulus with a zero in front, as some write it.
    let padded = BASE64.encode([&[0], BASE64.decode(rfc7515::N).unwrap().as_slice()].concat());
    assert!(rsa(json!({ "n": padded })));
    assert!(!rsa(json!({ "use": "enc" })) && !rsa(json!({ "alg": "RS512" })) && !rsa(json!({ "n": "AQAB" })));
}

proptest! {
    #[test]
    fn no_token_makes_it_panic(text in ".{0,80}", a in "[A-Za-z0-9_-]{0,20}", b in "[A-Za-z0-9_-]{0,90}") {
        let keys = published();
        let _ = keys.verify(&text);
        let (wild, signed) = (format!("{a}.{PAYLOAD}.{b}"), token("{\"alg\":\"ES256\"}", &b));
        prop_assert!(keys.verify(&wild).is_err());
        prop_assert!(keys.verify(&signed).is_err());
    }

    #[test]
    fn a_changed_token_does_not_hold(at in any::<prop::sample::Index>(), bit in 0u8..6) {
        let right = token("{\"alg\":\"RS256\"}", RS256);
        let mut octets = right.clone().into_bytes();
        let at = at.index(octets.len());
        octets[at] ^= 1 << bit;
        if let Ok(changed) = String::from_utf8(octets) {
            prop_assert!(published().verify(&changed).is_err(), "{at} {bit}");
        }
    }
}
