package pgmemory

import (
	"strconv"

	"github.com/weft-go/weft/memory"
)

// A plan is a search as one statement. It counts what the query selects, takes the best by words and
// the nearest by vector, and returns them with the counts: at least one row.
type plan struct {
	args
	text    string
	key     string // of what is selected, for its size
	space   int64  // 0 without a vector
	indexed bool   // whether there is an index of the space, once it is known
	counts  bool   // the statement counts, and does not go by what was counted before
}

// What every statement is made of. Each %-sign would be a mistake: nothing is put into these.
const (
	countAll = `, size AS MATERIALIZED (SELECT count(*) AS facts, coalesce(sum(f.word_count), 0)::bigint AS terms FROM weft.mem_fact f WHERE `

	// Each pair is a fact and a term that it has; a fact scores by how rare the terms are that it
	// has, and how short it is.
	pairWords = `), pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr FROM hit h CROSS JOIN LATERAL unnest(h.words) AS w (word)
	JOIN unnest(`
	countPairs = `) WITH ORDINALITY AS q (word, nr) ON q.word = w.word), freq AS MATERIALIZED (SELECT p.nr, count(*) AS n FROM pair p GROUP BY p.nr)`
	bestWords  = `, worded AS MATERIALIZED (SELECT p.key FROM pair p JOIN freq q USING (nr), size z GROUP BY p.key, p.word_count, z.facts, z.terms
	ORDER BY sum(ln(1 + (greatest(z.facts - q.n, 0) + 0.5) / (q.n + 0.5))) / (0.25 + 0.75 * p.word_count * z.facts / greatest(z.terms, 1)) DESC, p.key DESC LIMIT `
)

func (d *DB) newPlan(s *memory.Search) (*plan, error) {
	sel, err := newSelection(&s.Query)
	if err != nil {
		return nil, err
	}
	p := &plan{args: sel.args, key: sel.key(), counts: true}
	known, large := d.sizes.size(p.key)
	// What is large is not looked at row by row: the scope is no way to find it.
	where := sel.where
	p.text = sel.with
	if large {
		where = throughIndex(sel.where)
		p.counts = false
		p.text += `, size AS MATERIALIZED (SELECT ` + p.add(known.facts, "bigint") + ` AS facts, ` + p.add(known.terms, "bigint") + ` AS terms)`
	} else {
		p.text += countAll + sel.where + `)`
	}
	candidates := ``
	limit := ``
	if s.Limit > 0 && len(s.Terms)+len(s.Embedding) > 0 {
		limit = p.add(s.Limit, "bigint")
	}
	frequency := `ARRAY[]::bigint[]`
	if len(s.Terms) > 0 {
		terms := p.add(words(s.Query.Scope.Tenant, s.Terms), "bigint[]")
		p.text += `, hit AS MATERIALIZED (SELECT f.key, f.words, f.word_count FROM weft.mem_fact f WHERE f.words && ` + terms + ` AND ` + where +
			pairWords + terms + countPairs
		frequency = `ARRAY(SELECT coalesce(q.n, 0) FROM generate_series(1, cardinality(` + terms + `)) AS t (nr) LEFT JOIN freq q USING (nr) ORDER BY t.nr)`
		if s.Limit > 0 {
			p.text += bestWords + limit + `)`
			candidates = `SELECT key FROM worded`
		}
	}
	indexed := `false`
	if len(s.Embedding) > 0 && s.Limit > 0 {
		d.addNearest(p, s, sel.where, limit)
		indexed = indexedQuery(d.quoted, p.space)
		if candidates != `` {
			candidates += ` UNION `
		}
		candidates += `SELECT key FROM near`
	}
	if candidates == `` {
		candidates = `SELECT NULL::bigint`
	}
	p.text += ` SELECT z.facts, z.terms, ` + frequency + `, ` + indexed + `, ` + d.columns() +
		` FROM size z LEFT JOIN (weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope) ON f.key = ANY (ARRAY(` + candidates + `))`
	return p, nil
}

