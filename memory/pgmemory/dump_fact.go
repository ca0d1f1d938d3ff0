package pgmemory

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	factScopes = `s.key FROM weft.mem_scope`

	// Each half of the UNION has the limit too, so that it reads at most a page of its index.
	savedIDs = `SELECT id::text FROM (
	(SELECT f.id FROM weft.mem_fact f WHERE f.scope = $1::bigint AND f.id > $2::text::uuid ORDER BY f.id LIMIT $3::int)
	UNION (SELECT DISTINCT e.fact FROM weft.mem_event e WHERE e.scope = $1::bigint AND e.fact > $2::text::uuid ORDER BY e.fact LIMIT $3::int)
	) AS u (id) ORDER BY u.id LIMIT $3::int`
	savedEvents = `SELECT e.fact::text, e.kind, e.was, e.became, e.actor, e.at FROM weft.mem_event e
	WHERE e.scope = $1::bigint AND e.fact = ANY ($2::text[]::uuid[]) ORDER BY e.fact, e.key`

	// knownFacts selects the positions of facts that the scope has or had. They are not restored.
	knownFacts = `SELECT g.nr - 1 FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS g (digest, id, nr) JOIN weft.mem_scope s ON s.digest = g.digest
	WHERE EXISTS (SELECT FROM weft.mem_fact f WHERE f.scope = s.key AND f.id = g.id::uuid)
	OR EXISTS (SELECT FROM weft.mem_event e WHERE e.scope = s.key AND e.fact = g.id::uuid)`
	restoreFacts = `INSERT INTO weft.mem_fact (scope, id, version, kind, content, said, raw, metadata, conversation, turn, trust, importance, valid_from,
	valid_to, superseded_by, expires_at, terms, word_count, words, model, space, embedding, created_at, updated_at)
	SELECT s.key, g.id::uuid, g.version, g.kind, g.content, g.said, g.raw, g.metadata::jsonb, g.conversation, g.turn, g.trust, g.importance, g.valid_from,
	g.valid_to, g.superseded_by, g.expires_at, g.terms::text[], cardinality(g.terms::text[]), g.words::bigint[], g.model, g.space, g.embedding::%s.vector,
	g.created_at, g.updated_at
	FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::text[], $9::text[], $10::bigint[],
	$11::int[], $12::float8[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::timestamptz[], $17::text[], $18::text[], $19::text[],
	$20::bigint[], $21::text[], $22::timestamptz[], $23::timestamptz[])
	WITH ORDINALITY AS g (digest, id, version, kind, content, said, raw, metadata, conversation, turn, trust, importance, valid_from, valid_to,
	superseded_by, expires_at, terms, words, model, space, embedding, created_at, updated_at, nr) JOIN weft.mem_scope s ON s.digest = g.digest
	ORDER BY g.nr`
	restoreEvents = `INSERT INTO weft.mem_event (scope, fact, kind, was, became, actor, at)
	SELECT s.key, g.fact::uuid, g.kind, g.was, g.became, g.actor, g.at
	FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
	WITH ORDINALITY AS g (digest, fact, kind, was, became, actor, at, nr) JOIN weft.mem_scope s ON s.digest = g.digest ORDER BY g.nr`
)

