package checkpointtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

var modelCases = []testCase{
	{name: "model/puts_and_forks", promise: "after random puts, forks, pending writes and settled writes the store agrees with a reference model", run: func(f *fixture) {
		for i := range uint64(3) {
			newModel(f, f.harness.Seed+i).play(150, false)
		}
	}},
	{name: "model/with_powers", needs: needsChanges, promise: "after random calls that also prune, delete runs and copy threads the store agrees with a reference model", run: func(f *fixture) {
		for i := range uint64(3) {
			newModel(f, f.harness.Seed+i).play(150, true)
		}
	}},
}

// A model is a reference implementation of one thread of a store. Each checkpoint
// has its whole state and shares nothing with another checkpoint.
type model struct {
	f      *fixture
	random *rand.Rand
	seed   uint64
	thread string
	nodes  []*modelNode    // in the order of the store
	spaces map[string]bool // every namespace that was ever used
	made   int
}

type modelNode struct {
	put checkpoint.Checkpoint
	// caller is the checkpoint at which the subgraph was called. It is nil if the namespace
	// does not belong to one call.
	caller *modelNode
	state  []string
	writes map[string]checkpoint.Write
}

func newModel(f *fixture, seed uint64) *model {
	return &model{f: f, random: rand.New(rand.NewPCG(seed, 2)), seed: seed, thread: fmt.Sprint("model", seed), spaces: map[string]bool{}}
}

// play makes random calls to the store and to the model, and compares the two. It
// calls the methods of optional interfaces only if powers is set.
func (m *model) play(moves int, powers bool) {
	m.f.Helper()
	for i := range moves {
		switch n := m.random.IntN(100); {
		case n < 60:
			m.put()
		case n < 75:
			m.write()
		case n < 85:
			m.refused()
		case n < 90 && powers:
			m.prune()
		case n < 95 && powers:
			m.deleteRun()
		case n < 97 && powers:
			m.copy()
		default:
			m.repeat()
		}
		if i%10 == 9 {
			m.check()
		}
		if m.f.Failed() {
			m.f.Fatalf("seed %d, move %d", m.seed, i)
		}
	}
	m.check()
}

// namespace chooses the namespace of the next checkpoint and, if it belongs to one
// call of a subgraph, the checkpoint at which the subgraph was called.
func (m *model) namespace() (string, *modelNode) {
	caller := m.any()
	switch n := m.random.IntN(20); {
	case n < 10 || caller == nil:
		return "", nil
	case n < 14:
		return "child", nil
	case n < 16:
		return "~memory", nil
	case n < 18 || strings.Count(caller.put.Namespace, "/") > 1:
		return caller.put.Namespace, caller.caller
	case caller.put.Namespace == "":
		return "sub@" + caller.put.ID, caller
	default:
		return caller.put.Namespace + "/sub@" + caller.put.ID, caller
	}
}

func (m *model) put() {
	namespace, caller := m.namespace()
	c := m.next(namespace)
	if err := m.f.store.Put(m.f.ctx, c, m.head(c.Namespace)); err != nil {
		m.f.Errorf("put %q: %v", c.ID, err)
		return
	}
	m.spaces[namespace] = true
	node := &modelNode{put: c, caller: caller, writes: map[string]checkpoint.Write{}}
	if parent := m.find(c.Parent); parent != nil {
		node.state = slices.Clone(parent.state)
		if c.Settles {
			clear(parent.writes)
		}
	}
	node.state = append(node.state, pairsOf(c.Changes)...)
	if c.Snapshot != nil {
		node.state = pairsOf(c.Snapshot)
	}
	m.nodes = append(m.nodes, node)
}

// next returns a checkpoint that usually follows the newest one of its namespace.
// Sometimes it forks from an older checkpoint or has no parent.
func (m *model) next(namespace string) checkpoint.Checkpoint {
	m.made++
	c := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: m.thread, Namespace: namespace, ID: uuid(m.made)},
		Step:    m.made,
		Source:  []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Edited, checkpoint.Fork}[m.random.IntN(4)],
		Run:     fmt.Sprint("run", m.made/6),
		Version: fmt.Sprint("v", m.made/30),
		Control: fmt.Appendf(nil, "control %d", m.random.IntN(40)),
		Settles: m.random.IntN(2) == 0,
	}
	if m.made%5 == 0 {
		c.ID = fmt.Sprint("text id ", m.made)
	}
	for i := range m.random.IntN(4) {
		c.Changes = append(c.Changes, changes(fmt.Sprintf("ch%d=%d.%d", m.random.IntN(12), m.made, i))...)
	}
	nodes := m.inNamespace(namespace)
	if n := len(nodes); n > 0 && m.random.IntN(20) > 0 {
		parent := nodes[n-1]
		if m.random.IntN(4) == 0 {
			parent = nodes[m.random.IntN(n)]
		}
		c.Parent = parent.put.ID
		if m.random.IntN(8) == 0 {
			c.Snapshot = changes(append(slices.Clone(parent.state), fmt.Sprintf("snap=%d", m.made))...)
		}
	}
	return c
}

func (m *model) inNamespace(namespace string) []*modelNode {
	var found []*modelNode
	for _, n := range m.nodes {
		if n.put.Namespace == namespace {
			found = append(found, n)
		}
	}
	return found
}

func (m *model) head(namespace string) string {
	nodes := m.inNamespace(namespace)
	if len(nodes) == 0 {
		return ""
	}
	return nodes[len(nodes)-1].put.ID
}

// find returns the node of the checkpoint with the id, or nil if there is none.
func (m *model) find(id string) *modelNode {
	for _, n := range m.nodes {
		if n.put.ID == id {
			return n
		}
	}
	return nil
}

