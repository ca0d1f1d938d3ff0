package checkpointtest

import (
	"errors"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var copyCases = []testCase{
	{name: "copy_thread/basic", needs: needsCopy, promise: "a copy has the checkpoints of its source", run: func(f *fixture) {
		f.chain("a", 3)
		f.copyThread("a", "b")
		if got := len(f.list(checkpoint.Query{Thread: "b"})); got != 3 {
			f.Errorf("got %d checkpoints want 3", got)
		}
	}},
	{name: "copy_thread/all_checkpoints", needs: needsCopy, promise: "every checkpoint of the copy has the content and lineage of its source", run: func(f *fixture) {
		f.put("a", withChanges("x=1"))
		f.put("a", withChanges("x=2"), withSnapshot("x=12"))
		first := f.put("a", withChanges("x=3"))
		f.put("a", withChanges("x=4"))
		f.put("a", withParent(first), withChanges("x=5"))
		f.copyThread("a", "b")
		f.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_metadata", needs: needsCopy, promise: "CopyThread copies metadata, source, step, run and version", run: func(f *fixture) {
		f.put("a", withMetadata(map[string]string{"k": "1"}), withSource(checkpoint.Input), withRun("r1"))
		f.put("a", withMetadata(map[string]string{"k": "2"}), withSource("custom"), withRun("r2"))
		f.copyThread("a", "b")
		f.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_namespaces", needs: needsCopy, promise: "CopyThread copies all namespaces", run: func(f *fixture) {
		f.put("a")
		f.put("a", inNamespace("child:1"))
		f.put("a")
		f.put("a", inNamespace("child:1"))
		f.put("a", inNamespace("child:2"))
		f.copyThread("a", "b")
		f.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_writes", needs: needsCopy, promise: "CopyThread copies pending writes", run: func(f *fixture) {
		made := f.chain("a", 3)
		f.write(made[0].Key, write("task", 0, "old"))
		f.write(made[2].Key, write("b", 1, "v"), write("a", -1, "w"))
		f.copyThread("a", "b")
		f.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_ordering", needs: needsCopy, promise: "a copy has the order and ids of its source", run: func(f *fixture) {
		for _, id := range []string{"z", "a", uuid(5), uuid(1)} {
			f.put("a", withID(id))
		}
		f.copyThread("a", "b")
		want := ids(f.list(checkpoint.Query{Thread: "a"}))
		if got := ids(f.list(checkpoint.Query{Thread: "b"})); !slices.Equal(got, want) {
			f.Errorf("got %q want %q", got, want)
		}
	}},
	{name: "copy_thread/source_unchanged", needs: needsCopy, promise: "a change of the source does not alter the copy, nor the reverse", run: func(f *fixture) {
		made := f.chain("a", 2, withChanges("x=1"))
		f.write(made[1].Key, write("task", 0, "v"))
		f.copyThread("a", "b")
		copied := made[1]
		copied.Thread = "b"
		f.newest[namespaceOf(copied.Key)] = copied
		next := f.put("b", withChanges("x=b"), settles())
		f.wantState(next, "x=1", "x=1", "x=b")
		f.wantWrites("source", f.latest("a").Writes, write("task", 0, "v"))
		f.wantSame(f.latest("a"), made[1])
		f.wantState(f.put("a", withChanges("x=a")), "x=1", "x=1", "x=a")
		f.wantSame(f.latest("b"), next)
		f.deleteThread("a")
		f.wantState(next, "x=1", "x=1", "x=b")
	}},
	{name: "copy_thread/nonexistent_source", needs: needsCopy, promise: "CopyThread returns ErrNotFound for a source that does not exist, and creates no target", run: func(f *fixture) {
		f.wantErr("copy", f.copier().CopyThread(f.ctx, "none", "b"), checkpoint.ErrNotFound)
		f.wantMissing(checkpoint.Key{Thread: "b"})
		f.put("b")
	}},
	{name: "copy_thread/target_exists", needs: needsCopy, promise: "CopyThread returns ErrConflict for a target that exists, and does not alter it", run: func(f *fixture) {
		f.put("a")
		b := f.put("b")
		f.wantErr("copy", f.copier().CopyThread(f.ctx, "a", "b"), checkpoint.ErrConflict)
		f.wantErr("copy to itself", f.copier().CopyThread(f.ctx, "a", "a"), checkpoint.ErrConflict)
		f.wantList(checkpoint.Query{Thread: "b"}, b)
	}},
	{name: "copy_thread/pruned", needs: needsCopy, promise: "CopyThread of a pruned thread copies the lineages, and does not restore removed checkpoints", run: copyPruned},
	{name: "copy_thread/invalid", needs: needsCopy, promise: "CopyThread returns ErrInvalid for an empty thread", run: func(f *fixture) {
		f.put("a")
		f.wantErr("to nothing", f.copier().CopyThread(f.ctx, "a", ""), checkpoint.ErrInvalid)
		f.wantErr("from nothing", f.copier().CopyThread(f.ctx, "", "b"), checkpoint.ErrInvalid)
	}},
}

func copyPruned(f *fixture) {
	pruner, ok := f.store.(checkpoint.Pruner)
	if !ok {
		return
	}
	f.put("a", withChanges("x=1"))
	cut := f.put("a", withChanges("x=2"))
	left := f.put("a", withChanges("x=left"))
	f.write(left.Key, write("task", 0, "?"))
	f.put("a", withParent(cut), withSnapshot("x=12"))
	f.put("a", withChanges("x=3"))
	right := f.put("a", withChanges("x=right"))
	_, err := pruner.Prune(f.ctx, checkpoint.PrunePolicy{KeepPending: true})
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	f.wantNoErr("prune", err)
	f.copyThread("a", "b")
	f.wantCopy("a", "b")
	left.Thread, right.Thread = "b", "b"
	f.wantState(left, "x=1", "x=2", "x=left")
	f.wantState(right, "x=12", "x=3", "x=right")
	f.wantList(checkpoint.Query{Thread: "b"}, right, left)
	f.newest[namespaceOf(right.Key)] = right
	f.wantState(f.put("b", withChanges("x=4")), "x=12", "x=3", "x=right", "x=4")
}

func (f *fixture) copyThread(source, target string) {
	f.Helper()
	if err := f.copier().CopyThread(f.ctx, source, target); err != nil {
		f.Fatalf("copy %q to %q: %v", source, target, err)
	}
}

// wantCopy fails unless two threads are equal in everything but their ids and times.
func (f *fixture) wantCopy(source, target string) {
	f.Helper()
	want := f.list(checkpoint.Query{Thread: source, AllNamespaces: true, Writes: true})
	got := f.list(checkpoint.Query{Thread: target, AllNamespaces: true, Writes: true})
	if !slices.Equal(ids(got), ids(want)) || len(got) == 0 {
		f.Fatalf("got %q want %q", ids(got), ids(want))
	}
	for i, w := range want {
		key := w.Key
		key.Thread = target
		whole, copied := f.get(w.Key), f.get(key)
		f.wantWrites("listed writes of "+w.ID, got[i].Writes, w.Writes...)
		f.wantWrites("writes of "+w.ID, copied.Writes, whole.Writes...)
		if len(copied.Lineage) != len(whole.Lineage) {
			f.Errorf("lineage of %q: got %d deltas want %d", w.ID, len(copied.Lineage), len(whole.Lineage))
		}
		if !slices.Equal(state(copied.Lineage), state(whole.Lineage)) {
			f.Errorf("state of %q: got %q want %q", w.ID, state(copied.Lineage), state(whole.Lineage))
		}
		whole.Thread = target
		f.wantSame(copied, whole)
	}
}
