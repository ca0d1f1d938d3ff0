package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory/driver"
)

var valueTable = table{"weft.mem_value", "mem_value_near_", `(weft.mem_value f JOIN weft.mem_value_scope s ON s.key = f.scope)`}

// Search implements [driver.ValueStore], in one round trip.
func (v *valueStore) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	found, err := v.search(ctx, s, &q)
	if err != nil {
		return driver.ValueCandidates{}, v.db.fail("search values", err)
	}
	return found, nil
}

func (v *valueStore) search(ctx context.Context, s driver.Scope, q *driver.ValueSearch) (driver.ValueCandidates, error) {
	sel, err := selectValues(s, &q.Selection)
	if err != nil {
		return driver.ValueCandidates{}, err
	}
	columns := valueColumns + `, f.terms, f.model, ` + v.db.vector + `.vector_send(f.embedding)`
	p := v.db.newPlan(&valueTable, sel, &wanted{words(s.Tenant, q.Terms), q.Terms, q.Embedding, q.Model, q.Limit}, columns)
	found := driver.ValueCandidates{Frequency: make([]int64, len(q.Terms))}
	var (
		item      itemRow
		record    driver.ValueRecord
		embedding []byte
	)
	dest := append(item.dest(), &record.Terms, &record.Model, &embedding)
	err = v.db.seek(ctx, p, dest, func() { found.Records = nil }, func() error {
		r := record
		var err error
		r.Item = item.item()
		r.Embedding, err = readVector(embedding)
		found.Records = append(found.Records, r)
		return err
	})
	found.Values, found.Terms = p.rows, p.terms
	copy(found.Frequency, p.frequency)
	return found, err
}
