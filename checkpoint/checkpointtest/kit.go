package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// A kit is what a case works with: a fresh store, and short ways to say what it
// does and wants.
type kit struct {
	testing.TB
	harness Harness
	store   checkpoint.Store
	ctx     context.Context
	newest  map[checkpoint.Key]checkpoint.Checkpoint // by thread and namespace
	made    int
}

func newKit(tb testing.TB, h Harness) *kit {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	tb.Cleanup(cancel)
	return &kit{TB: tb, harness: h, store: h.Open(tb), ctx: ctx, newest: map[checkpoint.Key]checkpoint.Checkpoint{}}
}

// A mod changes a checkpoint before it is put.
type mod func(*checkpoint.Checkpoint)

func in(namespace string) mod { return func(c *checkpoint.Checkpoint) { c.Namespace = namespace } }

func named(id string) mod { return func(c *checkpoint.Checkpoint) { c.ID = id } }

func after(parent checkpoint.Checkpoint) mod {
	return func(c *checkpoint.Checkpoint) { c.Parent, c.Step = parent.ID, parent.Step+1 }
}

func from(source checkpoint.Source) mod {
	return func(c *checkpoint.Checkpoint) { c.Source = source }
}

func by(run string) mod { return func(c *checkpoint.Checkpoint) { c.Run = run } }

func with(pairs ...string) mod {
	return func(c *checkpoint.Checkpoint) { c.Changes = changes(pairs...) }
}

func whole(pairs ...string) mod {
	return func(c *checkpoint.Checkpoint) { c.Snapshot = changes(pairs...) }
}

func about(metadata map[string]string) mod {
	return func(c *checkpoint.Checkpoint) { c.Metadata = metadata }
}

func settling() mod { return func(c *checkpoint.Checkpoint) { c.Settles = true } }

// changes reads "channel=data".
func changes(pairs ...string) []checkpoint.Change {
	made := []checkpoint.Change{}
	for _, pair := range pairs {
		channel, data, _ := strings.Cut(pair, "=")
		made = append(made, checkpoint.Change{Channel: channel, Kind: 1, Data: []byte(data)})
	}
	return made
}

func spell(made []checkpoint.Change) []string {
	var pairs []string
	for _, c := range made {
		pairs = append(pairs, c.Channel+"="+string(c.Data))
	}
	return pairs
}

// uuid spells a number as the id that package graph would use.
func uuid(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// next returns a checkpoint that follows the newest of its namespace.
func (k *kit) next(thread string, mods ...mod) checkpoint.Checkpoint {
	k.made++
	c := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread, ID: uuid(k.made)},
		Source:  checkpoint.Loop,
		Run:     "run",
		Version: "v1",
		Control: []byte(`{"next":[]}`),
		Changes: changes(fmt.Sprintf("n=%d", k.made)),
	}
	for _, m := range mods {
		m(&c)
	}
	if newest, ok := k.newest[space(c.Key)]; ok && c.Parent == "" {
		after(newest)(&c)
	}
	return c
}

func space(key checkpoint.Key) checkpoint.Key {
	key.ID = ""
	return key
}

func (k *kit) head(key checkpoint.Key) string { return k.newest[space(key)].ID }

// tryPut puts a checkpoint as one who has seen the newest.
func (k *kit) tryPut(c checkpoint.Checkpoint) error {
	err := k.store.Put(k.ctx, c, k.head(c.Key))
	if err == nil {
		k.newest[space(c.Key)] = c
	}
	return err
}

// put puts the next checkpoint of a thread.
func (k *kit) put(thread string, mods ...mod) checkpoint.Checkpoint {
	k.Helper()
	c := k.next(thread, mods...)
	if err := k.tryPut(c); err != nil {
		k.Fatalf("put %q: %v", c.ID, err)
	}
	return c
}

// chain puts n checkpoints, oldest first.
func (k *kit) chain(thread string, n int, mods ...mod) []checkpoint.Checkpoint {
	k.Helper()
	var made []checkpoint.Checkpoint
	for range n {
		made = append(made, k.put(thread, mods...))
	}
	return made
}

func (k *kit) write(key checkpoint.Key, writes ...checkpoint.Write) {
	k.Helper()
	if err := k.store.PutWrites(k.ctx, key, writes); err != nil {
		k.Fatalf("put %d writes to %q: %v", len(writes), key.ID, err)
	}
}

func (k *kit) get(key checkpoint.Key) checkpoint.Checkpoint {
	k.Helper()
	c, err := k.store.Get(k.ctx, key)
	if err != nil {
		k.Fatalf("get %+v: %v", key, err)
	}
	return c
}

func (k *kit) latest(thread string) checkpoint.Checkpoint {
	k.Helper()
	return k.get(checkpoint.Key{Thread: thread})
}

func (k *kit) wantMissing(key checkpoint.Key) {
	k.Helper()
	if c, err := k.store.Get(k.ctx, key); !errors.Is(err, checkpoint.ErrNotFound) {
		k.Errorf("get %+v: got checkpoint %q, error %v want ErrNotFound", key, c.ID, err)
	}
}

func (k *kit) wantErr(what string, err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: got error %v want %v", what, err, want)
	}
}

