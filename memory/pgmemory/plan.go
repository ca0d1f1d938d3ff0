package pgmemory

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A table is a table that can be searched by words, and by vectors if it has them. Statements name
// it f.
type table struct {
	name string
	near string // prefix of the names of its vector indexes
	rows string // the table, joined with the other tables of the selected columns
}

// A wanted has the words and the vector of a search, and the limit for each of them.
type wanted struct {
	words     []int64
	terms     []string // the term of each word
	embedding []float32
	model     string
	limit     int
}

// A plan is a search in one statement. It counts the selected rows, ranks them by words and by vector,
// and returns the best rows with the counts. It returns at least one row.
//
// Searches of the same form must have the same text, so that the database can reuse its query plan.
// Limits are part of the text, since the database assumes a tenth of the table for an unknown limit.
type plan struct {
	args
	found
	table *table
	text  string  // begins the statement
	key   sizeKey // of the selection
	space int64   // of the vector
	index string  // the name of its index; empty without a vector
	limit string

	ahead   []string // columns before the columns of the candidates
	head    []any    // the destinations of ahead
	columns string   // of the candidates
	from    string   // ends the statement

	once   bool // one scan of the selected rows both counts them and compares their vectors
	counts bool // the statement counts the rows, and does not use the known size
	large  bool // too many rows are selected to read each of them
	quick  bool // the statement uses the vector index
	asks   bool // the statement counts the vectors of the index
}

// A found has the counts that the statement of a plan returns in addition to the candidates.
type found struct {
	rows, terms int64
	frequency   []int64
	vectors     int64 // of the index; zero if there is none
	among       int64 // the number of rows on which a dear condition was evaluated
	since       time.Time
}

// Parts of statements. They are concatenated and not formatted, so a percent sign needs no escape.
const (
	// A pair is a row and one of its words, with the number of occurrences. Only a row with more terms
	// than words has a word twice, so the terms of other rows need not be read.
	pairHits  = `), pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr, ` + wordTimes + ` FROM hit h JOIN unnest(`
	wordTimes = `CASE WHEN h.word_count > cardinality(h.words) THEN cardinality(array_positions(h.terms, q.term)) ELSE 1 END AS times`
	anyOf     = `) WITH ORDINALITY AS q (word, term, nr) ON q.word = ANY (h.words)`
	// For a large selection, read only a limited number of rows for each word.
	pairMost  = `, pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr, ` + wordTimes + ` FROM unnest(`
	eachOf    = `) WITH ORDINALITY AS q (word, term, nr) CROSS JOIN LATERAL (SELECT f.key, f.word_count, f.words, f.terms FROM `
	mostWords = ` LIMIT 10000) h`
	freqPairs = `), freq AS MATERIALIZED (SELECT p.nr, least(count(*), 10000) AS n FROM pair p GROUP BY p.nr)`
	// The order is by BM25, as in package rank.
	bestWords = `, worded AS MATERIALIZED (SELECT p.key FROM pair p JOIN freq q USING (nr), size z GROUP BY p.key
	ORDER BY sum(ln(1 + (greatest(z.rows - q.n, 0) + 0.5) / (q.n + 0.5)) * p.times / (p.times + 0.3 + 0.9 * p.word_count * z.rows / greatest(z.terms, 1))) DESC, p.key DESC LIMIT `
)

