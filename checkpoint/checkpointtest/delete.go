package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var deleteCases = []testCase{
	{name: "delete_thread/removes_checkpoints", promise: "DeleteThread removes all checkpoints of the thread", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.deleteThread("t")
		for _, c := range made {
			f.wantMissing(c.Key)
		}
		f.wantMissing(checkpoint.Key{Thread: "t"})
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true})
	}},
	{name: "delete_thread/removes_writes", promise: "DeleteThread removes the pending writes, and a later checkpoint with the same id does not get them", run: func(f *fixture) {
		c := f.put("t", withID("1"))
		f.write(c.Key, write("task", 0, "v"))
		f.deleteThread("t")
		f.wantErr("write to a deleted thread", f.store.PutWrites(f.ctx, c.Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
		again := f.put("t", withID("1"))
		f.wantWrites("new checkpoint with the same id", f.get(again.Key).Writes)
	}},
	{name: "delete_thread/removes_all_namespaces", promise: "DeleteThread removes all namespaces of the thread", run: func(f *fixture) {
		f.put("t")
		for _, ns := range []string{"child", "child|inner"} {
			f.put("t", inNamespace(ns))
		}
		f.deleteThread("t")
		for _, ns := range []string{"", "child", "child|inner"} {
			f.wantMissing(checkpoint.Key{Thread: "t", Namespace: ns})
		}
	}},
	{name: "delete_thread/preserves_other_threads", promise: "DeleteThread keeps other threads, even those with similar ids", run: func(f *fixture) {
		f.put("t")
		var kept []checkpoint.Checkpoint
		for _, thread := range []string{"t2", "T", "t%", "_", " t", "t "} {
			kept = append(kept, f.put(thread))
		}
		f.deleteThread("t")
		for _, c := range kept {
			f.wantSame(f.get(c.Key), c)
		}
	}},
	{name: "delete_thread/nonexistent_noop", promise: "DeleteThread succeeds for a thread that does not exist", run: func(f *fixture) {
		f.deleteThread("none")
		f.put("t")
		f.deleteThread("t")
		f.deleteThread("t")
	}},
	{name: "delete_thread/begins_again", promise: "a deleted thread can be created again, without its former checkpoints", run: func(f *fixture) {
		old := f.chain("t", 2, withChanges("a=old"))
		f.deleteThread("t")
		stale := f.next("t", withParent(old[1]))
		f.wantErr("put after the deleted head", f.store.Put(f.ctx, stale, old[1].ID), checkpoint.ErrConflict)
		f.wantMissing(stale.Key)
		c := f.put("t", withChanges("a=new"))
		f.wantLineage(c, c)
	}},
}

// deleteThread deletes a thread from the store and from the fixture.
func (f *fixture) deleteThread(thread string) {
	f.Helper()
	if err := f.store.DeleteThread(f.ctx, thread); err != nil {
		f.Fatalf("delete %q: %v", thread, err)
	}
	for key := range f.newest {
		if key.Thread == thread {
			delete(f.newest, key)
		}
	}
}
