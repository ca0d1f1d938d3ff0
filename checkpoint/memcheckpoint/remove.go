package memcheckpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Prune implements [checkpoint.Pruner].
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	threads := p.Threads
	if threads == nil {
		threads = s.threadIDs("")
	}
	var done checkpoint.PruneProgress
	for i, id := range threads {
		if err := ctx.Err(); err != nil {
			return done.Checkpoints, err
		}
		deleted := false
		done.Checkpoints += s.remove(id, func(t *thread) []bool {
			if deleted = !s.held(id) && t.idle(&p); deleted {
				return t.dropped(func(int32) bool { return true })
			}
			if p.OnlyDeletes() {
				return make([]bool, t.records.n)
			}
			return t.expired(&p)
		})
		if deleted {
			done.Threads++
		}
		if p.Progress != nil && (i+1)%progressEvery == 0 {
			p.Progress(done)
		}
	}
	if p.Progress != nil {
		p.Progress(done)
	}
	return done.Checkpoints, ctx.Err()
}

// progressEvery is the number of threads after which Prune reports its progress.
const progressEvery = 1000

// held reports whether a run has a lease of the thread.
func (s *Store) held(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.leases[id] != nil
}

// idle reports whether the policy deletes the thread.
func (t *thread) idle(p *checkpoint.PrunePolicy) bool {
	pending := false
	for at := range t.pending {
		pending = pending || t.newestOf(t.labelOf(at).namespace) == at
	}
	return p.Deletes(time.Since(time.Unix(0, t.updated)), pending)
}

// DeleteRuns implements [checkpoint.RunDeleter].
func (s *Store) DeleteRuns(ctx context.Context, id string, runs ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("memcheckpoint: delete runs: empty thread id: %w", checkpoint.ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("memcheckpoint: delete runs of thread %q: empty run id: %w", id, checkpoint.ErrInvalid)
	}
	s.remove(id, func(t *thread) []bool {
		return t.dropped(func(at int32) bool { return slices.Contains(runs, t.labelOf(at).run) })
	})
	return nil
}

// remove removes the checkpoints of a thread that the function drop selects, by index. It removes
// the thread when no checkpoint is left. It returns the number of removed checkpoints.
func (s *Store) remove(id string, drop func(*thread) []bool) int {
	t := s.lock(id, false)
	if t == nil {
		return 0
	}
	defer t.mu.Unlock()
	n := t.sweep(drop(t))
	if t.checkpoints == 0 {
		t.deleted = true
		s.mu.Lock()
		delete(s.threads, id)
		s.mu.Unlock()
	}
	return n
}

// dropped returns, for each record, whether it is a checkpoint for which drop returns true.
func (t *thread) dropped(drop func(at int32) bool) []bool {
	out := make([]bool, t.records.n)
	for at := range out {
		out[at] = !t.records.at(int32(at)).removed && drop(int32(at))
	}
	return out
}

// expired returns, for each record, whether it is a checkpoint that the policy does not keep.
func (t *thread) expired(p *checkpoint.PrunePolicy) []bool {
	now := time.Now()
	newer := map[string]int{} // the number of newer checkpoints, by namespace
	drop := make([]bool, t.records.n)
	for at, r := range t.records.backward() {
		if r.removed {
			continue
		}
		namespace := t.labelOf(at).namespace
		drop[at] = !p.Keeps(newer[namespace], now.Sub(time.Unix(0, r.time)), t.pending[at] != nil)
		newer[namespace]++
	}
	resumable := map[string]bool{}
	for namespace := range newer {
		resumable[namespace] = t.resumable(namespace, drop)
	}
	return t.dropped(func(at int32) bool { return drop[at] || !resumable[t.labelOf(at).namespace] })
}

// resumable reports whether a run can still resume from the checkpoints of a
// namespace. It cannot resume a call of a subgraph when the checkpoint at which
// the call was made is dropped, or belongs to a call that cannot be resumed.
func (t *thread) resumable(namespace string, drop []bool) bool {
	for {
		caller, id, ok := checkpoint.CalledAt(namespace)
		if !ok {
			return true
		}
		at := t.find(checkpoint.Key{Namespace: caller, ID: id})
		if id == "" || at == none || drop[at] {
			return false
		}
		namespace = caller
	}
}

// sweep removes the checkpoints that drop selects, and returns their number. The new
// history has the other checkpoints, and the records that their lineages need.
func (t *thread) sweep(drop []bool) int {
	n, needed := 0, make([]bool, len(drop))
	for at, r := range t.records.backward() {
		if drop[at] {
			n++
		}
		needed[at] = needed[at] || !r.removed && !drop[at]
		if needed[at] && r.previous != none {
			needed[r.previous] = true
		}
	}
	if n == 0 {
		return 0
	}
	old, pending := t.history, t.pending
	t.history, t.pending, t.byID, t.last, t.newest, t.checkpoints = history{}, nil, nil, none, nil, 0
	labels := newLabels(&old)
	parents, moved := make([]int32, len(drop)), make([]int32, len(drop))
	for at := range old.records.n {
		r := *old.records.at(at)
		// A record comes after its parent, so the new parent of a dropped record is known.
		parents[at] = r.parent
		if r.parent != none && drop[r.parent] {
			parents[at] = parents[r.parent]
		}
		moved[at] = none
		if !needed[at] {
			continue
		}
		moved[at] = t.records.n
		if writes := pending[at]; writes != nil && !drop[at] {
			if t.pending == nil {
				t.pending = map[int32]*pendingWrites{}
			}
			t.pending[moved[at]] = writes
		}
		r = t.moved(&old, at, drop[at], parents[at], moved)
		r.label = labels.move(&t.history, &r)
		t.addRecord(r)
	}
	return n
}

// moved returns a copy of a record of an old history, and adds the data of the record to the history
// of the thread. The argument moved maps old indexes of records to new ones.
func (t *thread) moved(old *history, at int32, drop bool, parent int32, moved []int32) record {
	r := *old.records.at(at)
	r.parent, r.removed = none, r.removed || drop
	if r.previous != none {
		r.previous = moved[r.previous]
	}
	r.data = t.add(old.read(r.data, 0, int(r.idSize)+r.changesSize+r.snapshotSize))
	if r.removed { // only lineages use a removed record
		r.control, r.controlSize = position{}, 0
		return r
	}
	if parent != none {
		r.parent = moved[parent]
	}
	t.setControl(&r, old.controlOf(at), t.newestOf(old.labelOf(at).namespace))
	return r
}

// A labelMove maps the labels of an old history to the labels of a new one. A label without a
// remaining record is dropped.
type labelMove struct {
	old     []label
	kept    map[int32]int32             // by the old label of a checkpoint
	removed map[checkpoint.Source]int32 // for records of removed checkpoints
}

func newLabels(old *history) *labelMove {
	return &labelMove{old: old.labels, kept: map[int32]int32{}, removed: map[checkpoint.Source]int32{}}
}

// move returns the index of the label of a moved record, and adds the label to the new history if
// necessary. The label of a removed record has only the source, which lineages need.
func (m *labelMove) move(h *history, r *record) int32 {
	l := m.old[r.label]
	at, ok := m.kept[r.label]
	if r.removed {
		at, ok = m.removed[l.source]
		l = label{source: l.source}
	}
	if ok {
		return at
	}
	at = int32(len(h.labels))
	h.labels = append(h.labels, l)
	if r.removed {
		m.removed[l.source] = at
	} else {
		m.kept[r.label] = at
	}
	return at
}
