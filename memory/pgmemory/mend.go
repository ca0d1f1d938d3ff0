package pgmemory

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
)

// unread is the empty term, which no text has. A trigger computes simple terms for rows of programs
// in other languages, and adds the term unread. Each search also looks for this term. If a selected
// row has it, the search computes the terms of such rows with this package, and is repeated.
const unread = ""

// maxUnread is the maximum number of rows that a search updates. Call Reindex after larger imports.
const maxUnread = 512

// mending is a row whose terms are computed again.
type mending struct {
	key, place int64 // place is the key of its scope or shelf
	version    int64 // of a fact
	content    string
	terms      []string // the stored terms
	reads      []string // the terms that this package computes
}

// searchRead is like search, and also updates the terms of facts that programs in other languages
// have written.
func (f *factStore) searchRead(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	n := len(s.Terms)
	if n == 0 {
		return f.search(ctx, &s)
	}
	s.Terms = append(s.Terms[:n:n], unread)
	c, err := f.search(ctx, &s)
	if err == nil && c.Frequency[n] > 0 && f.mend(ctx, &s.Query) > 0 {
		c, err = f.search(ctx, &s)
	}
	if err != nil {
		return driver.FactCandidates{}, err
	}
	if c.Frequency[n] > 0 {
		c.Records = slices.DeleteFunc(c.Records, func(r driver.FactRecord) bool {
			return !hasAny(r.Terms, s.Terms[:n]) && (s.Embedding == nil || r.Model != s.Model || len(r.Embedding) != len(s.Embedding))
		})
	}
	c.Frequency = c.Frequency[:n]
	return c, nil
}

// searchRead is like search, and also updates the terms of chunks that programs in other languages
// have written.
func (k *documentStore) searchRead(ctx context.Context, s driver.ChunkSearch) (driver.ChunkCandidates, error) {
	n := len(s.Terms)
	if n == 0 {
		return k.search(ctx, &s)
	}
	s.Terms = append(s.Terms[:n:n], unread)
	c, err := k.search(ctx, &s)
	if err == nil && c.Frequency[n] > 0 && k.mend(ctx, &s.Query) > 0 {
		c, err = k.search(ctx, &s)
	}
	if err != nil {
		return driver.ChunkCandidates{}, err
	}
	if c.Frequency[n] > 0 {
		c.Records = slices.DeleteFunc(c.Records, func(r driver.ChunkRecord) bool {
			return !hasAny(r.Terms, s.Terms[:n]) && (s.Embedding == nil || r.Model != s.Model || len(r.Embedding) != len(s.Embedding))
		})
		c.Sources = slices.DeleteFunc(c.Sources, func(o driver.Source) bool {
			return !slices.ContainsFunc(c.Records, func(r driver.ChunkRecord) bool { return r.Source == o.ID })
		})
	}
	c.Frequency = c.Frequency[:n]
	return c, nil
}

func hasAny(has, asked []string) bool {
	return slices.ContainsFunc(asked, func(term string) bool { return slices.Contains(has, term) })
}

// Rows are not updated in a read-only transaction, such as on a replica, or without the privilege
// to update. A search then uses the terms of the trigger.
const (
	mayMend      = ` AND f.words @> `
	mayMendFact  = ` AND current_setting('transaction_read_only') = 'off' AND has_table_privilege('weft.mem_fact', 'UPDATE')`
	mayMendChunk = ` AND current_setting('transaction_read_only') = 'off' AND has_table_privilege('weft.mem_chunk', 'UPDATE')`
)

// mend updates the terms of marked facts that a query selects, and returns their number. It ignores
// errors, because the facts can still be found by the terms of the trigger.
func (f *factStore) mend(ctx context.Context, q *driver.FactQuery) int {
	sel, err := newSelection(q)
	if err != nil {
		return 0
	}
	tenant := q.Scope.Tenant
	text := sel.with + ` SELECT f.key, f.scope, f.version, f.content FROM weft.mem_fact f WHERE ` + sel.where + mayMend +
		sel.add([]int64{word(tenant, unread)}, "bigint[]") + mayMendFact + ` ORDER BY f.key LIMIT ` + sel.add(maxUnread, "int")
	var list []mending
	err = f.db.link.read(ctx, f.db.sql(text), sel.args, func() { list = nil }, func(rows pgx.Rows) error {
		var m mending
		err := rows.Scan(&m.key, &m.place, &m.version, &m.content)
		m.reads = rank.Terms(m.content)
		list = append(list, m)
		return err
	})
	if err != nil || len(list) == 0 {
		return 0
	}
	version := make([]int64, len(list))
	for i := range list {
		version[i] = list[i].version
	}
	place, key, terms, words := columnsOf(tenant, list)
	n, err := f.db.count(ctx, mendFacts, place, key, version, terms, words)
	if err != nil {
		return 0
	}
	return n
}

// Lock the scopes first, like every change of facts. Skip a fact that has changed since it was
// read.
const mendFacts = `WITH held AS MATERIALIZED (SELECT s.key FROM weft.mem_scope s WHERE s.key = ANY ($1::bigint[]) ORDER BY s.key FOR UPDATE),
	done AS (UPDATE weft.mem_fact f SET terms = g.terms::text[], words = g.words::bigint[], word_count = cardinality(g.terms::text[])
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS g (key, version, terms, words)
		WHERE f.key = g.key AND f.version = g.version AND f.scope = ANY (ARRAY(SELECT key FROM held)) RETURNING 1)
	SELECT count(*) FROM done`

