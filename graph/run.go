package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/state"
)

// root is what a run shares with the runs of its subgraphs.
type root struct {
	thread   string
	id       string
	metadata map[string]string
	version  string
	logger   *slog.Logger

	reader *reader     // nil when nobody reads the events
	ctx    *runContext // nil if the caller's never ends

	given   bool                       // answers were given, and nothing else
	answers map[string]json.RawMessage // by question, those of earlier runs too

	mu       sync.Mutex
	memories map[string]bool // persistent subgraphs in use
}

// run is one run of one graph: from its input or its last checkpoint to its
// end, a pause or an error. A subgraph's call is a run of its own.
type run struct {
	g       *Graph
	root    *root
	parent  *task // in a subgraph
	ctx     context.Context
	opts    RunOptions
	journal *journal // nil without a thread
	ns      string
	path    string

	cur     string // id of the checkpoint that the next superstep builds on
	before  string // its parent
	source  checkpoint.Source
	view    state.View
	front   frontier
	pending *pending
	step    int
	done    int                 // supersteps of this run
	goesOn  bool                // the next superstep is one that an earlier run stopped at
	alone   bool                // the superstep has one task
	settles bool                // the current checkpoint has pending writes
	touched atomic.Bool         // tasks of this superstep stored some
	edits   []checkpoint.Change // what the caller changed of the current checkpoint
	pauses  []Pause
	stuck   []task // those of a superstep that was not committed
	size    size
	crew    *crew
	slab    []task // for the tasks of supersteps with one
	collect state.Emit
	list    []checkpoint.Change // what collect has gathered
	now     time.Time           // of the events of this superstep
	tx      *state.Tx
	sending *state.Tx             // for the states of sent tasks
	scratch checkpoint.Checkpoint // the one under way, where the store is waited for

	out      []state.Write // in a subgraph: what it wrote to shared channels
	toParent []state.Write
}

// loop runs supersteps until nothing is due. It returns nil at the end and at
// a pause.
func (r *run) loop() error {
	for !r.front.left && !r.front.idle() {
		if cause := r.root.ctx.cause(); cause != nil {
			return cause
		}
		if len(r.front.missing) > 0 {
			return fmt.Errorf("%w: %q is due; a graph that has it can go on, and so can new input or Update", ErrUnknownNode, r.front.missing)
		}
		if r.done >= r.opts.MaxSteps {
			return errors.Join(fmt.Errorf("%w: %d ran, and %q are due", ErrMaxSteps, r.done, r.dueNames()), r.halt(nil))
		}
		if r.root.ctx.drained() {
			return errors.Join(fmt.Errorf("%w before %q", ErrDrained, r.dueNames()), r.halt(nil))
		}
		if len(r.opts.PauseBefore) > 0 && !r.goesOn && r.pauseAt(r.opts.PauseBefore, PauseBefore, r.dueNames()) {
			return r.halt(r.pauses)
		}
		if err := r.superstep(); err != nil || r.pauses != nil {
			return err
		}
		if len(r.opts.PauseAfter) > 0 && !r.front.idle() && r.pauseAt(r.opts.PauseAfter, PauseAfter, r.front.by) {
			return r.halt(r.pauses)
		}
	}
	return nil
}

func (r *run) dueNames() []string {
	out := names(r.front.next)
	for _, s := range r.front.sends {
		out = append(out, s.node)
	}
	return out
}

// pauseAt stops the run if one of the nodes is named by a static pause.
func (r *run) pauseAt(at []string, kind PauseKind, nodes []string) bool {
	for _, name := range slices.Compact(slices.Clone(nodes)) {
		if slices.Contains(at, name) || slices.Contains(at, AllNodes) {
			r.pauses = append(r.pauses, Pause{Kind: kind, Node: name, Path: join2(r.path, name)})
		}
	}
	return r.pauses != nil
}

// halt notes at the current checkpoint that a run stopped there in good order,
// so that the next one goes on with what is due. A run that finds no such note,
// as one behind a crash does, comes to the static pauses anew.
func (r *run) halt(at []Pause) error {
	if r.journal == nil {
		if at == nil {
			return nil
		}
		return fmt.Errorf("a pause %s %q: %w", at[0].Kind, at[0].Node, ErrNoStore)
	}
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	r.touched.Store(true)
	return r.journal.write(r.ctx, r.key(), []checkpoint.Write{{Index: indexStop, Channel: markStop, Data: data}})
}

