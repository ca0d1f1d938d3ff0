package drivertest

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var forgetCases = []factCase{
	{name: "forget/all", promise: "Forget removes all facts of a scope with their history, and returns the number of facts", run: func(k *kit) {
		one, two := k.add(ann, "one here", near("m", 1)), k.add(ann, "two here", from(before))
		gone := k.add(ann, "deleted")
		k.apply(ann, closing(two), deleting(gone))
		k.add(ann, "unsafe here", trusted(driver.Untrusted))
		k.add(ann, "expired here", from(before), expiring(long))
		other := k.add(bob, "bob's here", near("m", 1))
		if n := k.forget(ann); n != 4 {
			k.Errorf("got %d facts want 4", n)
		}
		q := all(ann)
		k.want(q)
		q.AsOf = long
		k.want(q)
		for _, id := range []string{one, two, gone} {
			k.wantHistory(ann, id)
			k.refuse(driver.ErrNotFound, ann, k.changing(driver.Update, id, "back"))
		}
		c := k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"here"}, Embedding: []float32{1}, Model: "m", Limit: 5})
		if c.Facts != 0 || c.Terms != 0 || c.Frequency[0] != 0 {
			k.Errorf("got %d facts, %d terms, frequency %d want 0", c.Facts, c.Terms, c.Frequency)
		}
		k.want(all(bob), "bob's here")
		k.wantHistory(bob, other, "add >bob's here by ")
		k.wantSearch(driver.FactSearch{Query: all(bob), Terms: []string{"here"}, Limit: 5}, "bob's here")
		if n := k.forget(ann); n != 0 {
			k.Errorf("again: got %d facts want 0", n)
		}
	}},
	{name: "forget/parts", promise: "an empty part of the scope means any, and other scopes stay unchanged", run: func(k *kit) {
		values := []string{"", "x", "y"}
		for round := range 9 {
			tenant := fmt.Sprint("t", round)
			var scopes []driver.Scope
			for i := range 27 {
				scopes = append(scopes, driver.Scope{Tenant: tenant, Workspace: values[i%3], User: values[i/3%3], Agent: values[i/9]})
			}
			for _, s := range scopes {
				k.add(s, "fact of "+s.String())
			}
			gone := scopes[(round*11+1)%27]
			covers := func(part, of string) bool { return part == "" || part == of }
			var left []string
			for _, s := range scopes {
				if !covers(gone.Workspace, s.Workspace) || !covers(gone.User, s.User) || !covers(gone.Agent, s.Agent) {
					left = append(left, "fact of "+s.String())
				}
			}
			if n := k.forget(gone); n != 27-len(left) {
				k.Errorf("forget %s: got %d facts want %d", gone, n, 27-len(left))
			}
			q := all(driver.Scope{Tenant: tenant})
			q.AnyWorkspace, q.AnyUser, q.AnyAgent = true, true, true
			k.wantAny(q, left...)
		}
	}},
	{name: "forget/said_before", promise: "facts said before Forget are refused afterwards with ErrForgotten, and later ones are not", run: func(k *kit) {
		user := driver.Scope{Tenant: "acme", User: "ann"}
		inner := driver.Scope{Tenant: "acme", Workspace: "w", User: "ann", Agent: "a"}
		id := k.add(bob, "bob's")
		k.forget(user)
		said := time.Now().Add(-time.Minute)
		for _, s := range []driver.Scope{user, inner} {
			late := k.adding("late")
			late.Said = said
			k.refuse(driver.ErrForgotten, s, late)
			k.refuse(driver.ErrForgotten, s, k.adding("also"), late)
			late.Job = "job"
			k.refuse(driver.ErrForgotten, s, late)
			k.want(all(s))
			late.Said = time.Now().Add(time.Hour)
			k.apply(s, late)
			k.want(all(s), "late")
			k.add(s, "said now")
		}
		stays := closing(id)
		stays.Said = said
		k.apply(bob, stays)
		other := k.adding("other tenant")
		other.Said = said
		k.apply(driver.Scope{User: "ann"}, other)
		wider := k.adding("of all")
		wider.Said = said
		k.apply(driver.Scope{Tenant: "acme"}, wider)
	}},
	{name: "forget/again", promise: "the last Forget of a scope counts", run: func(k *kit) {
		k.forget(ann)
		first := time.Now().Add(2 * time.Hour)
		c := k.adding("one")
		c.Said = first
		k.apply(ann, c)
		k.forget(ann)
		early := k.adding("two")
		early.Said = time.Now().Add(-time.Minute)
		k.refuse(driver.ErrForgotten, ann, early)
		k.want(all(ann))
	}},
	{name: "forget/empty", promise: "a scope without any facts can be forgotten too", run: func(k *kit) {
		if n := k.forget(ann); n != 0 {
			k.Errorf("got %d want 0", n)
		}
		late := k.adding("late")
		late.Said = time.Now().Add(-time.Minute)
		k.refuse(driver.ErrForgotten, ann, late)
	}},
	{name: "forget/jobs", promise: "a job of a forgotten scope can be applied again", run: func(k *kit) {
		c := k.adding("learned", named(""))
		c.Job = "job"
		k.apply(ann, c)
		k.forget(ann)
		k.apply(ann, c)
		k.want(all(ann), "learned")
	}},
	{name: "forget/large", promise: "any number of facts can be forgotten", run: func(k *kit) {
		n := k.size(3000, 600)
		for start := 0; start < n; start += 500 {
			var changes []driver.FactChange
			for i := range min(500, n-start) {
				changes = append(changes, k.adding(fmt.Sprint("fact ", start+i)))
			}
			k.apply(ann, changes...)
			k.add(bob, fmt.Sprint("fact ", start))
		}
		if got := k.forget(ann); got != n {
			k.Errorf("got %d want %d", got, n)
		}
		k.want(all(ann))
		if c := k.search(driver.FactSearch{Query: all(bob), Terms: []string{"fact"}, Limit: math.MaxInt32}); len(c.Records) != (n+499)/500 {
			k.Errorf("bob: got %d facts want %d", len(c.Records), (n+499)/500)
		}
	}},
	{name: "forget/parallel", promise: "a concurrent Apply of facts said before Forget leaves no fact behind", run: func(k *kit) {
		said := time.Now().Add(-time.Minute)
		const writers = 8
		each := k.size(60, 15)
		stored := make(chan struct{}, writers*(each+1))
		err := parallel(writers+1, func(w int) error {
			if w == writers {
				for range writers {
					<-stored // wait until some facts are stored
				}
				_, err := k.store.Forget(k.ctx, driver.Scope{Tenant: "acme", User: "ann"})
				return err
			}
			defer func() { stored <- struct{}{} }() // even if the store panics
			s := driver.Scope{Tenant: "acme", User: "ann", Agent: fmt.Sprint(w % 3)}
			for i := range each {
				c := driver.FactChange{Kind: driver.Add, Record: newRecord(fmt.Sprint("secret ", w, " ", i)), Said: said}
				_, err := k.store.Apply(k.ctx, s, []driver.FactChange{c})
				stored <- struct{}{}
				if err != nil && !errors.Is(err, driver.ErrForgotten) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		q := all(ann)
		q.AnyAgent = true
		k.want(q)
		if c := k.search(driver.FactSearch{Query: q, Terms: []string{"secret"}, Limit: 5}); c.Facts != 0 || c.Frequency[0] != 0 {
			k.Errorf("got %d facts, frequency %d want 0", c.Facts, c.Frequency)
		}
	}},
}

var sweepCases = []factCase{
	{name: "sweep/expired", promise: "Sweep removes the expired facts of all scopes, and nothing else", run: func(k *kit) {
		gone := k.add(ann, "expired here", from(before), expiring(long), near("m", 1))
		k.add(bob, "expired too", from(before), expiring(long))
		k.add(ann, "stays here", from(before), expiring(future))
		closed := k.add(ann, "closed", from(before))
		k.apply(ann, closing(closed))
		if n := k.sweep(100); n != 2 {
			k.Errorf("got %d want 2", n)
		}
		k.wantAny(all(ann), "stays here", "closed")
		k.want(all(bob))
		k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"here"}, Embedding: []float32{1}, Model: "m", Limit: 5}, "stays here")
		if events := k.history(ann, gone); len(events) != 2 || events[1].Kind != driver.Delete || events[1].Before != "expired here" {
			k.Errorf("history: got %+v want that it was removed", events)
		}
		if n := k.sweep(100); n != 0 {
			k.Errorf("again: got %d want 0", n)
		}
		k.add(ann, "Expired here")
	}},
	{name: "sweep/limit", promise: "Sweep removes at most as many facts as the limit", run: func(k *kit) {
		k.fill(ann, 25, from(before), expiring(long))
		for _, want := range []int{10, 10, 5, 0} {
			if n := k.sweep(10); n != want {
				k.Errorf("got %d want %d", n, want)
			}
		}
		k.want(all(ann))
	}},
	{name: "sweep/undone", promise: "a swept fact does not come back when a later change is refused", run: func(k *kit) {
		k.add(ann, "one", from(before), expiring(long))
		k.add(ann, "two", from(before), expiring(long))
		k.sweep(1)
		k.refuse(driver.ErrNotFound, ann, closing(idOf(9000)))
		if got := len(k.find(all(ann))); got != 1 {
			k.Errorf("got %d facts want 1", got)
		}
	}},
	{name: "sweep/parallel", promise: "concurrent Sweeps remove each fact once", run: func(k *kit) {
		n := k.size(200, 50)
		k.fill(ann, n, from(before), expiring(long))
		var removed counter
		err := parallel(4, func(int) error {
			for range n + 1 { // each Sweep but the last removes a fact
				got, err := k.store.Sweep(k.ctx, 7)
				for range got {
					removed.add()
				}
				if err != nil || got == 0 {
					return err
				}
			}
			return fmt.Errorf("Sweep removed facts more than %d times", n)
		})
		if err != nil || removed.n != n {
			k.Errorf("got %d removed, error %v want %d", removed.n, err, n)
		}
	}},
}

func (k *kit) sweep(limit int) int {
	k.Helper()
	n, err := k.store.Sweep(k.ctx, limit)
	if err != nil {
		k.Fatal(err)
	}
	return n
}
