package checkpointtest

import (
	"bytes"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var limitCases = []testCase{
	{name: "limits/change", promise: "Put returns ErrTooLarge for a change over the limit, and stores nothing", run: func(f *fixture) {
		f.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: "big", Data: data})
		})
	}},
	{name: "limits/snapshot", promise: "Put returns ErrTooLarge for a part of a snapshot over the limit, and stores nothing", run: func(f *fixture) {
		f.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) {
			c.Snapshot = []checkpoint.Change{{Channel: "small"}, {Channel: "big", Data: data}}
		})
	}},
	{name: "limits/control", promise: "Put returns ErrTooLarge for a Control over the limit, and stores nothing", run: func(f *fixture) {
		f.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) { c.Control = data })
	}},
	{name: "limits/write", promise: "PutWrites returns ErrTooLarge if one write is over the limit, and stores none of them", run: func(f *fixture) {
		limit := f.limit()
		if limit < 0 {
			return
		}
		c := f.put("t")
		f.write(c.Key, write("task", 0, "v"))
		over := []checkpoint.Write{write("task", 0, "replaced"), {Task: "z", Channel: "big", Data: make([]byte, limit+1)}}
		f.wantErr("put writes", f.store.PutWrites(f.ctx, c.Key, over), checkpoint.ErrTooLarge)
		f.wantWrites("writes", f.get(c.Key).Writes, write("task", 0, "v"))
		largest := checkpoint.Write{Task: "z", Channel: "big", Data: bytes.Repeat([]byte("x"), limit)}
		f.write(c.Key, largest)
		f.wantWrites("writes", f.get(c.Key).Writes, write("task", 0, "v"), largest)
	}},
	{name: "limits/sum", promise: "the limit applies to each value and not to their sum", run: func(f *fixture) {
		limit := f.limit()
		if limit < 0 {
			return
		}
		part := bytes.Repeat([]byte("x"), limit/2+1)
		c := f.next("t")
		c.Changes = []checkpoint.Change{{Channel: "a", Data: part}, {Channel: "b", Data: part}, {Channel: "a", Data: part}}
		f.wantNoErr("put", f.tryPut(c))
		f.wantSame(f.get(c.Key), c)
	}},
	{name: "limits/many", promise: "one step may have thousands of changes and pending writes", run: func(f *fixture) {
		c := f.next("t")
		var writes []checkpoint.Write
		for i := range 3000 {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: uuid(i % 1000), Kind: uint8(i), Data: []byte(uuid(i))})
			writes = append(writes, write(uuid(i), i, uuid(i)))
		}
		f.wantNoErr("put", f.tryPut(c))
		f.write(c.Key, writes...)
		got := f.get(c.Key)
		f.wantSame(got, c)
		f.wantWrites("writes", got.Writes, writes...)
		f.put("t", settles())
		f.wantWrites("settled", f.get(c.Key).Writes)
	}},
}

// limit returns the maximum size of a value, and a negative number for no limit.
func (f *fixture) limit() int { return f.harness.MaxValue }

// wantTooLarge fails unless the store accepts a value of the maximum size, and
// returns ErrTooLarge and changes nothing for a value that is one byte larger.
func (f *fixture) wantTooLarge(set func(c *checkpoint.Checkpoint, data []byte)) {
	f.Helper()
	limit := f.limit()
	if limit < 0 {
		return
	}
	first := f.next("t")
	set(&first, make([]byte, limit+1))
	f.wantErr("put first", f.store.Put(f.ctx, first, ""), checkpoint.ErrTooLarge)
	f.wantMissing(checkpoint.Key{Thread: "t"})

	parent := f.put("t")
	f.write(parent.Key, write("task", 0, "v"))
	over := f.next("t", settles())
	set(&over, make([]byte, limit+1))
	f.wantErr("put", f.store.Put(f.ctx, over, parent.ID), checkpoint.ErrTooLarge)
	f.wantMissing(over.Key)
	f.wantSame(f.latest("t"), parent)
	f.wantWrites("writes", f.latest("t").Writes, write("task", 0, "v"))

	largest := f.next("t", settles())
	set(&largest, slices.Repeat([]byte("x"), limit))
	f.wantNoErr("put of the maximum size", f.tryPut(largest))
	f.wantSame(f.get(largest.Key), largest)
}