// AllNodes stands for every node in [Options.PauseBefore] and
// [Options.PauseAfter].
const AllNodes = "*"

func join2(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// superstep runs what is due and commits it; or keeps what finished, when
// something failed or asked.
func (r *run) superstep() error {
	tasks, err := r.tasks()
	if err != nil {
		return err
	}
	r.step++
	r.alone = len(tasks) == 1
	if r.root.reader != nil {
		r.announce(tasks)
	}
	if err := r.execute(tasks); err != nil {
		r.step--
		return err
	}
	if err := r.outcome(tasks); err != nil || r.pauses != nil {
		r.step--
		r.stuck = tasks
		return err
	}
	if err := r.apply(tasks); err != nil {
		r.step--
		return err
	}
	r.done++
	r.goesOn, r.pending = false, nil
	if r.root.reader != nil {
		r.emit(StateChanged{Place: r.placeAt(r.now), State: r.view})
		if r.journal != nil && r.parent == nil {
			r.root.reader.flush() // the next superstep waits until this one was seen
		}
	}
	return nil
}

func (r *run) announce(tasks []task) {
	r.now = time.Now()
	ids := make([]string, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].id()
	}
	r.emit(StepStarted{Place: r.placeAt(r.now), Tasks: ids})
	for i := range tasks {
		if t := &tasks[i]; t.keptNow {
			r.emit(TaskFinished{Place: t.placeAt(r.now), Update: t.writes, Kept: true})
		}
	}
}

// emit sends an event of the run itself.
func (r *run) emit(ev Event) {
	switch {
	case r.root.reader == nil:
	case r.parent == nil:
		r.root.reader.add(ev)
	default:
		r.root.reader.post(ev)
	}
}

func (r *run) place() Place { return r.placeAt(time.Now()) }

func (r *run) placeAt(now time.Time) Place {
	return Place{Time: now, Run: r.root.id, Path: r.path, Step: r.step}
}

// outcome looks at a superstep that can not be committed: it returns the
// failures, joined, or notes the pauses.
func (r *run) outcome(tasks []task) error {
	var errs []error
	for i := range tasks {
		t := &tasks[i]
		if t.err != nil {
			errs = append(errs, t.err)
		}
		r.pauses = append(r.pauses, t.seldom().pauses...)
	}
	if errs == nil && r.pauses == nil {
		return nil
	}
	if cause := r.root.ctx.cause(); cause != nil {
		r.pauses = nil
		return errors.Join(append([]error{cause}, errs...)...)
	}
	if len(errs) > 0 {
		r.pauses = nil
		return errors.Join(errs...)
	}
	if !r.alone {
		r.preview(tasks)
	}
	return nil
}

// preview shows a paused superstep with its finished tasks applied.
func (r *run) preview(tasks []task) {
	if r.root.reader != nil {
		if view, ok := r.partly(tasks); ok {
			r.emit(StateChanged{Place: r.place(), State: view})
		}
	}
}

// partly returns the state with the finished tasks' writes applied, and
// whether they change anything.
func (r *run) partly(tasks []task) (state.View, bool) {
	tx := r.g.schema.Begin(r.view)
	for i := range tasks {
		if !tasks[i].finished {
			continue
		}
		for _, w := range tasks[i].writes {
			if tx.Apply(i, w) != nil {
				return r.view, false
			}
		}
	}
	if !tx.Changed() {
		return r.view, false
	}
	view, err := tx.Finish(false)
	if err != nil {
		return r.view, false
	}
	return view, true
}

