//! SIP messages as text: a message is a [`Step`] of a call's script, told with the call's [`Scene`].

use crate::mixture::{OTHERS, Relay};
use crate::scene::{Host, Party, Scene};
use crate::sdp::{self, Sdp};
use std::io::Write;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Invite,
    Ack,
    Bye,
    Cancel,
    Register,
    Options,
    Subscribe,
    Notify,
    Message,
    Publish,
    Info,
    Update,
    Prack,
    Refer,
}

impl Method {
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "INVITE",
            "ACK",
            "BYE",
            "CANCEL",
            "REGISTER",
            "OPTIONS",
            "SUBSCRIBE",
            "NOTIFY",
            "MESSAGE",
            "PUBLISH",
            "INFO",
            "UPDATE",
            "PRACK",
            "REFER",
        ];
        NAMES[self as usize]
    }

    /// Whether its messages say where they can be reached.
    fn has_contact(self) -> bool {
        use Method::{Invite, Notify, Refer, Register, Subscribe, Update};
        matches!(self, Invite | Register | Subscribe | Notify | Update | Refer)
    }
}

/// What a message carries besides what all of its kind do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Extra {
    #[default]
    None,
    Sdp(Sdp),
    /// A challenge; of a proxy if the status is 407.
    Challenge,
    /// A challenge that says that the nonce of the credentials was too old (RFC 7616 section 3.3).
    StaleChallenge,
    /// A challenge that says so in its reason phrase only, as SIP Express Router does.
    NonceHasChanged,
    /// Credentials for a challenge of this status, and what else the request has.
    Credentials(u16, Option<Sdp>),
    /// A reliable provisional response (RFC 3262) with its number.
    Reliable(u32, Option<Sdp>),
    /// What PRACK acknowledges: the response's number and the INVITE's CSeq; and its own description.
    Acknowledges(u32, u32, Option<Sdp>),
    /// Seconds, in REGISTER, SUBSCRIBE, PUBLISH and their responses.
    Expires(u32),
    /// Credentials in REGISTER.
    RegisterAgain(u32),
    ReferTo,
    /// NOTIFY of a REFER: the status of what was asked for.
    Progress(u16),
    Voicemail,
    Text,
    Presence,
    /// A digit in INFO.
    Digit(u8),
    /// Where else: the contact of a redirection.
    MovedTo,
    /// Session timer (RFC 4028), with or without a description.
    Refresh(Option<Sdp>),
    /// BYE because no refresh came in time (RFC 3326, RFC 4028 section 10).
    TimerExpired,
    /// BYE as a gateway to the telephone network sends it.
    NormalClearing,
    /// ACK of a failure: goes where the INVITE went (RFC 3261 section 17.1.1.3).
    OfFailure,
}

impl Extra {
    pub fn sdp(&self) -> Option<&Sdp> {
        match self {
            Extra::Sdp(sdp) => Some(sdp),
            Extra::Credentials(_, sdp) | Extra::Reliable(_, sdp) => sdp.as_ref(),
            Extra::Acknowledges(_, _, sdp) | Extra::Refresh(sdp) => sdp.as_ref(),
            _ => None,
        }
    }
}

/// One message on one hop at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub at_ns: i64,
    pub from: Party,
    pub to: Party,
    pub method: Method,
    /// 0 for a request.
    pub status: u16,
    pub cseq: u32,
    /// Number of the transaction in the call.
    pub branch: u16,
    /// Which end sent the request.
    pub asker: Party,
    /// Which of several callees answers (forking); 0: To has no tag.
    pub fork: u8,
    /// 0 on the hop next to who sent the request, 1 on the one behind the proxy.
    pub hop: u8,
    /// Number of the proxy's own transaction behind it, where it is not that of the first hop; else 0.
    pub relay: u16,
    /// Repeats an earlier message.
    pub repeats: bool,
    pub extra: Extra,
}

impl Step {
    /// Whether it passes behind the proxy.
    pub fn is_far(&self) -> bool {
        self.from != Party::Caller && self.to != Party::Caller
    }

    /// Whether it is about a target that does not take the call.
    pub fn is_aside(&self) -> bool {
        self.fork >= OTHERS || [self.from, self.to].iter().any(|p| matches!(p, Party::Second | Party::Third))
    }

    /// Who is meant by the side of the callee: the target that it is about.
    pub fn callee(&self) -> Party {
        if let Some(target) = [self.from, self.to].into_iter().find(|p| p.side() == 1) {
            return target;
        }
        match self.fork {
            OTHERS => Party::Second,
            fork if fork > OTHERS => Party::Third,
            _ => Party::Callee,
        }
    }

