use super::*;
use crate::Address;

const CLIENT: Endpoint = Endpoint::new(Address::v4([10, 0, 0, 1]), 40000);
const SERVER: Endpoint = Endpoint::new(Address::v4([10, 0, 0, 2]), 5060);
const MS: i64 = 1_000_000;

/// A table with what came out of it, as text: `>abc` forward, `<abc` backward, `>[3 Acked]` a gap, `.Close` an end.
#[derive(Default)]
struct Tap {
    table: Connections<u32>,
    at_ns: i64,
    packet: u32,
    said: String,
    last: Option<ConnectionId>,
}

impl Tap {
    fn limited(limits: TcpLimits) -> Self {
        Tap { table: Connections::with_limits(limits), ..Tap::default() }
    }

    /// A segment from the client (or, if `back`, from the server).
    fn segment(&mut self, back: bool, seq: u32, ack: u32, flags: u8, data: &[u8]) -> &mut Self {
        self.cut(back, seq, ack, flags, data, data.len() as u32)
    }

    fn cut(&mut self, back: bool, seq: u32, ack: u32, flags: u8, data: &[u8], wire: u32) -> &mut Self {
        let (from, to) = if back { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        let datagram = Datagram {
            src: from.address,
            dst: to.address,
            src_port: from.port,
            dst_port: to.port,
            payload_start: 0,
            payload_captured: data.len() as u32,
            payload_wire: wire,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        self.packet += 1;
        let said = &mut self.said;
        let header = TcpHeader { seq, ack, flags };
        self.last = self.table.push(self.at_ns, self.packet, &datagram, &header, data, &mut |e| say(said, &e));
        self
    }

    fn wait(&mut self, ns: i64) -> &mut Self {
        self.at_ns += ns;
        self
    }

    fn finish(&mut self) -> &mut Self {
        let said = &mut self.said;
        self.table.finish(&mut |e| say(said, &e));
        assert_eq!((self.table.waiting_octets(), self.table.len()), (0, 0));
        self
    }

    #[track_caller]
    fn says(&mut self, expected: &str) -> &mut Self {
        assert_eq!(self.said, expected);
        self.said.clear();
        self
    }
}

fn say(said: &mut String, event: &Event<u32>) {
    let arrow = if event.direction == Direction::Forward { '>' } else { '<' };
    let (from, to) = if event.direction == Direction::Forward { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    assert_eq!((event.from, event.to), (from, to));
    said.push_str(&match event.what {
        What::Octets { octets, .. } => format!("{arrow}{}", String::from_utf8_lossy(octets)),
        What::Gap(gap) => format!("{arrow}[{} {:?}]", gap.octets, gap.cause),
        What::End(cause) => format!(".{cause:?}"),
    });
}

#[test]
fn a_connection_from_syn_to_fin() {
    let mut tap = Tap::default();
    tap.segment(false, 99, 0, SYN, b"").segment(true, 499, 100, SYN | ACK, b"").segment(false, 100, 500, ACK, b"");
    tap.segment(false, 100, 500, ACK, b"hello").segment(true, 500, 105, ACK, b"world").says(">hello<world");
    tap.segment(false, 105, 505, ACK | FIN, b"").segment(true, 505, 106, ACK | FIN, b"!").says("<!.Close");
    tap.segment(false, 106, 507, ACK, b"").segment(true, 505, 106, ACK | FIN, b"!").says("");
    tap.finish().says("");
    assert_eq!(tap.table.counts().connections, 1);
}

#[test]
fn picked_up_in_its_midst_and_out_of_order() {
    let mut tap = Tap::default();
    tap.segment(false, 100, 1, ACK, b"ab")
        .segment(false, 106, 1, ACK, b"gh")
        .segment(false, 104, 1, ACK, b"ef")
        .says(">ab");
    tap.segment(false, 102, 1, ACK, b"cd").says(">cd>ef>gh");
    assert_eq!(tap.table.counts().out_of_order, 2);
}

#[test]
fn of_octets_that_come_twice_the_first_are_given() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 1, ACK, b"ab")
        .segment(false, 4, 1, ACK, b"ef")
        .segment(false, 3, 1, ACK, b"XXXXg")
        .says(">ab");
    tap.segment(false, 1, 1, ACK, b"Xcd").says(">cd>ef>Xg");
}

#[test]
fn of_waiting_octets_too() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 1, ACK, b"a").segment(false, 4, 1, ACK, b"e").segment(false, 2, 1, ACK, b"CDXFG").says(">a");
    tap.segment(false, 1, 1, ACK, b"b").says(">b>CD>e>FG");
}

#[test]
fn sequence_numbers_wrap() {
    let mut tap = Tap::default();
    let start = u32::MAX - 2;
    tap.segment(false, start, 0, SYN, b"").segment(false, 2, 0, ACK, b"efg").segment(false, start + 1, 0, ACK, b"abcd");
    tap.says(">abcd>efg").segment(false, start + 2, 0, ACK, b"bcdefgh").says(">h");
}

#[test]
fn keep_alive_probes_are_nothing() {
    let mut tap = Tap::default();
    tap.segment(false, 10, 1, ACK, b"ab").says(">ab");
    tap.segment(false, 11, 1, ACK, b"").segment(false, 11, 1, ACK, b"\0").segment(true, 1, 12, ACK, b"").says("");
    tap.segment(false, 12, 1, ACK, b"c").says(">c");
}

