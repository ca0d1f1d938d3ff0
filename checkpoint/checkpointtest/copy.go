package checkpointtest

import (
	"errors"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var copyCases = []testCase{
	{name: "copy_thread/basic", needs: needsCopy, promise: "a copy has the checkpoints of its source", run: func(k *kit) {
		k.chain("a", 3)
		k.copyThread("a", "b")
		if got := len(k.list(checkpoint.Query{Thread: "b"})); got != 3 {
			k.Errorf("got %d checkpoints want 3", got)
		}
	}},
	{name: "copy_thread/all_checkpoints", needs: needsCopy, promise: "every checkpoint has the same content and lineage in the copy", run: func(k *kit) {
		k.put("a", with("x=1"))
		k.put("a", with("x=2"), whole("x=12"))
		first := k.put("a", with("x=3"))
		k.put("a", with("x=4"))
		k.put("a", after(first), with("x=5"))
		k.copyThread("a", "b")
		k.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_metadata", needs: needsCopy, promise: "metadata, source, step, run and version are copied", run: func(k *kit) {
		k.put("a", about(map[string]string{"k": "1"}), from(checkpoint.Input), by("r1"))
		k.put("a", about(map[string]string{"k": "2"}), from("custom"), by("r2"))
		k.copyThread("a", "b")
		k.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_namespaces", needs: needsCopy, promise: "all namespaces are copied", run: func(k *kit) {
		k.put("a")
		k.put("a", in("child:1"))
		k.put("a")
		k.put("a", in("child:1"))
		k.put("a", in("child:2"))
		k.copyThread("a", "b")
		k.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_writes", needs: needsCopy, promise: "pending writes are copied", run: func(k *kit) {
		made := k.chain("a", 3)
		k.write(made[0].Key, write("task", 0, "old"))
		k.write(made[2].Key, write("b", 1, "v"), write("a", -1, "w"))
		k.copyThread("a", "b")
		k.wantCopy("a", "b")
	}},
	{name: "copy_thread/preserves_ordering", needs: needsCopy, promise: "order and ids are those of the source", run: func(k *kit) {
		for _, id := range []string{"z", "a", uuid(5), uuid(1)} {
			k.put("a", named(id))
		}
		k.copyThread("a", "b")
		want := ids(k.list(checkpoint.Query{Thread: "a"}))
		if got := ids(k.list(checkpoint.Query{Thread: "b"})); !slices.Equal(got, want) {
			k.Errorf("got %q want %q", got, want)
		}
	}},
	{name: "copy_thread/source_unchanged", needs: needsCopy, promise: "source and copy go on without each other", run: func(k *kit) {
		made := k.chain("a", 2, with("x=1"))
		k.write(made[1].Key, write("task", 0, "v"))
		k.copyThread("a", "b")
		copied := made[1]
		copied.Thread = "b"
		k.newest[space(copied.Key)] = copied
		next := k.put("b", with("x=b"), settling())
		k.wantState(next, "x=1", "x=1", "x=b")
		k.wantWrites("source", k.latest("a").Writes, write("task", 0, "v"))
		k.wantSame(k.latest("a"), made[1])
		k.wantState(k.put("a", with("x=a")), "x=1", "x=1", "x=a")
		k.wantSame(k.latest("b"), next)
		k.deleteThread("a")
		k.wantState(next, "x=1", "x=1", "x=b")
	}},
	{name: "copy_thread/nonexistent_source", needs: needsCopy, promise: "a source that does not exist is an ErrNotFound, and makes no copy", run: func(k *kit) {
		k.wantErr("copy", k.copier().CopyThread(k.ctx, "none", "b"), checkpoint.ErrNotFound)
		k.wantMissing(checkpoint.Key{Thread: "b"})
		k.put("b")
	}},
	{name: "copy_thread/target_exists", needs: needsCopy, promise: "a target that exists is an ErrConflict, and stays as it was", run: func(k *kit) {
		k.put("a")
		b := k.put("b")
		k.wantErr("copy", k.copier().CopyThread(k.ctx, "a", "b"), checkpoint.ErrConflict)
		k.wantErr("copy to itself", k.copier().CopyThread(k.ctx, "a", "a"), checkpoint.ErrConflict)
		k.wantList(checkpoint.Query{Thread: "b"}, b)
	}},
	{name: "copy_thread/pruned", needs: needsCopy, promise: "what stands for removed ancestors is copied too, and they do not come back", run: copyPruned},
	{name: "copy_thread/invalid", needs: needsCopy, promise: "an empty thread is an ErrInvalid", run: func(k *kit) {
		k.put("a")
		k.wantErr("to nothing", k.copier().CopyThread(k.ctx, "a", ""), checkpoint.ErrInvalid)
		k.wantErr("from nothing", k.copier().CopyThread(k.ctx, "", "b"), checkpoint.ErrInvalid)
	}},
}

func copyPruned(k *kit) {
	pruner, ok := k.store.(checkpoint.Pruner)
	if !ok {
		return
	}
	k.put("a", with("x=1"))
	cut := k.put("a", with("x=2"))
	left := k.put("a", with("x=left"))
	k.write(left.Key, write("task", 0, "?"))
	k.put("a", after(cut), whole("x=12"))
	k.put("a", with("x=3"))
	right := k.put("a", with("x=right"))
	_, err := pruner.Prune(k.ctx, checkpoint.PrunePolicy{KeepPending: true})
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	k.wantNoErr("prune", err)
	k.copyThread("a", "b")
	k.wantCopy("a", "b")
	left.Thread, right.Thread = "b", "b"
	k.wantState(left, "x=1", "x=2", "x=left")
	k.wantState(right, "x=12", "x=3", "x=right")
	k.wantList(checkpoint.Query{Thread: "b"}, right, left)
	k.newest[space(right.Key)] = right
	k.wantState(k.put("b", with("x=4")), "x=12", "x=3", "x=right", "x=4")
}

func (k *kit) copyThread(source, target string) {
	k.Helper()
	if err := k.copier().CopyThread(k.ctx, source, target); err != nil {
		k.Fatalf("copy %q to %q: %v", source, target, err)
	}
}

// wantCopy compares everything that can be read of two threads but the times.
func (k *kit) wantCopy(source, target string) {
	k.Helper()
	want := k.list(checkpoint.Query{Thread: source, AllNamespaces: true, Writes: true})
	got := k.list(checkpoint.Query{Thread: target, AllNamespaces: true, Writes: true})
	if !slices.Equal(ids(got), ids(want)) || len(got) == 0 {
		k.Fatalf("got %q want %q", ids(got), ids(want))
	}
	for i, w := range want {
		key := w.Key
		key.Thread = target
		whole, copied := k.get(w.Key), k.get(key)
		k.wantWrites("listed writes of "+w.ID, got[i].Writes, w.Writes...)
		k.wantWrites("writes of "+w.ID, copied.Writes, whole.Writes...)
		if len(copied.Lineage) != len(whole.Lineage) {
			k.Errorf("lineage of %q: got %d deltas want %d", w.ID, len(copied.Lineage), len(whole.Lineage))
		}
		if !slices.Equal(state(copied.Lineage), state(whole.Lineage)) {
			k.Errorf("state of %q: got %q want %q", w.ID, state(copied.Lineage), state(whole.Lineage))
		}
		whole.Thread = target
		k.wantSame(copied, whole)
	}
}
