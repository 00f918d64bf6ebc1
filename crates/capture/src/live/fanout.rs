//! Which lane a packet belongs to: the kernel's program (PACKET_FANOUT_CBPF, packet(7)) and the same choice in Rust.
//!
//! - Both directions of a flow meet: both ends are hashed alike and added up.
//! - One trunk between two addresses spreads over all lanes: the ports take part. Their lowest bit does not, so that
//!   RTP and its RTCP (the next port, RFC 3550 section 11) meet.
//! - All fragments of a datagram meet, by addresses, protocol and identification, since only the first carries ports.
//!   So the reassembled datagram may be in another lane than the rest of its flow: whoever reassembles hands it over
//!   to [`lane_of_flow`]. The kernel's own de-fragmentation (PACKET_FANOUT_FLAG_DEFRAG) would hand out packets that
//!   were never on the wire.
//! - Inside VLANs, MPLS, PPPoE, IP in IP, GRE, ERSPAN, VXLAN, Geneve and GTP-U the inner flow counts, through
//!   [`DEPTH`] layers of IP. What is no IP at all goes to lane 0.
//!
//! It is a program of classic BPF, so that no capability beyond that of the socket is needed to load it.

use crate::bpf::{
    self, A, ABS, ADD, ALU, AND, Assembler, B, H, IND, Instruction, LD, LDX, LSH, Label, MEM, MISC, MUL, RET, RSH, ST,
    STX, TAX, TXA, W, X, XOR,
};

mod hash;

pub(crate) use hash::hash;
pub use hash::{lane_of, lane_of_flow};

/// Layers of IP that are looked into.
pub const DEPTH: usize = 3;
/// VLAN tags behind the one that Linux sets aside.
const TAGS: usize = 3;
/// MPLS labels.
const LABELS: usize = 4;
/// Extension headers of IPv6.
const EXTENSIONS: usize = 4;
/// Extension headers of GTP-U.
const GTPU_EXTENSIONS: usize = 2;
/// Odd numbers that mix well (the finalisers of MurmurHash3).
const MIX: [u32; 3] = [0x85eb_ca6b, 0xc2b2_ae35, 0x9e37_79b1];

// Scratch memory.
const OFFSET: u32 = 0;
const SOURCE: u32 = 1;
const TARGET: u32 = 2;
const PROTOCOL: u32 = 3;
const KEPT: u32 = 4;
const SALT: u32 = 5;
const SOURCE_PORT: u32 = 6;
const TARGET_PORT: u32 = 7;
const WORDS: u32 = 8;

/// What the packets of an interface begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// An Ethernet header.
    Ethernet,
    /// IP.
    Network,
}

/// The program that chooses a lane: a number, of which the kernel takes the remainder by the number of lanes.
pub(crate) fn program(begin: Begin) -> Vec<Instruction> {
    let mut program = Program { to: Assembler::default() };
    program.whole(begin);
    program.to.finish()
}

/// Where a layer of IP and what is before it begin.
#[derive(Clone, Copy)]
struct Layer {
    /// X is at an Ethernet header.
    ether: Label,
    /// X is behind an EtherType, which is in A.
    kind: Label,
    /// X is at a label.
    mpls: Label,
    /// X is at what should be IP.
    ip: Label,
    ip4: Label,
    ip6: Label,
}

/// Where a packet's walk ends.
#[derive(Clone, Copy)]
struct Ends {
    /// No IP was there: lane 0.
    none: Label,
    /// By the addresses alone.
    addresses: Label,
    /// X is at two ports.
    ports: Label,
    /// A has the identification of a fragment.
    fragment: Label,
}

struct Program {
    to: Assembler,
}

impl Program {
    fn whole(&mut self, begin: Begin) {
        let mut label = || self.to.label();
        let ends = Ends { none: label(), addresses: label(), ports: label(), fragment: label() };
        let layers: [Layer; DEPTH] = core::array::from_fn(|_| Layer {
            ether: label(),
            kind: label(),
            mpls: label(),
            ip: label(),
            ip4: label(),
            ip6: label(),
        });
        self.begin(begin, layers[0]);
        for (depth, layer) in layers.iter().enumerate() {
            // Before the first addresses are known there is nothing to hash.
            let unknown = if depth == 0 { ends.none } else { ends.addresses };
            let inner = layers.get(depth + 1);
            self.ether(layer, inner, unknown);
            self.ip(layer, inner, unknown, ends);
        }
        self.finish(ends);
    }

