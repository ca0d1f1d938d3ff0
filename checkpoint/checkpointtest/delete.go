package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var deleteCases = []testCase{
	{name: "delete_thread/removes_checkpoints", promise: "a deleted thread is gone", run: func(k *kit) {
		made := k.chain("t", 3)
		k.deleteThread("t")
		for _, c := range made {
			k.wantMissing(c.Key)
		}
		k.wantMissing(checkpoint.Key{Thread: "t"})
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true})
	}},
	{name: "delete_thread/removes_writes", promise: "its pending writes go with it, also for one that is later put with the same ids", run: func(k *kit) {
		c := k.put("t", named("1"))
		k.write(c.Key, write("task", 0, "v"))
		k.deleteThread("t")
		k.wantErr("write to a deleted thread", k.store.PutWrites(k.ctx, c.Key, []checkpoint.Write{write("a", 0, "a")}), checkpoint.ErrNotFound)
		again := k.put("t", named("1"))
		k.wantWrites("after it began again", k.get(again.Key).Writes)
	}},
	{name: "delete_thread/removes_all_namespaces", promise: "all its namespaces go", run: func(k *kit) {
		k.put("t")
		for _, ns := range []string{"child", "child|inner"} {
			k.put("t", in(ns))
		}
		k.deleteThread("t")
		for _, ns := range []string{"", "child", "child|inner"} {
			k.wantMissing(checkpoint.Key{Thread: "t", Namespace: ns})
		}
	}},
	{name: "delete_thread/preserves_other_threads", promise: "other threads stay, also those whose ids look alike", run: func(k *kit) {
		k.put("t")
		var kept []checkpoint.Checkpoint
		for _, thread := range []string{"t2", "T", "t%", "_", " t", "t "} {
			kept = append(kept, k.put(thread))
		}
		k.deleteThread("t")
		for _, c := range kept {
			k.wantSame(k.get(c.Key), c)
		}
	}},
	{name: "delete_thread/nonexistent_noop", promise: "deleting what does not exist is no error", run: func(k *kit) {
		k.deleteThread("none")
		k.put("t")
		k.deleteThread("t")
		k.deleteThread("t")
	}},
	{name: "delete_thread/begins_again", promise: "a deleted thread begins again from nothing", run: func(k *kit) {
		old := k.chain("t", 2, with("a=old"))
		k.deleteThread("t")
		stale := k.next("t", after(old[1]))
		k.wantErr("put after the deleted head", k.store.Put(k.ctx, stale, old[1].ID), checkpoint.ErrConflict)
		k.wantMissing(stale.Key)
		c := k.put("t", with("a=new"))
		k.wantLineage(c, c)
	}},
}

// deleteThread also makes the kit forget what it knows of the thread.
func (k *kit) deleteThread(thread string) {
	k.Helper()
	if err := k.store.DeleteThread(k.ctx, thread); err != nil {
		k.Fatalf("delete %q: %v", thread, err)
	}
	for key := range k.newest {
		if key.Thread == thread {
			delete(k.newest, key)
		}
	}
}