// columnsOf returns the arguments of an update: the distinct keys of scopes or shelves, and for each row
// its key, terms and words.
func columnsOf(tenant string, list []mending) (place, key []int64, terms, words []string) {
	lexicon := newLexicon(tenant)
	for _, m := range list {
		place, key = append(place, m.place), append(key, m.key)
		terms, words = append(terms, textArray(m.reads)), append(words, lexicon.array(m.reads))
	}
	slices.Sort(place)
	return slices.Compact(place), key, terms, words
}

// mend updates the terms of marked chunks that a query selects, and returns their number. It
// ignores errors, as factStore.mend does.
func (k *documentStore) mend(ctx context.Context, q *driver.SourceQuery) int {
	list, err := k.unread(ctx, q, 0, true)
	if err != nil || len(list) == 0 {
		return 0
	}
	n, err := k.rewrite(ctx, q.Scope.Tenant, list)
	if err != nil {
		return 0
	}
	return n
}

// unread returns up to maxUnread chunks that a query selects and whose key is greater than after.
// If marked is true, it returns only chunks with the term unread.
func (k *documentStore) unread(ctx context.Context, q *driver.SourceQuery, after int64, marked bool) (list []mending, err error) {
	sel, err := newChunkSelection(q)
	if err != nil {
		return nil, err
	}
	text := sel.with + ` SELECT f.key, f.shelf, f.content, f.headings, o.title, f.terms FROM weft.mem_chunk f JOIN weft.mem_source o ON o.key = f.source WHERE ` + sel.where +
		` AND f.key > ` + sel.add(after, "bigint")
	if marked {
		text += mayMend + sel.add([]int64{word(q.Scope.Tenant, unread)}, "bigint[]") + mayMendChunk
	}
	text += ` ORDER BY f.key LIMIT ` + sel.add(maxUnread, "int")
	err = k.db.link.read(ctx, k.db.sql(text), sel.args, func() { list = nil }, func(rows pgx.Rows) error {
		var m mending
		var headings []string
		var title string
		err := rows.Scan(&m.key, &m.place, &m.content, &headings, &title, &m.terms)
		m.reads = rank.Terms(passage.Text(title, headings, m.content))
		list = append(list, m)
		return err
	})
	return list, err
}

// Lock the shelves first, like every change of sources, because a shelf has the number of its
// terms. Skip a chunk that has changed since it was read.
const mendChunks = `WITH held AS MATERIALIZED (SELECT s.key FROM weft.mem_shelf s WHERE s.key = ANY ($1::bigint[]) ORDER BY s.key FOR UPDATE),
	given AS MATERIALIZED (SELECT * FROM unnest($2::bigint[], $3::bytea[], $4::text[], $5::text[]) AS g (key, digest, terms, words)),
	was AS MATERIALIZED (SELECT f.key, f.word_count FROM weft.mem_chunk f JOIN given g ON g.key = f.key
		WHERE f.shelf = ANY (ARRAY(SELECT key FROM held)) AND sha256(convert_to(f.content, 'UTF8')) = g.digest FOR UPDATE OF f),
	done AS (UPDATE weft.mem_chunk f SET terms = g.terms::text[], words = g.words::bigint[], word_count = cardinality(g.terms::text[])
		FROM given g JOIN was w ON w.key = g.key WHERE f.key = g.key RETURNING f.source, f.word_count - w.word_count AS more),
	each AS MATERIALIZED (SELECT d.source, count(*) AS n, sum(d.more)::bigint AS more FROM done d GROUP BY d.source),
	sources AS (UPDATE weft.mem_source o SET terms = o.terms + e.more FROM each e WHERE o.key = e.source RETURNING o.shelf, e.more),
	shelves AS (UPDATE weft.mem_shelf s SET terms = s.terms + e.more
		FROM (SELECT o.shelf, sum(o.more)::bigint AS more FROM sources o GROUP BY o.shelf) e WHERE s.key = e.shelf RETURNING 1)
	SELECT coalesce(sum(n), 0)::bigint FROM each`

func (k *documentStore) rewrite(ctx context.Context, tenant string, list []mending) (int, error) {
	digests := make([][]byte, len(list))
	for i, m := range list {
		sum := sha256.Sum256([]byte(m.content))
		digests[i] = sum[:]
	}
	place, key, terms, words := columnsOf(tenant, list)
	return k.db.count(ctx, mendChunks, place, key, digests, terms, words)
}

// Reindex implements [driver.Reindexer], with at most two round trips for each 512 chunks. It skips
// chunks that the role may not update.
func (k *documentStore) Reindex(ctx context.Context, q driver.SourceQuery) (int, error) {
	done := 0
	for after, more := int64(0), true; more; {
		list, err := k.unread(ctx, &q, after, false)
		if more = len(list) == maxUnread; len(list) > 0 {
			after = list[len(list)-1].key
		}
		list = slices.DeleteFunc(list, func(m mending) bool { return slices.Equal(m.terms, m.reads) })
		n := 0
		if err == nil && len(list) > 0 {
			n, err = k.rewrite(ctx, q.Scope.Tenant, list)
		}
		if err != nil {
			return done, k.db.fail("reindex knowledge", err)
		}
		done += n
	}
	return done, nil
}
