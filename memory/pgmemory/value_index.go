package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory/driver"
)

// Lock the scope first, like every write of values.
const indexValuesQuery = `WITH scope AS MATERIALIZED (SELECT s.key FROM weft.mem_value_scope s WHERE s.digest = $1::bytea FOR UPDATE),
	given AS MATERIALIZED (SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
		AS g (namespace, name, version, terms, words, model, space, embedding)),
	done AS (UPDATE weft.mem_value v SET terms = g.terms::text[], words = g.words::bigint[], word_count = cardinality(g.terms::text[]), model = g.model,
		space = g.space, embedding = g.embedding::`

const indexedValues = `.vector
		FROM given g WHERE v.scope = (SELECT key FROM scope) AND v.namespace = g.namespace::text[] AND v.name = g.name AND v.version = g.version
		AND (v.expires_at IS NULL OR v.expires_at > statement_timestamp()) RETURNING 1)
	SELECT count(*) FROM done`

// Index implements [driver.ValueStore], in one round trip.
func (v *valueStore) Index(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (int, error) {
	if len(writes) == 0 {
		return 0, ctx.Err()
	}
	n := len(writes)
	namespace, name, version := make([]string, n), make([]string, n), make([]int64, n)
	terms, words, model := make([]string, n), make([]string, n), make([]string, n)
	in, vector := make([]*int64, n), make([]*string, n)
	for i := range writes {
		w := &writes[i]
		namespace[i], name[i], version[i] = textArray(w.Namespace), w.Key, w.Version
		terms[i], words[i], model[i] = textArray(w.Terms), wordArray(s.Tenant, w.Terms), w.Model
		if d := len(w.Embedding); d > 0 {
			text, number := spellVector(w.Embedding), space(w.Model, d)
			vector[i], in[i] = &text, &number
		}
	}
	done, err := v.db.count(ctx, indexValuesQuery+v.db.vector+indexedValues, scopeDigest(s), namespace, name, version, terms, words, model, in, vector)
	if err != nil {
		return 0, v.db.fail("index values", err)
	}
	return done, nil
}
