package checkpointtest

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var listCases = []testCase{
	{name: "list/all", promise: "AllNamespaces lists every checkpoint of a thread", run: func(f *fixture) {
		a, b := f.put("t"), f.put("t", inNamespace("child"))
		c, d := f.put("t", inNamespace("other")), f.put("t")
		f.put("t2")
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, d, c, b, a)
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true, Namespace: "child"}, d, c, b, a)
	}},
	{name: "list/by_thread", promise: "List yields only the checkpoints of the thread", run: func(f *fixture) {
		a, b := f.put("a"), f.put("b")
		f.wantList(checkpoint.Query{Thread: "a"}, a)
		f.wantList(checkpoint.Query{Thread: "b"}, b)
	}},
	{name: "list/by_namespace", promise: "List yields only the checkpoints of the namespace", run: func(f *fixture) {
		root, child := f.put("t"), f.put("t", inNamespace("child"))
		f.wantList(checkpoint.Query{Thread: "t"}, root)
		f.wantList(checkpoint.Query{Thread: "t", Namespace: "child"}, child)
		f.wantList(checkpoint.Query{Thread: "t", Namespace: "chil"})
	}},
	{name: "list/ordering", promise: "List yields the newest checkpoint first, in the order in which the store accepted them", run: func(f *fixture) {
		made := putFour(f)
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
	}},
	{name: "list/order_is_not_by_id", promise: "ids do not affect the order of List", run: func(f *fixture) {
		z, a := f.put("t", withID("z")), f.put("t", withID("a"))
		u := f.put("t", withID(uuid(1)))
		f.wantList(checkpoint.Query{Thread: "t"}, u, a, z)
		f.wantList(checkpoint.Query{Thread: "t", Before: "a"}, z)
	}},
	{name: "list/metadata_filter_single_key", promise: "List filters by source and by one pair of metadata", run: func(f *fixture) {
		made := putFour(f)
		f.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Input}, made[2], made[0])
		f.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "1"}}, made[3], made[2])
	}},
	{name: "list/metadata_filter_step", promise: "List filters by step, including step zero", run: func(f *fixture) {
		made := putFour(f)
		for _, step := range []int{0, 1} {
			f.wantList(checkpoint.Query{Thread: "t", Step: &step}, made[step])
		}
	}},
	{name: "list/before", promise: "Before excludes the checkpoint that it names and all later ones", run: func(f *fixture) {
		made := putFour(f)
		f.wantList(checkpoint.Query{Thread: "t", Before: made[2].ID}, made[1], made[0])
		f.wantList(checkpoint.Query{Thread: "t", Before: made[0].ID})
		q := checkpoint.Query{Thread: "t", Before: "none"}
		f.wantErr("Before with an unknown id", f.listError(q), checkpoint.ErrNotFound)
		q.Thread = "none"
		f.wantErr("Before in an unknown thread", f.listError(q), checkpoint.ErrNotFound)
	}},
	{name: "list/before_of_another_namespace", promise: "Before may name a checkpoint of any namespace of the thread", run: func(f *fixture) {
		a, child, b := f.put("t"), f.put("t", inNamespace("child")), f.put("t")
		f.wantList(checkpoint.Query{Thread: "t", Before: child.ID}, a)
		f.wantList(checkpoint.Query{Thread: "t", Namespace: "child", Before: b.ID}, child)
	}},
	{name: "list/limit", promise: "List yields at most Limit checkpoints, and all for zero", run: func(f *fixture) {
		made := reversed(putFour(f))
		for _, n := range []int{1, 2, 4} {
			f.wantList(checkpoint.Query{Thread: "t", Limit: n}, made[:n]...)
		}
		f.wantList(checkpoint.Query{Thread: "t", Limit: 5}, made...)
	}},
	{name: "list/limit_plus_before", promise: "Before and Limit select one page", run: func(f *fixture) {
		made := putFour(f)
		f.wantList(checkpoint.Query{Thread: "t", Before: made[3].ID, Limit: 1}, made[2])
		f.wantList(checkpoint.Query{Thread: "t", Before: made[3].ID, Limit: 1, Source: checkpoint.Loop}, made[1])
	}},
	{name: "list/combined_thread_and_filter", promise: "filters apply within the thread", run: func(f *fixture) {
		made := putFour(f)
		f.put("other", withSource(checkpoint.Loop))
		f.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Loop}, made[3], made[1])
	}},
	{name: "list/empty_result", promise: "List yields nothing for a thread that does not exist", run: func(f *fixture) {
		f.wantList(checkpoint.Query{Thread: "none"})
		f.wantList(checkpoint.Query{Thread: "none", AllNamespaces: true, Source: "none"})
	}},
	{name: "list/includes_pending_writes", promise: "List yields pending writes only when the query asks for them", run: func(f *fixture) {
		made := f.chain("t", 2)
		f.write(made[0].Key, write("task", 0, "v"))
		with, without := f.list(checkpoint.Query{Thread: "t", Writes: true}), f.list(checkpoint.Query{Thread: "t"})
		if len(with) != 2 || len(without) != 2 {
			f.Fatalf("got %q with Writes and %q without want two checkpoints each", ids(with), ids(without))
		}
		for i, want := range [][]checkpoint.Write{nil, {write("task", 0, "v")}} {
			f.wantWrites("query with Writes", with[i].Writes, want...)
			f.wantWrites("query without Writes", without[i].Writes)
		}
	}},
	{name: "list/multiple_namespaces", promise: "List of the root namespace excludes subgraphs", run: func(f *fixture) {
		root := f.put("t")
		f.put("t", inNamespace("child:1"))
		f.put("t", inNamespace("child:2"))
		f.wantList(checkpoint.Query{Thread: "t"}, root)
	}},
	{name: "list/metadata_filter_multiple_keys", promise: "a checkpoint must match all filters", run: func(f *fixture) {
		meta := func(a, b string) option { return withMetadata(map[string]string{"a": a, "b": b}) }
		f.put("t", meta("1", "1"), withSource(checkpoint.Input))
		f.put("t", meta("2", "1"), withSource(checkpoint.Input))
		want := f.put("t", meta("1", "2"), withSource(checkpoint.Input), withRun("r"))
		f.put("t", meta("1", "2"), withSource(checkpoint.Loop), withRun("r"))
		f.put("t", meta("1", "2"), withSource(checkpoint.Input), withRun("s"))
		q := checkpoint.Query{Thread: "t", Metadata: map[string]string{"a": "1", "b": "2"}, Source: checkpoint.Input, Run: "r"}
		f.wantList(q, want)
		q.Step = &want.Step
		f.wantList(q, want)
	}},
	{name: "list/metadata_filter_no_match", promise: "List yields nothing when no checkpoint matches", run: func(f *fixture) {
		putFour(f)
		step := 99
		f.wantList(checkpoint.Query{Thread: "t", Source: checkpoint.Edited, Step: &step})
		f.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "1", "none": ""}})
		f.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"half": "%"}})
		f.wantList(checkpoint.Query{Thread: "t", Run: "none"})
	}},
	{name: "list/metadata_custom_keys", promise: "List filters by any key of metadata, whatever characters it has", run: func(f *fixture) {
		for _, key := range []string{"score", "", "a.b", `q"uote`, "$.x", "sp ace", "ключ", "[0]", `back\slash`, "'"} {
			c := f.put(key+"thread", withMetadata(map[string]string{key: "4'2", "other": "x"}))
			f.put(key+"thread", withMetadata(map[string]string{key: "99"}))
			f.put(key + "thread")
			f.wantList(checkpoint.Query{Thread: key + "thread", Metadata: map[string]string{key: "4'2"}}, c)
		}
	}},
	{name: "list/fields", promise: "List yields every field except Changes, Snapshot and Lineage", run: func(f *fixture) {
		made := []checkpoint.Checkpoint{f.put("t", withMetadata(map[string]string{"a": "b"})), f.put("t", withSnapshot("a=1"))}
		listed := f.list(checkpoint.Query{Thread: "t"})
		if len(listed) != 2 {
			f.Fatalf("got %q want two checkpoints", ids(listed))
		}
		for i, got := range listed {
			f.wantSameRecord(got, made[1-i])
			if got.Changes != nil || got.Snapshot != nil || got.Lineage != nil || got.Time.IsZero() {
				f.Errorf("%q: got changes %v, snapshot %v, lineage %v, time %v", got.ID, got.Changes, got.Snapshot, got.Lineage, got.Time)
			}
		}
	}},
	{name: "list/pagination", promise: "pages of a long list show each checkpoint once and in order", run: listPagination},
	{name: "list/while_writing", promise: "a caller may write to the thread during the loop over List", run: listWhileWriting},
	{name: "list/leaving_early", promise: "a caller may leave the loop over List at any time, and the store releases its resources", run: listLeavingEarly},
	{name: "list/restart", promise: "a caller may loop more than once over the sequence that List returned", run: func(f *fixture) {
		f.chain("t", 3)
		sequence := f.store.List(f.ctx, checkpoint.Query{Thread: "t"})
		for range 2 {
			n := 0
			for _, err := range sequence {
				if err != nil {
					f.Fatal(err)
				}
				n++
			}
			if n != 3 {
				f.Errorf("got %d want 3", n)
			}
		}
	}},
}

