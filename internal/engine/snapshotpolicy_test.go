package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

var (
	visits = state.Append[string]("visits")
	scores = state.Map[string, string]("scores")
)

// change returns a stored change with n bytes of data.
func change(channel string, k statecore.Kind, n int) checkpoint.Change {
	return checkpoint.Change{Channel: channel, Kind: uint8(k), Data: make([]byte, n)}
}

func TestSnapshotIsTriedWhenReplayReadsTwiceTheState(t *testing.T) {
	t.Parallel()
	set := func(n int) checkpoint.Change {
		return checkpoint.Change{Channel: "last", Kind: uint8(statecore.KindSet), Data: make([]byte, n)}
	}
	add := func(n int) checkpoint.Change {
		return checkpoint.Change{Channel: "list", Kind: uint8(statecore.KindAppend), Data: make([]byte, n)}
	}
	emptied := checkpoint.Change{Channel: "list", Kind: uint8(statecore.KindClear)}
	for name, c := range map[string]struct {
		rows    int
		changes []checkpoint.Change
		want    bool
	}{
		"a value that is replaced":            {64, []checkpoint.Change{set(1024)}, true},
		"too few checkpoints":                 {63, []checkpoint.Change{set(1024)}, false},
		"too few bytes":                       {64, []checkpoint.Change{set(128)}, false},
		"a list that only grows":              {1000, []checkpoint.Change{add(1024)}, false},
		"a list beside a value of equal size": {1000, []checkpoint.Change{add(512), set(520)}, true},
		"a list that is emptied":              {64, []checkpoint.Change{add(1024), emptied}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s snapshotPolicy
			for range c.rows {
				s.add(c.changes)
			}
			assert.Equal(t, c.want, s.worthTrying())
			s.reset()
			assert.False(t, s.worthTrying(), "after a snapshot")
		})
	}
}

// TestSnapshotPolicyCounts proves, for each kind of change, its effect on the number of bytes
// to replay and on the lower bound of the size of a snapshot.
func TestSnapshotPolicyCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes      []checkpoint.Change
		bytes, least int
	}{
		"nothing": {nil, 0, 0},
		"the last of several values": {
			[]checkpoint.Change{change("x", statecore.KindSet, 30), change("x", statecore.KindSet, 10)}, 40, 10,
		},
		"all appended elements": {
			[]checkpoint.Change{change("x", statecore.KindAppend, 30), change("x", statecore.KindAppend, 10)}, 40, 40,
		},
		"elements after a value": {
			[]checkpoint.Change{change("x", statecore.KindSet, 30), change("x", statecore.KindAppend, 10)}, 40, 40,
		},
		"a cleared channel": {
			[]checkpoint.Change{change("x", statecore.KindAppend, 30), change("x", statecore.KindClear, 0)}, 30, 0,
		},
		"nothing of a channel with removed elements": {
			[]checkpoint.Change{change("x", statecore.KindAppend, 30), change("x", statecore.KindRemove, 10)}, 40, 0,
		},
		"nothing of changes that may replace each other": {
			[]checkpoint.Change{
				change("x", statecore.KindPut, 1), change("x", statecore.KindMerge, 2),
				change("x", statecore.KindUpdate, 4), change("x", statecore.KindOverwrite, 8),
			}, 15, 0,
		},
		"each channel by itself": {
			[]checkpoint.Change{
				change("x", statecore.KindSet, 10), change("y", statecore.KindAppend, 20),
				change("x", statecore.KindClear, 0), change("y", statecore.KindAppend, 5), change("z", statecore.KindSet, 7),
			}, 42, 32,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s snapshotPolicy
			s.add(c.changes)
			least := 0
			for _, size := range s.minSizes {
				least += size.bytes
			}
			assert.Equal(t, c.bytes, s.bytes)
			assert.Equal(t, c.least, least)
			assert.Equal(t, 1, s.rows, "a checkpoint")
		})
	}
}

