#!/usr/bin/env python3
"""Calls of sipp through Kamailio, captured and read: each as sipp, Kamailio's log and its statistics say."""

import re
import sys
from collections import namedtuple

import peer
import sip

CALLS_EACH = 3  # of each kind, at once
LATE_MS_MAX = 1000  # how much earlier than sipp on a busy machine the capture may see a message
EARLY_MS_MAX = 10  # how much shorter than in its scenario a pause of sipp may be

# The ports where users are reached, each with the scenario of the callee there. The last two belong to one user.
CALLEES = {
    25071: "answers",
    25072: "answers-and-hangs-up",
    25073: "is-busy",
    25074: "rings",
    25075: "answers",
    25076: "rings",
}
USERS = [("201", 25071), ("202", 25072), ("203", 25073), ("204", 25074), ("205", 25075), ("205", 25076)]

# A kind of call: the caller's scenario, who is called, the truth about its state and who hung up, and the pauses of
# the scenarios from the call to the answer and from the answer to the end.
Kind = namedtuple("Kind", "name scenario user state hangup setup_ms duration_ms")
KINDS = [
    Kind("caller-hangs-up", "caller-hangs-up", "201", "completed", "caller", 200, 400),
    Kind("callee-hangs-up", "callee-hangs-up", "202", "completed", "callee", 200, 400),
    Kind("busy", "caller-busy", "203", "rejected", "none", None, None),
    Kind("cancelled", "caller-cancels", "204", "cancelled", "none", None, None),
    Kind("not-found", "caller-not-found", "299", "rejected", "none", None, None),
    # Kamailio calls both places of the user; one answers, and Kamailio cancels the other one.
    Kind("forked", "caller-hangs-up", "205", "completed", "caller", 200, 400),
]

def main():
    capture = peer.Capture("calls.pcap", f"udp and port {sip.PROXY_PORT}")
    kamailio = sip.start_kamailio()
    register()
    logs = place_calls()
    contacts, statistics = contacts_of_kamailio(), sip.statistics()
    if kamailio.stop() != 0:
        sys.exit("Kamailio did not end as it should")
    capture.end()

    calls, summary = peer.read("calls.pcap", "data")
    transactions = transactions_of(kamailio.lines)
    for kind in KINDS:
        for number in range(1, CALLS_EACH + 1):
            call_id = f"{kind.name}-{number}"
            if call_id in calls:
                check_call(kind, number, calls[call_id], transactions, logs)
    # One Call-ID through a proxy is one call, whatever the number of legs and branches.
    peer.same("calls", sorted(calls), sorted(f"{k.name}-{n}" for k in KINDS for n in range(1, CALLS_EACH + 1)))
    check_sums(summary, statistics, logs)
    check_registrations(contacts)
    peer.done(f"{len(calls)} calls and {len(USERS)} registrations")


def register():
    """Registers all users at their ports, after a challenge."""
    with open("users.csv", "w") as file:
        file.write("SEQUENTIAL\n")
        for user, port in USERS:
            file.write(f"{user};[authentication username={user} password=secret];sip:{user}@127.0.0.1:{port}\n")
    sip.wait("register", sip.sipp("register", "register", 25080, len(USERS), "-inf", "users.csv"))


def place_calls():
    """Places all calls, kind after kind. Returns the message logs of all sipps by their names."""
    callees = {}
    for port, scenario in CALLEES.items():
        callees[f"callee-{port}"] = sip.sipp(scenario, f"callee-{port}", port, CALLS_EACH)
        peer.wait_for_udp(port)
    for place, kind in enumerate(KINDS):
        sip.wait(kind.name, sip.sipp(kind.scenario, kind.name, 25081 + place, CALLS_EACH, "-s", kind.user))
    for name, process in callees.items():
        sip.wait(name, process)
    return {name: sip.messages(name) for name in ["register", *(kind.name for kind in KINDS), *callees]}


def contacts_of_kamailio():
    """Call-ID of the registration, user and contact of everyone who is registered, sorted."""
    found, user, contact = [], None, None
    for name, value in re.findall(r"^\s*(AoR|Address|Call-ID): (.*)$", sip.kamcmd("ul.dump"), re.MULTILINE):
        if name == "AoR":
            user = value
        elif name == "Address":
            contact = value
        else:
            found.append((value, user, contact))
    return sorted(found)


