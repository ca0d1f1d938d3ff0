package pgmemory_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/pgmemory"
)

// A cloud makes vectors as texts have them: around some thousand subjects, which lie around a few dozen,
// and not evenly everywhere.
type cloud struct {
	r        *rand.Rand
	subjects [][]float32
}

const cloudDimension = 100

func newCloud(seed uint64) *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(seed, 7))}
	var wide [][]float32
	for range 40 {
		wide = append(wide, c.around(nil, 1))
	}
	for range 2000 {
		c.subjects = append(c.subjects, c.around(wide[c.r.IntN(len(wide))], 0.9))
	}
	return c
}

func (c *cloud) around(centre []float32, spread float64) []float32 {
	v := make([]float32, cloudDimension)
	sum := 0.0
	for i := range v {
		x := c.r.NormFloat64() * spread
		if centre != nil {
			x += float64(centre[i]) * math.Sqrt(cloudDimension)
		}
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (c *cloud) vector() []float32 { return c.around(c.subjects[c.r.IntN(len(c.subjects))], 0.7) }

// A stored is a fact of a cloud.
type stored struct {
	user     string
	perMille int
	id       string
	vector   []float32
}

// fill stores n facts of the tenant "t": a tenth of the user "u10", a hundredth of "u1", and a thousandth of
// "u0.1". They have a number from 0 to 999.
func fill(tb testing.TB, store memory.Store, n int) []stored {
	tb.Helper()
	c := newCloud(1)
	batches := map[string][]memory.Change{}
	flush := func(user string) {
		_, err := store.Apply(context.Background(), memory.Scope{Tenant: "t", User: user}, batches[user])
		if err != nil {
			tb.Fatal(err)
		}
		batches[user] = nil
	}
	list := make([]stored, n)
	for i := range list {
		user := "rest"
		switch {
		case i%1000 == 5:
			user = "u0.1"
		case i%100 == 3:
			user = "u1"
		case i%10 == 0:
			user = "u10"
		}
		change := adding(fmt.Sprint("fact ", i), c.vector()...)
		list[i] = stored{user, c.r.IntN(1000), change.Record.ID, change.Record.Embedding}
		change.Record.Metadata = fmt.Appendf(nil, `{"per_mille":%d}`, list[i].perMille)
		if batches[user] = append(batches[user], change); len(batches[user]) == memory.MaxBatch {
			flush(user)
		}
	}
	for user := range batches {
		if len(batches[user]) > 0 {
			flush(user)
		}
	}
	return list
}

// TestRecallOfIndex compares what the index finds with what there is, at 100,000 vectors, or as many as
// WEFT_VECTORS says, for filters by scope and by metadata that pass 100, 10, 1 and 0.1 % of the facts. It
// takes minutes, and so has to be asked for.
func TestRecallOfIndex(t *testing.T) {
	if os.Getenv("WEFT_LARGE") != "1" {
		t.Skip("WEFT_LARGE=1 runs it")
	}
	n := 100_000
	if text := os.Getenv("WEFT_VECTORS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	p := directPlace(t)
	db := p.open(t)
	start := time.Now()
	list := fill(t, db.Facts(), n)
	t.Logf("stored %d facts in %v", n, time.Since(start).Round(time.Second))
	start = time.Now()
	if err := db.Index(ctx, "m", cloudDimension); err != nil {
		t.Fatal(err)
	}
	t.Logf("indexed in %v", time.Since(start).Round(time.Second))
	do(t, p, `VACUUM ANALYZE weft.mem_fact`)

	tenant := memory.Query{Scope: memory.Scope{Tenant: "t"}, AnyUser: true}
	few := func(perMille int) memory.Query {
		q := tenant
		q.Where = []memory.Condition{memory.Where("per_mille", memory.Less, perMille)}
		return q
	}
	of := func(user string) func(stored) bool { return func(f stored) bool { return f.user == user } }
	below := func(n int) func(stored) bool { return func(f stored) bool { return f.perMille < n } }
	user := func(name string) memory.Query { return memory.Query{Scope: memory.Scope{Tenant: "t", User: name}} }
	for _, c := range []struct {
		name  string
		query memory.Query
		holds func(stored) bool
	}{
		{"scope of 100 %", tenant, below(1000)},
		{"scope of 10 %", user("u10"), of("u10")},
		{"scope of 1 %", user("u1"), of("u1")},
		{"scope of 0.1 %", user("u0.1"), of("u0.1")},
		{"metadata of 50 %", few(500), below(500)},
		{"metadata of 10 %", few(100), below(100)},
		{"metadata of 1 %", few(10), below(10)},
		{"metadata of 0.1 %", few(1), below(1)},
	} {
		var selected []stored
		for _, f := range list {
			if c.holds(f) {
				selected = append(selected, f)
			}
		}
		measureRecall(t, db, c.name, c.query, selected, byHand(t, p, c.query, len(selected)))
	}
}

// byHand returns a search as somebody would write it who knows what is there: it counts nothing, compares all of
// what is little, and asks the index for what is much.
func byHand(t *testing.T, p place, q memory.Query, selected int) func(v []float32) int {
	t.Helper()
	ctx := context.Background()
	pool := p.pool(t)
	scopes := ask[[]int64](t, p, `SELECT array_agg(s.key) FROM weft.mem_scope s WHERE s.tenant = 't' AND $1 IN ('', s.user_id)`, q.Scope.User)
	where := `f.scope = ANY ($2::bigint[]) AND f.trust < 2 AND f.valid_from <= now()
		AND f.valid_to IS NULL AND (f.expires_at IS NULL OR f.expires_at > now()) AND f.model = 'm'`
	for _, c := range q.Where {
		where += ` AND (f.metadata ->> 'per_mille')::int < ` + string(c.Value)
	}
	const columns = `f.id::text, f.kind, f.content, f.raw, f.terms, f.created_at, f.updated_at, extensions.vector_send(f.embedding)`
	search := `SELECT ` + columns + ` FROM weft.mem_fact f WHERE ` + where + ` ORDER BY f.embedding OPERATOR(extensions.<=>) $1::text::extensions.vector LIMIT 100`
	if selected > 20_000 {
		space := ask[int64](t, p, `SELECT space FROM weft.mem_fact LIMIT 1`)
		search = fmt.Sprintf(`WITH near AS MATERIALIZED (SELECT f.key, f.embedding OPERATOR(extensions.<=>) $1::text::extensions.vector AS d FROM weft.mem_fact f
			WHERE f.space = '%d'::bigint AND CASE WHEN %s THEN true END ORDER BY f.embedding::extensions.vector(%d) OPERATOR(extensions.<=>) $1::text::extensions.vector LIMIT 150)
			SELECT %s FROM near n JOIN weft.mem_fact f USING (key) ORDER BY n.d LIMIT 100`, space, where, cloudDimension, columns)
	}
	return func(v []float32) int {
		b := &pgx.Batch{}
		b.Queue(`SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '200', true),
			set_config('hnsw.max_scan_tuples', '20000', true), set_config('hnsw.scan_mem_multiplier', '4', true)`)
		n := 0
		b.Queue(p.sql(search), spell(v), scopes).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var id, kind, content string
				var raw, vector []byte
				var terms []string
				var made, changed time.Time
				if err := rows.Scan(&id, &kind, &content, &raw, &terms, &made, &changed, &vector); err != nil {
					return err
				}
				n++
			}
			return rows.Err()
		})
		if err := pool.SendBatch(ctx, b).Close(); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// measureRecall wants the ten nearest of what a search finds to be the ten nearest.
func measureRecall(t *testing.T, db *pgmemory.DB, name string, q memory.Query, selected []stored, byHand func(v []float32) int) {
	t.Helper()
	ctx := context.Background()
	c := newCloud(2)
	c.subjects = newCloud(1).subjects
	const queries, best, limit = 50, 10, 100
	hits, wanted := 0, 0
	var times, hand []time.Duration
	for range queries {
		v := c.vector()
		start := time.Now()
		got, err := db.Facts().Search(ctx, memory.Search{Query: q, Embedding: v, Model: "m", Limit: limit})
		times = append(times, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		if want := min(limit, len(selected)); len(got.Records) != want {
			t.Errorf("%s: got %d candidates want %d", name, len(got.Records), want)
		}
		start = time.Now()
		if n := byHand(v); n != min(limit, len(selected)) {
			t.Logf("%s: got %d by hand", name, n)
		}
		hand = append(hand, time.Since(start))
		found := map[string]bool{}
		for _, r := range got.Records {
			found[r.ID] = true
		}
		near := make([]nearby, len(selected))
		for i, f := range selected {
			near[i] = nearby{f.id, dot(f.vector, v)}
		}
		slices.SortFunc(near, func(a, b nearby) int { return cmp.Compare(b.cosine, a.cosine) })
		for _, f := range near[:min(best, len(near))] {
			wanted++
			if found[f.id] {
				hits++
			}
		}
	}
	recall := float64(hits) / float64(wanted)
	slices.Sort(times)
	slices.Sort(hand)
	t.Logf("%-18s recall@10 %.3f of %6d, p50 %6.2f ms, by hand %6.2f ms", name, recall, len(selected), ms(times), ms(hand))
	if recall < 0.95 {
		t.Errorf("%s: got recall@10 of %.3f want 0.95", name, recall)
	}
}

type nearby struct {
	id     string
	cosine float64
}

func ms(times []time.Duration) float64 { return float64(times[len(times)/2].Microseconds()) / 1000 }

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
