//! What a directory says of a subscriber, as the ledger takes it: whose account, which plan, and whether there is
//! service at all.
//!
//! Balances are the ledger's alone. A directory says who somebody is, and is believed: a number that another entry has
//! now is taken from whom the ledger knew by it.

use crate::account::{Identity, IdentityKind};
use crate::money::{MONEY_MAX, Money};
use crate::session::code;
use trunkline_directory::{Identity as Name, Kind, LookedUp, Profile};

/// Fields of a profile that are read; those of identities beside them have the names of their kinds.
pub const FIELDS: [&str; 5] = ["account", "subscriber", "plan", "credit", "status"];
/// What `status` says where there is service; with any other word there is none.
pub const ACTIVE: [&str; 5] = ["active", "enabled", "true", "yes", "1"];

/// What is known of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Who pays.
    pub account: u64,
    /// Its number, if the directory gives numbers.
    pub subscriber: Option<u64>,
    /// The account's plan; none leaves it as it is.
    pub plan: Option<String>,
    /// The account's credit limit; none leaves it as it is.
    pub credit: Option<Money>,
    /// What it is known by.
    pub identities: Vec<Identity>,
}

/// What becomes of a request after its subscriber was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// The ledger learns this, then it is decided.
    With(Known),
    /// It is decided by what the ledger knows: the directory does not answer, or not with a profile.
    AsBefore,
    /// It is answered so.
    Refused(u32),
}

/// What becomes of a request whose subscriber was looked up by `identity`, and whether the ledger knows it.
pub fn admit(looked_up: &LookedUp, identity: &Identity, is_known: bool) -> Admitted {
    match looked_up {
        LookedUp::Found(profile, _) => match known(profile, identity) {
            Ok(_) if !is_active(profile) => Admitted::Refused(code::SERVICE_DENIED),
            Ok(known) => Admitted::With(known),
            Err(_) => unknown(is_known, code::UNABLE_TO_COMPLY),
        },
        LookedUp::Absent => Admitted::Refused(code::USER_UNKNOWN),
        LookedUp::Failed(_) => unknown(is_known, code::TOO_BUSY),
    }
}

fn unknown(is_known: bool, code: u32) -> Admitted {
    if is_known { Admitted::AsBefore } else { Admitted::Refused(code) }
}

fn is_active(profile: &Profile) -> bool {
    profile.one("status").is_none_or(|status| ACTIVE.iter().any(|word| word.eq_ignore_ascii_case(status.trim())))
}

/// Reads a profile that was found by an identity.
///
/// # Errors
/// The field that is missing or wrong: names, no values.
pub fn known(profile: &Profile, by: &Identity) -> Result<Known, String> {
    let number = |name: &str| {
        let read = |text: &str| text.trim().parse::<u64>().map_err(|_| format!("'{name}' is no number"));
        profile.one(name).map(read).transpose()
    };
    let account = number("account")?.ok_or("there is no 'account'")?;
    let credit = number("credit")?.map(|credit| i64::try_from(credit).map_or(Money(i64::MAX), Money));
    if credit.is_some_and(|credit| credit.0 > MONEY_MAX) {
        return Err("'credit' is beyond what an account may hold".to_owned());
    }
    let mut identities = vec![by.clone()];
    for kind in Kind::ALL {
        let named = profile.all(kind.name()).iter().map(|text| identity(kind, text));
        identities.extend(named.filter(|identity| !identity.text.is_empty()));
    }
    // In an order of their own: a directory has none.
    identities.sort_unstable();
    identities.dedup();
    Ok(Known {
        account,
        subscriber: number("subscriber")?,
        plan: profile.one("plan").map(str::to_owned),
        credit,
        identities,
    })
}

