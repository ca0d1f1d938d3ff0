package checkpointtest

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

var putCases = []testCase{
	{name: "put/returns_config", promise: "a checkpoint is found by the key it was put with", run: func(k *kit) {
		c := k.put("t", in("ns"), named("id"))
		if got := k.get(checkpoint.Key{Thread: "t", Namespace: "ns", ID: "id"}); got.Key != c.Key {
			k.Errorf("key: got %+v want %+v", got.Key, c.Key)
		}
	}},
	{name: "put/roundtrip", promise: "every field comes back as it was put", run: func(k *kit) {
		first := k.put("t", from(checkpoint.Input))
		c := k.next("t", with("a=1", "b=", "a=2"), whole("a=3"), about(map[string]string{"k": "v", "": "empty", "e": ""}))
		c.Step, c.Source, c.Run, c.Version = 1<<40, checkpoint.Edited, "other run", "v2"
		c.Changes[1].Kind, c.Control = 255, []byte("\x00\xff")
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		k.wantSame(k.get(c.Key), c)
		k.wantSame(k.get(first.Key), first)
	}},
	{name: "put/preserves_channel_values", promise: "data is kept byte for byte, whatever it holds", run: func(k *kit) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		c := k.put("t", with(`s="hello"`, "i=42", "l=[1,2,3]", `d={"nested":{"k":"v"}}`, "empty=", "long="+strings.Repeat("x", 20_000), "bytes="+string(all)))
		k.wantSame(k.get(c.Key), c)
	}},
	{name: "put/preserves_channel_versions", promise: "the changes of a step keep their order, also those of one channel", run: func(k *kit) {
		c := k.put("t", with("b=1", "a=1", "b=2", "c=1", "b=3"))
		k.wantSame(k.get(c.Key), c)
	}},
	{name: "put/preserves_versions_seen", promise: "Control, which says how far each node has come, is kept as it is", run: func(k *kit) {
		c := k.next("t")
		c.Control = []byte(`{"seen":{"node":{"a":3}}}`)
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		k.wantSame(k.get(c.Key), c)
	}},
	{name: "put/preserves_metadata", promise: "metadata, source and step are kept", run: func(k *kit) {
		c := k.next("t", from(checkpoint.Input), about(map[string]string{"custom": "value", "user": "Ünï"}))
		c.Step = -1
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		k.wantSame(k.get(c.Key), c)
		plain := k.put("t")
		k.wantSame(k.get(plain.Key), plain)
	}},
	{name: "put/root_namespace", promise: "the empty namespace is one like any other", run: func(k *kit) {
		c := k.put("t", in(""))
		k.wantSame(k.get(checkpoint.Key{Thread: "t", Namespace: "", ID: c.ID}), c)
	}},
	{name: "put/child_namespace", promise: "a subgraph's namespace is kept", run: func(k *kit) {
		c := k.put("t", in("child:abc|inner:1"))
		k.wantSame(k.get(c.Key), c)
		k.wantMissing(checkpoint.Key{Thread: "t"})
	}},
	{name: "put/default_namespace", promise: "a key without a namespace means the empty one", run: func(k *kit) {
		c := k.put("t")
		k.put("t", in("child"))
		k.wantSame(k.get(checkpoint.Key{Thread: "t"}), c)
	}},
	{name: "put/multiple_checkpoints_same_thread", promise: "every checkpoint of a thread can be read", run: func(k *kit) {
		made := k.chain("t", 5)
		for _, c := range made {
			k.wantSame(k.get(c.Key), c)
		}
	}},
	{name: "put/multiple_threads_isolated", promise: "threads share nothing, not even when their checkpoints have the same ids", run: func(k *kit) {
		a := k.put("a", named("1"), with("ch=a"))
		b := k.put("b", named("1"), with("ch=b"))
		k.wantSame(k.get(a.Key), a)
		k.wantSame(k.get(b.Key), b)
		k.wantMissing(checkpoint.Key{Thread: "c"})
	}},
	{name: "put/parent_config", promise: "the parent is kept", run: func(k *kit) {
		made := k.chain("t", 3)
		for i, c := range made {
			want := ""
			if i > 0 {
				want = made[i-1].ID
			}
			if got := k.get(c.Key).Parent; got != want {
				k.Errorf("parent of %q: got %q want %q", c.ID, got, want)
			}
		}
	}},
	{name: "put/incremental_channel_update", promise: "a step stores what it changed; the rest comes from its ancestors, and older states stay as they were", run: func(k *kit) {
		first := k.put("t", with("a=1", "b=1"))
		second := k.put("t", with("a=2"))
		k.wantState(second, "a=1", "b=1", "a=2")
		k.wantState(first, "a=1", "b=1")
	}},
	{name: "put/new_channel_added", promise: "a later step may bring a new channel", run: func(k *kit) {
		first := k.put("t", with("a=1"))
		second := k.put("t", with("new=1"))
		k.wantState(second, "a=1", "new=1")
		k.wantState(first, "a=1")
	}},
	{name: "put/channel_removed", promise: "a channel that a snapshot leaves out is gone from there on", run: func(k *kit) {
		first := k.put("t", with("a=1", "b=1"))
		second := k.put("t", with("b="), whole("a=1"))
		third := k.put("t", with("a=2"))
		k.wantState(first, "a=1", "b=1")
		k.wantState(second, "a=1")
		k.wantState(third, "a=1", "a=2")
	}},
	{name: "put/preserves_run_id", promise: "the run is kept, each checkpoint's own", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for _, run := range []string{"r1", "r1", "r2", "", "r1", uuid(7)} {
			made = append(made, k.put("t", by(run)))
		}
		for _, c := range made {
			k.wantSame(k.get(c.Key), c)
		}
	}},
	{name: "put/preserves_versions_seen_values", promise: "each checkpoint has its own Control, Version and Metadata", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for i := range 40 {
			c := k.next("t", about(map[string]string{"i": fmt.Sprint(i / 3)}))
			c.Control, c.Version = fmt.Appendf(nil, `{"i":%d}`, i/2), fmt.Sprint("v", i/5)
			if i%7 == 0 {
				c.Control, c.Metadata = nil, nil
			}
			if err := k.tryPut(c); err != nil {
				k.Fatal(err)
			}
			made = append(made, c)
		}
		for _, c := range made {
			k.wantSame(k.get(c.Key), c)
		}
	}},
	{name: "put/custom_source", promise: "a source that is not one of the package's is kept", run: func(k *kit) {
		c := k.put("t", from("import"))
		k.wantSame(k.get(c.Key), c)
		k.wantList(checkpoint.Query{Thread: "t", Source: "import"}, c)
	}},
	{name: "put/no_changes", promise: "a step that changed nothing is a step", run: func(k *kit) {
		first := k.put("t", with("a=1"))
		second := k.next("t")
		second.Changes, second.Control = nil, nil
		if err := k.tryPut(second); err != nil {
			k.Fatal(err)
		}
		k.wantSame(k.get(second.Key), second)
		k.wantLineage(second, first, second)
	}},
	{name: "put/time", promise: "Time is when the store accepted a checkpoint, in order, and what Put is given does not matter", run: putTime},
	{name: "put/owns_nothing", promise: "a store does not keep what it is given, and what it returns can be changed", run: putOwnsNothing},
}

