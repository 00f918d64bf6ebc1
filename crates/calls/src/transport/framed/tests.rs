use super::*;

fn rtp(ssrc: u8, number: u16, octets: usize) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut packet = vec![0x80, 0, high, low, 0, 0, high, low, 0, 0, 0, ssrc];
    packet.resize(octets, 0xd5);
    packet
}

fn framed(octets: &[u8]) -> Vec<u8> {
    [&(octets.len() as u16).to_be_bytes(), octets].concat()
}

/// Captured octets, length and gaps before it of each message; `None` is a gap of so many octets.
fn read(frames: &mut Frames, pieces: &[Result<&[u8], usize>]) -> Vec<(usize, usize, u32)> {
    let mut told = Vec::new();
    let mut sink = |frame: Frame<'_>| told.push((frame.octets.len(), frame.wire, frame.gaps));
    for piece in pieces {
        match piece {
            Ok(octets) => frames.push(octets, &mut sink),
            Err(missing) => frames.gap(*missing, &mut sink),
        }
    }
    told
}

#[test]
fn what_the_snap_length_cuts_is_known_by_its_header() {
    let mut frames = Frames::new(Framing::Length, true);
    let all: Vec<Vec<u8>> = (0..3).map(|n| framed(&rtp(1, n, 172))).collect();
    // 54 octets of each segment, and the next one begins with the next frame.
    let pieces: Vec<_> = all.iter().flat_map(|frame| [Ok(&frame[..54]), Err(120)]).collect();
    assert_eq!(read(&mut frames, &pieces), [(52, 172, 0); 3]);
    assert_eq!(frames.passed_over, 0);
}

#[test]
fn a_gap_in_a_frame_costs_that_frame_and_one_beyond_it_the_place() {
    let (one, two, three) = (framed(&rtp(1, 1, 172)), framed(&rtp(1, 2, 172)), framed(&rtp(1, 3, 172)));
    // Eight octets of it, so that its source is not known; the rest is known to be its.
    let mut frames = Frames::new(Framing::Length, true);
    let told = read(&mut frames, &[Ok(&one), Ok(&two[..10]), Err(64), Ok(&two[74..]), Ok(&three)]);
    assert_eq!(told, [(172, 172, 0), (172, 172, 1)]);
    // It may hold any number of frames.
    let mut frames = Frames::new(Framing::Length, true);
    let told = read(&mut frames, &[Ok(&one), Ok(&two[..100]), Err(500), Ok(&two[7..]), Ok(&three)]);
    assert_eq!((told.as_slice(), frames.passed_over), (&[(172, 172, 0), (172, 172, 1)][..], 100 + 167));
    // A gap where a frame begins.
    let mut frames = Frames::new(Framing::Length, true);
    let told = read(&mut frames, &[Ok(&one), Err(174), Ok(&three)]);
    assert_eq!((told.as_slice(), frames.passed_over), (&[(172, 172, 0), (172, 172, 1)][..], 0));
}

#[test]
fn a_long_frame_is_given_cut_and_passed_over() {
    let long = framed(&rtp(1, 1, 60_000));
    let mut frames = Frames::new(Framing::Length, true);
    let pieces: Vec<_> = long.chunks(1460).map(Ok).collect();
    let told = read(&mut frames, &pieces);
    assert_eq!(told.len(), 1);
    assert!(told[0].0 >= KEPT_OCTETS_MAX && told[0].0 < KEPT_OCTETS_MAX + 1460 && told[0].1 == 60_000);
    assert_eq!(read(&mut frames, &[Ok(&framed(&rtp(1, 2, 172)))]), [(172, 172, 0)]);
    assert!(frames.held.capacity() < 4 * KEPT_OCTETS_MAX);
}

#[test]
fn whatever_comes_memory_is_bounded_and_all_is_accounted_for() {
    let mut state = 7u64;
    for framing in [Framing::Length, Framing::Turn] {
        for round in 0..200u64 {
            let mut frames = Frames::new(framing, round % 2 == 0);
            let (mut given, mut pushed) = (0, 0);
            for _ in 0..40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let octets: Vec<u8> = (0..state >> 55).map(|n| (state >> (n % 48)) as u8 & 0x8f).collect();
                pushed += octets.len();
                frames.push(&octets, &mut |frame| given += frame.octets.len());
                if state & 0x700 == 0 {
                    frames.gap((state >> 40) as usize & 0xff, &mut |frame| given += frame.octets.len());
                }
            }
            assert!(given + frames.passed_over as usize <= pushed, "{framing:?} {round}");
            assert!(frames.held.len() < KEPT_OCTETS_MAX + 1024 && frames.known.len() <= KNOWN_MAX);
        }
    }
}

#[test]
fn two_packets_of_a_stream_or_a_cookie_are_certain() {
    let (one, two, other) = (framed(&rtp(1, 1, 172)), framed(&rtp(1, 2, 172)), framed(&rtp(2, 9, 172)));
    let media = Sniffed::Media(Framing::Length);
    assert_eq!(sniff(&[&one[..], &two].concat()), media);
    assert_eq!(sniff(&[&one[..], &other, &two[..14]].concat()), media);
    for end in 0..one.len() + 14 {
        assert_eq!(sniff(&[&one[..], &two].concat()[..end]), Sniffed::More, "{end}");
    }
    let check = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    assert_eq!(sniff(&check), Sniffed::Media(Framing::Turn));
    assert_eq!(sniff(&framed(&check)), media);
    for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"INVITE sip:a@b SIP/2.0\r\n", &[0x16, 3, 1, 2, 0, 1, 0], &[0; 20]] {
        assert!(!matches!(sniff(other), Sniffed::Media(_)), "{other:02x?}");
    }
}

#[test]
fn a_channel_is_found_from_the_midst_by_its_number_or_by_what_ends_with_it() {
    let on = |channel: u8, inside: &[u8]| [&[0x40, channel, 0, inside.len() as u8], inside].concat();
    let (one, two) = (on(1, &rtp(7, 1, 172)), on(1, &rtp(7, 2, 172)));
    // Nothing is known: what ends with its message is one, and nothing else.
    let mut frames = Frames::new(Framing::Turn, false);
    assert_eq!(read(&mut frames, &[Ok(&one[..90])]), []);
    assert_eq!(read(&mut frames, &[Ok(&two), Ok(&one)]), [(176, 176, 0); 2]);
    let mut frames = Frames::new(Framing::Turn, false);
    assert_eq!(read(&mut frames, &[Ok(&on(1, &[0x41; 172])), Ok(&on(2, &[0x90; 8]))]), []);
    // The other direction tells the channel.
    let mut other = Frames::new(Framing::Turn, true);
    assert_eq!(read(&mut other, &[Ok(&on(2, &rtp(9, 1, 172)))]), [(176, 176, 0)]);
    let mut frames = Frames::new(Framing::Turn, false);
    let three = [&one[100..], &on(2, &rtp(8, 1, 172)), &two[..100]].concat();
    assert_eq!(read(&mut frames, &[Ok(&three)]), []);
    frames.learn(&other);
    assert_eq!(read(&mut frames, &[Ok(&two[100..]), Ok(&three)]), [(176, 176, 0)]);
}
