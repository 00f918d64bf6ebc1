//! Messages at receivers that we did not write.
//!
//! Test group: waits: for receivers.

use crate::world;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use world::{LONG, RULE, Receiver, certificate, free_port, see, start};

#[test]
fn webhooks_are_posted_and_tried_again_under_the_same_name() {
    let Some(mut receiver) = Receiver::python(&["webhook", "503", "200", "404"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "Bearer s3cret\n").unwrap();
    let text = format!(
        "{RULE}[route.all]\nchannels = \"hook\"\nwait = \"0 s\"\ninterval = \"0 s\"\n[channel.hook]\nkind = \"webhook\"\n\
         url = \"http://127.0.0.1:{}/hook?a=b\"\nheaders = \"X-Team: noc\"\nauthorization-file = \"{}\"\n",
        receiver.port,
        secret.display()
    );
    let alerts = start(&folder.path().join("log"), &text);
    alerts.observe(vec![see("edge-1 Gi0/1", 7.5)]).unwrap();
    let (first, again) = (receiver.next(), receiver.next());
    assert_eq!(first, again);
    let headers = &first["headers"];
    assert_eq!(first["path"], "/hook?a=b");
    assert_eq!((&headers["x-team"], &headers["authorization"]), (&"noc".into(), &"Bearer s3cret".into()));
    let body: Value = serde_json::from_str(first["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["id"], headers["idempotency-key"]);
    assert_eq!(body["alerts"][0]["title"], "edge-1 Gi0/1 is full: 7.5 \u{20ac}");
    assert_eq!(body["alerts"][0]["labels"]["severity"], "critical");
    assert!(alerts.wait_for(LONG, |view| view.delivery.delivered == 1 && view.waiting == 0));
    // What is refused for good is not tried again.
    alerts.observe(vec![see("edge-2", 9.0)]).unwrap();
    receiver.next();
    assert!(alerts.wait_for(LONG, |view| view.delivery.given_up == 1 && view.waiting == 0));
    assert_eq!(alerts.view().delivery.attempts, 3);
}

#[test]
fn mail_goes_over_starttls_with_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let port = free_port().to_string();
    let Some(mut receiver) = Receiver::python(&["mail", &certificate, &key, &port]) else { return };
    let password = folder.path().join("password");
    std::fs::write(&password, "s3cret\n").unwrap();
    let text = format!(
        "{RULE}[route.all]\nchannels = \"mail\"\nwait = \"0 s\"\n[channel.mail]\nkind = \"mail\"\n\
         server = \"localhost:{}\"\nfrom = \"alert@example.org\"\nto = [\"nobody@example.org\", \"noc@example.org\"]\n\
         user = \"alert\"\npassword-file = \"{}\"\nissuers = \"{certificate}\"\n",
        receiver.port,
        password.display()
    );
    let alerts = start(&folder.path().join("log"), &text);
    alerts.observe(vec![see("edge-1", 7.5), see("edge-2", 8.5)]).unwrap();
    let mail = receiver.next();
    assert_eq!((&mail["from"], &mail["to"][0]), (&"alert@example.org".into(), &"noc@example.org".into()));
    assert_eq!(mail["subject"], "[firing 2] edge-1 is full: 7.5 \u{20ac}, ..");
    assert_eq!((&mail["tls"], &mail["user"], &mail["defects"]), (&true.into(), &"alert".into(), &0.into()));
    let text = mail["parts"][0].as_str().unwrap();
    assert!(text.contains("FIRING (critical): edge-2 is full: 8.5 \u{20ac}"), "{text}");
    let json: Value = serde_json::from_str(mail["parts"][1].as_str().unwrap()).unwrap();
    assert_eq!(mail["id"].as_str().unwrap(), format!("<{}@example.org>", json["id"].as_str().unwrap()));
    assert!(alerts.wait_for(LONG, |view| view.delivery.delivered == 1 && view.waiting == 0));
}

/// rsyslog writes what it has read, field by field, to its output.
fn syslog(transport: &str, module: &str) {
    if !std::path::Path::new("/usr/sbin/rsyslogd").exists() {
        eprintln!("SKIPPED: there is no rsyslogd");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (port, out) = (free_port(), at("out"));
    let made = Command::new("mkfifo").arg(&out).status().unwrap();
    assert!(made.success());
    let conf = format!(
        "global(workDirectory=\"{dir}\" defaultNetstreamDriverCAFile=\"{certificate}\" \
         defaultNetstreamDriverCertFile=\"{certificate}\" defaultNetstreamDriverKeyFile=\"{key}\")\n{module}\n\
         template(name=\"t\" type=\"string\" \
         string=\"%syslogfacility%|%syslogseverity%|%app-name%|%msgid%|%structured-data%|%msg%\\n\")\n\
         action(type=\"ompipe\" pipe=\"{out}\" template=\"t\")\n",
        dir = folder.path().display()
    )
    .replace("PORT", &port.to_string());
    std::fs::write(at("conf"), conf).unwrap();
    let mut command = Command::new("/usr/sbin/rsyslogd");
    command.args(["-n", "-f", &at("conf"), "-i", &at("pid")]).stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut server = command.spawn().unwrap();
    let mut pipe = std::fs::OpenOptions::new().read(true).write(true).open(&out).map(BufReader::new).unwrap();
    let issuers = if transport == "tls" { format!("issuers = \"{certificate}\"\n") } else { String::new() };
    let text = format!(
        "{RULE}[route.all]\nchannels = \"log\"\nwait = \"0 s\"\ninterval = \"0 s\"\n[channel.log]\nkind = \"syslog\"\n\
         server = \"localhost:{port}\"\ntransport = \"{transport}\"\n{issuers}"
    );
    let alerts = start(&folder.path().join("log"), &text);
    let mut line = String::new();
    let mut sent = 0;
    // A datagram that comes before the server listens is lost: others follow until one is written.
    while !line.contains("edge-") {
        alerts.observe(vec![see(&format!("edge-{sent} \"]"), 7.5)]).unwrap();
        sent += 1;
        let delivered = alerts.wait_for(LONG, |view| view.delivery.delivered >= sent);
        assert!(delivered, "{:?}", alerts.view());
        if transport != "udp" || rustix_readable(&pipe) {
            pipe.read_line(&mut line).unwrap();
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    let parts: Vec<&str> = line.trim_end().split('|').collect();
    assert_eq!(parts[..4], ["16", "2", "trunkline", "firing"], "{line}");
    assert!(parts[4].starts_with("[alert@32473 message=\"") && parts[4].contains("\\\"\\]\""), "{line}");
    assert!(parts[5].contains("\"] is full: 7.5"), "{line}");
}

/// Whether something can be read soon.
fn rustix_readable(pipe: &BufReader<std::fs::File>) -> bool {
    let mut polled = [rustix::event::PollFd::new(pipe.get_ref(), rustix::event::PollFlags::IN)];
    let wait = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
    rustix::event::poll(&mut polled, Some(&wait)).unwrap() > 0
}

#[test]
fn syslog_over_udp() {
    syslog("udp", "module(load=\"imudp\")\ninput(type=\"imudp\" port=\"PORT\" address=\"127.0.0.1\")");
}

#[test]
fn syslog_over_tcp() {
    syslog("tcp", "module(load=\"imtcp\")\ninput(type=\"imtcp\" port=\"PORT\" address=\"127.0.0.1\")");
}

#[test]
fn syslog_over_tls() {
    if !std::path::Path::new("/usr/share/doc/rsyslog-gnutls").exists() {
        eprintln!("SKIPPED: there is no rsyslog-gnutls");
        return;
    }
    syslog(
        "tls",
        "module(load=\"imtcp\" StreamDriver.Name=\"gtls\" StreamDriver.Mode=\"1\" StreamDriver.AuthMode=\"anon\")\n\
         input(type=\"imtcp\" port=\"PORT\" address=\"127.0.0.1\")",
    );
}

#[test]
fn commands_get_arguments_as_they_are_and_do_not_run_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = format!(
        "{RULE}[route.all]\nwhen = \"subject = edge*\"\nchannels = \"run\"\nwait = \"0 s\"\n[channel.run]\n\
         kind = \"command\"\ncommand = [\"tee\", \"{}|subject|\"]\n\
         [route.slow]\nwhen = \"subject = slow\"\nchannels = \"slow\"\nwait = \"0 s\"\n\
         [channel.slow]\nkind = \"command\"\n\
         command = [\"sleep\", \"600\"]\ntimeout = \"1 s\"\n",
        out.display()
    );
    let alerts = start(&folder.path().join("log"), &text);
    alerts.observe(vec![see("edge; $(reboot)", 9.0), see("slow", 9.0)]).unwrap();
    let both = |view: &trunkline_alert::job::View| view.delivery.delivered == 1 && view.delivery.left_in_doubt == 1;
    assert!(alerts.wait_for(LONG, both), "{:?}", alerts.view().delivery);
    // No shell has looked at it.
    assert!(folder.path().join("outedge; $(reboot)").exists());
    assert_eq!(alerts.view().delivery.attempts, 2);
}

/// Names come from the network: a NUL ends no argument, a dash makes no option, and nothing is tried in vain for a day.
#[test]
fn names_of_strangers_are_data_for_commands() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = format!(
        "{RULE}[route.all]\nchannels = \"run\"\nwait = \"0 s\"\n[channel.run]\nkind = \"command\"\n\
         command = [\"sh\", \"-c\", 'printf \"%s|%s|%s\" \"$1\" \"$TRUNKLINE_ALERT_TITLE\" \"$TRUNKLINE_ALERT_TEXT\" > {}', \
         \"sh\", \"|subject|\"]\n",
        out.display()
    );
    let alerts = start(&folder.path().join("log"), &text);
    let long = "x".repeat(150);
    alerts.observe(vec![see(&format!("-rf\0phone\x1b]0;x\x07\nFIRING{long}"), 9.0)]).unwrap();
    assert!(alerts.wait_for(LONG, |view| view.delivery.delivered == 1), "{:?}", alerts.view().delivery);
    let said = std::fs::read_to_string(out).unwrap();
    let (argument, rest) = said.split_once('|').unwrap();
    assert_eq!(argument, format!(" -rf\u{fffd}phone\x1b]0;x\x07\nFIRING{long}"));
    // What people read has no orders for a terminal, and no lines of strangers.
    assert!(!rest.contains(['\0', '\x1b', '\x07']) && !rest.contains("\nFIRING\n"), "{rest:?}");
    assert_eq!(alerts.view().delivery.attempts, 1);
}
