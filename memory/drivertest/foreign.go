package drivertest

import (
	"errors"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// strangers are scopes that are similar to ann's scope but not equal.
var strangers = []driver.Scope{
	bob,
	{},
	{Tenant: "acme"},
	{User: "ann"},
	{Tenant: "ACME", User: "ann"},
	{Tenant: "acme", User: "Ann"},
	{Tenant: "acme", User: "ann "},
	{Tenant: "acme", Workspace: "ann"},
	{Tenant: "acme", User: "ann", Agent: "a"},
	{Tenant: "acme", Workspace: "w", User: "ann"},
	{Tenant: "acm", Workspace: "e", User: "ann"},
	{Tenant: "acme", User: "%"},
	{Tenant: "acme", User: "a_n"},
	{Tenant: "acme", User: "ann' OR '1'='1"},
}

var foreignCases = []factCase{
	{name: "foreign/changes", promise: "a change of a fact in another scope returns ErrNotFound", run: func(k *kit) {
		id := k.add(ann, "secret", near("m", 1))
		want := k.get(ann, id)
		missing := idOf(6000)
		for _, s := range strangers {
			for _, kind := range []driver.FactChangeKind{driver.Update, driver.Close, driver.Delete, driver.Erase, driver.Embed} {
				k.refuse(driver.ErrNotFound, s, k.changing(kind, id, "taken"))
				k.refuse(driver.ErrNotFound, s, k.changing(kind, id, "taken", at(7)))
				theirs, none := k.refusal(s, k.changing(kind, id, "taken")), k.refusal(s, k.changing(kind, missing, "taken"))
				if strings.ReplaceAll(theirs, id, missing) != none {
					k.Errorf("%s by %s: got %q for a foreign fact and %q for none want the same", kind, s, theirs, none)
				}
			}
			k.refuse(driver.ErrNotFound, s, superseding(k.adding("mine"), id))
			k.want(all(s))
		}
		k.wantSame(k.get(ann, id), want)
		k.wantHistory(ann, id, "add >secret by ")
	}},
	{name: "foreign/queries", promise: "no query finds a fact of another scope", run: func(k *kit) {
		id := k.add(ann, "secret", near("m", 1))
		for _, s := range strangers {
			q := all(s)
			k.want(q)
			q.IDs = []string{id}
			k.want(q)
			c := k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"secret"}, Embedding: []float32{1}, Model: "m", Limit: 5})
			if c.Facts != 0 || c.Terms != 0 || c.Frequency[0] != 0 {
				k.Errorf("%s: got %d facts, %d terms, frequency %d want 0", s, c.Facts, c.Terms, c.Frequency)
			}
			k.wantHistory(s, id)
		}
		k.want(all(ann), "secret")
	}},
	{name: "foreign/same_id", promise: "an ID of another scope can be used, and tells nothing about the other scope", run: func(k *kit) {
		id := k.add(ann, "ann's", near("m", 1))
		if got := k.apply(bob, k.changing(driver.Add, id, "bob's", near("m", 1)))[0]; got != (driver.Applied{ID: id}) {
			k.Errorf("got %+v want a new fact", got)
		}
		k.apply(bob, k.changing(driver.Update, id, "bob's own", near("m", 1)))
		k.want(all(ann), "ann's")
		k.want(all(bob), "bob's own")
		k.wantHistory(ann, id, "add >ann's by ")
		q := driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}}
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"ann's", "own"}, Embedding: []float32{1}, Model: "m", Limit: 5}, "ann's", "bob's own")
		k.wantAny(q, "ann's", "bob's own")
		k.apply(bob, deleting(id))
		k.want(all(ann), "ann's")
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"ann's", "own"}, Limit: 5}, "ann's")
	}},
	{name: "foreign/no_id", promise: "a text that is not a valid ID finds nothing", run: func(k *kit) {
		id := k.add(ann, "secret")
		for _, text := range []string{
			"", "%", "x", strings.ToUpper(id), strings.ReplaceAll(id, "-", ""), "{" + id + "}", " " + id, id + " ", id[:35], id[:35] + "g",
			"' OR 1=1 --", strings.Repeat("0", 36), strings.Repeat("é", 18), "1",
		} {
			k.refuse(driver.ErrNotFound, ann, k.changing(driver.Update, text, "taken"))
			k.refuse(driver.ErrNotFound, ann, deleting(text))
			k.refuse(driver.ErrNotFound, ann, superseding(k.adding("mine"), text))
			q := all(ann)
			q.IDs = []string{text}
			k.want(q)
			if text != "" { // an empty text selects all facts
				k.wantHistory(ann, text)
			}
		}
		k.want(all(ann), "secret")
	}},
}

func (k *kit) refusal(s driver.Scope, c driver.FactChange) string {
	k.Helper()
	_, err := k.store.Apply(k.ctx, s, []driver.FactChange{c})
	if !errors.Is(err, driver.ErrNotFound) {
		k.Fatalf("got error %v want ErrNotFound", err)
	}
	return err.Error()
}
