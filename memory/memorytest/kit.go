package memorytest

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

	"github.com/weft-go/weft/memory"
)

// A kit is what a case works with: a fresh store, and short ways to say what it
// does and wants.
type kit struct {
	testing.TB
	store memory.Store
	open  func(tb testing.TB) memory.Store
	ctx   context.Context
	seed  uint64
	made  int
}

func newKit(tb testing.TB, open func(tb testing.TB) memory.Store, seed uint64) *kit {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	tb.Cleanup(cancel)
	return &kit{TB: tb, store: open(tb), open: open, ctx: ctx, seed: seed}
}

func (k *kit) rand() *rand.Rand { return rand.New(rand.NewPCG(k.seed, 0)) }

var (
	ann = memory.Scope{Tenant: "acme", User: "ann"}
	bob = memory.Scope{Tenant: "acme", User: "bob"}
)

// long ago, before and after it.
var (
	long   = time.Date(2020, 2, 29, 12, 0, 0, 123456000, time.UTC)
	before = long.Add(-time.Hour)
	after  = long.Add(time.Hour)
	future = time.Date(2999, 12, 31, 23, 59, 59, 999999000, time.UTC)
)

// uuid spells a number as an id.
func idOf(n int) string { return fmt.Sprintf("0197a6b0-7c1a-7e2f-8a3b-%012x", n) }

// A mod changes a record before it is stored.
type mod func(*memory.Record)

func named(id string) mod        { return func(r *memory.Record) { r.ID = id } }
func of(kind memory.Kind) mod    { return func(r *memory.Record) { r.Kind = kind } }
func from(t time.Time) mod       { return func(r *memory.Record) { r.ValidFrom = t } }
func to(t time.Time) mod         { return func(r *memory.Record) { r.ValidTo = t } }
func expiring(t time.Time) mod   { return func(r *memory.Record) { r.ExpiresAt = t } }
func trusted(t memory.Trust) mod { return func(r *memory.Record) { r.Trust = t } }
func at(version int64) mod       { return func(r *memory.Record) { r.Version = version } }
func about(metadata string) mod {
	return func(r *memory.Record) { r.Metadata = json.RawMessage(metadata) }
}
func words(terms ...string) mod { return func(r *memory.Record) { r.Terms = terms } }
func near(model string, v ...float32) mod {
	return func(r *memory.Record) { r.Model, r.Embedding = model, v }
}

func during(conversation string, turn int64) mod {
	return func(r *memory.Record) { r.Conversation, r.Turn = conversation, turn }
}

// record returns one with an id, as package memory would make it.
func (k *kit) record(content string, mods ...mod) memory.Record {
	k.made++
	sum := sha256.Sum256([]byte(strings.Trim(strings.Join(strings.Fields(strings.ToLower(content)), " "), ".")))
	r := memory.Record{
		Fact:  memory.Fact{ID: idOf(k.made), Kind: memory.Plain, Content: content, Importance: 0.5, Trust: memory.Stated},
		Key:   [16]byte(sum[:16]),
		Terms: strings.Fields(strings.ToLower(content)),
	}
	for _, m := range mods {
		m(&r)
	}
	return r
}

func (k *kit) adding(content string, mods ...mod) memory.Change {
	return memory.Change{Kind: memory.Add, Record: k.record(content, mods...)}
}

// changing is a change of a fact that is there.
func (k *kit) changing(kind memory.ChangeKind, id, content string, mods ...mod) memory.Change {
	return memory.Change{Kind: kind, Record: k.record(content, append([]mod{named(id)}, mods...)...)}
}

func closing(id string, mods ...mod) memory.Change {
	c := memory.Change{Kind: memory.Close, Record: memory.Record{Fact: memory.Fact{ID: id}}}
	for _, m := range mods {
		m(&c.Record)
	}
	return c
}

func deleting(id string) memory.Change {
	return memory.Change{Kind: memory.Delete, Record: memory.Record{Fact: memory.Fact{ID: id}}}
}

func superseding(c memory.Change, ids ...string) memory.Change {
	c.Supersedes = ids
	return c
}

