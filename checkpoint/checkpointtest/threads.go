package checkpointtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var threadCases = []testCase{
	{name: "list_threads/all", needs: needsThreads, promise: "every thread is listed by id, with the number of its checkpoints and its times", run: func(k *kit) {
		k.chain("b", 2)
		k.put("b", in("child"))
		k.put("c")
		k.put("a")
		k.wantThreads("", "a", "b", "c")
		for info, err := range k.lister().ListThreads(k.ctx, "b") {
			if err != nil {
				k.Fatal(err)
			}
			all := k.list(checkpoint.Query{Thread: "b", AllNamespaces: true})
			if info.Checkpoints != 3 || info.Created.After(all[2].Time) || info.Updated.Before(all[0].Time) || info.Created.IsZero() {
				k.Errorf("got %+v want 3 checkpoints, from %v to %v", info, all[2].Time, all[0].Time)
			}
		}
	}},
	{name: "list_threads/prefix", needs: needsThreads, promise: "a prefix is taken literally", run: func(k *kit) {
		for _, name := range []string{"a", "a%", "a_", "ab", "A", "a%b", "é", "éa", "e\u0301", "a*", "[a"} {
			k.put(name)
		}
		k.wantThreads("a", "a", "a%", "a%b", "a*", "a_", "ab")
		k.wantThreads("a%", "a%", "a%b")
		k.wantThreads("_")
		k.wantThreads("*")
		k.wantThreads("[", "[a")
		k.wantThreads("é", "é", "éa")
		k.wantThreads("none")
	}},
	{name: "list_threads/deleted", needs: needsThreads, promise: "a deleted thread, and one that a refused Put tried to begin, are not listed", run: func(k *kit) {
		k.put("a")
		k.put("b")
		k.deleteThread("a")
		c := k.next("c")
		c.Parent = "none"
		k.wantErr("put", k.store.Put(k.ctx, c, ""), checkpoint.ErrNotFound)
		k.wantThreads("", "b")
	}},
	{name: "list_threads/many", needs: needsThreads, promise: "thousands of threads come in order, also while they are written to, and the loop can be left", run: func(k *kit) {
		var want []string
		for i := range 1500 {
			name := fmt.Sprintf("t%05d", (i*7919)%1500)
			k.put(name)
			want = append(want, name)
		}
		slices.Sort(want)
		k.wantThreads("t", want...)
		n := 0
		for info, err := range k.lister().ListThreads(k.ctx, "") {
			if err != nil {
				k.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
			k.put(info.ID)
		}
		k.put("t00000")
	}},
	{name: "list_threads/cancelled", needs: needsThreads, promise: "a context that is done ends the list with an error", run: func(k *kit) {
		k.put("a")
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		n := 0
		for _, err := range k.lister().ListThreads(ctx, "") {
			n++
			k.wantErr("list", err, context.Canceled)
		}
		if n != 1 {
			k.Errorf("got %d pairs want one error", n)
		}
	}},
}

func (k *kit) wantThreads(prefix string, want ...string) {
	k.Helper()
	var got []string
	for info, err := range k.lister().ListThreads(k.ctx, prefix) {
		if err != nil {
			k.Fatalf("list threads %q: %v", prefix, err)
		}
		got = append(got, info.ID)
	}
	if !slices.Equal(got, want) {
		k.Errorf("threads of prefix %q: got %s want %s", prefix, brief(got), brief(want))
	}
}
