package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var applyCases = []factCase{
	{name: "apply/add", promise: "Get returns a fact as it was stored, with the times of the store", run: func(k *kit) {
		want := k.record("Ann likes tea", of(driver.Preference), about(`{ "b" : 1.50, "a" : [ null ] }`), during("c-1", 7),
			trusted(driver.Inferred), from(before), to(long), expiring(future), near("m", 1, -2.5, 1e-7), words("ann", "tea", "tea"))
		want.Importance, want.SupersededBy = 0.1, idOf(99)
		given := want
		given.Scope, given.Version = bob, 0
		k.apply(ann, driver.FactChange{Kind: driver.Add, Record: given})
		got := k.get(ann, want.ID)
		if got.CreatedAt.IsZero() || !got.UpdatedAt.Equal(got.CreatedAt) {
			k.Errorf("got created at %v and updated at %v want a time of the store", got.CreatedAt, got.UpdatedAt)
		}
		want.Scope, want.Version, want.CreatedAt, want.UpdatedAt = ann, 1, got.CreatedAt, got.UpdatedAt
		k.wantSame(got, want)
		k.want(all(bob))
	}},
	{name: "apply/left_out", promise: "fields that were not set stay empty, except those that the store sets", run: func(k *kit) {
		id := k.add(ann, "plain")
		got := k.get(ann, id)
		if !got.ValidFrom.Equal(got.CreatedAt) {
			k.Errorf("got valid from %v want the time of storing, %v", got.ValidFrom, got.CreatedAt)
		}
		if got.Metadata != nil || got.Embedding != nil || !got.ValidTo.IsZero() || !got.ExpiresAt.IsZero() ||
			got.SupersededBy != "" || got.Model != "" || got.Conversation != "" || got.Turn != 0 {
			k.Errorf("got %s want nothing that was not given", brief(got))
		}
	}},
	{name: "apply/id", promise: "a fact without an ID gets a UUID", run: func(k *kit) {
		one, two := k.add(ann, "one", named("")), k.add(ann, "two", named(""))
		if len(one) != 36 || one == two {
			k.Errorf("got ids %q and %q want two UUIDs", one, two)
		}
		k.get(ann, one)
	}},
	{name: "apply/id_again", promise: "adding a fact with an existing ID and the same content returns the existing fact", run: func(k *kit) {
		id := k.add(ann, "first")
		got := k.apply(ann, k.changing(driver.Add, id, "first."))
		if got[0] != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("got %+v want the fact that existed", got[0])
		}
		k.want(all(ann), "first")
		k.wantHistory(ann, id, "add >first by ")
		k.apply(ann, closing(id))
		if got := k.apply(ann, k.changing(driver.Add, id, "first"))[0]; got != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("closed: got %+v want the fact that existed", got)
		}
		k.want(driver.FactQuery{Reach: ann.Only()})
	}},
	{name: "apply/id_taken", promise: "adding a fact with an existing ID and another content returns ErrConflict, also among many changes", run: func(k *kit) {
		id := k.add(ann, "first")
		for _, other := range []driver.FactChange{
			k.changing(driver.Add, id, "second"), k.changing(driver.Add, id, "first", of(driver.Context)), k.changing(driver.Add, id, "first", trusted(driver.Untrusted)),
		} {
			k.refuse(driver.ErrConflict, ann, other)
			many := []driver.FactChange{other}
			for i := range 20 {
				many = append(many, k.adding(fmt.Sprint("one of many ", i)))
			}
			k.refuse(driver.ErrConflict, ann, many...)
		}
		k.want(all(ann), "first")
		k.wantHistory(ann, id, "add >first by ")
	}},
	{name: "apply/id_expired", promise: "the ID of an expired fact can be used again, as after Sweep", run: func(k *kit) {
		id := k.add(ann, "first", from(before), expiring(long))
		if got := k.apply(ann, k.changing(driver.Add, id, "second"))[0]; got != (driver.Applied{ID: id}) {
			k.Errorf("got %+v want a new fact", got)
		}
		k.want(all(ann), "second")
		k.wantHistory(ann, id, "add >first by ", "delete first> by expired", "add >second by ")
	}},
	{name: "apply/results", promise: "each result has the ID of the stored fact, and reports whether the fact existed before", run: func(k *kit) {
		id := k.add(ann, "old")
		got := k.apply(ann, k.adding("new", named(idOf(100))), k.adding("old."), k.changing(driver.Update, id, "newer"),
			closing(id), deleting(id))
		want := []driver.Applied{{ID: idOf(100)}, {ID: id, Existed: true}, {ID: id, Existed: true}, {ID: id, Existed: true}, {ID: id, Existed: true}}
		if !slices.Equal(got, want) {
			k.Errorf("got %+v want %+v", got, want)
		}
	}},
	{name: "apply/in_order", promise: "changes are applied in their order, each to the result of the one before", run: func(k *kit) {
		c := k.adding("one")
		id := c.Record.ID
		k.apply(ann, by("a", c), by("b", k.changing(driver.Update, id, "two", at(1))), by("c", closing(id, at(2))), by("d", deleting(id)), by("e", k.changing(driver.Add, id, "three")))
		k.want(driver.FactQuery{Reach: ann.Only()}, "three")
		k.wantHistory(ann, id, "add >one by a", "update one>two by b", "close two> by c", "delete two> by d", "add >three by e")
	}},
	{name: "apply/all_or_none", promise: "if a change is refused, no change of the call is applied", run: func(k *kit) {
		keep, other := k.add(ann, "keep", near("m", 1)), k.add(ann, "other")
		held := k.get(ann, keep)
		for name, last := range map[string]driver.FactChange{
			"missing": closing(idOf(4000)), "version": closing(other, at(9)), "kind": {Kind: "wonder", Record: driver.FactRecord{Fact: driver.Fact{ID: other}}},
			"said again": k.changing(driver.Update, other, "keep two"),
		} {
			added := k.adding("added")
			changes := []driver.FactChange{
				added, k.changing(driver.Update, keep, "keep two"), superseding(k.adding("instead"), other),
				k.changing(driver.Embed, keep, "keep three", near("m", 2)), closing(keep), deleting(keep), k.adding("keep two"), last,
			}
			if name == "said again" {
				changes = []driver.FactChange{added, k.changing(driver.Update, keep, "keep two"), last}
			}
			if _, err := k.store.Apply(k.ctx, ann, changes); err == nil {
				k.Errorf("%s: got no error", name)
			}
			k.wantAny(all(ann), "keep", "other")
			k.wantSame(k.get(ann, keep), held)
			k.wantHistory(ann, added.Record.ID)
			k.wantHistory(ann, keep, "add >keep by ")
			k.wantHistory(ann, other, "add >other by ")
			k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"added", "instead", "two", "three"}, Limit: 9})
			k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"keep", "other"}, Limit: 9}, "keep", "other")
		}
		k.wantAny(driver.FactQuery{Reach: ann.Only()}, "keep", "other")
	}},
	{name: "apply/nothing", promise: "a call without changes returns no error", run: func(k *kit) {
		if applied, err := k.store.Apply(k.ctx, ann, nil); len(applied) != 0 || err != nil {
			k.Errorf("got %v, %v want nothing", applied, err)
		}
		k.want(all(ann))
	}},
	{name: "apply/unknown", promise: "an unknown kind of change returns ErrInvalid", run: func(k *kit) {
		k.refuse(driver.ErrInvalid, ann, k.changing("wonder", k.add(ann, "a"), "b"))
		k.want(all(ann), "a")
	}},
	{name: "apply/owns_nothing", promise: "the caller may modify arguments and results afterwards without changing stored data", run: func(k *kit) {
		given := k.record("mine", about(`{"a":1}`), near("m", 1, 2), words("mine", "own"))
		want := k.record("mine", named(given.ID), about(`{"a":1}`), near("m", 1, 2), words("mine", "own"))
		k.apply(ann, driver.FactChange{Kind: driver.Add, Record: given})
		scribble(&given)
		got := k.get(ann, want.ID)
		k.wantValues(got, want)
		scribble(&got)
		k.wantValues(k.get(ann, want.ID), want)
		c := k.search(driver.FactSearch{Query: all(ann), Terms: []string{"own"}, Embedding: []float32{1, 2}, Model: "m", Limit: 1})
		for i := range c.Records {
			scribble(&c.Records[i])
		}
		for _, kind := range []driver.FactChangeKind{driver.Update, driver.Embed} {
			given := k.record("mine", named(want.ID), about(`{"a":1}`), near("m", 1, 2), words("mine", "own"))
			k.apply(ann, driver.FactChange{Kind: kind, Record: given})
			scribble(&given)
			k.wantValues(k.get(ann, want.ID), want)
		}
	}},
	{name: "apply/parallel", promise: "concurrent writers lose no change", run: func(k *kit) {
		const writers = 16
		each := k.size(50, 10)
		failed := parallel(writers, func(w int) error {
			for i := range each {
				s := driver.Scope{Tenant: "acme", User: string(rune('a' + w%4))}
				text := strings.Join([]string{"fact", idOf(w), idOf(i)}, " ")
				if _, err := k.store.Apply(k.ctx, s, []driver.FactChange{{Kind: driver.Add, Record: newRecord(text)}}); err != nil {
					return err
				}
			}
			return nil
		})
		if failed != nil {
			k.Fatal(failed)
		}
		q := all(driver.Scope{Tenant: "acme"})
		q.AnyUser = true
		if got := len(k.find(q)); got != writers*each {
			k.Errorf("got %d facts want %d", got, writers*each)
		}
	}},
	{name: "apply/parallel_updates", promise: "of concurrent changes of one version, exactly one succeeds", run: func(k *kit) {
		id := k.add(ann, "version 1")
		const writers = 8
		rounds := k.size(20, 5)
		for round := range rounds {
			var won, lost counter
			failed := parallel(writers, func(w int) error {
				c := driver.FactChange{Kind: driver.Update, Record: newRecord("by " + idOf(w*1000+round))}
				c.Record.ID, c.Record.Version = id, int64(round+1)
				switch _, err := k.store.Apply(k.ctx, ann, []driver.FactChange{c}); {
				case err == nil:
					won.add()
				case errors.Is(err, driver.ErrConflict):
					lost.add()
				default:
					return err
				}
				return nil
			})
			if failed != nil || won.n != 1 || lost.n != writers-1 {
				k.Fatalf("round %d: got %d that succeeded and %d conflicts, error %v want 1 and %d", round, won.n, lost.n, failed, writers-1)
			}
		}
		if got := len(k.history(ann, id)); got != rounds+1 {
			k.Errorf("got %d events want %d", got, rounds+1)
		}
	}},
}

