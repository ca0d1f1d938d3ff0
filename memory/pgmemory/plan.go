package pgmemory

import "strconv"

// A table is one that can be searched: rows that have words and a vector. In statements it is f.
type table struct {
	name string
	near string // what the names of the indexes of its vectors begin with
	rows string // the table, with what its columns need besides
}

// A wanted is what a search looks for.
type wanted struct {
	words     []int64
	embedding []float32
	model     string
	limit     int
}

// A plan is a search as one statement. It counts what is selected, takes the best by words and
// the nearest by vector, and returns them with the counts: at least one row.
type plan struct {
	args
	table   *table
	text    string
	key     string // of what is selected, for its size
	space   int64  // of the vector
	index   string // the name of its index; empty without a vector
	indexed bool   // whether there is that index, once it is known
	once    bool   // all that is selected is looked at once, to be counted and compared
	counts  bool   // the statement counts, and does not go by what was counted before
}

// What every statement is made of. Each %-sign would be a mistake: nothing is put into these.
const (
	// Each pair is a row and a word that it has; a row scores by how rare the words are that it
	// has, and how short it is.
	pairHits = `), pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr FROM hit h JOIN unnest(`
	anyOf    = `) WITH ORDINALITY AS q (word, nr) ON q.word = ANY (h.words)`
	// Where much is selected, no more than some of the rows that have a common word are looked at.
	pairMost  = `, pair AS MATERIALIZED (SELECT f.key, f.word_count, q.nr FROM unnest(`
	eachOf    = `) WITH ORDINALITY AS q (word, nr) CROSS JOIN LATERAL (SELECT f.key, f.word_count FROM `
	mostWords = ` LIMIT 10000) f`
	freqPairs = `), freq AS MATERIALIZED (SELECT p.nr, count(*) AS n FROM pair p GROUP BY p.nr)`
	bestWords = `, worded AS MATERIALIZED (SELECT p.key FROM pair p JOIN freq q USING (nr), size z GROUP BY p.key, p.word_count, z.rows, z.terms
	ORDER BY sum(ln(1 + (greatest(z.rows - q.n, 0) + 0.5) / (q.n + 0.5))) / (0.25 + 0.75 * p.word_count * z.rows / greatest(z.terms, 1)) DESC, p.key DESC LIMIT `
)

// newPlan returns the plan of a search among what is selected. The columns follow the counts.
func (d *DB) newPlan(t *table, sel *selection, w *wanted, columns string) *plan {
	p := &plan{table: t, args: sel.args, text: sel.with, key: sel.key()}
	known, ok := d.sizes.size(p.key)
	if len(w.embedding) > 0 && w.limit > 0 {
		p.space = space(w.model, len(w.embedding))
		p.index = t.indexName(p.space)
		p.text += `, want AS MATERIALIZED (SELECT ` + p.add(spellVector(w.embedding), "text") + `::` + d.vector + `.vector AS v)`
		p.once = sel.dear && !known.large && (ok || !d.sizes.indexed(p.index))
	}
	d.addSize(p, sel, w, known)
	limit := ``
	if w.limit > 0 && len(w.words)+len(w.embedding) > 0 {
		limit = p.add(w.limit, "bigint")
	}
	frequency, candidates := p.addWords(sel.where, w.words, limit, known.large)
	indexed := `false`
	if len(w.embedding) > 0 && w.limit > 0 {
		d.addNearest(p, w, sel.where, limit)
		indexed = indexedQuery(d.quoted, p.index)
		if candidates != `` {
			candidates += ` UNION `
		}
		candidates += `SELECT key FROM near`
	}
	if candidates == `` {
		candidates = `SELECT NULL::bigint`
	}
	p.text += ` SELECT z.rows, z.terms, ` + frequency + `, ` + indexed + `, ` + columns + ` FROM size z LEFT JOIN (` + t.rows + `) ON f.key = ANY (ARRAY(` + candidates + `))`
	return p
}

// addSize adds how many rows are selected, and how many terms they have.
func (d *DB) addSize(p *plan, sel *selection, w *wanted, known size) {
	p.counts = !known.large || !sel.slow
	switch {
	case p.once:
		p.text += `, chosen AS MATERIALIZED (SELECT f.key, f.word_count, CASE WHEN ` + p.same(w) + ` THEN ` + d.distance() + ` END AS distance FROM ` +
			p.table.name + ` f WHERE ` + sel.where + `), size AS MATERIALIZED (SELECT count(*) AS rows, coalesce(sum(word_count), 0)::bigint AS terms FROM chosen)`
	case p.counts:
		p.text += `, size AS MATERIALIZED (` + sel.size + `)`
	default:
		p.text += `, size AS MATERIALIZED (SELECT ` + p.add(known.rows, "bigint") + ` AS rows, ` + p.add(known.terms, "bigint") + ` AS terms)`
	}
}

