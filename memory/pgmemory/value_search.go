package pgmemory

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/kv"
)

var valueTable = table{"weft.mem_value", "mem_value_near_", `weft.mem_value f JOIN weft.mem_value_scope s ON s.key = f.scope`}

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
	p := v.db.newPlan(&valueTable, sel, &wanted{words(s.Tenant, q.Terms), q.Embedding, q.Model, q.Limit}, columns)
	found := kv.Candidates{}
	reset := func() { found = kv.Candidates{Frequency: make([]int64, len(q.Terms))} }
	err = v.db.link.read(ctx, v.db.sql(p.text), p.args, reset, func(rows pgx.Rows) error {
		frequency := []int64{}
		counted := []any{&found.Values, &found.Terms, &frequency, &p.indexed}
		if values := rows.RawValues(); values[len(counted)] == nil { // no candidate
			err := rows.Scan(append(counted, make([]any, len(values)-len(counted))...)...)
			copy(found.Frequency, frequency)
			return err
		}
		var r kv.Record
		var embedding []byte
		var err error
		if r.Item, err = scanItem(rows, counted, []any{&r.Terms, &r.Model, &embedding}); err == nil {
			r.Embedding, err = readVector(embedding)
		}
		found.Records = append(found.Records, r)
		copy(found.Frequency, frequency)
		return err
	})
	if err == nil {
		v.db.sizes.note(p, found.Values, found.Terms, found.Values > int64(v.db.options.Exact))
	}
	return found, err
}
