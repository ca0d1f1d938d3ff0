package checkpointtest

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

var putCases = []testCase{
	{name: "put/returns_config", promise: "Get finds a checkpoint by the key of its Put", run: func(f *fixture) {
		c := f.put("t", inNamespace("ns"), withID("id"))
		if got := f.get(checkpoint.Key{Thread: "t", Namespace: "ns", ID: "id"}); got.Key != c.Key {
			f.Errorf("key: got %+v want %+v", got.Key, c.Key)
		}
	}},
	{name: "put/roundtrip", promise: "Get returns every field as it was put", run: func(f *fixture) {
		first := f.put("t", withSource(checkpoint.Input))
		c := f.next("t", withChanges("a=1", "b=", "a=2"), withSnapshot("a=3"), withMetadata(map[string]string{"k": "v", "": "empty", "e": ""}))
		c.Step, c.Source, c.Run, c.Version = 1<<40, checkpoint.Edited, "other run", "v2"
		c.Changes[1].Kind, c.Control = 255, []byte("\x00\xff")
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		f.wantSame(f.get(c.Key), c)
		f.wantSame(f.get(first.Key), first)
	}},
	{name: "put/preserves_channel_values", promise: "a store returns data byte for byte", run: func(f *fixture) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		c := f.put("t", withChanges(`s="hello"`, "i=42", "l=[1,2,3]", `d={"nested":{"k":"v"}}`, "empty=", "long="+strings.Repeat("x", 20_000), "bytes="+string(all)))
		f.wantSame(f.get(c.Key), c)
	}},
	{name: "put/preserves_channel_versions", promise: "the changes of a step keep their order, including several changes of one channel", run: func(f *fixture) {
		c := f.put("t", withChanges("b=1", "a=1", "b=2", "c=1", "b=3"))
		f.wantSame(f.get(c.Key), c)
	}},
	{name: "put/preserves_versions_seen", promise: "a store returns Control unchanged", run: func(f *fixture) {
		c := f.next("t")
		c.Control = []byte(`{"seen":{"node":{"a":3}}}`)
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		f.wantSame(f.get(c.Key), c)
	}},
	{name: "put/preserves_metadata", promise: "a store returns metadata, source and step unchanged", run: func(f *fixture) {
		c := f.next("t", withSource(checkpoint.Input), withMetadata(map[string]string{"custom": "value", "user": "Ünï"}))
		c.Step = -1
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		f.wantSame(f.get(c.Key), c)
		plain := f.put("t")
		f.wantSame(f.get(plain.Key), plain)
	}},
	{name: "put/root_namespace", promise: "the empty namespace behaves like any other", run: func(f *fixture) {
		c := f.put("t", inNamespace(""))
		f.wantSame(f.get(checkpoint.Key{Thread: "t", Namespace: "", ID: c.ID}), c)
	}},
	{name: "put/child_namespace", promise: "a store returns the namespace of a subgraph unchanged", run: func(f *fixture) {
		c := f.put("t", inNamespace("child:abc|inner:1"))
		f.wantSame(f.get(c.Key), c)
		f.wantMissing(checkpoint.Key{Thread: "t"})
	}},
	{name: "put/default_namespace", promise: "a key without a namespace means the empty namespace", run: func(f *fixture) {
		c := f.put("t")
		f.put("t", inNamespace("child"))
		f.wantSame(f.get(checkpoint.Key{Thread: "t"}), c)
	}},
	{name: "put/multiple_checkpoints_same_thread", promise: "every checkpoint of a thread can be read", run: func(f *fixture) {
		made := f.chain("t", 5)
		for _, c := range made {
			f.wantSame(f.get(c.Key), c)
		}
	}},
	{name: "put/multiple_threads_isolated", promise: "threads are independent, even if their checkpoints have the same ids", run: func(f *fixture) {
		a := f.put("a", withID("1"), withChanges("ch=a"))
		b := f.put("b", withID("1"), withChanges("ch=b"))
		f.wantSame(f.get(a.Key), a)
		f.wantSame(f.get(b.Key), b)
		f.wantMissing(checkpoint.Key{Thread: "c"})
	}},
	{name: "put/parent_config", promise: "a store returns the parent unchanged", run: func(f *fixture) {
		made := f.chain("t", 3)
		for i, c := range made {
			want := ""
			if i > 0 {
				want = made[i-1].ID
			}
			if got := f.get(c.Key).Parent; got != want {
				f.Errorf("parent of %q: got %q want %q", c.ID, got, want)
			}
		}
	}},
	{name: "put/incremental_channel_update", promise: "a checkpoint stores only its own changes, its lineage adds those of its ancestors, and later checkpoints do not alter earlier states", run: func(f *fixture) {
		first := f.put("t", withChanges("a=1", "b=1"))
		second := f.put("t", withChanges("a=2"))
		f.wantState(second, "a=1", "b=1", "a=2")
		f.wantState(first, "a=1", "b=1")
	}},
	{name: "put/new_channel_added", promise: "a later step may add a channel", run: func(f *fixture) {
		first := f.put("t", withChanges("a=1"))
		second := f.put("t", withChanges("new=1"))
		f.wantState(second, "a=1", "new=1")
		f.wantState(first, "a=1")
	}},
	{name: "put/channel_removed", promise: "a channel that a snapshot omits is absent from the snapshot on", run: func(f *fixture) {
		first := f.put("t", withChanges("a=1", "b=1"))
		second := f.put("t", withChanges("b="), withSnapshot("a=1"))
		third := f.put("t", withChanges("a=2"))
		f.wantState(first, "a=1", "b=1")
		f.wantState(second, "a=1")
		f.wantState(third, "a=1", "a=2")
	}},
	{name: "put/preserves_run_id", promise: "each checkpoint has its own run", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for _, run := range []string{"r1", "r1", "r2", "", "r1", uuid(7)} {
			made = append(made, f.put("t", withRun(run)))
		}
		for _, c := range made {
			f.wantSame(f.get(c.Key), c)
		}
	}},
	{name: "put/preserves_versions_seen_values", promise: "each checkpoint has its own Control, Version and Metadata", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for i := range 40 {
			c := f.next("t", withMetadata(map[string]string{"i": fmt.Sprint(i / 3)}))
			c.Control, c.Version = fmt.Appendf(nil, `{"i":%d}`, i/2), fmt.Sprint("v", i/5)
			if i%7 == 0 {
				c.Control, c.Metadata = nil, nil
			}
			if err := f.tryPut(c); err != nil {
				f.Fatal(err)
			}
			made = append(made, c)
		}
		for _, c := range made {
			f.wantSame(f.get(c.Key), c)
		}
	}},
	{name: "put/custom_source", promise: "a store accepts a source that package checkpoint does not define", run: func(f *fixture) {
		c := f.put("t", withSource("import"))
		f.wantSame(f.get(c.Key), c)
		f.wantList(checkpoint.Query{Thread: "t", Source: "import"}, c)
	}},
	{name: "put/no_changes", promise: "a step without changes is stored like any other", run: func(f *fixture) {
		first := f.put("t", withChanges("a=1"))
		second := f.next("t")
		second.Changes, second.Control = nil, nil
		if err := f.tryPut(second); err != nil {
			f.Fatal(err)
		}
		f.wantSame(f.get(second.Key), second)
		f.wantLineage(second, first, second)
	}},
	{name: "put/time", promise: "Time is the time at which the store accepted the checkpoint, it never decreases, and Put ignores the Time that it is given", run: putTime},
	{name: "put/owns_nothing", promise: "a store keeps no reference to its arguments, and a caller may modify what a store returns", run: putOwnsNothing},
}

