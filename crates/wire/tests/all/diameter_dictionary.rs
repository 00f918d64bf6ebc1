//! The dictionary against Wireshark's, where that is installed: code, vendor, type and M flag of each AVP.

use std::path::Path;
use trunkline_wire::diameter::dictionary::{Definition, Format, TABLE, TGPP};

/// What another dictionary says of an AVP.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Entry {
    vendor: u32,
    code: u32,
    name: String,
    format: String,
    mandatory: String,
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default()
}

fn entries(text: &str) -> Vec<Entry> {
    text.split("<avp ")
        .skip(1)
        .filter_map(|part| {
            let part = format!(" {}", part.split("</avp>").next()?);
            let (head, body) = part.split_once('>')?;
            let vendor = match attribute(head, "vendor-id") {
                "TGPP" => TGPP,
                "" | "None" => 0,
                _ => return None,
            };
            let grouped = body.contains("<grouped>");
            let kind = body.find("<type").map_or("", |at| attribute(&body[at..], "type-name"));
            Some(Entry {
                vendor,
                code: attribute(head, "code").parse().ok()?,
                name: attribute(head, "name").to_owned(),
                format: if grouped { "Grouped".to_owned() } else { kind.to_owned() },
                mandatory: attribute(head, "mandatory").to_owned(),
            })
        })
        .collect()
}

/// Whether one type may stand for the other.
fn same_type(ours: Format, theirs: &str) -> bool {
    match ours {
        Format::Octets => theirs.starts_with("OctetString") || theirs == "IPAddress" || theirs == "UTF8String",
        Format::Text => theirs == "UTF8String",
        Format::Identity => theirs == "DiameterIdentity",
        Format::Uri => theirs == "DiameterURI",
        Format::FilterRule => theirs == "IPFilterRule",
        // Theirs keeps some numbers with names as Enumerated, and application and vendor numbers as types.
        Format::Unsigned32 => matches!(theirs, "Unsigned32" | "AppId" | "VendorId" | "Enumerated" | "Integer32"),
        Format::Unsigned64 => theirs == "Unsigned64",
        Format::Integer32 => theirs == "Integer32",
        Format::Integer64 => theirs == "Integer64",
        Format::Time => theirs == "Time",
        Format::Address => theirs == "IPAddress",
        Format::Enumerated | Format::Named(_) => theirs == "Enumerated",
        Format::Grouped => theirs == "Grouped",
    }
}

#[test]
fn the_dictionary_is_that_of_wireshark() {
    let folder = Path::new("/usr/share/wireshark/diameter");
    let files = ["dictionary.xml", "TGPP.xml", "chargecontrol.xml", "nasreq.xml"];
    let texts: Vec<String> = files.iter().filter_map(|f| std::fs::read_to_string(folder.join(f)).ok()).collect();
    if texts.len() < files.len() {
        println!("SKIPPED: Wireshark's dictionary is not installed");
        return;
    }
    let theirs: Vec<Entry> = texts.iter().flat_map(|text| entries(text)).collect();
    let differs = |ours: &&Definition| {
        let mut same_code = theirs.iter().filter(|t| (t.vendor, t.code) == (ours.key.vendor, ours.key.code)).peekable();
        // One that they do not know cannot differ; the count below says how many those are.
        same_code.peek().is_some()
            && !same_code.any(|t| {
                let must = t.mandatory == "must";
                let flag = must == ours.mandatory || matches!(t.mandatory.as_str(), "" | "may");
                same_type(ours.format, &t.format) && flag && (t.name == ours.name || ours.name.starts_with("Acct"))
            })
    };
    let wrong: Vec<_> = TABLE.iter().filter(differs).map(|d| (d.name, d.key, d.format)).collect();
    let known = TABLE.iter().filter(|d| theirs.iter().any(|t| (t.vendor, t.code) == (d.key.vendor, d.key.code)));
    assert!(known.count() > TABLE.len() * 9 / 10, "their dictionary was not read");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
