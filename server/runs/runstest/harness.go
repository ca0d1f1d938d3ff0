package runstest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/server/runs"
)

// Run runs the suite with the stores that open returns. open must return a new, empty store, and close it in tb.Cleanup.
// Run calls it from several goroutines.
func Run(t *testing.T, open func(tb testing.TB) runs.Store) {
	t.Helper()
	groups := map[string][]testCase{}
	for _, c := range allCases() {
		group, _, _ := strings.Cut(c.name, "/")
		groups[group] = append(groups[group], c)
	}
	for group, cases := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				_, name, _ := strings.Cut(c.name, "/")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					check(t, open, c)
				})
			}
		})
	}
}

// caseLimit is the time limit for a case.
const caseLimit = 2 * time.Minute

// check runs one case. tb is a test, or a recorder when the suite itself is tested.
func check(tb testing.TB, open func(tb testing.TB) runs.Store, c testCase) {
	tb.Helper()
	suitetest.Run(tb, c.promise, caseLimit, func() {
		ctx, cancel := context.WithTimeout(context.Background(), caseLimit)
		tb.Cleanup(cancel)
		c.run(&fixture{TB: tb, ctx: ctx, store: suitetest.Opened(tb, "store", open(tb))})
	})
}

// A testCase checks one promise.
type testCase struct {
	name    string // group/case
	promise string
	run     func(f *fixture)
}

func allCases() []testCase {
	return slices.Concat(recordCases, deleteCases, searchCases, logCases, trimCases, taskCases, sharingCases, concurrencyCases)
}

// A fixture is the store of a case.
type fixture struct {
	testing.TB
	ctx   context.Context
	store runs.Store
}

// start is the creation time of the records of the suite.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// record returns a record with all fields set.
func record(kind runs.Kind, id string) runs.Record {
	return runs.Record{
		Kind: kind, ID: id, Parent: "parent", Owner: "owner", Graph: "graph", Name: "name", Status: "status",
		Created: start, Updated: start.Add(time.Second), Expires: start.Add(time.Hour),
		Metadata: json.RawMessage(`{"a": 1.50, "b": ["é<>", null]}`), Data: json.RawMessage(`{"any":  "value"}`),
	}
}

func run(id, thread string) runs.Record {
	return runs.Record{Kind: runs.Run, ID: id, Parent: thread, Created: start, Updated: start}
}

func (f *fixture) insert(records ...runs.Record) {
	f.Helper()
	f.must(f.store.Insert(f.ctx, records...))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) want(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("got the error %v, want %v", err, want)
	}
}

func equal[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantRecord compares a stored record with one that was written.
func (f *fixture) wantRecord(got, want runs.Record, revision int64) {
	f.Helper()
	for _, at := range []struct {
		field     string
		got, want time.Time
	}{{"Created", got.Created, want.Created}, {"Updated", got.Updated, want.Updated}, {"Expires", got.Expires, want.Expires}} {
		if !at.got.Equal(at.want) || at.want.IsZero() != at.got.IsZero() {
			f.Errorf("%s is %v, want %v", at.field, at.got, at.want)
		}
		if _, offset := at.got.Zone(); offset != 0 {
			f.Errorf("%s is %v, want it in UTC", at.field, at.got)
		}
	}
	equal(f, "metadata", string(got.Metadata), string(want.Metadata))
	equal(f, "data", string(got.Data), string(want.Data))
	equal(f, "revision", got.Revision, revision)
	texts := func(r runs.Record) []string {
		return []string{string(r.Kind), r.ID, r.Parent, r.Owner, r.Graph, r.Name, r.Status}
	}
	equal(f, "texts", texts(got), texts(want))
}

// ids returns the ids of the records that a query selects, and checks the total.
func (f *fixture) ids(q runs.Query, total int) []string {
	f.Helper()
	found, n, err := f.store.Search(f.ctx, q)
	f.must(err)
	equal(f, "total", n, total)
	ids := []string{}
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	return ids
}

// events returns n events of a run, numbered from after+1.
func events(run string, after int64, n int) []runs.Event {
	out := make([]runs.Event, n)
	for i := range out {
		out[i] = runs.Event{Seq: after + int64(i) + 1, Run: run, Time: start.Add(time.Duration(i) * time.Second), Kind: "kind", Data: json.RawMessage(`"ten bytes"`)}
	}
	return out
}

func (f *fixture) append(thread, run string, n int) {
	f.Helper()
	last, _, err := f.store.Last(f.ctx, thread)
	f.must(err)
	f.must(f.store.Append(f.ctx, thread, events(run, last, n)))
}

// numbers returns the sequence numbers of the events of a thread after a number.
func (f *fixture) numbers(thread string, after int64, limit int) []int64 {
	f.Helper()
	found, err := f.store.Events(f.ctx, thread, after, limit)
	f.must(err)
	out := []int64{}
	for _, e := range found {
		out = append(out, e.Seq)
	}
	return out
}

func (f *fixture) wantLast(thread string, last, trimmed int64) {
	f.Helper()
	l, t, err := f.store.Last(f.ctx, thread)
	f.must(err)
	equal(f, "last and trimmed", [2]int64{l, t}, [2]int64{last, trimmed})
}
