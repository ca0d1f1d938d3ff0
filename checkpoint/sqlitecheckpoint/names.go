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

// maxNames is how many names of either kind a store remembers.
const maxNames = 4096

// An origin is what the checkpoints of a run have in common. It is shared: its
// metadata is not changed.
type origin struct {
	run, version string
	metadata     map[string]string
}

func originOf(c *checkpoint.Checkpoint) origin {
	return origin{c.Run, c.Version, maps.Clone(c.Metadata)}
}

func (o *origin) of(c *checkpoint.Checkpoint) bool {
	return o.run == c.Run && o.version == c.Version && maps.Equal(o.metadata, c.Metadata)
}

// digest tells origins apart, and finds damage to one.
func (o *origin) digest() []byte {
	b := appendSized(nil, o.run)
	b = appendSized(b, o.version)
	for _, name := range slices.Sorted(maps.Keys(o.metadata)) {
		b = appendSized(b, name)
		b = appendSized(b, o.metadata[name])
	}
	sum := sha256.Sum256(b)
	return sum[:16]
}

// names remembers what keys of origins and namespaces stand for. As a key is
// never given twice, that stays true.
type names struct {
	mu         sync.Mutex
	origins    map[int64]*origin
	namespaces map[int64]string
}

func lookup[V any](n *names, m *map[int64]V, key int64, load func() (V, error)) (V, error) {
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
	originQuery    = `SELECT run, version, digest FROM cp_origin WHERE key = ?`
	labelsQuery    = `SELECT name, value FROM cp_label WHERE origin = ?`
	namespaceQuery = `SELECT name FROM cp_namespace WHERE key = ?`

	findOriginQuery    = `SELECT key FROM cp_origin WHERE thread = ? AND digest = ?`
	insertOrigin       = `INSERT INTO cp_origin (thread, digest, run, version) VALUES (?, ?, ?, ?)`
	insertLabel        = `INSERT INTO cp_label (origin, name, value) VALUES (?, ?, ?)`
	findNamespaceQuery = `SELECT key FROM cp_namespace WHERE thread = ? AND name = ?`
	insertNamespace    = `INSERT INTO cp_namespace (thread, name) VALUES (?, ?)`
	findThreadQuery    = `SELECT key FROM cp_thread WHERE id = ?`
	insertThread       = `INSERT INTO cp_thread (id, created) VALUES (?, ?)`
)

// origin returns what a key stands for.
func (n *names) origin(q *sqlitedb.Session, key int64) (*origin, error) {
	return lookup(n, &n.origins, key, func() (*origin, error) {
		o := &origin{}
		var digest []byte
		found, err := q.One(originQuery, []any{key}, &o.run, &o.version, &digest)
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
		if !found || !bytes.Equal(digest, o.digest()) {
			return nil, fmt.Errorf("its run, version or metadata: %w", checkpoint.ErrCorrupt)
		}
		return o, nil
	})
}

// namespace returns what a key stands for.
func (n *names) namespace(q *sqlitedb.Session, key int64) (string, error) {
	if key == 0 {
		return "", nil
	}
	return lookup(n, &n.namespaces, key, func() (string, error) {
		var name string
		found, err := q.One(namespaceQuery, []any{key}, &name)
		if err == nil && !found {
			err = fmt.Errorf("its namespace: %w", checkpoint.ErrCorrupt)
		}
		return name, err
	})
}

// findThread returns the key of a thread, and 0 if there is none.
func findThread(q *sqlitedb.Session, id string) (key int64, err error) {
	_, err = q.One(findThreadQuery, []any{id}, &key)
	return key, err
}

// findNamespace reports false if nothing was stored in the namespace.
func findNamespace(q *sqlitedb.Session, thread int64, name string) (key int64, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	found, err = q.One(findNamespaceQuery, []any{thread, name}, &key)
	return key, found, err
}

func enterNamespace(w *sqlitedb.Session, thread int64, name string) (int64, error) {
	key, found, err := findNamespace(w, thread, name)
	if err != nil || found {
		return key, err
	}
	return w.Insert(insertNamespace, thread, name)
}

func enterOrigin(w *sqlitedb.Session, thread int64, o *origin) (int64, error) {
	var key int64
	digest := o.digest()
	found, err := w.One(findOriginQuery, []any{thread, digest}, &key)
	if err != nil || found {
		return key, err
	}
	if key, err = w.Insert(insertOrigin, thread, digest, o.run, o.version); err != nil {
		return 0, err
	}
	for name, value := range o.metadata {
		if _, err := w.Exec(insertLabel, key, name, value); err != nil {
			return 0, err
		}
	}
	return key, nil
}