fn identity(kind: Kind, text: &str) -> Identity {
    let kind = match kind {
        Kind::Msisdn => IdentityKind::E164,
        Kind::Imsi => IdentityKind::Imsi,
        Kind::Sip => IdentityKind::Sip,
        Kind::Nai => IdentityKind::Nai,
        Kind::Private => IdentityKind::Private,
    };
    let text = text.trim();
    // As gateways write it (ITU-T E.164: digits).
    Identity::new(kind, if kind == IdentityKind::E164 { text.trim_start_matches('+') } else { text })
}

/// An identity as directories are asked for it.
pub fn name(identity: &Identity) -> Name {
    let kind = match identity.kind {
        IdentityKind::E164 => Kind::Msisdn,
        IdentityKind::Imsi => Kind::Imsi,
        IdentityKind::Sip => Kind::Sip,
        IdentityKind::Nai => Kind::Nai,
        IdentityKind::Private => Kind::Private,
    };
    Name::new(kind, &*identity.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use trunkline_directory::{Freshness, Why};

    fn profile(fields: &[(&str, &[&str])]) -> Profile {
        let owned = |(name, values): &(&str, &[&str])| {
            ((*name).to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
        };
        Profile { name: "uid=a".to_owned(), fields: fields.iter().map(owned).collect() }
    }

    fn found(fields: &[(&str, &[&str])]) -> LookedUp {
        LookedUp::Found(Arc::new(profile(fields)), Freshness::Asked)
    }

    fn msisdn(text: &str) -> Identity {
        Identity::new(IdentityKind::E164, text)
    }

    #[test]
    fn fields_become_what_the_ledger_knows() {
        let fields: &[(&str, &[&str])] = &[
            ("account", &["17"]),
            ("plan", &["gold"]),
            ("credit", &["500"]),
            ("msisdn", &["+442", "441"]),
            ("imsi", &["00101"]),
            ("status", &["Active"]),
        ];
        let Admitted::With(known) = admit(&found(fields), &msisdn("441"), false) else { panic!("it is admitted") };
        let imsi = Identity::new(IdentityKind::Imsi, "00101");
        assert_eq!(known.identities, [msisdn("441"), msisdn("442"), imsi]);
        assert_eq!((known.account, known.subscriber, known.credit), (17, None, Some(Money(500))));
        assert_eq!(known.plan.as_deref(), Some("gold"));
    }

    #[test]
    fn who_has_no_service_is_refused_by_any_word_but_those() {
        for (status, admitted) in [("barred", false), ("", false), ("TRUE", true), (" enabled ", true), ("0", false)] {
            let fields: &[(&str, &[&str])] = &[("account", &["1"]), ("status", &[status])];
            let refused = admit(&found(fields), &msisdn("1"), true) == Admitted::Refused(code::SERVICE_DENIED);
            assert_eq!(refused, !admitted, "{status}");
        }
    }

    #[test]
    fn who_is_known_is_served_while_the_directory_is_not_there() {
        let failed = LookedUp::Failed(Why::NoFilter);
        assert_eq!(admit(&failed, &msisdn("1"), true), Admitted::AsBefore);
        assert_eq!(admit(&failed, &msisdn("1"), false), Admitted::Refused(code::TOO_BUSY));
        let broken = found(&[("account", &["alice"])]);
        assert_eq!(admit(&broken, &msisdn("1"), true), Admitted::AsBefore);
        assert_eq!(admit(&broken, &msisdn("1"), false), Admitted::Refused(code::UNABLE_TO_COMPLY));
        assert_eq!(admit(&LookedUp::Absent, &msisdn("1"), true), Admitted::Refused(code::USER_UNKNOWN));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_field() {
        let told = |fields: &[(&str, &[&str])]| known(&profile(fields), &msisdn("1")).unwrap_err();
        assert_eq!(told(&[("plan", &["a"])]), "there is no 'account'");
        assert_eq!(told(&[("account", &["-1"])]), "'account' is no number");
        assert_eq!(told(&[("account", &["1"]), ("credit", &["all"])]), "'credit' is no number");
        let much = "18446744073709551615";
        assert_eq!(told(&[("account", &["1"]), ("credit", &[much])]), "'credit' is beyond what an account may hold");
    }
}