// throughIndex keeps the database from taking a condition for a way to the rows, and from taking it to be
// rare.
func throughIndex(where string) string { return `CASE WHEN ` + where + ` THEN true ELSE false END` }

const (
	// maxScan is how many vectors an index may give that the query does not select, before it is
	// better to compare all that it does select.
	maxScan = 20_000
	// wider is how many more of the nearest the index is asked for than are wanted, in halves: it
	// knows them about, and then they are compared exactly.
	wider = 3
)

// addNearest adds the leg of the vector. Where the query selects much, and the vectors have an
// index, it is asked first. If it does not give enough, all that is selected is compared, as it is
// where the query selects little: so nothing is ever missing.
func (d *DB) addNearest(p *plan, s *memory.Search, where, limit string) {
	p.space = space(s.Model, len(s.Embedding))
	same := `f.space = ` + p.literal() + ` AND f.model = ` + p.add(s.Model, "text")
	distance := `f.embedding OPERATOR(` + d.vector + `.<=>) (SELECT v FROM want)`
	p.text += `, want AS MATERIALIZED (SELECT ` + p.add(spellVector(s.Embedding), "text") + `::` + d.vector + `.vector AS v)`
	enough := ``
	if d.sizes.indexed(p.space) && len(s.Embedding) <= maxHalf && s.Limit <= maxScan {
		d.addQuick(p, s, same, where, limit)
		enough = `(SELECT count(*) FROM quick) < ` + limit + ` AND `
		p.text += `, near AS MATERIALIZED ((SELECT q.key FROM quick q WHERE (SELECT count(*) FROM quick) >= ` + limit + ` ORDER BY q.distance LIMIT ` + limit + `)
	UNION ALL `
	} else {
		p.text += `, near AS MATERIALIZED (`
	}
	p.text += `(SELECT f.key FROM weft.mem_fact f WHERE ` + enough + where + ` AND ` + same + ` ORDER BY ` + distance + `, f.key LIMIT ` + limit + `))`
}

// literal is part of the statement, since an index of a part of the rows is only found by what is known when
// the statement is planned. It is a number of our own.
func (p *plan) literal() string { return `'` + strconv.FormatInt(p.space, 10) + `'::bigint` }

// addQuick adds the leg that asks the index. Its settings hold for the statement: they are set when its first
// condition is looked at, which is before the index is.
func (d *DB) addQuick(p *plan, s *memory.Search, same, where, limit string) {
	n := len(s.Embedding)
	reach := strconv.Itoa(min(max(2*s.Limit, 200), 1000))
	as := vectorType(d.vector, n)
	p.text += `, route AS MATERIALIZED (SELECT z.facts > ` + p.add(d.options.Exact, "bigint") + ` AND ` + limit + ` * greatest((SELECT c.reltuples FROM pg_class c
	WHERE c.oid = to_regclass('` + d.quoted + `.` + indexName(p.space) + `')), 1) <= z.facts * ` + strconv.Itoa(maxScan/4) + `
	AND set_config('hnsw.iterative_scan', 'relaxed_order', true) IS NOT NULL AND set_config('hnsw.ef_search', '` + reach + `', true) IS NOT NULL
	AND set_config('hnsw.max_scan_tuples', '` + strconv.Itoa(maxScan) + `', true) IS NOT NULL
	AND set_config('hnsw.scan_mem_multiplier', '4', true) IS NOT NULL AS quick FROM size z)
	, quick AS MATERIALIZED (SELECT f.key, f.embedding OPERATOR(` + d.vector + `.<=>) (SELECT v FROM want) AS distance FROM weft.mem_fact f
	WHERE (SELECT quick FROM route) AND f.space = ` + p.literal() + ` AND ` + throughIndex(same+` AND `+where) + `
	ORDER BY (f.embedding::` + as + `) OPERATOR(` + d.vector + `.<=>) (SELECT v::` + as + ` FROM want)
	LIMIT ` + limit + ` * ` + strconv.Itoa(wider) + ` / 2)`
}