#[test]
fn acknowledged_octets_that_never_came_were_lost_at_the_tap() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 1, ACK, b"ab").says(">ab");
    tap.segment(false, 5, 1, ACK, b"fg").segment(true, 1, 7, ACK, b"").says("");
    tap.wait(10 * MS).segment(true, 1, 7, ACK, b"ok").says(">[3 Acked]>fg<ok");
    // Nothing waits behind the hole, but the answer shows that it was there.
    tap.segment(true, 3, 20, ACK, b"").wait(10 * MS).segment(true, 3, 20, ACK, b"k").says(">[13 Acked]<k");
    tap.segment(false, 20, 4, ACK, b"on").says(">on");
}

#[test]
fn the_capture_may_put_data_behind_their_acknowledgement() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 1, ACK, b"ab").segment(true, 1, 4, ACK, b"").segment(false, 2, 1, ACK, b"cd").says(">ab>cd");
    tap.segment(true, 1, 8, ACK, b"").segment(false, 6, 1, ACK, b"gh").wait(MS).segment(false, 4, 1, ACK, b"ef");
    tap.says(">ef>gh");
}

#[test]
fn a_full_buffer_gives_the_hole_up() {
    let limits = TcpLimits { direction_octets: 4, ..TcpLimits::default() };
    let mut tap = Tap::limited(limits);
    tap.segment(false, 0, 1, ACK, b"a").segment(false, 3, 1, ACK, b"de").segment(false, 8, 1, ACK, b"ijk");
    tap.says(">a>[2 Overflow]>de").finish().says(">[3 Unfilled]>ijk.InputOver");
    assert_eq!(tap.table.counts().overflows, 1);
}

#[test]
fn snap_length() {
    let mut tap = Tap::default();
    tap.cut(false, 0, 1, ACK, b"ab", 5).segment(false, 5, 1, ACK, b"fg").says(">ab>[3 Cut]>fg");
    tap.cut(false, 9, 1, ACK, b"j", 3).segment(false, 7, 1, ACK, b"hi").says(">hi>j>[2 Cut]");
}

#[test]
fn reset_and_what_comes_after_it() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 1, ACK, b"ab").segment(false, 4, 1, ACK, b"ef").segment(true, 1, 2, RST, b"");
    tap.says(">ab>[2 Unfilled]>ef.Reset");
    let before = tap.last;
    tap.segment(false, 4, 1, ACK, b"ef").says("").segment(false, 6, 1, ACK, b"gh").says(">gh");
    assert_ne!(tap.last, before);
}

#[test]
fn ports_are_used_again() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 0, SYN, b"").segment(false, 1, 0, ACK, b"ab").segment(false, 0, 0, SYN, b"").says(">ab");
    tap.segment(false, 9000, 0, SYN, b"").says(".Reused").segment(false, 9001, 0, ACK, b"cd").says(">cd");
    // Without SYN: a number far off.
    tap.segment(false, 3_000_000_000, 0, ACK, b"ef").says(".Reused>ef");
    assert_eq!(tap.table.counts().connections, 3);
}

#[test]
fn ignored_until_the_ports_are_used_again() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 0, SYN, b"").segment(false, 1, 0, ACK, b"ab").segment(false, 9, 0, ACK, b"xx").says(">ab");
    let id = tap.last.unwrap();
    tap.table.ignore(id);
    assert_eq!(tap.table.waiting_octets(), 0);
    tap.segment(false, 3, 0, ACK, b"cd").segment(true, 0, 0, RST, b"").says("");
    assert_eq!(tap.table.counts().ignored, 2);
    tap.segment(false, 77, 0, SYN, b"").segment(false, 78, 0, ACK, b"new").says(">new");
}

#[test]
fn quiet_connections_are_forgotten() {
    let mut tap = Tap::default();
    tap.segment(false, 0, 0, ACK, b"ab").wait(IDLE_NS + 1).segment(false, 2, 0, ACK, b"cd").says(">ab.Idle>cd");
    assert_eq!(tap.table.counts().idle, 1);
}

#[test]
fn the_table_is_bounded() {
    let mut table = Connections::with_limits(TcpLimits { connections: 3, ..TcpLimits::default() });
    let mut ended = Vec::new();
    for port in 1..=5 {
        let datagram = Datagram {
            src: CLIENT.address,
            dst: SERVER.address,
            src_port: port,
            dst_port: 5060,
            payload_start: 0,
            payload_captured: 1,
            payload_wire: 1,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        let header = TcpHeader { seq: 0, ack: 0, flags: ACK };
        table.push(i64::from(port), port, &datagram, &header, b"x", &mut |e| {
            if let What::End(cause) = e.what {
                ended.push((e.from.port, cause));
            }
        });
    }
    assert_eq!(ended, [(1, EndCause::Evicted), (2, EndCause::Evicted)]);
    assert_eq!((table.len(), table.counts().evicted), (3, 2));
}

#[test]
fn a_synchronise_with_acknowledgement_shows_who_was_called() {
    let mut tap = Tap::default();
    tap.segment(true, 499, 100, SYN | ACK, b"").segment(false, 99, 0, SYN, b"").segment(false, 100, 500, ACK, b"hi");
    tap.says(">hi");
}
