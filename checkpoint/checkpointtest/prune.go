package checkpointtest

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

var pruneCases = []testCase{
	{name: "prune/keep_latest_single_thread", needs: needsPrune, promise: "Prune keeps the newest checkpoint with its state", run: func(f *fixture) {
		f.put("t", withChanges("a=1"))
		f.put("t", withChanges("b=2"))
		f.put("t", withChanges("a=3"))
		last := f.put("t", withChanges("a=4"))
		f.prune(3, checkpoint.PrunePolicy{Threads: []string{"t"}})
		f.wantList(checkpoint.Query{Thread: "t"}, last)
		f.wantState(last, "a=1", "b=2", "a=3", "a=4")
		if got := f.latest("t"); got.Parent != "" {
			f.Errorf("parent: got %q want none", got.Parent)
		}
	}},
	{name: "prune/keep_latest_multiple_threads", needs: needsPrune, promise: "Prune keeps the newest checkpoint of each thread, and nil selects all threads", run: func(f *fixture) {
		a, b, c := f.chain("a", 3), f.chain("b", 2), f.chain("c", 2)
		f.prune(3, checkpoint.PrunePolicy{Threads: []string{"a", "b"}})
		f.wantList(checkpoint.Query{Thread: "a"}, a[2])
		f.wantList(checkpoint.Query{Thread: "b"}, b[1])
		f.wantList(checkpoint.Query{Thread: "c"}, reversed(c)...)
		f.prune(1, checkpoint.PrunePolicy{})
		f.wantList(checkpoint.Query{Thread: "c"}, c[1])
	}},
	{name: "prune/keep_latest_across_namespaces", needs: needsPrune, promise: "Prune keeps the newest checkpoint of each namespace", run: func(f *fixture) {
		root, child := f.chain("t", 3), f.chain("t", 2, inNamespace("child"))
		f.prune(3, checkpoint.PrunePolicy{Threads: []string{"t"}})
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, child[1], root[2])
	}},
	{name: "prune/keep_latest_preserves_writes", needs: needsPrune, promise: "kept checkpoints keep their pending writes, and those of removed checkpoints are removed", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.write(made[0].Key, write("task", 0, "removed"))
		f.write(made[2].Key, write("task", 0, "v"))
		f.prune(2, checkpoint.PrunePolicy{Threads: []string{"t"}})
		f.wantWrites("writes", f.latest("t").Writes, write("task", 0, "v"))
		f.wantErr("write to a removed checkpoint", f.store.PutWrites(f.ctx, made[0].Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
	}},
	{name: "prune/delete_all", needs: needsPrune, promise: "Prune never removes the newest checkpoint, and DeleteThread removes a pruned thread whole", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.prune(2, checkpoint.PrunePolicy{Threads: []string{"t"}, KeepLast: -5})
		f.prune(0, checkpoint.PrunePolicy{Threads: []string{"t"}})
		f.wantList(checkpoint.Query{Thread: "t"}, made[2])
		f.deleteThread("t")
		f.wantList(checkpoint.Query{Thread: "t"})
		c := f.put("t", withChanges("a=1"))
		f.wantLineage(c, c)
	}},
	{name: "prune/preserves_other_threads", needs: needsPrune, promise: "Prune does not alter threads that the policy does not name", run: func(f *fixture) {
		f.chain("a", 3)
		b := f.chain("b", 2)
		f.prune(2, checkpoint.PrunePolicy{Threads: []string{"a"}})
		f.wantList(checkpoint.Query{Thread: "b"}, reversed(b)...)
		f.wantLineage(b[1], b...)
	}},
	{name: "prune/empty_list_noop", needs: needsPrune, promise: "Prune with an empty list of threads removes nothing", run: func(f *fixture) {
		made := f.chain("t", 2)
		f.prune(0, checkpoint.PrunePolicy{Threads: []string{}})
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
	}},
	{name: "prune/nonexistent_noop", needs: needsPrune, promise: "Prune succeeds for threads that do not exist", run: func(f *fixture) {
		f.prune(0, checkpoint.PrunePolicy{Threads: []string{"none"}})
		f.wantMissing(checkpoint.Key{Thread: "none"})
	}},
	{name: "prune/keep_last", needs: needsPrune, promise: "KeepLast keeps that many of the newest checkpoints of every namespace", run: func(f *fixture) {
		root, child := f.chain("t", 4, withChanges("a=1")), f.chain("t", 3, inNamespace("child"), withChanges("a=1"))
		f.prune(3, checkpoint.PrunePolicy{KeepLast: 2})
		f.wantList(checkpoint.Query{Thread: "t"}, root[3], root[2])
		f.wantList(checkpoint.Query{Thread: "t", Namespace: "child"}, child[2], child[1])
		f.wantState(root[2], "a=1", "a=1", "a=1")
		f.wantState(root[3], "a=1", "a=1", "a=1", "a=1")
		if got := f.get(root[3].Key).Parent; got != root[2].ID {
			f.Errorf("parent: got %q want %q", got, root[2].ID)
		}
	}},
	{name: "prune/keep_for", needs: needsPrune, promise: "KeepFor keeps checkpoints that are younger", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.prune(0, checkpoint.PrunePolicy{KeepFor: time.Hour})
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
	}},
	{name: "prune/keep_pending", needs: needsPrune, promise: "KeepPending keeps checkpoints that have pending writes", run: func(f *fixture) {
		made := f.chain("t", 4, withChanges("a=1"))
		f.write(made[1].Key, write("task", 0, "?"))
		f.prune(2, checkpoint.PrunePolicy{KeepPending: true})
		f.wantList(checkpoint.Query{Thread: "t"}, made[3], made[1])
		f.wantWrites("writes", f.get(made[1].Key).Writes, write("task", 0, "?"))
		f.wantState(made[1], "a=1", "a=1")
		f.wantState(made[3], "a=1", "a=1", "a=1", "a=1")
		if got := f.latest("t").Parent; got != made[1].ID {
			f.Errorf("parent: got %q want %q, the nearest ancestor that was kept", got, made[1].ID)
		}
		f.prune(1, checkpoint.PrunePolicy{})
		f.wantState(made[3], "a=1", "a=1", "a=1", "a=1")
	}},
	{name: "prune/goes_on", needs: needsPrune, promise: "a pruned thread can be continued, forked and pruned again, and keeps its state", run: pruneRepeatedly},
	{name: "prune/snapshot", needs: needsPrune, promise: "Prune keeps no changes from before a snapshot", run: func(f *fixture) {
		f.put("t", withChanges("a=1"))
		f.put("t", withChanges("a=2"), withSnapshot("a=12"))
		f.put("t", withChanges("a=3"))
		last := f.put("t", withChanges("a=4"))
		f.prune(3, checkpoint.PrunePolicy{})
		got := f.latest("t").Lineage
		if len(got) != 3 || !got[0].Snapshot || got[0].ID == "" {
			f.Errorf("lineage: got %s want three deltas that begin with the snapshot", brief(got))
		}
		f.wantState(last, "a=12", "a=3", "a=4")
	}},
	{name: "prune/forks", needs: needsPrune, promise: "after Prune each branch has only the state of its own ancestors", run: func(f *fixture) {
		root := f.put("t", withChanges("a=0"))
		left := f.put("t", withChanges("a=left"))
		f.put("t", withChanges("a=left2"))
		right := f.put("t", withParent(root), withChanges("a=right"))
		f.write(left.Key, write("task", 0, "?"))
		f.prune(2, checkpoint.PrunePolicy{KeepPending: true})
		f.wantList(checkpoint.Query{Thread: "t"}, right, left)
		f.wantState(left, "a=0", "a=left")
		f.wantState(right, "a=0", "a=right")
	}},
	{name: "prune/calls_of_removed_checkpoints", needs: needsPrune, promise: "Prune removes the namespace of a subgraph call, and those of its nested calls, with the checkpoint at which the call was made", run: pruneCalls},
	{name: "prune/calls_of_kept_checkpoints", needs: needsPrune, promise: "the namespace of a subgraph call is pruned like any other while the checkpoint at which the call was made is kept", run: func(f *fixture) {
		root := f.put("t")
		outer := f.chain("t", 3, inNamespace("sub@"+root.ID), withChanges("a=1"))
		inner := f.chain("t", 2, inNamespace("sub@"+root.ID+"/deep[1]@"+outer[2].ID))
		f.prune(3, checkpoint.PrunePolicy{})
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, inner[1], outer[2], root)
		f.wantState(outer[2], "a=1", "a=1", "a=1")
	}},
}