// putFour puts four checkpoints. Their sources alternate between Input and Loop, and
// the metadata of the first two differs from that of the last two.
func putFour(f *fixture) []checkpoint.Checkpoint {
	f.Helper()
	var made []checkpoint.Checkpoint
	for i, source := range []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Input, checkpoint.Loop} {
		made = append(made, f.put("t", withSource(source), withMetadata(map[string]string{"half": fmt.Sprint(i / 2)})))
	}
	return made
}

// listError returns the error of List, and fails if List also yields a checkpoint.
func (f *fixture) listError(q checkpoint.Query) error {
	f.Helper()
	var failed error
	for c, err := range f.store.List(f.ctx, q) {
		if failed != nil {
			f.Errorf("list %+v yields another pair after an error", q)
		}
		if err == nil {
			f.Errorf("list %+v: got %q want an error", q, c.ID)
		}
		failed = err
	}
	return failed
}

func listPagination(f *fixture) {
	const n, page = 2500, 97
	want := ids(reversed(f.chain("t", n, withChanges("a=1"))))
	var got []string
	q := checkpoint.Query{Thread: "t", Limit: page}
	for len(got) <= n {
		seen := ids(f.list(q))
		got = append(got, seen...)
		if len(seen) < page {
			break
		}
		q.Before = seen[len(seen)-1]
	}
	if !slices.Equal(got, want) {
		f.Errorf("got %d checkpoints in pages want %d in order", len(got), n)
	}
	if last := f.latest("t"); len(last.Lineage) != n {
		f.Errorf("lineage: got %d deltas want %d", len(last.Lineage), n)
	}
}

