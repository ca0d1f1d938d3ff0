package memorytest

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/memory"
)

var historyCases = []factCase{
	{name: "history/events", promise: "history has each change with the content before and after, and who did it, the oldest first", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, by("ann", k.changing(memory.Update, id, "two")))
		k.apply(ann, by("bob", k.changing(memory.Update, id, "three")), by("", closing(id)))
		k.apply(ann, by("eve'; --", deleting(id)))
		k.wantHistory(ann, id, "add >one by ", "update one>two by ann", "update two>three by bob", "close three> by ", "delete three> by eve'; --")
		events := k.history(ann, id)
		if !slices.IsSortedFunc(events, func(a, b memory.Event) int { return a.At.Compare(b.At) }) {
			k.Errorf("got %+v want times that do not descend", events)
		}
	}},
	{name: "history/none", promise: "there is none of what there never was", run: func(k *kit) {
		k.wantHistory(ann, idOf(1))
		k.add(ann, "one")
		k.wantHistory(ann, idOf(8000))
	}},
	{name: "history/refused", promise: "what was refused, and what was there already, is no event", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, k.adding("ONE"))
		k.refuse(memory.ErrConflict, ann, k.changing(memory.Update, id, "two", at(5)))
		k.wantHistory(ann, id, "add >one by ")
	}},
	{name: "history/long", promise: "any number of events is there, and who has enough may stop", run: func(k *kit) {
		id := k.add(ann, "version 1")
		n := k.size(600, 300)
		for i := 2; i <= n; i += 100 {
			var changes []memory.Change
			for v := i; v < min(i+100, n+1); v++ {
				changes = append(changes, k.changing(memory.Update, id, fmt.Sprint("version ", v)))
			}
			k.apply(ann, changes...)
		}
		events := k.history(ann, id)
		if len(events) != n {
			k.Fatalf("got %d events want %d", len(events), n)
		}
		for i, e := range events {
			if e.After != fmt.Sprint("version ", i+1) {
				k.Fatalf("event %d: got %q want version %d", i, e.After, i+1)
			}
		}
		for range 20 {
			for _, err := range k.store.History(k.ctx, ann, id) {
				k.wantNoErr(err)
				break
			}
		}
		k.apply(ann, deleting(id))
	}},
}
