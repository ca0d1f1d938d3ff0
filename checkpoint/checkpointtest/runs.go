package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var runCases = []testCase{
	{name: "delete_for_runs/single", needs: needsRuns, promise: "DeleteRuns removes the checkpoints of a run", run: func(f *fixture) {
		first := f.put("t", withRun("r1"))
		second := f.put("t", withRun("r2"))
		f.deleteRuns("t", "r1")
		f.wantMissing(first.Key)
		f.wantList(checkpoint.Query{Thread: "t"}, second)
	}},
	{name: "delete_for_runs/multiple", needs: needsRuns, promise: "DeleteRuns removes the checkpoints of several runs", run: func(f *fixture) {
		f.put("t", withRun("r1"))
		f.put("t", withRun("r2"))
		third := f.put("t", withRun("r3"))
		f.deleteRuns("t", "r1", "r2")
		f.wantList(checkpoint.Query{Thread: "t"}, third)
	}},
	{name: "delete_for_runs/preserves_other_runs", needs: needsRuns, promise: "checkpoints of other runs stay, and keep the state that they were built on", run: func(f *fixture) {
		first := f.put("t", withRun("r1"), withChanges("a=1"))
		f.put("t", withRun("gone"), withChanges("a=2"))
		third := f.put("t", withRun("r2"), withChanges("a=3"))
		f.put("t", withRun("gone"), withChanges("a=4"))
		f.deleteRuns("t", "gone")
		f.wantList(checkpoint.Query{Thread: "t"}, third, first)
		f.wantState(first, "a=1")
		f.wantState(third, "a=1", "a=2", "a=3")
		if got := f.get(third.Key).Parent; got != first.ID {
			f.Errorf("parent: got %q want %q, the nearest ancestor that was kept", got, first.ID)
		}
	}},
	{name: "delete_for_runs/removes_writes", needs: needsRuns, promise: "DeleteRuns removes the pending writes of the checkpoints that it removes", run: func(f *fixture) {
		f.put("t", withRun("r1"))
		second := f.put("t", withRun("r2"))
		f.write(second.Key, write("task", 0, "v"))
		f.deleteRuns("t", "r2")
		f.wantMissing(second.Key)
		f.wantErr("write", f.store.PutWrites(f.ctx, second.Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
	}},
	{name: "delete_for_runs/empty_list_noop", needs: needsRuns, promise: "DeleteRuns without runs succeeds and removes nothing", run: func(f *fixture) {
		c := f.put("t", withRun(""))
		f.deleteRuns("t")
		f.deleteRuns("none")
		f.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
	{name: "delete_for_runs/nonexistent_noop", needs: needsRuns, promise: "DeleteRuns succeeds for runs and threads that do not exist", run: func(f *fixture) {
		c := f.put("t", withRun("r1"))
		f.deleteRuns("t", "none", "r")
		f.deleteRuns("none", "r1")
		f.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
	{name: "delete_for_runs/across_namespaces", needs: needsRuns, promise: "DeleteRuns covers all namespaces of the thread, and no other thread", run: func(f *fixture) {
		f.put("t", withRun("r1"))
		f.put("t", withRun("r1"), inNamespace("child"))
		kept := f.put("t", withRun("r2"), inNamespace("child"))
		other := f.put("t2", withRun("r1"))
		f.deleteRuns("t", "r1")
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, kept)
		f.wantList(checkpoint.Query{Thread: "t2"}, other)
	}},
	{name: "delete_for_runs/head_falls_back", needs: needsRuns, promise: "the newest checkpoint that stays becomes the head, and the thread continues from it", run: func(f *fixture) {
		first := f.put("t", withRun("r1"), withChanges("a=1"))
		gone := f.put("t", withRun("r2"), withChanges("a=2"))
		f.deleteRuns("t", "r2")
		f.wantSame(f.latest("t"), first)
		f.wantErr("put after the removed head", f.store.Put(f.ctx, f.next("t", withParent(gone)), gone.ID), checkpoint.ErrConflict)
		f.newest[namespaceOf(first.Key)] = first
		next := f.put("t", withChanges("a=3"))
		f.wantState(next, "a=1", "a=3")
	}},
	{name: "delete_for_runs/everything", needs: needsRuns, promise: "a thread without checkpoints can be created again", run: func(f *fixture) {
		c := f.put("t", withRun("r1"), withID("1"))
		f.write(c.Key, write("task", 0, "v"))
		f.deleteRuns("t", "r1")
		f.wantMissing(checkpoint.Key{Thread: "t"})
		clear(f.newest)
		again := f.put("t", withID("1"), withChanges("a=1"))
		f.wantLineage(again, again)
		f.wantWrites("writes", f.get(again.Key).Writes)
	}},
	{name: "delete_for_runs/forks", needs: needsRuns, promise: "a fork from a removed checkpoint keeps the state that it was built on", run: func(f *fixture) {
		root := f.put("t", withRun("keep"), withChanges("a=0"))
		cut := f.put("t", withRun("gone"), withChanges("a=1"))
		left := f.put("t", withRun("keep"), withChanges("a=left"))
		right := f.put("t", withRun("keep"), withParent(cut), withChanges("a=right"))
		aside := f.put("t", withRun("gone"), withParent(root), withChanges("a=aside"))
		f.deleteRuns("t", "gone")
		f.wantMissing(aside.Key)
		f.wantState(root, "a=0")
		f.wantState(left, "a=0", "a=1", "a=left")
		f.wantState(right, "a=0", "a=1", "a=right")
		f.newest[namespaceOf(right.Key)] = right
		f.wantState(f.put("t", withParent(left), withChanges("a=more")), "a=0", "a=1", "a=left", "a=more")
	}},
	{name: "delete_for_runs/invalid", needs: needsRuns, promise: "DeleteRuns returns ErrInvalid for an empty thread or run, and removes nothing", run: func(f *fixture) {
		c := f.put("t", withRun(""))
		f.wantErr("no thread", f.runDeleter().DeleteRuns(f.ctx, "", "r"), checkpoint.ErrInvalid)
		f.wantErr("no run", f.runDeleter().DeleteRuns(f.ctx, "t", ""), checkpoint.ErrInvalid)
		f.wantList(checkpoint.Query{Thread: "t"}, c)
	}},
}

func (f *fixture) deleteRuns(thread string, runs ...string) {
	f.Helper()
	if err := f.runDeleter().DeleteRuns(f.ctx, thread, runs...); err != nil {
		f.Fatalf("delete runs %q of %q: %v", runs, thread, err)
	}
}
