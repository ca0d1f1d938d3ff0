package pgmemory

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
)

const (
	// roughBatch is the number of messages that are refined together, and maxBatches the maximum
	// number of batches in one search. Later searches refine the rest.
	roughBatch = 500
	maxBatches = 8

	// maxIndexed is the length in bytes of the part of a text from which terms are computed, as in
	// package memory.
	maxIndexed = 16 << 10

	refineQuery = `UPDATE weft.mem_message f SET rough = false, terms = g.terms::text[], words = g.words::bigint[], word_count = cardinality(g.terms::text[])
	FROM unnest($1::bigint[], $2::text[], $3::text[]) AS g (key, terms, words) WHERE f.key = g.key AND f.rough`
)

// refine computes the terms of messages that programs in other languages have written, in two round
// trips. It returns the number of messages that it found.
func (c *conversationStore) refine(ctx context.Context, q *driver.SessionQuery) (int, error) {
	var a args
	reached, err := sessions(q, &a)
	if err != nil {
		return 0, err
	}
	text := `SELECT f.key, f.text FROM weft.mem_message f WHERE f.rough AND f.session = ANY (ARRAY(SELECT s.key FROM weft.mem_session s WHERE ` + reached +
		`)) ORDER BY f.key LIMIT ` + a.add(roughBatch, "int")
	var keys []int64
	var terms, numbers []string
	reset := func() { keys, terms, numbers = nil, nil, nil }
	err = c.db.link.read(ctx, c.db.sql(text), a, reset, func(rows pgx.Rows) error {
		var key int64
		var said string
		if err := rows.Scan(&key, &said); err != nil {
			return err
		}
		if len(said) > maxIndexed {
			said = strings.ToValidUTF8(said[:maxIndexed], "")
		}
		list := rank.Terms(said)
		keys, terms, numbers = append(keys, key), append(terms, textArray(list)), append(numbers, wordArray(q.Scope.Tenant, list))
		return nil
	})
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	err = c.db.link.read(ctx, c.db.sql(refineQuery), []any{keys, terms, numbers}, func() {}, func(pgx.Rows) error { return nil })
	return len(keys), err
}
