package checkpointtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var modelCases = []testCase{
	{name: "model/puts_and_forks", promise: "after any sequence of puts, forks, writes and settlings every checkpoint has the state, parent and writes that a naive model says", run: func(k *kit) {
		for i := range uint64(3) {
			newModel(k, k.harness.Seed+i).play(150, false)
		}
	}},
	{name: "model/with_powers", promise: "also when checkpoints are pruned, runs deleted and threads copied on the way", run: func(k *kit) {
		for i := range uint64(3) {
			newModel(k, k.harness.Seed+i).play(150, true)
		}
	}},
}

// A model is what a store ought to hold: each checkpoint with its whole state,
// never shared with another.
type model struct {
	k      *kit
	random *rand.Rand
	seed   uint64
	thread string
	nodes  []*modelNode // in the order of the store
	made   int
}

type modelNode struct {
	put    checkpoint.Checkpoint
	state  []string
	writes map[string]checkpoint.Write
}

func newModel(k *kit, seed uint64) *model {
	return &model{k: k, random: rand.New(rand.NewPCG(seed, 2)), seed: seed, thread: fmt.Sprint("model", seed)}
}

func (m *model) play(moves int, powers bool) {
	m.k.Helper()
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
		if m.k.Failed() {
			m.k.Fatalf("seed %d, move %d", m.seed, i)
		}
	}
	m.check()
}

var modelSpaces = []string{"", "", "child"}

func (m *model) put() {
	c := m.next(modelSpaces[m.random.IntN(len(modelSpaces))])
	if err := m.k.store.Put(m.k.ctx, c, m.head(c.Namespace)); err != nil {
		m.k.Errorf("put %q: %v", c.ID, err)
		return
	}
	node := &modelNode{put: c, writes: map[string]checkpoint.Write{}}
	if parent := m.find(c.Parent); parent != nil {
		node.state = slices.Clone(parent.state)
		if c.Settles {
			clear(parent.writes)
		}
	}
	node.state = append(node.state, spell(c.Changes)...)
	if c.Snapshot != nil {
		node.state = spell(c.Snapshot)
	}
	m.nodes = append(m.nodes, node)
}

// next makes a checkpoint that mostly follows the newest of its namespace, and
// else forks from an older one or begins anew.
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
	family := m.space(namespace)
	if n := len(family); n > 0 && m.random.IntN(20) > 0 {
		parent := family[n-1]
		if m.random.IntN(4) == 0 {
			parent = family[m.random.IntN(n)]
		}
		c.Parent = parent.put.ID
		if m.random.IntN(8) == 0 {
			c.Snapshot = changes(append(slices.Clone(parent.state), fmt.Sprintf("snap=%d", m.made))...)
		}
	}
	return c
}

func (m *model) space(namespace string) []*modelNode {
	var found []*modelNode
	for _, n := range m.nodes {
		if n.put.Namespace == namespace {
			found = append(found, n)
		}
	}
	return found
}

func (m *model) head(namespace string) string {
	family := m.space(namespace)
	if len(family) == 0 {
		return ""
	}
	return family[len(family)-1].put.ID
}

// find returns nil if there is no such node.
func (m *model) find(id string) *modelNode {
	for _, n := range m.nodes {
		if n.put.ID == id {
			return n
		}
	}
	return nil
}

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
	m.k.write(n.put.Key, writes...)
}

// refused tries what must fail and change nothing.
func (m *model) refused() {
	c := m.next("")
	c.Settles = true
	m.made--
	if n := m.any(); n != nil && n.put.ID != m.head("") {
		m.k.wantErr("stale head", m.k.store.Put(m.k.ctx, c, n.put.ID), checkpoint.ErrConflict)
		c.ID, c.Parent = n.put.ID, ""
		m.k.wantErr("used id", m.k.store.Put(m.k.ctx, c, m.head("")), checkpoint.ErrConflict)
	}
	c = m.next("")
	m.made--
	c.Parent = "none"
	m.k.wantErr("missing parent", m.k.store.Put(m.k.ctx, c, m.head("")), checkpoint.ErrNotFound)
}

