package memcheckpoint

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// A thread holds the checkpoints of one thread. Its mutex guards every field. A
// thread that is marked as deleted is no longer in the store.
type thread struct {
	mu      sync.Mutex
	deleted bool
	created int64 // Unix time in nanoseconds
	updated int64 // Unix time in nanoseconds of the last Put

	history
	checkpoints int                      // the number of records that are not removed
	pending     map[int32]*pendingWrites // by the index of the record

	// byID has the indexes of the records that are not removed, ordered by id. It is nil if the ids ascend already, as the
	// ids of runs do.
	byID []int32
	// last is the index of the last record that is not removed, or none.
	last int32
	// newest has the index of the newest record of each namespace. It is nil if all records that are not removed have the
	// same namespace.
	newest map[string]int32
}

func newThread() *thread { return &thread{last: none} }

// put adds a checkpoint to the thread.
func (t *thread) put(c *checkpoint.Checkpoint, head string) error {
	newest := t.newestOf(c.Namespace)
	if existing := t.withID(c.ID); existing != none {
		if existing == newest && t.id(t.records.at(existing).parent) == c.Parent {
			return nil // the caller repeats its last Put
		}
		return idExists(c)
	}
	if newest == none && head != "" || newest != none && string(t.idOf(newest)) != head {
		return conflict(c, head, t.id(newest))
	}
	parent := int32(none)
	if c.Parent != "" {
		parent = t.find(checkpoint.Key{Namespace: c.Namespace, ID: c.Parent})
		if parent == none {
			return parentNotFound(c)
		}
	}
	previous := parent
	if c.Snapshot != nil { // a snapshot starts a lineage, which needs nothing before it
		previous = none
	}
	t.updated = max(t.updated, time.Now().UnixNano())
	if t.records.n == 0 {
		t.created = t.updated
	}
	r := record{parent: parent, previous: previous, label: t.newLabel(c, newest), step: c.Step, time: t.updated}
	t.setData(&r, c.ID, c.Changes, c.Snapshot)
	t.setControl(&r, c.Control, newest)
	t.addRecord(r)
	if c.Settles && parent != none {
		delete(t.pending, parent)
	}
	return nil
}

// addRecord appends a record to the thread. Unless it is removed, it becomes the newest of its
// namespace.
func (t *thread) addRecord(r record) {
	at := t.records.n
	t.records.add(r)
	if t.byID == nil && at > 0 && string(t.idOf(at)) <= string(t.idOf(at-1)) {
		t.byID = make([]int32, 0, at+1)
		for i := range at {
			if !t.records.at(i).removed {
				t.byID = append(t.byID, i)
			}
		}
	}
	if r.removed {
		return
	}
	t.checkpoints++
	if t.byID != nil {
		t.byID = slices.Insert(t.byID, t.search(t.id(at)), at)
	}
	namespace := t.labelOf(at).namespace
	if t.newest == nil && t.last != none && t.labelOf(t.last).namespace != namespace {
		t.newest = map[string]int32{t.labelOf(t.last).namespace: t.last}
	}
	if t.newest != nil {
		t.newest[namespace] = at
	}
	t.last = at
}

// search returns the place of an id in the order of the ids.
func (t *thread) search(id string) int {
	if t.byID != nil {
		return sort.Search(len(t.byID), func(i int) bool { return string(t.idOf(t.byID[i])) >= id })
	}
	if n := int(t.records.n); n == 0 || string(t.idOf(int32(n-1))) < id { // the usual case of a new checkpoint
		return n
	}
	return sort.Search(int(t.records.n), func(i int) bool { return string(t.idOf(int32(i))) >= id })
}

// withID returns the index of the checkpoint of any namespace with the id, or none.
func (t *thread) withID(id string) int32 {
	at := int32(t.search(id))
	if t.byID != nil {
		if int(at) == len(t.byID) {
			return none
		}
		at = t.byID[at]
	}
	if at < t.records.n && !t.records.at(at).removed && string(t.idOf(at)) == id {
		return at
	}
	return none
}

// newestOf returns the index of the newest checkpoint of a namespace, or none.
func (t *thread) newestOf(namespace string) int32 {
	if t.newest != nil {
		if at, ok := t.newest[namespace]; ok {
			return at
		}
		return none
	}
	if t.last != none && t.labelOf(t.last).namespace == namespace {
		return t.last
	}
	return none
}

// find returns the index of a checkpoint, or none. For an empty id, it returns the newest
// checkpoint of the namespace.
func (t *thread) find(k checkpoint.Key) int32 {
	if k.ID == "" {
		return t.newestOf(k.Namespace)
	}
	if at := t.withID(k.ID); at != none && t.labelOf(at).namespace == k.Namespace {
		return at
	}
	return none
}

// before returns the number of records that were stored before the checkpoint q.Before.
// It returns the number of all records if q.Before is empty.
func (t *thread) before(q *checkpoint.Query) (int32, error) {
	if q.Before == "" {
		return t.records.n, nil
	}
	limit := t.withID(q.Before)
	if limit == none {
		return 0, notFoundError{checkpoint.Key{Thread: q.Thread, ID: q.Before}}
	}
	return limit, nil
}

// listed returns the checkpoint with the id, as List yields it. It returns false if the
// checkpoint was removed.
func (t *thread) listed(q *checkpoint.Query, id string) (checkpoint.Checkpoint, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.withID(id)
	if at == none {
		return checkpoint.Checkpoint{}, false
	}
	c := t.checkpoint(q.Thread, at)
	if q.Writes {
		c.Writes = t.writes(at)
	}
	return c, true
}
