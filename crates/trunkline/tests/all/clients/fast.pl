# What users of Cache::Memcached::Fast do: cache_clients.rs compares what is printed.
use strict;
use warnings;
use Cache::Memcached::Fast;

sub say { print join(' ', map { defined $_ ? "'$_'" : 'undef' } @_), "\n" }

my $client = Cache::Memcached::Fast->new({ servers => [$ARGV[0]], utf8 => 1, max_size => 10_000_000 });
$client->flush_all;
say 'set', $client->set('a', 'one'), $client->get('a'), $client->get('none');
my $done = $client->set_multi(['k1', 1], ['k2', 'two'], ['k3', [1, 2, 3]]);
my $got = $client->get_multi('k1', 'k2', 'k3', 'none');
say 'many', join(',', map { $_ // 'undef' } @$done{sort keys %$done});
say 'all', join(',', sort keys %$got), scalar @{ $got->{k3} };
say 'add', $client->add('a', 'x'), $client->add('new', 'y');
say 'replace', $client->replace('nobody', 'x'), $client->replace('new', 'z');
say 'join', $client->append('a', '-after'), $client->prepend('a', 'before-'), $client->get('a');
$client->set('n', 41);
say 'count', $client->incr('n'), $client->decr('n', 100), $client->incr('nobody');
my ($cas, $value) = @{ $client->gets('a') };
say 'cas', $client->cas('a', $cas, 'two'), $client->cas('a', $cas, 'three'), $client->get('a');
say 'utf8', $client->set('u', "\x{263a}"), length $client->get('u');
say 'large', $client->set('large', 'x' x 1_000_000), length $client->get('large');
say 'too large', $client->set('huge', 'x' x 2_000_000);
say 'touch', $client->touch('a', 100), $client->touch('nobody', 100);
$client->set('short', 'x', 1);
select undef, undef, undef, 2.1;
say 'expired', $client->get('short');
say 'delete', $client->delete('a'), $client->delete('a'), $client->get('a');
$client->set('q', 'quiet');
$client->delete('q');
$client->nowait_push;
say 'quiet', $client->get('q');
my $ring = Cache::Memcached::Fast->new({ servers => [@ARGV], ketama_points => 150, nowait => 1 });
$ring->set("r$_", $_) for 0 .. 199;
$ring->nowait_push;
say 'ring', scalar keys %{ $ring->get_multi(map { "r$_" } 0 .. 199) };
say 'end';
