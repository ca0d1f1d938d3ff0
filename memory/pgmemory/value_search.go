package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/kv"
)

var valueTable = table{"weft.mem_value", "mem_value_near_", `(weft.mem_value f JOIN weft.mem_value_scope s ON s.key = f.scope)`}

// Search implements [kv.Store], in one round trip.
func (v *Values) Search(ctx context.Context, s memory.Scope, q kv.Search) (kv.Candidates, error) {
	found, err := v.search(ctx, s, &q)
	if err != nil {
		return kv.Candidates{}, v.db.fail("search values", err)
	}
	return found, nil
}

func (v *Values) search(ctx context.Context, s memory.Scope, q *kv.Search) (kv.Candidates, error) {
	sel, err := selectValues(s, &q.Selection)
	if err != nil {
		return kv.Candidates{}, err
	}
	columns := valueColumns + `, f.terms, f.model, ` + v.db.vector + `.vector_send(f.embedding)`
	p := v.db.newPlan(&valueTable, sel, &wanted{words(s.Tenant, q.Terms), q.Terms, q.Embedding, q.Model, q.Limit}, columns)
	found := kv.Candidates{Frequency: make([]int64, len(q.Terms))}
	var (
		item      itemRow
		record    kv.Record
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
