package sqlitecheckpoint

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// maxNames is the maximum number of cached origins, and of cached namespaces.
const maxNames = 4096

// An origin holds the fields that all checkpoints of a run share. Do not change its
// metadata, because checkpoints share the map.
type origin struct {
	thread       int64
	run, version string
	metadata     map[string]string
	digest       []byte // of run, version and metadata
}

func originOf(c *checkpoint.Checkpoint) *origin {
	o := &origin{run: c.Run, version: c.Version, metadata: maps.Clone(c.Metadata)}
	o.digest = o.sum()
	return o
}

// fits reports whether the checkpoint has this origin.
func (o *origin) fits(c *checkpoint.Checkpoint) bool {
	return o.run == c.Run && o.version == c.Version && maps.Equal(o.metadata, c.Metadata)
}

func (o *origin) sum() []byte {
	b := appendSized(nil, o.run)
	b = appendSized(b, o.version)
	for _, name := range slices.Sorted(maps.Keys(o.metadata)) {
		b = appendSized(b, name)
		b = appendSized(b, o.metadata[name])
	}
	sum := sha256.Sum256(b)
	return sum[:16]
}

// A namespace is a row of cp_namespace.
type namespace struct {
	thread int64
	name   string
}

// names caches origins and namespaces by key. An entry stays valid, because a key is never
// used twice.
type names struct {
	mu         sync.Mutex
	origins    map[int64]*origin
	namespaces map[int64]namespace
}

// cached returns the entry of a cache, and loads it if it is missing.
func cached[V any](n *names, m *map[int64]V, key int64, load func() (V, error)) (V, error) {
	n.mu.Lock()
	v, ok := (*m)[key]
	n.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := load()
	if err != nil {
		return v, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if *m == nil || len(*m) >= maxNames {
		*m = map[int64]V{}
	}
	(*m)[key] = v
	return v, nil
}

const (
	originQuery    = `SELECT thread, run, version, digest FROM cp_origin WHERE key = ?`
	labelsQuery    = `SELECT name, value FROM cp_label WHERE origin = ?`
	namespaceQuery = `SELECT thread, name FROM cp_namespace WHERE key = ?`

	findOriginQuery    = `SELECT key FROM cp_origin WHERE thread = ? AND digest = ?`
	insertOrigin       = `INSERT INTO cp_origin (thread, digest, run, version) VALUES (?, ?, ?, ?)`
	insertLabel        = `INSERT INTO cp_label (origin, name, value) VALUES (?, ?, ?)`
	findNamespaceQuery = `SELECT key FROM cp_namespace WHERE thread = ? AND name = ?`
	insertNamespace    = `INSERT INTO cp_namespace (thread, name) VALUES (?, ?)`
)

// origin returns the origin with the key, which must belong to the thread.
func (n *names) origin(q *sqlitedb.Session, thread, key int64) (*origin, error) {
	o, err := cached(n, &n.origins, key, func() (*origin, error) { return readOrigin(q, key) })
	if err == nil && o.thread != thread {
		err = fmt.Errorf("its run is of another thread: %w", checkpoint.ErrCorrupt)
	}
	return o, err
}

func readOrigin(q *sqlitedb.Session, key int64) (*origin, error) {
	o := &origin{}
	found, err := q.One(originQuery, []any{key}, &o.thread, &o.run, &o.version, &o.digest)
	if err != nil {
		return nil, err
	}
	err = q.Each(labelsQuery, []any{key}, func(scan func(...any) error) (bool, error) {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return false, err
		}
		if o.metadata == nil {
			o.metadata = map[string]string{}
		}
		o.metadata[name] = value
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if !found || !bytes.Equal(o.digest, o.sum()) {
		return nil, fmt.Errorf("its run, version or metadata: %w", checkpoint.ErrCorrupt)
	}
	return o, nil
}

// namespace returns the name of the namespace with the key, which must belong to
// the thread.
func (n *names) namespace(q *sqlitedb.Session, thread, key int64) (string, error) {
	if key == 0 {
		return "", nil
	}
	ns, err := cached(n, &n.namespaces, key, func() (namespace, error) {
		var ns namespace
		found, err := q.One(namespaceQuery, []any{key}, &ns.thread, &ns.name)
		if err == nil && !found {
			err = fmt.Errorf("its namespace: %w", checkpoint.ErrCorrupt)
		}
		return ns, err
	})
	if err == nil && ns.thread != thread {
		err = fmt.Errorf("its namespace is of another thread: %w", checkpoint.ErrCorrupt)
	}
	return ns.name, err
}

// findNamespace returns the key of a namespace, or false if the thread does not have it.
func findNamespace(q *sqlitedb.Session, thread int64, name string) (key int64, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	found, err = q.One(findNamespaceQuery, []any{thread, name}, &key)
	return key, found, err
}

// ensureNamespace returns the key of the namespace, and inserts it if it is
// missing.
func ensureNamespace(w *sqlitedb.Session, thread int64, name string) (int64, error) {
	key, found, err := findNamespace(w, thread, name)
	if err != nil || found {
		return key, err
	}
	return w.Insert(insertNamespace, thread, name)
}

// ensureOrigin returns the key of the origin, and inserts it if it is missing.
func ensureOrigin(w *sqlitedb.Session, thread int64, o *origin) (int64, error) {
	var key int64
	found, err := w.One(findOriginQuery, []any{thread, o.digest}, &key)
	if err != nil || found {
		return key, err
	}
	if key, err = w.Insert(insertOrigin, thread, o.digest, o.run, o.version); err != nil {
		return 0, err
	}
	for name, value := range o.metadata {
		if _, err := w.Exec(insertLabel, key, name, value); err != nil {
			return 0, err
		}
	}
	return key, nil
}
