package drivertest

import (
	"slices"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var changeCases = []factCase{
	{name: "update/what", promise: "an update changes content, metadata, importance, trust, expiry and vector, and nothing else", run: func(k *kit) {
		id := k.add(ann, "old words", of(driver.Episode), during("c", 3), from(before), about(`{"a":1}`), near("m", 1, 2))
		was := k.get(ann, id)
		c := k.changing(driver.Update, id, "new text", of(driver.Plain), during("other", 9), from(after), to(future), expiring(future),
			trusted(driver.Inferred), about(`{"b":2}`), near("n", 3))
		c.Record.Importance = 0.9
		k.apply(ann, c)
		want, got := was, k.get(ann, id)
		want.Content, want.Key, want.Terms, want.Metadata = "new text", c.Record.Key, c.Record.Terms, c.Record.Metadata
		want.Importance, want.Trust, want.ExpiresAt, want.Embedding, want.Model = 0.9, driver.Inferred, future, []float32{3}, "n"
		want.Version, want.UpdatedAt = 2, got.UpdatedAt
		k.wantSame(got, want)
		if !got.UpdatedAt.After(was.UpdatedAt) {
			k.Errorf("got updated at %v want after %v", got.UpdatedAt, was.UpdatedAt)
		}
	}},
	{name: "update/search", promise: "an updated fact is found by its new words and vector, and not by its old ones", run: func(k *kit) {
		id := k.add(ann, "old words", near("m", 1, 0))
		k.apply(ann, k.changing(driver.Update, id, "new words", near("m", 0, 1)))
		q := driver.FactQuery{Reach: ann.Only()}
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"old"}, Limit: 5})
		c := k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"old", "new", "words"}, Limit: 5}, "new words")
		if !slices.Equal(c.Frequency, []int64{0, 1, 1}) || c.Facts != 1 || c.Terms != 2 {
			k.Errorf("got %d facts, %d terms, frequency %d want 1, 2, [0 1 1]", c.Facts, c.Terms, c.Frequency)
		}
		k.apply(ann, k.changing(driver.Update, id, "newest words"))
		k.wantSearch(driver.FactSearch{Query: q, Embedding: []float32{0, 1}, Model: "m", Limit: 5})
	}},
	{name: "update/said_already", promise: "an update to the content of another valid fact of the same kind returns ErrConflict", run: func(k *kit) {
		one, two := k.add(ann, "one"), k.add(ann, "two")
		other := k.add(ann, "three", of(driver.Context))
		k.refuse(driver.ErrConflict, ann, k.changing(driver.Update, two, "one."))
		k.apply(ann, k.changing(driver.Update, one, "one."))
		k.apply(ann, k.changing(driver.Update, other, "two"))
		k.wantAny(driver.FactQuery{Reach: ann.Only()}, "one.", "two", "two")
		k.apply(ann, closing(one), k.changing(driver.Update, two, "one"))
		k.wantAny(driver.FactQuery{Reach: ann.Only()}, "one", "two")
		k.apply(ann, k.changing(driver.Update, one, "one")) // the fact is closed
		k.wantAny(all(ann), "one", "one", "two")
		k.apply(ann, k.adding("one."))
		k.wantAny(all(ann), "one", "one", "two")
	}},
	{name: "update/frees", promise: "the content before an update can be stored again as a new fact", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, k.changing(driver.Update, id, "two"))
		k.add(ann, "one")
		k.wantAny(driver.FactQuery{Reach: ann.Only()}, "one", "two")
		if got := k.apply(ann, k.adding("two."))[0]; got != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("got %+v want the fact that was updated", got)
		}
	}},
	{name: "close/now", promise: "a closed fact is not valid from its end on, and stays valid before it", run: func(k *kit) {
		id := k.add(ann, "so", from(before))
		k.apply(ann, closing(id))
		got := k.get(ann, id)
		if got.ValidTo.IsZero() || !got.ValidTo.Equal(got.UpdatedAt) || got.Version != 2 || got.SupersededBy != "" {
			k.Errorf("got valid to %v, updated at %v, version %d want closed now, version 2", got.ValidTo, got.UpdatedAt, got.Version)
		}
		k.want(driver.FactQuery{Reach: ann.Only()})
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: long}, "so")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: future})
		k.want(driver.FactQuery{Reach: ann.Only(), Closed: true}, "so")
	}},
	{name: "close/at", promise: "a fact can be closed at any time, and is not valid from that time on", run: func(k *kit) {
		id := k.add(ann, "so", from(before))
		k.apply(ann, closing(id, to(long)))
		k.want(driver.FactQuery{Reach: ann.Only()})
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: long})
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: long.Add(-1000)}, "so")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: before}, "so")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: before.Add(-1000)})
		later := k.add(ann, "later", from(before))
		k.apply(ann, closing(later, to(future)))
		k.want(driver.FactQuery{Reach: ann.Only()}, "later")
	}},
	{name: "close/earlier", promise: "closing a closed fact keeps the earlier end", run: func(k *kit) {
		id := k.add(ann, "so", from(before))
		k.apply(ann, closing(id, to(long)))
		k.apply(ann, closing(id))
		k.apply(ann, closing(id, to(future)))
		if got := k.get(ann, id).ValidTo; !got.Equal(long) {
			k.Errorf("got %v want %v", got, long)
		}
		earlier := before.Add(60_000_000_000)
		k.apply(ann, closing(id, to(earlier)))
		if got := k.get(ann, id); !got.ValidTo.Equal(earlier) || got.Version != 5 {
			k.Errorf("got %v, version %d want %v, 5", got.ValidTo, got.Version, earlier)
		}
	}},
	{name: "delete/gone", promise: "no query finds a deleted fact, also not by its ID, but its history stays", run: func(k *kit) {
		id := k.add(ann, "gone", near("m", 1))
		k.apply(ann, by("me", deleting(id)))
		k.want(all(ann))
		c := k.wantSearch(driver.FactSearch{Query: all(ann), Terms: []string{"gone"}, Embedding: []float32{1}, Model: "m", Limit: 9})
		if c.Facts != 0 || c.Terms != 0 || c.Frequency[0] != 0 {
			k.Errorf("got %d facts, %d terms, frequency %d want 0", c.Facts, c.Terms, c.Frequency)
		}
		k.refuse(driver.ErrNotFound, ann, deleting(id))
		k.refuse(driver.ErrNotFound, ann, closing(id))
		k.wantHistory(ann, id, "add >gone by ", "delete gone> by me")
		if again := k.add(ann, "gone"); again == id {
			k.Error("got the deleted fact's id for a new one")
		}
	}},
	{name: "embed/alone", promise: "Embed changes only the vector and the terms; it adds no event and keeps the version", run: func(k *kit) {
		id := k.add(ann, "old words", near("m", 1, 0), about(`{"a":1}`))
		want := k.get(ann, id)
		k.apply(ann, k.changing(driver.Embed, id, "something else", about(`{"b":1}`), at(1), near("n", 0.5, 2, 3), words("other", "terms", "other")))
		want.Terms, want.Embedding, want.Model = []string{"other", "terms", "other"}, []float32{0.5, 2, 3}, "n"
		k.wantSame(k.get(ann, id), want)
		k.wantHistory(ann, id, "add >old words by ")
		q := driver.FactQuery{Reach: ann.Only()}
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"words"}, Embedding: []float32{1, 0}, Model: "m", Limit: 5})
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"terms"}, Limit: 5}, "old words")
		k.wantSearch(driver.FactSearch{Query: q, Embedding: []float32{1, 0, 0}, Model: "n", Limit: 5}, "old words")
	}},
	{name: "embed/closed", promise: "a closed fact gets a vector too", run: func(k *kit) {
		id := k.add(ann, "was so", from(before))
		k.apply(ann, closing(id), k.changing(driver.Embed, id, "was so", near("m", 1)))
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only(), AsOf: long}, Embedding: []float32{1}, Model: "m", Limit: 5}, "was so")
	}},
}

