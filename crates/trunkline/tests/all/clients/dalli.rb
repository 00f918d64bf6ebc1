# What users of dalli (binary protocol, and meta where it can) do: cache_clients.rs compares what is printed.
require 'dalli'

def say(what, *values) = puts("#{what} #{values.inspect}")

%i[binary meta].each do |protocol|
  # A dalli before 3.2 does not know the option and speaks binary both times.
  client = Dalli::Client.new(ARGV[0, 1], protocol: protocol)
  client.flush
  say 'set', client.set('a', 'one').class, client.get('a'), client.get('none')
  say 'kinds', client.set('h', { 'x' => [1, 2.5, nil] }).class, client.get('h')
  client.multi { 50.times { |n| client.set("k#{n}", n) } }
  say 'many', client.get_multi((0..59).map { |n| "k#{n}" }).length
  say 'add', client.add('a', 'x'), client.add('new', 'y').class
  say 'replace', client.replace('nobody', 'x'), client.replace('new', 'z').class
  client.set('j', 'one', 0, raw: true)
  say 'join', client.append('j', '-after'), client.prepend('j', 'before-'), client.get('j', raw: true)
  client.set('n', 41, 0, raw: true)
  say 'count', client.incr('n'), client.decr('n', 100), client.incr('nobody')
  say 'initial', client.incr('fresh', 1, 0, 5), client.incr('fresh')
  say 'cas', client.cas('a') { |value| value + '-two' }.class, client.get('a'), client.cas('nobody') { 'x' }
  say 'large', client.set('large', 'x' * 1_000_000, 0, raw: true).class, client.get('large', raw: true).length
  begin
    say 'too large', client.set('huge', Random.new(1).bytes(2_000_000), 0, raw: true)
  rescue Dalli::DalliError => error
    say 'too large', error.class
  end
  say 'touch', client.touch('a', 100), client.touch('nobody', 100), client.gat('a', 100)
  client.set('short', 'x', 1)
  sleep 2.1
  say 'expired', client.get('short')
  say 'fetch', client.fetch('computed') { 'made' }, client.fetch('computed') { 'again' }
  say 'delete', client.delete('a'), client.delete('a'), client.get('a')
end
ring = Dalli::Client.new(ARGV)
200.times { |n| ring.set("r#{n}", n) }
all = ring.stats.values
say 'ring', ring.get_multi((0..199).map { |n| "r#{n}" }).length, all.all? { |stats| stats['curr_items'].to_i.positive? }
say 'end'
