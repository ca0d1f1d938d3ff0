package sqlitememory

import (
	"context"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Delete implements [driver.DocumentStore]. The first transaction removes the sources, so that
// readers no longer see them; its time grows with their number. Further transactions remove the
// chunks. Each of these ends after about 30 ms, so that other writers can write in between. Delete
// returns when no chunk is left. If it is interrupted, the next [Open] removes the rest. Removed
// data is overwritten in the file. If the query selects by scope alone, Delete also removes the
// data from the write-ahead log; see [ErrInUse].
func (k *documentStore) Delete(ctx context.Context, q driver.SourceQuery) (int, error) {
	var keys []int64
	err := k.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		keys, err = hideSources(w, &q)
		return err
	})
	whole := len(q.URIs) == 0 && q.Prefix == "" && len(q.Where) == 0 && !q.Trusted
	if err == nil && (whole || len(keys) > 0) {
		left := keys
		if whole {
			left = nil // also remove the remaining chunks of an interrupted call
		}
		err = k.db.sweepSources(ctx, left)
	}
	if err == nil && whole {
		err = k.db.sql.Empty(ctx)
	}
	if err != nil {
		return len(keys), k.db.fail("delete", err)
	}
	return len(keys), nil
}

const (
	hideQuery = `INSERT INTO mem_source_dead (source, secret) SELECT f.key, c.secret
		FROM json_each(?) j CROSS JOIN mem_source f ON f.key = j.value CROSS JOIN mem_source_scope c ON c.key = f.scope`
	dropSources = `DELETE FROM mem_source WHERE key IN (SELECT value FROM json_each(?))`
	dropScopes  = `DELETE FROM mem_source_scope WHERE key IN (SELECT value FROM json_each(?))
		AND NOT EXISTS (SELECT 1 FROM mem_source f WHERE f.scope = mem_source_scope.key)`
)

// hideSources removes sources, and scopes that have no other sources, but not the chunks. It
// returns the keys of the sources.
func hideSources(w *sqlitedb.Session, q *driver.SourceQuery) (keys []int64, err error) {
	sel, err := sourceSelection(w, q)
	if err != nil || sel.none {
		return nil, err
	}
	scopes := map[int64]bool{}
	err = w.Each(`SELECT f.key, f.scope, f.metadata FROM mem_source f WHERE `+sel.text, sel.args, func(scan func(...any) error) (bool, error) {
		var key, scope int64
		var metadata []byte
		err := scan(&key, &scope, &metadata)
		if err == nil && sel.holds(metadata) {
			scopes[scope] = true
			keys = append(keys, key)
		}
		return true, err
	})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	left := make([]int64, 0, len(scopes))
	for scope := range scopes {
		left = append(left, scope)
	}
	for _, change := range []struct {
		query string
		keys  []int64
	}{{hideQuery, keys}, {dropSources, keys}, {dropScopes, left}} {
		if _, err := w.Exec(change.query, listOf(change.keys)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

const (
	// slice is the time after which a transaction of a sweep ends. rest is the pause after it, for
	// other writers. Other processes poll for the lock, so the pause must not be too short.
	slice = 30 * time.Millisecond
	rest  = 15 * time.Millisecond
	// sweepRows is the number of chunks that are removed between two checks of the time.
	sweepRows = 32
)

// sweepSources removes the chunks of removed sources: of the sources with the given keys, or of all
// if keys is nil.
func (d *DB) sweepSources(ctx context.Context, keys []int64) error {
	for {
		var s sweeping
		err := d.sql.Change(ctx, func(w *sqlitedb.Session) error {
			s = sweeping{Session: w, keys: keys, all: keys == nil}
			return s.slice(ctx)
		})
		if err != nil || s.done {
			return err
		}
		keys = s.keys
		pause := time.NewTimer(rest)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// finish removes chunks that an interrupted Delete has left. It ignores errors: the next Open, or
// the next Delete of a scope, tries again.
func (d *DB) finish(ctx context.Context) {
	left := false
	err := d.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
		var one int
		left, err = q.One(`SELECT 1 FROM mem_source_dead LIMIT 1`, nil, &one)
		return err
	})
	if err == nil && left {
		_ = d.sweepSources(ctx, nil)
	}
}

// A sweeping is one transaction of a sweep.
type sweeping struct {
	*sqlitedb.Session
	keys []int64 // the keys of the remaining sources, the next one first
	all  bool    // sweep all removed sources after these
	done bool
}

// slice removes chunks until the time of a slice has passed or no chunk is left.
func (s *sweeping) slice(ctx context.Context) error {
	for end := time.Now().Add(slice); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, of, err := s.next()
		if err != nil || s.done {
			return err
		}
		n, err := chunkCorpus.removeSome(s.Session, &of, sweepRows, `f.source = ?`, key)
		if err != nil || n == sweepRows {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := s.Exec(`DELETE FROM mem_source_dead WHERE source = ?`, key); err != nil {
			return err
		}
	}
	return nil
}

// next returns the key of a source to sweep, and a scope that has only the secret for the index words
// of the source.
func (s *sweeping) next() (key int64, of scope, err error) {
	for len(s.keys) > 0 {
		found, err := s.One(`SELECT source, secret FROM mem_source_dead WHERE source = ?`, []any{s.keys[0]}, &key, &of.secret)
		if err != nil || found {
			return key, of, err
		}
		s.keys = s.keys[1:]
	}
	found := false
	if s.all {
		found, err = s.One(`SELECT source, secret FROM mem_source_dead LIMIT 1`, nil, &key, &of.secret)
	}
	s.done = err == nil && !found
	return key, of, err
}