    /// For an incoming packet the kernel stands behind its Ethernet header and knows the type; for one that goes out it
    /// stands before that header (`dev_queue_xmit_nit`).
    fn begin(&mut self, begin: Begin, first: Layer) {
        // No addresses; the kernel does not load what was not stored on every way to it.
        self.to.op(LD, 0);
        self.to.op(ST, SOURCE);
        self.to.op(ST, TARGET);
        let out = self.to.label();
        if begin == Begin::Ethernet {
            self.to.op(LD | ABS | W, bpf::PACKET_TYPE);
            self.to.if_equal(u32::from(libc::PACKET_OUTGOING), out);
        }
        self.to.op(LDX | W, 0);
        self.to.op(LD | ABS | W, bpf::PROTOCOL);
        self.to.goto(first.kind);
        if begin == Begin::Ethernet {
            self.to.place(out);
            self.to.op(LDX | W, 0);
            self.to.goto(first.ether);
        }
    }

    fn ether(&mut self, layer: &Layer, inner: Option<&Layer>, unknown: Label) {
        self.to.place(layer.ether);
        self.keep(12, H);
        self.step(14);
        self.kept();
        self.to.place(layer.kind);
        for _ in 0..TAGS {
            let (tag, next) = (self.to.label(), self.to.label());
            for kind in [0x8100, 0x88a8, 0x9100] {
                self.to.if_equal(kind, tag);
            }
            self.to.goto(next);
            self.to.place(tag);
            self.keep(2, H);
            self.step(4);
            self.kept();
            self.to.place(next);
        }
        let pppoe = self.to.label();
        self.to.if_equal(0x0800, layer.ip4);
        self.to.if_equal(0x86dd, layer.ip6);
        self.to.if_equal(0x8847, layer.mpls);
        self.to.if_equal(0x8848, layer.mpls);
        self.to.unless_equal(0x8864, unknown);
        self.to.place(pppoe);
        self.keep(6, H);
        self.step(8);
        self.kept();
        self.to.if_equal(0x0021, layer.ip4);
        self.to.if_equal(0x0057, layer.ip6);
        self.to.goto(unknown);
        self.mpls(layer, inner, unknown);
    }

    /// RFC 3032: labels of four octets until the one that says it is the last.
    fn mpls(&mut self, layer: &Layer, inner: Option<&Layer>, unknown: Label) {
        self.to.place(layer.mpls);
        for _ in 0..LABELS {
            self.keep(2, B);
            self.step(4);
            self.kept();
            self.to.if_bits(1, layer.ip);
        }
        self.to.goto(unknown);
        self.to.place(layer.ip);
        self.version();
        self.to.if_equal(4, layer.ip4);
        self.to.if_equal(6, layer.ip6);
        // RFC 4448: a control word, then Ethernet.
        if let Some(inner) = inner {
            self.to.unless_equal(0, unknown);
            self.step(4);
            self.to.goto(inner.ether);
        } else {
            self.to.goto(unknown);
        }
    }

