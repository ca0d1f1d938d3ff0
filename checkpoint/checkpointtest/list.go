package checkpointtest

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var listCases = []testCase{
	{name: "list/all", promise: "AllNamespaces lists every checkpoint of a thread", run: func(k *kit) {
		a, b := k.put("t"), k.put("t", in("child"))
		c, d := k.put("t", in("other")), k.put("t")
		k.put("t2")
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, d, c, b, a)
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true, Namespace: "child"}, d, c, b, a)
	}},
	{name: "list/by_thread", promise: "only the thread's own checkpoints are listed", run: func(k *kit) {
		a, b := k.put("a"), k.put("b")
		k.wantList(checkpoint.Query{Thread: "a"}, a)
		k.wantList(checkpoint.Query{Thread: "b"}, b)
	}},
	{name: "list/by_namespace", promise: "only the namespace's own checkpoints are listed", run: func(k *kit) {
		root, child := k.put("t"), k.put("t", in("child"))
		k.wantList(checkpoint.Query{Thread: "t"}, root)
		k.wantList(checkpoint.Query{Thread: "t", Namespace: "child"}, child)
		k.wantList(checkpoint.Query{Thread: "t", Namespace: "chil"})
	}},
	{name: "list/ordering", promise: "the newest comes first, by the order in which the store accepted them", run: func(k *kit) {
		made := listed(k)
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
	}},
	{name: "list/order_is_not_by_id", promise: "ids have no say in the order", run: func(k *kit) {
		z, a := k.put("t", named("z")), k.put("t", named("a"))
		u := k.put("t", named(uuid(1)))
		k.wantList(checkpoint.Query{Thread: "t"}, u, a, z)
		k.wantList(checkpoint.Query{Thread: "t", Before: "a"}, z)
	}},
	{name: "list/metadata_filter_single_key", promise: "a source, or one pair of metadata, filters", run: func(k *kit) {
		made := listed(k)
		k.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Input}, made[2], made[0])
		k.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "1"}}, made[3], made[2])
	}},
	{name: "list/metadata_filter_step", promise: "a step filters, also zero", run: func(k *kit) {
		made := listed(k)
		for _, step := range []int{0, 1} {
			k.wantList(checkpoint.Query{Thread: "t", Step: &step}, made[step])
		}
	}},
	{name: "list/before", promise: "Before leaves out the checkpoint it names and all that came after it", run: func(k *kit) {
		made := listed(k)
		k.wantList(checkpoint.Query{Thread: "t", Before: made[2].ID}, made[1], made[0])
		k.wantList(checkpoint.Query{Thread: "t", Before: made[0].ID})
		q := checkpoint.Query{Thread: "t", Before: "none"}
		k.wantErr("before what does not exist", k.listError(q), checkpoint.ErrNotFound)
		q.Thread = "none"
		k.wantErr("before, in no thread", k.listError(q), checkpoint.ErrNotFound)
	}},
	{name: "list/before_of_another_namespace", promise: "Before may name a checkpoint of any namespace of the thread", run: func(k *kit) {
		a, child, b := k.put("t"), k.put("t", in("child")), k.put("t")
		k.wantList(checkpoint.Query{Thread: "t", Before: child.ID}, a)
		k.wantList(checkpoint.Query{Thread: "t", Namespace: "child", Before: b.ID}, child)
	}},
	{name: "list/limit", promise: "Limit is the most that is yielded, and zero means all", run: func(k *kit) {
		made := newestFirst(listed(k))
		for _, n := range []int{1, 2, 4} {
			k.wantList(checkpoint.Query{Thread: "t", Limit: n}, made[:n]...)
		}
		k.wantList(checkpoint.Query{Thread: "t", Limit: 5}, made...)
	}},
	{name: "list/limit_plus_before", promise: "Before and Limit give one page", run: func(k *kit) {
		made := listed(k)
		k.wantList(checkpoint.Query{Thread: "t", Before: made[3].ID, Limit: 1}, made[2])
		k.wantList(checkpoint.Query{Thread: "t", Before: made[3].ID, Limit: 1, Source: checkpoint.Loop}, made[1])
	}},
	{name: "list/combined_thread_and_filter", promise: "filters apply within the thread", run: func(k *kit) {
		made := listed(k)
		k.put("other", from(checkpoint.Loop))
		k.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Loop}, made[3], made[1])
	}},
	{name: "list/empty_result", promise: "a thread that does not exist has an empty list", run: func(k *kit) {
		k.wantList(checkpoint.Query{Thread: "none"})
		k.wantList(checkpoint.Query{Thread: "none", AllNamespaces: true, Source: "none"})
	}},
	{name: "list/includes_pending_writes", promise: "pending writes come when they are asked for, and only then", run: func(k *kit) {
		made := k.chain("t", 2)
		k.write(made[0].Key, write("task", 0, "v"))
		for i, want := range [][]checkpoint.Write{nil, {write("task", 0, "v")}} {
			k.wantWrites("with", k.list(checkpoint.Query{Thread: "t", Writes: true})[i].Writes, want...)
			k.wantWrites("without", k.list(checkpoint.Query{Thread: "t"})[i].Writes)
		}
	}},
	{name: "list/multiple_namespaces", promise: "the root's list leaves out its subgraphs", run: func(k *kit) {
		root := k.put("t")
		k.put("t", in("child:1"))
		k.put("t", in("child:2"))
		k.wantList(checkpoint.Query{Thread: "t"}, root)
	}},
	{name: "list/metadata_filter_multiple_keys", promise: "all filters must match", run: func(k *kit) {
		meta := func(a, b string) mod { return about(map[string]string{"a": a, "b": b}) }
		k.put("t", meta("1", "1"), from(checkpoint.Input))
		k.put("t", meta("2", "1"), from(checkpoint.Input))
		want := k.put("t", meta("1", "2"), from(checkpoint.Input), by("r"))
		k.put("t", meta("1", "2"), from(checkpoint.Loop), by("r"))
		k.put("t", meta("1", "2"), from(checkpoint.Input), by("s"))
		q := checkpoint.Query{Thread: "t", Metadata: map[string]string{"a": "1", "b": "2"}, Source: checkpoint.Input, Run: "r"}
		k.wantList(q, want)
		q.Step = &want.Step
		k.wantList(q, want)
	}},
	{name: "list/metadata_filter_no_match", promise: "what matches nothing is empty", run: func(k *kit) {
		listed(k)
		step := 99
		k.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Edited, Step: &step})
		k.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "1", "none": ""}})
		k.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "%"}})
		k.wantList(checkpoint.Query{Thread: "t", Run: "none"})
	}},
	{name: "list/metadata_custom_keys", promise: "any key of metadata filters, however it is spelt", run: func(k *kit) {
		for _, key := range []string{"score", "", "a.b", `q"uote`, "$.x", "sp ace", "ключ", "[0]", `back\slash`, "'"} {
			c := k.put(key+"thread", about(map[string]string{key: "4'2", "other": "x"}))
			k.put(key+"thread", about(map[string]string{key: "99"}))
			k.put(key + "thread")
			k.wantList(checkpoint.Query{Thread: key + "thread", Metadata: map[string]string{key: "4'2"}}, c)
		}
	}},
	{name: "list/fields", promise: "List yields every field but Changes, Snapshot and Lineage", run: func(k *kit) {
		made := []checkpoint.Checkpoint{k.put("t", about(map[string]string{"a": "b"})), k.put("t", whole("a=1"))}
		for i, got := range k.list(checkpoint.Query{Thread: "t"}) {
			k.wantSameRecord(got, made[1-i])
			if got.Changes != nil || got.Snapshot != nil || got.Lineage != nil || got.Time.IsZero() {
				k.Errorf("%q: got changes %v, snapshot %v, lineage %v, time %v", got.ID, got.Changes, got.Snapshot, got.Lineage, got.Time)
			}
		}
	}},
	{name: "list/pagination", promise: "thousands of checkpoints can be paged through, each seen once and in order", run: listPagination},
	{name: "list/while_writing", promise: "the thread may be written to while it is listed", run: listWhileWriting},
	{name: "list/leaving_early", promise: "a loop over List may be left at any time, and leaves nothing behind", run: listLeavingEarly},
	{name: "list/restart", promise: "what List returned can be looped over again", run: func(k *kit) {
		k.chain("t", 3)
		sequence := k.store.List(k.ctx, checkpoint.Query{Thread: "t"})
		for range 2 {
			n := 0
			for _, err := range sequence {
				if err != nil {
					k.Fatal(err)
				}
				n++
			}
			if n != 3 {
				k.Errorf("got %d want 3", n)
			}
		}
	}},
}

