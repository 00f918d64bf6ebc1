# What users of python-memcached do: cache_clients.rs compares what is printed.
import sys
import time

import memcache

client = memcache.Client(sys.argv[1:], cache_cas=True)
print("set", client.set("a", "one"), client.get("a"), client.get("none"))
print("many", client.set_multi({"i": 7, "b": True, "l": [1, 2], "t": "text"}))
print("kinds", sorted(client.get_multi(["i", "b", "l", "t"]).items()))
print("add", client.add("a", "two"), client.add("new", "two"))
print("replace", client.replace("nobody", "x"), client.replace("new", "y"))
print("join", client.append("a", "-after"), client.prepend("a", "before-"), client.get("a"))
client.set("n", 41)
print("count", client.incr("n"), client.decr("n", 100), client.incr("nobody"))
print("gets", client.gets("a"), client.cas("a", "swapped"), client.get("a"))
print("touch", client.touch("a", 100), client.touch("nobody", 100))
client.set("short", "x", time=1)
time.sleep(2.1)
print("expired", client.get("short"))
print("delete", client.delete("a"), client.get("a"), client.delete_multi(["i", "b"]))
print("servers", len(client.get_stats()), all(values["curr_items"] for _, values in client.get_stats()))
client.flush_all()
print("flushed", client.get("t"))
print("end")
