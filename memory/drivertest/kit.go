package drivertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/memory/driver"
)

// A kit has a new store and the helpers of a case.
type kit struct {
	testing.TB
	store driver.FactStore
	open  func(tb testing.TB) driver.FactStore
	ctx   context.Context
	seed  uint64
	made  int
}

// play runs a case with a new store and with a context that ends after the limit. A case that fails logs
// its promise.
func play[S any](tb testing.TB, promise string, limit time.Duration, open func(tb testing.TB) S, run func(ctx context.Context, store S)) {
	tb.Helper()
	suitetest.Run(tb, promise, limit, func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		tb.Cleanup(cancel)
		run(ctx, suitetest.Opened(tb, "store", open(tb)))
	})
}

func (k *kit) rand() *rand.Rand { return rand.New(rand.NewPCG(k.seed, 0)) }

var (
	ann = driver.Scope{Tenant: "acme", User: "ann"}
	bob = driver.Scope{Tenant: "acme", User: "bob"}
)

// long is a time in the past. before and after are one hour from it.
var (
	long   = time.Date(2020, 2, 29, 12, 0, 0, 123456000, time.UTC)
	before = long.Add(-time.Hour)
	after  = long.Add(time.Hour)
	future = time.Date(2999, 12, 31, 23, 59, 59, 999999000, time.UTC)
)

// idOf returns a number as an ID.
func idOf(n int) string { return fmt.Sprintf("0197a6b0-7c1a-7e2f-8a3b-%012x", n) }

// A mod changes a record before it is stored.
type mod func(*driver.FactRecord)

func named(id string) mod { return func(r *driver.FactRecord) { r.ID = id } }

func of(kind driver.Kind) mod { return func(r *driver.FactRecord) { r.Kind = kind } }

func from(t time.Time) mod { return func(r *driver.FactRecord) { r.ValidFrom = t } }

func to(t time.Time) mod { return func(r *driver.FactRecord) { r.ValidTo = t } }

func expiring(t time.Time) mod { return func(r *driver.FactRecord) { r.ExpiresAt = t } }

func trusted(t driver.Trust) mod { return func(r *driver.FactRecord) { r.Trust = t } }

func at(version int64) mod { return func(r *driver.FactRecord) { r.Version = version } }

func about(metadata string) mod {
	return func(r *driver.FactRecord) { r.Metadata = json.RawMessage(metadata) }
}

func words(terms ...string) mod { return func(r *driver.FactRecord) { r.Terms = terms } }

func near(model string, v ...float32) mod {
	return func(r *driver.FactRecord) { r.Model, r.Embedding = model, v }
}

func during(conversation string, turn int64) mod {
	return func(r *driver.FactRecord) { r.Conversation, r.Turn = conversation, turn }
}

// record returns a record with an ID, in the form of package memory.
func (k *kit) record(content string, mods ...mod) driver.FactRecord {
	k.made++
	sum := sha256.Sum256([]byte(strings.Trim(strings.Join(strings.Fields(strings.ToLower(content)), " "), ".")))
	r := driver.FactRecord{
		Fact:  driver.Fact{ID: idOf(k.made), Kind: driver.Plain, Content: content, Importance: 0.5, Trust: driver.Stated},
		Key:   [16]byte(sum[:16]),
		Terms: strings.Fields(strings.ToLower(content)),
	}
	for _, m := range mods {
		m(&r)
	}
	return r
}

func (k *kit) adding(content string, mods ...mod) driver.FactChange {
	return driver.FactChange{Kind: driver.Add, Record: k.record(content, mods...)}
}

// changing returns a change of a stored fact.
func (k *kit) changing(kind driver.FactChangeKind, id, content string, mods ...mod) driver.FactChange {
	return driver.FactChange{Kind: kind, Record: k.record(content, append([]mod{named(id)}, mods...)...)}
}

func closing(id string, mods ...mod) driver.FactChange {
	c := driver.FactChange{Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: id}}}
	for _, m := range mods {
		m(&c.Record)
	}
	return c
}

func deleting(id string) driver.FactChange {
	return driver.FactChange{Kind: driver.Delete, Record: driver.FactRecord{Fact: driver.Fact{ID: id}}}
}

func erasing(id string) driver.FactChange {
	return driver.FactChange{Kind: driver.Erase, Record: driver.FactRecord{Fact: driver.Fact{ID: id}}}
}

func superseding(c driver.FactChange, ids ...string) driver.FactChange {
	c.Supersedes = ids
	return c
}

func by(actor string, c driver.FactChange) driver.FactChange {
	c.Actor = actor
	return c
}

// fill stores "fact 0", "fact 1" and so on in one call.
func (k *kit) fill(s driver.Scope, n int, mods ...mod) {
	k.Helper()
	changes := make([]driver.FactChange, n)
	for i := range changes {
		changes[i] = k.adding(fmt.Sprint("fact ", i), mods...)
	}
	k.apply(s, changes...)
}

