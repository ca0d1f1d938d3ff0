package checkpointtest

import "github.com/weft-go/weft/checkpoint"

var getCases = []testCase{
	{name: "get_tuple/nonexistent_returns_none", promise: "a thread that does not exist is an ErrNotFound", run: func(k *kit) {
		k.wantMissing(checkpoint.Key{Thread: "none"})
		k.wantMissing(checkpoint.Key{Thread: "none", ID: "1"})
		k.put("t")
		k.wantMissing(checkpoint.Key{Thread: "none"})
		k.wantMissing(checkpoint.Key{Thread: "t", Namespace: "none"})
	}},
	{name: "get_tuple/latest_when_no_checkpoint_id", promise: "a key without an id means the newest", run: func(k *kit) {
		made := k.chain("t", 3)
		k.wantSame(k.latest("t"), made[2])
	}},
	{name: "get_tuple/latest_is_by_order", promise: "the newest is the one accepted last, whatever its id", run: func(k *kit) {
		for _, id := range []string{"z", "a", uuid(1 << 40), uuid(1), "0"} {
			c := k.put("t", named(id))
			k.wantSame(k.latest("t"), c)
		}
	}},
	{name: "get_tuple/specific_checkpoint_id", promise: "an id means that checkpoint", run: func(k *kit) {
		made := k.chain("t", 3)
		k.wantSame(k.get(made[1].Key), made[1])
	}},
	{name: "get_tuple/config_structure", promise: "what Get returns says its thread, namespace and id", run: func(k *kit) {
		c := k.put("thread", in("ns"))
		if got := k.get(checkpoint.Key{Thread: "thread", Namespace: "ns"}); got.Key != c.Key {
			k.Errorf("key: got %+v want %+v", got.Key, c.Key)
		}
	}},
	{name: "get_tuple/checkpoint_fields", promise: "Get fills every field", run: func(k *kit) {
		parent := k.put("t", with("k=0"))
		c := k.put("t", with("k=v"), about(map[string]string{"a": "b"}))
		k.write(c.Key, write("task", 0, "v"))
		got := k.get(c.Key)
		k.wantSame(got, c)
		k.wantWrites("writes", got.Writes, write("task", 0, "v"))
		k.wantLineage(c, parent, c)
		if got.Time.IsZero() {
			k.Error("time is zero")
		}
	}},
	{name: "get_tuple/metadata", promise: "Get returns metadata, source and step", run: func(k *kit) {
		c := k.next("t", from(checkpoint.Fork), about(map[string]string{"user": "u"}))
		c.Step = -1
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		k.wantSame(k.latest("t"), c)
	}},
	{name: "get_tuple/parent_config", promise: "the first checkpoint has no parent, later ones do", run: func(k *kit) {
		made := k.chain("t", 2)
		if got := k.get(made[0].Key).Parent; got != "" {
			k.Errorf("parent of the first: got %q want none", got)
		}
		if got := k.get(made[1].Key).Parent; got != made[0].ID {
			k.Errorf("parent of the second: got %q want %q", got, made[0].ID)
		}
	}},
	{name: "get_tuple/pending_writes", promise: "Get returns the pending writes, for an id and for the newest", run: func(k *kit) {
		c := k.put("t")
		k.write(c.Key, write("task", 0, "v"))
		k.wantWrites("by id", k.get(c.Key).Writes, write("task", 0, "v"))
		k.wantWrites("newest", k.latest("t").Writes, write("task", 0, "v"))
	}},
	{name: "get_tuple/respects_namespace", promise: "a namespace has its own newest, and ids of another are not found in it", run: func(k *kit) {
		root, child := k.put("t"), k.put("t", in("child"))
		other := k.put("t", in("child2"))
		k.wantSame(k.get(checkpoint.Key{Thread: "t"}), root)
		k.wantSame(k.get(checkpoint.Key{Thread: "t", Namespace: "child"}), child)
		k.wantSame(k.get(checkpoint.Key{Thread: "t", Namespace: "child2"}), other)
		k.wantMissing(checkpoint.Key{Thread: "t", Namespace: "child", ID: root.ID})
		k.wantMissing(checkpoint.Key{Thread: "t", ID: child.ID})
	}},
	{name: "get_tuple/nonexistent_checkpoint_id", promise: "an id that does not exist is an ErrNotFound", run: func(k *kit) {
		c := k.put("t")
		k.wantMissing(checkpoint.Key{Thread: "t", ID: uuid(1 << 30)})
		k.wantMissing(checkpoint.Key{Thread: "t", ID: "none"})
		k.wantMissing(checkpoint.Key{Thread: "t", ID: c.ID + "0"})
		k.wantMissing(checkpoint.Key{Thread: "t", ID: c.ID[:len(c.ID)-1]})
	}},
}