func listWhileWriting(f *fixture) {
	made := reversed(f.chain("t", 300))
	var got []string
	for c, err := range f.store.List(f.ctx, checkpoint.Query{Thread: "t", Writes: true}) {
		if err != nil {
			f.Fatal(err)
		}
		got = append(got, c.ID)
		if len(got)%50 == 1 {
			f.put("t")
			f.write(c.Key, write("task", 0, "v"))
			f.get(c.Key)
			f.put("other")
		}
	}
	// List may include checkpoints that were put during the loop.
	if len(got) < len(made) || !slices.Equal(got[len(got)-len(made):], ids(made)) {
		f.Errorf("got %d checkpoints want at least %d in order", len(got), len(made))
	}
}

func listLeavingEarly(f *fixture) {
	made := f.chain("t", 50)
	for i := range 200 {
		left := 0
		for _, err := range f.store.List(f.ctx, checkpoint.Query{Thread: "t", AllNamespaces: i%2 == 0}) {
			if err != nil {
				f.Fatal(err)
			}
			if left++; left > i%50 {
				break
			}
		}
	}
	c := f.put("t")
	f.wantList(checkpoint.Query{Thread: "t", Limit: 2}, c, made[len(made)-1])
	if err := f.store.DeleteThread(f.ctx, "t"); err != nil {
		f.Errorf("delete after the loops: %v", err)
	}
	f.wantMissing(checkpoint.Key{Thread: "t"})
}
