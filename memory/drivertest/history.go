package drivertest

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/memory/driver"
)

var historyCases = []factCase{
	{name: "history/events", promise: "History yields each change with its author and the content before and after, the oldest first", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, by("ann", k.changing(driver.Update, id, "two")))
		k.apply(ann, by("bob", k.changing(driver.Update, id, "three")), by("", closing(id)))
		k.apply(ann, by("eve'; --", deleting(id)))
		k.wantHistory(ann, id, "add >one by ", "update one>two by ann", "update two>three by bob", "close three> by ", "delete three> by eve'; --")
		events := k.history(ann, id)
		if !slices.IsSortedFunc(events, func(a, b driver.Event) int { return a.At.Compare(b.At) }) {
			k.Errorf("got %+v want times that do not descend", events)
		}
	}},
	{name: "history/none", promise: "a fact that never existed has no history", run: func(k *kit) {
		k.wantHistory(ann, idOf(1))
		k.add(ann, "one")
		k.wantHistory(ann, idOf(8000))
	}},
	{name: "history/refused", promise: "refused changes and repetitions add no event", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, k.adding("one."))
		k.refuse(driver.ErrConflict, ann, k.changing(driver.Update, id, "two", at(5)))
		k.wantHistory(ann, id, "add >one by ")
	}},
	{name: "history/all", promise: "without an ID, History yields the changes of all scopes that Forget covers, also of deleted and expired facts", run: func(k *kit) {
		helper, other := ann, driver.Scope{Tenant: "else", User: "ann"}
		helper.Agent, helper.Workspace = "helper", "w"
		one, gone := k.add(ann, "one"), k.add(ann, "gone")
		k.apply(ann, by("me", k.changing(driver.Update, one, "two")), by("me", deleting(gone)))
		only := k.add(helper, "only one", from(before), expiring(long))
		k.apply(helper, deleting(only))
		k.add(bob, "bob's")
		k.add(other, "of another tenant")
		n := k.size(600, 300)
		for i := 0; i < n; i += 100 {
			var changes []driver.FactChange
			for v := i; v < i+100; v++ {
				changes = append(changes, k.adding(fmt.Sprint("fact ", v)))
			}
			k.apply(helper, changes...)
		}
		of := map[string][]string{}
		for _, e := range k.history(ann, "") {
			of[e.Scope.String()+" "+e.ID] = append(of[e.Scope.String()+" "+e.ID], spell(e))
		}
		want := map[string][]string{
			ann.String() + " " + one: {"add >one by ", "update one>two by me"}, ann.String() + " " + gone: {"add >gone by ", "delete gone> by me"},
			helper.String() + " " + only: {"add >only one by ", "delete only one> by "},
		}
		if len(of) != len(want)+n {
			k.Errorf("got the history of %d facts want %d", len(of), len(want)+n)
		}
		for id, events := range want {
			if !slices.Equal(of[id], events) {
				k.Errorf("%s: got %q want %q", id, of[id], events)
			}
		}
		if got := len(k.history(helper, "")); got != n+2 {
			k.Errorf("of an agent: got %d events want %d", got, n+2)
		}
		for _, err := range k.store.History(k.ctx, ann, "") {
			k.wantNoErr(err)
			break
		}
		if got := k.history(driver.Scope{Tenant: "nobody"}, ""); len(got) != 0 {
			k.Errorf("of nobody: got %v", got)
		}
	}},
	{name: "history/long", promise: "a history may have any number of events, and the caller may stop early", run: func(k *kit) {
		id := k.add(ann, "version 1")
		n := k.size(600, 300)
		for i := 2; i <= n; i += 100 {
			var changes []driver.FactChange
			for v := i; v < min(i+100, n+1); v++ {
				changes = append(changes, k.changing(driver.Update, id, fmt.Sprint("version ", v)))
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
