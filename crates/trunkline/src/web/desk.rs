//! The desk where users sign in, as the configuration has it.

use crate::failure::Failure;
use crate::rights;
use crate::run::config::{RoleOf, Settings};
use std::io::Read as _;
use std::path::Path;
use trunkline_web::auth::{AuthOptions, DESK_FILE, Desk, OidcOptions, Role, Secret};

/// Octets of the identity provider's secret for us.
const SECRET_OCTETS_MAX: u64 = 4096;

/// What the configuration says about sign-in.
pub fn options(settings: &Settings) -> AuthOptions {
    let web = &settings.web;
    AuthOptions {
        mask_below: role(web.mask_below),
        session_idle_s: web.session_idle.as_secs(),
        session_max_s: web.session_max.as_secs(),
        audit_entries_max: settings.web_audit.keep_entries.into(),
        audit_age_max_s: settings.web_audit.keep_age.map(|age| age.as_secs()),
        audit_keep_at_least_s: settings.web_audit.keep_at_least.map_or(0, |least| least.as_secs()),
        ..AuthOptions::default()
    }
}

/// The identity provider that the configuration names, if it does. Its secret is read here, while that is still
/// allowed.
///
/// # Errors
/// The file of the secret cannot be read, or holds none.
pub fn oidc(settings: &Settings) -> Result<Option<OidcOptions>, Failure> {
    let oidc = &settings.web_oidc;
    let (Some(issuer), Some(client_id)) = (&oidc.issuer, &oidc.client_id) else { return Ok(None) };
    let client_secret = oidc.client_secret_file.as_deref().map(secret_of).transpose()?;
    Ok(Some(OidcOptions {
        client_secret,
        label: oidc.label.clone(),
        scopes: oidc.scopes.clone(),
        role_claim: oidc.role_claim.clone(),
        roles: oidc.roles.iter().map(|RoleOf { group, role: of }| (group.clone(), role(*of))).collect(),
        ..OidcOptions::new(issuer, client_id)
    }))
}

/// The secret that a file holds, on one line.
fn secret_of(path: &Path) -> Result<Secret, Failure> {
    let wrong = |what: String| Failure::Failed(format!("web.oidc.client-secret-file: {}: {what}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| wrong(e.to_string()))?;
    file.take(SECRET_OCTETS_MAX + 1).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    let secret = text.trim();
    if secret.is_empty() || text.len() as u64 > SECRET_OCTETS_MAX || secret.chars().any(char::is_control) {
        return Err(wrong(format!("it does not hold one secret, on one line of at most {SECRET_OCTETS_MAX} octets")));
    }
    Ok(Secret::given(secret))
}

/// A role of the configuration as the desk knows it.
fn role(role: crate::run::config::Role) -> Role {
    Role::ALL.into_iter().find(|one| one.name() == role.name()).unwrap_or(Role::Viewer)
}

/// Opens the desk of a data folder beside the web, or makes it.
///
/// # Errors
/// The data folder is not there, or the desk's file cannot be read and written.
pub fn open(settings: &Settings) -> Result<Desk, Failure> {
    let data = &settings.data.folder;
    if !data.is_dir() {
        let what = "does not exist: create it with `trunkline run` or `trunkline read`, or name another with --data \
            DIR";
        return Err(Failure::Failed(format!("the data folder {} {what}", data.display())));
    }
    let path = data.join(DESK_FILE);
    let desk = Desk::open(&path, &options(settings)).map_err(|e| Failure::Failed(e.to_string()))?;
    hand_over(data);
    Ok(desk)
}

/// What root has made for people who sign in is the service's. Where that is not possible, the web says what it cannot
/// read.
pub fn hand_over(data: &Path) {
    let _refused = rights::hand_over(data, &["web"]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::config::Oidc;

    #[test]
    fn the_provider_is_as_the_configuration_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let mut settings = Settings::default();
        assert!(oidc(&settings).unwrap().is_none());
        settings.web_oidc = Oidc {
            issuer: Some("https://login.example".to_owned()),
            client_id: Some("trunkline".to_owned()),
            client_secret_file: Some(file.clone()),
            scopes: vec!["groups".to_owned()],
            roles: vec![RoleOf { group: "noc".to_owned(), role: crate::run::config::Role::Engineer }],
            ..Oidc::default()
        };
        let refused = |settings: &Settings| match oidc(settings) {
            Err(Failure::Failed(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(&settings).contains("client-secret-file"));
        for wrong in ["", " \n", "two\nlines\n", &"x".repeat(5000)] {
            std::fs::write(&file, wrong).unwrap();
            assert!(refused(&settings).contains("one secret, on one line"), "{wrong:?}");
        }
        std::fs::write(&file, "s3cret\n").unwrap();
        let options = oidc(&settings).unwrap().unwrap();
        assert_eq!(options.client_secret.as_ref().map(Secret::expose), Some("s3cret"));
        assert_eq!(options.roles, [("noc".to_owned(), Role::Engineer)]);
        assert_eq!((options.scopes.as_slice(), options.role_claim.as_str()), (&["groups".to_owned()][..], "groups"));
        assert_eq!(options.label, "Sign in with your organisation");
    }
}
