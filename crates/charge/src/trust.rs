//! Which clients may speak for others, go on with the sessions of others, and give back what was debited.
//!
//! A session belongs to the Origin-Host that opened it, wherever its requests come in: over another connection of that
//! host, or through an agent, which leaves Origin-Host as it is (RFC 6733 section 6.1.9). Others of a failover set that
//! an operator names go on with it as well.
//!
//! - **Who may say an Origin-Host**: the peer whose own name it is, one of its failover set, and an agent. Where agents
//!   are named, those alone are. Where none are, a peer is taken for one that offers the Relay application (section
//!   2.4), or adds Route-Record to the request (section 6.1.9: an agent must).
//! - **Who gives back** (REFUND_ACCOUNT): an Origin-Host that is named for it, over its own connection or that of an
//!   agent that is named: what a request says of its own way proves nothing.

/// Names of hosts know no capitals (RFC 6733 section 4.3.1). With nothing in it each client is by itself, any agent is
/// taken, and nobody gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Sets of Origin-Hosts that go on with each other's sessions.
    pub failover: Vec<Vec<String>>,
    /// Origin-Hosts of agents; none at all is every peer that says that it is one.
    pub agents: Vec<String>,
    /// Origin-Hosts that may give back what they, or others of their failover set, debited.
    pub refunds: Vec<String>,
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way<'a> {
    /// The peer of the connection, as its CER or CEA named it.
    pub peer: &'a str,
    /// It offers the Relay application.
    pub relays: bool,
    /// The request has a Route-Record.
    pub routed: bool,
}

fn has(hosts: &[String], host: &str) -> bool {
    hosts.iter().any(|one| one.eq_ignore_ascii_case(host))
}

impl Trust {
    /// Whether two clients are one, as far as sessions are concerned. Gateways by GTP' are told apart by their
    /// addresses alone: their ports change.
    pub fn same(&self, one: &str, other: &str) -> bool {
        let both = |set: &Vec<String>| has(set, one) && has(set, other);
        one.eq_ignore_ascii_case(other)
            || self.failover.iter().any(both)
            || gateway(one).is_some_and(|address| gateway(other) == Some(address))
    }

    /// Whether a client may give back.
    pub fn refunds(&self, origin: &str) -> bool {
        has(&self.refunds, origin)
    }

    /// Whether what a client debits may be given back, by itself or another one of its set.
    pub fn is_refundable(&self, origin: &str) -> bool {
        self.refunds.iter().any(|refunds| self.same(refunds, origin))
    }

    /// Whether a request of that Origin-Host may come by that way.
    pub fn brings(&self, way: Way<'_>, origin: &str) -> bool {
        let agent = if self.agents.is_empty() { way.relays || way.routed } else { has(&self.agents, way.peer) };
        gateway(origin).is_none() && (agent || self.same(way.peer, origin))
    }

    /// The same of a request to give back.
    pub fn brings_refund(&self, way: Way<'_>, origin: &str) -> bool {
        self.refunds(origin) && (way.peer.eq_ignore_ascii_case(origin) || has(&self.agents, way.peer))
    }
}

/// The address of a gateway by GTP' ([`crate::quota::origin`]); none of a client of Diameter.
fn gateway(origin: &str) -> Option<&str> {
    origin.strip_prefix("gtpp:")?.rsplit_once(':').map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust() -> Trust {
        let hosts = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
        let failover = vec![hosts(&["pgw1.example", "pgw2.example"]), hosts(&["smf1.example", "smf2.example"])];
        Trust { failover, refunds: hosts(&["pgw2.example"]), ..Trust::default() }
    }

    fn way(peer: &str) -> Way<'_> {
        Way { peer, relays: false, routed: false }
    }

    #[test]
    fn a_set_is_one_client_and_no_other_is() {
        let trust = trust();
        assert!(trust.same("pgw1.example", "PGW2.example") && trust.same("x.example", "X.EXAMPLE"));
        assert!(!trust.same("pgw1.example", "smf1.example") && !trust.same("pgw1.example", "pgw3.example"));
        assert!(!Trust::default().same("pgw1.example", "pgw2.example"));
        // Gateways by GTP' keep their address, and not their port.
        assert!(trust.same("gtpp:192.0.2.1:3386", "gtpp:192.0.2.1:40000"));
        assert!(!trust.same("gtpp:192.0.2.1:3386", "gtpp:192.0.2.2:3386"));
        assert!(trust.same("gtpp:[2001:db8::1]:3386", "gtpp:[2001:db8::1]:1"));
        assert!(!trust.same("gtpp:[2001:db8::1]:3386", "gtpp:[2001:db8::2]:3386"));
    }

    /// RFC 6733 sections 2.4 and 6.1.9; two relays of one name share the load (freeDiameter issue 11), and traffic
    /// crosses over to the second agent (jdiameter issue 73).
    #[test]
    fn others_are_spoken_for_by_their_set_and_by_agents() {
        let trust = trust();
        assert!(trust.brings(way("pgw1.example"), "pgw1.example") && trust.brings(way("pgw2.example"), "pgw1.example"));
        assert!(!trust.brings(way("evil.example"), "pgw1.example"));
        let relay = Way { relays: true, ..way("dra1.example") };
        let proxy = Way { routed: true, ..way("dra2.example") };
        assert!(trust.brings(relay, "pgw1.example") && trust.brings(proxy, "pgw1.example"));
        let named = Trust { agents: vec!["dra1.example".to_owned()], ..trust };
        assert!(named.brings(way("dra1.example"), "pgw1.example") && named.brings(relay, "pgw1.example"));
        assert!(!named.brings(proxy, "pgw1.example"), "only those that are named");
        assert!(named.brings(way("pgw1.example"), "pgw1.example"));
        // A client of Diameter has no name of a gateway by GTP'.
        assert!(!named.brings(way("dra1.example"), "gtpp:192.0.2.1:3386"));
        assert!(!named.brings(way("gtpp:192.0.2.1:1"), "gtpp:192.0.2.1:1"));
    }

    #[test]
    fn who_gives_back_is_named_and_proves_it() {
        let trust = trust();
        assert!(trust.brings_refund(way("pgw2.example"), "pgw2.example"));
        assert!(!trust.brings_refund(way("pgw1.example"), "pgw1.example"), "not named");
        assert!(!trust.brings_refund(way("pgw1.example"), "pgw2.example"), "of its set, and not it");
        let says = Way { relays: true, routed: true, ..way("evil.example") };
        assert!(!trust.brings_refund(says, "pgw2.example"), "that it is an agent is only said");
        let named = Trust { agents: vec!["dra.example".to_owned()], ..trust.clone() };
        assert!(named.brings_refund(way("dra.example"), "pgw2.example"));
        assert!(trust.is_refundable("pgw1.example") && !trust.is_refundable("smf1.example"));
        assert!(!Trust::default().refunds("pgw2.example") && !Trust::default().is_refundable("pgw2.example"));
    }
}
