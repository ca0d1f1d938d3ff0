package pgmemory

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	shelfScopes = `s.key FROM weft.mem_shelf`

	savedSource = `SELECT ` + sourceColumns + ` FROM weft.mem_source o JOIN weft.mem_shelf s ON s.key = o.shelf
	WHERE o.shelf = $1::bigint AND o.id > $2::text::uuid ORDER BY o.id LIMIT 1`
	savedChunks = `SELECT ` + placeColumns + `, f.terms, %s.vector_send(f.embedding) FROM weft.mem_chunk f JOIN weft.mem_source o ON o.key = f.source
	WHERE f.source = $1::bigint AND f.ordinal > $2::int ORDER BY f.ordinal LIMIT $3::int`

	restoreSource = `INSERT INTO weft.mem_source (shelf, revision, size, chunks, terms, created_at, updated_at, id, trust, uri, title, version, format, sha256,
	recipe, model, metadata, raw)
	SELECT s.key, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::timestamptz, $7::timestamptz, $8::text::uuid, $9::int, $10::text, $11::text, $12::text,
	$13::text, $14::text, $15::text, $16::text, $17::text::jsonb, $18::bytea FROM weft.mem_shelf s WHERE s.digest = $1::bytea
	ON CONFLICT DO NOTHING RETURNING shelf, key`
	fillShelf = `UPDATE weft.mem_shelf SET sources = sources + 1, chunks = chunks + $2::bigint, terms = terms + $3::bigint,
	newest = greatest(newest, $4::timestamptz) WHERE key = $1::bigint`
)

// Dump implements [driver.DocumentStore], with two round trips for each source, and one more for
// each 256 chunks of a source.
func (k *documentStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSource, error] {
	return dump(ctx, k.db, shelfScopes, s, func(in *savedScope, last *driver.SavedSource) (list []driver.SavedSource, err error) {
		after := noFact
		if last != nil {
			after = last.ID
		}
		var key int64
		err = k.db.link.read(ctx, k.db.sql(savedSource), []any{in.key, after}, func() { list = nil }, func(rows pgx.Rows) error {
			one, err := scanSource(rows)
			key = one.key
			list = append(list, driver.SavedSource{Source: one.Source})
			return err
		})
		if err != nil || len(list) == 0 {
			return nil, err
		}
		list[0].Records, err = k.savedChunks(ctx, key)
		return list, err
	})
}

// savedChunks returns the chunks of a source.
func (k *documentStore) savedChunks(ctx context.Context, source int64) (list []driver.ChunkRecord, err error) {
	text := fmt.Sprintf(k.db.sql(savedChunks), k.db.vector)
	for more := true; more; {
		before, after := len(list), -1
		if before > 0 {
			after = list[before-1].Ordinal
		}
		err = k.db.link.read(ctx, text, []any{source, after, page}, func() { list = list[:before] }, func(rows pgx.Rows) error {
			var r driver.ChunkRecord
			var key int64
			var vector []byte
			err := rows.Scan(append(chunkDest(&key, &r.Chunk), &r.Terms, &vector)...)
			if err == nil {
				r.Chunk = plainChunk(r.Chunk)
				r.Embedding, err = readVector(vector)
			}
			list = append(list, r)
			return err
		})
		more = err == nil && len(list) == before+page
	}
	return list, err
}

// Restore implements [driver.DocumentStore], with four round trips, two for each source, and one
// for each 500 chunks of a source.
func (k *documentStore) Restore(ctx context.Context, list []driver.SavedSource) (int, error) {
	return restore(ctx, k.db, list, func(one *driver.SavedSource) driver.Scope { return one.Scope }, func(l *link, scopes [][]byte) (int, error) {
		all := make([]driver.Scope, len(list))
		for i := range list {
			all[i] = list[i].Scope
		}
		if err := k.db.enterScopes(ctx, l, `weft.mem_shelf`, all); err != nil {
			return 0, err
		}
		count := 0
		for i := range list {
			stored, err := k.restore(ctx, l, &list[i], scopes[i])
			if err != nil {
				return 0, fmt.Errorf("source %.60q: %w", list[i].URI, err)
			}
			if stored {
				count++
			}
		}
		return count, nil
	})
}

func (k *documentStore) restore(ctx context.Context, l *link, one *driver.SavedSource, scope []byte) (stored bool, err error) {
	swaps := swapList{}
	chunks := make([]driver.ChunkRecord, len(one.Records))
	for i, r := range one.Records {
		r.Kept = false
		chunks[i] = r
	}
	if err := swaps.add(1, &driver.SourceSwap{Source: one.Source, Chunks: chunks}); err != nil {
		return false, err
	}
	s := &one.Source
	values := []any{
		scope, s.Revision, s.Size, len(chunks), swaps.terms[0], s.CreatedAt, s.UpdatedAt, s.ID, swaps.trust[0], s.URI, s.Title, s.Version, string(s.Format), s.SHA256,
		s.Recipe, s.Model, swaps.metadata[0], []byte(s.Metadata),
	}
	var shelf, source int64
	err = l.query(ctx, k.db.sql(restoreSource), values, func(rows pgx.Rows) error {
		stored = true
		return rows.Scan(&shelf, &source)
	})
	if err != nil || !stored {
		return false, err
	}
	for rest := swaps.fresh; len(rest) > 0; {
		some := rest[:min(len(rest), putMost)]
		rest = rest[len(some):]
		keys := make([]int64, len(some))
		for i := range keys {
			keys[i] = source
		}
		values := append([]any{shelf, keys}, newColumns(s.Scope.Tenant, some).values()...)
		if err := l.exec(ctx, k.db.sql(putQuery), values...); err != nil {
			return false, err
		}
	}
	return true, l.exec(ctx, k.db.sql(fillShelf), shelf, len(chunks), swaps.terms[0], s.UpdatedAt)
}