// newPlan returns the plan of a search in a selection. The argument columns has the columns of the
// candidates.
func (d *DB) newPlan(t *table, sel *selection, w *wanted, columns string) *plan {
	p := &plan{table: t, args: sel.args, text: sel.with, key: sel.key(), limit: itoa(w.limit)}
	known, ok := d.sizes.size(p.key)
	near := len(w.embedding) > 0 && w.limit > 0
	if near {
		p.space = space(w.model, len(w.embedding))
		p.index = d.indexName(t, p.space, len(w.embedding))
		p.text += `, want AS MATERIALIZED (SELECT ` + p.add(spellVector(w.embedding), "text") + `::` + d.vector + `.vector AS v)`
	}
	least := d.route(p, sel, w, known, ok)
	p.tell(`z.rows`, &p.rows)
	p.tell(`z.terms`, &p.terms)
	if p.asks {
		p.tell(vectorsQuery(d.quoted, p.index), &p.vectors)
	}
	// A plan with once counts the rows again, but not among, so it keeps the time of the known size. The
	// size then expires, and a later search counts among again.
	if p.among, p.since = known.among, known.at; !p.once || known.among == 0 {
		p.since = time.Now()
	}
	if p.once && known.among == 0 {
		p.tell(`(SELECT count(*) FROM `+t.name+` f WHERE `+sel.rough+`)`, &p.among)
	}
	d.addSize(p, sel, w, known)
	candidates := []string{}
	if len(w.words) > 0 {
		p.tell(p.addWords(sel.where, w), &p.frequency)
		if w.limit > 0 {
			candidates = append(candidates, `SELECT key FROM worded`)
		}
	}
	if near {
		d.addNearest(p, w, sel.where, least)
		candidates = append(candidates, `SELECT key FROM near`)
	}
	if len(candidates) == 0 {
		candidates = []string{`SELECT NULL::bigint`}
	}
	p.columns, p.from = columns, ` FROM size z LEFT JOIN `+t.rows+` ON f.key = ANY (ARRAY(`+strings.Join(candidates, ` UNION `)+`))`
	return p
}

// tell adds a column before the columns of the candidates. It has the same value in each row.
func (p *plan) tell(column string, into any) {
	p.ahead, p.head = append(p.ahead, column), append(p.head, into)
}

const (
	// maxScan is the maximum number of vectors that an index scan visits. For more, comparing all
	// selected vectors is faster.
	maxScan = 20_000
	// stride is the number of rows on which a condition can be evaluated in the time that the index
	// needs for one more vector.
	stride = 12
	// wider is the number of vectors that the index returns, in halves of the wanted number: 3 means 1.5
	// times as many. The order of the index is approximate, so the result is compared exactly
	// afterwards.
	wider = 3
)

// route chooses how a plan reads the rows, from the known size. It returns the minimum number of
// selected rows for which the index is used.
func (d *DB) route(p *plan, sel *selection, w *wanted, known size, ok bool) (least int64) {
	exact, vectors := int64(d.options.Exact), int64(0)
	if p.index != "" {
		vectors = d.sizes.vectors(p.index)
		p.asks = !ok || max(known.rows, known.among) > exact
	}
	// The index also visits vectors that are not selected: to find limit selected vectors, it visits
	// about limit * vectors / rows.
	passed := int64(w.limit) * vectors
	least = max(exact, passed/(maxScan/4)) + 1
	if known.among > exact {
		least = max(passed/(maxScan/4), passed*wider/2*stride/known.among) + 1
	}
	p.quick = vectors > 0 && len(w.embedding) <= maxHalf && w.limit <= maxScan && (known.rows >= least || !ok && !sel.dear)
	p.large = known.rows > exact || ok && p.quick
	p.counts = !p.large || !sel.slow
	p.once = sel.dear && p.index != "" && p.counts && !p.quick
	return least
}

