"""A client of Gy made of python-diameter, which does what it is told: a line of words in, a line of JSON out.

    gy.py HOST REALM PEER PEER-REALM PORT SERVED-REALM [listens]

It connects to the peer at PORT, or listens there for it.

    ccr SESSION TYPE NUMBER IMSI STATE GROUP:UNIT:REQUESTED:USED ..   a CCR (4 is a direct debit); UNIT octets, seconds
                                                                     or units, `-` where nothing is said; STATE of a
                                                                     Proxy-Info, or `-`
    rar                                                              waits for a RAR, which was answered with 2001
    watchdog                                                         asks whether the peer is there
    end                                                              takes leave
"""
import json
import queue
import sys
import time

from diameter.message.avp.grouped import (
    ProxyInfo, PsInformation, RequestedServiceUnit, ServiceInformation, UsedServiceUnit,
)
from diameter.message.commands import CreditControlRequest
from diameter.message.constants import APP_DIAMETER_CREDIT_CONTROL_APPLICATION as CREDIT_CONTROL
from diameter.node import Node
from diameter.node.application import SimpleThreadingApplication

PATIENCE_S = 20
UNITS = {"octets": "cc_total_octets", "seconds": "cc_time", "units": "cc_service_specific_units"}
host, realm, peer_host, peer_realm, port, served_realm = sys.argv[1:7]
listens = sys.argv[7:] == ["listens"]
asked_again = queue.Queue()


def asked(application, request):
    """A RAR: it is answered, and whoever waits is told."""
    asked_again.put({"session": request.session_id, "realm": request.destination_realm.decode()})
    return application.generate_answer(request, result_code=2001)


def start():
    own = {"ip_addresses": ["127.0.0.1"], "tcp_port": int(port)} if listens else {}
    node = Node(host, realm, vendor_ids=[10415], **own)
    node.vendor_id = 10415
    # Nothing is said but what is told.
    node.idle_timeout = 3600
    node.wakeup_interval = 1
    uri = f"aaa://{peer_host}:{port};transport=tcp"
    peer = node.add_peer(uri, peer_realm, ip_addresses=["127.0.0.1"], is_persistent=not listens)
    application = SimpleThreadingApplication(CREDIT_CONTROL, is_auth_application=True, request_handler=asked)
    node.add_application(application, [peer], realms=[served_realm, realm])
    node.start()
    application.wait_for_ready(PATIENCE_S)
    return node, peer, application


def service(request, words):
    group, unit, requested, used = words.split(":")
    units = {} if requested in ("-", "0") else {UNITS[unit]: int(requested)}
    request.add_multiple_services_credit_control(
        rating_group=int(group),
        requested_service_unit=None if requested == "-" else RequestedServiceUnit(**units),
        used_service_unit=None if used == "-" else UsedServiceUnit(**{UNITS[unit]: int(used)}),
    )


def ccr(session, kind, number, imsi, state, *services):
    request = CreditControlRequest()
    request.session_id = session
    request.origin_host, request.origin_realm = host.encode(), realm.encode()
    request.destination_realm = served_realm.encode()
    request.service_context_id = "32251@3gpp.org"
    request.cc_request_type, request.cc_request_number = int(kind), int(number)
    request.requested_action = 0 if kind == "4" else None
    request.multiple_services_indicator = 1
    request.add_subscription_id(1, imsi)
    for words in services:
        service(request, words)
    request.service_information = ServiceInformation(ps_information=PsInformation(called_station_id="internet"))
    if state != "-":
        request.proxy_info.append(ProxyInfo(proxy_host=b"proxy.example", proxy_state=state.encode()))
    return request


def granted(units):
    if units is None:
        return None
    found = (units.cc_total_octets, units.cc_time, units.cc_service_specific_units)
    return next((number for number in found if number is not None), None)


def told(answer):
    cost = answer.cost_information
    return {
        "result": answer.result_code,
        "number": answer.cc_request_number,
        "session": answer.session_id,
        "proxies": [[p.proxy_host.decode(), p.proxy_state.decode()] for p in answer.proxy_info],
        "cost": cost and [cost.unit_value.value_digits, cost.unit_value.exponent, cost.currency_code],
        "services": [
            {
                "group": s.rating_group,
                "result": s.result_code,
                "granted": granted(s.granted_service_unit),
                "validity": s.validity_time,
                "final": s.final_unit_indication and s.final_unit_indication.final_unit_action,
            }
            for s in answer.multiple_services_credit_control
        ],
    }


def watchdog(node, peer):
    before, until = peer.counters.dwa, time.monotonic() + PATIENCE_S
    node.send_dwr(peer.connection)
    while peer.counters.dwa == before and time.monotonic() < until:
        time.sleep(0.01)
    return {"there": peer.counters.dwa > before}


def main():
    node, peer, application = start()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        word, *words = line.split()
        if word == "ccr":
            reply = told(application.send_request(ccr(*words), timeout=PATIENCE_S))
        elif word == "rar":
            reply = asked_again.get(timeout=PATIENCE_S)
        elif word == "watchdog":
            reply = watchdog(node, peer)
        elif word == "end":
            node.stop(wait_timeout=PATIENCE_S)
            reply = {"ended": True}
        else:
            reply = {"unknown": word}
        print(json.dumps(reply), flush=True)


main()
