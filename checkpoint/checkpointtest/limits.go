package checkpointtest

import (
	"bytes"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var limitCases = []testCase{
	{name: "limits/change", promise: "a change over the limit is an ErrTooLarge before anything is written", run: func(k *kit) {
		k.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: "big", Data: data})
		})
	}},
	{name: "limits/snapshot", promise: "so is a part of a snapshot", run: func(k *kit) {
		k.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) {
			c.Snapshot = []checkpoint.Change{{Channel: "small"}, {Channel: "big", Data: data}}
		})
	}},
	{name: "limits/control", promise: "so is Control", run: func(k *kit) {
		k.wantTooLarge(func(c *checkpoint.Checkpoint, data []byte) { c.Control = data })
	}},
	{name: "limits/write", promise: "so is a pending write, and those it came with are not written either", run: func(k *kit) {
		limit := k.limit()
		if limit < 0 {
			return
		}
		c := k.put("t")
		k.write(c.Key, write("task", 0, "v"))
		over := []checkpoint.Write{write("task", 0, "replaced"), {Task: "z", Channel: "big", Data: make([]byte, limit+1)}}
		k.wantErr("put writes", k.store.PutWrites(k.ctx, c.Key, over), checkpoint.ErrTooLarge)
		k.wantWrites("writes", k.get(c.Key).Writes, write("task", 0, "v"))
		most := checkpoint.Write{Task: "z", Channel: "big", Data: bytes.Repeat([]byte("x"), limit)}
		k.write(c.Key, most)
		k.wantWrites("writes", k.get(c.Key).Writes, write("task", 0, "v"), most)
	}},
	{name: "limits/sum", promise: "the limit is that of a value, not of a checkpoint", run: func(k *kit) {
		limit := k.limit()
		if limit < 0 {
			return
		}
		part := bytes.Repeat([]byte("x"), limit/2+1)
		c := k.next("t")
		c.Changes = []checkpoint.Change{{Channel: "a", Data: part}, {Channel: "b", Data: part}, {Channel: "a", Data: part}}
		k.wantNoErr("put", k.tryPut(c))
		k.wantSame(k.get(c.Key), c)
	}},
	{name: "limits/many", promise: "one step may have thousands of changes and of writes", run: func(k *kit) {
		c := k.next("t")
		var writes []checkpoint.Write
		for i := range 3000 {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: uuid(i % 1000), Kind: uint8(i), Data: []byte(uuid(i))})
			writes = append(writes, write(uuid(i), i, uuid(i)))
		}
		k.wantNoErr("put", k.tryPut(c))
		k.write(c.Key, writes...)
		got := k.get(c.Key)
		k.wantSame(got, c)
		k.wantWrites("writes", got.Writes, writes...)
		k.put("t", settling())
		k.wantWrites("settled", k.get(c.Key).Writes)
	}},
}

// limit is negative for none.
func (k *kit) limit() int { return k.harness.MaxValue }

// wantTooLarge wants a value of the limit to be stored, and one byte more to be
// refused with nothing changed.
func (k *kit) wantTooLarge(set func(c *checkpoint.Checkpoint, data []byte)) {
	k.Helper()
	limit := k.limit()
	if limit < 0 {
		return
	}
	first := k.next("t")
	set(&first, make([]byte, limit+1))
	k.wantErr("put first", k.store.Put(k.ctx, first, ""), checkpoint.ErrTooLarge)
	k.wantMissing(checkpoint.Key{Thread: "t"})

	parent := k.put("t")
	k.write(parent.Key, write("task", 0, "v"))
	over := k.next("t", settling())
	set(&over, make([]byte, limit+1))
	k.wantErr("put", k.store.Put(k.ctx, over, parent.ID), checkpoint.ErrTooLarge)
	k.wantMissing(over.Key)
	k.wantSame(k.latest("t"), parent)
	k.wantWrites("writes", k.latest("t").Writes, write("task", 0, "v"))

	most := k.next("t", settling())
	set(&most, slices.Repeat([]byte("x"), limit))
	k.wantNoErr("put of the limit", k.tryPut(most))
	k.wantSame(k.get(most.Key), most)
}
