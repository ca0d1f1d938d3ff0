package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

var modelCases = []factCase{
	{name: "model/random", promise: "after any changes, every query has the same result as in package inmemory", run: func(k *kit) {
		t := &twins{kit: k, r: k.rand(), model: inmemory.NewFacts(inmemory.Options{}), began: time.Now().Add(-time.Minute)}
		for range k.size(2000, 600) {
			t.step()
			if k.Failed() {
				k.Fatalf("seed %d", k.seed)
			}
		}
		for _, s := range twinScopes {
			t.compareFind(all(s))
			for i := range twinIDs {
				t.compareHistory(s, idOf(i))
			}
		}
		k.Logf("refused %d of %d calls", t.refused, t.calls)
	}},
}

// twins are the tested store and a model of it. Both get the same random calls, and must return the same results.
type twins struct {
	*kit
	r              *rand.Rand
	model          *inmemory.Facts
	began          time.Time
	calls, refused int
}

const twinIDs = 30

var (
	twinScopes = []driver.Scope{
		{Tenant: "t"}, {Tenant: "t", User: "a"}, {Tenant: "t", User: "a", Agent: "x"}, {Tenant: "t", Workspace: "w", User: "a"}, {Tenant: "u", User: "a"},
	}
	twinWords = strings.Fields("red green blue cat dog bird runs sleeps sings here there home")
	twinTimes = []time.Time{{}, {}, {}, before, long, after, future}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (t *twins) step() {
	switch n := t.r.IntN(1000); {
	case n < 550:
		t.change()
	case n < 750:
		t.compareFind(t.query())
	case n < 900:
		t.compareSearch()
	case n < 980:
		t.compareHistory(pick(t.r, twinScopes), idOf(t.r.IntN(twinIDs)))
	case n < 995:
		t.compareSweep()
	default:
		t.compareForget()
	}
}

// errorsOf are the errors that a store must distinguish.
var errorsOf = []error{driver.ErrNotFound, driver.ErrConflict, driver.ErrForgotten, driver.ErrInvalid, driver.ErrQuota}

func kindOf(err error) string {
	for _, e := range errorsOf {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	if err != nil {
		return "another: " + err.Error()
	}
	return ""
}

func (t *twins) change() {
	changes := make([]driver.FactChange, 1+t.r.IntN(3))
	job := ""
	if t.r.IntN(10) == 0 {
		job = fmt.Sprint("job ", t.r.IntN(30))
	}
	for i := range changes {
		changes[i] = t.one()
		changes[i].Job = job
	}
	s := pick(t.r, twinScopes)
	got, err := t.store.Apply(t.ctx, s, changes)
	want, wantErr := t.model.Apply(t.ctx, s, changes)
	t.calls++
	if wantErr != nil {
		t.refused++
	}
	if kindOf(err) != kindOf(wantErr) || !slices.Equal(got, want) {
		t.Errorf("apply %s in %s: got %+v, error %v want %+v, error %v", brief(changes), s, got, err, want, wantErr)
	}
}

// one returns a random change.
func (t *twins) one() driver.FactChange {
	var content []string
	for range 1 + t.r.IntN(3) {
		content = append(content, twinWords[t.r.IntN(len(twinWords))])
	}
	mods := []mod{
		named(idOf(t.r.IntN(twinIDs))), of(pick(t.r, driver.Kinds()[:2])), from(pick(t.r, twinTimes)), expiring(pick(t.r, twinTimes)),
		trusted(pick(t.r, []driver.Trust{driver.Stated, driver.Stated, driver.Stated, driver.Inferred, driver.Untrusted})), during(pick(t.r, []string{"", "c", "d"}), int64(t.r.IntN(3))),
		about(pick(t.r, []string{`{"n":1}`, `{"n":9}`, `{"n":10.0}`, `{"n":"9","l":[1,2]}`, `{}`, `{"m":{"n":null}}`})),
	}
	if t.r.IntN(2) == 0 {
		mods = append(mods, near(pick(t.r, []string{"m", "n"}), float32(t.r.IntN(5)), float32(t.r.IntN(5))-2))
	}
	if t.r.IntN(10) == 0 {
		mods = append(mods, at(1+int64(t.r.IntN(3))))
	}
	if t.r.IntN(6) == 0 {
		mods = append(mods, to(pick(t.r, twinTimes)))
	}
	c := driver.FactChange{Kind: driver.Add, Record: t.record(strings.Join(content, " "), mods...), Actor: pick(t.r, []string{"", "me"})}
	if c.Record.ValidFrom.Equal(future) && t.r.IntN(2) == 0 {
		c.Record.ValidFrom = time.Time{}
	}
	switch t.r.IntN(13) {
	case 0, 1:
		c.Kind = driver.Update
	case 2:
		c.Kind = driver.Close
	case 3:
		c.Kind = driver.Delete
	case 4:
		c.Kind = driver.Embed
	case 5:
		c.Kind = driver.Erase
	case 6, 7:
		for range 1 + t.r.IntN(2) {
			c.Supersedes = append(c.Supersedes, idOf(t.r.IntN(twinIDs)))
		}
	}
	if t.r.IntN(10) == 0 {
		c.Said = time.Now().Add(time.Duration(t.r.IntN(3)-1) * time.Hour)
	}
	return c
}

func (t *twins) query() driver.FactQuery {
	q := driver.FactQuery{
		Reach:     driver.Reach{Scope: pick(t.r, twinScopes), AnyWorkspace: t.r.IntN(4) == 0, AnyUser: t.r.IntN(4) == 0, AnyAgent: t.r.IntN(4) == 0, Inherit: t.r.IntN(4) == 0},
		Untrusted: t.r.IntN(2) == 0, Closed: t.r.IntN(3) == 0, AsOf: pick(t.r, twinTimes), Limit: pick(t.r, []int{-1, -1, 0, 1, 3}),
	}
	if t.r.IntN(4) == 0 {
		q.Kinds = driver.Kinds()[:1+t.r.IntN(2)]
	}
	if t.r.IntN(4) == 0 {
		q.Conversation = "c"
	}
	if t.r.IntN(6) == 0 {
		for range 20 {
			q.IDs = append(q.IDs, idOf(t.r.IntN(twinIDs)))
		}
	}
	if t.r.IntN(4) == 0 {
		q.Where = append(q.Where, pick(t.r, []driver.Condition{
			driver.Where("n", driver.Less, 10), driver.Where("n", driver.Equal, "9"), driver.Where("n", driver.NotEqual, 1), driver.Where("l", driver.Has, 2),
			{Path: []string{"m", "n"}, Op: driver.Exists},
			driver.Where("n", driver.In, []int{1, 10}),
		}))
	}
	if t.r.IntN(6) == 0 {
		q.Without, q.Dimension = "m", t.r.IntN(4)
	}
	return q
}

func (t *twins) compareFind(q driver.FactQuery) {
	got := t.find(q)
	var want []driver.FactRecord
	for r, err := range t.model.Find(t.ctx, q) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	t.compare(fmt.Sprintf("find %+v", q), got, want)
}

// compareSearch requests all candidates, because the model does not rank them.
func (t *twins) compareSearch() {
	s := driver.FactSearch{Query: t.query(), Limit: 10_000}
	for range t.r.IntN(4) {
		if word := pick(t.r, twinWords); !slices.Contains(s.Terms, word) {
			s.Terms = append(s.Terms, word)
		}
	}
	if t.r.IntN(2) == 0 {
		s.Embedding, s.Model = []float32{1, float32(t.r.IntN(3)) - 1}, pick(t.r, []string{"m", "n"})
	}
	got := t.search(s)
	want, err := t.model.Search(t.ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Facts != want.Facts || got.Terms != want.Terms || !slices.Equal(got.Frequency, want.Frequency) {
		t.Errorf("search %+v: got %d facts, %d terms, frequency %d want %d, %d, %d", s, got.Facts, got.Terms, got.Frequency, want.Facts, want.Terms, want.Frequency)
	}
	for _, list := range [][]driver.FactRecord{got.Records, want.Records} {
		slices.SortFunc(list, func(a, b driver.FactRecord) int {
			return strings.Compare(a.Scope.String()+a.ID, b.Scope.String()+b.ID)
		})
	}
	t.compare(fmt.Sprintf("search %+v", s), got.Records, want.Records)
}

func (t *twins) compare(what string, got, want []driver.FactRecord) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b driver.FactRecord) bool { return t.spell(a) == t.spell(b) })
	if same {
		return
	}
	var gotText, wantText []string
	for _, r := range got {
		gotText = append(gotText, t.spell(r))
	}
	for _, r := range want {
		wantText = append(wantText, t.spell(r))
	}
	t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(gotText, "\n"), strings.Join(wantText, "\n"))
}

