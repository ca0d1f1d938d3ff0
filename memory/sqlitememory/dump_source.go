package sqlitememory

import (
	"context"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

const (
	savedSource = `f.scope = ? AND f.id > ? ORDER BY f.id LIMIT 1`
	savedChunks = ` FROM mem_chunk f WHERE f.source = ? ORDER BY f.ordinal`
	knownSource = `SELECT 1 FROM mem_source WHERE scope = ?1 AND (id = ?2 OR uri = ?3)`
)

// Dump implements [driver.DocumentStore]. A page is one source.
func (k *documentStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSource, error] {
	return dump(ctx, k.db, chunkCorpus, s, func(q *sqlitedb.Session, in *savedScope, last *driver.SavedSource) ([]driver.SavedSource, error) {
		after := []byte{}
		if last != nil {
			after, _ = packID(last.ID)
		}
		var found *source
		err := q.Each(selectSource+savedSource, []any{in.key, after}, func(scan func(...any) error) (bool, error) {
			s, err := scanSource(scan)
			found = s
			return false, err
		})
		if err != nil || found == nil {
			return nil, err
		}
		one := driver.SavedSource{Source: found.Source}
		err = q.Each(selectChunk+savedChunks, []any{found.key}, func(scan func(...any) error) (bool, error) {
			c, err := scanChunk(scan)
			if err != nil {
				return false, err
			}
			c.Source = found.ID
			one.Records = append(one.Records, c.ChunkRecord)
			return true, nil
		})
		return []driver.SavedSource{one}, err
	})
}

// Restore implements [driver.DocumentStore].
func (k *documentStore) Restore(ctx context.Context, list []driver.SavedSource) (int, error) {
	return restore(ctx, k.db, chunkCorpus, list, func(one *driver.SavedSource) driver.Scope { return one.Scope }, restoreSource)
}

func restoreSource(w *sqlitedb.Session, in *scope, one *driver.SavedSource) (bool, error) {
	id, err := requireID("source", one.ID)
	if err != nil {
		return false, err
	}
	known, err := w.One(knownSource, []any{in.key, id, one.URI}, new(any))
	if err != nil || known {
		return false, err
	}
	s := source{Source: one.Source}
	s.Chunks = len(one.Records)
	values, err := s.columns(in.key)
	if err != nil {
		return false, err
	}
	if _, err := w.Exec(passedClock, one.UpdatedAt.UnixMicro()); err != nil {
		return false, err
	}
	key, err := w.Insert(insertSource, values...)
	if err != nil {
		return false, err
	}
	adding := swapping{Session: w, scope: *in}
	for i := range one.Records {
		if err := adding.add(key, &one.Records[i]); err != nil {
			return false, err
		}
	}
	return true, nil
}
