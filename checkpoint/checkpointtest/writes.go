package checkpointtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var writeCases = []testCase{
	{name: "put_writes/basic", promise: "a pending write comes back with its checkpoint", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key, write("task", 0, "v"))
		k.wantWrites("writes", k.get(c.Key).Writes, write("task", 0, "v"))
	}},
	{name: "put_writes/multiple_writes_same_task", promise: "all writes of a task are kept", run: func(k *kit) {
		c := k.put("t")
		want := []checkpoint.Write{write("task", 0, "a"), write("task", 1, "b"), write("task", 2, "c")}
		k.write(c.Key, want...)
		k.wantWrites("writes", k.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/multiple_tasks", promise: "several tasks may write to one checkpoint", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key, write("b", 0, "2"))
		k.write(c.Key, write("a", 0, "1"))
		k.wantWrites("writes", k.get(c.Key).Writes, write("a", 0, "1"), write("b", 0, "2"))
	}},
	{name: "put_writes/preserves_task_id", promise: "the task's id is kept, the empty one too", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key, write("", 0, "caller"), write(uuid(9), 0, "task"))
		k.wantWrites("writes", k.get(c.Key).Writes, write("", 0, "caller"), write(uuid(9), 0, "task"))
	}},
	{name: "put_writes/preserves_channel_and_value", promise: "channel, kind and data are kept as they are", run: func(k *kit) {
		c := k.put("t")
		want := []checkpoint.Write{
			{Task: "a", Channel: "ch", Kind: 255, Data: []byte("\x00\xff")},
			{Task: "b", Channel: "", Kind: 0, Data: nil},
		}
		k.write(c.Key, want...)
		k.wantWrites("writes", k.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/task_path", promise: "writes come ordered by task and then index as a number, whatever order they came in", run: writeOrder},
	{name: "put_writes/idempotent", promise: "writing the same task and index again replaces, and adds nothing", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key, write("task", 0, "a"), write("task", 1, "b"))
		k.write(c.Key, write("task", 0, "a"), write("task", 1, "b"))
		k.wantWrites("repeated", k.get(c.Key).Writes, write("task", 0, "a"), write("task", 1, "b"))
		k.write(c.Key, checkpoint.Write{Task: "task", Index: 1, Channel: "other", Kind: 3, Data: []byte("B")})
		k.wantWrites("replaced", k.get(c.Key).Writes, write("task", 0, "a"),
			checkpoint.Write{Task: "task", Index: 1, Channel: "other", Kind: 3, Data: []byte("B")})
		k.write(c.Key, write("task", 5, "x"), write("task", 5, "y"))
		if got := k.get(c.Key).Writes; len(got) != 3 || string(got[2].Data) != "y" {
			k.Errorf("twice in one call: got %+v want the last one", got)
		}
	}},
	{name: "put_writes/special_channels", promise: "the engine's own marks and negative indexes are writes like any other", run: func(k *kit) {
		c := k.put("t")
		want := []checkpoint.Write{
			{Task: "task", Index: -3, Channel: "$resume", Data: []byte("yes")},
			{Task: "task", Index: -2, Channel: "$error", Data: []byte("failed")},
			{Task: "task", Index: -1, Channel: "$interrupt", Data: []byte("?")},
			{Task: "task", Index: 0, Channel: "ch", Data: []byte("v")},
		}
		k.write(c.Key, want...)
		k.wantWrites("writes", k.get(c.Key).Writes, want...)
	}},
	{name: "put_writes/across_namespaces", promise: "writes of one namespace are not seen in another", run: func(k *kit) {
		root, child := k.put("t"), k.put("t", in("child"))
		k.write(root.Key, write("task", 0, "root"))
		k.write(child.Key, write("task", 0, "child"))
		k.wantWrites("root", k.get(root.Key).Writes, write("task", 0, "root"))
		k.wantWrites("child", k.get(child.Key).Writes, write("task", 0, "child"))
		wrong := checkpoint.Key{Thread: "t", Namespace: "child", ID: root.ID}
		k.wantErr("checkpoint of another namespace", k.store.PutWrites(k.ctx, wrong, []checkpoint.Write{write("x", 0, "x")}), checkpoint.ErrNotFound)
	}},
	{name: "put_writes/cleared_on_next_checkpoint", promise: "writes belong to one checkpoint, and its settling successor drops them", run: func(k *kit) {
		first := k.put("t")
		k.write(first.Key, write("task", 0, "v"))
		second := k.put("t")
		k.wantWrites("of the next", k.get(second.Key).Writes)
		k.wantWrites("of the first", k.get(first.Key).Writes, write("task", 0, "v"))
		k.write(second.Key, write("task", 0, "w"))
		third := k.put("t", settling())
		k.wantWrites("settled", k.get(second.Key).Writes)
		k.wantWrites("of the third", k.get(third.Key).Writes)
		k.wantWrites("not of the parent", k.get(first.Key).Writes, write("task", 0, "v"))
	}},
	{name: "put_writes/settles_the_parent", promise: "a fork that settles drops its parent's writes, not those of the newest", run: func(k *kit) {
		first := k.put("t")
		k.write(first.Key, write("task", 0, "v"))
		second := k.put("t")
		k.write(second.Key, write("task", 0, "w"))
		k.put("t", after(first), settling())
		k.wantWrites("parent", k.get(first.Key).Writes)
		k.wantWrites("abandoned", k.get(second.Key).Writes, write("task", 0, "w"))
	}},
	{name: "put_writes/older_checkpoint", promise: "writes may go to a checkpoint that is no longer the newest", run: func(k *kit) {
		made := k.chain("t", 3)
		k.write(made[0].Key, write("task", 0, "v"))
		k.wantWrites("writes", k.get(made[0].Key).Writes, write("task", 0, "v"))
		k.wantWrites("newest", k.latest("t").Writes)
	}},
	{name: "put_writes/nothing", promise: "no writes are no error for a checkpoint that exists", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key)
		k.wantWrites("writes", k.get(c.Key).Writes)
	}},
	{name: "put_writes/nonexistent", promise: "writes to what does not exist are an ErrNotFound and leave nothing", run: func(k *kit) {
		writes := []checkpoint.Write{write("task", 0, "v")}
		k.wantErr("no thread", k.store.PutWrites(k.ctx, checkpoint.Key{Thread: "t", ID: "1"}, writes), checkpoint.ErrNotFound)
		c := k.put("t")
		k.wantErr("no checkpoint", k.store.PutWrites(k.ctx, checkpoint.Key{Thread: "t", ID: "none"}, writes), checkpoint.ErrNotFound)
		k.wantErr("no writes, no checkpoint", k.store.PutWrites(k.ctx, checkpoint.Key{Thread: "t", ID: "none"}, nil), checkpoint.ErrNotFound)
		k.wantWrites("writes", k.get(c.Key).Writes)
		k.put("t", named("none"))
		k.wantWrites("writes", k.latest("t").Writes)
	}},
}

func writeOrder(k *kit) {
	c := k.put("t")
	var want []checkpoint.Write
	for _, task := range []string{"", "0010", "0009", "a", "B", "b", "á"} {
		for _, index := range []int{10, 9, 0, -1, -10, math.MaxInt32, math.MinInt32} {
			want = append(want, write(task, index, task))
		}
	}
	for i := range want {
		k.write(c.Key, want[(i*37)%len(want)])
	}
	slices.SortFunc(want, func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	k.wantWrites("get", k.get(c.Key).Writes, want...)
	k.wantWrites("list", k.list(checkpoint.Query{Thread: "t", Writes: true})[0].Writes, want...)
}
