//! Octets written by hand, refusals to the octet, and what is written read again.

use super::base::*;
use super::credit::*;
use super::dictionary::avp::*;
use super::enumerated::*;
use super::*;
use proptest::prelude::*;

/// A Device-Watchdog-Request of "a.b" in realm "b", with an Origin-State-Id.
const WATCHDOG: [u8; 56] = [
    1, 0, 0, 56, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9, // header: 280
    0, 0, 1, 8, 0x40, 0, 0, 11, b'a', b'.', b'b', 0, // Origin-Host
    0, 0, 1, 40, 0x40, 0, 0, 9, b'b', 0, 0, 0, // Origin-Realm
    0, 0, 1, 22, 0x40, 0, 0, 12, 0x5f, 0, 0, 1, // Origin-State-Id
];

fn watchdog() -> DeviceWatchdogRequest<'static> {
    DeviceWatchdogRequest { origin_host: "a.b", origin_realm: "b", origin_state_id: Some(0x5f00_0001) }
}

/// A message of AVPs that are given as octets.
fn message(header: Header, avps: &[u8]) -> Vec<u8> {
    let mut octets = header.octets(20 + avps.len() as u32).to_vec();
    octets.extend_from_slice(avps);
    octets
}

fn credit_control() -> Header {
    Header { hop_by_hop: 1, end_to_end: 2, ..Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL) }
}

/// The least CCR, with something more inside.
fn request(more: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &credit_control());
    writer.text(SESSION_ID, "s");
    writer.text(ORIGIN_HOST, "c.x");
    writer.text(ORIGIN_REALM, "x");
    writer.text(DESTINATION_REALM, "x");
    writer.unsigned32(AUTH_APPLICATION_ID, 4);
    writer.text(SERVICE_CONTEXT_ID, "32251@3gpp.org");
    writer.unsigned32(CC_REQUEST_TYPE, 2);
    writer.unsigned32(CC_REQUEST_NUMBER, 3);
    more(&mut writer);
    writer.finish().unwrap();
    out
}

/// The result code of a CCR, and the octets of its Failed-AVP.
fn refusal(octets: &[u8]) -> (u32, Vec<u8>) {
    let message = Message::new(octets).unwrap();
    let failure = CreditControlRequest::read(&message).unwrap_err();
    let mut out = Vec::new();
    refuse(&message, "s.x", "x", &failure, &mut out).unwrap();
    let answer = Message::new(&out).unwrap();
    assert_eq!(answer.avps().find(RESULT_CODE).unwrap().unsigned32(), Ok(failure.result));
    let failed = answer.avps().find(FAILED_AVP).map(|avp| avp.data().to_vec());
    (failure.result, failed.unwrap_or_default())
}

#[test]
fn reads_and_writes_octets_written_by_hand() {
    let message = Message::new(&WATCHDOG).unwrap();
    assert_eq!((message.header.hop_by_hop, message.header.end_to_end), (7, 9));
    assert_eq!(DeviceWatchdogRequest::read(&message), Ok(watchdog()));
    let mut out = b"before".to_vec();
    watchdog().write(&message.header, &mut out).unwrap();
    assert_eq!(out.strip_prefix(b"before"), Some(&WATCHDOG[..]));
}

#[test]
fn a_missing_avp_is_told_by_an_example() {
    let octets = message(credit_control(), &[]);
    // Session-Id, of no octets.
    assert_eq!(refusal(&octets), (5005, vec![0, 0, 1, 7, 0x40, 0, 0, 8]));
    let octets = request(|w| {
        let group = w.open(SUBSCRIPTION_ID);
        w.text(SUBSCRIPTION_ID_DATA, "1");
        w.close(group);
    });
    // Subscription-Id, 20 octets, with Subscription-Id-Type, four zeros.
    let example = [0, 0, 1, 187, 0x40, 0, 0, 20, 0, 0, 1, 194, 0x40, 0, 0, 12, 0, 0, 0, 0];
    assert_eq!(refusal(&octets), (5005, example.to_vec()));
}

