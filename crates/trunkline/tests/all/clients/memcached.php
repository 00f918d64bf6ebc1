<?php
// What users of PHP's Memcached (libmemcached) do, by text and binary protocol: cache_clients.rs compares what is
// printed.
$servers = array_map(fn($address) => explode(':', $address), array_slice($argv, 1));
function say($what, ...$values) {
    echo $what, ' ', json_encode($values), "\n";
}
foreach ([false, true] as $binary) {
    $client = new Memcached();
    $client->setOption(Memcached::OPT_BINARY_PROTOCOL, $binary);
    $client->addServer($servers[0][0], (int) $servers[0][1]);
    $client->flush();
    say($binary ? 'binary' : 'text');
    say('set', $client->set('a', 'one'), $client->get('a'), $client->get('none'), $client->getResultCode());
    say('many', $client->setMulti(['i' => 7, 'd' => 1.5, 'l' => [1, ['x' => 2]], 't' => true]));
    say('kinds', $client->getMulti(['i', 'd', 'l', 't', 'none']));
    say('add', $client->add('a', 'x'), $client->getResultCode(), $client->add('new', 'y'));
    say('replace', $client->replace('nobody', 'x'), $client->replace('new', 'z'));
    $client->setOption(Memcached::OPT_COMPRESSION, false);
    $client->set('j', 'one');
    say('join', $client->append('j', '-after'), $client->prepend('j', 'before-'), $client->get('j'));
    $client->set('n', 41);
    say('count', $client->increment('n'), $client->decrement('n', 100));
    say('count nobody', $client->increment('nobody'), $client->getResultCode());
    if ($binary) {
        say('initial', $client->increment('fresh', 1, 5, 100), $client->increment('fresh', 2, 5, 100));
    }
    $got = $client->get('a', null, Memcached::GET_EXTENDED);
    say('cas', $client->cas($got['cas'], 'a', 'two'), $client->cas($got['cas'], 'a', 'three'));
    say('swapped', $client->getResultCode(), $client->get('a'));
    say('large', $client->set('large', str_repeat('x', 1000000)), strlen($client->get('large')));
    say('too large', $client->set('huge', str_repeat('x', 3000000)), $client->getResultCode() != 0);
    say('touch', $client->touch('a', 100), $client->touch('nobody', 100));
    $client->set('short', 'x', 1);
    usleep(2100000);
    say('expired', $client->get('short'), $client->getResultCode());
    say('delete', $client->delete('a'), $client->delete('a'), $client->getResultCode());
    say('delayed', $client->getDelayed(['i', 'd'], false), count($client->fetchAll()));
}
$ring = new Memcached();
$ring->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
foreach ($servers as $server) {
    $ring->addServer($server[0], (int) $server[1]);
}
$items = [];
for ($n = 0; $n < 200; $n++) {
    $items["r$n"] = $n;
}
say('ring', $ring->setMulti($items), count($ring->getMulti(array_keys($items))));
say('end');
