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

	"github.com/weft-go/weft/checkpoint"
)

// A fixture holds the new store of one case, and has the helpers that cases use to
// fill the store and to check it.
type fixture struct {
	testing.TB
	harness Harness
	store   checkpoint.Store
	ctx     context.Context
	// newest has the newest checkpoints that the case put, by thread and namespace.
	newest map[checkpoint.Key]checkpoint.Checkpoint
	made   int // the number of checkpoints made, for their ids
}

func newFixture(tb testing.TB, h Harness) *fixture {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), caseLimit)
	tb.Cleanup(cancel)
	return &fixture{TB: tb, harness: h, store: h.open(tb), ctx: ctx, newest: map[checkpoint.Key]checkpoint.Checkpoint{}}
}

// An option changes a checkpoint before the fixture puts it.
type option func(*checkpoint.Checkpoint)

func inNamespace(namespace string) option {
	return func(c *checkpoint.Checkpoint) { c.Namespace = namespace }
}

func withID(id string) option { return func(c *checkpoint.Checkpoint) { c.ID = id } }

func withParent(parent checkpoint.Checkpoint) option {
	return func(c *checkpoint.Checkpoint) { c.Parent, c.Step = parent.ID, parent.Step+1 }
}

func withSource(source checkpoint.Source) option {
	return func(c *checkpoint.Checkpoint) { c.Source = source }
}

func withRun(run string) option { return func(c *checkpoint.Checkpoint) { c.Run = run } }

func withChanges(pairs ...string) option {
	return func(c *checkpoint.Checkpoint) { c.Changes = changes(pairs...) }
}

func withSnapshot(pairs ...string) option {
	return func(c *checkpoint.Checkpoint) { c.Snapshot = changes(pairs...) }
}

func withMetadata(metadata map[string]string) option {
	return func(c *checkpoint.Checkpoint) { c.Metadata = metadata }
}

func settles() option { return func(c *checkpoint.Checkpoint) { c.Settles = true } }

// changes returns a change for each pair such as "channel=data".
func changes(pairs ...string) []checkpoint.Change {
	made := []checkpoint.Change{}
	for _, pair := range pairs {
		channel, data, _ := strings.Cut(pair, "=")
		made = append(made, checkpoint.Change{Channel: channel, Kind: 1, Data: []byte(data)})
	}
	return made
}

func pairsOf(made []checkpoint.Change) []string {
	var pairs []string
	for _, c := range made {
		pairs = append(pairs, c.Channel+"="+string(c.Data))
	}
	return pairs
}

// uuid returns an id in the format of package graph.
func uuid(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// next returns a checkpoint that follows the newest one of its namespace, unless an
// option sets another parent.
func (f *fixture) next(thread string, options ...option) checkpoint.Checkpoint {
	f.made++
	c := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread, ID: uuid(f.made)},
		Source:  checkpoint.Loop,
		Run:     "run",
		Version: "v1",
		Control: []byte(`{"next":[]}`),
		Changes: changes(fmt.Sprintf("n=%d", f.made)),
	}
	for _, set := range options {
		set(&c)
	}
	if newest, ok := f.newest[namespaceOf(c.Key)]; ok && c.Parent == "" {
		withParent(newest)(&c)
	}
	return c
}

func namespaceOf(key checkpoint.Key) checkpoint.Key {
	key.ID = ""
	return key
}

// head returns the id of the newest checkpoint in the namespace of a key, or the empty
// string if there is none.
func (f *fixture) head(key checkpoint.Key) string { return f.newest[namespaceOf(key)].ID }

// tryPut puts a checkpoint with the current head.
func (f *fixture) tryPut(c checkpoint.Checkpoint) error {
	err := f.store.Put(f.ctx, c, f.head(c.Key))
	if err == nil {
		f.newest[namespaceOf(c.Key)] = c
	}
	return err
}

