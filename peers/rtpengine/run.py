#!/usr/bin/env python3
"""Calls whose audio goes through rtpengine, captured and read: each stream as rtpengine counts it and as it arrives.

sipp and Kamailio do the signalling. The audio is sent from here, so that each loss, copy and swap is known; rtpengine
passes it on as it is.
"""

import os
import signal
import socket
import struct
import sys
import threading
import time

import peer
import sip

NG_PORT = 22222
PACKETS = 100  # of each side, one every 20 ms
PACKET_SECONDS = 0.02
SAMPLES = 160  # of G.711 in a packet
RTP_HEADER = 12  # octets
APART, TOGETHER = ("127.0.0.2", "127.0.0.3"), ("127.0.0.1", "127.0.0.1")  # caller and callee; the relay is 127.0.0.1
REPORT_EVERY = 40  # packets from one RTCP sender report to the next


def main():
    capture = peer.Capture("calls.pcap", f"udp and (port {sip.PROXY_PORT} or portrange 30000-30099)")
    relay = start_rtpengine()
    kamailio = sip.start_kamailio()
    even = list(range(PACKETS))
    calls = [
        Call("good", 0, APART, even, even),
        # Every tenth is lost, one comes twice, two are swapped; the other side talks half as long.
        Call("bad", 1, APART, faulty(even), even[: PACKETS // 2]),
        # As on a machine that is a switch and a relay at once.
        Call("one-address", 2, TOGETHER, even, even),
    ]
    for call in calls:
        call.begin()
    send(calls)
    for call in calls:
        call.receive_all()
        call.counted = ask(command="query", **{"call-id": call.call_id})
    acknowledged(len(calls))
    for call in calls:
        call.end()
    kamailio.stop()
    relay.stop(signal.SIGINT)
    capture.end()

    found, summary = peer.read("calls.pcap", "data")
    peer.same("calls", sorted(found), sorted(call.call_id for call in calls))
    for call in calls:
        if call.call_id in found:
            check(call, found[call.call_id])
    sides = [side for call in calls for side in call.sides]
    counted = sum(call.counted["totals"]["RTP"]["packets"] for call in calls)
    peer.same("rtp_packets", summary["rtp_packets"], counted + sum(len(side.received) for side in sides))
    peer.same("streams", summary["streams"], 2 * len(sides))
    reports = sum(call.counted["totals"]["RTCP"]["packets"] for call in calls)
    received = sum(side.reports_received for side in sides)
    peer.same("rtcp_packets", summary["counters"]["trunkline_calls_rtcp_packets_total"], reports + received)
    peer.done(f"{len(calls)} calls with {2 * len(sides)} streams")


def faulty(numbers):
    """Every tenth number is left out, one is there twice, two are swapped."""
    left = [number for number in numbers if number % 10 != 7]
    at = left.index(31)
    left[at], left[at + 1] = left[at + 1], left[at]
    return left[:20] + [left[19]] + left[20:]


def start_rtpengine():
    # Without its kernel module: --table=-1. Two threads could swap packets.
    relay = peer.Server([f"{peer.ROOT}/usr/bin/rtpengine", "--config-file=none", "--table=-1", "--interface=127.0.0.1",
                         f"--listen-ng=127.0.0.1:{NG_PORT}", "--foreground", "--log-stderr", "--log-level=5",
                         "--num-threads=1",
                         "--port-min=30000", "--port-max=30099", f"--pidfile={os.getcwd()}/rtpengine.pid"])
    peer.wait_for_udp(NG_PORT)
    return relay


class Side:
    """One side of a call: its media ports, and what it sends and gets."""

    def __init__(self, address, port, ssrc, numbers):
        self.address, self.port, self.ssrc, self.numbers = address, port, ssrc, numbers
        self.sent, self.received, self.reports_sent, self.reports_received = [], [], 0, 0
        self.relay = None  # the port of rtpengine that it sends to
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for offset, end in enumerate(self.sockets):
            end.bind((address, port + offset))
            end.setblocking(False)

    def send(self, turn):
        """Sends the packet whose turn it is, and now and then a sender report (RFC 3550, 6.4.1)."""
        if turn >= len(self.numbers):
            return
        number = self.numbers[turn]
        header = struct.pack("!BBHII", 0x80, 0, 1000 + number, 5000 + SAMPLES * number, self.ssrc)
        self.sockets[0].sendto(header + b"\xff" * SAMPLES, ("127.0.0.1", self.relay))
        self.sent.append(number)
        # Not at the beginning: rtpengine might pass it on before the first packet of the stream.
        if turn % REPORT_EVERY == REPORT_EVERY // 2:
            ntp = int((time.time() + 2208988800) * 2**32)
            octets = SAMPLES * len(self.sent)
            report = struct.pack("!BBHIQIII", 0x80, 200, 6, self.ssrc, ntp, 5000 + SAMPLES * number, turn + 1, octets)
            self.sockets[1].sendto(report, ("127.0.0.1", self.relay + 1))
            self.reports_sent += 1

    def receive(self):
        for offset, end in enumerate(self.sockets):
            while True:
                try:
                    packet = end.recv(2048)
                except BlockingIOError:
                    break
                if offset == 0:
                    self.received.append(struct.unpack("!H", packet[2:4])[0] - 1000)
                else:
                    self.reports_received += 1


class Call:
    """A call between two sipps, with the audio of both sides."""

    def __init__(self, name, place, addresses, caller, callee):
        self.name, self.call_id = name, f"{name}-1"
        self.ports = [25081 + place, 25071 + place]  # of the caller's and the callee's sipp
        self.sides = [
            Side(addresses[0], 40000 + 4 * place, 0xCA110000 + place, caller),
            Side(addresses[1], 40002 + 4 * place, 0xCA220000 + place, callee),
        ]
        self.processes, self.counted = {}, None

    def begin(self):
        """Places the call; returns when rtpengine knows both sides."""
        for side, name, scenario, options in [(1, f"{self.name}-callee", "callee", []),
                                              (0, self.name, "caller", ["-s", str(self.ports[1])])]:
            options += ["-key", "audio_address", self.sides[side].address]
            options += ["-key", "audio_port", str(self.sides[side].port)]
            self.processes[name] = sip.sipp(scenario, name, self.ports[side], 1, *options)
            peer.wait_for_udp(self.ports[side])
        peer.wait_until(f"both sides of {self.call_id} are known", self.known)

    def known(self):
        answer = ask(command="query", **{"call-id": self.call_id})
        for tag in answer.get("tags", {}).values():
            for media in tag["medias"]:
                stream = media["streams"][0]
                for side in self.sides:
                    if stream.get("endpoint", {}).get("port") == side.port:
                        side.relay = stream["local port"]
        return all(side.relay for side in self.sides)

    def receive_all(self):
        """Waits for all that rtpengine has to pass on."""
        def complete():
            for side, other in zip(self.sides, reversed(self.sides)):
                side.receive()
                if len(side.received) < len(other.sent) or side.reports_received < other.reports_sent:
                    return False
            return True

        peer.wait_until(f"the audio of {self.call_id} has arrived", complete)

    def end(self):
        """Has the callee hang up: with a request past Kamailio that is not captured."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.bind(("127.0.0.1", 0))
            here = f"127.0.0.1:{end.getsockname()[1]}"
            info = (f"INFO sip:callee@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP {here};branch=z9hG4bK{self.call_id}\r\n"
                    f"From: <sip:{here}>;tag=end\r\nTo: <sip:callee@127.0.0.1>\r\nCall-ID: {self.call_id}\r\n"
                    "CSeq: 9 INFO\r\nContent-Length: 0\r\n\r\n")
            end.sendto(info.encode(), ("127.0.0.1", self.ports[1]))
        for name, process in self.processes.items():
            sip.wait(name, process)


def send(calls):
    """Sends the audio of all calls, a packet of each side every 20 ms."""
    pause, begin = threading.Event(), time.monotonic()
    for turn in range(PACKETS + 1):
        for call in calls:
            for side in call.sides:
                side.send(turn)
                side.receive()
        pause.wait(max(0.0, begin + (turn + 1) * PACKET_SECONDS - time.monotonic()))


def acknowledged(calls):
    """Waits until the ACK of each call has come to Kamailio."""
    def all_came():
        return sip.statistics()["core:rcv_requests_ack"] >= calls

    peer.wait_until("each call is acknowledged", all_came)


def ask(**message):
    """Asks rtpengine: a cookie and a bencoded dictionary, both ways."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.settimeout(peer.SECONDS_MAX)
        end.connect(("127.0.0.1", NG_PORT))
        end.send(f"peer{time.monotonic_ns()} ".encode() + encoded(message))
        return decoded(end.recv(65536).split(b" ", 1)[1], 0)[0]


def encoded(value):
    if isinstance(value, dict):
        return b"d" + b"".join(encoded(key) + encoded(value[key]) for key in sorted(value)) + b"e"
    return f"{len(value)}:{value}".encode()


def decoded(text, at):
    """The value that begins at a place, and where it ends."""
    kind = text[at : at + 1]
    if kind == b"i":
        end = text.index(b"e", at)
        return int(text[at + 1 : end]), end + 1
    if kind in b"dl":
        values, at = [], at + 1
        while text[at : at + 1] != b"e":
            value, at = decoded(text, at)
            values.append(value)
        return (dict(zip(values[::2], values[1::2])) if kind == b"d" else values), at + 1
    colon = text.index(b":", at)
    end = colon + 1 + int(text[at:colon])
    return text[colon + 1 : end].decode(), end


def check(call, ours):
    peer.same(f"{call.name}.state", ours["state"], "completed")
    peer.same(f"{call.name}.hangup", ours["hangup"], "callee")
    by_way = {(stream["src"], stream["dst"]): stream for stream in ours["streams"]}
    ways, reports, counted_reports = [], [], []
    for name, side, other in [("caller", *call.sides), ("callee", *reversed(call.sides))]:
        counted = counts(call.counted, side)
        legs = [
            ("to-relay", f"{side.address}:{side.port}", f"127.0.0.1:{side.relay}"),
            ("from-relay", f"127.0.0.1:{other.relay}", f"{other.address}:{other.port}"),
        ]
        for leg, *way in legs:
            ways.append(tuple(way))
            if stream := by_way.get(tuple(way)):
                to_relay = leg == "to-relay"
                check_stream(f"{call.name}.{name}.{leg}", stream, name, side, counted["RTP"] if to_relay else None, other)
                reports.append(stream["rtcp"]["sender_reports"])
                counted_reports.append(counted["RTCP"]["packets"] if to_relay else other.reports_received)
    peer.same(f"{call.name}.streams", sorted(by_way), sorted(ways))
    peer.same(f"{call.name}.sender_reports", reports, counted_reports)


def counts(answer, side):
    """What rtpengine counted of a side: packets and octets of RTP and RTCP."""
    found = {}
    for tag in answer["tags"].values():
        for stream in (stream for media in tag["medias"] for stream in media["streams"]):
            port = stream["endpoint"]["port"] - side.port
            if port in (0, 1):
                found["RTP" if port == 0 else "RTCP"] = stream["stats"]
    return found


def check_stream(where, stream, direction, side, counted, other):
    """A stream to rtpengine is as rtpengine counts it; one from rtpengine is as the other side gets it."""
    def same(what, truth):
        peer.same(f"{where}.{what}", stream[what], truth)

    numbers = side.sent if counted else other.received
    packets = counted["packets"] if counted else len(numbers)
    octets = counted["bytes"] if counted else len(numbers) * (RTP_HEADER + SAMPLES)
    same("packets", packets)
    same("octets", octets - RTP_HEADER * packets)
    different = set(numbers)
    same("expected", max(different) - min(different) + 1)
    # RFC 3550 counts copies as received; `missing` is what never came.
    same("lost", max(different) - min(different) + 1 - len(numbers))
    same("missing", max(different) - min(different) + 1 - len(different))
    same("duplicates", len(numbers) - len(different))
    same("reordered", sum(later < earlier for earlier, later in zip(numbers, numbers[1:])))
    same("ssrc", f"{side.ssrc:#010x}")
    same("codec", "PCMU")
    same("direction", direction)


if __name__ == "__main__":
    main()