// any returns a random node, and nil if there is none.
func (m *model) any() *modelNode {
	if len(m.nodes) == 0 {
		return nil
	}
	return m.nodes[m.random.IntN(len(m.nodes))]
}

func (m *model) write() {
	n := m.any()
	if n == nil {
		return
	}
	var writes []checkpoint.Write
	for range 1 + m.random.IntN(3) {
		w := write(fmt.Sprint("task", m.random.IntN(3)), m.random.IntN(3)-1, fmt.Sprint(m.random.IntN(1000)))
		writes = append(writes, w)
		n.writes[fmt.Sprint(w.Task, w.Index)] = w
	}
	m.f.write(n.put.Key, writes...)
}

// refused makes calls that must fail and change nothing.
func (m *model) refused() {
	c := m.next("")
	c.Settles = true
	m.made--
	if n := m.any(); n != nil && n.put.ID != m.head("") {
		m.f.wantErr("stale head", m.f.store.Put(m.f.ctx, c, n.put.ID), checkpoint.ErrConflict)
		c.ID, c.Parent = n.put.ID, ""
		m.f.wantErr("used id", m.f.store.Put(m.f.ctx, c, m.head("")), checkpoint.ErrConflict)
	}
	c = m.next("")
	m.made--
	c.Parent = "none"
	m.f.wantErr("missing parent", m.f.store.Put(m.f.ctx, c, m.head("")), checkpoint.ErrNotFound)
}

// repeat puts the newest checkpoint again.
func (m *model) repeat() {
	if n := m.find(m.head("")); n != nil {
		m.f.wantNoErr("repeated", m.f.store.Put(m.f.ctx, n.put, n.put.Parent))
	}
}

func (m *model) prune() {
	pruner, ok := m.f.store.(checkpoint.Pruner)
	if !ok {
		return
	}
	p := checkpoint.PrunePolicy{Threads: []string{m.thread}, KeepLast: m.random.IntN(12), KeepPending: m.random.IntN(2) == 0}
	got, err := pruner.Prune(m.f.ctx, p)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.f.wantNoErr("prune", err)
	newer := map[string]int{}
	keep := map[*modelNode]bool{}
	for _, n := range slices.Backward(m.nodes) {
		keep[n] = newer[n.put.Namespace] < max(p.KeepLast, 1) || p.KeepPending && len(n.writes) > 0
		newer[n.put.Namespace]++
	}
	// Remove the calls of removed callers. A caller precedes the checkpoints of its calls. A
	// caller that was removed earlier is not in the map.
	for _, n := range m.nodes {
		keep[n] = keep[n] && (n.caller == nil || keep[n.caller])
	}
	if want := m.retain(func(n *modelNode) bool { return keep[n] }); got != want {
		m.f.Errorf("prune %+v: got %d removed want %d", p, got, want)
	}
}

func (m *model) deleteRun() {
	deleter, ok := m.f.store.(checkpoint.RunDeleter)
	n := m.any()
	if !ok || n == nil {
		return
	}
	err := deleter.DeleteRuns(m.f.ctx, m.thread, n.put.Run)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.f.wantNoErr("delete run", err)
	m.retain(func(other *modelNode) bool { return other.put.Run != n.put.Run })
}

// retain removes every node for which keep returns false. The parent of a kept
// node becomes its nearest kept ancestor. retain returns the number of removed
// nodes.
func (m *model) retain(keep func(*modelNode) bool) int {
	removed := map[string]*modelNode{}
	var kept []*modelNode
	for _, n := range m.nodes {
		if keep(n) {
			kept = append(kept, n)
		} else {
			removed[n.put.ID] = n
		}
	}
	for _, n := range kept {
		for removed[n.put.Parent] != nil {
			n.put.Parent = removed[n.put.Parent].put.Parent
		}
	}
	m.nodes = kept
	return len(removed)
}

// copy copies the thread and continues with the copy.
func (m *model) copy() {
	copier, ok := m.f.store.(checkpoint.ThreadCopier)
	if !ok || len(m.nodes) == 0 {
		return
	}
	target := m.thread + "'"
	err := copier.CopyThread(m.f.ctx, m.thread, target)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.f.wantNoErr("copy", err)
	if err == nil && m.random.IntN(2) == 0 {
		m.f.wantNoErr("delete the source", m.f.store.DeleteThread(m.f.ctx, m.thread))
	}
	m.thread = target
	for _, n := range m.nodes {
		n.put.Thread = target
	}
}

// check compares everything that the store returns with the model.
func (m *model) check() {
	m.f.Helper()
	var all []checkpoint.Checkpoint
	for _, n := range m.nodes {
		all = append(all, n.put)
		m.checkNode(n)
	}
	m.f.wantList(checkpoint.Query{Thread: m.thread, AllNamespaces: true}, reversed(all)...)
	for namespace := range m.spaces {
		key := checkpoint.Key{Thread: m.thread, Namespace: namespace}
		head := m.head(namespace)
		if head == "" {
			m.f.wantMissing(key)
			continue
		}
		if got := m.f.get(key); got.ID != head {
			m.f.Errorf("newest of %+v: got %q want %q", key, got.ID, head)
		}
	}
}

func (m *model) checkNode(n *modelNode) {
	m.f.Helper()
	got := m.f.get(n.put.Key)
	m.f.wantSame(got, n.put)
	if built := state(got.Lineage); !slices.Equal(built, n.state) {
		m.f.Errorf("state of %q: got %q want %q", n.put.ID, built, n.state)
	}
	want := slices.SortedFunc(maps.Values(n.writes), func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	m.f.wantWrites("writes of "+n.put.ID, got.Writes, want...)
}
