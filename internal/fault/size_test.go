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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

func init() {
	// The arguments are URL, SCHEMA and BYTES. The process stores and reads a value. It prints
	// its peak memory at the start, after the write and after the read.
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
		thread := fmt.Sprint("size ", size)
		if err := store.Put(ctx, step(thread, stepID(1), "", "small"), ""); err != nil {
			return err
		}
		debug.FreeOSMemory()
		before, err := peakMemory()
		if err != nil {
			return err
		}
		c := step(thread, stepID(2), stepID(1), "")
		c.Changes[0].Data = incompressible(1, size)
		if err := store.Put(ctx, c, stepID(1)); err != nil {
			return err
		}
		put, err := peakMemory()
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
			return fmt.Errorf("read %d of %d bytes", n, size)
		}
		both, err := peakMemory()
		fmt.Println(before, put, both)
		return err
	}
}

// peakMemory returns the peak resident memory of this process, in bytes.
func peakMemory() (int64, error) {
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

// ownMemory is the memory that a process may use in addition to values, in bytes.
const ownMemory = 8 << 20

// F13: a store rejects a value above the limit without sending any part of it. To store and
// read an accepted value, a process uses at most four times the size of the value and
// ownMemory. The short form does not check the memory, since the race detector changes it.
func TestF13LargeValuesAreRejectedOrFitInMemory(t *testing.T) {
	begin(t)
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store := open(t, address, o)
	assert.NoError(t, store.Put(t.Context(), step("t", stepID(1), "", "0"), ""), "put")
	var sent atomic.Int64
	proxy.Intercept(func(_ fault.Direction, b []byte) fault.Action {
		sent.Add(int64(len(b)))
		return fault.Action{}
	})
	for _, size := range []int{checkpoint.DefaultMaxValue + 1, count(17, 64) << 20} {
		c := step("t", stepID(2), stepID(1), "")
		c.Changes[0].Data = make([]byte, size)
		assert.ErrorIs(t, store.Put(t.Context(), c, stepID(1)), checkpoint.ErrTooLarge, fmt.Sprint(size, " bytes"))
		w := []checkpoint.Write{{Task: "a", Channel: "c", Data: c.Changes[0].Data}}
		assert.ErrorIs(t, store.PutWrites(t.Context(), checkpoint.Key{Thread: "t", ID: stepID(1)}, w), checkpoint.ErrTooLarge, "writes")
	}
	assert.Zero(t, sent.Load(), "bytes sent of values above the limit")
	wantChain(t, store, "t", 1)
	sizes := []int{1, 16}
	if long() {
		sizes = []int{1, 16, 64, 300}
	}
	for _, mb := range sizes {
		p, err := fault.Spawn(t.Context(), "size", pgtest.DirectURL(t), o.Schema, fmt.Sprint(mb<<20))
		require.NoError(t, err)
		line, _ := p.Line()
		_, err = p.Wait()
		require.NoError(t, err, "%d MB", mb)
		var before, put, both int64
		_, err = fmt.Sscan(line, &before, &put, &both)
		require.NoError(t, err)
		times := func(peak int64) float64 { return float64(peak-before) / float64(int64(mb)<<20) }
		t.Logf("F13: %d MB: peak memory %.1f times the value to store it, %.1f times to store and read it", mb, times(put), times(both))
		if long() {
			assert.LessOrEqual(t, both-before, int64(4*mb)<<20+ownMemory, "peak memory of a value of %d MB", mb)
		}
	}
}