func putTime(k *kit) {
	var made []checkpoint.Checkpoint
	for range 20 {
		c := k.next("t")
		c.Time = c.Time.AddDate(3000, 0, 0)
		if err := k.tryPut(c); err != nil {
			k.Fatal(err)
		}
		made = append(made, c)
	}
	before := k.get(made[0].Key).Time
	if before.IsZero() || before.Year() > 2900 {
		k.Errorf("time: got %v", before)
	}
	for _, c := range made[1:] {
		got := k.get(c.Key).Time
		if got.Before(before) {
			k.Errorf("time of %q: got %v, before %v", c.ID, got, before)
		}
		before = got
	}
}

func putOwnsNothing(k *kit) {
	given := k.next("t", with("a=1"), whole("a=1"), about(map[string]string{"k": "v"}))
	if err := k.tryPut(given); err != nil {
		k.Fatal(err)
	}
	writes := []checkpoint.Write{write("task", 0, "data")}
	k.write(given.Key, writes...)
	spoil(&given)
	writes[0].Data[0] = 'X'

	want := k.next("t", named(given.ID), with("a=1"), whole("a=1"), about(map[string]string{"k": "v"}))
	want.Parent, want.Step = "", given.Step
	for range 2 {
		got := k.get(given.Key)
		k.wantSame(got, want)
		k.wantWrites("writes", got.Writes, write("task", 0, "data"))
		k.wantLineage(got, want)
		spoil(&got)
		for i := range got.Writes {
			got.Writes[i].Data[0] = 'X'
			got.Writes[i].Channel = "X"
		}
		for i := range got.Lineage {
			got.Lineage[i].Changes[0].Data[0] = 'Y'
		}
		listed := k.list(checkpoint.Query{Thread: "t", Writes: true})[0]
		k.wantSameRecord(listed, want)
		spoil(&listed)
		listed.Writes[0].Data[0] = 'X'
	}
}

// spoil overwrites what a checkpoint points to.
func spoil(c *checkpoint.Checkpoint) {
	c.Control[0] = 'X'
	c.Metadata["k"] = "X"
	for _, changes := range [][]checkpoint.Change{c.Changes, c.Snapshot} {
		for i := range changes {
			changes[i].Data[0] = 'X'
			changes[i].Channel = "X"
		}
	}
}