#[test]
fn lengths_that_cannot_be_are_told_with_zeros() {
    let with = |avp: &[u8]| {
        let mut octets = request(|_| {});
        octets.extend_from_slice(avp);
        let length = octets.len() as u32;
        octets[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
        refusal(&octets)
    };
    // Longer than the message: CC-Time, its header and the four octets that it has at least.
    let cc_time = |length| [0, 0, 1, 164, 0x40, 0, 0, length, 0, 0, 0, 0];
    assert_eq!(with(&cc_time(200)), (5014, cc_time(12).to_vec()));
    // Shorter than a header.
    assert_eq!(with(&cc_time(7)), (5014, cc_time(12).to_vec()));
    // A header that is not all there.
    assert_eq!(with(&[0, 0, 1, 164]), (5014, vec![0, 0, 1, 164, 0, 0, 0, 12, 0, 0, 0, 0]));
    // Fewer octets than the type has: as it came, padding aside.
    let short = [0, 0, 1, 183, 0x40, 0, 0, 11, 1, 2, 3];
    assert_eq!(with(&[&short[..], &[0]].concat()), (5014, [&short[..], &[0]].concat()));
    // The V flag without room for a vendor, and with the vendor that must not be written.
    assert_eq!(with(&[0, 0, 1, 164, 0xc0, 0, 0, 8]).0, 5014);
    let vendor_zero = [0, 0, 1, 164, 0xc0, 0, 0, 12, 0, 0, 0, 0];
    assert_eq!(with(&vendor_zero), (3009, vendor_zero.to_vec()));
}

#[test]
fn wrong_avps_come_back_in_their_groups() {
    let services = |inner: fn(&mut Writer<'_>)| {
        request(|w| {
            let group = w.open(MULTIPLE_SERVICES_CREDIT_CONTROL);
            inner(w);
            w.close(group);
        })
    };
    let within = |avp: &[u8]| [&[0, 0, 1, 200, 0x40, 0, 0, 8 + avp.len() as u8][..], avp].concat();
    let usage = [0, 0, 1, 196, 0x40, 0, 0, 12, 0, 0, 0, 9];
    assert_eq!(refusal(&services(|w| w.unsigned32(TARIFF_CHANGE_USAGE, 9))), (5004, within(&usage)));
    let twice = services(|w| [1, 2].iter().for_each(|n| w.unsigned32(RATING_GROUP, *n)));
    assert_eq!(refusal(&twice), (5009, within(&[0, 0, 1, 176, 0x40, 0, 0, 12, 0, 0, 0, 2])));
    let foreign = Key { vendor: 9, code: 1 };
    let unknown = services(|w| w.octets_flagged(Key { vendor: 9, code: 1 }, 0x40, b"no"));
    let octets = within(&[0, 0, 0, 1, 0xc0, 0, 0, 14, 0, 0, 0, 9, b'n', b'o', 0, 0]);
    assert_eq!(refusal(&unknown).0, 5001);
    assert_eq!(refusal(&unknown).1[8..], octets[8..]);
    let passed_over = services(|w| w.octets(Key { vendor: 9, code: 1 }, b"no"));
    assert!(CreditControlRequest::read(&Message::new(&passed_over).unwrap()).is_ok());
    assert_eq!(dictionary::find(foreign), None);
    assert_eq!(refusal(&request(|w| w.unsigned32(VALIDITY_TIME, 1))).0, 5008);
    assert_eq!(refusal(&request(|w| w.octets(USER_NAME, &[0xff]))).0, 5004);
}

#[test]
fn headers_that_cannot_be() {
    let of = |at: usize, octet: u8| {
        let mut octets = WATCHDOG;
        octets[at] = octet;
        Message::new(&octets).and_then(|m| DeviceWatchdogRequest::read(&m).map(|_| ())).map_err(|f| f.result)
    };
    assert_eq!(of(0, 2), Err(5011));
    assert_eq!(of(3, 52), Err(5015));
    assert_eq!(of(4, 0xa0), Err(3008), "a request with the E bit");
    assert_eq!(of(4, 0xc0), Err(3008), "a proxied watchdog");
    assert_eq!(of(4, 0x8f), Ok(()), "reserved bits are ignored");
    assert_eq!(Message::new(&WATCHDOG[..19]).unwrap_err().result, 5015);
    let odd = [&[1, 0, 0, 21][..], &[0; 17]].concat();
    assert_eq!(Message::new(&odd).unwrap_err().result, 5015);
}

#[test]
fn a_capabilities_exchange_has_an_address() {
    let addresses = [HostAddress::default()];
    let mut request = CapabilitiesExchangeRequest { host_ip_addresses: List::Values(&addresses), ..Default::default() };
    let read = |request: &CapabilitiesExchangeRequest<'_>| {
        let mut out = Vec::new();
        request.write(&Header::request(command::CAPABILITIES_EXCHANGE, application::BASE), &mut out).unwrap();
        CapabilitiesExchangeRequest::read(&Message::new(&out).unwrap()).map(|r| r.offers(4)).map_err(|f| f.key())
    };
    assert_eq!(read(&request), Ok(false));
    request.auth_application_ids = List::Values(&[application::RELAY]);
    assert_eq!(read(&request), Ok(true));
    request.host_ip_addresses = List::default();
    assert_eq!(read(&request), Err(Some(HOST_IP_ADDRESS)));
}

