//! What Wireshark is told: a line for each interface, link type and option.

/// An interface that Wireshark shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// A call.
    Call,
    /// A range of time.
    Range,
    /// The newest packets.
    Live,
}

/// Packets come as pcapng, whose own descriptions say their link types.
pub const LINK_TYPES: &str = "dlt {number=1}{name=EN10MB}{display=Ethernet, and what else was recorded}\n";

/// Where it is explained.
const HELP: &str = env!("CARGO_PKG_REPOSITORY");

impl Interface {
    /// All of them.
    pub const ALL: [Interface; 3] = [Interface::Call, Interface::Range, Interface::Live];

    /// Its name, as `-i` of Wireshark takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Interface::Call => "trunkline-call",
            Interface::Range => "trunkline-range",
            Interface::Live => "trunkline-live",
        }
    }

    /// The interface of that name.
    pub fn of_name(name: &str) -> Option<Interface> {
        Interface::ALL.into_iter().find(|i| i.name() == name)
    }

    const fn title(self) -> &'static str {
        match self {
            Interface::Call => "Trunkline: a call",
            Interface::Range => "Trunkline: time range",
            Interface::Live => "Trunkline: live",
        }
    }
}

/// The program and its interfaces.
pub fn interfaces() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let help = if HELP.is_empty() { String::new() } else { format!("{{help={HELP}}}") };
    let lines = Interface::ALL.map(|i| format!("interface {{value={}}}{{display={}}}\n", i.name(), i.title()));
    format!("extcap {{version={version}}}{{display=Trunkline}}{help}\n{}", lines.concat())
}

/// A field: option, title, explanation, what stands in it as an example, whether it has to be filled in.
type Field = (&'static str, &'static str, &'static str, &'static str, bool);

const CALL: Field =
    ("--call", "Call", "Its ID, the beginning of one, or its Call-ID: `trunkline calls` lists them", "018f332b", true);
const FROM: Field =
    ("--from", "From", "A day, minute or second; of your zone, unless it has an offset", "2026-11-20T10:00", false);
const TO: Field = ("--to", "To", "To the end of the day, minute or second that is named", "2026-11-20T10:05", false);
const EXPRESSION: Field = (
    "--expression",
    "Expression",
    "As of pcap-filter(7); inner before a word asks the innermost headers of a tunnel",
    "inner host 10.45.0.3",
    false,
);
const DATA: Field = ("--data", "Data folder", "Several with a colon between them", "", true);

/// The options of an interface; `data` is what is offered as data folder.
pub fn options(interface: Interface, data: &str) -> String {
    let fields: &[Field] = match interface {
        Interface::Call => &[CALL, DATA],
        Interface::Range => &[FROM, TO, EXPRESSION, DATA],
        Interface::Live => &[EXPRESSION, DATA],
    };
    let line = |(number, (call, display, tooltip, placeholder, required)): (usize, &Field)| {
        let mut line = format!("arg {{number={number}}}{{call={call}}}{{display={display}}}{{type=string}}");
        line.push_str(&format!("{{tooltip={tooltip}}}"));
        let optional = [
            ("placeholder", *placeholder),
            ("required", if *required { "true" } else { "" }),
            // A sentence has no way to write braces and line ends.
            ("default", if *call == DATA.0 && !data.contains(['{', '}', '\n']) { data } else { "" }),
        ];
        for (name, value) in optional.iter().filter(|(_, value)| !value.is_empty()) {
            line.push_str(&format!("{{{name}={value}}}"));
        }
        line + "\n"
    };
    fields.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_a_word_and_pairs() {
        let mut text = interfaces() + LINK_TYPES;
        Interface::ALL.iter().for_each(|i| text += &options(*i, "/var/lib/trunkline"));
        for line in text.lines() {
            let (word, pairs) = line.split_once(' ').unwrap();
            assert!(["extcap", "interface", "dlt", "arg"].contains(&word), "{line}");
            let pairs = pairs.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap();
            assert!(pairs.split("}{").all(|p| p.contains('=') && !p.contains(['{', '}'])), "{line}");
        }
        assert!(options(Interface::Live, "/a{b}").lines().all(|line| !line.contains("default")));
    }
}
