//! What happens to a device: when it is away, when it starts again, how it numbers its interfaces.

use super::{Settings, State};
use crate::random::Random;

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It never answers.
    Dead,
    /// It is away for some minutes each hour or so.
    Down,
    /// Its interfaces go down and come back.
    Flapping,
    /// It takes its time.
    Slow,
    /// Questions and answers get lost.
    Lossy,
    /// It starts again each few hours: its counters begin at nothing.
    Reboots,
    /// The same, and its interfaces have other numbers after each start.
    Renumbers,
    /// It has no counters of 64 bits.
    Narrow,
    /// It takes and gives short messages only (`tooBig`).
    TooBig,
    /// It speaks version 1 alone.
    VersionOne,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 10] = [
        Fault::Dead,
        Fault::Down,
        Fault::Flapping,
        Fault::Slow,
        Fault::Lossy,
        Fault::Reboots,
        Fault::Renumbers,
        Fault::Narrow,
        Fault::TooBig,
        Fault::VersionOne,
    ];
}

const MINUTE_MS: i64 = 60_000;
/// Devices of which one has a fault.
const FAULT_EVERY: usize = 2;

/// A device's.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    pub fault: Option<Fault>,
    period_ms: i64,
    phase_ms: i64,
    lasts_ms: i64,
    seed: u64,
}

impl Fate {
    pub fn of(settings: &Settings, device: usize) -> Fate {
        let seed = settings.seed ^ 0x6661_726d;
        let mut random = Random::of(seed, device as u64);
        let is_dead = random.below(1000) < u64::from(settings.dead_permille);
        // All kinds come in turn, so that a small farm has each; the core is sound.
        let turn = device / FAULT_EVERY % Fault::ALL.len();
        let planned = (settings.faults && device > 0 && device.is_multiple_of(FAULT_EVERY)).then(|| Fault::ALL[turn]);
        let fault = if is_dead { Some(Fault::Dead) } else { planned };
        let minutes = |random: &mut Random, low: i64, high: i64| random.between(low * MINUTE_MS, high * MINUTE_MS);
        let (period_ms, lasts_ms) = match fault {
            Some(Fault::Down) => (minutes(&mut random, 40, 120), minutes(&mut random, 3, 20)),
            Some(Fault::Flapping) => (minutes(&mut random, 2, 9), MINUTE_MS),
            Some(Fault::Reboots | Fault::Renumbers) => (minutes(&mut random, 90, 400), MINUTE_MS / 2),
            _ => (i64::MAX / 4, 0),
        };
        let phase_ms = if lasts_ms == 0 { 0 } else { random.between(0, period_ms - 1) };
        Fate { fault, period_ms, phase_ms, lasts_ms, seed: random.bits() }
    }

    /// How it is so long after the farm begins.
    pub fn state(&self, since_ms: i64) -> State {
        // Long before the first moment that anybody asks for: `sysUpTime` has begun again meanwhile.
        const FIRST_MS: i64 = 500 * 86_400_000;
        let begun = |boots: u32, uptime_ms| State { is_up: self.answers(since_ms), boots, uptime_ms };
        match self.fault {
            Some(Fault::Reboots | Fault::Renumbers) if since_ms >= self.phase_ms => {
                let since = since_ms - self.phase_ms;
                begun(2 + (since / self.period_ms) as u32, since % self.period_ms)
            }
            _ => begun(1, since_ms + FIRST_MS),
        }
    }

    fn answers(&self, since_ms: i64) -> bool {
        match self.fault {
            Some(Fault::Dead) => false,
            Some(Fault::Down | Fault::Reboots | Fault::Renumbers) => !self.is_within(since_ms, self.phase_ms),
            _ => true,
        }
    }

    /// Whether this is in the part of a period in which it is away.
    fn is_within(&self, since_ms: i64, phase_ms: i64) -> bool {
        since_ms >= phase_ms && (since_ms - phase_ms) % self.period_ms < self.lasts_ms
    }

    pub fn interface_is_up(&self, interface: u32, since_ms: i64) -> bool {
        self.flap_phase(interface).is_none_or(|phase| !self.is_within(since_ms, phase))
    }

