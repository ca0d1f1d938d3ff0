package memorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/fair"
)

// BenchTenants measures what a tenant notices of another one that asks for as much as it can, from 32
// goroutines that recall and store: alone, beside it, and beside it behind a gate of each of these options. The
// quiet tenant recalls every 100 ms. They take turns of 20 recalls, one of each per iteration, so that whatever
// else the machine does hits all alike.
func BenchTenants(b *testing.B, open func(tb testing.TB) memory.Store, gates ...fair.Options) {
	store := open(b)
	ways := []*way{{name: "alone"}, {name: "beside", loud: 32}}
	for _, o := range gates {
		gate, err := fair.New(o)
		if err != nil {
			b.Fatal(err)
		}
		ways = append(ways, &way{name: fmt.Sprint("share-", o.Share), loud: 32, gate: gate})
	}
	for _, w := range ways {
		var err error
		if w.memory, err = memory.New(w.gate.Facts(store), memory.Options{}); err != nil {
			b.Fatal(err)
		}
		for _, tenant := range []string{quiet, loud} {
			for from := 0; from < 500; from += 100 {
				if err := w.store(b.Context(), tenant, from); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for _, w := range ways { // connections are made, and statements prepared
		if err := w.turn(b.Context(), 20); err != nil {
			b.Fatal(err)
		}
		w.took, w.asked, w.lasted = nil, 0, 0
	}
	for b.Loop() {
		for _, w := range ways {
			if err := w.turn(b.Context(), 20); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportTenants(b, ways)
}

// reportTenants compares ways with the first.
func reportTenants(b *testing.B, ways []*way) {
	b.ReportMetric(0, "ns/op")
	for _, w := range ways {
		slices.Sort(w.took)
		b.ReportMetric(w.at(0.5), w.name+"-p50-ms")
		b.ReportMetric(w.at(0.99), w.name+"-p99-ms")
		b.ReportMetric(w.at(0.99)/ways[0].at(0.99), w.name+"-p99/alone")
		if w.loud > 0 {
			b.ReportMetric(float64(w.asked)/w.lasted.Seconds(), w.name+"-loud/s")
		}
	}
}

const quiet, loud = "quiet", "loud"

// A way is one in which tenants ask.
type way struct {
	name   string
	loud   int // goroutines
	gate   *fair.Gate
	memory *memory.Memory

	took   []time.Duration // of the quiet tenant's recalls
	asked  int             // calls of the other one
	lasted time.Duration
}

// store stores a hundred facts, which but for the first time are there.
func (w *way) store(ctx context.Context, tenant string, from int) error {
	facts := make([]memory.Fact, 100)
	for i := range facts {
		facts[i].Trust = memory.Stated
		facts[i].Content = fmt.Sprintf("customer %d of %s takes plan %d", from+i, tenant, i%7)
	}
	_, err := w.memory.Store(ctx, memory.Scope{Tenant: tenant}, facts...)
	return err
}

func (w *way) recall(ctx context.Context, tenant string, limit int) error {
	q := memory.Query{Scope: memory.Scope{Tenant: tenant}, Limit: limit}
	_, err := w.memory.Recall(ctx, memory.Recall{Query: q, Text: "customer with plan 3"})
	return err
}

// turn is n recalls of the quiet tenant, beside the other one.
func (w *way) turn(ctx context.Context, n int) error {
	began := time.Now()
	press, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	asked, failed := make([]int, w.loud), make([]error, w.loud)
	for i := range w.loud {
		wg.Go(func() { asked[i], failed[i] = w.press(press) })
	}
	err := w.ask(ctx, n)
	stop()
	wg.Wait()
	for _, n := range asked {
		w.asked += n
	}
	w.lasted += time.Since(began)
	return errors.Join(append(failed, err)...)
}

// press makes calls of the loud tenant until the context ends, and returns how many.
func (w *way) press(ctx context.Context) (calls int, err error) {
	for {
		if calls%4 == 3 {
			err = w.store(ctx, loud, calls/4%5*100)
		} else {
			err = w.recall(ctx, loud, 200)
		}
		if ctx.Err() != nil {
			return calls, nil
		}
		if err != nil {
			return calls, err
		}
		calls++
	}
}

func (w *way) ask(ctx context.Context, n int) error {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for range n {
		<-every.C
		began := time.Now()
		if err := w.recall(ctx, quiet, 5); err != nil {
			return err
		}
		w.took = append(w.took, time.Since(began))
	}
	return nil
}

// at returns a quantile in milliseconds.
func (w *way) at(quantile float64) float64 {
	return float64(w.took[int(quantile*float64(len(w.took)-1))].Microseconds()) / 1000
}