// listed puts four checkpoints: input and loop in turn, and metadata by halves.
func listed(k *kit) []checkpoint.Checkpoint {
	k.Helper()
	var made []checkpoint.Checkpoint
	for i, source := range []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Input, checkpoint.Loop} {
		made = append(made, k.put("t", from(source), about(map[string]string{"half": fmt.Sprint(i / 2)})))
	}
	return made
}

// listError returns the error that a list ends with, and wants it to be alone.
func (k *kit) listError(q checkpoint.Query) error {
	k.Helper()
	var failed error
	for c, err := range k.store.List(k.ctx, q) {
		if failed != nil {
			k.Errorf("list %+v goes on after an error", q)
		}
		if err == nil {
			k.Errorf("list %+v: got %q want an error", q, c.ID)
		}
		failed = err
	}
	return failed
}

func listPagination(k *kit) {
	const n, page = 2500, 97
	want := ids(newestFirst(k.chain("t", n, with("a=1"))))
	var got []string
	q := checkpoint.Query{Thread: "t", Limit: page}
	for {
		seen := ids(k.list(q))
		got = append(got, seen...)
		if len(seen) < page {
			break
		}
		q.Before = seen[len(seen)-1]
	}
	if !slices.Equal(got, want) {
		k.Errorf("got %d checkpoints in pages want %d in order", len(got), n)
	}
	if last := k.latest("t"); len(last.Lineage) != n {
		k.Errorf("lineage: got %d deltas want %d", len(last.Lineage), n)
	}
}