// addSize adds the SQL for the number of selected rows, and for the number of their terms.
func (d *DB) addSize(p *plan, sel *selection, w *wanted, known size) {
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

// same returns a condition for vectors of the same model and dimension.
func (p *plan) same(w *wanted) string {
	return `f.space = ` + p.literal() + ` AND f.model = ` + p.add(w.model, "text")
}

func (d *DB) distance() string {
	return `f.embedding OPERATOR(` + d.vector + `.<=>) (SELECT v FROM want)`
}

// addWords adds the search by words: the rows that have any of the words and, if the limit is positive,
// the best of these rows. For a large selection, it reads rows by word and not by scope. It returns SQL
// for the number of rows that have each word.
func (p *plan) addWords(where string, w *wanted) (frequency string) {
	list := p.add(w.words, "bigint[]")
	both := list + `, ` + p.add(w.terms, "text[]")
	if p.large {
		p.text += pairMost + both + eachOf + p.table.name + ` f WHERE f.words @> ARRAY[q.word] AND ` + throughIndex(where) + mostWords + freqPairs
	} else {
		p.text += `, hit AS MATERIALIZED (SELECT f.key, f.words, f.terms, f.word_count FROM ` + p.table.name + ` f WHERE f.words && ` + list + ` AND ` + where +
			pairHits + both + anyOf + freqPairs
	}
	if w.limit > 0 {
		p.text += bestWords + p.limit + `)`
	}
	return `ARRAY(SELECT coalesce(q.n, 0) FROM generate_series(1, cardinality(` + list + `)) AS t (nr) LEFT JOIN freq q USING (nr) ORDER BY t.nr)`
}

// throughIndex hides a condition from the planner, so that the planner does not use it to find rows, and
// does not assume that few rows meet it.
func throughIndex(where string) string { return `CASE WHEN ` + where + ` THEN true ELSE false END` }

// addNearest adds the search by vector. If the plan is quick, the index is used first. All selected
// vectors are compared if the plan is not quick, or if the index returns too few rows.
func (d *DB) addNearest(p *plan, w *wanted, where string, least int64) {
	if p.once {
		p.text += `, near AS MATERIALIZED (SELECT c.key FROM chosen c WHERE c.distance IS NOT NULL ORDER BY c.distance, c.key DESC LIMIT ` + p.limit + `)`
		return
	}
	same := p.same(w)
	enough := ``
	if p.quick {
		d.addQuick(p, w, same, where, least)
		enough = `(SELECT count(*) FROM quick) < ` + p.limit + ` AND `
		p.text += `, near AS MATERIALIZED ((SELECT q.key FROM quick q WHERE (SELECT count(*) FROM quick) >= ` + p.limit + ` ORDER BY q.distance LIMIT ` + p.limit + `)
	UNION ALL `
	} else {
		p.text += `, near AS MATERIALIZED (`
	}
	p.text += `(SELECT f.key FROM ` + p.table.name + ` f WHERE ` + enough + where + ` AND ` + same + ` ORDER BY ` + d.distance() + `, f.key DESC LIMIT ` + p.limit + `))`
}

// literal returns the space as a constant, since the planner uses a partial index only if its condition
// is constant. The space is a hash, so no text of a caller gets into the statement.
func (p *plan) literal() string { return `'` + strconv.FormatInt(p.space, 10) + `'::bigint` }

// addQuick adds the search in the vector index. The settings of the index apply to the transaction. They
// are set during the evaluation of the condition on route, before the index scan.
func (d *DB) addQuick(p *plan, w *wanted, same, where string, least int64) {
	n := len(w.embedding)
	reach := itoa(min(max(2*w.limit, 200), 1000))
	as := d.vectorType(n)
	p.text += `, route AS MATERIALIZED (SELECT z.rows >= ` + p.add(least, "bigint") + `
	AND set_config('hnsw.iterative_scan', 'relaxed_order', true) IS NOT NULL AND set_config('hnsw.ef_search', '` + reach + `', true) IS NOT NULL
	AND set_config('hnsw.max_scan_tuples', '` + itoa(maxScan) + `', true) IS NOT NULL
	AND set_config('hnsw.scan_mem_multiplier', '4', true) IS NOT NULL AS quick FROM size z)
	, quick AS MATERIALIZED (SELECT f.key, ` + d.distance() + ` AS distance FROM ` + p.table.name + ` f
	WHERE (SELECT quick FROM route) AND f.space = ` + p.literal() + ` AND ` + throughIndex(same+` AND `+where) + `
	ORDER BY (f.embedding::` + as + `) OPERATOR(` + d.vector + `.<=>) (SELECT v::` + as + ` FROM want)
	LIMIT ` + itoa(w.limit*wider/2) + `)`
}

// seek runs the statement of a plan. It scans the columns of each candidate, and then calls the function
// each. The statement may be sent again; seek calls reset before each attempt.
func (d *DB) seek(ctx context.Context, p *plan, columns []any, reset func(), each func() error) error {
	ahead := len(p.head)
	dest := append(p.head[:ahead:ahead], columns...)
	begin := func() {
		copy(dest, p.head)
		reset()
	}
	text := p.text + ` SELECT ` + strings.Join(append(p.ahead, p.columns), `, `) + p.from
	err := d.link.read(ctx, d.sql(text), p.args, begin, func(rows pgx.Rows) error {
		if rows.RawValues()[ahead] == nil { // no candidate
			return rows.Scan(append(p.head[:ahead:ahead], make([]any, len(columns))...)...)
		}
		err := rows.Scan(dest...)
		clear(dest[:ahead]) // scan the counts only once, as they are the same in each row
		if err != nil {
			return err
		}
		return each()
	})
	if err == nil {
		d.sizes.note(p)
	}
	return err
}
