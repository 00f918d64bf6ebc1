//! Which server of a pool a key belongs to.
//!
//! **Ketama** is that of libmemcached with `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED` (`hosts.cc` and `hash.cc` of 1.1.4), so
//! that programs which hash themselves and programs that come through here find the same items: each server has points
//! on a circle, 160 times its part of the weight times the number of servers, in steps of four; four points are the
//! words of the MD5 of `host:port-n`, or `host-n` for port 11211; a key belongs to the first point that is not below
//! the first word of its MD5.
//!
//! **Jump** is the consistent hash of Lamping and Veach (2014): no table and an even spread, for pools that only grow
//! and shrink at their end; weights have no meaning in it.

use super::md5::md5;

/// Points of a server where all have the same weight (`MEMCACHED_POINTS_PER_SERVER_KETAMA`).
const POINTS: f32 = 160.0;
/// The port that is left out of a server's name.
const PORT_DEFAULT: u16 = 11211;

/// A server as it is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As it is written in the configuration: other words for the same machine are another place on the circle.
    pub host: String,
    /// None of a unix socket, whose `host` is its path and whose port counts as 0.
    pub port: Option<u16>,
    /// From 1.
    pub weight: u32,
}

/// How keys are spread over the servers of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Points with the index of their server, in order.
    Ketama(Vec<(u32, u16)>),
    /// So many servers.
    Jump(u16),
}

impl Ring {
    /// The circle of libmemcached.
    pub fn ketama(places: &[Place]) -> Ring {
        let total: u64 = places.iter().map(|place| u64::from(place.weight)).sum();
        let mut points = Vec::new();
        for (server, place) in places.iter().enumerate() {
            // In single precision, as there: which point is the last one may hang on it.
            let share = place.weight as f32 / total as f32;
            let fours = (share * POINTS / 4.0 * places.len() as f32 + 0.000_000_000_1).floor() as u32;
            for four in 0..fours {
                let digest = md5(place.name(four).as_bytes());
                points.extend(digest.chunks_exact(4).map(|word| (first_word(word), server as u16)));
            }
        }
        points.sort_unstable();
        Ring::Ketama(points)
    }

    /// The server of a key, by its index.
    pub fn server(&self, key: &[u8]) -> u16 {
        let digest = md5(key);
        match self {
            Ring::Ketama(points) => {
                let hash = first_word(&digest);
                let at = points.partition_point(|(point, _)| *point < hash);
                points.get(at).or(points.first()).map_or(0, |(_, server)| *server)
            }
            Ring::Jump(servers) => {
                jump(u64::from(first_word(&digest)) << 32 | u64::from(first_word(&digest[4..])), *servers)
            }
        }
    }
}

impl Place {
    fn name(&self, four: u32) -> String {
        match self.port {
            Some(PORT_DEFAULT) => format!("{}-{four}", self.host),
            port => format!("{}:{}-{four}", self.host, port.unwrap_or(0)),
        }
    }
}

fn first_word(octets: &[u8]) -> u32 {
    octets.iter().take(4).rev().fold(0, |word, octet| word << 8 | u32::from(*octet))
}

/// Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", figure 1.
fn jump(mut key: u64, servers: u16) -> u16 {
    let (mut at, mut next) = (0i64, 0i64);
    while next < i64::from(servers) {
        at = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((at + 1) as f64 * ((1u64 << 31) as f64 / ((key >> 33) + 1) as f64)) as i64;
    }
    at as u16
}

/// The part of a key that is hashed: between the first two octets of `tag`, if there is something, else all of it.
pub fn tagged(key: &[u8], tag: Option<[u8; 2]>) -> &[u8] {
    let Some([open, close]) = tag else { return key };
    let Some(start) = memchr::memchr(open, key).map(|at| at + 1) else { return key };
    match memchr::memchr(close, &key[start..]) {
        Some(octets @ 1..) => &key[start..start + octets],
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, weight: u32) -> Place {
        let (host, port) = text.split_once(':').expect("host and port");
        Place { host: host.to_owned(), port: port.parse().ok(), weight }
    }

    /// `ketama-libmemcached.txt` was made with libmemcached 1.1.4 itself: servers with weights, then keys with the
    /// index of the server that `memcached_generate_hash` gives.
    #[test]
    fn keys_are_where_libmemcached_has_them() {
        let (mut places, mut ring, mut keys) = (Vec::new(), Ring::Jump(1), 0);
        for line in include_str!("ketama-libmemcached.txt").lines().filter(|line| !line.starts_with('#')) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["pool"] => places.clear(),
                ["server", at, weight] => {
                    places.push(place(at, weight.parse().expect("a weight")));
                    ring = Ring::ketama(&places);
                }
                [key, server] => {
                    assert_eq!(ring.server(key.as_bytes()).to_string(), server, "{key} of {places:?}");
                    keys += 1;
                }
                _ => panic!("{line}"),
            }
        }
        assert!(keys >= 500, "{keys}");
    }

    #[test]
    fn one_server_more_takes_its_part_and_no_other_key_moves() {
        let all: Vec<Place> = (1..=5).map(|n| place(&format!("10.0.0.{n}:11211"), 1)).collect();
        let rings = [(Ring::ketama(&all[..4]), Ring::ketama(&all)), (Ring::Jump(4), Ring::Jump(5))];
        for (before, after) in rings {
            let mut moved = 0;
            for key in (0..10_000).map(|n| format!("key-{n}")) {
                let (was, is) = (before.server(key.as_bytes()), after.server(key.as_bytes()));
                assert!(was == is || is == 4, "{key}: {was} to {is}");
                moved += usize::from(was != is);
            }
            assert!((1_000..3_200).contains(&moved), "{moved}");
        }
    }

    #[test]
    fn a_tag_keeps_keys_together() {
        let tag = Some(*b"{}");
        assert_eq!(tagged(b"user:{42}:name", tag), b"42");
        assert_eq!(tagged(b"user:{}:name", tag), b"user:{}:name");
        assert_eq!(tagged(b"user:{42", tag), b"user:{42");
        assert_eq!(tagged(b"a{b}{c}", tag), b"b");
        assert_eq!(tagged(b"{42}", None), b"{42}");
    }
}