var closeCases = []factCase{
	{name: "close/not_before", promise: "a fact whose end is before its beginning was never valid: it ends when it begins", run: func(k *kit) {
		id := k.add(ann, "so", from(long))
		k.apply(ann, closing(id, to(before)))
		later := k.add(ann, "to come", from(future))
		k.apply(ann, closing(later))
		for id, want := range map[string]time.Time{id: long, later: future} {
			if got := k.get(ann, id); !got.ValidTo.Equal(want) || !got.ValidFrom.Equal(want) {
				k.Errorf("got %q from %v to %v want %v", got.Content, got.ValidFrom, got.ValidTo, want)
			}
		}
		for _, at := range []time.Time{{}, before, long, after, future} {
			k.want(driver.FactQuery{Reach: ann.Only(), AsOf: at})
		}
		k.wantAny(all(ann), "so", "to come")
	}},
}

var versionCases = []factCase{
	{name: "versions/count", promise: "the version of a fact is 1 at first, and each change adds 1", run: func(k *kit) {
		id := k.add(ann, "1", at(77))
		for v := int64(1); v < 5; v++ {
			if got := k.get(ann, id).Version; got != v {
				k.Errorf("got version %d want %d", got, v)
			}
			k.apply(ann, k.changing(driver.Update, id, "version", at(v)))
		}
	}},
	{name: "versions/conflict", promise: "a change of any kind with another version than the fact's returns ErrConflict", run: func(k *kit) {
		id := k.add(ann, "one")
		k.apply(ann, k.changing(driver.Update, id, "two"))
		want := k.get(ann, id)
		for _, kind := range []driver.FactChangeKind{driver.Update, driver.Close, driver.Delete, driver.Erase, driver.Embed} {
			for _, v := range []int64{1, 3, -1} {
				k.refuse(driver.ErrConflict, ann, k.changing(kind, id, "three", at(v)))
			}
		}
		k.wantSame(k.get(ann, id), want)
		k.apply(ann, k.changing(driver.Embed, id, "", at(2)), k.changing(driver.Update, id, "three", at(2)), closing(id, at(3)))
		c := deleting(id)
		c.Record.Version = 4
		k.apply(ann, c)
		k.want(all(ann))
	}},
}

