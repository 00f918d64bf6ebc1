//! How many files and sockets this program may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open besides what was asked for.
const BESIDES: u64 = 300;

/// Raises the limit to so many connections as far as it may be; where that is too little, opening them says so.
pub fn allow(connections: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = connections + BESIDES;
    if current.is_some_and(|current| current < wanted) {
        let current = Some(maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
}