    /// Who speaks, at the end of the call.
    pub fn speaker(&self) -> Party {
        let caller = (self.asker == Party::Caller) == (self.status == 0);
        if caller { Party::Caller } else { self.callee() }
    }

    /// Who is spoken to, at the end of the call.
    fn listener(&self) -> Party {
        if self.speaker() == Party::Caller { self.callee() } else { Party::Caller }
    }
}

/// Writes the message of a step.
pub(crate) fn write(out: &mut Vec<u8>, body: &mut Vec<u8>, scene: &Scene, step: &Step) {
    body.clear();
    let kind = write_body(body, scene, step);
    let mut w = Writer { out, scene, step };
    w.start_line();
    w.vias();
    w.routes();
    w.identity();
    w.contact();
    w.extras();
    let (content_type, length) = if scene.compact { ("c", "l") } else { ("Content-Type", "Content-Length") };
    if !body.is_empty() {
        w.field(content_type, kind);
    }
    let _ = write!(w.out, "{length}: {}\r\n\r\n", body.len());
    w.out.extend_from_slice(body);
}

/// The reason phrase of a status code.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        100 => "Trying",
        180 => "Ringing",
        183 => "Session Progress",
        200 => "OK",
        202 => "Accepted",
        302 => "Moved Temporarily",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        407 => "Proxy Authentication Required",
        410 => "Gone",
        480 => "Temporarily Unavailable",
        481 => "Call/Transaction Does Not Exist",
        484 => "Address Incomplete",
        486 => "Busy Here",
        487 => "Request Terminated",
        488 => "Not Acceptable Here",
        491 => "Request Pending",
        500 => "Server Internal Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Server Time-out",
        600 => "Busy Everywhere",
        603 => "Decline",
        604 => "Does Not Exist Anywhere",
        606 => "Not Acceptable",
        _ => "Unknown",
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    scene: &'a Scene,
    step: &'a Step,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn field(&mut self, name: &str, value: &str) {
        self.text(name);
        self.text(": ");
        self.text(value);
        self.text("\r\n");
    }

    fn start_line(&mut self) {
        let s = self.step;
        if s.status > 0 {
            let reason = if s.extra == Extra::NonceHasChanged { "nonce has changed" } else { reason(s.status) };
            let _ = write!(self.out, "SIP/2.0 {} {reason}\r\n", s.status);
            return;
        }
        self.text(s.method.name());
        self.text(" sip:");
        match s.method {
            Method::Register | Method::Options | Method::Publish => self.text(self.scene.domain),
            // Outside a dialog: the address of record. The re-tried INVITE of a redirection goes to where it was told.
            _ if self.is_outside_dialog() => {
                self.text(&self.scene.users[1]);
                self.text("@");
                self.text(self.scene.domain);
            }
            _ => {
                let side = s.asker.other();
                self.text(&self.scene.users[side.side()]);
                let host = self.signs(s.listener()).told;
                let _ = write!(self.out, "@{host}");
            }
        }
        self.text(" SIP/2.0\r\n");
    }

    /// Who a party is on this hop: a back-to-back user agent is the other end of each of its legs.
    fn signs(&self, party: Party) -> &Host {
        let scene = self.scene;
        let stands_in = scene.relay != Relay::Proxy && self.step.is_far() == (party == Party::Caller);
        scene.host(if stands_in && scene.proxied { Party::Proxy } else { party })
    }

    /// A back-to-back user agent counts requests its own way on the legs behind it.
    fn numbered_on(&self) -> u32 {
        if self.step.is_far() && self.scene.relay != Relay::Proxy { 100 } else { 0 }
    }

    fn is_outside_dialog(&self) -> bool {
        self.step.asker == Party::Caller && (self.step.fork == 0 || self.step.extra == Extra::OfFailure)
    }

    fn vias(&mut self) {
        let (name, transport) =
            (if self.scene.compact { "v" } else { "Via" }, if self.scene.tcp { "TCP" } else { "UDP" });
        let s = self.step;
        let behind = self.scene.relay != Relay::Proxy;
        let mut via = |party: Party, hop: u8| {
            let host = self.scene.host(party);
            let branch = if hop == 1 && s.relay > 0 { s.relay } else { s.branch };
            let _ = write!(
                self.out,
                "{name}: SIP/2.0/{transport} {};branch=z9hG4bK{:08x}.{}.{branch}.{hop};rport",
                host.told, self.scene.tags[0], s.asker as u8
            );
            // RFC 3581 section 4: who answers says where the request came from.
            if s.status > 0 {
                let _ = write!(self.out, "={};received={}", host.seen.port, host.seen.address);
            }
            self.out.extend_from_slice(b"\r\n");
        };
        if s.hop == 1 {
            via(Party::Proxy, 1);
        }
        // Nothing of the leg before is seen behind a back-to-back user agent, and CANCEL goes hop by hop.
        let hop_by_hop = s.relay > 0 && (s.method == Method::Cancel || s.extra == Extra::OfFailure);
        if s.hop == 0 || !(behind || hop_by_hop) {
            via(s.asker, 0);
        }
    }

    fn routes(&mut self) {
        if !self.scene.proxied || self.scene.relay != Relay::Proxy {
            return;
        }
        let (s, proxy) = (self.step, self.scene.host(Party::Proxy).told);
        let dialog_begins = s.method == Method::Invite && (s.fork <= 1 || s.fork >= OTHERS);
        if s.status == 0 && s.hop == 0 && s.fork > 0 && s.extra != Extra::OfFailure {
            let _ = write!(self.out, "Route: <sip:{proxy};lr>\r\n");
        } else if dialog_begins && (s.status > 100 || s.hop == 1) {
            let _ = write!(self.out, "Record-Route: <sip:{proxy};lr>\r\n");
        }
    }

    /// Max-Forwards, From, To, Call-ID, CSeq.
    fn identity(&mut self) {
        let (scene, s) = (self.scene, self.step);
        let names = if scene.compact { ["f", "t", "i"] } else { ["From", "To", "Call-ID"] };
        if s.status == 0 {
            let _ = write!(self.out, "Max-Forwards: {}\r\n", 70 - s.hop);
        }
        let from = s.asker.side();
        // Who registers is the address of record and who asks for it.
        let to = if s.method == Method::Register { from } else { 1 - from };
        // The callee's tag is that of the fork that speaks.
        let ends = scene.leg_tags(s.is_far().then(|| s.callee()), s.fork);
        let tags = if s.asker == Party::Caller { ends } else { [ends[1], ends[0]] };
        self.party(names[0], from, Some(tags[0]));
        self.party(names[1], to, (s.fork > 0).then_some(tags[1]));
        let leg = s.is_far().then(|| s.callee());
        self.field(names[2], &scene.leg_call_id(leg));
        let cseq = s.cseq + self.numbered_on();
        let _ = write!(self.out, "CSeq: {cseq} {}\r\n", s.method.name());
    }

    fn party(&mut self, name: &str, side: usize, tag: Option<u32>) {
        let scene = self.scene;
        let _ = write!(self.out, "{name}: <sip:{}@{}>", scene.users[side], scene.domain);
        if let Some(tag) = tag {
            let _ = write!(self.out, ";tag={tag:x}");
        }
        self.text("\r\n");
    }

    fn contact(&mut self) {
        let (scene, s) = (self.scene, self.step);
        let speaker = s.speaker();
        let answers = s.status == 0 || (s.status > 100 && s.status < 300 && s.method != Method::Register);
        if s.method.has_contact() && answers {
            let name = if scene.compact { "m" } else { "Contact" };
            let told = self.signs(speaker).told;
            let _ = write!(self.out, "{name}: <sip:{}@{told}", scene.users[speaker.side()]);
            self.text(if scene.tcp { ";transport=tcp>\r\n" } else { ">\r\n" });
        }
        let agent = self.signs(speaker).agent;
        self.field(if s.status == 0 { "User-Agent" } else { "Server" }, agent);
        if s.method == Method::Invite && s.status == 0 {
            self.text("Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REFER, NOTIFY, MESSAGE\r\n");
            self.field(if scene.compact { "k" } else { "Supported" }, "100rel, timer, replaces");
        }
    }

    fn extras(&mut self) {
        let (scene, s) = (self.scene, self.step);
        let (realm, nonce) = (scene.domain, scene.nonce);
        match s.extra {
            Extra::Challenge | Extra::StaleChallenge | Extra::NonceHasChanged => {
                let name = if s.status == 407 { "Proxy-Authenticate" } else { "WWW-Authenticate" };
                // Each challenge has a nonce of its own.
                let nonce = nonce.wrapping_add(u64::from(s.cseq));
                let _ = write!(
                    self.out,
                    "{name}: Digest realm=\"{realm}\", nonce=\"{nonce:016x}\", algorithm=MD5, qop=\"auth\"{}\r\n",
                    match s.extra {
                        Extra::StaleChallenge => ", stale=TRUE",
                        Extra::NonceHasChanged => ", stale=false",
                        _ => "",
                    }
                );
            }
            Extra::Credentials(status, _) => {
                self.credentials(if status == 407 { "Proxy-Authorization" } else { "Authorization" });
            }
            Extra::Reliable(number, _) => {
                let _ = write!(self.out, "Require: 100rel\r\nRSeq: {number}\r\n");
            }
            Extra::Acknowledges(number, cseq, _) => {
                let cseq = cseq + self.numbered_on();
                let _ = write!(self.out, "RAck: {number} {cseq} INVITE\r\n");
            }
            Extra::Expires(seconds) => self.expires(seconds),
            Extra::RegisterAgain(seconds) => {
                self.credentials("Authorization");
                self.expires(seconds);
            }
            Extra::ReferTo => {
                let name = if scene.compact { "r" } else { "Refer-To" };
                let _ = write!(self.out, "{name}: <sip:+442079460999@{realm}>\r\n");
            }
            Extra::Progress(status) => {
                self.text("Event: refer\r\nSubscription-State: ");
                self.text(if status < 200 { "active;expires=60\r\n" } else { "terminated;reason=noresource\r\n" });
            }
            Extra::Voicemail => self.text("Event: message-summary\r\nSubscription-State: active;expires=3600\r\n"),
            Extra::Presence => self.text("Event: presence\r\nExpires: 3600\r\n"),
            Extra::MovedTo => {
                let _ = write!(self.out, "Contact: <sip:{}@{realm};user=phone>\r\n", scene.users[1]);
            }
            Extra::Refresh(_) => self.text("Session-Expires: 1800;refresher=uac\r\nMin-SE: 90\r\n"),
            Extra::TimerExpired => self.field("Reason", "SIP;cause=408;text=\"Session timer expired\""),
            Extra::NormalClearing => self.field("Reason", "Q.850;cause=16;text=\"Normal call clearing\""),
            Extra::None | Extra::OfFailure | Extra::Sdp(_) | Extra::Text | Extra::Digit(_) => {}
        }
    }

    /// The response is not computed: nobody here checks it.
    fn credentials(&mut self, name: &str) {
        let (scene, s) = (self.scene, self.step);
        let _ = write!(
            self.out,
            "{name}: Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{nonce:016x}\", uri=\"sip:{realm}\", \
             response=\"{:016x}{:016x}\", algorithm=MD5, cnonce=\"{:08x}\", qop=auth, nc=00000001\r\n",
            scene.nonce.rotate_left(17),
            scene.nonce.rotate_left(31),
            scene.tags[1],
            user = scene.users[s.asker.side()],
            realm = scene.domain,
            nonce = scene.nonce.wrapping_add(u64::from(s.cseq - 1)),
        );
    }

    fn expires(&mut self, seconds: u32) {
        let (scene, s) = (self.scene, self.step);
        match s.method {
            Method::Register if s.status > 0 => {
                let host = scene.host(s.asker).told;
                let _ = write!(self.out, "Contact: <sip:{}@{host}>;expires={seconds}\r\n", scene.users[0]);
            }
            Method::Subscribe if s.status == 0 => {
                let _ = write!(self.out, "Event: message-summary\r\nExpires: {seconds}\r\n");
            }
            _ => {
                let _ = write!(self.out, "Expires: {seconds}\r\n");
            }
        }
    }
}

