package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// callSubgraph runs the task's graph, from where an earlier run of this task
// left it, and returns what it wrote for the task's own graph.
func (t *task) callSubgraph() (update state.Update, err error) {
	g := t.node.sub
	r := &run{
		g: g, root: t.run.root, parent: t, ctx: t, journal: t.run.journal,
		path: join2(t.run.path, t.id()), opts: g.runOptions(RunOptions{}),
	}
	r.ns = t.namespace()
	if err := r.root.enter(g.memory); err != nil {
		return nil, err
	}
	defer r.root.leave(g.memory)
	resumed, err := r.locate()
	if err != nil {
		return nil, err
	}
	if r.root.reader != nil {
		r.emit(RunStarted{Place: r.place(), State: r.view, Resumed: resumed})
		if !resumed {
			r.tell()
		}
	}
	if err := r.loop(); err != nil {
		return nil, err
	}
	r.tidy()
	if r.pauses != nil {
		for i := range r.pauses {
			r.pauses[i].Node = t.node.name
		}
		x := t.own()
		x.mu.Lock()
		x.asked = r.pauses
		x.mu.Unlock()
		r.emit(Paused{Place: r.place(), Pauses: r.pauses})
		return nil, nil
	}
	if r.root.reader != nil {
		r.emit(RunEnded{Place: r.place()})
	}
	if g.memory != "" && r.journal != nil {
		t.own().memory = map[string]string{g.memory: r.cur}
	} else {
		r.journal.drop(r.ns)
	}
	return append(r.out, r.toParent...), nil
}

// namespace is where the subgraph of a task keeps its checkpoints.
func (t *task) namespace() string {
	if memory := t.node.sub.memory; memory != "" {
		return "~" + memory
	}
	own := t.id() + "@" + t.run.cur
	return join2(t.run.ns, own)
}

// enter claims a persistent subgraph for one task.
func (r *root) enter(memory string) error {
	if memory == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memories[memory] {
		return fmt.Errorf("memory %q: %w", memory, ErrBusyMemory)
	}
	if r.memories == nil {
		r.memories = map[string]bool{}
	}
	r.memories[memory] = true
	return nil
}

func (r *root) leave(memory string) {
	if memory == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, memory)
}

// locate finds the checkpoint that the call goes on from, or begins the call.
func (r *run) locate() (resumed bool, err error) {
	t := r.parent
	call := t.id() + "@" + t.run.ns + "@" + t.run.cur
	if r.journal != nil {
		c, err := r.journal.get(r.ctx, checkpoint.Key{Thread: r.root.thread, Namespace: r.ns})
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
		case err != nil:
			return false, err
		default:
			resumed, err := r.resume(&c, call)
			if resumed || err != nil {
				return resumed, err
			}
		}
	}
	return false, r.beginCall(call)
}

// resume goes on with a call whose newest checkpoint is c, if c is of this
// call.
func (r *run) resume(c *checkpoint.Checkpoint, call string) (bool, error) {
	ctl, err := readControl(c.Control)
	if err != nil {
		return false, err
	}
	r.journal.advance(r.ns, c.ID)
	if ctl.Call != call {
		return false, nil
	}
	if err := r.restore(c); err != nil {
		return false, err
	}
	r.goesOn = r.pending.begun()
	return true, nil
}

// beginCall starts the subgraph with the values that its task sees; one that
// remembers also with what its own channels held at the parent's checkpoint.
func (r *run) beginCall(call string) error {
	var own state.View
	if last := r.parent.run.front.aside().memory[r.g.memory]; last != "" && r.journal != nil {
		c, err := r.journal.get(r.ctx, checkpoint.Key{Thread: r.root.thread, Namespace: r.ns, ID: last})
		if err != nil {
			return fmt.Errorf("memory %q: %w", r.g.memory, err)
		}
		if err := r.restore(&c); err != nil {
			return err
		}
		own = r.view
		r.step++
	}
	r.pending, r.out, r.toParent, r.settles = nil, nil, nil, false
	r.view = r.g.schema.Import(own, r.parent.view())
	front, err := r.enter(r.view, &frontier{})
	if err != nil {
		return err
	}
	more := *front.aside()
	more.call, more.memory = call, r.front.aside().memory
	r.front = front
	r.front.put(more)
	return r.commit(nil, r.view, nil, &r.front, checkpoint.Input)
}