    fn ip(&mut self, layer: &Layer, inner: Option<&Layer>, unknown: Label, ends: Ends) {
        let transport = self.to.label();
        self.to.place(layer.ip4);
        self.version();
        self.to.unless_equal(4, unknown);
        for (offset, place) in [(12, SOURCE), (16, TARGET)] {
            self.load(offset, W);
            self.to.op(ST, place);
        }
        self.load(9, B);
        self.to.op(ST, PROTOCOL);
        self.load(6, H);
        self.to.op(ALU | AND, 0x3fff);
        let (whole, fragment) = (self.to.label(), self.to.label());
        self.to.if_equal(0, whole);
        self.to.place(fragment);
        // The protocol tells apart what the identification does not (RFC 791 section 3.2).
        self.to.op(LD | MEM, PROTOCOL);
        self.to.op(ALU | LSH, 16);
        self.to.op(ST, KEPT);
        self.load(4, H);
        self.to.op(LDX | MEM, KEPT);
        self.to.op(ALU | ADD | X, 0);
        self.to.goto(ends.fragment);
        self.to.place(whole);
        self.load(0, B);
        self.to.op(ALU | AND, 15);
        self.to.op(ALU | LSH, 2);
        self.step_by_a();
        self.to.goto(transport);
        self.ip6(layer, unknown, ends);
        self.to.place(transport);
        self.transport(inner, ends);
    }

    fn ip6(&mut self, layer: &Layer, unknown: Label, ends: Ends) {
        self.to.place(layer.ip6);
        self.version();
        self.to.unless_equal(6, unknown);
        self.to.op(STX, OFFSET);
        self.digest(8, SOURCE);
        self.digest(24, TARGET);
        self.load(6, B);
        self.to.op(ST, PROTOCOL);
        self.step(40);
        let transport = self.to.label();
        for _ in 0..EXTENSIONS {
            let next = self.to.label();
            let (options, authentication, fragment) = (self.to.label(), self.to.label(), self.to.label());
            self.to.op(LD | MEM, PROTOCOL);
            for kind in [0, 43, 60, 135, 139, 140] {
                self.to.if_equal(kind, options);
            }
            self.to.if_equal(51, authentication);
            self.to.if_equal(44, fragment);
            self.to.goto(transport);
            // RFC 8200 section 4.3: in units of 8 octets, the first not counted.
            self.to.place(options);
            self.next_header();
            self.load(1, B);
            self.to.op(ALU | LSH, 3);
            self.to.op(ALU | ADD, 8);
            self.step_by_a();
            self.to.goto(next);
            // RFC 4302 section 2.2: in units of 4 octets, two not counted.
            self.to.place(authentication);
            self.next_header();
            self.load(1, B);
            self.to.op(ALU | LSH, 2);
            self.to.op(ALU | ADD, 8);
            self.step_by_a();
            self.to.goto(next);
            // RFC 8200 section 4.5; one that is whole (RFC 6946) belongs to its flow.
            self.to.place(fragment);
            self.next_header();
            let whole = self.to.label();
            self.load(2, H);
            self.to.op(ALU | AND, 0xfff9);
            self.to.if_equal(0, whole);
            self.load(4, W);
            self.to.goto(ends.fragment);
            self.to.place(whole);
            self.step(8);
            self.to.place(next);
        }
        self.to.place(transport);
    }

    /// Of the four words of an address.
    fn digest(&mut self, offset: u32, place: u32) {
        for word in 0..4 {
            self.load(offset + 4 * word, W);
            self.to.op(ST, WORDS + word);
        }
        self.to.op(LD | MEM, WORDS);
        for word in 1..4 {
            self.to.op(ALU | MUL, MIX[word as usize - 1]);
            self.to.op(LDX | MEM, WORDS + word);
            self.to.op(ALU | XOR | X, 0);
        }
        self.to.op(ST, place);
        self.to.op(LDX | MEM, OFFSET);
    }

    fn transport(&mut self, inner: Option<&Layer>, ends: Ends) {
        let (udp, gre) = (self.to.label(), self.to.label());
        self.to.op(LD | MEM, PROTOCOL);
        for protocol in [6, 132, 33] {
            self.to.if_equal(protocol, ends.ports);
        }
        self.to.if_equal(136, ends.ports);
        let Some(inner) = inner else {
            self.to.if_equal(17, ends.ports);
            return self.to.goto(ends.addresses);
        };
        self.to.if_equal(17, udp);
        self.to.if_equal(4, inner.ip4);
        self.to.if_equal(41, inner.ip6);
        self.to.if_equal(137, inner.mpls);
        self.to.if_equal(47, gre);
        self.to.goto(ends.addresses);
        self.gre(gre, inner, ends);
        self.udp(udp, inner, ends);
    }