func putTime(f *fixture) {
	var made []checkpoint.Checkpoint
	for range 20 {
		c := f.next("t")
		c.Time = c.Time.AddDate(3000, 0, 0)
		if err := f.tryPut(c); err != nil {
			f.Fatal(err)
		}
		made = append(made, c)
	}
	before := f.get(made[0].Key).Time
	if before.IsZero() || before.Year() > 2900 {
		f.Errorf("time: got %v", before)
	}
	for _, c := range made[1:] {
		got := f.get(c.Key).Time
		if got.Before(before) {
			f.Errorf("time of %q: got %v, before %v", c.ID, got, before)
		}
		before = got
	}
}

func putOwnsNothing(f *fixture) {
	given := f.next("t", withChanges("a=1"), withSnapshot("a=1"), withMetadata(map[string]string{"k": "v"}))
	if err := f.tryPut(given); err != nil {
		f.Fatal(err)
	}
	writes := []checkpoint.Write{write("task", 0, "data")}
	f.write(given.Key, writes...)
	overwrite(&given)
	writes[0].Data[0] = 'X'

	want := f.next("t", withID(given.ID), withChanges("a=1"), withSnapshot("a=1"), withMetadata(map[string]string{"k": "v"}))
	want.Parent, want.Step = "", given.Step
	for range 2 {
		got := f.get(given.Key)
		f.wantSame(got, want)
		f.wantWrites("writes", got.Writes, write("task", 0, "data"))
		f.wantLineage(got, want)
		overwrite(&got)
		for i := range got.Writes {
			got.Writes[i].Data[0] = 'X'
			got.Writes[i].Channel = "X"
		}
		for _, d := range got.Lineage {
			for _, change := range d.Changes {
				change.Data[0] = 'Y'
			}
		}
		listed := f.first(checkpoint.Query{Thread: "t", Writes: true})
		f.wantSameRecord(listed, want)
		overwrite(&listed)
		for _, w := range listed.Writes { // case list/includes_pending_writes checks that there are some
			w.Data[0] = 'X'
		}
	}
}

// overwrite modifies everything that a checkpoint points to.
func overwrite(c *checkpoint.Checkpoint) {
	if len(c.Control) > 0 {
		c.Control[0] = 'X'
	}
	if c.Metadata != nil {
		c.Metadata["k"] = "X"
	}
	for _, changes := range [][]checkpoint.Change{c.Changes, c.Snapshot} {
		for i := range changes {
			changes[i].Data[0] = 'X'
			changes[i].Channel = "X"
		}
	}
}