// put puts the next checkpoint of a thread and returns it.
func (f *fixture) put(thread string, options ...option) checkpoint.Checkpoint {
	f.Helper()
	c := f.next(thread, options...)
	if err := f.tryPut(c); err != nil {
		f.Fatalf("put %q: %v", c.ID, err)
	}
	return c
}

// chain puts n checkpoints, each with the one before as its parent, and returns
// them, oldest first.
func (f *fixture) chain(thread string, n int, options ...option) []checkpoint.Checkpoint {
	f.Helper()
	var made []checkpoint.Checkpoint
	for range n {
		made = append(made, f.put(thread, options...))
	}
	return made
}

func (f *fixture) write(key checkpoint.Key, writes ...checkpoint.Write) {
	f.Helper()
	if err := f.store.PutWrites(f.ctx, key, writes); err != nil {
		f.Fatalf("put %d writes to %q: %v", len(writes), key.ID, err)
	}
}

func (f *fixture) get(key checkpoint.Key) checkpoint.Checkpoint {
	f.Helper()
	c, err := f.store.Get(f.ctx, key)
	if err != nil {
		f.Fatalf("get %+v: %v", key, err)
	}
	return c
}

func (f *fixture) latest(thread string) checkpoint.Checkpoint {
	f.Helper()
	return f.get(checkpoint.Key{Thread: thread})
}

func (f *fixture) wantMissing(key checkpoint.Key) {
	f.Helper()
	if c, err := f.store.Get(f.ctx, key); !errors.Is(err, checkpoint.ErrNotFound) {
		f.Errorf("get %+v: got checkpoint %q, error %v want ErrNotFound", key, c.ID, err)
	}
}

func (f *fixture) wantErr(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: got error %v want %v", what, err, want)
	}
}

func (f *fixture) list(q checkpoint.Query) []checkpoint.Checkpoint {
	f.Helper()
	var listed []checkpoint.Checkpoint
	for c, err := range f.store.List(f.ctx, q) {
		if err != nil {
			f.Fatalf("list %+v: %v", q, err)
		}
		if listed = append(listed, c); len(listed) > maxListed {
			f.Fatalf("list %+v: got more than %d checkpoints", q, maxListed)
		}
	}
	return listed
}

// maxListed is more than the number of checkpoints of any case.
const maxListed = 10_000

// first returns the first checkpoint that List yields. It fails the case if there is none.
func (f *fixture) first(q checkpoint.Query) checkpoint.Checkpoint {
	f.Helper()
	listed := f.list(q)
	if len(listed) == 0 {
		f.Fatalf("list %+v: got no checkpoints", q)
	}
	return listed[0]
}

// wantList fails unless List yields exactly these checkpoints in this order.
func (f *fixture) wantList(q checkpoint.Query, want ...checkpoint.Checkpoint) {
	f.Helper()
	if got := ids(f.list(q)); !slices.Equal(got, ids(want)) {
		f.Errorf("list %+v: got %q want %q", q, got, ids(want))
	}
}

func ids(list []checkpoint.Checkpoint) []string {
	names := make([]string, 0, len(list))
	for _, c := range list {
		names = append(names, c.ID)
	}
	return names
}

func reversed(made []checkpoint.Checkpoint) []checkpoint.Checkpoint {
	reversed := slices.Clone(made)
	slices.Reverse(reversed)
	return reversed
}

// wantSame fails unless Get returned the fields that were put. It ignores the
// fields that the store sets.
func (f *fixture) wantSame(got, want checkpoint.Checkpoint) {
	f.Helper()
	f.wantSameRecord(got, want)
	f.wantChanges(want.ID+" changes", got.Changes, want.Changes)
	f.wantChanges(want.ID+" snapshot", got.Snapshot, want.Snapshot)
	if (got.Snapshot == nil) != (want.Snapshot == nil) {
		f.Errorf("%q: snapshot: got nil %t want nil %t", want.ID, got.Snapshot == nil, want.Snapshot == nil)
	}
}

