"""Kamailio and sipp, for peers that place calls: unpacked from the package kamailio, and sipp of the system."""

import os
import re
import subprocess
import sys
from collections import namedtuple

import peer

PROXY_PORT = 25060
PROXY = f"127.0.0.1:{PROXY_PORT}"  # where Kamailio listens, as its configuration has to say
MODULES = f"{peer.LIBRARIES.split(':')[0]}/kamailio"

# A line of a message log of sipp: `sent` is true for what sipp sent.
Message = namedtuple("Message", "seconds sent call_id cseq start")


def start_kamailio():
    """Starts Kamailio with the peer's kamailio.cfg, in which MODULES and WORK are filled in."""
    with open(f"{peer.FOLDER}/kamailio.cfg") as file:
        text = file.read().replace("MODULES", f"{MODULES}/modules/").replace("WORK", os.getcwd())
    with open("kamailio.cfg", "w") as file:
        file.write(text)
    # Two of its own libraries lie beside its modules.
    command = [f"{peer.ROOT}/usr/sbin/kamailio", "-f", "kamailio.cfg", "-DD", "-E", "-m", "32", "-M", "4", "-w",
               os.getcwd(), "-Y", os.getcwd()]
    kamailio = peer.Server(command, f"{MODULES}:{peer.LIBRARIES}")
    kamailio.wait_for(r"ctl .*io_listen_loop")
    peer.wait_for_udp(PROXY_PORT)
    return kamailio


def kamcmd(*words):
    """What Kamailio answers to a command of its module ctl."""
    command = [f"{peer.ROOT}/usr/sbin/kamcmd", "-s", f"unix:{os.getcwd()}/ctl", *words]
    environment = dict(os.environ, LD_LIBRARY_PATH=MODULES)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def statistics():
    """The counters of Kamailio's core and modules by their names."""
    said = kamcmd("stats.get_statistics", "all")
    return {name: int(value) for name, value in re.findall(r"^(\S+) = (\d+)$", said, re.MULTILINE)}


def sipp(scenario, name, port, calls, *options):
    """Starts sipp with a scenario of the peer; Call-IDs are NAME-NUMBER. Each message that it sends or gets is logged."""
    command = ["sipp", "-sf", f"{peer.FOLDER}/scenarios/{scenario}.xml", "-i", "127.0.0.1", "-p", str(port),
               "-nostdin", "-m", str(calls), "-l", str(calls), "-r", "100", "-cid_str", f"{name}-%u",
               "-timeout", "30s", "-timeout_error", "-trace_shortmsg", "-shortmessage_file", f"{name}.messages",
               "-trace_err", "-error_file", f"{name}.errors", *options, PROXY]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def wait(name, process):
    """Waits for sipp; all its calls have to go as its scenario says."""
    if process.wait(40) != 0:
        with open(f"{name}.errors") as file:
            sys.exit(f"sipp as {name} ended with exit code {process.returncode}\n{file.read()}")


def messages(name):
    """The messages that the sipp of that name sent and got."""
    with open(f"{name}.messages") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [Message(float(row[2]), row[3] == "S", row[4], row[5], row[6]) for row in rows]
