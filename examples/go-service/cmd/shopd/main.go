// Shopd serves the shop.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"

	"example.com/shop/internal/api"
	"example.com/shop/internal/config"
	"example.com/shop/internal/store"
)

// version is set when the program is built.
var version = "dev"

func main() {
	file := flag.String("config", "config/dev.json", "settings")
	check := flag.Bool("check", false, "read the settings and end")
	say := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *say {
		fmt.Println("shopd", version)
		return
	}
	c, err := config.Read(*file)
	if err != nil {
		log.Fatal(err)
	}
	if *check {
		fmt.Println(*file, "ok")
		return
	}
	log.Fatal(http.ListenAndServe(c.Listen, api.Handler(&store.Store{Max: c.MaxItems})))
}
