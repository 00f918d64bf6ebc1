//! The watchdog of a connection (RFC 3539 section 3.4.1).

use super::{Down, Local, Peer, Phase};
use core::time::Duration;
use trunkline_wire::diameter::base::{DeviceWatchdogAnswer, DeviceWatchdogRequest};
use trunkline_wire::diameter::{Header, Message, application, command, result_code};

/// The shortest Tw that may be set, seconds (RFC 3539 section 3.4.1).
pub const WATCHDOG_LEAST_S: u64 = 6;
/// How far each wait is from Tw, at most, so that not all peers are asked at once.
const JITTER_MS: u64 = 2000;

/// How long a CER is waited for.
const FIRST_WAIT: Duration = Duration::from_secs(10);

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// A question was said: whether the peer is there.
    Asked,
    /// It did not answer; the connection is suspect.
    Suspect,
    /// It did not answer for too long, or never said who it is: the connection is to be closed.
    Close,
}

/// Of one connection.
#[derive(Debug)]
pub(super) struct Watchdog {
    tw: Duration,
    due: Duration,
    phase: Watch,
    seed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Okay,
    /// A DWR is on its way.
    Pending,
    Suspect,
}

impl Watchdog {
    pub fn new(tw: Duration, seed: u32, now: Duration) -> Watchdog {
        let mut watchdog = Watchdog { tw, due: now, phase: Watch::Okay, seed };
        watchdog.set(now);
        // Who it is has to be said soon.
        watchdog.due = watchdog.due.min(now + FIRST_WAIT);
        watchdog
    }

    /// Tw from now on, two seconds more or less.
    fn set(&mut self, now: Duration) {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let jitter = Duration::from_millis(u64::from(self.seed >> 8) % (2 * JITTER_MS + 1));
        self.due = now + self.tw + jitter - Duration::from_millis(JITTER_MS).min(self.tw);
    }

    pub fn state(&self) -> &'static str {
        match self.phase {
            Watch::Okay => "okay",
            Watch::Pending => "asked",
            Watch::Suspect => "suspect",
        }
    }

    /// Something came: the peer is there.
    pub fn heard(&mut self, now: Duration) {
        self.phase = Watch::Okay;
        self.set(now);
    }
}

impl Peer {
    /// When [`Peer::watch`] is to be called.
    pub fn due(&self) -> Duration {
        self.pushes.due().map_or(self.watchdog.due, |push| push.min(self.watchdog.due))
    }

    /// Says what is due at `now`.
    pub fn watch(&mut self, local: &Local, now: Duration, out: &mut Vec<u8>) -> Due {
        if now < self.watchdog.due {
            return Due::Nothing;
        }
        self.watchdog.set(now);
        match (self.phase, self.watchdog.phase) {
            (Phase::New | Phase::Called | Phase::Closing, _) | (_, Watch::Suspect) => {
                self.down = self.down.or(Some(Down::Silent));
                Due::Close
            }
            (Phase::Open, Watch::Pending) => {
                self.watchdog.phase = Watch::Suspect;
                Due::Suspect
            }
            (Phase::Open, Watch::Okay) => {
                self.watchdog.phase = Watch::Pending;
                self.ask_whether_there(local, out);
                Due::Asked
            }
        }
    }

    fn ask_whether_there(&mut self, local: &Local, out: &mut Vec<u8>) {
        let hop_by_hop = self.hop_by_hop();
        let header = Header::request(command::DEVICE_WATCHDOG, application::BASE);
        let header = Header { hop_by_hop, end_to_end: hop_by_hop, ..header };
        let dwr = DeviceWatchdogRequest {
            origin_host: &local.host,
            origin_realm: &local.realm,
            origin_state_id: Some(local.state_id),
        };
        // Names of a host and a realm fit into every message.
        let _fits = dwr.write(&header, out);
    }

    /// Answers a DWR.
    pub(super) fn is_there(&self, local: &Local, message: &Message<'_>, out: &mut Vec<u8>) {
        let dwa = DeviceWatchdogAnswer {
            result_code: result_code::SUCCESS,
            origin_host: &local.host,
            origin_realm: &local.realm,
            origin_state_id: Some(local.state_id),
            ..DeviceWatchdogAnswer::default()
        };
        // As above.
        let _fits = dwa.write(&message.header.answer(), out);
    }
}
