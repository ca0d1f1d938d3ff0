package memcheckpoint

import (
	"slices"
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

	// records are in the order in which the store accepted them. The elements
	// are never replaced: removing records makes a new slice.
	records []*record
	pending map[*record]*pendingWrites

	// A short thread has no maps, because they would take most of its memory.
	byID   map[string]*record
	newest map[string]*record // by namespace
}

// A record is one stored checkpoint. The mutex of the thread guards parent,
// control and removed. The other fields never change, so they may be read without
// the lock. All data is in strings, which callers cannot alter.
type record struct {
	id       string
	parent   *record // the nearest ancestor that was not removed
	previous *record // the record before this one in the lineage, removed or not; nil if a lineage starts here
	label    *label
	step     int
	time     int64  // Unix time in nanoseconds
	control  string // as [checkpoint.Checkpoint.Control]
	changes  string // encoded
	snapshot string // encoded; empty if there is no snapshot
	removed  bool
}

// A label holds the fields that successive checkpoints of a namespace usually
// share. It never changes.
type label struct {
	namespace string
	source    checkpoint.Source
	run       string
	version   string
	metadata  pairs
}

func newThread() *thread {
	return &thread{created: time.Now().UnixNano(), records: make([]*record, 0, 4)}
}

// short is the maximum number of records in a thread that has no maps.
const short = 14

// put adds a checkpoint to the thread.
func (t *thread) put(c *checkpoint.Checkpoint, head string) error {
	newest := t.newestOf(c.Namespace)
	if existing := t.withID(c.ID); existing != nil {
		if existing == newest && existing.parentID() == c.Parent {
			return nil // the caller repeats its last Put
		}
		return idExists(c)
	}
	if newest.name() != head {
		return conflict(c, head, newest.name())
	}
	var parent *record
	if c.Parent != "" {
		parent = t.find(checkpoint.Key{Namespace: c.Namespace, ID: c.Parent})
		if parent == nil {
			return parentNotFound(c)
		}
	}
	previous := parent
	if c.Snapshot != nil { // a snapshot starts a lineage, which needs nothing before it
		previous = nil
	}
	t.updated = max(t.updated, t.created, time.Now().UnixNano())
	t.add(&record{
		id:       c.ID,
		parent:   parent,
		previous: previous,
		label:    newest.labelOf(c),
		step:     c.Step,
		time:     t.updated,
		control:  newest.controlOf(c),
		changes:  encode(c.Changes),
		snapshot: encode(c.Snapshot),
	})
	if c.Settles && parent != nil {
		delete(t.pending, parent)
	}
	return nil
}

// add appends a record to the thread and makes it the newest of its namespace.
func (t *thread) add(r *record) {
	t.records = append(t.records, r)
	if t.byID != nil {
		t.index(r)
	} else if len(t.records) > short {
		t.byID, t.newest = map[string]*record{}, map[string]*record{}
		t.index(t.records...)
	}
}

// index adds records to the maps.
func (t *thread) index(records ...*record) {
	for _, r := range records {
		t.byID[r.id] = r
		t.newest[r.label.namespace] = r
	}
}

// withID returns the record of any namespace with the id, or nil.
func (t *thread) withID(id string) *record {
	if t.byID != nil {
		return t.byID[id]
	}
	return t.last(func(r *record) bool { return r.id == id })
}

// newestOf returns the newest record of a namespace, or nil.
func (t *thread) newestOf(namespace string) *record {
	if t.newest != nil {
		return t.newest[namespace]
	}
	return t.last(func(r *record) bool { return r.label.namespace == namespace })
}

// last returns the last record that matches, or nil.
func (t *thread) last(matches func(*record) bool) *record {
	for _, r := range slices.Backward(t.records) {
		if matches(r) {
			return r
		}
	}
	return nil
}

// find returns the record of a checkpoint, or nil if there is none. For an empty id, it
// returns the newest record of the namespace.
func (t *thread) find(k checkpoint.Key) *record {
	if k.ID == "" {
		return t.newestOf(k.Namespace)
	}
	if r := t.withID(k.ID); r != nil && r.label.namespace == k.Namespace {
		return r
	}
	return nil
}

// before returns the records that were stored before the checkpoint q.Before, oldest first.
// It returns all records if q.Before is empty.
func (t *thread) before(q *checkpoint.Query) ([]*record, error) {
	if q.Before == "" {
		return t.records, nil
	}
	limit := t.withID(q.Before)
	if limit == nil {
		return nil, notFoundError{checkpoint.Key{Thread: q.Thread, ID: q.Before}}
	}
	return t.records[:slices.Index(t.records, limit)], nil
}

// listed returns the checkpoint that List yields for a record. It returns false if the
// query does not match the record or the record was removed.
func (t *thread) listed(q *checkpoint.Query, r *record) (checkpoint.Checkpoint, bool) {
	if !r.matches(q) {
		return checkpoint.Checkpoint{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.removed {
		return checkpoint.Checkpoint{}, false
	}
	c := t.checkpoint(q.Thread, r)
	if q.Writes {
		c.Writes = t.writes(r)
	}
	return c, true
}

// checkpoint returns the checkpoint of a record with the fields that List yields, but
// without its pending writes.
func (t *thread) checkpoint(thread string, r *record) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key:      checkpoint.Key{Thread: thread, Namespace: r.label.namespace, ID: r.id},
		Parent:   r.parentID(),
		Step:     r.step,
		Source:   r.label.source,
		Run:      r.label.run,
		Version:  r.label.version,
		Metadata: r.label.metadata.toMap(),
		Control:  append([]byte(nil), r.control...),
		Time:     time.Unix(0, r.time),
	}
}

// name returns the id of the record, and the empty string for nil.
func (r *record) name() string {
	if r == nil {
		return ""
	}
	return r.id
}

func (r *record) parentID() string { return r.parent.name() }

// labelOf returns the label of a new checkpoint. r is the newest record of the
// namespace, or nil. labelOf returns the label of r if the fields are equal.
func (r *record) labelOf(c *checkpoint.Checkpoint) *label {
	if r != nil {
		l := r.label
		same := l.metadata.equal(c.Metadata)
		if same && l.source == c.Source && l.run == c.Run && l.version == c.Version {
			return l
		}
		if same {
			return &label{namespace: l.namespace, source: c.Source, run: c.Run, version: c.Version, metadata: l.metadata}
		}
	}
	return &label{namespace: c.Namespace, source: c.Source, run: c.Run, version: c.Version, metadata: newPairs(c.Metadata)}
}

// controlOf returns the checkpoint's Control as a string. r is the newest record of the
// namespace, or nil. If r or its parent has an equal Control, controlOf returns that string,
// to save memory.
func (r *record) controlOf(c *checkpoint.Checkpoint) string {
	for range 2 {
		if r == nil {
			break
		}
		if r.control == string(c.Control) {
			return r.control
		}
		r = r.parent
	}
	return string(c.Control)
}

func (r *record) matches(q *checkpoint.Query) bool {
	l := r.label
	switch {
	case !q.AllNamespaces && l.namespace != q.Namespace,
		q.Source != "" && l.source != q.Source,
		q.Run != "" && l.run != q.Run,
		q.Step != nil && r.step != *q.Step:
		return false
	}
	for key, want := range q.Metadata {
		if got, ok := l.metadata.get(key); !ok || got != want {
			return false
		}
	}
	return true
}