// same is a condition for vectors that can be compared.
func (p *plan) same(w *wanted) string {
	return `f.space = ` + p.literal() + ` AND f.model = ` + p.add(w.model, "text")
}

func (d *DB) distance() string {
	return `f.embedding OPERATOR(` + d.vector + `.<=>) (SELECT v FROM want)`
}

// addWords adds the leg of the words: the rows that have any of them, how many have each, and, if there is a
// limit, the keys of the best. What is large is not looked at row by row, so the scope is no way to find it.
func (p *plan) addWords(where string, words []int64, limit string, large bool) (frequency, best string) {
	if len(words) == 0 {
		return `ARRAY[]::bigint[]`, ``
	}
	list := p.add(words, "bigint[]")
	if large {
		p.text += pairMost + list + eachOf + p.table.name + ` f WHERE f.words @> ARRAY[q.word] AND ` + throughIndex(where) + mostWords + freqPairs
	} else {
		p.text += `, hit AS MATERIALIZED (SELECT f.key, f.words, f.word_count FROM ` + p.table.name + ` f WHERE f.words && ` + list + ` AND ` + where +
			pairHits + list + anyOf + freqPairs
	}
	if limit != `` {
		p.text += bestWords + limit + `)`
		best = `SELECT key FROM worded`
	}
	return `ARRAY(SELECT coalesce(q.n, 0) FROM generate_series(1, cardinality(` + list + `)) AS t (nr) LEFT JOIN freq q USING (nr) ORDER BY t.nr)`, best
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
func (d *DB) addNearest(p *plan, w *wanted, where, limit string) {
	if p.once {
		p.text += `, near AS MATERIALIZED (SELECT c.key FROM chosen c WHERE c.distance IS NOT NULL ORDER BY c.distance, c.key LIMIT ` + limit + `)`
		return
	}
	same := p.same(w)
	enough := ``
	if d.sizes.indexed(p.index) && len(w.embedding) <= maxHalf && w.limit <= maxScan {
		d.addQuick(p, w, same, where, limit)
		enough = `(SELECT count(*) FROM quick) < ` + limit + ` AND `
		p.text += `, near AS MATERIALIZED ((SELECT q.key FROM quick q WHERE (SELECT count(*) FROM quick) >= ` + limit + ` ORDER BY q.distance LIMIT ` + limit + `)
	UNION ALL `
	} else {
		p.text += `, near AS MATERIALIZED (`
	}
	p.text += `(SELECT f.key FROM ` + p.table.name + ` f WHERE ` + enough + where + ` AND ` + same + ` ORDER BY ` + d.distance() + `, f.key LIMIT ` + limit + `))`
}

// literal is part of the statement, since an index of a part of the rows is only found by what is known when
// the statement is planned. It is a number of our own.
func (p *plan) literal() string { return `'` + strconv.FormatInt(p.space, 10) + `'::bigint` }

// addQuick adds the leg that asks the index. Its settings hold for the statement: they are set when its first
// condition is looked at, which is before the index is.
func (d *DB) addQuick(p *plan, w *wanted, same, where, limit string) {
	n := len(w.embedding)
	reach := strconv.Itoa(min(max(2*w.limit, 200), 1000))
	as := vectorType(d.vector, n)
	p.text += `, route AS MATERIALIZED (SELECT z.rows > ` + p.add(d.options.Exact, "bigint") + ` AND ` + limit + ` * greatest((SELECT c.reltuples FROM pg_class c
	WHERE c.oid = to_regclass('` + d.quoted + `.` + p.index + `')), 1) <= z.rows * ` + strconv.Itoa(maxScan/4) + `
	AND set_config('hnsw.iterative_scan', 'relaxed_order', true) IS NOT NULL AND set_config('hnsw.ef_search', '` + reach + `', true) IS NOT NULL
	AND set_config('hnsw.max_scan_tuples', '` + strconv.Itoa(maxScan) + `', true) IS NOT NULL
	AND set_config('hnsw.scan_mem_multiplier', '4', true) IS NOT NULL AS quick FROM size z)
	, quick AS MATERIALIZED (SELECT f.key, ` + d.distance() + ` AS distance FROM ` + p.table.name + ` f
	WHERE (SELECT quick FROM route) AND f.space = ` + p.literal() + ` AND ` + throughIndex(same+` AND `+where) + `
	ORDER BY (f.embedding::` + as + `) OPERATOR(` + d.vector + `.<=>) (SELECT v::` + as + ` FROM want)
	LIMIT ` + limit + ` * ` + strconv.Itoa(wider) + ` / 2)`
}
