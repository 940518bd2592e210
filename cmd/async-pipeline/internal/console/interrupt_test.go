package console

import (
	"syscall"
	"testing"
	"time"
)

// A signal that came before Heeds is told to whom it was to be told then, before the work goes on.
func TestHeedsWaitsForWhoWasTold(t *testing.T) {
	t.Parallel()
	c := &Console{Out: &Writer{}, Err: &Writer{}}
	began, end := make(chan struct{}), make(chan struct{})
	i := c.ListenSoon(func(syscall.Signal) {
		close(began)
		<-end
	})
	<-i.taken
	i.ch <- syscall.SIGTERM
	<-began
	heeds := make(chan struct{})
	go func() {
		i.Heeds(func(syscall.Signal) { t.Error("the first signal was told twice") })
		close(heeds)
	}()
	select {
	case <-heeds:
		t.Error("Heeds did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	<-heeds
	i.Stop()
}
