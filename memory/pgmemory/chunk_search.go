package pgmemory

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// foundColumns are the columns of a candidate. The metadata of a source may be large, so only one
// candidate of each source has them.
var foundColumns = placeColumns + `, f.terms, ` + strings.Replace(sourceColumns, `o.raw`,
	`CASE WHEN row_number() OVER (PARTITION BY f.source ORDER BY f.key) = 1 THEN o.raw END`, 1)

// Search implements [driver.DocumentStore], in one round trip. It takes more if programs in other
// languages have written chunks since the last search.
func (k *documentStore) Search(ctx context.Context, s driver.ChunkSearch) (driver.ChunkCandidates, error) {
	c, err := k.searchRead(ctx, s)
	if err != nil {
		return driver.ChunkCandidates{}, k.db.fail("search knowledge", err)
	}
	return c, nil
}

func (k *documentStore) search(ctx context.Context, s *driver.ChunkSearch) (driver.ChunkCandidates, error) {
	sel, err := newChunkSelection(&s.Query)
	if err != nil {
		return driver.ChunkCandidates{}, err
	}
	w := &wanted{words(s.Query.Scope.Tenant, s.Terms), s.Terms, s.Embedding, s.Model, s.Limit}
	p := k.db.newPlan(&chunkTable, sel, w, foundColumns+`, `+k.db.vector+`.vector_send(f.embedding)`)
	f := finding{ChunkCandidates: driver.ChunkCandidates{Frequency: make([]int64, len(s.Terms))}}
	err = k.db.seek(ctx, p, f.dest(), f.reset, f.add)
	f.Chunks, f.ChunkCandidates.Terms = p.rows, p.terms
	copy(f.Frequency, p.frequency)
	return f.ChunkCandidates, err
}

// A finding collects candidates. The fields from record on hold the last scanned row.
type finding struct {
	driver.ChunkCandidates
	places map[int64]int // from the key of a source to its index in Sources

	record driver.ChunkRecord
	key    int64
	vector []byte
	source shelved
	done   func() // sets the remaining fields of source
}

// dest returns the scan destinations for the columns.
func (f *finding) dest() []any {
	columns, done := f.source.dest()
	f.done = done
	return slices.Concat(chunkDest(&f.key, &f.record.Chunk), []any{&f.record.Terms}, columns, []any{&f.vector})
}

func (f *finding) reset() { f.Records, f.Sources, f.places = nil, nil, map[int64]int{} }

// add adds the scanned row to the candidates.
func (f *finding) add() error {
	f.done()
	at, there := f.places[f.source.key]
	if !there {
		at = len(f.Sources)
		f.places[f.source.key] = at
		f.Sources = append(f.Sources, f.source.Source)
	}
	if f.source.raw != nil {
		f.Sources[at].Metadata = f.source.raw
	}
	r := f.record
	r.Chunk = plainChunk(r.Chunk)
	var err error
	r.Embedding, err = readVector(f.vector)
	f.Records = append(f.Records, r)
	return err
}
