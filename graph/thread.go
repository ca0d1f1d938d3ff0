package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// A Thread is a handle on a conversation, job or session that a graph keeps
// under an id. It is cheap, immutable and safe for concurrent use; of two runs
// at once on one thread the second is refused with [checkpoint.ErrConflict].
type Thread struct {
	g    *Graph
	id   string
	at   string
	opts RunOptions
}

// RunOptions is what one run, or every run of a [Thread.With], does otherwise
// than the graph was compiled for. Zero values keep the graph's own.
type RunOptions struct {
	// PauseBefore and PauseAfter name nodes, beside those of the graph.
	PauseBefore, PauseAfter []string
	// MaxSteps and MaxParallel are as in [Options].
	MaxSteps, MaxParallel int
	// Durability replaces the graph's own unless it is nil.
	Durability *Durability
	// Metadata is stored with every checkpoint that the run writes;
	// [HistoryQuery] can filter by it.
	Metadata map[string]string
}

// checkRun finds mistakes in the options of a run.
func (g *Graph) checkRun(o RunOptions) error {
	for _, name := range slices.Concat(o.PauseBefore, o.PauseAfter) {
		if name != AllNodes && g.byName[name] == nil {
			return fmt.Errorf("a pause at %q: %w", name, ErrUnknownNode)
		}
	}
	if o.MaxSteps < 0 || o.MaxParallel < 0 {
		return fmt.Errorf("%w: MaxSteps is %d and MaxParallel %d", checkpoint.ErrInvalid, o.MaxSteps, o.MaxParallel)
	}
	if o.Durability != nil && *o.Durability > Exit {
		return fmt.Errorf("%w: %s", checkpoint.ErrInvalid, *o.Durability)
	}
	return nil
}

// Thread returns a handle on the thread of that id. It need not exist yet.
func (g *Graph) Thread(id string) *Thread { return &Thread{g: g, id: id} }

// ID returns the thread's id.
func (t *Thread) ID() string { return t.id }

// At returns a handle on the thread as it was at a checkpoint. A run on it
// starts a fresh attempt there: results and questions kept for its superstep
// are left behind, and the thread goes on from there, on a branch of its own.
// The abandoned one stays in the history. The handle itself stays at that
// checkpoint: what follows such a run goes through the thread's own handle. An
// empty id gives that.
func (t *Thread) At(checkpoint string) *Thread {
	c := *t
	c.at = checkpoint
	return &c
}

// With returns a handle whose runs have these options, instead of those that t
// has.
func (t *Thread) With(opts RunOptions) *Thread {
	c := *t
	opts.Metadata = maps.Clone(opts.Metadata)
	c.opts = opts
	return &c
}

// zero reports whether nothing differs from what the graph was compiled with.
func (o *RunOptions) zero() bool {
	return len(o.PauseBefore)+len(o.PauseAfter)+o.MaxSteps+o.MaxParallel == 0 && o.Durability == nil && o.Metadata == nil
}

// runOptions fills in what the graph was compiled with. The result is only read.
func (g *Graph) runOptions(o RunOptions) *RunOptions {
	if o.zero() {
		return &g.standard
	}
	filled := g.fillIn(o)
	return &filled
}

// fillIn replaces what is not given.
func (g *Graph) fillIn(o RunOptions) RunOptions {
	if len(o.PauseBefore) == 0 {
		o.PauseBefore = g.opts.PauseBefore
	} else {
		o.PauseBefore = slices.Concat(g.opts.PauseBefore, o.PauseBefore)
	}
	if len(o.PauseAfter) == 0 {
		o.PauseAfter = g.opts.PauseAfter
	} else {
		o.PauseAfter = slices.Concat(g.opts.PauseAfter, o.PauseAfter)
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = g.opts.MaxSteps
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = defaultMaxSteps
	}
	if o.MaxParallel == 0 {
		o.MaxParallel = g.opts.MaxParallel
	}
	if o.Durability == nil {
		o.Durability = &g.opts.Durability
	}
	return o
}

// Invoke runs the graph until nothing is due, or until it pauses, and returns
// where the thread is then. What it does depends on the writes:
//
//   - Writes to channels are new input: a turn begins at the graph's entry.
//     What an unfinished superstep was to do is dropped; deferred nodes go on to wait.
//   - Answers, [Goto], [Send] or [Continue] make the thread go on from where it
//     is; writes to channels beside them edit its state first.
//   - No writes make the thread go on: behind a pause, after a failure, or where
//     a crash left it. Without a checkpoint that is an [ErrNoInput].
//
// An error is a [RunError]. The snapshot beside it, if not nil, is the last
// state that was kept.
func (t *Thread) Invoke(ctx context.Context, writes ...state.Write) (*Snapshot, error) {
	return t.g.invoke(ctx, t, nil, writes)
}

// Stream is [Thread.Invoke] with its events. The run advances as its events
// are read: a superstep of a thread begins when those of the one before have
// been taken. So nothing is lost or piles up, and a slow reader slows the run.
// Leaving the loop cancels the run and waits for its tasks. An error is the
// last pair; a pause is not one. Each loop over the sequence is a run.
func (t *Thread) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[Event, error] {
	return t.g.stream(ctx, t, writes)
}

// Invoke runs the graph once, without a thread: nothing is kept and it can not
// pause. The run may have no input at all.
func (g *Graph) Invoke(ctx context.Context, writes ...state.Write) (*Snapshot, error) {
	return g.invoke(ctx, nil, nil, writes)
}

// Stream is [Graph.Invoke] with its events; see [Thread.Stream]. As
// nothing is kept of it, the run may be ahead of the reader: by one superstep,
// or by those that fit into a millisecond.
func (g *Graph) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[Event, error] {
	return g.stream(ctx, nil, writes)
}

