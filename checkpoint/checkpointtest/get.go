package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var getCases = []testCase{
	{name: "get_tuple/nonexistent_returns_none", promise: "Get returns ErrNotFound for a thread that does not exist", run: func(f *fixture) {
		f.wantMissing(checkpoint.Key{Thread: "none"})
		f.wantMissing(checkpoint.Key{Thread: "none", ID: "1"})
		f.put("t")
		f.wantMissing(checkpoint.Key{Thread: "none"})
		f.wantMissing(checkpoint.Key{Thread: "t", Namespace: "none"})
	}},
	{name: "get_tuple/latest_when_no_checkpoint_id", promise: "Get returns the newest checkpoint for a key without an id", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.wantSame(f.latest("t"), made[2])
	}},
	{name: "get_tuple/latest_is_by_order", promise: "the newest checkpoint is the one accepted last, whatever its id", run: func(f *fixture) {
		for _, id := range []string{"z", "a", uuid(1 << 40), uuid(1), "0"} {
			c := f.put("t", withID(id))
			f.wantSame(f.latest("t"), c)
		}
	}},
	{name: "get_tuple/specific_checkpoint_id", promise: "Get returns the checkpoint with the id of the key", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.wantSame(f.get(made[1].Key), made[1])
	}},
	{name: "get_tuple/config_structure", promise: "the checkpoint that Get returns has its thread, namespace and id", run: func(f *fixture) {
		c := f.put("thread", inNamespace("ns"))
		if got := f.get(checkpoint.Key{Thread: "thread", Namespace: "ns"}); got.Key != c.Key {
			f.Errorf("key: got %+v want %+v", got.Key, c.Key)
		}
	}},
	{name: "get_tuple/checkpoint_fields", promise: "Get sets every field", run: func(f *fixture) {
		parent := f.put("t", withChanges("k=0"))
		c := f.put("t", withChanges("k=v"), withMetadata(map[string]string{"a": "b"}))
		f.write(c.Key, write("task", 0, "v"))
		got := f.get(c.Key)
		f.wantSame(got, c)
		f.wantWrites("writes", got.Writes, write("task", 0, "v"))
		f.wantLineage(c, parent, c)
		if got.Time.IsZero() {
			f.Error("time is zero")
		}
	}},
	{name: "get_tuple/metadata", promise: "Get returns metadata, source and step", run: func(f *fixture) {
		c := f.next("t", withSource(checkpoint.Fork), withMetadata(map[string]string{"user": "u"}))
		c.Step = -1
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		f.wantSame(f.latest("t"), c)
	}},
	{name: "get_tuple/parent_config", promise: "only the first checkpoint has no parent", run: func(f *fixture) {
		made := f.chain("t", 2)
		if got := f.get(made[0].Key).Parent; got != "" {
			f.Errorf("parent of the first: got %q want none", got)
		}
		if got := f.get(made[1].Key).Parent; got != made[0].ID {
			f.Errorf("parent of the second: got %q want %q", got, made[0].ID)
		}
	}},
	{name: "get_tuple/pending_writes", promise: "Get returns the pending writes both for an id and for the newest checkpoint", run: func(f *fixture) {
		c := f.put("t")
		f.write(c.Key, write("task", 0, "v"))
		f.wantWrites("by id", f.get(c.Key).Writes, write("task", 0, "v"))
		f.wantWrites("newest", f.latest("t").Writes, write("task", 0, "v"))
	}},
	{name: "get_tuple/respects_namespace", promise: "each namespace has its own newest checkpoint, and Get does not find the ids of another namespace", run: func(f *fixture) {
		root, child := f.put("t"), f.put("t", inNamespace("child"))
		other := f.put("t", inNamespace("child2"))
		f.wantSame(f.get(checkpoint.Key{Thread: "t"}), root)
		f.wantSame(f.get(checkpoint.Key{Thread: "t", Namespace: "child"}), child)
		f.wantSame(f.get(checkpoint.Key{Thread: "t", Namespace: "child2"}), other)
		f.wantMissing(checkpoint.Key{Thread: "t", Namespace: "child", ID: root.ID})
		f.wantMissing(checkpoint.Key{Thread: "t", ID: child.ID})
	}},
	{name: "get_tuple/nonexistent_checkpoint_id", promise: "Get returns ErrNotFound for an id that does not exist", run: func(f *fixture) {
		c := f.put("t")
		f.wantMissing(checkpoint.Key{Thread: "t", ID: uuid(1 << 30)})
		f.wantMissing(checkpoint.Key{Thread: "t", ID: "none"})
		f.wantMissing(checkpoint.Key{Thread: "t", ID: c.ID + "0"})
		f.wantMissing(checkpoint.Key{Thread: "t", ID: c.ID[:len(c.ID)-1]})
	}},
}
