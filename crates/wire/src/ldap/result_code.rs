//! Result codes (RFC 4511 section 4.1.9 and appendix A).

/// Codes that a client does something about.
pub mod code {
    #![allow(missing_docs, reason = "the names are those of the standard")]
    pub const SUCCESS: u32 = 0;
    pub const TIME_LIMIT_EXCEEDED: u32 = 3;
    pub const SIZE_LIMIT_EXCEEDED: u32 = 4;
    pub const REFERRAL: u32 = 10;
    pub const NO_SUCH_OBJECT: u32 = 32;
    pub const INVALID_CREDENTIALS: u32 = 49;
    pub const INSUFFICIENT_ACCESS_RIGHTS: u32 = 50;
    pub const BUSY: u32 = 51;
    pub const UNAVAILABLE: u32 = 52;
    pub const UNWILLING_TO_PERFORM: u32 = 53;
}

/// The standard's name of a code; `other` for those that it has none for.
pub fn name_of(code: u32) -> &'static str {
    NAMES.binary_search_by_key(&code, |(code, _)| *code).map_or("other", |at| NAMES[at].1)
}

const NAMES: &[(u32, &str)] = &[
    (0, "success"),
    (1, "operationsError"),
    (2, "protocolError"),
    (3, "timeLimitExceeded"),
    (4, "sizeLimitExceeded"),
    (5, "compareFalse"),
    (6, "compareTrue"),
    (7, "authMethodNotSupported"),
    (8, "strongerAuthRequired"),
    (10, "referral"),
    (11, "adminLimitExceeded"),
    (12, "unavailableCriticalExtension"),
    (13, "confidentialityRequired"),
    (14, "saslBindInProgress"),
    (16, "noSuchAttribute"),
    (17, "undefinedAttributeType"),
    (18, "inappropriateMatching"),
    (19, "constraintViolation"),
    (20, "attributeOrValueExists"),
    (21, "invalidAttributeSyntax"),
    (32, "noSuchObject"),
    (33, "aliasProblem"),
    (34, "invalidDNSyntax"),
    (36, "aliasDereferencingProblem"),
    (48, "inappropriateAuthentication"),
    (49, "invalidCredentials"),
    (50, "insufficientAccessRights"),
    (51, "busy"),
    (52, "unavailable"),
    (53, "unwillingToPerform"),
    (54, "loopDetect"),
    (64, "namingViolation"),
    (65, "objectClassViolation"),
    (66, "notAllowedOnNonLeaf"),
    (67, "notAllowedOnRDN"),
    (68, "entryAlreadyExists"),
    (69, "objectClassModsProhibited"),
    (71, "affectsMultipleDSAs"),
    (80, "other"),
];