// Snapshot returns the state of the thread. While a superstep is unfinished it
// shows the writes of its finished tasks applied. Of a handle from
// [Thread.At] it returns the checkpoint as it was stored, with every task due.
// A thread without a checkpoint is a [checkpoint.ErrNotFound].
func (t *Thread) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := t.snapshot(ctx)
	if err != nil {
		return nil, t.fail(err)
	}
	return s, nil
}

func (t *Thread) snapshot(ctx context.Context) (*Snapshot, error) {
	store, err := t.store()
	if err != nil {
		return nil, err
	}
	c, err := store.Get(ctx, checkpoint.Key{Thread: t.id, ID: t.at})
	if err != nil {
		return nil, err
	}
	if t.at != "" {
		c.Writes = nil
	}
	r := t.reader()
	if err := r.load(&c); err != nil {
		return nil, err
	}
	return r.look(&c)
}

func (t *Thread) store() (checkpoint.Store, error) {
	if t.g.opts.Checkpoints == nil {
		return nil, ErrNoStore
	}
	if t.id == "" {
		return nil, fmt.Errorf("%w: the thread has no id", checkpoint.ErrInvalid)
	}
	return t.g.opts.Checkpoints, nil
}

// reader is a run that only looks.
func (t *Thread) reader() *run {
	return &run{
		g: t.g, ctx: context.Background(), opts: t.g.runOptions(t.opts),
		root: &root{thread: t.id, logger: t.g.opts.Logger},
	}
}

// editor is a run that only edits.
func (t *Thread) editor(ctx context.Context, store checkpoint.Store) *run {
	r := t.reader()
	r.ctx, r.view, r.step = ctx, t.g.empty, -1
	r.journal = newJournal(store, Sync)
	r.root.id, r.root.version, r.root.metadata = r.journal.ids.Next(), t.g.opts.Version, t.opts.Metadata
	return r
}

func (t *Thread) fail(err error) error { return t.g.fail(t.id, err) }

func (g *Graph) fail(thread string, err error) error {
	if err == nil {
		return nil
	}
	return &RunError{Graph: g.name, Thread: thread, Err: err}
}

// Delete removes the thread with all its checkpoints. A run that holds it is a
// [checkpoint.ErrConflict].
func (t *Thread) Delete(ctx context.Context) error {
	store, err := t.store()
	if err == nil && t.at != "" {
		err = fmt.Errorf("%w: the handle is at checkpoint %s, and a thread is deleted whole", checkpoint.ErrInvalid, t.at)
	}
	if err != nil {
		return t.fail(err)
	}
	held, err := t.g.hold(ctx, store, t.id)
	if err != nil {
		return t.fail(err)
	}
	return t.fail(errors.Join(held.DeleteThread(ctx, t.id), held.release(ctx)))
}

// A hold is a thread that a run has to itself, and its store.
type hold struct {
	checkpoint.Store
	lease  checkpoint.Lease // nil if the graph's own lock has to do
	locks  *threadLocks
	thread string
}

// hold takes the thread for one run.
func (g *Graph) hold(ctx context.Context, store checkpoint.Store, thread string) (hold, error) {
	if l, ok := store.(checkpoint.Leaser); ok {
		lease, err := l.Lease(ctx, thread)
		if err == nil {
			return hold{Store: lease, lease: lease}, nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return hold{}, err
		}
	}
	if !g.locks.lock(thread) {
		return hold{}, fmt.Errorf("%w: a run holds the thread", checkpoint.ErrConflict)
	}
	return hold{Store: store, locks: g.locks, thread: thread}, nil
}

// release gives the thread back.
func (h *hold) release(ctx context.Context) error {
	if h.lease != nil {
		return h.lease.Release(ctx)
	}
	h.locks.unlock(h.thread)
	return nil
}

// A HistoryQuery selects checkpoints of a thread.
type HistoryQuery struct {
	// Before, when set, keeps what is older than the checkpoint of this id.
	Before string
	// Limit is the most to return. Zero means all.
	Limit int
	// Source and Run keep the checkpoints that have them.
	Source checkpoint.Source
	Run    string
	// Metadata keeps the checkpoints that have every one of these pairs.
	Metadata map[string]string
}

// History yields the thread's checkpoints, newest first, those of abandoned
// branches included. It reads no states, and so is flat in memory however long
// the thread: t.At(info.ID).Snapshot reads one. An error is the last pair.
func (t *Thread) History(ctx context.Context, q HistoryQuery) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		store, err := t.store()
		if err != nil {
			yield(Info{}, t.fail(err))
			return
		}
		query := checkpoint.Query{
			Thread: t.id, Before: q.Before, Limit: q.Limit, Source: q.Source, Run: q.Run, Metadata: q.Metadata,
		}
		for c, err := range store.List(ctx, query) {
			if err != nil {
				yield(Info{}, t.fail(err))
				return
			}
			info, err := infoOf(&c)
			if err != nil {
				yield(Info{}, t.fail(err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func infoOf(c *checkpoint.Checkpoint) (Info, error) {
	ctl, err := readControl(c.Control)
	if err != nil {
		return Info{}, fmt.Errorf("checkpoint %s: %w: %w", c.ID, checkpoint.ErrCorrupt, err)
	}
	next := ctl.Next
	for _, s := range ctl.Sends {
		next = append(next, s.Node)
	}
	return Info{
		Thread: c.Thread, ID: c.ID, Parent: c.Parent, Step: c.Step, Source: c.Source, Run: c.Run,
		Version: c.Version, Time: c.Time, Metadata: maps.Clone(c.Metadata), Next: next,
	}, nil
}