// repeat puts the newest once more.
func (m *model) repeat() {
	if n := m.find(m.head("")); n != nil {
		m.k.wantNoErr("repeated", m.k.store.Put(m.k.ctx, n.put, n.put.Parent))
	}
}

func (m *model) prune() {
	pruner, ok := m.k.store.(checkpoint.Pruner)
	if !ok {
		return
	}
	p := checkpoint.PrunePolicy{Threads: []string{m.thread}, KeepLast: m.random.IntN(12), KeepPending: m.random.IntN(2) == 0}
	got, err := pruner.Prune(m.k.ctx, p)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.k.wantNoErr("prune", err)
	newer := map[string]int{}
	keep := map[*modelNode]bool{}
	for _, n := range slices.Backward(m.nodes) {
		keep[n] = newer[n.put.Namespace] < max(p.KeepLast, 1) || p.KeepPending && len(n.writes) > 0
		newer[n.put.Namespace]++
	}
	if want := m.retain(func(n *modelNode) bool { return keep[n] }); got != want {
		m.k.Errorf("prune %+v: got %d removed want %d", p, got, want)
	}
}

func (m *model) deleteRun() {
	deleter, ok := m.k.store.(checkpoint.RunDeleter)
	n := m.any()
	if !ok || n == nil {
		return
	}
	err := deleter.DeleteRuns(m.k.ctx, m.thread, n.put.Run)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.k.wantNoErr("delete run", err)
	m.retain(func(other *modelNode) bool { return other.put.Run != n.put.Run })
}

// retain removes nodes and links those that stay to their nearest ancestor that
// stays. It returns how many went.
func (m *model) retain(stays func(*modelNode) bool) int {
	gone := map[string]*modelNode{}
	var kept []*modelNode
	for _, n := range m.nodes {
		if stays(n) {
			kept = append(kept, n)
		} else {
			gone[n.put.ID] = n
		}
	}
	for _, n := range kept {
		for gone[n.put.Parent] != nil {
			n.put.Parent = gone[n.put.Parent].put.Parent
		}
	}
	m.nodes = kept
	return len(gone)
}

// copy goes on with a copy of the thread.
func (m *model) copy() {
	copier, ok := m.k.store.(checkpoint.ThreadCopier)
	if !ok || len(m.nodes) == 0 {
		return
	}
	target := m.thread + "'"
	err := copier.CopyThread(m.k.ctx, m.thread, target)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.k.wantNoErr("copy", err)
	if err == nil && m.random.IntN(2) == 0 {
		m.k.wantNoErr("delete the source", m.k.store.DeleteThread(m.k.ctx, m.thread))
	}
	m.thread = target
	for _, n := range m.nodes {
		n.put.Thread = target
	}
}

// check compares everything that can be read.
func (m *model) check() {
	m.k.Helper()
	var all []checkpoint.Checkpoint
	for _, n := range m.nodes {
		all = append(all, n.put)
		m.checkNode(n)
	}
	m.k.wantList(checkpoint.Query{Thread: m.thread, AllNamespaces: true}, newestFirst(all)...)
	for _, namespace := range slices.Compact(slices.Clone(modelSpaces)) {
		key := checkpoint.Key{Thread: m.thread, Namespace: namespace}
		head := m.head(namespace)
		if head == "" {
			m.k.wantMissing(key)
			continue
		}
		if got := m.k.get(key); got.ID != head {
			m.k.Errorf("newest of %+v: got %q want %q", key, got.ID, head)
		}
	}
}

func (m *model) checkNode(n *modelNode) {
	m.k.Helper()
	got := m.k.get(n.put.Key)
	m.k.wantSame(got, n.put)
	if built := state(got.Lineage); !slices.Equal(built, n.state) {
		m.k.Errorf("state of %q: got %q want %q", n.put.ID, built, n.state)
	}
	want := slices.SortedFunc(maps.Values(n.writes), func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	m.k.wantWrites("writes of "+n.put.ID, got.Writes, want...)
}
