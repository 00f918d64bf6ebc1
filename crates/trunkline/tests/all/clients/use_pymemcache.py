# What users of pymemcache do: cache_clients.rs compares what is printed.
import sys
import time

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient

servers = [(address.rsplit(":", 1)[0], int(address.rsplit(":", 1)[1])) for address in sys.argv[1:]]
client = Client(servers[0], default_noreply=False)
print("set", client.set("a", b"one"), client.get("a"), client.get("none"))
print("flags", client.set("f", b"x", flags=77), client.get("f"))
print("many", client.set_many({"k%d" % n: str(n) for n in range(50)}))
print("all", sorted(client.get_many(["k%d" % n for n in range(60)])))
print("add", client.add("a", b"two"), client.add("new", b"two"))
print("replace", client.replace("nobody", b"x"), client.replace("new", b"y"))
print("join", client.append("a", b"-after"), client.prepend("a", b"before-"), client.append("nobody", b"x"))
print("joined", client.get("a"))
client.set("n", b"41")
print("count", client.incr("n", 1), client.decr("n", 100), client.incr("nobody", 1))
value, cas = client.gets("a")
print("cas", client.cas("a", b"swapped", cas), client.cas("a", b"again", cas), client.cas("nobody", b"x", b"1"))
print("large", client.set("large", b"x" * 1_000_000), len(client.get("large")))
try:
    print("too large", client.set("huge", b"x" * 2_000_000))
except Exception as error:
    print("too large", type(error).__name__, error)
print("after", client.get("a"))
client.set("short", b"x", expire=1)
client.set("touched", b"x", expire=1)
print("touch", client.touch("touched", expire=100), client.touch("nobody", expire=100))
time.sleep(2.1)
print("expired", client.get("short"), client.get("touched"))
print("noreply", client.set("q", b"quiet", noreply=True), client.get("q"))
print("delete", client.delete("a"), client.delete("a"), client.get("a"))
print("unusual keys", client.set("x" * 250, b"long"), client.get("x" * 250))
ring = HashClient(servers, default_noreply=False)
print("ring", all(ring.set("r%d" % n, str(n)) for n in range(200)), len(ring.get_many(["r%d" % n for n in range(200)])))
held = [len(Client(server).get_many(["r%d" % n for n in range(200)])) for server in servers]
print("spread", sum(held), all(held))
print("flush", client.flush_all(), client.get("q"))
print("end")