    /// RFC 2784 and 2890: flags that say which fields are there; ERSPAN as draft-foschiano-erspan has it.
    fn gre(&mut self, gre: Label, inner: &Layer, ends: Ends) {
        self.to.place(gre);
        self.load(0, H);
        // Routing (RFC 1701), or a version that is not 0.
        self.to.if_bits(0x4007, ends.addresses);
        self.load(2, H);
        self.to.op(ST, PROTOCOL);
        self.load(0, H);
        self.to.op(ST, KEPT);
        self.step(4);
        for field in [0x8000, 0x2000, 0x1000] {
            let (there, not) = (self.to.label(), self.to.label());
            self.kept();
            self.to.if_bits(field, there);
            self.to.goto(not);
            self.to.place(there);
            self.step(4);
            self.to.place(not);
        }
        let (erspan, erspan_iii) = (self.to.label(), self.to.label());
        self.to.op(LD | MEM, PROTOCOL);
        self.to.if_equal(0x0800, inner.ip4);
        self.to.if_equal(0x86dd, inner.ip6);
        self.to.if_equal(0x6558, inner.ether);
        self.to.if_equal(0x8847, inner.mpls);
        self.to.if_equal(0x88be, erspan);
        self.to.if_equal(0x22eb, erspan_iii);
        self.to.goto(ends.addresses);
        // Type I has neither sequence number nor header, type II both.
        self.to.place(erspan);
        let header = self.to.label();
        self.kept();
        self.to.if_bits(0x1000, header);
        self.to.goto(inner.ether);
        self.to.place(header);
        self.step(8);
        self.to.goto(inner.ether);
        // Its last bit says that a sub-header of 8 octets follows.
        self.to.place(erspan_iii);
        let sub = self.to.label();
        self.keep(11, B);
        self.step(12);
        self.kept();
        self.to.if_bits(1, sub);
        self.to.goto(inner.ether);
        self.to.place(sub);
        self.step(8);
        self.to.goto(inner.ether);
    }

    fn udp(&mut self, udp: Label, inner: &Layer, ends: Ends) {
        let (gtpu, vxlan, geneve) = (self.to.label(), self.to.label(), self.to.label());
        self.to.place(udp);
        self.load(0, H);
        self.to.if_equal(2152, gtpu);
        self.load(2, H);
        self.to.if_equal(2152, gtpu);
        self.to.if_equal(4789, vxlan);
        self.to.if_equal(8472, vxlan);
        self.to.if_equal(6081, geneve);
        self.to.goto(ends.ports);
        // RFC 7348 section 5: the flag that says that there is a network identifier.
        self.to.place(vxlan);
        self.load(8, B);
        self.to.op(ALU | AND, 8);
        self.to.if_equal(0, ends.ports);
        self.step(16);
        self.to.goto(inner.ether);
        // RFC 8926 section 3.4: version 0, options in words.
        self.to.place(geneve);
        self.load(8, B);
        self.to.if_bits(0xc0, ends.ports);
        self.keep(10, H);
        self.load(8, B);
        self.to.op(ALU | LSH, 2);
        self.to.op(ALU | ADD, 16);
        self.step_by_a();
        self.kept();
        self.to.if_equal(0x6558, inner.ether);
        self.to.goto(inner.kind);
        self.gtpu(gtpu, inner, ends);
    }

