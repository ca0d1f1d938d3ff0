package pgmemory

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	// maxWhole is the largest dimension that is indexed in full precision, and maxHalf the largest
	// that is indexed in half precision.
	maxWhole = 2000
	maxHalf  = 4000
)

// half reports whether vectors of this dimension are indexed in half precision.
func (d *DB) half(dimension int) bool { return dimension > maxWhole || d.options.HalfIndexes }

// vectorType returns the type that an index uses for vectors of this dimension.
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
		name += "half_" // an index in full precision may exist too
	}
	return fmt.Sprintf("%s%016x", name, uint64(space))
}

// vectorsQuery returns SQL for the number of vectors in an index, or 0 if there is no valid index.
func vectorsQuery(schema, name string) string {
	return `coalesce((SELECT greatest(c.reltuples, 1)::bigint FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indexrelid = to_regclass('` + schema + `.` + name + `') AND i.indisvalid), 0)`
}

const createIndex = `CREATE INDEX CONCURRENTLY %s ON %s USING hnsw ((embedding::%s) %s) WITH (m = 16, ef_construction = 128) WHERE space = %s`

// Index creates the HNSW indexes for the vectors of a model and dimension, unless they exist: one
// for facts, one for chunks of documents, and one for values. An index is useful for scopes of more
// than about 20,000 rows; see [Options.Exact]. For 100,000 vectors it takes minutes; the table can
// be read and written meanwhile. No other method creates an index. Index cannot run in a
// transaction, and should not run within a request. It returns [driver.ErrInvalid] for more than
// 4000 dimensions.
//
// Index is faster with a larger maintenance_work_mem. If Index was interrupted, the next call
// removes the incomplete index first.
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
	if d.link.inTransaction() {
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
		// The index is invalid: a call was interrupted, or is still creating it. In the second
		// case, DROP waits for that call.
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

// alone sends a statement that cannot run in a transaction, so [Options.Before] is not called.
func (d *DB) alone(ctx context.Context, text string) error {
	_, err := d.link.on.Exec(ctx, d.sql(text), pgx.QueryExecModeSimpleProtocol)
	return err
}
