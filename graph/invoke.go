package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/state"
)

// input is what the caller of a run gave it.
type input struct {
	writes  state.Update
	targets []state.Signal
	answers []answerSignal
	begin   bool
	goesOn  bool
}

func readInput(writes []state.Write) (input, error) {
	var in input
	for _, w := range writes {
		switch s := w.Signal().(type) {
		case nil:
			if w.Channel() != "" {
				in.writes = append(in.writes, w)
			}
		case gotoSignal, sendSignal:
			in.targets = append(in.targets, s)
		case answerSignal:
			if s.err != nil {
				return in, s.err
			}
			in.answers = append(in.answers, s)
		case turnSignal:
			in.begin = in.begin || s.begin
			in.goesOn = in.goesOn || !s.begin
		default:
			return in, fmt.Errorf("%s: %w: a caller gave it", s.Signal(), ErrSignal)
		}
	}
	in.goesOn = in.goesOn || len(in.targets)+len(in.answers) > 0
	if in.begin && in.goesOn {
		return in, fmt.Errorf("%w: Begin beside Continue, Goto, Send or an answer", ErrSignal)
	}
	in.begin = in.begin || len(in.writes) > 0 && !in.goesOn
	return in, nil
}

// invoke is every run of a graph that is not a subgraph. T is nil without a
// thread, rd is nil when nobody reads the events.
func (g *Graph) invoke(ctx context.Context, t *Thread, rd *reader, writes []state.Write) (snap *Snapshot, err error) {
	thread := ""
	if t != nil {
		thread = t.id
	}
	defer func() { err = g.fail(thread, err) }()
	in, err := readInput(writes)
	if err != nil {
		return nil, err
	}
	r := &run{g: g, ctx: ctx}
	// In one piece, to save allocations, but apart from the run: the collector is quicker with up to 512 bytes.
	var own struct {
		root
		ctx runContext
	}
	r.root = &own.root
	r.root.thread, r.root.reader = thread, rd
	r.root.version, r.root.logger = g.opts.Version, g.opts.Logger
	// The thread is given back before anybody hears that the run has ended: who goes on with it
	// then does not find it held.
	defer func() { rd.flush(r.now) }()
	if t == nil {
		r.root.id = uuid.New()
		r.opts = g.runOptions(RunOptions{})
		in.begin = in.begin || !in.goesOn
	} else {
		if err := g.checkRun(t.opts); err != nil {
			return nil, err
		}
		r.opts = g.runOptions(t.opts)
		r.root.metadata = r.opts.Metadata
		held, terr := r.take(ctx, t)
		if terr != nil {
			return nil, terr
		}
		defer func() { err = errors.Join(err, held.release(ctx)) }()
	}
	if ctx.Done() != nil {
		own.ctx.caller = ctx
		r.root.ctx, r.ctx = &own.ctx, &own.ctx
		defer r.root.ctx.close()
	}
	return r.whole(t, in)
}

// take takes the thread and begins the run's journal.
func (r *run) take(ctx context.Context, t *Thread) (held hold, err error) {
	store, err := t.store()
	if err != nil {
		return held, err
	}
	if err := context.Cause(ctx); err != nil {
		return held, err
	}
	if held, err = r.g.hold(ctx, store, t.id); err != nil {
		return held, err
	}
	r.journal = newJournal(held.Store, *r.opts.Durability)
	r.root.id = r.journal.ids.Next()
	return held, nil
}

// whole is a run from its first look at the thread to its last.
func (r *run) whole(t *Thread, in input) (snap *Snapshot, err error) {
	closed := false
	defer func() { // not closed yet: start failed, or a node ended this goroutine
		if !closed {
			err = errors.Join(err, r.close())
		}
	}()
	var begun time.Time
	if r.root.reader != nil {
		begun = time.Now() // before the events of the first checkpoint, which it is told before
	}
	resumed, err := r.start(t, in)
	if err != nil {
		return nil, err
	}
	if r.root.reader != nil {
		r.root.reader.open(RunStarted{Place: r.placeAt(begun), State: r.view, Resumed: resumed})
	}
	err = r.loop()
	closed = true
	if cerr := r.close(); cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if r.root.reader != nil && r.journal != nil && r.journal.stored {
		r.emit(Checkpointed{Place: r.place(), ID: r.cur, Parent: r.before})
	}
	snap = r.end()
	if err != nil {
		return snap, err
	}
	r.tidy()
	if r.root.reader != nil {
		if r.pauses != nil {
			r.emit(Paused{Place: r.place(), Pauses: r.pauses})
		}
		r.emit(RunEnded{Place: r.place(), Snapshot: snap})
	}
	return snap, nil
}

