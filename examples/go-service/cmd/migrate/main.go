// Migrate lists the migrations in their order and refuses a gap.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

var version = "dev"

func main() {
	say := flag.Bool("version", false, "print the version")
	dir := flag.String("dir", "migrations", "folder of the migrations")
	flag.Parse()
	if *say {
		fmt.Println("migrate", version)
		return
	}
	if err := list(*dir); err != nil {
		log.Fatal(err)
	}
}

func list(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil {
		return err
	}
	for i, f := range files {
		if want := fmt.Sprintf("%04d_", i+1); filepath.Base(f)[:5] != want {
			return fmt.Errorf("%s: the next migration is %s…", f, want)
		}
		if b, err := os.ReadFile(f); err != nil || len(b) == 0 {
			return fmt.Errorf("%s is empty: %v", f, err)
		}
		fmt.Println(filepath.Base(f))
	}
	return nil
}
