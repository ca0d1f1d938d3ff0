package pgmemory

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/knowledge"
)

// foundColumns are those of a candidate. Metadata may be large, and come with one chunk of a source.
var foundColumns = placeColumns + `, f.terms, ` + strings.Replace(sourceColumns, `o.raw`,
	`CASE WHEN row_number() OVER (PARTITION BY f.source ORDER BY f.key) = 1 THEN o.raw END`, 1)

const foundCount = 10 + 1 + 20 + 1

// Search implements [knowledge.Store], in one round trip.
func (k *Knowledge) Search(ctx context.Context, s knowledge.Search) (knowledge.Candidates, error) {
	c, err := k.search(ctx, &s)
	if err != nil {
		return knowledge.Candidates{}, k.db.fail("search knowledge", err)
	}
	return c, nil
}

func (k *Knowledge) search(ctx context.Context, s *knowledge.Search) (knowledge.Candidates, error) {
	sel, err := newChunkSelection(&s.Query)
	if err != nil {
		return knowledge.Candidates{}, err
	}
	w := &wanted{words(s.Query.Scope.Tenant, s.Terms), s.Embedding, s.Model, s.Limit}
	p := k.db.newPlan(&chunkTable, sel, w, foundColumns+`, `+k.db.vector+`.vector_send(f.embedding)`)
	var f finding
	reset := func() {
		f = finding{sources: map[int64]int{}, Candidates: knowledge.Candidates{Frequency: make([]int64, len(s.Terms))}}
	}
	err = k.db.link.read(ctx, k.db.sql(p.text), p.args, reset, func(rows pgx.Rows) error { return f.scan(rows, &p.indexed) })
	if err == nil {
		k.db.sizes.note(p, f.Chunks, f.Terms, f.Chunks > int64(k.db.options.Exact))
	}
	return f.Candidates, err
}

// A finding is candidates as they come, and the places of their sources.
type finding struct {
	knowledge.Candidates
	sources map[int64]int
}

func (f *finding) scan(rows pgx.Rows, indexed *bool) error {
	frequency := []int64{}
	counted := []any{&f.Chunks, &f.Terms, &frequency, indexed}
	if rows.RawValues()[len(counted)] == nil { // no candidate
		err := rows.Scan(append(counted, make([]any, foundCount)...)...)
		copy(f.Frequency, frequency)
		return err
	}
	var (
		r      knowledge.Record
		source shelved
		key    int64
		vector []byte
	)
	columns, done := source.dest()
	dest := append(append(append(counted, chunkDest(&key, &r.Chunk)...), &r.Terms), columns...)
	if err := rows.Scan(append(dest, &vector)...); err != nil {
		return err
	}
	done()
	copy(f.Frequency, frequency)
	at, there := f.sources[source.key]
	if !there {
		at = len(f.Sources)
		f.sources[source.key] = at
		f.Sources = append(f.Sources, source.Source)
	}
	if source.Metadata != nil {
		f.Sources[at].Metadata = source.Metadata
	}
	r.Chunk = plainChunk(r.Chunk)
	var err error
	r.Embedding, err = readVector(vector)
	f.Records = append(f.Records, r)
	return err
}
