//! What the service cannot know of itself: how the job is set up, and what the world around it says.

/// How the job is set up: what decides what clients may do, and what `stats settings` tells.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What `version` says. Clients compare it with memcached's versions: ours is of the protocols of 1.6.18.
    pub version: String,
    /// Which protocols are spoken (`-B`).
    pub protocols: Protocols,
    /// Who may sign in (`-Y`): user and password; none if nobody has to.
    pub accounts: Option<Vec<(String, String)>>,
    /// Whether `shutdown` is carried out (`-A`).
    pub shutdown_enabled: bool,
    /// Whether `flush_all` is carried out (off with `-F`).
    pub flush_enabled: bool,
    /// Whether `metadump` and `cachedump` are carried out (off with `-X`).
    pub dump_enabled: bool,
    /// Whether `watch` is carried out (off with `-W`).
    pub watch_enabled: bool,
    /// Requests of a connection in one turn (`-R`); the others are served meanwhile. 0 is no limit.
    pub turn_requests_max: u32,
    /// Octets of an answer to a datagram, against amplification; what is larger is answered by an error.
    pub udp_answer_octets_max: usize,
    /// Whether only networks that were named have their datagrams answered. Otherwise anybody may have forged the
    /// sender, and no datagram empties the cache or has all items told.
    pub udp_is_trusted: bool,
    /// Octets of values on their way, of all clients of an address.
    pub incoming_octets_max: u64,
    /// What parts a prefix from the rest of a key, for `stats detail` (`-D`).
    pub prefix_delimiter: u8,
    /// Whether `stats detail` is on from the start (`-D`).
    pub detail: bool,
    /// `-t`
    pub threads: u32,
    /// `-p`, 0 for none.
    pub tcp_port: u16,
    /// `-U`, 0 for none.
    pub udp_port: u16,
    /// `-l`, where it was given.
    pub interface: Option<String>,
    /// `-s`, where it was given.
    pub unix_socket: Option<String>,
    /// `-a`: mode bits of the unix socket.
    pub unix_mode: u32,
    /// `-c`
    pub connections_max: u32,
    /// `-o maxconns_fast`: who is too many is told so.
    pub refuses_connections: bool,
    /// `-b`
    pub backlog: u32,
    /// `-o idle_timeout`, 0 for never.
    pub idle_timeout_s: u32,
    /// How TLS is spoken (`-Z`); none if it is not.
    pub tls: Option<TlsSettings>,
    /// Milliseconds from which on a command is kept as slow; 0 keeps none.
    pub slow_ms: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            version: "1.6.18".to_owned(),
            protocols: Protocols::Both,
            accounts: None,
            shutdown_enabled: false,
            flush_enabled: true,
            dump_enabled: true,
            watch_enabled: true,
            turn_requests_max: 20,
            udp_answer_octets_max: 256 << 10,
            udp_is_trusted: false,
            incoming_octets_max: u64::MAX,
            prefix_delimiter: b':',
            detail: false,
            threads: 4,
            tcp_port: 11211,
            udp_port: 0,
            interface: None,
            unix_socket: None,
            unix_mode: 0o700,
            connections_max: 1024,
            refuses_connections: true,
            backlog: 1024,
            idle_timeout_s: 0,
            tls: None,
            slow_ms: 10,
        }
    }
}

/// What `stats settings` tells of TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// `ssl_chain_cert`
    pub certificate: Option<String>,
    /// `ssl_key`
    pub key: Option<String>,
    /// `ssl_ca_cert`
    pub issuers: Option<String>,
    /// `ssl_verify_mode`: 0 none, 1 if there is one, 2 required.
    pub verify_mode: u8,
    /// Whether nothing older than TLS 1.3 is spoken.
    pub only_13: bool,
}

/// Which protocols are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    /// Whichever the first octet of a connection is of.
    #[default]
    Both,
    /// Text and meta alone.
    Text,
    /// The binary one alone.
    Binary,
}

/// What the world around says, at the moment it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// The process.
    pub pid: u32,
    /// Time on the processor, in microseconds, for itself.
    pub user_us: u64,
    /// Time on the processor, in microseconds, for the system.
    pub system_us: u64,
    /// Connections that there are.
    pub connections: u64,
    /// Connections that ever came.
    pub connections_accepted: u64,
    /// Connections that were refused because there were too many.
    pub connections_refused: u64,
    /// Connections that were closed because they were idle.
    pub connections_idle: u64,
    /// Whether new ones are taken.
    pub accepting: bool,
    /// Times that it was not so.
    pub accepting_stopped: u64,
    /// Microseconds for which it was not so.
    pub accepting_stopped_us: u64,
    /// Turns that ended because they took long enough.
    pub yields: u64,
    /// Octets of buffers.
    pub buffer_octets: u64,
    /// Connections that were closed because their buffers had no room.
    pub connections_without_room: u64,
    /// Handshakes of TLS that failed.
    pub tls_errors: u64,
    /// Seconds since the certificates were read.
    pub certificates_age_s: u64,
}

/// A line of `stats conns`.
#[derive(Clone, Debug, Default)]
pub struct ConnectionFacts {
    /// Its number, as in `cfd` of `watch`.
    pub name: u32,
    /// The other end: `tcp:127.0.0.1:40000`, `unix:/path`.
    pub peer: String,
    /// Our end; none of a socket that listens.
    pub local: Option<String>,
    /// memcached's word for what it does: `conn_listening`, `conn_read`.
    pub state: &'static str,
    /// Seconds since it last said something.
    pub idle_s: u64,
}

/// The job around the service. What is not told is 0 or unknown.
pub trait Host: Send + Sync {
    /// What `stats` tells of the world around.
    fn facts(&self) -> Facts {
        Facts { accepting: true, ..Facts::default() }
    }

    /// Tells what `stats` has of the job beyond [`Facts`]: name and value.
    fn more_facts(&self, tell: &mut dyn FnMut(&str, &str)) {
        let _ = tell;
    }

    /// Tells each connection and each socket that listens.
    fn connections(&self, tell: &mut dyn FnMut(&ConnectionFacts)) {
        let _ = tell;
    }

    /// Reads the certificates anew.
    ///
    /// # Errors
    /// What went wrong, for the client to read.
    fn refresh_certificates(&self) -> Result<(), String> {
        Err("Error TLS not enabled".to_owned())
    }

    /// Ends the job: at once, or when all have been served.
    fn shut_down(&self, graceful: bool) {
        let _ = graceful;
    }
}

/// No job around: for tests and measurements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Host for Alone {}
