//! Which calls and registrations get a fault or a near miss.

use crate::faults::{FAULTS, Kind, NEAR_MISSES, Planted, REGISTRATION_FAULTS, REGISTRATION_NEAR_MISSES};
use crate::random::Random;
use crate::settings::Settings;

/// Whose turn it is among the faults and the near misses: every kind comes up before one comes up again.
pub(crate) struct Planting {
    faults: f64,
    near_misses: f64,
    fault_kinds: Vec<Planted>,
    near_kinds: Vec<Planted>,
    fault_turn: usize,
    near_turn: usize,
    errand_turn: usize,
    errand_near_turn: usize,
}

impl Planting {
    /// Without media, only faults of signalling are possible.
    pub fn new(settings: &Settings) -> Self {
        let needs_media = [
            Kind::OneWayAudio,
            Kind::AudioStopped,
            Kind::LateAudio,
            Kind::NoAudio,
            Kind::Loss,
            Kind::Jitter,
            Kind::CodecMismatch,
            Kind::FaxLoss,
        ];
        let needs_rtcp = |kind: Kind| kind == Kind::LostAfterTap;
        let possible = |p: &&Planted| {
            let media = settings.media || !(needs_media.contains(&p.kind) || needs_rtcp(p.kind));
            media && (settings.rtcp || !needs_rtcp(p.kind))
        };
        Planting {
            faults: settings.faults,
            near_misses: settings.near_misses,
            fault_kinds: FAULTS.iter().filter(possible).copied().collect(),
            near_kinds: NEAR_MISSES.iter().filter(possible).copied().collect(),
            fault_turn: 0,
            near_turn: 0,
            errand_turn: 0,
            errand_near_turn: 0,
        }
    }

    /// What is done to the next call.
    pub fn call(&mut self, random: &mut Random) -> Option<Planted> {
        let drawn = random.unit();
        if drawn < self.faults {
            self.fault_turn += 1;
            return Some(self.fault_kinds[(self.fault_turn - 1) % self.fault_kinds.len()]);
        }
        if drawn < self.faults + self.near_misses {
            self.near_turn += 1;
            return Some(self.near_kinds[(self.near_turn - 1) % self.near_kinds.len()]);
        }
        None
    }

    /// What is done to the next errand; if anything, it is a registration.
    pub fn errand(&mut self, random: &mut Random) -> Option<Planted> {
        let drawn = random.unit();
        if drawn < self.faults {
            self.errand_turn += 1;
            return Some(REGISTRATION_FAULTS[(self.errand_turn - 1) % REGISTRATION_FAULTS.len()]);
        }
        if drawn < self.faults + self.near_misses {
            self.errand_near_turn += 1;
            return Some(REGISTRATION_NEAR_MISSES[(self.errand_near_turn - 1) % REGISTRATION_NEAR_MISSES.len()]);
        }
        None
    }
}