// apply folds the tasks' writes into the state, in task order, finds what is
// due next and commits both.
func (r *run) apply(tasks []task) error {
	tx := r.transaction()
	for i := range tasks {
		for _, w := range tasks[i].writes {
			if err := tx.Apply(i, w); err != nil {
				return r.refuse(tasks, i, w, err)
			}
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		return r.refuse(tasks, 0, state.Write{}, err)
	}
	if r.alone && !r.g.exact && !tasks[0].keptNow {
		if err := tasks[0].route(view); err != nil {
			return tasks[0].fail(err)
		}
	}
	front := r.follow(tasks)
	if err := r.commit(tx, view, tasks, &front, checkpoint.Loop); err != nil {
		return err
	}
	r.view, r.front = view, front
	return nil
}

// transaction returns one on the current state. Supersteps share it: a step's
// is done with when the next begins.
func (r *run) transaction() *state.Tx {
	if r.tx == nil {
		r.tx = r.g.schema.Begin(r.view)
	} else {
		r.tx.Reset(r.view)
	}
	return r.tx
}

// refuse names the task whose write the state did not take, and voids the
// results that are stored, so that the next run does not trip over them.
func (r *run) refuse(tasks []task, i int, w state.Write, err error) error {
	t := &tasks[i]
	if errors.Is(err, state.ErrConcurrentWrite) {
		for j := range i {
			if slices.ContainsFunc(tasks[j].writes, func(o state.Write) bool { return o.Channel() == w.Channel() }) {
				err = fmt.Errorf("%w (the other is %q)", err, tasks[j].id())
				break
			}
		}
	}
	err = t.fail(err)
	if r.journal != nil && !r.alone {
		err = errors.Join(err, r.void(tasks))
	}
	return err
}

// void marks the stored results of a superstep that was refused.
func (r *run) void(tasks []task) error {
	below := map[string]int{}
	for i := range tasks {
		rec, err := tasks[i].record()
		if err != nil {
			return err
		}
		below[tasks[i].id()] = tasks[i].seldom().index + len(rec)
	}
	data, err := json.Marshal(below)
	if err != nil {
		return err
	}
	return r.journal.write(r.ctx, r.key(), []checkpoint.Write{{Index: indexVoid, Channel: markVoid, Data: data}})
}

// follow finds what the superstep makes due.
func (r *run) follow(tasks []task) frontier {
	if r.alone && r.parent == nil && tasks[0].seldom().memory == nil {
		t := &tasks[0]
		if next, ok := r.g.single(t.node, t.routes, &r.front); ok {
			return frontier{next: next, by: t.node.by, memory: r.front.memory}
		}
	}
	p := r.g.plan(&r.front)
	memory := r.front.memory
	by := make([]string, 0, len(r.front.next)+1)
	for i := range tasks {
		t := &tasks[i]
		p.follow(t.node, t.routes)
		if len(by) == 0 || by[len(by)-1] != t.node.name {
			by = append(by, t.node.name)
		}
		memory = withMemory(memory, t.seldom().memory)
		r.hand(t)
	}
	f := p.frontier()
	f.by, f.memory, f.call = by, memory, r.front.call
	f.left = slices.ContainsFunc(r.toParent, leaves)
	return f
}

func withMemory(memory, more map[string]string) map[string]string {
	if len(more) == 0 {
		return memory
	}
	out := map[string]string{}
	for _, m := range []map[string]string{memory, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// hand keeps what a subgraph's task wrote for the parent.
func (r *run) hand(t *task) {
	if r.parent == nil {
		return
	}
	outer := r.parent.run.g.schema
	for _, w := range t.writes {
		if name := w.Channel(); name != "" && r.g.schema.Shared(name, outer) {
			r.out = append(r.out, w)
		}
	}
	r.toParent = append(r.toParent, t.seldom().toParent...)
}

// leaves reports whether a write to the parent ends the subgraph.
func leaves(w state.Write) bool {
	switch s := w.Signal().(type) {
	case gotoSignal, sendSignal:
		return true
	case parentSignal:
		return leaves(s.write)
	}
	return false
}

func (r *run) key() checkpoint.Key {
	return checkpoint.Key{Thread: r.root.thread, Namespace: r.ns, ID: r.cur}
}

// commit stores a superstep, an input or an edit as a new checkpoint.
func (r *run) commit(tx *state.Tx, view state.View, tasks []task, front *frontier, source checkpoint.Source) error {
	if r.journal == nil {
		return nil
	}
	if err := r.root.ctx.cause(); err != nil {
		return err
	}
	c := &r.scratch
	var list []checkpoint.Change
	var control []byte
	if r.journal.mode == Sync {
		list, control = c.Changes[:0], c.Control // the store has copied what it wants
	} else {
		c = new(checkpoint.Checkpoint)
	}
	*c = checkpoint.Checkpoint{
		Key:    checkpoint.Key{Thread: r.root.thread, Namespace: r.ns, ID: uuid.New()},
		Parent: r.cur, Step: r.step, Source: source, Run: r.root.id, Version: r.root.version,
		Metadata: r.root.metadata, Settles: r.settles || r.touched.Load(), Changes: append(list, r.edits...),
	}
	var err error
	if c.Control, err = r.g.encode(front, control[:0]); err != nil {
		return err
	}
	if tx != nil {
		if c.Changes, err = r.changes(tx, c.Changes, tasks); err != nil {
			return err
		}
	}
	if err := r.snapshot(c, view, source); err != nil {
		return err
	}
	if err := r.journal.put(r.ctx, c); err != nil {
		return err
	}
	r.cur, r.before, r.source = c.ID, c.Parent, source
	r.settles, r.edits = false, nil
	r.touched.Store(false)
	if r.parent == nil || source != checkpoint.Input {
		r.tell()
	}
	return nil
}

// tell says that the current checkpoint was stored. That of a subgraph's call
// is told of behind RunStarted.
func (r *run) tell() {
	if r.root.reader == nil || r.journal == nil || r.journal.mode == Exit {
		return
	}
	r.now = time.Now()
	r.emit(Checkpointed{Place: r.placeAt(r.now), ID: r.cur, Parent: r.before})
}

// changes returns what a transaction did, in stored form; in a subgraph also
// what the parent will need if this process does not live to hand it over.
func (r *run) changes(tx *state.Tx, list []checkpoint.Change, tasks []task) ([]checkpoint.Change, error) {
	list, err := r.collected(tx, list)
	if err != nil || r.parent == nil {
		return list, err
	}
	outer := r.parent.run.g.schema
	for i := range tasks {
		for _, w := range tasks[i].writes {
			name := w.Channel()
			if name == "" || !r.g.schema.Shared(name, outer) || r.g.schema.Echoes(name) {
				continue
			}
			k, data, ok, err := r.g.schema.EncodeWrite(w)
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, checkpoint.Change{Channel: changeOut + name, Kind: uint8(k), Data: data})
			}
		}
		for _, w := range tasks[i].seldom().toParent {
			stored, err := r.storeParent(w)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(stored)
			if err != nil {
				return nil, err
			}
			list = append(list, checkpoint.Change{Channel: changeParent, Data: data})
		}
	}
	return list, nil
}

// collected appends what a transaction did to a list. The function that gathers
// it is made once for a run.
func (r *run) collected(tx *state.Tx, list []checkpoint.Change) ([]checkpoint.Change, error) {
	if r.collect == nil {
		r.collect = func(channel string, k state.Kind, data []byte) {
			r.list = append(r.list, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
		}
	}
	r.list = list
	err := tx.Changes(r.collect)
	list, r.list = r.list, nil
	return list, err
}

// Changes of a subgraph that are not to its state.
const (
	changeOut    = "$out:"   // with a channel's name: an update for the parent's
	changeParent = "$parent" // a storedParent
)

// size decides when a snapshot is worth its bytes.
type size struct {
	rows  int // changes stored since the last snapshot, itself included
	bytes int
	check int    // look again when bytes reach it
	least []live // what the state surely takes, by channel
}

// live is the least that one channel's value takes in storage.
type live struct {
	channel string
	bytes   int
}

const (
	snapshotRows  = 64
	snapshotBytes = 16 << 10
)

func (s *size) add(changes []checkpoint.Change) {
	s.rows++
	for i := range changes {
		c := &changes[i]
		s.bytes += len(c.Data)
		at := s.channel(c.Channel)
		switch state.Kind(c.Kind) {
		case state.KindAppend:
			at.bytes += len(c.Data)
		case state.KindSet:
			at.bytes = len(c.Data)
		case state.KindClear, state.KindRemove:
			at.bytes = 0
		}
	}
}

func (s *size) channel(name string) *live {
	for i := range s.least {
		if s.least[i].channel == name {
			return &s.least[i]
		}
	}
	s.least = append(s.least, live{channel: name})
	return &s.least[len(s.least)-1]
}

// worth reports whether to look how long a snapshot would be: not when the
// state is known to take more than half of what replaying it does.
func (s *size) worth() bool {
	if s.rows < snapshotRows || s.bytes < max(s.check, snapshotBytes) {
		return false
	}
	least := 0
	for _, l := range s.least {
		least += l.bytes
	}
	return 2*least <= s.bytes
}

// snapshot adds the whole state to a checkpoint when reading it is half the
// work of replaying what came since the last one. So what is written stays
// within twice what was changed, and what is read within twice the state.
func (r *run) snapshot(c *checkpoint.Checkpoint, view state.View, source checkpoint.Source) error {
	s := &r.size
	s.add(c.Changes)
	if !s.worth() || r.parent != nil && source != checkpoint.Input {
		return nil
	}
	var whole []checkpoint.Change
	total := 0
	err := r.g.schema.Snapshot(view, func(channel string, k state.Kind, data []byte) {
		whole = append(whole, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
		total += len(data)
	})
	if err != nil {
		return err
	}
	if 2*total > s.bytes {
		s.check = 2 * s.bytes
		return nil
	}
	if whole == nil {
		whole = []checkpoint.Change{}
	}
	c.Snapshot = whole
	*s = size{}
	s.add(whole)
	return nil
}

// restore rebuilds the state of a checkpoint, what is due, and in a subgraph
// what it wrote for its parent.
func (r *run) restore(c *checkpoint.Checkpoint) error {
	rp := r.g.schema.Replay(nil)
	r.size, r.out, r.toParent = size{}, nil, nil
	for _, d := range c.Lineage {
		if d.Snapshot {
			r.size = size{}
		}
		r.size.add(d.Changes)
		if r.parent != nil && d.Source == checkpoint.Input {
			rp.Import(r.parent.view)
			r.out, r.toParent = nil, nil
		}
		for _, ch := range d.Changes {
			if err := r.replay(rp, ch, d.Snapshot); err != nil {
				return fmt.Errorf("checkpoint %s: %w", d.ID, err)
			}
		}
	}
	front, err := r.g.decode(c.Control)
	if err != nil {
		return fmt.Errorf("checkpoint %s (version %q): %w", c.ID, c.Version, err)
	}
	if r.pending, err = r.g.readPending(c.Writes); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.ID, err)
	}
	r.view, r.front, r.step = rp.View(), front, c.Step
	r.cur, r.before, r.source = c.ID, c.Parent, c.Source
	r.settles = len(c.Writes) > 0
	return nil
}

func (r *run) replay(rp *state.Replayer, ch checkpoint.Change, snapshot bool) error {
	if strings.HasPrefix(ch.Channel, "$") {
		return r.replayOut(ch)
	}
	err := rp.Apply(ch.Channel, state.Kind(ch.Kind), ch.Data)
	if errors.Is(err, state.ErrUnknownChannel) {
		if r.root.logger != nil {
			r.root.logger.Warn("graph: a stored channel is not in the graph and was passed over",
				"graph", r.g.name, "thread", r.root.thread, "channel", ch.Channel)
		}
		return nil
	}
	if err != nil || snapshot || r.parent == nil {
		return err
	}
	if s := r.g.schema; s.Shared(ch.Channel, r.parent.run.g.schema) && s.Echoes(ch.Channel) {
		w, err := s.Echo(ch.Channel, state.Kind(ch.Kind), ch.Data)
		r.out = append(r.out, w)
		return err
	}
	return nil
}

func (r *run) replayOut(ch checkpoint.Change) error {
	if r.parent == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(ch.Channel, changeOut); ok {
		w, err := r.g.schema.DecodeWrite(name, state.Kind(ch.Kind), ch.Data)
		r.out = append(r.out, w)
		return err
	}
	var stored storedParent
	if err := json.Unmarshal(ch.Data, &stored); err != nil {
		return err
	}
	w, err := r.parentWrite(stored)
	r.toParent = append(r.toParent, w)
	return err
}