func (k *kit) apply(s driver.Scope, changes ...driver.FactChange) []driver.Applied {
	k.Helper()
	applied, err := k.store.Apply(k.ctx, s, changes)
	if err != nil {
		k.Fatalf("apply %d changes: %v", len(changes), err)
	}
	if len(applied) != len(changes) {
		k.Fatalf("got %d results want %d", len(applied), len(changes))
	}
	return applied
}

// add stores one fact, and returns its id.
func (k *kit) add(s driver.Scope, content string, mods ...mod) string {
	k.Helper()
	return k.apply(s, k.adding(content, mods...))[0].ID
}

// refuse requires that a call of Apply returns the error want.
func (k *kit) refuse(want error, s driver.Scope, changes ...driver.FactChange) {
	k.Helper()
	applied, err := k.store.Apply(k.ctx, s, changes)
	if !errors.Is(err, want) {
		k.Errorf("got %+v, error %v want %v", applied, err, want)
	}
}

func (k *kit) find(q driver.FactQuery) []driver.FactRecord {
	k.Helper()
	var list []driver.FactRecord
	for r, err := range k.store.Find(k.ctx, q) {
		if err != nil {
			k.Fatalf("find %+v: %v", q, err)
		}
		list = append(list, r)
	}
	return list
}

// all returns a query for all facts of a scope.
func all(s driver.Scope) driver.FactQuery {
	return driver.FactQuery{Reach: s.Only(), Closed: true, Untrusted: true, Limit: -1}
}

// get returns the fact with an id, even if it is closed, expired or untrusted.
func (k *kit) get(s driver.Scope, id string) driver.FactRecord {
	k.Helper()
	q := all(s)
	q.IDs = []string{id}
	list := k.find(q)
	if len(list) != 1 {
		k.Fatalf("fact %s: found %d times want 1", id, len(list))
	}
	return list[0]
}

func contents(list []driver.FactRecord) []string {
	texts := []string{}
	for _, r := range list {
		texts = append(texts, r.Content)
	}
	return texts
}

// want requires facts with these contents, the newest first.
func (k *kit) want(q driver.FactQuery, texts ...string) {
	k.Helper()
	if got := contents(k.find(q)); !slices.Equal(got, texts) {
		k.Errorf("find %+v: got %q want %q", q, got, texts)
	}
}

// wantAny requires facts with these contents, in any order.
func (k *kit) wantAny(q driver.FactQuery, texts ...string) {
	k.Helper()
	got := contents(k.find(q))
	if !sameSet(got, texts) {
		k.Errorf("find %+v: got %q want %q, in any order", q, got, texts)
	}
}

func sameSet(got, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

func (k *kit) search(s driver.FactSearch) driver.FactCandidates {
	k.Helper()
	c, err := k.store.Search(k.ctx, s)
	if err != nil {
		k.Fatalf("search %+v: %v", s, err)
	}
	if len(c.Frequency) != len(s.Terms) {
		k.Fatalf("got %d frequencies want %d", len(c.Frequency), len(s.Terms))
	}
	return c
}

// wantSearch requires candidates with these contents, in any order.
func (k *kit) wantSearch(s driver.FactSearch, texts ...string) driver.FactCandidates {
	k.Helper()
	c := k.search(s)
	if got := contents(c.Records); !sameSet(got, texts) {
		k.Errorf("search %+v: got %q want %q, in any order", s, got, texts)
	}
	return c
}

func (k *kit) history(s driver.Scope, id string) []driver.Event {
	k.Helper()
	var list []driver.Event
	for e, err := range k.store.History(k.ctx, s, id) {
		if err != nil {
			k.Fatalf("history of %s: %v", id, err)
		}
		list = append(list, e)
	}
	return list
}

func (k *kit) wantHistory(s driver.Scope, id string, want ...string) {
	k.Helper()
	got := []string{}
	for _, e := range k.history(s, id) {
		got = append(got, spell(e))
		if e.ID != id || e.Scope != s || e.At.IsZero() {
			k.Errorf("history of %s: got an event of %q in %s at %v", id, e.ID, e.Scope, e.At)
		}
	}
	if !slices.Equal(got, want) {
		k.Errorf("history of %s: got %q want %q", id, got, want)
	}
}

func spell(e driver.Event) string {
	return fmt.Sprintf("%s %s>%s by %s", e.Kind, e.Before, e.After, e.By)
}

func (k *kit) wantNoErr(err error) {
	k.Helper()
	if err != nil {
		k.Error(err)
	}
}

func (k *kit) forget(s driver.Scope) int {
	k.Helper()
	n, err := k.store.Forget(k.ctx, s)
	if err != nil {
		k.Fatalf("forget %s: %v", s, err)
	}
	return n
}

// size returns a number of items, which is smaller with -short.
func (k *kit) size(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// brief shortens large values for a test's log.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 1000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:1000], len(s))
	}
	return s
}