// closing is how long the end of a cancelled run may take to store what is
// held back.
const closing = 10 * time.Second

func (r *run) close() error {
	if r.journal == nil {
		return nil
	}
	ctx := r.ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
	}
	return r.journal.close(ctx)
}

// start brings the run to its first superstep. It reports whether the run goes
// on with something.
func (r *run) start(t *Thread, in input) (resumed bool, err error) {
	r.view = r.g.empty
	r.step = -1
	found := false
	if t != nil {
		if found, err = r.find(t, &in); err != nil {
			return false, err
		}
	}
	if in.begin {
		return false, r.begin(in)
	}
	if !found {
		if len(in.targets) == 0 && len(in.writes) == 0 {
			return false, ErrNoInput
		}
		return false, r.begin(in)
	}
	r.goesOn = in.goesOn || t.at != "" || r.source == checkpoint.Edited || r.source == checkpoint.Fork || r.pending.begun()
	if t.at != "" && len(in.answers) == 0 {
		if err := r.fork(); err != nil {
			return false, err
		}
	}
	return true, r.edit(in)
}

// find loads the thread's newest checkpoint, or the one that the handle is at.
func (r *run) find(t *Thread, in *input) (bool, error) {
	c, err := r.journal.store.Get(r.ctx, checkpoint.Key{Thread: t.id})
	if errors.Is(err, checkpoint.ErrNotFound) && t.at == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.journal.advance("", c.ID)
	if t.at != "" && (t.at != c.ID || len(in.answers) == 0) {
		if len(in.answers) > 0 {
			return false, fmt.Errorf("checkpoint %s is not the thread's newest; a run from it asks anew: %w", t.at, ErrNoQuestion)
		}
		if c.ID != t.at {
			if c, err = r.journal.store.Get(r.ctx, checkpoint.Key{Thread: t.id, ID: t.at}); err != nil {
				return false, err
			}
		}
		c.Writes = nil // a fresh attempt
	}
	return true, r.load(&c)
}

// load is restore, with what the caller changed of the checkpoint before.
func (r *run) load(c *checkpoint.Checkpoint) error {
	if err := r.restore(c); err != nil {
		return err
	}
	r.root.answers = r.pending.answers
	own := r.pending.tasks[""]
	if own == nil {
		return nil
	}
	for _, n := range own.routes.nodes {
		r.front = r.front.with(n)
	}
	r.front.sends = append(r.front.sends[:len(r.front.sends):len(r.front.sends)], own.routes.sends...)
	return r.amend(own.writes)
}

