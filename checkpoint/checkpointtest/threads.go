package checkpointtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var threadCases = []testCase{
	{name: "list_threads/all", needs: needsThreads, promise: "ListThreads yields every thread in the order of ids, with its times and the number of its checkpoints", run: func(f *fixture) {
		f.chain("b", 2)
		f.put("b", inNamespace("child"))
		f.put("c")
		f.put("a")
		f.wantThreads("", "a", "b", "c")
		for info, err := range f.lister().ListThreads(f.ctx, "b") {
			if err != nil {
				f.Fatal(err)
			}
			all := f.list(checkpoint.Query{Thread: "b", AllNamespaces: true})
			if len(all) != 3 {
				f.Fatalf("got the checkpoints %q want 3", ids(all))
			}
			if info.Checkpoints != 3 || info.Created.After(all[2].Time) || info.Updated.Before(all[0].Time) || info.Created.IsZero() {
				f.Errorf("got %+v want 3 checkpoints, from %v to %v", info, all[2].Time, all[0].Time)
			}
		}
	}},
	{name: "list_threads/prefix", needs: needsThreads, promise: "ListThreads takes the prefix literally", run: func(f *fixture) {
		for _, name := range []string{"a", "a%", "a_", "ab", "A", "a%b", "é", "éa", "e\u0301", "a*", "[a"} {
			f.put(name)
		}
		f.wantThreads("a", "a", "a%", "a%b", "a*", "a_", "ab")
		f.wantThreads("a%", "a%", "a%b")
		f.wantThreads("_")
		f.wantThreads("*")
		f.wantThreads("[", "[a")
		f.wantThreads("é", "é", "éa")
		f.wantThreads("none")
	}},
	{name: "list_threads/deleted", needs: needsThreads, promise: "ListThreads omits a deleted thread, and one whose first Put failed", run: func(f *fixture) {
		f.put("a")
		f.put("b")
		f.deleteThread("a")
		c := f.next("c")
		c.Parent = "none"
		f.wantErr("put", f.store.Put(f.ctx, c, ""), checkpoint.ErrNotFound)
		f.wantThreads("", "b")
	}},
	{name: "list_threads/many", needs: needsThreads, promise: "ListThreads yields thousands of threads in order, also while they are written to, and the caller may leave the loop", run: func(f *fixture) {
		var want []string
		for i := range 1500 {
			name := fmt.Sprintf("t%05d", (i*7919)%1500)
			f.put(name)
			want = append(want, name)
		}
		slices.Sort(want)
		f.wantThreads("t", want...)
		n := 0
		for info, err := range f.lister().ListThreads(f.ctx, "") {
			if err != nil {
				f.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
			f.put(info.ID)
		}
		f.put("t00000")
	}},
	{name: "list_threads/cancelled", needs: needsThreads, promise: "ListThreads ends with an error when its context is done", run: func(f *fixture) {
		f.put("a")
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		n := 0
		for _, err := range f.lister().ListThreads(ctx, "") {
			n++
			f.wantErr("list", err, context.Canceled)
		}
		if n != 1 {
			f.Errorf("got %d pairs want one error", n)
		}
	}},
}

func (f *fixture) wantThreads(prefix string, want ...string) {
	f.Helper()
	var got []string
	for info, err := range f.lister().ListThreads(f.ctx, prefix) {
		if err != nil {
			f.Fatalf("list threads %q: %v", prefix, err)
		}
		got = append(got, info.ID)
	}
	if !slices.Equal(got, want) {
		f.Errorf("threads of prefix %q: got %s want %s", prefix, brief(got), brief(want))
	}
}
