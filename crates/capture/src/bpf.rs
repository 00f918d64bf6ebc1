//! Classic BPF (McCanne and Jacobson, "The BSD Packet Filter", 1993; Documentation/networking/filter.rst of Linux):
//! instructions, an assembler with labels, and the machine.

/// One instruction, as libpcap makes it and the kernel takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

// Classes.
pub(crate) const LD: u16 = 0x00;
pub(crate) const LDX: u16 = 0x01;
pub(crate) const ST: u16 = 0x02;
pub(crate) const STX: u16 = 0x03;
pub(crate) const ALU: u16 = 0x04;
pub(crate) const JMP: u16 = 0x05;
pub(crate) const RET: u16 = 0x06;
pub(crate) const MISC: u16 = 0x07;
// Widths and modes of loads.
pub(crate) const W: u16 = 0x00;
pub(crate) const H: u16 = 0x08;
pub(crate) const B: u16 = 0x10;
pub(crate) const IMM: u16 = 0x00;
pub(crate) const ABS: u16 = 0x20;
pub(crate) const IND: u16 = 0x40;
pub(crate) const MEM: u16 = 0x60;
pub(crate) const LEN: u16 = 0x80;
pub(crate) const MSH: u16 = 0xa0;
// Operations; the operand is k, or X with `X` set.
pub(crate) const ADD: u16 = 0x00;
pub(crate) const MUL: u16 = 0x20;
pub(crate) const AND: u16 = 0x50;
pub(crate) const LSH: u16 = 0x60;
pub(crate) const RSH: u16 = 0x70;
pub(crate) const XOR: u16 = 0xa0;
pub(crate) const JA: u16 = 0x00;
pub(crate) const JEQ: u16 = 0x10;
pub(crate) const JSET: u16 = 0x40;
pub(crate) const X: u16 = 0x08;
/// The operand of `RET` is A.
pub(crate) const A: u16 = 0x10;
pub(crate) const TAX: u16 = 0x00;
pub(crate) const TXA: u16 = 0x80;

/// Extensions of Linux (`SKF_AD_OFF` in linux/filter.h): what the kernel knows of a packet beside its octets.
pub(crate) const EXTENSION: u32 = 0xffff_f000;
pub(crate) const PROTOCOL: u32 = EXTENSION;
pub(crate) const PACKET_TYPE: u32 = EXTENSION + 4;
pub(crate) const VLAN_TAG: u32 = EXTENSION + 44;
pub(crate) const VLAN_PRESENT: u32 = EXTENSION + 48;
pub(crate) const VLAN_PROTOCOL: u32 = EXTENSION + 60;

/// Instructions that a program has at most (`BPF_MAXINSNS`).
pub(crate) const INSTRUCTIONS_MAX: usize = 4096;
/// Instructions that one run executes at most: only `protochain` jumps backwards.
const STEPS_MAX: usize = 4 * INSTRUCTIONS_MAX;
/// Words of scratch memory.
const SCRATCH: usize = 16;

/// What a program looks at.
pub(crate) trait View {
    /// `width` octets (1, 2 or 4) at an offset as a big-endian number, or what an extension says.
    fn load(&self, offset: u32, width: u32) -> Option<u32>;
    /// Octets on the wire.
    fn length(&self) -> u32;
}

/// Runs a program. It accepts with the number of octets to keep; 0 refuses the packet, and so does a load outside of
/// the octets, a division by zero or an unknown instruction.
pub(crate) fn run(program: &[Instruction], view: &impl View) -> u32 {
    machine(program, view).unwrap_or(0)
}

fn machine(program: &[Instruction], view: &impl View) -> Option<u32> {
    let (mut a, mut x, mut scratch) = (0u32, 0u32, [0u32; SCRATCH]);
    let mut at = 0usize;
    for _ in 0..STEPS_MAX {
        let i = program.get(at)?;
        at += 1;
        match i.code & 7 {
            LD => a = load(i, x, &scratch, view)?,
            LDX => x = load(i, x, &scratch, view)?,
            ST => *scratch.get_mut(i.k as usize)? = a,
            STX => *scratch.get_mut(i.k as usize)? = x,
            ALU => a = compute(i, a, x)?,
            JMP => {
                let by = match jump(i, a, x)? {
                    _ if i.code & 0xf0 == JA => i.k as i32 as isize,
                    true => i.jt as isize,
                    false => i.jf as isize,
                };
                at = at.checked_add_signed(by)?;
            }
            RET => return Some(if i.code & 0x18 == A { a } else { i.k }),
            _ if i.code & 0xf8 == TXA => a = x,
            _ => x = a,
        }
    }
    None
}

