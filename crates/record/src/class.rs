//! What a packet is for the packet log: each class has its own segments, snap length and retention.

/// A class of packets, most precious first: under pressure the last is given up first (DESIGN law 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Signalling: SIP over any transport, and the fragments and segments that may carry it.
    Sip,
    /// RTP and RTCP.
    Rtp,
    /// Everything else.
    Other,
}

impl Class {
    /// All classes, most precious first.
    pub const ALL: [Class; 3] = [Class::Sip, Class::Rtp, Class::Other];

    /// Its name: the folder below `packets/`, the key in the configuration, the label of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Class::Sip => "sip",
            Class::Rtp => "rtp",
            Class::Other => "other",
        }
    }

    /// The class of this name.
    pub fn of_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|c| c.name() == name)
    }
}
