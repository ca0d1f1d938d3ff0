package pgmemory

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	// maxWhole is up to how many numbers a vector is indexed as it is, and maxHalf up to how many
	// in half the precision.
	maxWhole = 2000
	maxHalf  = 4000
)

// half reports whether indexes have vectors of a length in half precision.
func (d *DB) half(dimension int) bool { return dimension > maxWhole || d.options.HalfIndexes }

// vectorType is the type of vectors of a length in an index.
func (d *DB) vectorType(dimension int) string {
	if d.half(dimension) {
		return d.vector + `.halfvec(` + strconv.Itoa(dimension) + `)`
	}
	return d.vector + `.vector(` + strconv.Itoa(dimension) + `)`
}

// indexName returns the name of the index of a table for vectors of a space.
func (d *DB) indexName(t *table, space int64, dimension int) string {
	name := t.near
	if d.options.HalfIndexes && dimension <= maxWhole {
		name += "half_" // beside one of whole vectors
	}
	return fmt.Sprintf("%s%016x", name, uint64(space))
}

// vectorsQuery tells how many vectors an index has, or zero where there is none that can be used.
func vectorsQuery(schema, name string) string {
	return `coalesce((SELECT greatest(c.reltuples, 1)::bigint FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indexrelid = to_regclass('` + schema + `.` + name + `') AND i.indisvalid), 0)`
}

const createIndex = `CREATE INDEX CONCURRENTLY %s ON %s USING hnsw ((embedding::%s) %s) WITH (m = 16, ef_construction = 128) WHERE space = %s`

// Index makes the indexes (HNSW) of the vectors of a model, of one dimension: one each of those of facts, of chunks
// of documents and of values, unless they are there. They are worth their time above some 20,000 of
// these a scope, see [Options.Exact]: it takes minutes for 100,000 vectors, while they can be read and
// written. No other call makes one. It is not for a transaction, and not within a request. Of more than
// 4000 numbers, vectors have no index: it is an [driver.ErrInvalid].
//
// A larger maintenance_work_mem makes it quicker. An index that could not be made is
// removed when it is tried again.
func (d *DB) Index(ctx context.Context, model string, dimension int) error {
	if err := d.index(ctx, model, dimension); err != nil {
		return d.fail(fmt.Sprintf("index %d numbers of model %.60q", dimension, model), err)
	}
	return nil
}

func (d *DB) index(ctx context.Context, model string, dimension int) error {
	if dimension < 1 || dimension > maxHalf {
		return fmt.Errorf("dimension %d is not between 1 and %d: %w", dimension, maxHalf, driver.ErrInvalid)
	}
	if _, ok := d.link.on.(pgx.Tx); ok {
		return fmt.Errorf("in a transaction: %w", driver.ErrInvalid)
	}
	for _, t := range []*table{&factTable, &chunkTable, &valueTable} {
		if err := d.indexTable(ctx, t, space(model, dimension), dimension); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) indexTable(ctx context.Context, t *table, in int64, dimension int) error {
	name := d.indexName(t, in, dimension)
	there, valid, err := d.findIndex(ctx, name)
	if err != nil || valid {
		return err
	}
	if there {
		// Whoever was at it has been interrupted, or is still at it: then this waits.
		if err := d.alone(ctx, `DROP INDEX CONCURRENTLY IF EXISTS weft.`+name); err != nil {
			return err
		}
	}
	class := d.vector + `.vector_cosine_ops`
	if d.half(dimension) {
		class = d.vector + `.halfvec_cosine_ops`
	}
	p := plan{space: in}
	return d.alone(ctx, fmt.Sprintf(createIndex, name, t.name, d.vectorType(dimension), class, p.literal()))
}

func (d *DB) findIndex(ctx context.Context, name string) (there, valid bool, err error) {
	const query = `SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass($1::text)`
	reset := func() { there, valid = false, false }
	err = d.link.read(ctx, query, []any{d.quoted + `.` + name}, reset, func(rows pgx.Rows) error {
		there = true
		return rows.Scan(&valid)
	})
	return there, valid, err
}

// alone sends a statement that allows no transaction around it, and so nothing ahead of it.
func (d *DB) alone(ctx context.Context, text string) error {
	_, err := d.link.on.Exec(ctx, d.sql(text), pgx.QueryExecModeSimpleProtocol)
	return err
}