func listWhileWriting(k *kit) {
	made := newestFirst(k.chain("t", 300))
	var got []string
	for c, err := range k.store.List(k.ctx, checkpoint.Query{Thread: "t", Writes: true}) {
		if err != nil {
			k.Fatal(err)
		}
		got = append(got, c.ID)
		if len(got)%50 == 1 {
			k.put("t")
			k.write(c.Key, write("task", 0, "v"))
			k.get(c.Key)
			k.put("other")
		}
	}
	// What came while it was read may be listed or not.
	if len(got) < len(made) || !slices.Equal(got[len(got)-len(made):], ids(made)) {
		k.Errorf("got %d checkpoints want at least %d in order", len(got), len(made))
	}
}

func listLeavingEarly(k *kit) {
	made := k.chain("t", 50)
	for i := range 200 {
		left := 0
		for _, err := range k.store.List(k.ctx, checkpoint.Query{Thread: "t", AllNamespaces: i%2 == 0}) {
			if err != nil {
				k.Fatal(err)
			}
			if left++; left > i%50 {
				break
			}
		}
	}
	c := k.put("t")
	k.wantList(checkpoint.Query{Thread: "t", Limit: 2}, c, made[len(made)-1])
	if err := k.store.DeleteThread(k.ctx, "t"); err != nil {
		k.Errorf("delete after leaving lists: %v", err)
	}
	k.wantMissing(checkpoint.Key{Thread: "t"})
}
