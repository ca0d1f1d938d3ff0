package sqlitememory

import (
	"context"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// documentStore is a [driver.DocumentStore]. It is safe for concurrent use.
type documentStore struct{ db *DB }

var _ driver.DocumentStore = (*documentStore)(nil)

// Documents returns the database's store of documents.
func (d *DB) Documents() driver.DocumentStore { return &documentStore{d} }

var chunkCorpus = &corpus{table: "mem_chunk", index: "mem_chunk_word", scopes: "mem_source_scope", counts: "1", document: "NULL", vectors: true}

// sourceSelection returns a query as a condition on mem_source f.
func sourceSelection(q *sqlitedb.Session, query *driver.SourceQuery) (*selection, error) {
	s, err := chunkCorpus.selection(q, &query.Reach)
	if err != nil || s.none {
		return s, err
	}
	s.where = query.Where
	if len(query.URIs) > 0 {
		s.and(`f.uri IN (SELECT value FROM json_each(?))`, listOf(query.URIs))
	}
	s.prefix(`f.uri`, query.Prefix, func(text string) any { return text })
	if query.Trusted {
		s.and(`f.trust < ?`, storedUntrusted)
	}
	return s, nil
}

// Sources implements [driver.DocumentStore].
func (k *documentStore) Sources(ctx context.Context, q driver.SourceQuery) iter.Seq2[driver.Source, error] {
	return func(yield func(driver.Source, error) bool) {
		l := listing[*source]{limit: -1, read: func(last **source, n int) (page []*source, more bool, err error) {
			err = k.db.sql.Read(ctx, func(s *sqlitedb.Session) (err error) {
				page, err = sources(s, &q, last, n)
				return err
			})
			return page, len(page) == n, err
		}}
		if len(q.Where) > 0 {
			sel := selection{where: q.Where}
			l.holds = func(s *source) bool { return sel.holds(s.Metadata) }
		}
		for s, err := range l.all() {
			if err != nil {
				yield(driver.Source{}, k.db.fail("sources", err))
				return
			}
			if !yield(s.Source, nil) {
				return
			}
		}
	}
}

// sources returns up to n sources that follow a source. It does not check conditions on metadata.
func sources(q *sqlitedb.Session, query *driver.SourceQuery, after **source, n int) (page []*source, err error) {
	sel, err := sourceSelection(q, query)
	if err != nil || sel.none {
		return nil, err
	}
	if after != nil {
		id, _ := packID((*after).ID)
		sel.and(`(f.uri, f.id) > (?, ?)`, (*after).URI, id)
	}
	err = q.Each(selectSource+sel.text+` ORDER BY f.uri, f.id LIMIT ?`, append(sel.args, n), func(scan func(...any) error) (bool, error) {
		s, err := scanSource(scan)
		page = append(page, s)
		return true, err
	})
	return page, err
}

// A spot is a position in a list of spans: the index of a span, and the next ordinal in it.
type spot struct{ span, from int }

// Chunks implements [driver.DocumentStore].
func (k *documentStore) Chunks(ctx context.Context, spans []driver.ChunkSpan) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		var at spot
		l := listing[*chunk]{limit: -1, read: func(_ **chunk, n int) (page []*chunk, more bool, err error) {
			var then spot
			err = k.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
				page, then, err = chunks(ctx, q, spans, at, n)
				return err
			})
			at = then
			return page, at.span < len(spans), err
		}}
		for c, err := range l.all() {
			if err != nil {
				yield(driver.Chunk{}, k.db.fail("chunks", err))
				return
			}
			if !yield(c.Chunk, nil) {
				return
			}
		}
	}
}

// chunks returns up to n chunks of spans from a position on, and the position after them.
func chunks(ctx context.Context, q *sqlitedb.Session, spans []driver.ChunkSpan, at spot, n int) (page []*chunk, then spot, err error) {
	for ; at.span < len(spans); at = (spot{span: at.span + 1}) {
		s := &spans[at.span]
		if err := ctx.Err(); err != nil {
			return page, at, err
		}
		key, err := sourceOf(q, s)
		if err != nil {
			return page, at, err
		}
		if key == 0 {
			continue
		}
		err = q.Each(spanQuery, []any{key, max(s.From, at.from), s.To, n - len(page)}, func(scan func(...any) error) (bool, error) {
			c, err := scanChunk(scan)
			if err == nil {
				c.Source = s.Source
				page = append(page, c)
				at.from = c.Ordinal + 1
			}
			return true, err
		})
		if err != nil || len(page) == n {
			return page, at, err
		}
	}
	return page, at, nil
}

// sourceOf returns the key of a span's source, or 0 if the source does not exist.
func sourceOf(q *sqlitedb.Session, s *driver.ChunkSpan) (key int64, err error) {
	id, ok := packID(s.Source)
	if !ok {
		return 0, nil
	}
	scope, err := chunkCorpus.findScope(q, s.Scope)
	if err == nil && scope.key != 0 {
		_, err = q.One(`SELECT key FROM mem_source WHERE scope = ? AND id = ?`, []any{scope.key, id}, &key)
	}
	return key, err
}

// Search implements [driver.DocumentStore]. It compares the vectors of all chunks of the selected
// sources.
func (k *documentStore) Search(ctx context.Context, s driver.ChunkSearch) (driver.ChunkCandidates, error) {
	var found driver.ChunkCandidates
	err := k.db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		u := survey{Session: q, of: chunkCorpus, terms: s.Terms, embedding: s.Embedding, model: s.Model, limit: s.Limit}
		sel, err := sourceSelection(q, &s.Query)
		if err == nil && !sel.none {
			sel, err = sel.parts(q, `f.source`, `mem_source`)
		}
		if err != nil {
			return err
		}
		keys, err := u.find(ctx, sel)
		if err != nil {
			return err
		}
		rows, err := byKeys(q, chunksByKeys, keys, nil, scanChunk)
		if err != nil {
			return err
		}
		found = driver.ChunkCandidates{Chunks: u.rows, Terms: u.words, Frequency: u.frequency}
		return collect(q, &found, rows)
	})
	if err != nil {
		return driver.ChunkCandidates{}, k.db.fail("search", err)
	}
	return found, nil
}

// collect adds chunks and their sources to the candidates.
func collect(q *sqlitedb.Session, found *driver.ChunkCandidates, rows []*chunk) error {
	var keys []int64
	known := map[int64]string{}
	for _, c := range rows {
		if _, ok := known[c.source]; !ok {
			known[c.source] = ""
			keys = append(keys, c.source)
		}
	}
	list, err := byKeys(q, sourcesByKeys, keys, nil, scanSource)
	if err != nil {
		return err
	}
	for _, s := range list {
		known[s.key] = s.ID
		found.Sources = append(found.Sources, s.Source)
	}
	for _, c := range rows {
		c.Source = known[c.source]
		found.Records = append(found.Records, c.ChunkRecord)
	}
	return nil
}

// Forget implements [driver.DocumentStore].
func (k *documentStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return k.Delete(ctx, driver.SourceQuery{Reach: s.Within()})
}
