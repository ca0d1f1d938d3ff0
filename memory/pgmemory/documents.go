package pgmemory

import (
	"context"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// documentStore is a [driver.DocumentStore]. It is safe for concurrent use if its [DB] is.
type documentStore struct{ db *DB }

var _ driver.DocumentStore = (*documentStore)(nil)

// Documents returns the database's store of documents.
func (d *DB) Documents() driver.DocumentStore { return &documentStore{d} }

// Sources implements [driver.DocumentStore], with one round trip for each 256 sources. Sources that
// change before their page is read may be left out.
func (k *documentStore) Sources(ctx context.Context, q driver.SourceQuery) iter.Seq2[driver.Source, error] {
	return func(yield func(driver.Source, error) bool) {
		var after *shelved
		for more := true; more; {
			list, err := k.sources(ctx, &q, after)
			for i := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(list[i].Source, nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Source{}, k.db.fail("sources", err))
				return
			}
			if more = len(list) == page; more {
				after = &list[len(list)-1]
			}
		}
	}
}

// sources returns the page of sources after a source.
func (k *documentStore) sources(ctx context.Context, q *driver.SourceQuery, after *shelved) (list []shelved, err error) {
	s, err := newSourceSelection(q)
	if err != nil {
		return nil, err
	}
	if after != nil {
		s.where += ` AND (o.uri, o.id, o.key) > (` + s.add(after.URI, "text") + `, ` + s.add(after.ID, "text") + `::uuid, ` + s.add(after.key, "bigint") + `)`
	}
	text := s.with + ` SELECT ` + sourceColumns + ` FROM weft.mem_source o JOIN weft.mem_shelf s ON s.key = o.shelf WHERE ` + s.where +
		` ORDER BY o.uri, o.id, o.key LIMIT ` + s.add(page, "int")
	err = k.db.link.read(ctx, k.db.sql(text), s.args, func() { list = nil }, func(rows pgx.Rows) error {
		r, err := scanSource(rows)
		list = append(list, r)
		return err
	})
	return list, err
}

// chunkPage is the number of chunks that one statement reads.
const chunkPage = 1000

const chunksQuery = `SELECT t.nr, ` + placeColumns + ` FROM unnest($1::bytea[], $2::text[], $3::int[], $4::int[]) WITH ORDINALITY AS t (digest, id, first, past, nr)
	JOIN weft.mem_shelf s ON s.digest = t.digest JOIN weft.mem_source o ON o.shelf = s.key AND o.id = t.id::uuid
	JOIN weft.mem_chunk f ON f.source = o.key AND f.ordinal >= t.first AND f.ordinal < t.past ORDER BY t.nr, f.ordinal, f.key LIMIT $5::int`

// Chunks implements [driver.DocumentStore], with one round trip for each 1000 chunks. Chunks that
// change before their page is read may be left out.
func (k *documentStore) Chunks(ctx context.Context, spans []driver.ChunkSpan) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		left := newSpans(spans)
		if err := ctx.Err(); err != nil || len(left.id) == 0 {
			if err != nil {
				yield(driver.Chunk{}, k.db.fail("chunks", err))
			}
			return
		}
		for more := true; more; {
			list, last, err := k.chunks(ctx, left)
			for _, c := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Chunk{}, k.db.fail("chunks", err))
				return
			}
			if more = len(list) == chunkPage; more {
				left = left.after(last, list[len(list)-1].Ordinal)
			}
		}
	}
}

// chunks returns a page of chunks, and the number of the last chunk's span, counted from 1.
func (k *documentStore) chunks(ctx context.Context, s spanList) (list []driver.Chunk, last int, err error) {
	err = k.db.link.read(ctx, k.db.sql(chunksQuery), []any{s.scope, s.id, s.first, s.past, chunkPage}, func() { list = nil }, func(rows pgx.Rows) error {
		var c driver.Chunk
		var key int64
		if err := rows.Scan(append([]any{&last}, chunkDest(&key, &c)...)...); err != nil {
			return err
		}
		list = append(list, plainChunk(c))
		return nil
	})
	return list, last, err
}

// spanList holds the columns of spans: element i of each slice belongs to span i.
type spanList struct {
	scope       [][]byte
	id          []string
	first, past []int32
}

func newSpans(spans []driver.ChunkSpan) (l spanList) {
	for _, s := range spans {
		if isID(s.Source) { // no source has an invalid id
			l.scope, l.id = append(l.scope, scopeDigest(s.Scope)), append(l.id, s.Source)
			l.first, l.past = append(l.first, int32(min(max(s.From, 0), math.MaxInt32))), append(l.past, int32(min(max(s.To, 0), math.MaxInt32)))
		}
	}
	return l
}

// after returns the spans from number nr on, without the chunks of span nr up to ordinal.
func (l spanList) after(nr, ordinal int) spanList {
	l = spanList{l.scope[nr-1:], l.id[nr-1:], append([]int32(nil), l.first[nr-1:]...), l.past[nr-1:]}
	l.first[0] = int32(ordinal) + 1
	return l
}

const removeQuery = ` SELECT r.removed, r.changed FROM (SELECT coalesce(array_agg(DISTINCT p.shelf), '{}') AS shelves,
	coalesce(array_agg(p.key ORDER BY p.key), '{}') AS keys, coalesce(array_agg(p.revision ORDER BY p.key), '{}') AS revisions FROM picked p) x
	CROSS JOIN LATERAL weft.mem_remove(x.shelves, x.keys, x.revisions) r`

// Delete implements [driver.DocumentStore], in one round trip. It takes more if sources change at
// the same time.
func (k *documentStore) Delete(ctx context.Context, q driver.SourceQuery) (int, error) {
	k.db.sizes.clear()
	total := 0
	for changed := 1; changed > 0; {
		s, err := newSourceSelection(&q)
		if err == nil {
			removed := 0
			text := s.with + `, picked AS MATERIALIZED (SELECT o.key, o.shelf, o.revision FROM weft.mem_source o WHERE ` + s.where + `)` + removeQuery
			err = k.db.link.write(ctx, k.db.sql(text), s.args, func() {}, func(rows pgx.Rows) error { return rows.Scan(&removed, &changed) })
			total += removed
		}
		if err != nil {
			return total, k.db.fail("delete sources", err)
		}
	}
	return total, nil
}

// Forget implements [driver.DocumentStore].
func (k *documentStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return k.Delete(ctx, driver.SourceQuery{Reach: s.Within()})
}
