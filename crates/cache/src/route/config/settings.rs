//! The keys of `[route]` and `[pool.NAME]`.

use std::time::Duration;
use trunkline_kit::config::Octets;

trunkline_kit::choices! {
    /// What the servers of a pool are to each other.
    pub enum Policy {
        /// Each has its part of the keys.
        Plain = "plain",
        /// Each has all keys: written to all, read from the first that is there.
        Replicated = "replicated",
    }
}

trunkline_kit::choices! {
    /// How keys are spread.
    pub enum Hash {
        /// As libmemcached with weighted ketama does.
        Ketama = "ketama",
        /// Jump consistent hash: without weights, for pools that change at their end alone.
        Jump = "jump",
    }
}

trunkline_kit::choices! {
    /// What is answered to a read whose server is gone.
    pub enum Dead {
        /// A miss.
        Miss = "miss",
        /// An error.
        Error = "error",
    }
}

trunkline_kit::section! {
    /// How the proxy meets clients and servers.
    pub struct RouteSection {
        /// The pool of keys that no prefix names. It may be left out where there is one pool.
        default: String = String::new() => Restart;
        /// How long a server may take to answer. Then its connection is closed, and all that waits on it fails.
        timeout: Duration = Duration::from_secs(1) => Restart,
            Duration::from_millis(1) => Duration::from_secs(60);
        /// How long a server may take to accept a connection.
        connect_timeout: Duration = Duration::from_millis(500) => Restart,
            Duration::from_millis(1) => Duration::from_secs(60);
        /// Failures in a row, without an answer between, after which a server is out: it is asked for nothing but its
        /// version until it answers that.
        failures: u32 = 3 => Restart, 1 => 1000;
        /// How long a server that is out is left alone at first; twice as long after each try.
        retry: Duration = Duration::from_millis(500) => Restart,
            Duration::from_millis(1) => Duration::from_secs(60);
        /// How long at most.
        retry_max: Duration = Duration::from_secs(10) => Restart,
            Duration::from_millis(1) => Duration::from_secs(3600);
        /// Connections of each thread to each server. Commands of one client always take the same one.
        connections: u16 = 1 => Restart, 1 => 64;
        /// Requests that wait on a connection to a server; one more fails.
        queue: u32 = 10_000 => Restart, 1 => 1_000_000;
        /// Commands of a client that wait for answers; then no more is read from it.
        client_queue: u32 = 1000 => Restart, 1 => 100_000;
        /// What is answered to a read whose server is gone: `miss` or `error`. To a write it is always an error.
        dead_reads: Dead = Dead::Miss => Restart;
        /// Whether flush_all is carried out, at all servers of all pools.
        flush: bool = false => Restart;
        /// The largest value that is let through.
        value_max: Octets = Octets::mib(1) => Restart, Octets(1) => Octets::mib(64);
    }
}

trunkline_kit::section! {
    /// A pool of servers.
    pub struct PoolSection {
        /// Its servers: `HOST:PORT` or `unix:PATH`, with `weight N` behind it or without.
        servers: Vec<String> = Vec::new() => Restart;
        /// What they are to each other: `plain`, each has its part of the keys, or `replicated`, each has all of them.
        policy: Policy = Policy::Plain => Restart;
        /// How keys are spread in a plain pool: `ketama` as libmemcached does, or `jump`.
        hash: Hash = Hash::Ketama => Restart;
        /// Two characters; of a key that has something between them, that alone is hashed: `"{}"`.
        hash_tag: String = String::new() => Restart;
        /// Of replicas, whether a read that misses asks the next one.
        miss_next: bool = false => Restart;
        /// The pool that stands in for servers of this one that are gone.
        gutter: String = String::new() => Restart;
        /// The longest that an item lives in the gutter.
        gutter_ttl: Duration = Duration::from_secs(10) => Restart,
            Duration::from_secs(1) => Duration::from_secs(86_400);
        /// The pool that has what this one does not have yet: what a read misses here is fetched there and added here.
        warm: String = String::new() => Restart;
    }
}
