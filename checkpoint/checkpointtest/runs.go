package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var runCases = []testCase{
	{name: "delete_for_runs/single", needs: needsRuns, promise: "what a run wrote is removed", run: func(k *kit) {
		first := k.put("t", by("r1"))
		second := k.put("t", by("r2"))
		k.deleteRuns("t", "r1")
		k.wantMissing(first.Key)
		k.wantList(checkpoint.Query{Thread: "t"}, second)
	}},
	{name: "delete_for_runs/multiple", needs: needsRuns, promise: "several runs can be removed at once", run: func(k *kit) {
		k.put("t", by("r1"))
		k.put("t", by("r2"))
		third := k.put("t", by("r3"))
		k.deleteRuns("t", "r1", "r2")
		k.wantList(checkpoint.Query{Thread: "t"}, third)
	}},
	{name: "delete_for_runs/preserves_other_runs", needs: needsRuns, promise: "other runs stay, with the state they were built on", run: func(k *kit) {
		first := k.put("t", by("r1"), with("a=1"))
		k.put("t", by("gone"), with("a=2"))
		third := k.put("t", by("r2"), with("a=3"))
		k.put("t", by("gone"), with("a=4"))
		k.deleteRuns("t", "gone")
		k.wantList(checkpoint.Query{Thread: "t"}, third, first)
		k.wantState(first, "a=1")
		k.wantState(third, "a=1", "a=2", "a=3")
		if got := k.get(third.Key).Parent; got != first.ID {
			k.Errorf("parent: got %q want %q, the nearest that stays", got, first.ID)
		}
	}},
	{name: "delete_for_runs/removes_writes", needs: needsRuns, promise: "pending writes go with their checkpoint", run: func(k *kit) {
		k.put("t", by("r1"))
		second := k.put("t", by("r2"))
		k.write(second.Key, write("task", 0, "v"))
		k.deleteRuns("t", "r2")
		k.wantMissing(second.Key)
		k.wantErr("write", k.store.PutWrites(k.ctx, second.Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
	}},
	{name: "delete_for_runs/empty_list_noop", needs: needsRuns, promise: "no runs are no error and remove nothing", run: func(k *kit) {
		c := k.put("t", by(""))
		k.deleteRuns("t")
		k.deleteRuns("none")
		k.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
	{name: "delete_for_runs/nonexistent_noop", needs: needsRuns, promise: "runs and threads that do not exist are no error", run: func(k *kit) {
		c := k.put("t", by("r1"))
		k.deleteRuns("t", "none", "r")
		k.deleteRuns("none", "r1")
		k.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
	{name: "delete_for_runs/across_namespaces", needs: needsRuns, promise: "all namespaces of the thread are covered, and no other thread", run: func(k *kit) {
		k.put("t", by("r1"))
		k.put("t", by("r1"), in("child"))
		kept := k.put("t", by("r2"), in("child"))
		other := k.put("t2", by("r1"))
		k.deleteRuns("t", "r1")
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, kept)
		k.wantList(checkpoint.Query{Thread: "t2"}, other)
	}},
	{name: "delete_for_runs/head_falls_back", needs: needsRuns, promise: "the newest that stays is the head, and the thread goes on from it", run: func(k *kit) {
		first := k.put("t", by("r1"), with("a=1"))
		gone := k.put("t", by("r2"), with("a=2"))
		k.deleteRuns("t", "r2")
		k.wantSame(k.latest("t"), first)
		k.wantErr("put after the removed head", k.store.Put(k.ctx, k.next("t", after(gone)), gone.ID), checkpoint.ErrConflict)
		k.newest[space(first.Key)] = first
		next := k.put("t", with("a=3"))
		k.wantState(next, "a=1", "a=3")
	}},
	{name: "delete_for_runs/everything", needs: needsRuns, promise: "a thread of which nothing is left begins again from nothing", run: func(k *kit) {
		c := k.put("t", by("r1"), named("1"))
		k.write(c.Key, write("task", 0, "v"))
		k.deleteRuns("t", "r1")
		k.wantMissing(checkpoint.Key{Thread: "t"})
		clear(k.newest)
		again := k.put("t", named("1"), with("a=1"))
		k.wantLineage(again, again)
		k.wantWrites("writes", k.get(again.Key).Writes)
	}},
	{name: "delete_for_runs/forks", needs: needsRuns, promise: "forks from what goes keep what they were built on, each its own", run: func(k *kit) {
		root := k.put("t", by("keep"), with("a=0"))
		cut := k.put("t", by("gone"), with("a=1"))
		left := k.put("t", by("keep"), with("a=left"))
		right := k.put("t", by("keep"), after(cut), with("a=right"))
		aside := k.put("t", by("gone"), after(root), with("a=aside"))
		k.deleteRuns("t", "gone")
		k.wantMissing(aside.Key)
		k.wantState(root, "a=0")
		k.wantState(left, "a=0", "a=1", "a=left")
		k.wantState(right, "a=0", "a=1", "a=right")
		k.newest[space(right.Key)] = right
		k.wantState(k.put("t", after(left), with("a=more")), "a=0", "a=1", "a=left", "a=more")
	}},
	{name: "delete_for_runs/invalid", needs: needsRuns, promise: "an empty thread or run is an ErrInvalid, and removes nothing", run: func(k *kit) {
		c := k.put("t", by(""))
		k.wantErr("no thread", k.runDeleter().DeleteRuns(k.ctx, "", "r"), checkpoint.ErrInvalid)
		k.wantErr("no run", k.runDeleter().DeleteRuns(k.ctx, "t", ""), checkpoint.ErrInvalid)
		k.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
}

func (k *kit) deleteRuns(thread string, runs ...string) {
	k.Helper()
	if err := k.runDeleter().DeleteRuns(k.ctx, thread, runs...); err != nil {
		k.Fatalf("delete runs %q of %q: %v", runs, thread, err)
	}
}
