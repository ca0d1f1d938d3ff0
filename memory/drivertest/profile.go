package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/profile"
)

// RunProfiles checks what package profile promises of the stores that open returns, which pass
// [RunKV]. Each is new and empty, and open leaves closing it to tb.Cleanup. It is called by several
// tests at once.
func RunProfiles(t *testing.T, open func(tb testing.TB) driver.ValueStore) {
	t.Helper()
	for _, c := range profileCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open)
		})
	}
}

// A profileCase checks one promise.
type profileCase struct {
	name    string // group/case
	promise string
	run     func(k *profileKit)
}

func (c profileCase) check(tb testing.TB, open func(tb testing.TB) driver.ValueStore) {
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("broken promise: %s", c.promise)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	tb.Cleanup(cancel)
	store := open(tb)
	profiles, err := profile.New(store)
	if err != nil {
		tb.Fatal(err)
	}
	c.run(&profileKit{TB: tb, ctx: ctx, store: store, Profiles: profiles})
}

// A profileKit is what a case works with.
type profileKit struct {
	testing.TB
	*profile.Profiles
	ctx   context.Context
	store driver.ValueStore
}

func (k *profileKit) patch(s driver.Scope, schema, patch string) profile.Document {
	k.Helper()
	d, err := k.Patch(k.ctx, s, schema, json.RawMessage(patch), 0)
	if err != nil {
		k.Fatalf("patch %s: %v", patch, err)
	}
	return d
}

// want wants a document, and an empty one none.
func (k *profileKit) want(s driver.Scope, schema, value string) {
	k.Helper()
	d, err := k.Get(k.ctx, s, schema)
	if value == "" && errors.Is(err, driver.ErrNotFound) {
		return
	}
	if err != nil || !equalJSON(d.Value, json.RawMessage(value)) {
		k.Errorf("%s: got %s and %v want %s", schema, d.Value, err, value)
	}
}

func (k *profileKit) wantSummary(s driver.Scope, want string) {
	k.Helper()
	if got, err := k.Summary(k.ctx, s); got != want || err != nil {
		k.Errorf("got %q and %v want %q", got, err, want)
	}
}