/// Writes the body and says what it is.
fn write_body(body: &mut Vec<u8>, scene: &Scene, step: &Step) -> &'static str {
    if let Some(sdp) = step.extra.sdp() {
        let speaker = step.speaker();
        let media = scene.described(speaker, step.is_far(), sdp);
        sdp::write(body, scene, (speaker, scene.host(speaker)), media, sdp);
        return "application/sdp";
    }
    let written = match step.extra {
        Extra::Progress(status) => write!(body, "SIP/2.0 {status} {}\r\n", reason(status)).map(|()| "message/sipfrag"),
        Extra::Voicemail => write!(body, "Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n")
            .map(|()| "application/simple-message-summary"),
        Extra::Text => write!(body, "Running ten minutes late.").map(|()| "text/plain"),
        Extra::Presence => presence(body, &scene.users[0]),
        Extra::Digit(digit) => {
            write!(body, "Signal={}\r\nDuration=160\r\n", char::from(digit)).map(|()| "application/dtmf-relay")
        }
        _ => Ok(""),
    };
    written.unwrap_or("")
}

fn presence(body: &mut Vec<u8>, user: &str) -> std::io::Result<&'static str> {
    write!(
        body,
        "<?xml version=\"1.0\"?>\r\n<presence xmlns=\"urn:ietf:params:xml:ns:pidf\" entity=\"sip:{user}\">\
         <tuple id=\"t1\"><status><basic>open</basic></status></tuple></presence>\r\n"
    )?;
    Ok("application/pidf+xml")
}