    /// TS 29.281 clause 5.1: G-PDUs of version 1; with any of three flags four more octets, and extension headers.
    fn gtpu(&mut self, gtpu: Label, inner: &Layer, ends: Ends) {
        self.to.place(gtpu);
        self.load(8, B);
        self.to.op(ALU | AND, 0xf0);
        self.to.unless_equal(0x30, ends.ports);
        self.load(9, B);
        self.to.unless_equal(255, ends.ports);
        let (longer, extended) = (self.to.label(), self.to.label());
        self.load(8, B);
        self.to.if_bits(7, longer);
        self.step(16);
        self.to.goto(inner.ip);
        self.to.place(longer);
        self.keep(19, B);
        self.to.op(ST, PROTOCOL);
        self.keep(8, B);
        self.step(20);
        self.kept();
        self.to.if_bits(4, extended);
        self.to.goto(inner.ip);
        self.to.place(extended);
        for _ in 0..GTPU_EXTENSIONS {
            self.to.op(LD | MEM, PROTOCOL);
            self.to.if_equal(0, inner.ip);
            // Clause 5.2.1: its length in words, and the next one's type at its end.
            self.load(0, B);
            self.to.op(ALU | LSH, 2);
            self.to.op(ALU | ADD, u32::MAX);
            self.step_by_a();
            self.load(0, B);
            self.to.op(ST, PROTOCOL);
            self.step(1);
        }
        self.to.op(LD | MEM, PROTOCOL);
        self.to.if_equal(0, inner.ip);
        self.to.goto(ends.addresses);
    }

    fn finish(&mut self, ends: Ends) {
        let hash = self.to.label();
        self.to.place(ends.fragment);
        self.to.op(ST, SALT);
        self.no_ports();
        self.to.goto(hash);
        self.to.place(ends.addresses);
        self.no_salt();
        self.no_ports();
        self.to.goto(hash);
        self.to.place(ends.ports);
        self.no_salt();
        for (offset, place) in [(0, SOURCE_PORT), (2, TARGET_PORT)] {
            self.load(offset, H);
            self.to.op(ALU | RSH, 1);
            self.to.op(ST, place);
        }
        self.to.place(hash);
        self.end(SOURCE, SOURCE_PORT);
        self.to.op(ST, SOURCE);
        self.end(TARGET, TARGET_PORT);
        self.to.op(LDX | MEM, SOURCE);
        self.to.op(ALU | ADD | X, 0);
        self.to.op(ST, SOURCE);
        self.to.op(LD | MEM, SALT);
        self.to.op(ALU | MUL, MIX[2]);
        self.to.op(LDX | MEM, SOURCE);
        self.to.op(ALU | ADD | X, 0);
        self.fold(16);
        self.to.op(ALU | MUL, MIX[0]);
        self.fold(15);
        self.to.op(RET | A, 0);
        self.to.place(ends.none);
        self.to.op(RET, 0);
    }

    /// One end of a flow, in A.
    fn end(&mut self, address: u32, port: u32) {
        self.to.op(LD | MEM, port);
        self.to.op(ALU | MUL, MIX[2]);
        self.to.op(LDX | MEM, address);
        self.to.op(ALU | ADD | X, 0);
        self.fold(16);
        self.to.op(ALU | MUL, MIX[1]);
        self.fold(13);
    }

    /// `a ^= a >> by`.
    fn fold(&mut self, by: u32) {
        self.to.op(MISC | TAX, 0);
        self.to.op(ALU | RSH, by);
        self.to.op(ALU | XOR | X, 0);
    }

    fn no_salt(&mut self) {
        self.to.op(LD, 0);
        self.to.op(ST, SALT);
    }

    fn no_ports(&mut self) {
        self.to.op(LD, 0);
        self.to.op(ST, SOURCE_PORT);
        self.to.op(ST, TARGET_PORT);
    }

    fn version(&mut self) {
        self.load(0, B);
        self.to.op(ALU | RSH, 4);
    }

    fn next_header(&mut self) {
        self.load(0, B);
        self.to.op(ST, PROTOCOL);
    }

    /// What lies so many octets behind X.
    fn load(&mut self, offset: u32, width: u16) {
        self.to.op(LD | IND | width, offset);
    }

    fn keep(&mut self, offset: u32, width: u16) {
        self.load(offset, width);
        self.to.op(ST, KEPT);
    }

    fn kept(&mut self) {
        self.to.op(LD | MEM, KEPT);
    }

    fn step(&mut self, octets: u32) {
        self.to.op(MISC | TXA, 0);
        self.to.op(ALU | ADD, octets);
        self.to.op(MISC | TAX, 0);
    }

    fn step_by_a(&mut self) {
        self.to.op(ALU | ADD | X, 0);
        self.to.op(MISC | TAX, 0);
    }
}