// amend applies writes to the current checkpoint's state, and keeps their
// stored form for the next commit.
func (r *run) amend(writes state.Update) error {
	if len(writes) == 0 {
		return nil
	}
	tx := r.g.schema.Begin(r.view)
	if err := tx.Apply(0, writes...); err != nil {
		return err
	}
	view, err := tx.Finish(false)
	if err != nil {
		return err
	}
	r.view = view
	return tx.Changes(func(channel string, k state.Kind, data []byte) {
		r.edits = append(r.edits, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
	})
}

// begin applies input and stores it as a checkpoint, with what follows Start
// due: or, on a new thread, where the caller sends it.
func (r *run) begin(in input) error {
	tx := r.transaction()
	if err := tx.Apply(0, in.writes...); err != nil {
		return err
	}
	view, err := tx.Finish(true)
	if err != nil {
		return err
	}
	var before, front frontier
	if r.front.more != nil {
		before.put(aside{waiting: r.front.more.waiting, arrived: r.front.more.arrived, memory: r.front.more.memory})
	}
	if len(in.targets) > 0 {
		to, err := r.targets(in.targets)
		if err != nil {
			return err
		}
		p := r.g.plan(&before)
		p.follow(&node{name: Start}, to)
		front = p.frontier()
	} else if front, err = r.enter(view, &before); err != nil {
		return err
	}
	front.by = startOnly
	front.remember(before.aside().memory)
	r.step++
	r.pending, r.root.answers = nil, nil
	if err := r.commit(tx, view, nil, &front, checkpoint.Input); err != nil {
		return err
	}
	r.view, r.front = view, front
	return nil
}

// startOnly says that a checkpoint was made by input.
var startOnly = []string{Start}

// enter returns what follows Start, on a state that has the input.
func (r *run) enter(view state.View, before *frontier) (frontier, error) {
	var to routes
	if len(r.g.start.branches) > 0 {
		entry := &task{run: r, node: r.g.start}
		if err := entry.route(view); err != nil {
			return frontier{}, err
		}
		to = entry.routes()
	}
	if next, ok := r.g.single(r.g.start, to, before); ok {
		return frontier{next: next}, nil
	}
	p := r.g.plan(before)
	p.follow(r.g.start, to)
	return p.frontier(), nil
}

// targets reads the places that a caller sends the run to.
func (r *run) targets(signals []state.Signal) (routes, error) {
	entry := &task{run: r, node: r.g.start}
	for _, s := range signals {
		name := ""
		switch s := s.(type) {
		case gotoSignal:
			name = s.node
		case sendSignal:
			name = s.send.node
		}
		if name != End && r.g.byName[name] == nil {
			return routes{}, fmt.Errorf("target %q: %w", name, ErrUnknownNode)
		}
		if err := entry.signal(s, []string{name}); err != nil {
			return routes{}, err
		}
	}
	return entry.routes(), nil
}

// fork begins a branch at the checkpoint that was loaded.
func (r *run) fork() error {
	r.step++
	return r.commit(nil, r.view, nil, &r.front, checkpoint.Fork)
}

// edit notes the caller's answers, writes and targets with the current
// checkpoint, so that no crash loses them, and applies them.
func (r *run) edit(in input) error {
	var recs []checkpoint.Write
	given := map[string]bool{}
	for _, a := range in.answers {
		w, err := r.answer(a)
		if err != nil {
			return err
		}
		if given[a.id] {
			return fmt.Errorf("question %s of interrupt %q was given two answers: %w", a.id, a.interrupt, ErrDuplicateKey)
		}
		given[a.id] = true
		recs = append(recs, w)
	}
	r.root.given = len(in.answers) > 0 && len(in.writes)+len(in.targets) == 0
	if len(in.writes)+len(in.targets) > 0 {
		to, err := r.targets(in.targets)
		if err != nil {
			return err
		}
		own, err := r.editRecords(in.writes, to)
		if err != nil {
			return err
		}
		recs = append(recs, own...)
		for _, n := range to.nodes {
			r.front = r.front.with(n)
		}
		r.front.sends = append(r.front.sends[:len(r.front.sends):len(r.front.sends)], to.sends...)
		if err := r.amend(in.writes); err != nil {
			return err
		}
	}
	if len(recs) == 0 || r.journal == nil {
		return nil
	}
	r.settles = true
	return r.journal.write(r.ctx, r.key(), recs)
}

func (r *run) editRecords(writes state.Update, to routes) ([]checkpoint.Write, error) {
	if r.pending == nil {
		r.pending = &pending{}
	}
	own := r.pending.task("")
	rec := recorder{g: r.g, index: own.next}
	for _, w := range writes {
		rec.write(w)
	}
	for _, n := range to.nodes {
		rec.add(markGoto, 0, []byte(n.name))
	}
	for _, s := range to.sends {
		stored, err := r.g.encodeSend(s)
		rec.addJSON(markSend, stored, err)
	}
	own.next = rec.index
	return rec.out, rec.err
}

// answer finds the task whose question is answered.
func (r *run) answer(a answerSignal) (checkpoint.Write, error) {
	if r.pending != nil {
		for id, k := range r.pending.tasks {
			for _, p := range k.pauses {
				if k.done || p.Kind != Question || p.ID != a.id {
					continue
				}
				if p.Interrupt != a.interrupt {
					return checkpoint.Write{}, fmt.Errorf("question %s is of interrupt %q and not %q: %w", a.id, p.Interrupt, a.interrupt, ErrNoQuestion)
				}
				data, err := json.Marshal(storedAnswer{ID: a.id, Value: a.value})
				w := checkpoint.Write{Task: id, Index: k.next, Channel: markAnswer, Data: data}
				k.next++
				r.root.answers[a.id] = a.value
				return w, err
			}
		}
	}
	return checkpoint.Write{}, fmt.Errorf("question %s of interrupt %q: %w", a.id, a.interrupt, ErrNoQuestion)
}

// with returns the frontier with a node more.
func (f frontier) with(n *node) frontier {
	for i, have := range f.next {
		if have.index >= n.index {
			if have != n {
				f.next = append(append(f.next[:i:i], n), f.next[i:]...)
			}
			return f
		}
	}
	f.next = append(f.next[:len(f.next):len(f.next)], n)
	return f
}