fn load(i: &Instruction, x: u32, scratch: &[u32; SCRATCH], view: &impl View) -> Option<u32> {
    let width = match i.code & 0x18 {
        H => 2,
        B => 1,
        _ => 4,
    };
    match i.code & 0xe0 {
        IMM => Some(i.k),
        ABS => view.load(i.k, width),
        // An index beyond all octets is not one of an extension.
        IND => view.load(x.checked_add(i.k).filter(|o| *o < EXTENSION)?, width),
        MEM => scratch.get(i.k as usize).copied(),
        LEN => Some(view.length()),
        MSH => view.load(i.k, 1).map(|o| (o & 15) << 2),
        _ => None,
    }
}

fn compute(i: &Instruction, a: u32, x: u32) -> Option<u32> {
    let k = if i.code & X != 0 { x } else { i.k };
    Some(match i.code & 0xf0 {
        ADD => a.wrapping_add(k),
        0x10 => a.wrapping_sub(k),
        MUL => a.wrapping_mul(k),
        0x30 => a.checked_div(k)?,
        0x40 => a | k,
        AND => a & k,
        LSH => a.checked_shl(k).unwrap_or(0),
        RSH => a.checked_shr(k).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(k)?,
        XOR => a ^ k,
        _ => return None,
    })
}

fn jump(i: &Instruction, a: u32, x: u32) -> Option<bool> {
    let k = if i.code & X != 0 { x } else { i.k };
    Some(match i.code & 0xf0 {
        JA => true,
        JEQ => a == k,
        0x20 => a > k,
        0x30 => a >= k,
        JSET => a & k != 0,
        _ => return None,
    })
}

/// A packet's octets as they lie in a file.
pub(crate) struct Plain<'a> {
    pub(crate) octets: &'a [u8],
    pub(crate) wire: u32,
}

impl View for Plain<'_> {
    fn load(&self, offset: u32, width: u32) -> Option<u32> {
        big_endian(self.octets, offset as usize, width)
    }

    fn length(&self) -> u32 {
        self.wire
    }
}

/// `width` octets as a number.
pub(crate) fn big_endian(octets: &[u8], offset: usize, width: u32) -> Option<u32> {
    let octets = octets.get(offset..)?.get(..width as usize)?;
    Some(octets.iter().fold(0, |n, o| n << 8 | u32::from(*o)))
}

/// A place in a program that is being assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Puts a program together. Conditional jumps reach only 255 instructions far, so each is one over an unconditional
/// jump, which reaches anywhere.
#[derive(Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    /// Where each label stands.
    places: Vec<Option<usize>>,
    /// Jumps, and the labels that they go to.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// The label stands here.
    pub(crate) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    pub(crate) fn op(&mut self, code: u16, k: u32) {
        self.code.push(Instruction { code, jt: 0, jf: 0, k });
    }

    pub(crate) fn goto(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.op(JMP | JA, 0);
    }

    /// Goes there if A is `k`.
    pub(crate) fn if_equal(&mut self, k: u32, to: Label) {
        self.code.push(Instruction { code: JMP | JEQ, jt: 0, jf: 1, k });
        self.goto(to);
    }

    /// Goes there if A is not `k`.
    pub(crate) fn unless_equal(&mut self, k: u32, to: Label) {
        self.code.push(Instruction { code: JMP | JEQ, jt: 1, jf: 0, k });
        self.goto(to);
    }

    /// Goes there if A has one of these bits.
    pub(crate) fn if_bits(&mut self, k: u32, to: Label) {
        self.code.push(Instruction { code: JMP | JSET, jt: 0, jf: 1, k });
        self.goto(to);
    }

    /// The program. All labels that are jumped to stand behind their jumps.
    pub(crate) fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let to = self.places[label.0].unwrap_or(self.code.len());
            debug_assert!(to > at, "a jump backwards");
            self.code[at].k = (to - at - 1) as u32;
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
        Instruction { code, jt, jf, k }
    }

    /// `tcpdump -dd ip`, as its manual has it.
    #[test]
    fn runs_what_libpcap_makes() {
        let ip = [i(0x28, 0, 0, 12), i(0x15, 0, 1, 0x800), i(0x6, 0, 0, 262_144), i(0x6, 0, 0, 0)];
        let mut frame = [0u8; 14];
        assert_eq!(run(&ip, &Plain { octets: &frame, wire: 14 }), 0);
        frame[12] = 8;
        assert_eq!(run(&ip, &Plain { octets: &frame, wire: 14 }), 262_144);
        assert_eq!(run(&ip, &Plain { octets: &frame[..13], wire: 14 }), 0);
    }

    #[test]
    fn ends_whatever_the_program() {
        let view = Plain { octets: &[], wire: 0 };
        assert_eq!(run(&[i(JMP | JA, 0, 0, -1i32 as u32)], &view), 0);
        assert_eq!(run(&[i(ST, 0, 0, 16), i(RET, 0, 0, 1)], &view), 0);
        assert_eq!(run(&[i(ALU | 0x30, 0, 0, 0), i(RET, 0, 0, 1)], &view), 0);
        assert_eq!(run(&[], &view), 0);
    }
}