func (k *kit) list(q checkpoint.Query) []checkpoint.Checkpoint {
	k.Helper()
	var listed []checkpoint.Checkpoint
	for c, err := range k.store.List(k.ctx, q) {
		if err != nil {
			k.Fatalf("list %+v: %v", q, err)
		}
		listed = append(listed, c)
	}
	return listed
}

// wantList wants exactly these checkpoints, in this order.
func (k *kit) wantList(q checkpoint.Query, want ...checkpoint.Checkpoint) {
	k.Helper()
	if got := ids(k.list(q)); !slices.Equal(got, ids(want)) {
		k.Errorf("list %+v: got %q want %q", q, got, ids(want))
	}
}

func ids(list []checkpoint.Checkpoint) []string {
	names := make([]string, 0, len(list))
	for _, c := range list {
		names = append(names, c.ID)
	}
	return names
}

func newestFirst(made []checkpoint.Checkpoint) []checkpoint.Checkpoint {
	reversed := slices.Clone(made)
	slices.Reverse(reversed)
	return reversed
}

// wantSame compares what was put to what came back, except for what a store
// adds.
func (k *kit) wantSame(got, want checkpoint.Checkpoint) {
	k.Helper()
	k.wantSameRecord(got, want)
	k.wantChanges(want.ID+" changes", got.Changes, want.Changes)
	k.wantChanges(want.ID+" snapshot", got.Snapshot, want.Snapshot)
	if (got.Snapshot == nil) != (want.Snapshot == nil) {
		k.Errorf("%q: snapshot: got nil %t want nil %t", want.ID, got.Snapshot == nil, want.Snapshot == nil)
	}
}

// wantSameRecord compares what List yields.
func (k *kit) wantSameRecord(got, want checkpoint.Checkpoint) {
	k.Helper()
	if got.Key != want.Key || got.Parent != want.Parent {
		k.Errorf("got %+v after %q want %+v after %q", got.Key, got.Parent, want.Key, want.Parent)
	}
	if got.Step != want.Step || got.Source != want.Source || got.Run != want.Run || got.Version != want.Version {
		k.Errorf("%q: got step %d, source %q, run %q, version %q want %d, %q, %q, %q", want.ID,
			got.Step, got.Source, got.Run, got.Version, want.Step, want.Source, want.Run, want.Version)
	}
	if !maps.Equal(got.Metadata, want.Metadata) {
		k.Errorf("%q: metadata: got %q want %q", want.ID, got.Metadata, want.Metadata)
	}
	if !bytes.Equal(got.Control, want.Control) {
		k.Errorf("%q: control: got %q want %q", want.ID, got.Control, want.Control)
	}
}

func (k *kit) wantChanges(what string, got, want []checkpoint.Change) {
	k.Helper()
	same := slices.EqualFunc(got, want, func(a, b checkpoint.Change) bool {
		return a.Channel == b.Channel && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
	})
	if !same {
		k.Errorf("%s: got %s want %s", what, brief(got), brief(want))
	}
}

func (k *kit) wantWrites(what string, got []checkpoint.Write, want ...checkpoint.Write) {
	k.Helper()
	same := slices.EqualFunc(got, want, func(a, b checkpoint.Write) bool {
		return a.Task == b.Task && a.Index == b.Index && a.Channel == b.Channel && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
	})
	if !same {
		k.Errorf("%s: got %s want %s", what, brief(got), brief(want))
	}
}

// brief keeps large values out of a test's log.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 1000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:1000], len(s))
	}
	return s
}

// wantLineage wants the deltas of exactly these checkpoints. One with a
// snapshot stands for that.
func (k *kit) wantLineage(c checkpoint.Checkpoint, want ...checkpoint.Checkpoint) {
	k.Helper()
	got := k.get(c.Key).Lineage
	if len(got) != len(want) {
		k.Errorf("lineage of %q: got %s want %q", c.ID, brief(got), ids(want))
		return
	}
	for i, d := range got {
		w := want[i]
		changes := w.Changes
		if w.Snapshot != nil {
			changes = w.Snapshot
		}
		if d.ID != w.ID || d.Source != w.Source || d.Snapshot != (w.Snapshot != nil) {
			k.Errorf("lineage of %q, delta %d: got %q, %q, snapshot %t want %q, %q, %t", c.ID, i,
				d.ID, d.Source, d.Snapshot, w.ID, w.Source, w.Snapshot != nil)
		}
		k.wantChanges(fmt.Sprintf("lineage of %q, delta %d", c.ID, i), d.Changes, changes)
	}
}

// state is what a lineage adds up to: every change since the last snapshot.
func state(lineage []checkpoint.Delta) []string {
	var built []string
	for _, d := range lineage {
		if d.Snapshot {
			built = nil
		}
		built = append(built, spell(d.Changes)...)
	}
	return built
}

// wantState wants the changes that build the state of a checkpoint.
func (k *kit) wantState(c checkpoint.Checkpoint, want ...string) {
	k.Helper()
	if got := state(k.get(c.Key).Lineage); !slices.Equal(got, want) {
		k.Errorf("state of %q: got %q want %q", c.ID, got, want)
	}
}

func write(task string, index int, data string) checkpoint.Write {
	return checkpoint.Write{Task: task, Index: index, Channel: "ch", Kind: 2, Data: []byte(data)}
}
