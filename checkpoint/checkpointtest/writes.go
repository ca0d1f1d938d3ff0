package checkpointtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var writeCases = []testCase{
	{name: "put_writes/basic", promise: "Get returns a pending write with its checkpoint", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key, write("task", 0, "v"))
		f.wantWrites("writes", f.get(c.Key).Writes, write("task", 0, "v"))
	}},
	{name: "put_writes/multiple_writes_same_task", promise: "a store keeps all writes of a task", run: func(f *fixture) {
		c := f.put("t")
		want := []checkpoint.Write{write("task", 0, "a"), write("task", 1, "b"), write("task", 2, "c")}
		f.write(c.Key, want...)
		f.wantWrites("writes", f.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/multiple_tasks", promise: "several tasks may write to one checkpoint", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key, write("b", 0, "2"))
		f.write(c.Key, write("a", 0, "1"))
		f.wantWrites("writes", f.get(c.Key).Writes, write("a", 0, "1"), write("b", 0, "2"))
	}},
	{name: "put_writes/preserves_task_id", promise: "a store returns the id of the task unchanged, including the empty id", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key, write("", 0, "caller"), write(uuid(9), 0, "task"))
		f.wantWrites("writes", f.get(c.Key).Writes, write("", 0, "caller"), write(uuid(9), 0, "task"))
	}},
	{name: "put_writes/preserves_channel_and_value", promise: "a store returns channel, kind and data unchanged", run: func(f *fixture) {
		c := f.put("t")
		want := []checkpoint.Write{
			{Task: "a", Channel: "ch", Kind: 255, Data: []byte("\x00\xff")},
			{Task: "b", Channel: "", Kind: 0, Data: nil},
		}
		f.write(c.Key, want...)
		f.wantWrites("writes", f.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/task_path", promise: "pending writes are ordered by task and then by index as a number, in whatever order they were put", run: writeOrder},
	{name: "put_writes/idempotent", promise: "a write with the task and index of an earlier write replaces it", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key, write("task", 0, "a"), write("task", 1, "b"))
		f.write(c.Key, write("task", 0, "a"), write("task", 1, "b"))
		f.wantWrites("repeated", f.get(c.Key).Writes, write("task", 0, "a"), write("task", 1, "b"))
		f.write(c.Key, checkpoint.Write{Task: "task", Index: 1, Channel: "other", Kind: 3, Data: []byte("B")})
		f.wantWrites("replaced", f.get(c.Key).Writes, write("task", 0, "a"),
			checkpoint.Write{Task: "task", Index: 1, Channel: "other", Kind: 3, Data: []byte("B")})
		f.write(c.Key, write("task", 5, "x"), write("task", 5, "y"))
		if got := f.get(c.Key).Writes; len(got) != 3 || string(got[2].Data) != "y" {
			f.Errorf("two writes with one key in one call: got %+v want the later one", got)
		}
	}},
	{name: "put_writes/special_channels", promise: `channels whose names begin with "$", and negative indexes, are stored like any other`, run: func(f *fixture) {
		c := f.put("t")
		want := []checkpoint.Write{
			{Task: "task", Index: -3, Channel: "$resume", Data: []byte("yes")},
			{Task: "task", Index: -2, Channel: "$error", Data: []byte("failed")},
			{Task: "task", Index: -1, Channel: "$interrupt", Data: []byte("?")},
			{Task: "task", Index: 0, Channel: "ch", Data: []byte("v")},
		}
		f.write(c.Key, want...)
		f.wantWrites("writes", f.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/across_namespaces", promise: "pending writes belong to one namespace", run: func(f *fixture) {
		root, child := f.put("t"), f.put("t", inNamespace("child"))
		f.write(root.Key, write("task", 0, "root"))
		f.write(child.Key, write("task", 0, "child"))
		f.wantWrites("root", f.get(root.Key).Writes, write("task", 0, "root"))
		f.wantWrites("child", f.get(child.Key).Writes, write("task", 0, "child"))
		wrong := checkpoint.Key{Thread: "t", Namespace: "child", ID: root.ID}
		f.wantErr("checkpoint of another namespace", f.store.PutWrites(f.ctx, wrong, []checkpoint.Write{write("x", 0, "x")}), checkpoint.ErrNotFound)
	}},
	{name: "put_writes/cleared_on_next_checkpoint", promise: "pending writes belong to one checkpoint, and a child that settles removes them", run: func(f *fixture) {
		first := f.put("t")
		f.write(first.Key, write("task", 0, "v"))
		second := f.put("t")
		f.wantWrites("newest", f.get(second.Key).Writes)
		f.wantWrites("parent of the newest", f.get(first.Key).Writes, write("task", 0, "v"))
		f.write(second.Key, write("task", 0, "w"))
		third := f.put("t", settles())
		f.wantWrites("settled", f.get(second.Key).Writes)
		f.wantWrites("third", f.get(third.Key).Writes)
		f.wantWrites("grandparent", f.get(first.Key).Writes, write("task", 0, "v"))
	}},
	{name: "put_writes/settles_the_parent", promise: "a fork that settles removes the pending writes of its parent, not those of the newest checkpoint", run: func(f *fixture) {
		first := f.put("t")
		f.write(first.Key, write("task", 0, "v"))
		second := f.put("t")
		f.write(second.Key, write("task", 0, "w"))
		f.put("t", withParent(first), settles())
		f.wantWrites("parent", f.get(first.Key).Writes)
		f.wantWrites("abandoned", f.get(second.Key).Writes, write("task", 0, "w"))
	}},
	{name: "put_writes/one_by_one", promise: "a checkpoint accepts thousands of pending writes one by one, and returns each once and in order", run: writesOneByOne},
	{name: "put_writes/older_checkpoint", promise: "a checkpoint that is not the newest accepts pending writes", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.write(made[0].Key, write("task", 0, "v"))
		f.wantWrites("writes", f.get(made[0].Key).Writes, write("task", 0, "v"))
		f.wantWrites("newest", f.latest("t").Writes)
	}},
	{name: "put_writes/nothing", promise: "PutWrites without writes succeeds for a checkpoint that exists", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key)
		f.wantWrites("writes", f.get(c.Key).Writes)
	}},
	{name: "put_writes/nonexistent", promise: "PutWrites returns ErrNotFound for a checkpoint that does not exist, and stores nothing", run: func(f *fixture) {
		writes := []checkpoint.Write{write("task", 0, "v")}
		f.wantErr("no thread", f.store.PutWrites(f.ctx, checkpoint.Key{Thread: "t", ID: "1"}, writes), checkpoint.ErrNotFound)
		c := f.put("t")
		f.wantErr("no checkpoint", f.store.PutWrites(f.ctx, checkpoint.Key{Thread: "t", ID: "none"}, writes), checkpoint.ErrNotFound)
		f.wantErr("no writes, no checkpoint", f.store.PutWrites(f.ctx, checkpoint.Key{Thread: "t", ID: "none"}, nil), checkpoint.ErrNotFound)
		f.wantWrites("writes", f.get(c.Key).Writes)
		f.put("t", withID("none"))
		f.wantWrites("writes", f.latest("t").Writes)
	}},
}

func writesOneByOne(f *fixture) {
	const n = 2000
	c := f.put("t")
	want := make([]checkpoint.Write, n)
	for i := range want {
		want[i] = write(fmt.Sprintf("task%04d", i/2), i%2, fmt.Sprint(i))
	}
	for i := range want {
		f.write(c.Key, want[i*7919%n])
	}
	f.wantWrites("pending writes", f.get(c.Key).Writes, want...)
	f.put("t", settles())
	f.wantWrites("settled", f.get(c.Key).Writes)
}

func writeOrder(f *fixture) {
	c := f.put("t")
	var want []checkpoint.Write
	for _, task := range []string{"", "0010", "0009", "a", "B", "b", "á"} {
		for _, index := range []int{10, 9, 0, -1, -10, math.MaxInt32, math.MinInt32} {
			want = append(want, write(task, index, task))
		}
	}
	for i := range want {
		f.write(c.Key, want[(i*37)%len(want)])
	}
	slices.SortFunc(want, func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	f.wantWrites("get", f.get(c.Key).Writes, want...)
	f.wantWrites("list", f.first(checkpoint.Query{Thread: "t", Writes: true}).Writes, want...)
}
