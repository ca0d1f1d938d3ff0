package checkpointtest

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

var pruneCases = []testCase{
	{name: "prune/keep_latest_single_thread", needs: needsPrune, promise: "only the newest survives, with its state", run: func(k *kit) {
		k.put("t", with("a=1"))
		k.put("t", with("b=2"))
		k.put("t", with("a=3"))
		last := k.put("t", with("a=4"))
		k.prune(3, checkpoint.PrunePolicy{Threads: []string{"t"}})
		k.wantList(checkpoint.Query{Thread: "t"}, last)
		k.wantState(last, "a=1", "b=2", "a=3", "a=4")
		if got := k.latest("t"); got.Parent != "" {
			k.Errorf("parent: got %q want none", got.Parent)
		}
	}},
	{name: "prune/keep_latest_multiple_threads", needs: needsPrune, promise: "each thread keeps its newest; nil means all threads", run: func(k *kit) {
		a, b, c := k.chain("a", 3), k.chain("b", 2), k.chain("c", 2)
		k.prune(3, checkpoint.PrunePolicy{Threads: []string{"a", "b"}})
		k.wantList(checkpoint.Query{Thread: "a"}, a[2])
		k.wantList(checkpoint.Query{Thread: "b"}, b[1])
		k.wantList(checkpoint.Query{Thread: "c"}, newestFirst(c)...)
		k.prune(1, checkpoint.PrunePolicy{})
		k.wantList(checkpoint.Query{Thread: "c"}, c[1])
	}},
	{name: "prune/keep_latest_across_namespaces", needs: needsPrune, promise: "each namespace keeps its newest", run: func(k *kit) {
		root, child := k.chain("t", 3), k.chain("t", 2, in("child"))
		k.prune(3, checkpoint.PrunePolicy{Threads: []string{"t"}})
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, child[1], root[2])
	}},
	{name: "prune/keep_latest_preserves_writes", needs: needsPrune, promise: "the writes of what stays stay, those of what goes go", run: func(k *kit) {
		made := k.chain("t", 3)
		k.write(made[0].Key, write("task", 0, "gone"))
		k.write(made[2].Key, write("task", 0, "v"))
		k.prune(2, checkpoint.PrunePolicy{Threads: []string{"t"}})
		k.wantWrites("writes", k.latest("t").Writes, write("task", 0, "v"))
		k.wantErr("write to what went", k.store.PutWrites(k.ctx, made[0].Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
	}},
	{name: "prune/delete_all", needs: needsPrune, promise: "pruning never removes the newest, whatever the policy; DeleteThread removes a pruned thread whole", run: func(k *kit) {
		made := k.chain("t", 3)
		k.prune(2, checkpoint.PrunePolicy{Threads: []string{"t"}, KeepLast: -5})
		k.prune(0, checkpoint.PrunePolicy{Threads: []string{"t"}})
		k.wantList(checkpoint.Query{Thread: "t"}, made[2])
		k.deleteThread("t")
		k.wantList(checkpoint.Query{Thread: "t"})
		c := k.put("t", with("a=1"))
		k.wantLineage(c, c)
	}},
	{name: "prune/preserves_other_threads", needs: needsPrune, promise: "threads that are not named stay as they are", run: func(k *kit) {
		k.chain("a", 3)
		b := k.chain("b", 2)
		k.prune(2, checkpoint.PrunePolicy{Threads: []string{"a"}})
		k.wantList(checkpoint.Query{Thread: "b"}, newestFirst(b)...)
		k.wantLineage(b[1], b...)
	}},
	{name: "prune/empty_list_noop", needs: needsPrune, promise: "an empty list of threads prunes nothing", run: func(k *kit) {
		made := k.chain("t", 2)
		k.prune(0, checkpoint.PrunePolicy{Threads: []string{}})
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
	}},
	{name: "prune/nonexistent_noop", needs: needsPrune, promise: "threads that do not exist are no error", run: func(k *kit) {
		k.prune(0, checkpoint.PrunePolicy{Threads: []string{"none"}})
		k.wantMissing(checkpoint.Key{Thread: "none"})
	}},
	{name: "prune/keep_last", needs: needsPrune, promise: "KeepLast keeps the newest so many of every namespace", run: func(k *kit) {
		root, child := k.chain("t", 4, with("a=1")), k.chain("t", 3, in("child"), with("a=1"))
		k.prune(3, checkpoint.PrunePolicy{KeepLast: 2})
		k.wantList(checkpoint.Query{Thread: "t"}, root[3], root[2])
		k.wantList(checkpoint.Query{Thread: "t", Namespace: "child"}, child[2], child[1])
		k.wantState(root[2], "a=1", "a=1", "a=1")
		k.wantState(root[3], "a=1", "a=1", "a=1", "a=1")
		if got := k.get(root[3].Key).Parent; got != root[2].ID {
			k.Errorf("parent: got %q want %q", got, root[2].ID)
		}
	}},
	{name: "prune/keep_for", needs: needsPrune, promise: "KeepFor keeps what is younger", run: func(k *kit) {
		made := k.chain("t", 3)
		k.prune(0, checkpoint.PrunePolicy{KeepFor: time.Hour})
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
	}},
	{name: "prune/keep_pending", needs: needsPrune, promise: "KeepPending keeps what has pending writes", run: func(k *kit) {
		made := k.chain("t", 4, with("a=1"))
		k.write(made[1].Key, write("task", 0, "?"))
		k.prune(2, checkpoint.PrunePolicy{KeepPending: true})
		k.wantList(checkpoint.Query{Thread: "t"}, made[3], made[1])
		k.wantWrites("writes", k.get(made[1].Key).Writes, write("task", 0, "?"))
		k.wantState(made[1], "a=1", "a=1")
		k.wantState(made[3], "a=1", "a=1", "a=1", "a=1")
		if got := k.latest("t").Parent; got != made[1].ID {
			k.Errorf("parent: got %q want %q, the nearest that stays", got, made[1].ID)
		}
		k.prune(1, checkpoint.PrunePolicy{})
		k.wantState(made[3], "a=1", "a=1", "a=1", "a=1")
	}},
	{name: "prune/goes_on", needs: needsPrune, promise: "a pruned thread goes on, forks and is pruned again with its state whole", run: pruneGoesOn},
	{name: "prune/snapshot", needs: needsPrune, promise: "what a snapshot made superfluous is not kept", run: func(k *kit) {
		k.put("t", with("a=1"))
		k.put("t", with("a=2"), whole("a=12"))
		k.put("t", with("a=3"))
		last := k.put("t", with("a=4"))
		k.prune(3, checkpoint.PrunePolicy{})
		got := k.latest("t").Lineage
		if len(got) != 3 || !got[0].Snapshot || got[0].ID == "" {
			k.Errorf("lineage: got %s want three deltas from the snapshot on", brief(got))
		}
		k.wantState(last, "a=12", "a=3", "a=4")
	}},
	{name: "prune/forks", needs: needsPrune, promise: "branches whose ancestors go keep their own state only", run: func(k *kit) {
		root := k.put("t", with("a=0"))
		left := k.put("t", with("a=left"))
		k.put("t", with("a=left2"))
		right := k.put("t", after(root), with("a=right"))
		k.write(left.Key, write("task", 0, "?"))
		k.prune(2, checkpoint.PrunePolicy{KeepPending: true})
		k.wantList(checkpoint.Query{Thread: "t"}, right, left)
		k.wantState(left, "a=0", "a=left")
		k.wantState(right, "a=0", "a=right")
	}},
}

func (k *kit) prune(want int, p checkpoint.PrunePolicy) {
	k.Helper()
	got, err := k.pruner().Prune(k.ctx, p)
	if err != nil {
		k.Fatalf("prune %+v: %v", p, err)
	}
	if got != want {
		k.Errorf("prune %+v: got %d removed want %d", p, got, want)
	}
}

func pruneGoesOn(k *kit) {
	var want []string
	for round := range 5 {
		var last checkpoint.Checkpoint
		for i := range 4 {
			pair := fmt.Sprintf("a=%d.%d", round, i)
			last = k.put("t", with(pair))
			want = append(want, pair)
		}
		removed := 3
		if round > 0 {
			removed = 4
		}
		k.prune(removed, checkpoint.PrunePolicy{})
		k.wantState(last, want...)
	}
	trunk := k.latest("t")
	left := k.put("t", with("a=left"))
	right := k.put("t", after(trunk), with("a=right"))
	k.wantState(left, append(want[:len(want):len(want)], "a=left")...)
	k.wantState(right, append(want[:len(want):len(want)], "a=right")...)
	k.prune(2, checkpoint.PrunePolicy{})
	k.wantState(right, append(want[:len(want):len(want)], "a=right")...)
}
