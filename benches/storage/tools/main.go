// What `make bench-storage` needs beside the plugin, the standard library alone: a proxy that makes a local server as far away as
// a real one, and the least that a client must do to move the same bytes.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "proxy" {
		proxy(os.Args[2:])
	}
	if len(os.Args) > 1 && os.Args[1] == "raw" {
		raw(os.Args[2:])
		return
	}
	fmt.Fprintln(os.Stderr, "tools proxy|raw …: see proxy.go and raw.go")
	os.Exit(2)
}