// TestSnapshotIsTriedAtTheLimits proves that a snapshot is tried if there are enough
// checkpoints and bytes, and its lower bound is at most half of the bytes.
func TestSnapshotIsTriedAtTheLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy snapshotPolicy
		want   bool
	}{
		"as many rows and bytes as needed": {snapshotPolicy{rows: 64, bytes: 16384}, true},
		"one row less":                     {snapshotPolicy{rows: 63, bytes: 16384}, false},
		"one byte less":                    {snapshotPolicy{rows: 64, bytes: 16383}, false},
		"as many bytes as waited for":      {snapshotPolicy{rows: 64, bytes: 20000, wait: 20000}, true},
		"fewer bytes than waited for":      {snapshotPolicy{rows: 64, bytes: 19999, wait: 20000}, false},
		"half of the bytes are state":      {snapshotPolicy{rows: 64, bytes: 20000, minSizes: []channelSize{{"x", 4000}, {"y", 6000}}}, true},
		"more than half":                   {snapshotPolicy{rows: 64, bytes: 20000, minSizes: []channelSize{{"x", 4001}, {"y", 6000}}}, false},
	} {
		assert.Equal(t, c.want, c.policy.worthTrying(), name)
	}
}

// A snapshotRun makes the checkpoints of a run without storing them, with the snapshots that
// the policy adds. It counts the bytes of both.
type snapshotRun struct {
	*run
	t                 testing.TB
	changed, snapshot int // the bytes of all changes, and the bytes of all snapshots
	lineage           []checkpoint.Delta
}

func newSnapshotRun(t testing.TB) *snapshotRun {
	t.Helper()
	schema, err := statecore.NewSchema[state.Handle](topic, visits, scores)
	require.NoError(t, err)
	p := &Plan{Schema: schema, Start: &Node{Name: Start}}
	p.Link()
	return &snapshotRun{run: &run{scope: scope{session: &session{log: &runLog{}}, plan: p, view: p.Empty()}}, t: t}
}

// step stores a checkpoint with these writes.
func (r *snapshotRun) step(source checkpoint.Source, writes ...state.Write) *checkpoint.Checkpoint {
	r.t.Helper()
	tx := r.plan.Schema.Begin(r.view)
	require.NoError(r.t, statecore.Apply(tx, 0, writes))
	view, err := tx.Finish(true)
	require.NoError(r.t, err)
	r.view = view
	c := &checkpoint.Checkpoint{Source: source}
	c.Changes, err = appendChanges(nil, tx)
	require.NoError(r.t, err)
	require.NoError(r.t, r.addSnapshot(c, view))
	r.changed += bytesOf(c.Changes)
	r.snapshot += bytesOf(c.Snapshot)
	d := checkpoint.Delta{Changes: c.Changes}
	if c.Snapshot != nil {
		d, r.lineage = checkpoint.Delta{Changes: c.Snapshot, Snapshot: true}, nil
	}
	r.lineage = append(r.lineage, d)
	return c
}

func bytesOf(changes []checkpoint.Change) (n int) {
	for _, c := range changes {
		n += len(c.Data)
	}
	return n
}

// text returns a string whose JSON has n bytes.
func text(n int) string { return strings.Repeat("x", n-2) }

