package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// onePort is a check that needs the address PORT for itself. It asks the server at REFEREE when it may end.
func onePort() {
	ctx := context.Background()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", os.Getenv("PORT"))
	referee, rerr := (&net.Dialer{}).DialContext(ctx, "tcp", os.Getenv("REFEREE"))
	if rerr != nil {
		fmt.Println(rerr)
		os.Exit(2)
	}
	_, _ = fmt.Fprintln(referee, err) // what matters is the answer
	_, rerr = bufio.NewReader(referee).ReadString('\n')
	if err != nil || rerr != nil {
		fmt.Println(err, rerr)
		os.Exit(1)
	}
	_ = l.Close()
}

// besideTime is how long the referee waits for the second check.
const besideTime = 20 * time.Second

// cmdReferee starts the server at REFEREE. It lets no check end before two of them have begun, and answers every
// later one at once. PORT is an address that nobody else uses.
func cmdReferee(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "referee")
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("REFEREE", l.Addr().String())
	ts.Setenv("PORT", fmt.Sprintf("127.%d.%d.%d:7531", 1+rand.IntN(200), rand.IntN(256), 1+rand.IntN(250)))
	var two sync.WaitGroup
	two.Add(2)
	both := make(chan struct{})
	go func() { two.Wait(); close(both) }()
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
					return
				}
				if n <= 2 {
					two.Done()
				}
				select {
				case <-both:
				case <-time.After(besideTime):
				}
				_, _ = fmt.Fprintln(c, "end")
			}()
		}
	}()
}
