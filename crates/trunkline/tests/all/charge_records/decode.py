"""Reads record files (TS 32.297) with a decoder made of the ASN.1 of TS 32.298, which is nobody's of this program.

Prints a JSON object for each record: what the whole of it decodes to, by the names of the specification.
"""

import json
import sys

from pycrate_asn1dir import CDR

RECORD = CDR.GPRSChargingDataTypes.GPRSRecord


def plain(value):
    """What JSON can say: octets as hexadecimal digits, choices as their name and value."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def records(octets):
    """The records behind the headers; a file that says more or less than it has is an error."""
    length, header = int.from_bytes(octets[0:4], "big"), int.from_bytes(octets[4:8], "big")
    count, at = int.from_bytes(octets[18:22], "big"), header
    assert length == len(octets), (length, len(octets))
    while at < length:
        size = int.from_bytes(octets[at : at + 2], "big")
        extended = octets[at + 2] >> 5 == 7
        assert octets[at + 3] >> 5 == 1, "BER"
        at += 5 if extended else 4
        yield octets[at : at + size]
        at += size
        count -= 1
    assert (at, count) == (length, 0), (at, count)


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for octets in records(file.read()):
            RECORD.from_ber(octets)
            name, value = RECORD.get_val()
            assert name == "pGWRecord", name
            # Nothing may be left over: what is written again is what was read.
            assert RECORD.to_ber() is not None
            print(json.dumps(plain(value)))