var profileCases = []profileCase{
	{name: "document/patch", promise: "a patch merges into the document of the user and schema, and into no other", run: func(k *profileKit) {
		first := k.patch(ann, "person", `{"name":"Ann","home":{"city":"Athens","since":2019.50},"tags":["a"]}`)
		second := k.patch(ann, "person", `{"home":{"city":"Oslo","since":null},"tags":["b"],"é\"'":"☀"}`)
		want := `{"name":"Ann","home":{"city":"Oslo"},"tags":["b"],"é\"'":"☀"}`
		if !equalJSON(second.Value, json.RawMessage(want)) || second.Version <= first.Version || !second.CreatedAt.Equal(first.CreatedAt) {
			k.Errorf("got %s after %s", brief(second), brief(first))
		}
		k.want(ann, "person", want)
		k.patch(bob, "person", `{"name":"Bob"}`)
		k.patch(ann, "Person", `{}`)
		k.want(ann, "person", want)
		k.want(bob, "person", `{"name":"Bob"}`)
		k.want(ann, "Person", `{}`)
		k.want(driver.Scope{Tenant: "acme", User: "ann", Agent: "a"}, "person", "")
		k.want(driver.Scope{User: "ann"}, "person", "")
	}},
	{name: "document/version", promise: "a version that is not the document's is refused, and nothing is changed", run: func(k *profileKit) {
		d := k.patch(ann, "s", `{"a":1}`)
		k.patch(ann, "s", `{"a":2}`)
		for name, err := range map[string]error{
			"patch":  second(k.Patch(k.ctx, ann, "s", json.RawMessage(`{"a":3}`), d.Version)),
			"put":    second(k.Put(k.ctx, ann, profile.Document{Schema: "s", Value: json.RawMessage(`{"a":3}`), Version: d.Version})),
			"absent": second(k.Put(k.ctx, ann, profile.Document{Schema: "s", Value: json.RawMessage(`{"a":3}`), Version: driver.Absent})),
			"delete": k.Delete(k.ctx, ann, "s", d.Version),
		} {
			if !errors.Is(err, driver.ErrConflict) {
				k.Errorf("%s: got %v want %v", name, err, driver.ErrConflict)
			}
		}
		k.want(ann, "s", `{"a":2}`)
	}},
	{name: "document/writers", promise: "many that patch at once lose nothing", run: func(k *profileKit) {
		const writers, each = 6, 5
		err := parallel(writers, func(w int) error {
			for i := range each {
				patch := fmt.Sprintf(`{"w%d":{"i%d":%d}}`, w, i, i)
				if _, err := k.Patch(k.ctx, ann, "s", json.RawMessage(patch), 0); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		got, _, err := profile.Get[map[string]map[string]int](k.ctx, k.Profiles, ann, "s")
		if err != nil || len(got) != writers {
			k.Fatalf("got %v and %v", got, err)
		}
		for w, list := range got {
			if len(list) != each {
				k.Errorf("%s: got %v", w, list)
			}
		}
	}},
	{name: "document/race", promise: "of writers that saw the same version one succeeds", run: func(k *profileKit) {
		d := k.patch(ann, "s", `{}`)
		var won atomic.Int64
		err := parallel(8, func(i int) error {
			_, err := k.Patch(k.ctx, ann, "s", json.RawMessage(fmt.Sprintf(`{"by":%d}`, i)), d.Version)
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, driver.ErrConflict) {
				return err
			}
			return nil
		})
		if err != nil || won.Load() != 1 {
			k.Errorf("%d of 8 succeeded, %v", won.Load(), err)
		}
	}},
	{name: "document/list", promise: "all documents of a user are listed by their schemas, until they are deleted or the user is forgotten", run: func(k *profileKit) {
		for _, schema := range []string{"b", "a.b", "a", "context"} {
			k.patch(ann, schema, `{}`)
			k.patch(bob, schema, `{}`)
		}
		k.patch(driver.Scope{Tenant: "acme", Workspace: "w", User: "ann"}, "c", `{}`)
		list := func(s driver.Scope) (schemas []string) {
			for d, err := range k.List(k.ctx, s) {
				if err != nil {
					k.Fatal(err)
				}
				schemas = append(schemas, d.Schema)
			}
			return schemas
		}
		if got := list(ann); !slices.Equal(got, []string{"a", "a.b", "b", "context"}) {
			k.Errorf("got %q", got)
		}
		if err := k.Delete(k.ctx, ann, "a", 0); err != nil {
			k.Error(err)
		}
		k.want(ann, "a", "")
		if n, err := k.Forget(k.ctx, ann); n != 4 || err != nil {
			k.Errorf("forgot %d, %v want 4", n, err)
		}
		if got := list(ann); got != nil {
			k.Errorf("got %q", got)
		}
		if got := list(bob); len(got) != 4 {
			k.Errorf("got %q", got)
		}
	}},
	{name: "context/fields", promise: "plan, usage and preferences come back, as text or JSON, and are said in words", run: func(k *profileKit) {
		k.wantSummary(ann, profile.None)
		if c, err := k.Profiles.Context(k.ctx, ann); c.Known() || err != nil {
			k.Errorf("got %+v and %v want an empty context", c, err)
		}
		set, err := k.SetContext(k.ctx, ann, profile.Context{Plan: "enterprise", Usage: json.RawMessage(`{"requests":9.0,"of":10}`), Preferences: profile.Text("tea; Grüße")})
		if err != nil {
			k.Fatal(err)
		}
		got, err := k.Profiles.Context(k.ctx, ann)
		if err != nil || got.Plan != "enterprise" || !equalJSON(got.Usage, json.RawMessage(`{"requests":9,"of":10}`)) || !equalJSON(got.Preferences, json.RawMessage(`"tea; Grüße"`)) ||
			got.Version != set.Version || !got.UpdatedAt.Equal(set.UpdatedAt) {
			k.Errorf("got %+v and %v want %+v", got, err, set)
		}
		k.wantSummary(bob, profile.None)
		k.patch(ann, profile.ContextSchema, `{"usage":null,"preferences":{"drink":"tea"}}`)
		k.wantSummary(ann, "Plan: enterprise\nPreferences: drink: tea")
	}},
	{name: "context/stored", promise: "the context is a value of the user's scope, in a namespace and under a key that are known", run: func(k *profileKit) {
		if _, err := k.SetContext(k.ctx, ann, profile.Context{Plan: "free"}); err != nil {
			k.Fatal(err)
		}
		at := driver.Address{Namespace: []string{profile.Namespace}, Key: profile.ContextSchema}
		for item, err := range k.store.Find(k.ctx, ann, driver.ValueSelection{Addresses: []driver.Address{at}}) {
			if err != nil || !equalJSON(item.Value, json.RawMessage(`{"plan":"free"}`)) {
				k.Errorf("got %s and %v", item.Value, err)
			}
			return
		}
		k.Errorf("got nothing at %+v", at)
	}},
}

func second[T any](_ T, err error) error { return err }