#[test]
fn protocol_errors_set_their_bit() {
    let octets = request(|_| {});
    let message = Message::new(&octets).unwrap();
    for (result, flags) in [(result_code::TOO_BUSY, 0x60), (result_code::RATING_FAILED, 0x40)] {
        let mut out = Vec::new();
        refuse(&message, "s.x", "x", &Failure::of_message(result), &mut out).unwrap();
        let answer = Message::new(&out).unwrap();
        assert_eq!((answer.header.flags, answer.header.end_to_end), (flags, 2));
        assert_eq!(answer.avps().find(FAILED_AVP), None);
        let read = ErrorAnswer::read(&answer).unwrap();
        assert_eq!((read.session_id, read.result_code, answer.header.is_error()), (Some("s"), result, flags == 0x60));
        assert_eq!(answer.avps().find(CC_REQUEST_NUMBER).map(|a| a.unsigned32()), Some(Ok(3)));
    }
}

#[test]
fn a_stream_is_cut_wherever_its_octets_come() {
    let stream = [WATCHDOG; 3].concat();
    for cut in 0..=stream.len() {
        let mut frames = Frames::new(&stream[..cut], 64);
        let mut count = 0;
        while let Some(octets) = frames.next_message().unwrap() {
            assert_eq!(octets, WATCHDOG);
            count += 1;
        }
        assert_eq!((count, frames.taken()), (cut / 56, cut / 56 * 56));
    }
    assert_eq!(Frames::new(&WATCHDOG, 55).next_message(), Err(FrameError::TooLong(56)));
    assert_eq!(Frames::new(&[1, 0, 0, 19], 64).next_message(), Err(FrameError::TooShort(19)));
    assert_eq!(Frames::new(b"G", 64).next_message(), Err(FrameError::Version(b'G')));
    assert_eq!(Frames::new(&[1, 0xff, 0xff, 0xff], 1 << 20).next_message(), Err(FrameError::TooLong(0xff_ffff)));
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut out = b"kept".to_vec();
    let long = vec![b'x'; TooLong::OCTETS_MAX];
    let failed_avps = [&long[..]];
    let answer = DisconnectPeerAnswer { failed_avps: List::Values(&failed_avps), ..Default::default() };
    assert!(answer.write(&Header::default(), &mut out).is_err_and(|e| e.octets > TooLong::OCTETS_MAX));
    assert_eq!(out, b"kept");
}

