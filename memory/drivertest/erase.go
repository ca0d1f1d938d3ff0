package drivertest

import (
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

var eraseCases = []factCase{
	{name: "erase/history", promise: "Erase removes a fact with its history, and nothing of other facts", run: func(k *kit) {
		id, other := k.add(ann, "my secret", near("m", 1), words("secret")), k.add(ann, "tea")
		k.apply(ann, k.changing(driver.Update, id, "my old secret", words("secret")), k.changing(driver.Update, id, "my newest secret", words("secret")))
		k.add(bob, "bob's", named(id))
		if got := k.apply(ann, erasing(id))[0]; got != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("got %+v want the fact that existed", got)
		}
		k.want(all(ann), "tea")
		k.wantHistory(ann, id)
		for _, e := range k.history(driver.Scope{Tenant: ann.Tenant}, "") {
			if strings.Contains(spell(e), "secret") {
				k.Errorf("the history has %q", spell(e))
			}
		}
		c := k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"secret"}, Embedding: []float32{1}, Model: "m", Limit: 5})
		if c.Frequency[0] != 0 {
			k.Errorf("got frequency %d want 0", c.Frequency[0])
		}
		k.refuse(driver.ErrNotFound, ann, erasing(id))
		k.wantHistory(ann, other, "add >tea by ")
		k.wantHistory(bob, id, "add >bob's by ")
	}},
	{name: "erase/again", promise: "the ID of an erased fact can be used again, with a new history", run: func(k *kit) {
		id := k.add(ann, "first")
		k.apply(ann, erasing(id), k.changing(driver.Add, id, "second"))
		k.want(all(ann), "second")
		k.wantHistory(ann, id, "add >second by ")
	}},
	{name: "erase/closed", promise: "a fact that is no longer valid can be erased, and the fact that superseded it stays", run: func(k *kit) {
		old := k.add(ann, "I live in Oslo")
		k.apply(ann, superseding(k.adding("I live in Bern"), old))
		k.apply(ann, erasing(old))
		k.want(all(ann), "I live in Bern")
		k.wantHistory(ann, old)
	}},
	{name: "erase/refused", promise: "if a later change of the call is refused, the fact and its history stay", run: func(k *kit) {
		id := k.add(ann, "first")
		k.refuse(driver.ErrNotFound, ann, erasing(id), closing(idOf(4000)))
		k.want(all(ann), "first")
		k.wantHistory(ann, id, "add >first by ")
	}},
}
