# What users of pylibmc (libmemcached) do, by text and binary protocol, with ketama: cache_clients.rs compares what is
# printed.
import sys
import time

import pylibmc


def tried(act, *arguments):
    try:
        return act(*arguments)
    except pylibmc.Error as error:
        return type(error).__name__


for binary in [False, True]:
    client = pylibmc.Client(sys.argv[1:2], binary=binary)
    client.flush_all()
    print("binary" if binary else "text")
    print("set", client.set("a", "one"), client.get("a"), client.get("none"))
    print("many", client.set_multi({"i": 7, "s": "text", "b": b"\x00\xff", "l": [1, 2]}))
    print("kinds", sorted(client.get_multi(["i", "s", "b", "l"]).items()))
    print("add", client.add("a", "two"), client.add("new", "two"))
    print("replace", tried(client.replace, "nobody", "x"), client.replace("new", "y"))
    client.set("j", b"one")
    print("join", client.append("j", b"-after"), client.prepend("j", b"before-"), client.get("j"))
    client.set("n", 41)
    print("count", client.incr("n"), client.incr("n", 10), client.decr("n", 100))
    print("count nobody", tried(client.incr, "nobody"))
    print("large", client.set("large", "x" * 1_000_000), len(client.get("large")))
    print("compressed", client.set("c", "y" * 500_000, min_compress_len=100), len(client.get("c")))
    client.set("short", "x", time=1)
    print("touch", client.touch("a", 100), tried(client.touch, "nobody", 100))
    time.sleep(2.1)
    print("expired", client.get("short"))
    print("delete", client.delete("a"), tried(client.delete, "a"), client.get("a"))

swap = pylibmc.Client(sys.argv[1:2], behaviors={"cas": True})
swap.set("a", "one")
value, cas = swap.gets("a")
print("cas", swap.cas("a", "two", cas), swap.cas("a", "three", cas), swap.get("a"))
ring = pylibmc.Client(sys.argv[1:], behaviors={"ketama": True, "no_block": True, "tcp_nodelay": True})
print("ring", ring.set_multi({"r%d" % n: n for n in range(200)}), len(ring.get_multi(["r%d" % n for n in range(200)])))
held = [len(pylibmc.Client([server]).get_multi(["r%d" % n for n in range(200)])) for server in sys.argv[1:]]
print("spread", sum(held), all(held))
print("end")
