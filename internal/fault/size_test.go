//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

func init() {
	// size URL SCHEMA BYTES stores a value and tells how much memory that took.
	roles["size"] = func(ctx context.Context, args []string) error {
		size, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		store, err := pgcheckpoint.Open(ctx, args[0], pgcheckpoint.Options{Schema: args[1], MaxValue: -1, Timeout: 5 * time.Minute})
		if err != nil {
			return err
		}
		defer store.Close()
		thread := fmt.Sprint("of ", size)
		if err := store.Put(ctx, step(thread, stepID(1), "", "small"), ""); err != nil {
			return err
		}
		debug.FreeOSMemory()
		before, err := peak()
		if err != nil {
			return err
		}
		c := step(thread, stepID(2), stepID(1), "")
		c.Changes[0].Data = noise(1, size)
		if err := store.Put(ctx, c, stepID(1)); err != nil {
			return err
		}
		put, err := peak()
		if err != nil {
			return err
		}
		c.Changes = nil
		debug.FreeOSMemory()
		got, err := store.Get(ctx, checkpoint.Key{Thread: thread})
		if err != nil {
			return err
		}
		if n := len(got.Lineage[1].Changes[0].Data); n != size {
			return fmt.Errorf("it came back with %d bytes", n)
		}
		both, err := peak()
		fmt.Println(before, put, both)
		return err
	}
}

// peak is the most memory that this process has had, in bytes.
func peak() (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kb int64
			_, err := fmt.Sscan(rest, &kb)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in %s", b)
}

// ownMemory is what a process needs besides values.
const ownMemory = 8 << 20

// F13: values of any size. Beyond the limit nothing is sent; and one that is allowed
// takes no more than four times its size, the value itself among it. The race detector
// has memory of its own, so that the short form looks at nothing but the sizes.
func TestF13LargeValues(t *testing.T) {
	begin(t)
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store := open(t, address, o)
	wantNoErr(t, "put", store.Put(t.Context(), step("t", stepID(1), "", "0"), ""))
	var sent atomic.Int64
	proxy.Treat(func(_ fault.Direction, b []byte) fault.Fate {
		sent.Add(int64(len(b)))
		return fault.Fate{}
	})
	for _, size := range []int{checkpoint.DefaultMaxValue + 1, count(17, 64) << 20} {
		c := step("t", stepID(2), stepID(1), "")
		c.Changes[0].Data = make([]byte, size)
		wantErr(t, fmt.Sprint(size, " bytes"), store.Put(t.Context(), c, stepID(1)), checkpoint.ErrTooLarge)
		w := []checkpoint.Write{{Task: "a", Channel: "c", Data: c.Changes[0].Data}}
		wantErr(t, "writes", store.PutWrites(t.Context(), checkpoint.Key{Thread: "t", ID: stepID(1)}, w), checkpoint.ErrTooLarge)
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d bytes were sent of what is refused", n)
	}
	wantChain(t, store, "t", 1)
	sizes := []int{1, 16}
	if long() {
		sizes = []int{1, 16, 64, 300}
	}
	for _, mb := range sizes {
		p, err := fault.Spawn(t.Context(), "size", pgtest.DirectURL(t), o.Schema, fmt.Sprint(mb<<20))
		if err != nil {
			t.Fatal(err)
		}
		line, _ := p.Line()
		if _, err := p.Wait(); err != nil {
			t.Fatalf("%d MB: %v", mb, err)
		}
		var before, put, both int64
		if _, err := fmt.Sscan(line, &before, &put, &both); err != nil {
			t.Fatal(err)
		}
		times := func(peak int64) float64 { return float64(peak-before) / float64(int64(mb)<<20) }
		t.Logf("F13: %d MB: at most %.1f times that to store it, %.1f to store and read it", mb, times(put), times(both))
		if long() && both-before > int64(4*mb)<<20+ownMemory {
			t.Errorf("a value of %d MB took %.1f times as much", mb, times(both))
		}
	}
}