    /// Milliseconds in which an interface was up, since the farm begins.
    pub fn interface_active_ms(&self, interface: u32, since_ms: i64) -> i64 {
        let down = self.flap_phase(interface).filter(|phase| since_ms >= *phase).map_or(0, |phase| {
            let since = since_ms - phase;
            since / self.period_ms * self.lasts_ms + (since % self.period_ms).min(self.lasts_ms)
        });
        since_ms - down
    }

    /// Every third interface of one that flaps, each at its own time.
    fn flap_phase(&self, interface: u32) -> Option<i64> {
        let flaps = self.fault == Some(Fault::Flapping) && interface % 3 == 1;
        flaps.then(|| self.phase_ms + i64::from(interface) * 1_777)
    }

    /// How interfaces are numbered after so many starts.
    pub fn numbering(&self, boots: u32, interfaces: u32) -> Numbering {
        if self.fault != Some(Fault::Renumbers) || boots < 2 {
            return Numbering { first: 1, step: 1, shift: 0, interfaces };
        }
        let mut random = Random::of(self.seed, u64::from(boots));
        let (n, first) = (u64::from(interfaces), 1 + random.below(3) as u32 * interfaces);
        let step = (0..64).map(|_| 1 + random.below(n)).find(|step| divisor(*step, n) == 1).unwrap_or(1);
        Numbering { first, step, shift: random.below(n), interfaces }
    }
}

/// Which number each interface has.
#[derive(Clone, Copy, Debug)]
pub struct Numbering {
    first: u32,
    step: u64,
    shift: u64,
    interfaces: u32,
}

impl Numbering {
    /// The number of an interface.
    pub fn index(&self, interface: u32) -> u32 {
        let place = (u64::from(interface) * self.step + self.shift) % u64::from(self.interfaces);
        self.first + place as u32
    }

    /// The interface of a number.
    pub fn interface(&self, index: u32) -> Option<u32> {
        let place = index.checked_sub(self.first).filter(|place| *place < self.interfaces)?;
        let n = u64::from(self.interfaces);
        let from_shift = (u64::from(place) + n - self.shift) % n;
        Some((from_shift * inverse(self.step, n) % n) as u32)
    }

    /// The numbers that are taken.
    pub fn all(&self) -> core::ops::Range<u32> {
        self.first..self.first + self.interfaces
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The number that undoes a multiplication by `a` modulo `n`, to which `a` has no common divisor.
fn inverse(a: u64, n: u64) -> u64 {
    let (mut old, mut new, mut rest, mut next) = (0_i64, 1_i64, n as i64, (a % n) as i64);
    while next != 0 {
        let whole = rest / next;
        (old, new) = (new, old - whole * new);
        (rest, next) = (next, rest - whole * next);
    }
    old.rem_euclid(n as i64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once_and_lead_back() {
        for interfaces in [1, 2, 7, 48, 50] {
            let settings = Settings { interfaces, ..Settings::default() };
            let renumbers = (0..40).find(|d| Fate::of(&settings, *d).fault == Some(Fault::Renumbers)).unwrap();
            for boots in 1..40 {
                let numbering = Fate::of(&settings, renumbers).numbering(boots, interfaces);
                let mut taken: Vec<u32> = (0..interfaces).map(|interface| numbering.index(interface)).collect();
                (0..interfaces).for_each(|i| assert_eq!(numbering.interface(numbering.index(i)), Some(i)));
                taken.sort_unstable();
                assert_eq!(taken, numbering.all().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_time_that_an_interface_was_up_is_the_sum_of_its_moments() {
        let settings = Settings::default();
        let device = (0..40).find(|d| Fate::of(&settings, *d).fault == Some(Fault::Flapping)).unwrap();
        let fate = Fate::of(&settings, device);
        let mut downs = 0;
        for interface in 0..3 {
            for ms in 0..1_500_000 {
                let active = fate.interface_active_ms(interface, ms + 1) - fate.interface_active_ms(interface, ms);
                let is_up = fate.interface_is_up(interface, ms);
                assert_eq!(active, i64::from(is_up), "{interface} {ms}");
                downs += u64::from(!is_up);
            }
        }
        assert!(downs > 60_000);
    }
}
