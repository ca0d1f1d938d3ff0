package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var lineageCases = []testCase{
	{name: "delta_channel_history/returns_writes_oldest_first", promise: "a lineage runs from the oldest to the checkpoint itself", run: func(k *kit) {
		made := k.chain("t", 5)
		k.wantLineage(made[4], made...)
		k.wantLineage(made[2], made[:3]...)
	}},
	{name: "delta_channel_history/seed_is_nearest_snapshot", promise: "a lineage begins at the nearest snapshot", run: func(k *kit) {
		made := []checkpoint.Checkpoint{
			k.put("t", whole("ch=0")), k.put("t"), k.put("t"), k.put("t", whole("ch=3")), k.put("t"), k.put("t"),
		}
		k.wantLineage(made[5], made[3:]...)
		k.wantLineage(made[3], made[3])
		k.wantLineage(made[2], made[:3]...)
	}},
	{name: "delta_channel_history/excludes_target_pending_writes", promise: "pending writes are no part of a lineage", run: func(k *kit) {
		made := k.chain("t", 3)
		for _, c := range made {
			k.write(c.Key, write("task", 0, "extra"))
		}
		k.wantLineage(made[2], made...)
	}},
	{name: "delta_channel_history/multi_channel", promise: "changes of all channels come together, in the order of the steps", run: func(k *kit) {
		k.put("t", with("a=1", "b=1"))
		k.put("t", with("a=2"))
		last := k.put("t", with("b=2", "a=3"))
		k.wantState(last, "a=1", "b=1", "a=2", "b=2", "a=3")
	}},
	{name: "delta_channel_history/empty_channels_returns_empty", promise: "a step without changes has a delta without changes", run: func(k *kit) {
		first := k.put("t", with())
		second := k.put("t", with("a=1"))
		third := k.put("t", with())
		k.wantLineage(third, first, second, third)
	}},
	{name: "delta_channel_history/walk_to_root_no_seed", promise: "without a snapshot a lineage begins at the first checkpoint, and no delta claims to be one", run: func(k *kit) {
		made := k.chain("t", 4)
		for _, d := range k.get(made[3].Key).Lineage {
			if d.Snapshot {
				k.Errorf("delta %q: got a snapshot want none", d.ID)
			}
		}
		k.wantLineage(made[3], made...)
	}},
	{name: "delta_channel_history/migration_plain_value_as_seed", promise: "a snapshot counts whatever it holds, even nothing", run: func(k *kit) {
		k.put("t", with("a=1"))
		empty := k.put("t", with("a=2"), whole())
		last := k.put("t", with("a=3"))
		k.wantLineage(last, empty, last)
		k.wantSame(k.get(empty.Key), empty)
		k.wantState(last, "a=3")
	}},
	{name: "delta_channel_history/seed_ancestor_own_writes_are_replayed", promise: "what was pending at a snapshot and settled by its child is in the child's delta", run: func(k *kit) {
		k.put("t", with("a=old"))
		seed := k.put("t", with("a=1"), whole("a=seed"))
		k.write(seed.Key, write("task", 0, "v"))
		child := k.put("t", with("a=v"), settling())
		last := k.put("t", with("a=after"))
		k.write(last.Key, write("task", 0, "pending"))
		k.wantLineage(last, seed, child, last)
		k.wantState(last, "a=seed", "a=v", "a=after")
	}},
	{name: "delta_channel_history/namespaces", promise: "a lineage stays in its namespace", run: func(k *kit) {
		root := k.put("t", with("a=root"))
		child := k.put("t", in("child"), with("a=child"))
		root2, child2 := k.put("t", with("a=root2")), k.put("t", in("child"), with("a=child2"))
		k.wantLineage(root2, root, root2)
		k.wantLineage(child2, child, child2)
	}},
}

var forkCases = []testCase{
	{name: "forks/abandoned_branch", promise: "a fork never sees what the abandoned branch wrote, and that stays as it was", run: func(k *kit) {
		root := k.put("t", with("a=0"))
		old := k.put("t", with("a=old"))
		older := k.put("t", with("b=old"))
		fork := k.put("t", after(root), from(checkpoint.Fork), with("a=new"))
		next := k.put("t", with("a=newer"))
		k.wantState(next, "a=0", "a=new", "a=newer")
		k.wantLineage(next, root, fork, next)
		k.wantState(older, "a=0", "a=old", "b=old")
		k.wantState(old, "a=0", "a=old")
	}},
	{name: "forks/head_moves", promise: "a fork is the newest, and a writer who has not seen it gets ErrConflict", run: func(k *kit) {
		made := k.chain("t", 2)
		fork := k.put("t", after(made[0]))
		k.wantSame(k.latest("t"), fork)
		stale := k.next("t", after(made[1]))
		k.wantErr("stale head", k.store.Put(k.ctx, stale, made[1].ID), checkpoint.ErrConflict)
		if err := k.store.Put(k.ctx, stale, fork.ID); err != nil {
			k.Errorf("fork back to the older branch: %v", err)
		}
		k.wantLineage(stale, made[0], made[1], stale)
	}},
	{name: "forks/from_nothing", promise: "a checkpoint without a parent begins anew in a thread that has others", run: func(k *kit) {
		k.chain("t", 2)
		c := k.next("t", with("a=1"))
		c.Parent = ""
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		k.wantLineage(c, c)
		k.wantSame(k.latest("t"), c)
	}},
	{name: "forks/nested", promise: "forks of forks hold their own ancestors' changes only", run: func(k *kit) {
		at := k.put("t", with("n=0"))
		want := []checkpoint.Checkpoint{at}
		for range 30 {
			k.put("t", with("n=abandoned"))
			k.put("t", with("n=abandoned"))
			at = k.put("t", after(at), with("n=kept"))
			want = append(want, at)
			k.wantLineage(at, want...)
		}
	}},
	{name: "forks/snapshot_of_another_branch", promise: "a snapshot cuts the lineages of its own branch only", run: func(k *kit) {
		root := k.put("t", with("a=0"))
		k.put("t", whole("a=other"))
		fork := k.put("t", after(root), with("a=1"))
		k.wantLineage(fork, root, fork)
	}},
	{name: "forks/missing_parent", promise: "a parent that does not exist in the namespace is an ErrNotFound, and nothing is stored", run: func(k *kit) {
		first := k.next("t")
		first.Parent = "none"
		k.wantErr("first", k.store.Put(k.ctx, first, ""), checkpoint.ErrNotFound)
		k.wantMissing(checkpoint.Key{Thread: "t"})
		root, child := k.put("t"), k.put("t", in("child"))
		for _, parent := range []string{"none", child.ID} {
			c := k.next("t")
			c.Parent = parent
			k.wantErr("parent "+parent, k.store.Put(k.ctx, c, root.ID), checkpoint.ErrNotFound)
			k.wantMissing(c.Key)
		}
		k.wantSame(k.latest("t"), root)
	}},
}
