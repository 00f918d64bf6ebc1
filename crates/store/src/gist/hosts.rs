//! The addresses of calls whose gists lie together: each once, and which of them a call has.

use super::{Column, Values, column};
use crate::packed::{Damaged, Pack, Unpack};
use crate::row::Call;
use hashbrown::HashMap;
use trunkline_wire::Address;

/// Most addresses of a call beside those of its first INVITE; where there are so many, there may be more.
// Limit: addresses of one call in the columns that filters use
// Beyond: the row itself is read
// Seen in: the query takes longer
pub const HOSTS_OF_CALL_MAX: usize = 32;
/// Most addresses that calls of a part can have, as a limit on what is read.
const ADDRESSES_MAX: usize = super::GISTS_MAX * (HOSTS_OF_CALL_MAX + 2);

/// Hands out the addresses of a call that are not those of its first INVITE; one may come twice.
pub fn others(call: &Call, mut each: impl FnMut(Address)) {
    let (src, dst) = (call.src.address, call.dst.address);
    let mut last = src;
    let media = call.streams.iter().flat_map(|s| [s.src, s.dst]);
    for host in call.ladder.hosts.iter().copied().chain(media) {
        if host.address != last && host.address != src && host.address != dst {
            last = host.address;
            each(last);
        }
    }
}

/// Numbers of addresses.
#[derive(Debug, Default)]
pub struct Dictionary {
    addresses: Vec<Address>,
    numbers: HashMap<Address, u32>,
    last: Option<(Address, u32)>,
}

impl Dictionary {
    /// The addresses, by number.
    pub fn list(&self) -> &[Address] {
        &self.addresses
    }

    /// The number of an address; it is added if it is new.
    pub fn number(&mut self, address: Address) -> u32 {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == address) {
            return number;
        }
        let number = *self.numbers.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.addresses.len() as u32 - 1
        });
        self.last = Some((address, number));
        number
    }

    /// The list of the addresses that some gists have, and the other addresses of each, as they are written; the
    /// numbers in the gists are changed to those in this list.
    pub fn part(&self, rows: &mut [Values], more: &[u32]) -> Vec<u8> {
        let mut numbers = vec![u32::MAX; self.addresses.len()];
        let mut list: Vec<Address> = vec![];
        let mut number = |of: u64| {
            let (Some(number), Some(address)) = (numbers.get_mut(of as usize), self.addresses.get(of as usize)) else {
                return 0;
            };
            if *number == u32::MAX {
                *number = list.len() as u32;
                list.push(*address);
            }
            u64::from(*number)
        };
        for row in rows {
            row[Column::Src as usize] = number(row[Column::Src as usize]);
            row[Column::Dst as usize] = number(row[Column::Dst as usize]);
        }
        let more: Vec<u64> = more.iter().map(|of| number(u64::from(*of))).collect();
        let mut out = vec![];
        out.uint(list.len() as u64);
        for address in &list {
            let octets = address.octets();
            let octets = if address.is_v4() { &octets[12..] } else { &octets[..] };
            out.uint(octets.len() as u64);
            out.raw(octets);
        }
        let mut numbers = vec![];
        let range = column::encode(more.iter().copied(), &mut numbers);
        out.uint(more.len() as u64);
        range.write(&mut out);
        out.raw(&numbers);
        out
    }
}

/// The list of addresses, and the other addresses of each call, one call after the other.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Hosts {
    /// The addresses.
    pub addresses: Vec<Address>,
    /// Numbers of addresses: as many of each call as its column says.
    pub more: Vec<u32>,
}

impl Hosts {
    /// Reads them.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn read(octets: &[u8]) -> Result<Self, Damaged> {
        let mut from = Unpack::new(octets);
        let mut addresses = vec![];
        for _ in 0..from.count()? {
            let length = from.small()?;
            let octets = from.raw(length)?;
            addresses.push(match (<[u8; 4]>::try_from(octets), <[u8; 16]>::try_from(octets)) {
                (Ok(octets), _) => Address::v4(octets),
                (_, Ok(octets)) => Address::from_octets(octets),
                _ => return Err(Damaged("an address has an odd length")),
            });
        }
        let count: usize = from.small()?;
        if count > ADDRESSES_MAX {
            return Err(Damaged("a count is larger than what follows"));
        }
        let range = column::Range::read(&mut from)?;
        let mut more = vec![];
        let left = from.left();
        column::decode(from.raw(left)?, range, count, &mut more)?;
        Ok(Hosts { addresses, more: more.into_iter().map(|at| at as u32).collect() })
    }
}