// spell returns a record as text. It replaces times of the store's clock by "now".
func (t *twins) spell(r driver.FactRecord) string {
	return fmt.Sprintf("%s %s %s %q %s %q %d %d %v from %s to %s by %s until %s v%d %x %q %v %s", r.ID, r.Scope, r.Kind, r.Content, r.Metadata, r.Conversation,
		r.Turn, r.Trust, r.Importance, t.when(r.ValidFrom), t.when(r.ValidTo), r.SupersededBy, t.when(r.ExpiresAt), r.Version, r.Key, r.Terms, r.Embedding, r.Model)
}

func (t *twins) when(at time.Time) string {
	if at.After(t.began) && at.Before(t.began.Add(24*time.Hour)) {
		return "now"
	}
	return at.UTC().String()
}

func (t *twins) compareHistory(s driver.Scope, id string) {
	var got, want []string
	for _, e := range t.history(s, id) {
		got = append(got, spell(e))
	}
	for e, err := range t.model.History(context.Background(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, spell(e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("history of %s in %s: got %q want %q", id, s, got, want)
	}
}

func (t *twins) compareSweep() {
	got, err := t.store.Sweep(t.ctx, 1000)
	want, wantErr := t.model.Sweep(t.ctx, 1000)
	if got != want || err != nil || wantErr != nil {
		t.Errorf("sweep: got %d, %v want %d, %v", got, err, want, wantErr)
	}
}

func (t *twins) compareForget() {
	s := pick(t.r, twinScopes[1:])
	got := t.forget(s)
	want, err := t.model.Forget(t.ctx, s)
	if got != want || err != nil {
		t.Errorf("forget %s: got %d want %d, error %v", s, got, want, err)
	}
}
