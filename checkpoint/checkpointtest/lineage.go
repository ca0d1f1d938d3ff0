package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var lineageCases = []testCase{
	{name: "delta_channel_history/returns_writes_oldest_first", promise: "a lineage is ordered from the oldest ancestor to the checkpoint itself", run: func(f *fixture) {
		made := f.chain("t", 5)
		f.wantLineage(made[4], made...)
		f.wantLineage(made[2], made[:3]...)
	}},
	{name: "delta_channel_history/seed_is_nearest_snapshot", promise: "a lineage begins at the nearest snapshot", run: func(f *fixture) {
		made := []checkpoint.Checkpoint{
			f.put("t", withSnapshot("ch=0")), f.put("t"), f.put("t"), f.put("t", withSnapshot("ch=3")), f.put("t"), f.put("t"),
		}
		f.wantLineage(made[5], made[3:]...)
		f.wantLineage(made[3], made[3])
		f.wantLineage(made[2], made[:3]...)
	}},
	{name: "delta_channel_history/excludes_target_pending_writes", promise: "a lineage does not contain pending writes", run: func(f *fixture) {
		made := f.chain("t", 3)
		for _, c := range made {
			f.write(c.Key, write("task", 0, "extra"))
		}
		f.wantLineage(made[2], made...)
	}},
	{name: "delta_channel_history/multi_channel", promise: "a lineage has the changes of all channels, in the order of the steps", run: func(f *fixture) {
		f.put("t", withChanges("a=1", "b=1"))
		f.put("t", withChanges("a=2"))
		last := f.put("t", withChanges("b=2", "a=3"))
		f.wantState(last, "a=1", "b=1", "a=2", "b=2", "a=3")
	}},
	{name: "delta_channel_history/empty_channels_returns_empty", promise: "a step without changes has a delta without changes", run: func(f *fixture) {
		first := f.put("t", withChanges())
		second := f.put("t", withChanges("a=1"))
		third := f.put("t", withChanges())
		f.wantLineage(third, first, second, third)
	}},
	{name: "delta_channel_history/walk_to_root_no_seed", promise: "without a snapshot a lineage begins at the first checkpoint, and no delta is marked as a snapshot", run: func(f *fixture) {
		made := f.chain("t", 4)
		for _, d := range f.get(made[3].Key).Lineage {
			if d.Snapshot {
				f.Errorf("delta %q: got a snapshot want none", d.ID)
			}
		}
		f.wantLineage(made[3], made...)
	}},
	{name: "delta_channel_history/migration_plain_value_as_seed", promise: "a lineage begins at a snapshot even if the snapshot is empty", run: func(f *fixture) {
		f.put("t", withChanges("a=1"))
		empty := f.put("t", withChanges("a=2"), withSnapshot())
		last := f.put("t", withChanges("a=3"))
		f.wantLineage(last, empty, last)
		f.wantSame(f.get(empty.Key), empty)
		f.wantState(last, "a=3")
	}},
	{name: "delta_channel_history/seed_ancestor_own_writes_are_replayed", promise: "pending writes of a snapshot that its child settled are in the delta of the child", run: func(f *fixture) {
		f.put("t", withChanges("a=old"))
		seed := f.put("t", withChanges("a=1"), withSnapshot("a=seed"))
		f.write(seed.Key, write("task", 0, "v"))
		child := f.put("t", withChanges("a=v"), settles())
		last := f.put("t", withChanges("a=after"))
		f.write(last.Key, write("task", 0, "pending"))
		f.wantLineage(last, seed, child, last)
		f.wantState(last, "a=seed", "a=v", "a=after")
	}},
	{name: "delta_channel_history/namespaces", promise: "a lineage stays in its namespace", run: func(f *fixture) {
		root := f.put("t", withChanges("a=root"))
		child := f.put("t", inNamespace("child"), withChanges("a=child"))
		root2, child2 := f.put("t", withChanges("a=root2")), f.put("t", inNamespace("child"), withChanges("a=child2"))
		f.wantLineage(root2, root, root2)
		f.wantLineage(child2, child, child2)
	}},
}

var forkCases = []testCase{
	{name: "forks/abandoned_branch", promise: "a fork does not contain the changes of the abandoned branch, and does not alter that branch", run: func(f *fixture) {
		root := f.put("t", withChanges("a=0"))
		old := f.put("t", withChanges("a=old"))
		older := f.put("t", withChanges("b=old"))
		fork := f.put("t", withParent(root), withSource(checkpoint.Fork), withChanges("a=new"))
		next := f.put("t", withChanges("a=newer"))
		f.wantState(next, "a=0", "a=new", "a=newer")
		f.wantLineage(next, root, fork, next)
		f.wantState(older, "a=0", "a=old", "b=old")
		f.wantState(old, "a=0", "a=old")
	}},
	{name: "forks/head_moves", promise: "a fork becomes the newest checkpoint, and Put with the former head returns ErrConflict", run: func(f *fixture) {
		made := f.chain("t", 2)
		fork := f.put("t", withParent(made[0]))
		f.wantSame(f.latest("t"), fork)
		stale := f.next("t", withParent(made[1]))
		f.wantErr("stale head", f.store.Put(f.ctx, stale, made[1].ID), checkpoint.ErrConflict)
		if err := f.store.Put(f.ctx, stale, fork.ID); err != nil {
			f.Errorf("fork back to the older branch: %v", err)
		}
		f.wantLineage(stale, made[0], made[1], stale)
	}},
	{name: "forks/from_nothing", promise: "a checkpoint without a parent starts a new lineage in a thread that has others", run: func(f *fixture) {
		f.chain("t", 2)
		c := f.next("t", withChanges("a=1"))
		c.Parent = ""
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		f.wantLineage(c, c)
		f.wantSame(f.latest("t"), c)
	}},
	{name: "forks/nested", promise: "a fork of a fork has only the changes of its own ancestors", run: func(f *fixture) {
		at := f.put("t", withChanges("n=0"))
		want := []checkpoint.Checkpoint{at}
		for range 30 {
			f.put("t", withChanges("n=abandoned"))
			f.put("t", withChanges("n=abandoned"))
			at = f.put("t", withParent(at), withChanges("n=kept"))
			want = append(want, at)
			f.wantLineage(at, want...)
		}
	}},
	{name: "forks/snapshot_of_another_branch", promise: "a snapshot does not affect the lineages of other branches", run: func(f *fixture) {
		root := f.put("t", withChanges("a=0"))
		f.put("t", withSnapshot("a=other"))
		fork := f.put("t", withParent(root), withChanges("a=1"))
		f.wantLineage(fork, root, fork)
	}},
	{name: "forks/missing_parent", promise: "Put returns ErrNotFound for a parent that does not exist in the namespace, and stores nothing", run: func(f *fixture) {
		first := f.next("t")
		first.Parent = "none"
		f.wantErr("first", f.store.Put(f.ctx, first, ""), checkpoint.ErrNotFound)
		f.wantMissing(checkpoint.Key{Thread: "t"})
		root, child := f.put("t"), f.put("t", inNamespace("child"))
		for _, parent := range []string{"none", child.ID} {
			c := f.next("t")
			c.Parent = parent
			f.wantErr("parent "+parent, f.store.Put(f.ctx, c, root.ID), checkpoint.ErrNotFound)
			f.wantMissing(c.Key)
		}
		f.wantSame(f.latest("t"), root)
	}},
}
