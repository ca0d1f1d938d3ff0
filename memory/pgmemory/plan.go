package pgmemory

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A table is one that can be searched: rows that have words and a vector. In statements it is f.
type table struct {
	name string
	near string // what the names of the indexes of its vectors begin with
	rows string // the table, with what its columns need besides
}

// A wanted is what a search looks for.
type wanted struct {
	words     []int64
	terms     []string // of the words
	embedding []float32
	model     string
	limit     int
}

// A plan is a search as one statement. It counts what is selected, takes the best by words and
// the nearest by vector, and returns them with the counts: at least one row.
//
// What is to be planned only once must look the same whenever it is asked, and not look as if it were better
// planned anew for its values. So limits are part of the text: the database guesses a limit that it does not
// know to be a tenth of the table.
type plan struct {
	args
	found
	table *table
	text  string  // begins the statement
	key   sizeKey // of what is selected
	space int64   // of the vector
	index string  // the name of its index; empty without a vector
	limit string

	ahead   []string // columns ahead of those of the candidates
	head    []any    // what they are scanned into
	columns string   // of the candidates
	from    string   // ends the statement

	once   bool // all that is selected is looked at once, to be counted and compared
	counts bool // the statement counts, and does not go by what was counted before
	large  bool // so much is selected that it is not to be looked at row by row
	quick  bool // the index is asked
	asks   bool // how many vectors the index has
}

// A found is what a plan finds out besides candidates.
type found struct {
	rows, terms int64
	frequency   []int64
	vectors     int64 // of the index; zero without
	among       int64 // of how many rows these were picked one by one
	since       time.Time
}

// What every statement is made of. Each %-sign would be a mistake: nothing is put into these.
const (
	// A pair is a row and a word that it has, with the number of times that it has it. Only a row
	// that has more terms than words has a word twice: the terms of other rows need not be read.
	pairHits  = `), pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr, ` + wordTimes + ` FROM hit h JOIN unnest(`
	wordTimes = `CASE WHEN h.word_count > cardinality(h.words) THEN cardinality(array_positions(h.terms, q.term)) ELSE 1 END AS times`
	anyOf     = `) WITH ORDINALITY AS q (word, term, nr) ON q.word = ANY (h.words)`
	// Where much is selected, no more than some of the rows that have a common word are looked at.
	pairMost  = `, pair AS MATERIALIZED (SELECT h.key, h.word_count, q.nr, ` + wordTimes + ` FROM unnest(`
	eachOf    = `) WITH ORDINALITY AS q (word, term, nr) CROSS JOIN LATERAL (SELECT f.key, f.word_count, f.words, f.terms FROM `
	mostWords = ` LIMIT 10000) h`
	freqPairs = `), freq AS MATERIALIZED (SELECT p.nr, least(count(*), 10000) AS n FROM pair p GROUP BY p.nr)`
	// The order is that of BM25, as package rank computes it.
	bestWords = `, worded AS MATERIALIZED (SELECT p.key FROM pair p JOIN freq q USING (nr), size z GROUP BY p.key
	ORDER BY sum(ln(1 + (greatest(z.rows - q.n, 0) + 0.5) / (q.n + 0.5)) * p.times / (p.times + 0.3 + 0.9 * p.word_count * z.rows / greatest(z.terms, 1))) DESC, p.key DESC LIMIT `
)

// newPlan returns the plan of a search among what is selected. The columns follow the counts.
func (d *DB) newPlan(t *table, sel *selection, w *wanted, columns string) *plan {
	p := &plan{table: t, args: sel.args, text: sel.with, key: sel.key(), limit: itoa(w.limit)}
	known, ok := d.sizes.size(p.key)
	near := len(w.embedding) > 0 && w.limit > 0
	if near {
		p.space = space(w.model, len(w.embedding))
		p.index = d.indexName(t, p.space, len(w.embedding))
		p.text += `, want AS MATERIALIZED (SELECT ` + p.add(w.embedding, "float4[]") + `::` + d.vector + `.vector AS v)`
	}
	least := d.route(p, sel, w, known, ok)
	p.tell(`z.rows`, &p.rows)
	p.tell(`z.terms`, &p.terms)
	if p.asks {
		p.tell(vectorsQuery(d.quoted, p.index), &p.vectors)
	}
	// What is counted each time is still to be found to be much, or little, now and then.
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

// tell adds a column ahead of those of the candidates: the same in each row.
func (p *plan) tell(column string, into any) {
	p.ahead, p.head = append(p.ahead, column), append(p.head, into)
}

const (
	// maxScan is how many vectors an index may give that the query does not select, before it is
	// better to compare all that it does select.
	maxScan = 20_000
	// stride is how many rows are looked at in the time that an index needs to give one more vector.
	stride = 12
	// wider is how many more of the nearest the index is asked for than are wanted, in halves: it
	// knows them about, and then they are compared exactly.
	wider = 3
)

// route decides how a plan goes about it, by what is known. It returns how many rows have to be selected for the
// index to be asked.
func (d *DB) route(p *plan, sel *selection, w *wanted, known size, ok bool) (least int64) {
	exact, vectors := int64(d.options.Exact), int64(0)
	if p.index != "" {
		vectors = d.sizes.vectors(p.index)
		p.asks = !ok || max(known.rows, known.among) > exact
	}
	// To give so many that are selected, the index has to go through so many more as there are.
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

// addSize adds how many rows are selected, and how many terms they have.
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

// same is a condition for vectors that can be compared.
func (p *plan) same(w *wanted) string {
	return `f.space = ` + p.literal() + ` AND f.model = ` + p.add(w.model, "text")
}

func (d *DB) distance() string {
	return `f.embedding OPERATOR(` + d.vector + `.<=>) (SELECT v FROM want)`
}

// addWords adds the leg of the words: the rows that have any of them, and, if there is a limit, the best. What is large
// is not looked at row by row, so the scope is no way to find it. It returns how many rows have each word.
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

// throughIndex keeps the database from taking a condition for a way to the rows, and from taking it to be
// rare.
func throughIndex(where string) string { return `CASE WHEN ` + where + ` THEN true ELSE false END` }

// addNearest adds the leg of the vector. Where the query selects much, and the vectors have an
// index, it is asked first. If it does not give enough, all that is selected is compared, as it is
// where the query selects little: so nothing is ever missing.
func (d *DB) addNearest(p *plan, w *wanted, where string, least int64) {
	if p.once {
		p.text += `, near AS MATERIALIZED (SELECT c.key FROM chosen c WHERE c.distance IS NOT NULL ORDER BY c.distance, c.key LIMIT ` + p.limit + `)`
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
	p.text += `(SELECT f.key FROM ` + p.table.name + ` f WHERE ` + enough + where + ` AND ` + same + ` ORDER BY ` + d.distance() + `, f.key LIMIT ` + p.limit + `))`
}

// literal is part of the statement, since an index of a part of the rows is only found by what is known when
// the statement is planned. It is a number of our own.
func (p *plan) literal() string { return `'` + strconv.FormatInt(p.space, 10) + `'::bigint` }

// addQuick adds the leg that asks the index. Its settings hold for the statement: they are set when its first
// condition is looked at, which is before the index is.
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

// seek sends a plan. For each candidate its columns are scanned, and then each is called. All may begin anew, with
// reset.
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
		clear(dest[:ahead]) // they are the same in each row
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