// scribble overwrites all memory that a record points to.
func scribble(r *driver.FactRecord) {
	for i := range r.Metadata {
		r.Metadata[i] = 'x'
	}
	for i := range r.Terms {
		r.Terms[i] = "scribble"
	}
	for i := range r.Embedding {
		r.Embedding[i] = 99
	}
}

// wantSame requires that two records are equal.
func (k *kit) wantSame(got, want driver.FactRecord) {
	k.Helper()
	k.wantValues(got, want)
	if got.Scope != want.Scope || got.Kind != want.Kind || got.Conversation != want.Conversation || got.Turn != want.Turn ||
		got.Trust != want.Trust || got.Importance != want.Importance || got.SupersededBy != want.SupersededBy || got.Version != want.Version {
		k.Errorf("got %s want %s", brief(got.Fact), brief(want.Fact))
	}
	for name, pair := range map[string][2]time.Time{
		"valid from": {got.ValidFrom, want.ValidFrom}, "valid to": {got.ValidTo, want.ValidTo}, "expires at": {got.ExpiresAt, want.ExpiresAt},
		"created at": {got.CreatedAt, want.CreatedAt}, "updated at": {got.UpdatedAt, want.UpdatedAt},
	} {
		if !pair[0].Equal(pair[1]) {
			k.Errorf("%s: %s: got %v want %v", want.ID, name, pair[0], pair[1])
		}
	}
}

// wantValues requires that two records are equal in the ID, content, key, metadata, terms and vector.
func (k *kit) wantValues(got, want driver.FactRecord) {
	k.Helper()
	if got.ID != want.ID || got.Content != want.Content || got.Key != want.Key || !bytes.Equal(got.Metadata, want.Metadata) {
		k.Errorf("got %s, %q, key %x, metadata %q want %s, %q, %x, %q", got.ID, got.Content, got.Key, got.Metadata,
			want.ID, want.Content, want.Key, want.Metadata)
	}
	if !slices.Equal(got.Terms, want.Terms) || !slices.Equal(got.Embedding, want.Embedding) || got.Model != want.Model {
		k.Errorf("%s: got terms %q, vector %s of %q want %q, %s of %q", want.ID, got.Terms, brief(got.Embedding), got.Model,
			want.Terms, brief(want.Embedding), want.Model)
	}
}