func TestSnapshotIsStoredAndCountingRestarts(t *testing.T) {
	t.Parallel()
	r := newSnapshotRun(t)
	r.step(checkpoint.Loop, visits.Put("first"))
	for i := 1; i < 63; i++ {
		require.Nil(t, r.step(checkpoint.Loop, topic.Put(text(1000))).Snapshot, "checkpoint %d", i+1)
	}
	c := r.step(checkpoint.Loop, topic.Put(text(1000)))
	require.ElementsMatch(t, []checkpoint.Change{
		{Channel: "topic", Kind: uint8(statecore.KindSet), Data: []byte(`"` + text(1000) + `"`)},
		{Channel: "visits", Kind: uint8(statecore.KindSet), Data: []byte(`["first"]`)},
	}, c.Snapshot, "the whole state")
	require.NotEmpty(t, c.Changes, "beside the changes")
	assert.Equal(t, 1, r.snapshots.rows)
	assert.Equal(t, 1009, r.snapshots.bytes)
	for i := range 62 {
		require.Nil(t, r.step(checkpoint.Loop, topic.Put(text(1000))).Snapshot, "checkpoint %d after the snapshot", i+1)
	}
	assert.NotNil(t, r.step(checkpoint.Loop, topic.Put(text(1000))).Snapshot, "the snapshot counts as a checkpoint")
}

func TestSnapshotOfEmptyStateIsStored(t *testing.T) {
	t.Parallel()
	r := newSnapshotRun(t)
	r.snapshots = snapshotPolicy{rows: 100, bytes: 20000}
	c := r.step(checkpoint.Loop)
	require.NotNil(t, c.Snapshot, "nil would mean that there is none")
	assert.Empty(t, c.Snapshot)
}

// TestSnapshotThatIsTooBigIsTriedAgainLater proves that a snapshot that was too big is not
// tried again before the changes have twice as many bytes.
func TestSnapshotThatIsTooBigIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	r := newSnapshotRun(t)
	entry := func(i int) state.Write {
		return scores.Put(map[string]string{fmt.Sprintf("%06d", i): text(300)})
	}
	for i := range 64 { // the policy does not count map entries in the lower bound
		require.Nil(t, r.step(checkpoint.Loop, entry(i)).Snapshot)
	}
	wait := r.snapshots.wait
	require.Equal(t, 2*r.snapshots.bytes, wait, "the state has about the bytes of the changes")
	r.step(checkpoint.Loop, scores.Overwrite(nil))
	for r.snapshots.bytes < wait-400 {
		c := r.step(checkpoint.Loop, entry(0))
		require.Nil(t, c.Snapshot)
		require.Equal(t, wait, r.snapshots.wait)
	}
	stored := false
	for range 3 {
		stored = stored || r.step(checkpoint.Loop, entry(0)).Snapshot != nil
	}
	assert.True(t, stored, "there are twice the bytes, and the state is small")
	assert.Zero(t, r.snapshots.wait)
}

// TestSnapshotMayHaveHalfOfTheBytes proves that a snapshot with exactly half of the bytes of
// the changes is stored, and that a snapshot with one byte more is not.
func TestSnapshotMayHaveHalfOfTheBytes(t *testing.T) {
	t.Parallel()
	for more, want := range map[int]bool{0: true, 1: false} {
		r := newSnapshotRun(t)
		r.step(checkpoint.Loop, scores.Put(map[string]string{"k": text(10000 + more)}))
		size := 0
		require.NoError(t, r.plan.Schema.Snapshot(r.view, 0, func(_ string, _ statecore.Kind, data []byte) { size += len(data) }))
		r.snapshots = snapshotPolicy{rows: 100, bytes: 2 * (size - more)}
		c := r.step(checkpoint.Loop)
		assert.Equal(t, want, c.Snapshot != nil, "%d bytes more than half", more)
	}
}

// TestSnapshotOfSubgraphIsStoredWhenACallBegins proves that only the first checkpoint of a
// call of a subgraph gets a snapshot.
func TestSnapshotOfSubgraphIsStoredWhenACallBegins(t *testing.T) {
	t.Parallel()
	for source, want := range map[checkpoint.Source]bool{
		checkpoint.Input: true, checkpoint.Loop: false, checkpoint.Edited: false, checkpoint.Fork: false,
	} {
		for _, subgraph := range []bool{false, true} {
			r := newSnapshotRun(t)
			if subgraph {
				r.parent = &Task{}
			}
			r.snapshots = snapshotPolicy{rows: 100, bytes: 20000}
			c := r.step(source, topic.Put("tea"))
			assert.Equal(t, want || !subgraph, c.Snapshot != nil, "subgraph %t, source %v", subgraph, source)
			if c.Snapshot == nil {
				assert.Equal(t, 101, r.snapshots.rows, "the checkpoint is counted")
			}
		}
	}
}