var jobCases = []factCase{
	{name: "jobs/once", promise: "the changes of a job are applied once in a scope; repeating the job returns empty results", run: func(k *kit) {
		job := func() []driver.FactChange {
			changes := []driver.FactChange{k.adding("learned", named("")), k.adding("learned too", named(""))}
			for i := range changes {
				changes[i].Job = "job 1"
			}
			return changes
		}
		first := k.apply(ann, job()...)
		k.apply(ann, deleting(first[0].ID))
		for range 3 {
			if again := k.apply(ann, job()...); again[0] != (driver.Applied{}) || again[1] != (driver.Applied{}) {
				k.Errorf("got %+v want nothing", again)
			}
		}
		k.want(all(ann), "learned too")
		k.apply(bob, job()...)
		k.wantAny(all(bob), "learned", "learned too")
		other := job()
		other[0].Job, other[1].Job = "JOB 1", "JOB 1"
		k.apply(ann, other...)
		k.wantAny(all(ann), "learned", "learned too")
	}},
	{name: "jobs/failed", promise: "a job that was refused can be tried again", run: func(k *kit) {
		add, bad := k.adding("learned"), closing(idOf(5000))
		add.Job, bad.Job = "job", "job"
		k.refuse(driver.ErrNotFound, ann, add, bad)
		k.apply(ann, add)
		k.want(all(ann), "learned")
	}},
	{name: "jobs/parallel", promise: "of concurrent calls with one job, one applies it", run: func(k *kit) {
		for round := range k.size(20, 4) {
			var done counter
			err := parallel(8, func(int) error {
				c := driver.FactChange{Kind: driver.Add, Record: newRecord("learned"), Job: idOf(round)}
				c.Record.Key = [16]byte([]byte(c.Record.ID[20:])) // so that it is not a duplicate
				applied, err := k.store.Apply(k.ctx, ann, []driver.FactChange{c})
				if err == nil && applied[0] != (driver.Applied{}) {
					done.add()
				}
				return err
			})
			if err != nil || done.n != 1 {
				k.Fatalf("got %d that did the job, error %v want 1", done.n, err)
			}
		}
	}},
}
