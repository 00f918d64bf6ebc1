// What users of spymemcached do, by text and binary protocol, with ketama: cache_clients.rs compares what is printed.
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Locator;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.FailureMode;
import net.spy.memcached.MemcachedClient;

class Script {
    static MemcachedClient client(Protocol protocol, String servers) throws Exception {
        var builder = new ConnectionFactoryBuilder().setProtocol(protocol).setOpTimeout(5000);
        // Else the first key goes to another server while its own is still being connected.
        builder.setFailureMode(FailureMode.Retry);
        builder.setLocatorType(Locator.CONSISTENT).setHashAlg(DefaultHashAlgorithm.KETAMA_HASH);
        return new MemcachedClient(builder.build(), AddrUtil.getAddresses(servers));
    }

    static List<String> keys(String begin, int count) {
        var keys = new ArrayList<String>();
        for (int n = 0; n < count; n++) keys.add(begin + n);
        return keys;
    }

    static void use(Protocol protocol, String server) throws Exception {
        var client = client(protocol, server);
        System.out.println(protocol + " flush " + client.flush().get());
        System.out.println("set " + client.set("a", 0, "one").get() + " " + client.get("a") + " " + client.get("none"));
        client.set("int", 0, 7).get();
        client.set("long", 0, 1L << 40).get();
        client.set("octets", 0, new byte[] {0, 13, 10, -1}).get();
        client.set("list", 0, new ArrayList<>(List.of("x", 1))).get();
        var octets = (byte[]) client.get("octets");
        System.out.println("kinds " + client.get("int") + " " + client.get("long") + " " + client.get("list") + " "
            + octets.length + " " + octets[3]);
        System.out.println("add " + client.add("a", 0, "two").get() + " " + client.add("new", 0, "two").get());
        System.out.println("replace " + client.replace("nobody", 0, "x").get() + " " + client.replace("new", 0, "y").get());
        client.set("j", 0, "one").get();
        System.out.println("join " + client.append("j", "-after").get() + " " + client.prepend("j", "before-").get() + " "
            + client.append("nobody", "x").get() + " " + client.get("j"));
        for (String key : keys("k", 50)) client.set(key, 0, key).get();
        Map<String, Object> many = new TreeMap<>(client.getBulk(keys("k", 60)));
        System.out.println("many " + many);
        CASValue<Object> seen = client.gets("a");
        System.out.println("cas " + client.cas("a", seen.getCas(), "two") + " " + client.cas("a", seen.getCas(), "three")
            + " " + client.cas("nobody", 1, "x") + " " + client.get("a"));
        client.set("n", 0, "41").get();
        System.out.println("count " + client.incr("n", 1) + " " + client.incr("n", 10) + " " + client.decr("n", 100) + " "
            + client.incr("nobody", 1) + " " + client.incr("begun", 1, 5) + " " + client.incr("begun", 1, 5));
        String large = "x".repeat(1_000_000);
        System.out.println("compressed " + client.set("large", 0, large).get() + " " + large.equals(client.get("large")));
        byte[] random = new byte[900_000];
        new java.util.Random(1).nextBytes(random);
        System.out.println("large " + client.set("random", 0, random).get() + " "
            + java.util.Arrays.equals(random, (byte[]) client.get("random")));
        client.set("short", 1, "x").get();
        System.out.println("touch " + client.touch("a", 100).get() + " " + client.touch("nobody", 100).get());
        if (protocol == Protocol.BINARY) System.out.println("touched " + client.getAndTouch("a", 100).getValue());
        Thread.sleep(2100);
        System.out.println("expired " + client.get("short"));
        System.out.println("delete " + client.delete("a").get() + " " + client.delete("a").get() + " " + client.get("a"));
        client.shutdown();
    }

    public static void main(String[] servers) throws Exception {
        use(Protocol.TEXT, servers[0]);
        use(Protocol.BINARY, servers[0]);
        var ring = client(Protocol.TEXT, String.join(" ", servers));
        for (String key : keys("r", 200)) ring.set(key, 0, "x").get();
        System.out.println("ring " + ring.getBulk(keys("r", 200)).size());
        ring.shutdown();
        int sum = 0, least = 200;
        for (String server : servers) {
            var alone = client(Protocol.TEXT, server);
            int held = alone.getBulk(keys("r", 200)).size();
            sum += held;
            least = Math.min(least, held);
            alone.shutdown();
        }
        System.out.println("spread " + sum + " " + (least > 0));
        System.out.println("end");
    }
}