func pruneCalls(f *fixture) {
	root := f.put("t")
	call := f.chain("t", 2, inNamespace("sub@"+root.ID))
	nested := f.put("t", inNamespace("sub@"+root.ID+"/deep@"+call[1].ID))
	f.write(nested.Key, write("task", 0, "question"))
	memory := f.chain("t", 2, inNamespace("~memory"), withChanges("a=1"))
	oldCall := f.put("t", inNamespace("~memory/sub@"+memory[0].ID))
	newCall := f.put("t", inNamespace("~memory/sub@"+memory[1].ID))
	last := f.put("t")
	current := f.put("t", inNamespace("sub[2]@"+last.ID))
	// The namespace of a persistent subgraph does not belong to one call, whatever its name.
	other := f.put("t", inNamespace("~memory@"+root.ID))

	f.prune(6, checkpoint.PrunePolicy{KeepPending: true})
	f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, other, current, last, newCall, memory[1])
	f.wantState(memory[1], "a=1", "a=1")
	for _, c := range []checkpoint.Checkpoint{call[1], nested, oldCall} {
		f.wantMissing(c.Key)
		f.wantMissing(checkpoint.Key{Thread: "t", Namespace: c.Namespace})
	}
	f.prune(0, checkpoint.PrunePolicy{})
}

func (f *fixture) prune(want int, p checkpoint.PrunePolicy) {
	f.Helper()
	got, err := f.pruner().Prune(f.ctx, p)
	if err != nil {
		f.Fatalf("prune %+v: %v", p, err)
	}
	if got != want {
		f.Errorf("prune %+v: got %d removed want %d", p, got, want)
	}
}

func pruneRepeatedly(f *fixture) {
	var want []string
	for round := range 5 {
		var last checkpoint.Checkpoint
		for i := range 4 {
			pair := fmt.Sprintf("a=%d.%d", round, i)
			last = f.put("t", withChanges(pair))
			want = append(want, pair)
		}
		removed := 3
		if round > 0 {
			removed = 4
		}
		f.prune(removed, checkpoint.PrunePolicy{})
		f.wantState(last, want...)
	}
	trunk := f.latest("t")
	left := f.put("t", withChanges("a=left"))
	right := f.put("t", withParent(trunk), withChanges("a=right"))
	f.wantState(left, append(want[:len(want):len(want)], "a=left")...)
	f.wantState(right, append(want[:len(want):len(want)], "a=right")...)
	f.prune(2, checkpoint.PrunePolicy{})
	f.wantState(right, append(want[:len(want):len(want)], "a=right")...)
}
