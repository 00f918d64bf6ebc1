//! Who may see what: users, passwords, one-time links, sessions, tokens, roles, masking, networks, the audit log.