// storeParent encodes a write for the parent's graph.
func (r *run) storeParent(w state.Write) (storedParent, error) {
	outer := r.parent.run.g
	switch s := w.Signal().(type) {
	case gotoSignal:
		return storedParent{Goto: s.node}, nil
	case sendSignal:
		stored, err := outer.encodeSend(s.send)
		return storedParent{Send: &stored}, err
	case parentSignal:
		if r.parent.run.parent == nil {
			return storedParent{}, fmt.Errorf("%s: %w: the graph has no parent", s.Signal(), ErrSignal)
		}
		up, err := r.parent.run.storeParent(s.write)
		return storedParent{Up: &up}, err
	case nil:
		k, data, ok, err := outer.schema.EncodeWrite(w)
		if !ok {
			return storedParent{}, err
		}
		return storedParent{Write: &storedWrite{Channel: w.Channel(), Kind: k, Data: json.RawMessage(data)}}, nil
	default:
		return storedParent{}, fmt.Errorf("%s: %w", s.Signal(), ErrSignal)
	}
}

// parentWrite decodes what storeParent encoded.
func (r *run) parentWrite(s storedParent) (state.Write, error) {
	outer := r.parent.run.g
	switch {
	case s.Goto != "":
		return Goto(s.Goto), nil
	case s.Send != nil:
		out, err := outer.decodeSend(*s.Send)
		if err != nil {
			return state.Write{}, err
		}
		return state.NewSignal(sendSignal{out}), nil
	case s.Up != nil:
		w, err := r.parent.run.parentWrite(*s.Up)
		return ToParent(w), err
	case s.Write != nil:
		return outer.schema.DecodeWrite(s.Write.Channel, s.Write.Kind, s.Write.Data)
	}
	return state.Write{}, nil
}

// Subgraph returns the state of the subgraph that a task of the thread runs,
// for a task from [Snapshot.Tasks] which is not finished: its own channels, what
// is due in it and what it waits for. A subgraph within it is reached by the
// names of both tasks. A task that has no subgraph, or one that did not begin, is
// a [checkpoint.ErrNotFound].
func (t *Thread) Subgraph(ctx context.Context, tasks ...string) (*Snapshot, error) {
	s, err := t.subgraph(ctx, tasks)
	if err != nil {
		return nil, t.fail(err)
	}
	return s, nil
}

func (t *Thread) subgraph(ctx context.Context, tasks []string) (*Snapshot, error) {
	store, err := t.store()
	if err != nil {
		return nil, err
	}
	r := t.reader()
	c, err := store.Get(ctx, checkpoint.Key{Thread: t.id, ID: t.at})
	if err != nil {
		return nil, err
	}
	if err := r.load(&c); err != nil {
		return nil, err
	}
	for _, name := range tasks {
		if r, c, err = r.inner(ctx, store, name); err != nil {
			return nil, err
		}
	}
	return r.look(&c)
}

// inner loads the subgraph of one of the run's tasks.
func (r *run) inner(ctx context.Context, store checkpoint.Store, name string) (*run, checkpoint.Checkpoint, error) {
	none := checkpoint.Checkpoint{}
	due, err := r.tasks()
	if err != nil {
		return nil, none, err
	}
	var task *task
	for i := range due {
		if due[i].id() == name && due[i].node.sub != nil {
			task = &due[i]
		}
	}
	if task == nil {
		return nil, none, fmt.Errorf("no due task %q with a subgraph: %w", name, checkpoint.ErrNotFound)
	}
	in := &run{
		g: task.node.sub, root: r.root, parent: task, ctx: ctx, ns: task.namespace(),
		path: join2(r.path, task.id()), opts: task.node.sub.runOptions(RunOptions{}),
	}
	c, err := store.Get(ctx, checkpoint.Key{Thread: r.root.thread, Namespace: in.ns})
	if err != nil {
		return nil, none, fmt.Errorf("the subgraph of task %q: %w", name, err)
	}
	return in, c, in.restore(&c)
}