#[test]
fn times_pass_the_end_of_their_era() {
    let shown = |ntp: u32| Time::from_ntp(ntp).to_string();
    assert_eq!(shown(0x83aa_7e80), "1970-01-01T00:00:00Z");
    assert_eq!(shown(0xffff_ffff), "2036-02-07T06:28:15Z");
    assert_eq!(shown(0), "2036-02-07T06:28:16Z");
    assert_eq!(shown(0x7fff_ffff), "2104-02-26T09:42:23Z");
    assert_eq!(shown(0x8000_0000), "1968-01-20T03:14:08Z");
    assert_eq!(Time::from_unix(951_782_400).unwrap().to_string(), "2000-02-29T00:00:00Z");
    for ntp in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        let time = Time::from_ntp(ntp);
        assert_eq!((time.ntp(), Time::from_unix(time.unix_seconds())), (ntp, Some(time)));
    }
    assert_eq!((Time::from_unix(-61_505_153), Time::from_unix(4_233_462_144)), (None, None));
}

#[test]
fn groups_may_lack_their_last_padding_and_hold_anything() {
    let octets = request(|w| {
        // A Route-Record of one octet in a Proxy-Info, without padding.
        w.octets(PROXY_INFO, &[0, 0, 1, 24, 0x40, 0, 0, 9, b'p']);
    });
    let message = Message::new(&octets).unwrap();
    let proxy = message.avps().find(PROXY_INFO).unwrap();
    assert_eq!(proxy.group().find(PROXY_HOST).map(|a| a.data()), Some(&b"p"[..]));
    let mut deep = Vec::new();
    for _ in 0..1000 {
        let length = (deep.len() as u32 + 8).to_be_bytes();
        deep = [&[0, 0, 1, 28, 0x40][..], &length[1..], &deep].concat();
    }
    let octets = super::tests::message(credit_control(), &deep);
    assert!(format!("{:#}", Message::new(&octets).unwrap()).lines().count() < 20);
}

#[test]
fn shown_to_people() {
    let octets = request(|w| {
        let group = w.open(MULTIPLE_SERVICES_CREDIT_CONTROL);
        w.unsigned32(RATING_GROUP, 10);
        w.unsigned32(REPORTING_REASON, 3);
        w.close(group);
        w.text(USER_NAME, "a\u{1b}[2J");
        w.octets(CC_TIME, &[1]);
    });
    let message = Message::new(&octets).unwrap();
    assert_eq!(message.to_string(), "CCR-U 3 of s");
    let shown = format!("{message:#}");
    let expected = "CCR-U 3 of s\n  application 4, hop-by-hop 0x00000001, end-to-end 0x00000002, flags RP--\n  \
        Session-Id: s\n  Origin-Host: c.x\n  Origin-Realm: x\n  Destination-Realm: x\n  Auth-Application-Id: 4\n  \
        Service-Context-Id: 32251@3gpp.org\n  CC-Request-Type: 2 UPDATE_REQUEST\n  CC-Request-Number: 3\n  \
        Multiple-Services-Credit-Control\n    Rating-Group: 10\n    3GPP-Reporting-Reason: 3 QUOTA_EXHAUSTED\n  \
        User-Name: a\\u{1b}[2J\n  CC-Time: 01 (not of its type)\n";
    assert_eq!(shown, expected);
    let failure = Failure::missing(RATING_GROUP).within(MULTIPLE_SERVICES_CREDIT_CONTROL);
    let told = "5005 DIAMETER_MISSING_AVP: Rating-Group in Multiple-Services-Credit-Control";
    assert_eq!(failure.to_string(), told);
}

#[test]
fn the_dictionary_is_in_order() {
    assert!(dictionary::TABLE.windows(2).all(|pair| pair[0].key < pair[1].key));
    assert!(dictionary::TABLE.iter().all(|d| dictionary::find(d.key) == Some(d)));
    assert!(dictionary::TABLE.iter().all(|d| dictionary::is_mandatory(d.key) == d.mandatory));
}

