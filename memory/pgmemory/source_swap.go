package pgmemory

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/memory/driver"
)

const (
	swapQuery = `SELECT o_shelf, o_sources, o_secured, o_status, o_change, o_about FROM weft.mem_swap($1::bytea, $2::text[], $3::bigint, $4::bigint,
	$5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::int[], $12::text[], $13::bytea[], $14::text[], $15::bigint[],
	$16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::int[], $21::text[], $22::int[], $23::bigint[], $24::bigint[],
	$25::int[], $26::int[], $27::bigint[], $28::bigint[], $29::int[], $30::text[], $31::text[], $32::text[], $33::text[], $34::text[], $35::text[],
	$36::bigint[], $37::text[])`
	putQuery = `SELECT weft.mem_put($1::bigint, $2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::text[], $8::text[], $9::text[],
	$10::text[], $11::text[], $12::text[], $13::bigint[], $14::text[])`
)

const (
	// load is the number of new chunks above which COPY is used instead of arguments of the
	// statement.
	load = 64
	// putMost is the maximum number of chunks in one statement if COPY is not allowed.
	putMost = 500
	// perChunk is added to the time limit of a swap for each new chunk, since a vector index may
	// have to be updated.
	perChunk = 20 * time.Millisecond
)

// Swap implements [driver.DocumentStore]. With up to 64 new chunks it takes one round trip. With
// more chunks it takes a transaction of five round trips, and stores the chunks with COPY.
// Row-level security does not allow COPY; the chunks are then inserted, 500 in each round trip.
// If the connection is lost during the call, the change may or may not have been made, and the
// error is [ErrUnreachable]. If it was made, a second call returns [driver.ErrConflict].
func (k *documentStore) Swap(ctx context.Context, c driver.SourceChange) error {
	if len(c.Swaps) == 0 {
		return ctx.Err()
	}
	if err := k.swap(ctx, &c); err != nil {
		return k.db.fail("swap", err)
	}
	return nil
}

func (k *documentStore) swap(ctx context.Context, c *driver.SourceChange) error {
	l, err := newSwaps(c)
	if err != nil {
		return err
	}
	d := k.db
	limit := d.link.timeout + time.Duration(len(l.fresh))*perChunk
	return d.link.retry(ctx, limit, pgdb.Unsent, func(ctx context.Context) error {
		if len(l.fresh) <= load {
			_, err := d.swapIn(ctx, d.link, c, l, l.fresh)
			return err
		}
		return d.link.begin(ctx, func(tx Conn) error { return d.loadSwap(ctx, tx, c, l) })
	})
}

