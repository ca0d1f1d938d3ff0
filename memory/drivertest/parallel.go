package drivertest

import (
	"crypto/sha256"
	"errors"
	"strings"
	"sync"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
)

// parallel runs a function n times concurrently and joins the errors.
func parallel(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = suitetest.Recovered(func() error { return fn(i) })
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// newRecord returns a record with a new ID, for concurrent use.
func newRecord(content string) driver.FactRecord {
	sum := sha256.Sum256([]byte(strings.ToLower(content)))
	return driver.FactRecord{
		Fact:  driver.Fact{ID: uuid.New(), Kind: driver.Plain, Content: content, Importance: 0.5, Trust: driver.Stated},
		Key:   [16]byte(sum[:16]),
		Terms: strings.Fields(strings.ToLower(content)),
	}
}