func TestSnapshotThatCannotBeEncodedFails(t *testing.T) {
	t.Parallel()
	values := state.Last[any]("values")
	schema, err := statecore.NewSchema[state.Handle](values)
	require.NoError(t, err)
	tx := schema.Begin(schema.Empty())
	require.NoError(t, statecore.Apply(tx, 0, state.Update{values.Put(func() {})}))
	view, err := tx.Finish(true)
	require.NoError(t, err)
	r := &run{scope: scope{plan: &Plan{Schema: schema}}, snapshots: snapshotPolicy{rows: 100, bytes: 20000}}
	c := &checkpoint.Checkpoint{}
	require.ErrorContains(t, r.addSnapshot(c, view), "values")
	assert.Nil(t, c.Snapshot)
}

// TestSnapshotsOfRandomRuns proves, for random runs, that the snapshots together are no larger
// than the changes together, that each snapshot contains the whole state, and that a resumed
// run continues the counts of the previous run.
func TestSnapshotsOfRandomRuns(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	snapshots := 0
	for range 10 {
		r := newSnapshotRun(t)
		grows, last := rnd.IntN(4), rnd.IntN(3)
		for range 600 {
			before := r.snapshots
			var c *checkpoint.Checkpoint
			switch n := rnd.IntN(40); {
			case n == 0:
				c = r.step(checkpoint.Loop, visits.Overwrite(nil), scores.Overwrite(nil))
			case n < 10*grows:
				c = r.step(checkpoint.Loop, visits.Put(text(2+rnd.IntN(300))))
			case last == 0:
				c = r.step(checkpoint.Loop, topic.Put(text(2+rnd.IntN(2000))))
			default:
				c = r.step(checkpoint.Loop, scores.Put(map[string]string{string(rune('a' + rnd.IntN(26))): text(2 + rnd.IntN(600))}))
			}
			require.LessOrEqual(t, r.snapshot, r.changed, "the bytes of all snapshots, and of all changes")
			if c.Snapshot == nil {
				continue
			}
			snapshots++
			require.GreaterOrEqual(t, before.rows, minSnapshotRows-1)
			require.LessOrEqual(t, 2*bytesOf(c.Snapshot), before.bytes+bytesOf(c.Changes))
			requireState(t, r.view, r.replayed(c.Snapshot))
		}
		resumed := &run{scope: scope{plan: r.plan}}
		require.NoError(t, resumed.replay(&checkpoint.Checkpoint{Lineage: r.lineage}))
		requireState(t, r.view, resumed.view)
		assert.Equal(t, r.snapshots.rows, resumed.snapshots.rows)
		assert.Equal(t, r.snapshots.bytes, resumed.snapshots.bytes)
		assert.ElementsMatch(t, r.snapshots.minSizes, resumed.snapshots.minSizes)
	}
	assert.NotZero(t, snapshots, "a test without snapshots proves nothing")
}

// replayed returns the state that these changes build.
func (r *snapshotRun) replayed(changes []checkpoint.Change) state.View {
	rp := r.plan.Schema.Replay(nil)
	for _, c := range changes {
		require.NoError(r.t, rp.Apply(c.Channel, statecore.Kind(c.Kind), c.Data))
	}
	return rp.View()
}

func requireState(t testing.TB, want, got state.View) {
	t.Helper()
	require.Equal(t, topic.Get(want), topic.Get(got))
	require.Equal(t, visits.Get(want), visits.Get(got))
	require.Equal(t, scores.Get(want), scores.Get(got))
}
