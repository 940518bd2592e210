// Openapi compares the routes that are served with the ones that are described.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/shop/internal/api"
)

func main() {
	b, err := os.ReadFile("api/routes.txt")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if got, want := strings.TrimSpace(string(b)), strings.Join(api.Routes, "\n"); got != want {
		fmt.Fprintf(os.Stderr, "api/routes.txt describes\n%s\nand these are served\n%s\n", got, want)
		os.Exit(1)
	}
	fmt.Println(len(api.Routes), "routes, all described")
}