// loadSwap swaps sources, and then stores their new chunks.
func (d *DB) loadSwap(ctx context.Context, tx Conn, c *driver.SourceChange, l *swapList) error {
	if err := d.link.enter(ctx, tx); err != nil {
		return err
	}
	inside := &link{on: tx, mode: d.link.mode}
	at, err := d.swapIn(ctx, inside, c, l, nil)
	if err != nil {
		return err
	}
	if !at.secured {
		return d.copyChunks(ctx, tx, c.Scope.Tenant, at, l.fresh)
	}
	for rest := l.fresh; len(rest) > 0; {
		some := rest[:min(len(rest), putMost)]
		rest = rest[len(some):]
		columns := newColumns(c.Scope.Tenant, some)
		keys := make([]int64, len(some))
		for i, source := range columns.source {
			keys[i] = at.sources[source-1]
		}
		values := append([]any{at.shelf, keys}, columns.values()...)
		if err := inside.query(ctx, d.sql(putQuery), values, func(pgx.Rows) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// A landing has the row keys that the new chunks need: the keys of the swapped sources, and of
// their scope in mem_shelf.
type landing struct {
	shelf   int64
	sources []int64
	secured bool // row-level security applies, so COPY is not allowed
}

// swapIn swaps sources and inserts their new chunks, which the argument fresh has.
func (d *DB) swapIn(ctx context.Context, l *link, c *driver.SourceChange, list *swapList, fresh []freshChunk) (at landing, err error) {
	values := append([]any{scopeDigest(c.Scope), names(c.Scope), c.Quota.Sources, c.Quota.Chunks}, list.values()...)
	columns := newColumns(c.Scope.Tenant, fresh)
	values = append(append(values, columns.source), columns.values()...)
	err = l.query(ctx, d.sql(swapQuery), values, func(rows pgx.Rows) error {
		var shelf *int64
		var secured *bool
		var change *int64
		var status, about string
		if err := rows.Scan(&shelf, &at.sources, &secured, &status, &change, &about); err != nil {
			return err
		}
		if status != "" {
			return refusedSwap(status, *change, about, c)
		}
		at.shelf, at.secured = *shelf, *secured
		return nil
	})
	return at, err
}

// refusedSwap returns the error for a status that mem_swap returned.
func refusedSwap(status string, change int64, about string, c *driver.SourceChange) error {
	switch status {
	case "revision":
		s := &c.Swaps[change].Source
		return fmt.Errorf("source %.60q: it has revision %s and not %d: %w", s.URI, about, s.Revision, driver.ErrConflict)
	case "kept":
		return fmt.Errorf("source %.60q: chunk %s is not there: %w", c.Swaps[change].Source.URI, about, driver.ErrConflict)
	case "quota":
		return fmt.Errorf("%d sources and %s chunks in the scope %s, and %d and %d are allowed: %w", change, about, c.Scope, c.Quota.Sources, c.Quota.Chunks, driver.ErrQuota)
	}
	return fmt.Errorf("status %q: %w", status, ErrFormat)
}

// swapList holds the columns of swaps: element i of each slice belongs to swap i.
type swapList struct {
	id, uri, title, version, format, sha256, recipe, model []string
	metadata                                               []*string
	raw                                                    [][]byte
	trust                                                  []int32
	revision, size, chunks, terms                          []int64

	keptSource, keptOrdinal []int32
	keptID                  []string
	keptStart, keptEnd      []int64

	fresh []freshChunk
}

// A freshChunk is a new chunk, and the number of its source in the change, counted from 1.
type freshChunk struct {
	*driver.ChunkRecord
	source int32
}

func newSwaps(c *driver.SourceChange) (*swapList, error) {
	l := &swapList{keptSource: []int32{}, keptOrdinal: []int32{}, keptID: []string{}, keptStart: []int64{}, keptEnd: []int64{}}
	for i := range c.Swaps {
		if err := l.add(int32(i+1), &c.Swaps[i]); err != nil {
			return nil, fmt.Errorf("source %.60q: %w", c.Swaps[i].Source.URI, err)
		}
	}
	return l, nil
}

func (l *swapList) add(nr int32, swap *driver.SourceSwap) error {
	s := &swap.Source
	if !isID(s.ID) {
		return fmt.Errorf("id %.60q is no UUID: %w", s.ID, driver.ErrInvalid)
	}
	var metadata *string
	if len(s.Metadata) > 0 {
		plain, err := plainJSON(s.Metadata)
		if err != nil {
			return fmt.Errorf("metadata: %w: %w", driver.ErrInvalid, err)
		}
		metadata = &plain
	}
	terms := 0
	for i := range swap.Chunks {
		r := &swap.Chunks[i]
		if err := l.addChunk(nr, r); err != nil {
			return err
		}
		if !r.Kept {
			terms += len(r.Terms)
		}
	}
	l.id, l.uri, l.title, l.version = append(l.id, s.ID), append(l.uri, s.URI), append(l.title, s.Title), append(l.version, s.Version)
	l.format, l.sha256, l.recipe, l.model = append(l.format, string(s.Format)), append(l.sha256, s.SHA256), append(l.recipe, s.Recipe), append(l.model, s.Model)
	l.metadata, l.raw, l.trust = append(l.metadata, metadata), append(l.raw, s.Metadata), append(l.trust, trustColumn(s.Trust))
	l.revision, l.size = append(l.revision, s.Revision), append(l.size, s.Size)
	l.chunks, l.terms = append(l.chunks, int64(len(swap.Chunks))), append(l.terms, int64(terms))
	return nil
}

func (l *swapList) addChunk(nr int32, r *driver.ChunkRecord) error {
	switch {
	case r.Ordinal < 0 || r.Ordinal > math.MaxInt32-1 || r.Tokens < 0 || r.Tokens > math.MaxInt32:
		return fmt.Errorf("chunk %.60s of ordinal %d, with %d tokens: %w", r.ID, r.Ordinal, r.Tokens, driver.ErrInvalid)
	case !r.Kept && !isID(r.ID):
		return fmt.Errorf("id %.60q of a chunk is no UUID: %w", r.ID, driver.ErrInvalid)
	case !r.Kept:
		l.fresh = append(l.fresh, freshChunk{r, nr})
		return nil
	case !isID(r.ID):
		return fmt.Errorf("chunk %.60s is not there: %w", r.ID, driver.ErrConflict)
	}
	l.keptSource, l.keptID, l.keptOrdinal = append(l.keptSource, nr), append(l.keptID, r.ID), append(l.keptOrdinal, int32(r.Ordinal))
	l.keptStart, l.keptEnd = append(l.keptStart, int64(r.Start)), append(l.keptEnd, int64(r.End))
	return nil
}

func (l *swapList) values() []any {
	return []any{
		l.id, l.revision, l.uri, l.title, l.version, l.format, l.trust, l.metadata, l.raw, l.sha256, l.size, l.recipe, l.model, l.chunks, l.terms,
		l.keptSource, l.keptID, l.keptOrdinal, l.keptStart, l.keptEnd,
	}
}
