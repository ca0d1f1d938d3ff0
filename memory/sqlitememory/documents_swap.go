package sqlitememory

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Swap implements [driver.DocumentStore], with one transaction.
func (k *documentStore) Swap(ctx context.Context, c driver.SourceChange) error {
	if len(c.Swaps) == 0 {
		return ctx.Err()
	}
	err := k.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		s := swapping{Session: w}
		return s.all(ctx, &c)
	})
	if err != nil {
		return k.db.fail("swap", err)
	}
	return nil
}

// A swapping is a call of Swap in progress.
type swapping struct {
	*sqlitedb.Session
	scope scope
	now   int64
}

func (s *swapping) all(ctx context.Context, c *driver.SourceChange) (err error) {
	if s.scope, err = chunkCorpus.enterScope(s.Session, c.Scope); err != nil {
		return err
	}
	if s.now, _, err = tick(s.Session, 0); err != nil {
		return err
	}
	for i := range c.Swaps {
		if err := s.swap(ctx, &c.Swaps[i]); err != nil {
			return fmt.Errorf("source %.60q: %w", c.Swaps[i].Source.URI, err)
		}
	}
	return s.checkQuota(c)
}

func (s *swapping) swap(ctx context.Context, to *driver.SourceSwap) error {
	old, err := findSource(s.Session, s.scope.key, to.Source.URI)
	if err != nil {
		return err
	}
	next, err := s.next(old, to)
	if err != nil {
		return err
	}
	values, err := next.columns(s.scope.key)
	if err != nil {
		return err
	}
	if old == nil {
		next.key, err = s.Insert(insertSource, values...)
	} else {
		next.key = old.key
		_, err = s.Exec(updateSource, append(values, old.key)...)
	}
	if sqlitedb.IsUnique(err) {
		return fmt.Errorf("another source has the id %s: %w", next.ID, driver.ErrConflict)
	}
	if err != nil {
		return err
	}
	return s.chunks(ctx, next.key, to.Chunks)
}

// next returns the new form of a source.
func (s *swapping) next(old *source, to *driver.SourceSwap) (*source, error) {
	next := &source{Source: to.Source}
	var revision int64
	next.CreatedAt, next.UpdatedAt = timeOf(s.now), timeOf(s.now)
	if old != nil {
		revision, next.ID, next.CreatedAt = old.Revision, old.ID, old.CreatedAt
	}
	if revision != next.Revision {
		return nil, fmt.Errorf("it has revision %d and not %d: %w", revision, next.Revision, driver.ErrConflict)
	}
	next.Revision++
	next.Chunks = len(to.Chunks)
	next.Metadata = bytes.Clone(next.Metadata)
	return next, nil
}

// A place is the stored position of a chunk in its source.
type place struct {
	key           int64
	ordinal       int
	first, behind int
}

// chunks replaces the chunks of a source. It does not write unchanged chunks.
func (s *swapping) chunks(ctx context.Context, source int64, records []driver.ChunkRecord) error {
	had, err := s.places(source)
	if err != nil {
		return err
	}
	fresh := make([]*driver.ChunkRecord, 0, len(records))
	for i := range records {
		r := &records[i]
		if !r.Kept {
			fresh = append(fresh, r)
			continue
		}
		was, there := had[r.ID]
		if !there {
			return fmt.Errorf("chunk %s is not there: %w", r.ID, driver.ErrConflict)
		}
		delete(had, r.ID)
		if err := s.move(was, r); err != nil {
			return err
		}
	}
	for _, was := range had {
		if _, err := chunkCorpus.removeRows(ctx, s.Session, &s.scope, `f.key = ?`, was.key); err != nil {
			return err
		}
	}
	for _, r := range fresh {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.add(source, r); err != nil {
			return err
		}
	}
	return nil
}

// places returns the places of a source's chunks by the ids of the chunks.
func (s *swapping) places(source int64) (map[string]place, error) {
	places := map[string]place{}
	query := `SELECT key, id, ordinal, first, behind FROM mem_chunk WHERE source = ?`
	err := s.Each(query, []any{source}, func(scan func(...any) error) (bool, error) {
		var p place
		var id []byte
		err := scan(&p.key, &id, &p.ordinal, &p.first, &p.behind)
		places[spellID(id)] = p
		return true, err
	})
	return places, err
}

func (s *swapping) move(was place, r *driver.ChunkRecord) error {
	if was.ordinal == r.Ordinal && was.first == r.Start && was.behind == r.End {
		return nil
	}
	_, err := s.Exec(`UPDATE mem_chunk SET ordinal = ?, first = ?, behind = ? WHERE key = ?`, r.Ordinal, r.Start, r.End, was.key)
	return err
}

func (s *swapping) add(source int64, r *driver.ChunkRecord) error {
	values, err := chunkValues(source, r)
	if err != nil {
		return err
	}
	key, err := s.Insert(insertChunk, values...)
	if err != nil {
		return err
	}
	return chunkCorpus.addWords(s.Session, &s.scope, key, r.Terms)
}

func (s *swapping) checkQuota(c *driver.SourceChange) error {
	if c.Quota == (driver.SourceQuota{}) {
		return nil
	}
	var has driver.SourceQuota
	_, err := s.One(`SELECT count(*), coalesce(sum(chunks), 0) FROM mem_source WHERE scope = ?`, []any{s.scope.key}, &has.Sources, &has.Chunks)
	if q := c.Quota; err == nil && (q.Sources > 0 && has.Sources > q.Sources || q.Chunks > 0 && has.Chunks > q.Chunks) {
		err = fmt.Errorf("%d sources and %d chunks in the scope %s, and %d and %d are allowed: %w",
			has.Sources, has.Chunks, c.Scope, q.Sources, q.Chunks, driver.ErrQuota)
	}
	return err
}