// wantSameRecord compares the fields that List yields.
func (f *fixture) wantSameRecord(got, want checkpoint.Checkpoint) {
	f.Helper()
	if got.Key != want.Key || got.Parent != want.Parent {
		f.Errorf("got %+v after %q want %+v after %q", got.Key, got.Parent, want.Key, want.Parent)
	}
	if got.Step != want.Step || got.Source != want.Source || got.Run != want.Run || got.Version != want.Version {
		f.Errorf("%q: got step %d, source %q, run %q, version %q want %d, %q, %q, %q", want.ID,
			got.Step, got.Source, got.Run, got.Version, want.Step, want.Source, want.Run, want.Version)
	}
	if !maps.Equal(got.Metadata, want.Metadata) {
		f.Errorf("%q: metadata: got %q want %q", want.ID, got.Metadata, want.Metadata)
	}
	if !bytes.Equal(got.Control, want.Control) {
		f.Errorf("%q: control: got %q want %q", want.ID, got.Control, want.Control)
	}
}

func (f *fixture) wantChanges(what string, got, want []checkpoint.Change) {
	f.Helper()
	same := slices.EqualFunc(got, want, func(a, b checkpoint.Change) bool {
		return a.Channel == b.Channel && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
	})
	if !same {
		f.Errorf("%s: got %s want %s", what, brief(got), brief(want))
	}
}

func (f *fixture) wantWrites(what string, got []checkpoint.Write, want ...checkpoint.Write) {
	f.Helper()
	same := slices.EqualFunc(got, want, func(a, b checkpoint.Write) bool {
		return a.Task == b.Task && a.Index == b.Index && a.Channel == b.Channel && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
	})
	if !same {
		f.Errorf("%s: got %s want %s", what, brief(got), brief(want))
	}
}

// brief formats a value and cuts off long text.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 1000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:1000], len(s))
	}
	return s
}

// wantLineage fails unless the lineage of c consists of the deltas of exactly these
// checkpoints. The delta of a checkpoint with a snapshot holds the snapshot.
func (f *fixture) wantLineage(c checkpoint.Checkpoint, want ...checkpoint.Checkpoint) {
	f.Helper()
	got := f.get(c.Key).Lineage
	if len(got) != len(want) {
		f.Errorf("lineage of %q: got %s want %q", c.ID, brief(got), ids(want))
		return
	}
	for i, d := range got {
		w := want[i]
		changes := w.Changes
		if w.Snapshot != nil {
			changes = w.Snapshot
		}
		if d.ID != w.ID || d.Source != w.Source || d.Snapshot != (w.Snapshot != nil) {
			f.Errorf("lineage of %q, delta %d: got %q, %q, snapshot %t want %q, %q, %t", c.ID, i,
				d.ID, d.Source, d.Snapshot, w.ID, w.Source, w.Snapshot != nil)
		}
		f.wantChanges(fmt.Sprintf("lineage of %q, delta %d", c.ID, i), d.Changes, changes)
	}
}

// state returns the changes of a lineage as texts "channel=data". It begins with the last
// snapshot of the lineage.
func state(lineage []checkpoint.Delta) []string {
	var built []string
	for _, d := range lineage {
		if d.Snapshot {
			built = nil
		}
		built = append(built, pairsOf(d.Changes)...)
	}
	return built
}

// wantState fails unless the state of c consists of exactly these changes.
func (f *fixture) wantState(c checkpoint.Checkpoint, want ...string) {
	f.Helper()
	if got := state(f.get(c.Key).Lineage); !slices.Equal(got, want) {
		f.Errorf("state of %q: got %q want %q", c.ID, got, want)
	}
}

func write(task string, index int, data string) checkpoint.Write {
	return checkpoint.Write{Task: task, Index: index, Channel: "ch", Kind: 2, Data: []byte(data)}
}
