"""What the scripts of peers share: servers that end with the script, a capture of the loopback interface, and checks.

`cargo xtask peers` gives each script its folders in the environment and a loopback interface of its own
(docs/adding/peer.md).
"""

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

FOLDER = os.environ["PEER_FOLDER"]  # with peer.toml
ROOT = os.environ["PEER_ROOT"]  # where Debian packages are unpacked
LIBRARIES = os.environ["PEER_LIBRARIES"]  # their shared libraries
TRUNKLINE = os.environ["TRUNKLINE"]  # the program that is tested
SECONDS_MAX = 20  # how long a server may take to say that it is ready
END_PORT = 9  # what is sent there marks the end of a capture
END = b"end of the capture"

_counts = {"values": 0, "differences": 0}


def unavailable(reason):
    """Ends the script: this machine cannot run it."""
    print(reason, flush=True)
    sys.exit(77)


def same(check, ours, truth):
    """Compares a value of ours with the peer's. A difference is printed, and may be known in peer.toml."""
    _counts["values"] += 1
    if ours != truth:
        _counts["differences"] += 1
        print(f"differs {check}: ours is {ours!r}, and the truth is {truth!r}", flush=True)


def within(check, ours, least, most):
    """The same for a value of which only bounds are known."""
    _counts["values"] += 1
    if ours is None or not least <= ours <= most:
        _counts["differences"] += 1
        print(f"differs {check}: ours is {ours!r}, and the truth is {least!r} to {most!r}", flush=True)


def done(text):
    """The last line of a script that ran to its end."""
    print(f"{text}, {_counts['values']} values compared, {_counts['differences']} differences", flush=True)


class Server:
    """A program that runs beside the script and ends with it; what it prints goes to the script's output."""

    def __init__(self, command, libraries=LIBRARIES, **options):
        environment = dict(os.environ, LD_LIBRARY_PATH=libraries) if libraries else None
        self.name = os.path.basename(command[0])
        self.lines = []
        self._news = threading.Condition()
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, **options
            )
        except OSError as error:
            unavailable(f"{self.name}: {error}")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        atexit.register(self.process.kill)

    def _read(self):
        for line in self.process.stderr:
            line = line.decode(errors="replace").rstrip()
            print(f"{self.name}: {line}", flush=True)
            with self._news:
                self.lines.append(line)
                self._news.notify_all()
        with self._news:
            self.lines.append(None)  # no line follows
            self._news.notify_all()

    def wait_for(self, pattern, seconds=SECONDS_MAX):
        """Waits until a line on its standard error matches; an error if none does in time."""
        def found():
            return any(line is None or re.search(pattern, line) for line in self.lines)

        with self._news:
            if not self._news.wait_for(found, seconds):
                raise TimeoutError(f"{self.name} did not say {pattern!r} within {seconds} s")
            if not any(line is not None and re.search(pattern, line) for line in self.lines):
                raise RuntimeError(f"{self.name} ended before it said {pattern!r}")

    def stop(self, number=signal.SIGTERM):
        """Ends it and waits for its last line."""
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        self._reader.join(SECONDS_MAX)
        if self._reader.is_alive():
            print(f"{self.name}: ended, but a program that it started holds its standard error", flush=True)
        return code


class Capture(Server):
    """tcpdump on the loopback interface, into a file; packets of up to 4,096 octets are whole."""

    def __init__(self, path, expression):
        self.path = path
        # Room for 8,192 packets, should the machine be busy.
        command = ["tcpdump", "-i", "lo", "-n", "-U", "--immediate-mode", "-s", "4096", "-B", "32768"]
        # It writes to a pipe: nothing is won when it changes its user, and in a container it may not.
        command += ["-Z", "root"] if os.geteuid() == 0 else []
        command += ["-w", "-"]
        command += [f"({expression}) or udp port {END_PORT}"]
        super().__init__(command, libraries=None, stdout=subprocess.PIPE)
        self._ended = threading.Event()
        self._copier = threading.Thread(target=self._copy, daemon=True)
        self._copier.start()
        try:
            self.wait_for("listening on lo")
        except RuntimeError:
            unavailable(f"tcpdump cannot capture here: {self.lines[0] if self.lines else 'no reason given'}")

    def _copy(self):
        last = b""
        with open(self.path, "wb") as file:
            while piece := self.process.stdout.read1(1 << 16):
                file.write(piece)
                last = (last + piece)[-(1 << 17) :]
                if END in last:
                    self._ended.set()

    def end(self):
        """Ends the capture once all that was sent before is in the file. Packets may not be lost."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", END_PORT))
            receiver.sendto(END, ("127.0.0.1", END_PORT))
            if not self._ended.wait(SECONDS_MAX):
                raise TimeoutError("the end of the capture did not come")
        self.stop(signal.SIGINT)
        self._copier.join(SECONDS_MAX)
        if "0 packets dropped by kernel" not in self.lines:
            raise RuntimeError("tcpdump lost packets")


def wait_until(what, true, seconds=SECONDS_MAX):
    """Waits until a condition holds that nothing tells of: it is looked at every 10 ms."""
    pause, until = threading.Event(), time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds} s: {what}")
        pause.wait(0.01)


def wait_for_udp(port):
    """Waits until a program listens at that UDP port of an IPv4 address."""
    def listens():
        with open("/proc/net/udp") as table:
            return any(int(line.split()[1].split(":")[1], 16) == port for line in list(table)[1:])

    wait_until(f"a program listens at UDP port {port}", listens)


def trunkline(*arguments):
    """What the program prints with these arguments, as a list of JSON objects, one a line."""
    output = subprocess.run([TRUNKLINE, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def read(path, data):
    """The calls of a capture by Call-ID, and the summary; `data` is the folder where they are kept."""
    *calls, summary = trunkline("read", path, "--json", "--data", data)
    return {call["sip_call_id"]: call for call in calls}, summary["summary"]