// Dump implements [driver.FactStore], with three round trips for each 256 facts of a scope.
func (f *factStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedFact, error] {
	return dump(ctx, f.db, factScopes, s, func(in *savedScope, last *driver.SavedFact) ([]driver.SavedFact, error) {
		after := noFact
		if last != nil {
			after = last.ID
		}
		var ids []string
		err := f.db.link.read(ctx, f.db.sql(savedIDs), []any{in.key, after, page}, func() { ids = nil }, func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return f.saved(ctx, in, ids)
	})
}

// saved returns facts of a scope with their histories.
func (f *factStore) saved(ctx context.Context, in *savedScope, ids []string) ([]driver.SavedFact, error) {
	list, at := make([]driver.SavedFact, len(ids)), map[string]int{}
	for i, id := range ids {
		list[i], at[id] = driver.SavedFact{Scope: in.Scope, ID: id}, i
	}
	text := `SELECT ` + f.db.columns() + ` FROM weft.mem_fact f WHERE f.scope = $1::bigint AND f.id = ANY ($2::text[]::uuid[])`
	err := f.db.link.read(ctx, f.db.sql(text), []any{in.key, ids}, func() {}, func(rows pgx.Rows) error {
		var r row
		if err := rows.Scan(r.dest()...); err != nil {
			return err
		}
		record, err := r.record()
		record.Scope = in.Scope
		list[at[r.ID]].Record = &record
		return err
	})
	if err != nil {
		return nil, err
	}
	reset := func() {
		for i := range list {
			list[i].History = nil
		}
	}
	err = f.db.link.read(ctx, f.db.sql(savedEvents), []any{in.key, ids}, reset, func(rows pgx.Rows) error {
		e := driver.Event{Scope: in.Scope}
		if err := rows.Scan(&e.ID, &e.Kind, &e.Before, &e.After, &e.By, &e.At); err != nil {
			return err
		}
		e.At = e.At.UTC()
		one := &list[at[e.ID]]
		one.History = append(one.History, e)
		return nil
	})
	return list, err
}

// Restore implements [driver.FactStore], in eight round trips.
func (f *factStore) Restore(ctx context.Context, list []driver.SavedFact) (int, error) {
	return restore(ctx, f.db, list, func(one *driver.SavedFact) driver.Scope { return one.Scope }, func(l *link, scopes [][]byte) (int, error) {
		return f.restore(ctx, l, list, scopes)
	})
}

func (f *factStore) restore(ctx context.Context, l *link, list []driver.SavedFact, scopes [][]byte) (int, error) {
	all, ids := make([]driver.Scope, len(list)), make([]string, len(list))
	for i := range list {
		if all[i], ids[i] = list[i].Scope, list[i].ID; !isID(ids[i]) {
			return 0, fmt.Errorf("the id of the fact, %.60q, is no UUID: %w", ids[i], driver.ErrInvalid)
		}
	}
	if err := f.db.enterScopes(ctx, l, `weft.mem_scope`, all); err != nil {
		return 0, err
	}
	skip, seen := map[int]bool{}, map[string]bool{}
	for i := range list { // skip an ID that the list repeats in a scope
		name := string(scopes[i]) + ids[i]
		if seen[name] {
			skip[i] = true
		}
		seen[name] = true
	}
	err := l.query(ctx, f.db.sql(knownFacts), []any{scopes, ids}, func(rows pgx.Rows) error {
		var i int
		err := rows.Scan(&i)
		skip[i] = true
		return err
	})
	if err == nil {
		err = f.restoreRecords(ctx, l, list, scopes, skip)
	}
	if err == nil {
		err = f.restoreHistories(ctx, l, list, scopes, skip)
	}
	return len(list) - len(skip), err
}

// restoreRecords stores the facts whose index is not in skip.
func (f *factStore) restoreRecords(ctx context.Context, l *link, list []driver.SavedFact, scopes [][]byte, skip map[int]bool) error {
	var columns changeList
	var in [][]byte
	var created, updated []time.Time
	for i := range list {
		r := list[i].Record
		if r == nil || skip[i] {
			continue
		}
		c := driver.FactChange{Kind: driver.Add, Record: *r}
		c.Record.ID = list[i].ID
		if err := columns.add(list[i].Scope, &c); err != nil {
			return err
		}
		in, created, updated = append(in, scopes[i]), append(created, r.CreatedAt), append(updated, r.UpdatedAt)
	}
	if len(in) == 0 {
		return nil
	}
	c := &columns
	values := []any{
		in, c.id, c.version, c.kind, c.content, c.said, c.raw, c.metadata, c.conversation, c.turn, c.trust, c.importance, c.validFrom, c.validTo, c.by,
		c.expires, c.terms, c.words, c.model, c.space, c.vector, created, updated,
	}
	if err := l.exec(ctx, fmt.Sprintf(f.db.sql(restoreFacts), f.db.vector), values...); err != nil {
		return err
	}
	return f.db.newest(ctx, l, `weft.mem_scope`, in, updated)
}

func (f *factStore) restoreHistories(ctx context.Context, l *link, list []driver.SavedFact, scopes [][]byte, skip map[int]bool) error {
	var in [][]byte
	var id, kind, was, became, actor []string
	var at []time.Time
	for i := range list {
		if skip[i] {
			continue
		}
		for _, e := range list[i].History {
			in, id, kind = append(in, scopes[i]), append(id, list[i].ID), append(kind, string(e.Kind))
			was, became, actor, at = append(was, e.Before), append(became, e.After), append(actor, e.By), append(at, e.At)
		}
	}
	if len(in) == 0 {
		return nil
	}
	if err := l.exec(ctx, f.db.sql(restoreEvents), in, id, kind, was, became, actor, at); err != nil {
		return err
	}
	return f.db.newest(ctx, l, `weft.mem_scope`, in, at)
}
