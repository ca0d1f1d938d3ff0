package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint/internal/lineage"
)

// Prune implements [Pruner].
func (m *Memory) Prune(ctx context.Context, p PrunePolicy) (int, error) {
	threads := p.Threads
	if threads == nil {
		threads = m.threadIDs("")
	}
	removed := 0
	for _, id := range threads {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		removed += m.remove(id, func(l *memoryLog) []bool { return l.outdated(&p, time.Now()) })
	}
	return removed, ctx.Err()
}

// DeleteRuns implements [RunDeleter].
func (m *Memory) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if thread == "" {
		return fmt.Errorf("checkpoint: delete runs: empty thread id: %w", ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("checkpoint: delete runs of thread %q: empty run id: %w", thread, ErrInvalid)
	}
	m.remove(thread, func(l *memoryLog) []bool { return l.ofRuns(runs) })
	return nil
}

// remove removes what the function marks from a thread, and the thread when
// nothing is left of it. It returns how many checkpoints went.
func (m *Memory) remove(thread string, mark func(*memoryLog) []bool) int {
	t := m.thread(thread)
	if t == nil {
		return 0
	}
	n, gone := t.remove(mark)
	if gone {
		m.drop(thread, t)
	}
	return n
}

func (t *memoryThread) remove(mark func(*memoryLog) []bool) (n int, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	marked := mark(t.log)
	for _, m := range marked {
		if m {
			n++
		}
	}
	switch n {
	case 0:
	case t.log.len():
		t.end()
	default:
		t.replace(t.log.without(marked))
	}
	return n, t.gone
}

// outdated marks what the policy does not keep.
func (l *memoryLog) outdated(p *PrunePolicy, now time.Time) []bool {
	marked := make([]bool, l.len())
	newer := map[*memorySpace]int{}
	for i := range slices.Backward(marked) {
		h := l.header(i)
		space := l.shared[h.shared].space
		_, pending := l.writes[i]
		marked[i] = !p.Keeps(newer[space], now.Sub(l.time(h.at)), pending)
		newer[space]++
	}
	return marked
}

func (l *memoryLog) ofRuns(runs []string) []bool {
	marked := make([]bool, l.len())
	for i := range marked {
		marked[i] = slices.Contains(runs, l.shared[l.header(i).shared].runID())
	}
	return marked
}

// without returns a log of the records that are not marked. Those that were
// built on marked ones get them as their base.
func (l *memoryLog) without(marked []bool) *memoryLog {
	nodes := make([]lineage.Node, l.len())
	for i := range nodes {
		h := l.header(i)
		whole := h.flags&recordSnapshot != 0 || l.bases[i].whole
		nodes[i] = lineage.Node{Parent: h.parent, Whole: whole, Remove: marked[i]}
	}
	grafts := lineage.Grafts(nodes)
	kept := newMemoryLog()
	kept.created = l.created
	moved := make([]int, l.len()) // the new index of each record
	for i := range nodes {
		if marked[i] {
			continue
		}
		parent, base := nodes[i].Parent, l.bases[i]
		if len(grafts) > 0 && grafts[0].Node == i {
			parent, base = grafts[0].Parent, l.grafted(grafts[0])
			grafts = grafts[1:]
		}
		if parent >= 0 {
			parent = moved[parent]
		}
		moved[i] = kept.len()
		kept.take(l, i, memoryPlace{parent: parent, base: base})
	}
	return kept
}

// take adds a record of another log.
func (l *memoryLog) take(from *memoryLog, i int, p memoryPlace) {
	c := from.checkpoint("", i)
	from.fillValues(&c, i)
	p.at = from.header(i).at
	if w := from.writes[i]; w != nil {
		l.putWrites(l.len(), w.list)
	}
	p.id = newMemoryID(c.ID)
	l.add(&c, &p)
}

// grafted returns the base of a record whose ancestors go.
func (l *memoryLog) grafted(g lineage.Graft) memoryBase {
	own := l.bases[g.Node]
	if len(g.Through) == 0 {
		return own
	}
	var deltas []Delta
	for _, i := range g.Through {
		deltas = append(deltas, l.part(i)...)
	}
	if own.frame != nil {
		deltas = append(deltas, own.deltas()...)
	}
	return memoryBase{frame: AppendDeltas(nil, deltas), whole: deltas[0].Snapshot}
}