def transactions_of(lines):
    """What Kamailio logged about transactions, by Call-ID and method."""
    found = {}
    for line in lines:
        if line is not None and (fields := re.search(r"ACC: [a-z ]+: (.*)", line)):
            fields = dict(field.split("=", 1) for field in fields[1].split(";"))
            found[fields["call_id"], fields["method"]] = fields
    return found


def check_call(kind, number, call, transactions, logs):
    call_id = call["sip_call_id"]

    def same(what, truth):
        peer.same(f"{kind.name}.{what}", call[what], truth)

    invite = transactions[call_id, "INVITE"]
    same("state", kind.state)
    same("code", int(invite["code"]))
    same("reason", invite["reason"])
    same("from", f"1000{number}")
    same("to", kind.user)
    same("src", f"127.0.0.1:{25081 + KINDS.index(kind)}")
    same("dst", sip.PROXY)
    same("messages", sum(message.call_id == call_id for log in logs.values() for message in log))
    # Kamailio's log tells by the tag who sent the BYE.
    bye = transactions.get((call_id, "BYE"))
    same("hangup", bye["from_tag"].split("-")[0] if bye else "none")
    same("hangup", kind.hangup)
    check_times(kind, call, [message for message in logs[kind.name] if message.call_id == call_id])


def check_times(kind, call, log):
    """The times of a call are at least the pauses of its scenarios, and at most what the caller saw."""
    if kind.setup_ms is None:
        peer.same(f"{kind.name}.setup_ms", call["setup_ms"], None)
        peer.same(f"{kind.name}.duration_ms", call["duration_ms"], None)
        return
    begin, end = log[0].seconds, log[-1].seconds
    answer = next(m.seconds for m in log if m.start == "SIP/2.0 200 OK" and m.cseq.endswith("INVITE"))
    for name, least, seen in [
        ("setup_ms", kind.setup_ms, answer - begin),
        ("duration_ms", kind.duration_ms, end - answer),
    ]:
        peer.within(f"{kind.name}.{name}", call[name], least - EARLY_MS_MAX, 1000 * seen + LATE_MS_MAX)


def check_sums(summary, statistics, logs):
    """Each message passes the loopback interface once, to Kamailio or from it, and one sipp logs it."""
    counters, log = summary["counters"], [message for log in logs.values() for message in log]
    peer.same("sip_messages", summary["sip_messages"], len(log))
    peer.same("call_ids", summary["call_ids"], len({message.call_id for message in log}))
    peer.same("registrations", summary["registrations"], statistics["registrar:accepted_regs"])
    replies = sum(message.start.startswith("SIP/2.0 ") for message in log)
    peer.same("replies", counters["trunkline_calls_sip_responses_total"], replies)
    peer.same("requests", counters["trunkline_calls_sip_requests_total"], len(log) - replies)
    # What a busy machine sends again Kamailio does not count.
    if not any(map(repeats, logs.values())):
        sent = statistics["tmx:rpl_sent"] + statistics["sl:sent_replies"]
        counted = statistics["core:rcv_replies"] + sent
        peer.same("replies-of-kamailio", counters["trunkline_calls_sip_responses_total"], counted)
        peer.same("retransmissions", counters["trunkline_calls_sip_retransmissions_total"], 0)


def repeats(log):
    """Whether a sipp sent or got a message twice. Provisional replies may come from two branches."""
    final = [(m.sent, m.call_id, m.cseq, m.start) for m in log if not m.start.startswith("SIP/2.0 1")]
    return len(set(final)) != len(final)


def check_registrations(contacts):
    found = peer.trunkline("registrations", "--data", "data", "--json")
    ours = sorted((row["sip_call_id"], row["user"], row["contact"]) for row in found)
    peer.same("registrations.contacts", ours, contacts)
    for row in found:
        # The first one is challenged.
        peer.same("registrations.requests", (row["requests"], row["code"]), (2, 200))


if __name__ == "__main__":
    main()