func by(actor string, c memory.Change) memory.Change {
	c.Actor = actor
	return c
}

// fill stores "fact 0" and so on, in one call.
func (k *kit) fill(s memory.Scope, n int, mods ...mod) {
	k.Helper()
	changes := make([]memory.Change, n)
	for i := range changes {
		changes[i] = k.adding(fmt.Sprint("fact ", i), mods...)
	}
	k.apply(s, changes...)
}

func (k *kit) apply(s memory.Scope, changes ...memory.Change) []memory.Applied {
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
func (k *kit) add(s memory.Scope, content string, mods ...mod) string {
	k.Helper()
	return k.apply(s, k.adding(content, mods...))[0].ID
}

// refuse wants an error, and nothing applied.
func (k *kit) refuse(want error, s memory.Scope, changes ...memory.Change) {
	k.Helper()
	applied, err := k.store.Apply(k.ctx, s, changes)
	if !errors.Is(err, want) {
		k.Errorf("got %+v, error %v want %v", applied, err, want)
	}
}

func (k *kit) find(q memory.Query) []memory.Record {
	k.Helper()
	var list []memory.Record
	for r, err := range k.store.Find(k.ctx, q) {
		if err != nil {
			k.Fatalf("find %+v: %v", q, err)
		}
		list = append(list, r)
	}
	return list
}

// all selects everything in a scope.
func all(s memory.Scope) memory.Query {
	return memory.Query{Scope: s, Closed: true, Untrusted: true, Limit: -1}
}

// get returns a fact whatever its state.
func (k *kit) get(s memory.Scope, id string) memory.Record {
	k.Helper()
	q := all(s)
	q.IDs = []string{id}
	list := k.find(q)
	if len(list) != 1 {
		k.Fatalf("fact %s: found %d times want 1", id, len(list))
	}
	return list[0]
}

func contents(list []memory.Record) []string {
	texts := []string{}
	for _, r := range list {
		texts = append(texts, r.Content)
	}
	return texts
}

// want wants facts with these contents, the newest first.
func (k *kit) want(q memory.Query, texts ...string) {
	k.Helper()
	if got := contents(k.find(q)); !slices.Equal(got, texts) {
		k.Errorf("find %+v: got %q want %q", q, got, texts)
	}
}

// wantAny wants facts with these contents, in any order.
func (k *kit) wantAny(q memory.Query, texts ...string) {
	k.Helper()
	got := contents(k.find(q))
	if !sameSet(got, texts) {
		k.Errorf("find %+v: got %q want %q, in any order", q, got, texts)
	}
}

func sameSet(got, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

func (k *kit) search(s memory.Search) memory.Candidates {
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

// wantSearch wants candidates with these contents, in any order.
func (k *kit) wantSearch(s memory.Search, texts ...string) memory.Candidates {
	k.Helper()
	c := k.search(s)
	if got := contents(c.Records); !sameSet(got, texts) {
		k.Errorf("search %+v: got %q want %q, in any order", s, got, texts)
	}
	return c
}

func (k *kit) history(s memory.Scope, id string) []memory.Event {
	k.Helper()
	var list []memory.Event
	for e, err := range k.store.History(k.ctx, s, id) {
		if err != nil {
			k.Fatalf("history of %s: %v", id, err)
		}
		list = append(list, e)
	}
	return list
}

func (k *kit) wantHistory(s memory.Scope, id string, want ...string) {
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

func spell(e memory.Event) string {
	return fmt.Sprintf("%s %s>%s by %s", e.Kind, e.Before, e.After, e.By)
}

func (k *kit) wantNoErr(err error) {
	k.Helper()
	if err != nil {
		k.Error(err)
	}
}

func (k *kit) forget(s memory.Scope) int {
	k.Helper()
	n, err := k.store.Forget(k.ctx, s)
	if err != nil {
		k.Fatalf("forget %s: %v", s, err)
	}
	return n
}

// size is smaller with -short.
func (k *kit) size(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// brief keeps large values out of a test's log.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 1000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:1000], len(s))
	}
	return s
}
