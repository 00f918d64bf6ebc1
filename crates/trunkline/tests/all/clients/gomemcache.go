// What users of gomemcache do: cache_clients.rs compares what is printed.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = 5 * time.Second
	get := func(key string) string {
		item, err := client.Get(key)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d %s", item.Flags, item.Value)
	}
	set := func(key, value string, expiration int32) error {
		return client.Set(&memcache.Item{Key: key, Value: []byte(value), Flags: 7, Expiration: expiration})
	}
	fmt.Println("set", set("a", "one", 0), get("a"), get("none"))
	add := func(key string) error { return client.Add(&memcache.Item{Key: key, Value: []byte("x")}) }
	fmt.Println("add", add("a"), add("new"))
	for n := 0; n < 50; n++ {
		set(fmt.Sprint("k", n), fmt.Sprint(n), 0)
	}
	var keys []string
	for n := 0; n < 60; n++ {
		keys = append(keys, fmt.Sprint("k", n))
	}
	many, err := client.GetMulti(keys)
	fmt.Println("many", len(many), err)
	item, _ := client.Get("a")
	item.Value = []byte("two")
	fmt.Println("cas", client.CompareAndSwap(item), client.CompareAndSwap(item), get("a"))
	set("n", "41", 0)
	up, err := client.Increment("n", 1)
	down, _ := client.Decrement("n", 100)
	_, nobody := client.Increment("nobody", 1)
	fmt.Println("count", up, err, down, nobody)
	fmt.Println("large", set("large", string(make([]byte, 1000000)), 0), len(get("large")))
	set("short", "x", 1)
	time.Sleep(2100 * time.Millisecond)
	fmt.Println("expired", get("short"))
	fmt.Println("delete", client.Delete("a"), client.Delete("a"), get("a"))
	ring := memcache.New(os.Args[1:]...)
	for n := 0; n < 200; n++ {
		ring.Set(&memcache.Item{Key: fmt.Sprint("r", n), Value: []byte("x")})
	}
	keys = nil
	for n := 0; n < 200; n++ {
		keys = append(keys, fmt.Sprint("r", n))
	}
	many, err = ring.GetMulti(keys)
	fmt.Println("ring", len(many), err)
	fmt.Println("end")
}
