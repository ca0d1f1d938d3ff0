package memcheckpoint

import (
	"hash/maphash"
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

	// A short thread has no maps, because they would take most of its memory.
	byID   map[uint64]int32 // by the hash of the id, or by the next free number if ids have equal hashes
	newest map[string]int32 // by namespace
}

func newThread() *thread {
	return &thread{created: time.Now().UnixNano(), history: history{records: make([]record, 0, 3)}}
}

// short is the maximum number of records in a thread that has no maps.
const short = 14

// seed is the seed of the hashes of ids.
var seed = maphash.MakeSeed()

// put adds a checkpoint to the thread.
func (t *thread) put(c *checkpoint.Checkpoint, head string) error {
	newest := t.newestOf(c.Namespace)
	if existing := t.withID(c.ID); existing != none {
		if existing == newest && t.id(t.records[existing].parent) == c.Parent {
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
	t.updated = max(t.updated, t.created, time.Now().UnixNano())
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
	t.records = append(t.records, r)
	if !r.removed {
		t.checkpoints++
	}
	at := int32(len(t.records) - 1)
	if t.byID == nil {
		if len(t.records) <= short {
			return
		}
		t.byID, t.newest = map[uint64]int32{}, map[string]int32{}
		at = 0
	}
	for ; int(at) < len(t.records); at++ {
		t.index(at)
	}
}

// index adds a record to the maps.
func (t *thread) index(at int32) {
	if t.records[at].removed {
		return
	}
	t.newest[t.labelOf(at).namespace] = at
	hash := maphash.Bytes(seed, t.idOf(at))
	for {
		if _, taken := t.byID[hash]; !taken {
			t.byID[hash] = at
			return
		}
		hash++ // two ids have this hash
	}
}

// withID returns the index of the checkpoint of any namespace with the id, or none.
func (t *thread) withID(id string) int32 {
	if t.byID == nil {
		return t.last(func(at int32) bool { return string(t.idOf(at)) == id })
	}
	for hash := maphash.String(seed, id); ; hash++ {
		at, ok := t.byID[hash]
		if !ok {
			return none
		}
		if string(t.idOf(at)) == id {
			return at
		}
	}
}

// newestOf returns the index of the newest checkpoint of a namespace, or none.
func (t *thread) newestOf(namespace string) int32 {
	if t.newest == nil {
		return t.last(func(at int32) bool { return t.labelOf(at).namespace == namespace })
	}
	if at, ok := t.newest[namespace]; ok {
		return at
	}
	return none
}

// last returns the index of the last checkpoint that matches, or none.
func (t *thread) last(matches func(at int32) bool) int32 {
	for at := int32(len(t.records) - 1); at >= 0; at-- {
		if !t.records[at].removed && matches(at) {
			return at
		}
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
		return int32(len(t.records)), nil
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