#[test]
fn tariff_change_and_empty_requests_are_told_apart() {
    let before = UsedServiceUnit {
        tariff_change_usage: Some(TariffChangeUsage::Before),
        total_octets: Some(5),
        ..Default::default()
    };
    let after = UsedServiceUnit { tariff_change_usage: Some(TariffChangeUsage::After), ..before };
    let used = [before, after];
    let services = [
        MultipleServices { requested: Some(Default::default()), used: List::Values(&used), ..Default::default() },
        MultipleServices { rating_group: Some(7), ..Default::default() },
    ];
    let request = CreditControlRequest { services: List::Values(&services), ..Default::default() };
    let mut out = Vec::new();
    request.write(&credit_control(), &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let read = CreditControlRequest::read(&message).unwrap();
    assert_eq!(read, request);
    let first = read.services.iter().next().unwrap();
    assert!(first.requested.is_some_and(|r| r.is_empty()));
    assert_eq!(first.used.iter().map(|u| u.tariff_change_usage.unwrap().number()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(read.services.iter().nth(1).unwrap().requested, None);
}

fn used(seed: u64) -> UsedServiceUnit<'static> {
    UsedServiceUnit {
        reporting_reason: ReportingReason::from_number(seed as u32 % 12),
        tariff_change_usage: TariffChangeUsage::from_number(seed as u32 % 5),
        time_s: seed.is_multiple_of(3).then_some(seed as u32),
        money: seed.is_multiple_of(7).then_some(Money {
            value: UnitValue { digits: -(seed as i64 >> 8), exponent: Some(-2) },
            currency_code: None,
        }),
        total_octets: seed.is_multiple_of(2).then_some(seed),
        input_octets: (!seed.is_multiple_of(11)).then_some(!seed),
        ..Default::default()
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        session in "\\PC{0,40}", names in prop::collection::vec("[0-9]{1,15}", 0..4), numbers in any::<[u32; 4]>(),
        seeds in prop::collection::vec(any::<u64>(), 0..5), octets in prop::collection::vec(any::<u8>(), 0..20),
        kind in 1u32..5, time in any::<u32>(),
    ) {
        let subscription_ids: Vec<_> =
            names.iter().map(|name| SubscriptionId { kind: SubscriptionIdType::E164, name }).collect();
        let units: Vec<_> = seeds.iter().copied().map(used).collect();
        let services: Vec<_> = seeds
            .iter()
            .map(|seed| MultipleServices {
                used: List::Values(&units[..*seed as usize % (units.len() + 1)]),
                service_identifiers: List::Values(&numbers[..*seed as usize % 5]),
                rating_group: Some(*seed as u32),
                final_unit_indication: (seed % 2 == 1).then(|| FinalUnitIndication {
                    action: FinalUnitAction::Redirect,
                    redirect_server: Some(RedirectServer { address_type: RedirectAddressType::Url, address: &session }),
                    ..Default::default()
                }),
                ..Default::default()
            })
            .collect();
        let address = [HostAddress::Ip([10, 1, 2, 3].into()), HostAddress::Other(8, &octets)];
        let request = CreditControlRequest {
            session_id: &session,
            request_type: RequestType::from_number(kind).unwrap(),
            request_number: numbers[0],
            event_timestamp: Some(Time::from_ntp(time)),
            subscription_ids: List::Values(&subscription_ids),
            services: List::Values(&services),
            correlation_id: Some(&octets),
            service_information: Some(ServiceInformation {
                ps: Some(PsInformation {
                    charging_id: Some(&octets),
                    sgsn_addresses: List::Values(&address),
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut out = Vec::new();
        request.write(&credit_control(), &mut out).unwrap();
        let message = Message::new(&out).unwrap();
        prop_assert_eq!(CreditControlRequest::read(&message), Ok(request));
        exercise::diameter(&out);
    }

    #[test]
    fn any_octets_are_taken(octets in prop::collection::vec(any::<u8>(), 0..200), at: usize, octet: u8) {
        exercise::diameter(&octets);
        exercise::diameter(&message(credit_control(), &octets[..octets.len() & !3]));
        let mut spoilt = request(|w| used(octets.len() as u64).write(USED_SERVICE_UNIT, w));
        let at = at % spoilt.len();
        spoilt[at] = octet;
        exercise::diameter(&spoilt);
    }
}
