package drivertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

var dedupeCases = []factCase{
	{name: "dedupe/same", promise: "a fact with the same content, kind and scope as a valid fact is not stored again, and the valid fact stays unchanged", run: func(k *kit) {
		id := k.add(ann, "Ann likes tea", about(`{"a":1}`))
		want := k.get(ann, id)
		got := k.apply(ann, k.adding("Ann likes tea.", about(`{"b":2}`), near("m", 1)))[0]
		if got != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("got %+v want the fact that existed", got)
		}
		k.wantSame(k.get(ann, id), want)
		k.wantHistory(ann, id, "add >Ann likes tea by ")
		k.add(ann, "ann likes tea", of(driver.Preference))
		k.add(bob, "ann likes tea")
		k.wantAny(all(ann), "Ann likes tea", "ann likes tea")
		k.want(all(bob), "ann likes tea")
	}},
	{name: "dedupe/in_one_call", promise: "the same holds within one call", run: func(k *kit) {
		got := k.apply(ann, k.adding("one"), k.adding("two"), k.adding("one."))
		if got[2] != (driver.Applied{ID: got[0].ID, Existed: true}) || got[1].Existed {
			k.Errorf("got %+v want the third to be the first", got)
		}
		k.wantAny(all(ann), "one", "two")
	}},
	{name: "dedupe/closed", promise: "a closed fact, or one that was valid only earlier, does not prevent storing the same content again", run: func(k *kit) {
		id := k.add(ann, "on leave", from(before))
		k.apply(ann, closing(id))
		k.add(ann, "on leave.")
		k.add(ann, "on  leave", from(before.Add(-2*time.Hour)), to(before.Add(-time.Hour)))
		k.want(driver.FactQuery{Reach: ann.Only()}, "on leave.")
		k.wantAny(all(ann), "on leave", "on leave.", "on  leave")
		if got := k.apply(ann, k.adding(" on leave"))[0]; !got.Existed {
			k.Error("got a second valid fact")
		}
	}},
	{name: "dedupe/ends_later", promise: "a fact with a future end is not stored again, and is then valid as long as either of the two", run: func(k *kit) {
		id := k.add(ann, "in Rome", from(before), to(future))
		for _, c := range []driver.FactChange{k.adding("in Rome."), k.adding("in  Rome", to(future.Add(-time.Hour))), k.adding("in Rome", from(before.Add(-time.Hour)), to(after))} {
			if got := k.apply(ann, c)[0]; got != (driver.Applied{ID: id, Existed: true}) {
				k.Errorf("got %+v want the fact that existed", got)
			}
		}
		k.wantAny(all(ann), "in Rome")
		if got := k.get(ann, id); !got.ValidTo.IsZero() || !got.ValidFrom.Equal(before.Add(-time.Hour)) || got.Version != 3 {
			k.Errorf("got from %v to %v, version %d want %v, no end, 3", got.ValidFrom, got.ValidTo, got.Version, before.Add(-time.Hour))
		}
	}},
	{name: "dedupe/never_so", promise: "a fact that was never valid neither prevents storing its content nor counts as a repetition", run: func(k *kit) {
		id := k.add(ann, "in Rome", from(before))
		k.apply(ann, superseding(k.adding("in Oslo", from(before)), id))
		if got := k.apply(ann, k.adding("in Rome", from(before)))[0]; got.Existed {
			k.Errorf("got %+v want a new fact", got)
		}
	}},
	{name: "dedupe/reading", promise: "texts that a reader can tell apart are stored as different facts, whatever their keys", run: func(k *kit) {
		for _, text := range []string{"Polish", "polish", "5' long", "5\" long", "C", "C+", "really?", "really!", "1.5", "15"} {
			c := k.adding(text)
			c.Record.Key = [16]byte{1}
			if got := k.apply(ann, c)[0]; got.Existed {
				k.Errorf("%q: got %+v want a new fact", text, got)
			}
		}
	}},
	{name: "supersede/ends_later", promise: "a fact with a future end can be superseded before its end, and a fact that has ended cannot", run: func(k *kit) {
		id := k.add(ann, "in Athens", from(before))
		k.apply(ann, superseding(k.adding("in Oslo", from(future)), id))
		k.want(driver.FactQuery{Reach: ann.Only()}, "in Athens")
		if got := k.apply(ann, k.adding("in Athens."))[0]; got != (driver.Applied{ID: id, Existed: true}) {
			k.Errorf("got %+v want the fact that is so until then", got)
		}
		if got := k.get(ann, id); !got.ValidTo.Equal(future) {
			k.Errorf("got valid to %v want %v, when another takes its place", got.ValidTo, future)
		}
		now := superseding(k.adding("in Rome", from(long)), id)
		k.apply(ann, now)
		if got := k.get(ann, id); !got.ValidTo.Equal(long) || got.SupersededBy != now.Record.ID {
			k.Errorf("got valid to %v, superseded by %s want %v, %s", got.ValidTo, got.SupersededBy, long, now.Record.ID)
		}
		k.refuse(driver.ErrConflict, ann, superseding(k.adding("in Paris", from(after)), id))
	}},
	{name: "dedupe/expired", promise: "an expired fact that was not swept does not prevent storing its content again; it is removed, with an event", run: func(k *kit) {
		id := k.add(ann, "on leave", from(before), expiring(long))
		again := k.apply(ann, k.adding("on leave."))[0]
		if again.Existed || again.ID == id {
			k.Errorf("got %+v want a new fact", again)
		}
		k.want(driver.FactQuery{Reach: ann.Only()}, "on leave.")
		k.want(all(ann), "on leave.")
		if events := k.history(ann, id); len(events) != 2 || events[1].Kind != driver.Delete || events[1].Before != "on leave" {
			k.Errorf("history: got %+v want that it was removed", events)
		}
	}},
	{name: "dedupe/untrusted", promise: "an untrusted fact does not prevent storing the same content: a document must not block what a user says", run: func(k *kit) {
		k.add(ann, "Ann is the admin", trusted(driver.Untrusted))
		if got := k.apply(ann, k.adding("Ann is the admin.", trusted(driver.Untrusted)))[0]; !got.Existed {
			k.Error("got a second untrusted fact")
		}
		if got := k.apply(ann, k.adding("ann is the admin"))[0]; got.Existed {
			k.Error("got the untrusted fact for the user's own")
		}
		if got := k.apply(ann, k.adding("ann is the admin.", trusted(driver.Inferred)))[0]; !got.Existed {
			k.Error("got a second trusted fact")
		}
		k.want(driver.FactQuery{Reach: ann.Only()}, "ann is the admin")
		k.wantAny(all(ann), "ann is the admin", "Ann is the admin")
	}},
	{name: "dedupe/writers", promise: "16 writers that store a thousand facts ten thousand times, in different letter case, store a thousand facts", run: manyWriters},
	{name: "dedupe/one_fact", promise: "if one fact is stored concurrently several times, it is stored once, and every call gets its ID", run: func(k *kit) {
		for round := range k.size(25, 5) {
			ids := make([]driver.Applied, 16)
			err := parallel(len(ids), func(i int) error {
				applied, err := k.store.Apply(k.ctx, ann, []driver.FactChange{{Kind: driver.Add, Record: newRecord(fmt.Sprint("fact ", round))}})
				if err == nil {
					ids[i] = applied[0]
				}
				return err
			})
			if err != nil {
				k.Fatal(err)
			}
			fresh := 0
			for _, a := range ids {
				if !a.Existed {
					fresh++
				}
				if a.ID != ids[0].ID {
					k.Errorf("got ids %s and %s want one", a.ID, ids[0].ID)
				}
			}
			if fresh != 1 {
				k.Errorf("got %d that stored it want 1", fresh)
			}
		}
	}},
}

// manyWriters stores facts through [memory.Memory], which detects repetitions.
func manyWriters(k *kit) {
	facts, variants, writers := k.size(1000, 100), 10, 16
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: k.store}), memory.Options{})
	if err != nil {
		k.Fatal(err)
	}
	start := time.Now()
	err = parallel(writers, func(w int) error {
		r := k.rand()
		var batch []driver.Fact
		flush := func() error {
			_, err := m.Store(k.ctx, ann, batch...)
			batch = nil
			return err
		}
		for n := w; n < facts*variants; n += writers {
			// Each writer stores the facts in a different order.
			batch = append(batch, driver.Fact{Content: variant(n*7919%facts, n/facts), Trust: driver.Stated})
			if len(batch) > r.IntN(20) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return flush()
	})
	if err != nil {
		k.Fatal(err)
	}
	k.Logf("%d variants of %d facts by %d writers in %v", facts*variants, facts, writers, time.Since(start).Round(time.Millisecond))
	if got := len(k.find(all(ann))); got != facts {
		k.Errorf("got %d facts want %d", got, facts)
	}
	c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"none"}, Limit: 1})
	if c.Facts != int64(facts) {
		k.Errorf("got %d facts that are searched want %d", c.Facts, facts)
	}
}

// variant returns a fact in one of ten forms.
func variant(fact, way int) string {
	text := fmt.Sprintf("Customer %d prefers delivery on day %d", fact, fact%28+1)
	switch way % 10 {
	case 1:
		return text + "\u200b"
	case 2:
		return strings.ReplaceAll(text, " ", "  ")
	case 3:
		return text + "."
	case 4:
		return "  " + strings.ReplaceAll(text, " ", "\t ") + "\n"
	case 5:
		return "\ufeff" + text
	case 6:
		return strings.ReplaceAll(text, "er", "e\u00adr")
	case 7:
		return " " + text + "。"
	case 8:
		return strings.ReplaceAll(text, " ", "\u00a0")
	case 9:
		return strings.ReplaceAll(text, " ", " \n") + "."
	}
	return text
}

var extendCases = []factCase{
	{name: "extend/longer", promise: "storing a fact again extends its validity to the later expiry and the earlier ValidFrom, as an update in its history", run: func(k *kit) {
		for name, c := range map[string]struct{ was, again, want driver.FactRecord }{
			"no expiry":        {until(future, before), until(time.Time{}, before), until(time.Time{}, before)},
			"a later expiry":   {until(future.Add(-time.Hour), before), until(future, before), until(future, before)},
			"an earlier start": {until(future, long), until(future, before), until(future, before)},
			"from now on":      {until(time.Time{}, future), until(time.Time{}, time.Time{}), until(time.Time{}, time.Time{})},
			"both":             {until(future.Add(-time.Hour), long), until(future, before), until(future, before)},
			"one of the two":   {until(future.Add(-time.Hour), before), until(future, long), until(future, before)},
		} {
			many := make([]driver.FactChange, k.rand().IntN(2)*20) // alone, or with other changes
			for i := range many {
				many[i] = k.adding(fmt.Sprint("beside ", name, " ", i))
			}
			add := func(r driver.FactRecord, actor, text string) driver.Applied {
				return k.apply(ann, append(many, by(actor, k.adding(text, from(r.ValidFrom), expiring(r.ExpiresAt))))...)[len(many)]
			}
			id := add(c.was, "one", name).ID
			was := k.get(ann, id)
			if got := add(c.again, "two", name+"."); got != (driver.Applied{ID: id, Existed: true}) {
				k.Errorf("%s: got %+v want the fact that existed", name, got)
			}
			got := k.get(ann, id)
			if c.want.ValidFrom.IsZero() {
				c.want.ValidFrom = got.UpdatedAt
			}
			want := was
			want.ValidFrom, want.ExpiresAt, want.Version, want.UpdatedAt = c.want.ValidFrom, c.want.ExpiresAt, 2, got.UpdatedAt
			k.wantSame(got, want)
			if !got.UpdatedAt.After(was.UpdatedAt) {
				k.Errorf("%s: got updated at %v want after %v", name, got.UpdatedAt, was.UpdatedAt)
			}
			k.wantHistory(ann, id, "add >"+name+" by one", "update "+name+">"+name+" by two")
			k.want(driver.FactQuery{Reach: ann.Only(), IDs: []string{id}}, name)
		}
	}},
	{name: "extend/never_shorter", promise: "an earlier expiry or a later ValidFrom changes nothing and adds no event, alone, among many changes, and by ID", run: func(k *kit) {
		open, ends := k.add(ann, "open", from(before)), k.add(ann, "ends", from(before), expiring(future))
		want := []driver.FactRecord{k.get(ann, open), k.get(ann, ends)}
		for _, n := range []int{0, 20} {
			changes := []driver.FactChange{
				k.adding(" open", expiring(future)), k.adding("open.", from(future)), k.adding("ends.", from(long), expiring(future.Add(-time.Hour))),
				k.changing(driver.Add, open, "open", expiring(future)), k.adding("open", from(before), to(long)),
			}
			for i := range n {
				changes = append(changes, k.adding(fmt.Sprint("beside ", i)))
			}
			k.apply(ann, changes...)
		}
		for _, r := range want {
			k.wantSame(k.get(ann, r.ID), r)
			k.wantHistory(ann, r.ID, "add >"+r.Content+" by ")
		}
	}},
	{name: "extend/in_one_call", promise: "the same holds within one call, also with many changes", run: func(k *kit) {
		for _, n := range []int{0, 20} {
			text := fmt.Sprint("fact of ", n)
			changes := []driver.FactChange{k.adding(text, from(long), expiring(future)), k.adding(text, from(before))}
			for i := range n {
				changes = append(changes, k.adding(fmt.Sprint("beside ", i)))
			}
			got := k.get(ann, k.apply(ann, changes...)[1].ID)
			if !got.ValidFrom.Equal(before) || !got.ExpiresAt.IsZero() || got.Version != 2 {
				k.Errorf("%d: got from %v, expires at %v, version %d want %v, never, 2", n, got.ValidFrom, got.ExpiresAt, got.Version, before)
			}
		}
	}},
	{name: "extend/by_id", promise: "a fact that is stored again by its ID is extended too, unless it is closed", run: func(k *kit) {
		id := k.add(ann, "fact", expiring(future))
		k.apply(ann, k.changing(driver.Add, id, "fact"))
		if got := k.get(ann, id); !got.ExpiresAt.IsZero() || got.Version != 2 {
			k.Errorf("got expires at %v, version %d want never, 2", got.ExpiresAt, got.Version)
		}
		closed := k.add(ann, "closed", from(before), expiring(future))
		k.apply(ann, closing(closed), k.changing(driver.Add, closed, "closed"))
		if got := k.get(ann, closed); !got.ExpiresAt.Equal(future) || got.Version != 2 {
			k.Errorf("got expires at %v, version %d want %v, 2", got.ExpiresAt, got.Version, future)
		}
	}},
	{name: "extend/trust", promise: "an untrusted fact does not extend a trusted one, and storing a fact again does not raise its trust", run: func(k *kit) {
		id := k.add(ann, "fact", expiring(future), trusted(driver.Inferred))
		k.add(ann, "fact", trusted(driver.Untrusted))
		if got := k.get(ann, id); !got.ExpiresAt.Equal(future) || got.Version != 1 {
			k.Errorf("got expires at %v, version %d want %v, 1", got.ExpiresAt, got.Version, future)
		}
		k.add(ann, "fact")
		if got := k.get(ann, id); !got.ExpiresAt.IsZero() || got.Trust != driver.Inferred {
			k.Errorf("got expires at %v, trust %d want never, %d", got.ExpiresAt, got.Trust, driver.Inferred)
		}
	}},
	{name: "extend/parallel", promise: "if one fact is stored concurrently with different validities, the longest one is kept", run: func(k *kit) {
		for round := range k.size(25, 5) {
			text := fmt.Sprint("fact ", round)
			err := parallel(16, func(i int) error {
				r := newRecord(text)
				r.ValidFrom = long.Add(-time.Duration(i) * time.Minute)
				if i != round%16 {
					r.ExpiresAt = future.Add(-time.Duration(i) * time.Minute)
				}
				_, err := k.store.Apply(k.ctx, ann, []driver.FactChange{{Kind: driver.Add, Record: r}})
				return err
			})
			if err != nil {
				k.Fatal(err)
			}
			got := k.find(driver.FactQuery{Reach: ann.Only()})[0]
			if got.Content != text || !got.ExpiresAt.IsZero() || !got.ValidFrom.Equal(long.Add(-15*time.Minute)) {
				k.Errorf("got %q from %v, expires at %v want %q from the earliest on, for ever", got.Content, got.ValidFrom, got.ExpiresAt, text)
			}
			if events := k.history(ann, got.ID); int64(len(events)) != got.Version {
				k.Errorf("got %d events and version %d", len(events), got.Version)
			}
		}
	}},
}

func until(expires, start time.Time) driver.FactRecord {
	return driver.FactRecord{Fact: driver.Fact{ValidFrom: start, ExpiresAt: expires}}
}

var supersedeCases = []factCase{
	{name: "supersede/too_early", promise: "a fact that began after the fact that supersedes it was never valid: it ends when it begins", run: func(k *kit) {
		old := k.add(ann, "old", from(long))
		c := superseding(k.adding("new", from(before)), old)
		k.apply(ann, c)
		if got := k.get(ann, old); !got.ValidTo.Equal(long) || got.SupersededBy != c.Record.ID {
			k.Errorf("got valid to %v, superseded by %q want %v, %q", got.ValidTo, got.SupersededBy, long, c.Record.ID)
		}
		for _, at := range []time.Time{{}, before, long.Add(-1000), long, after} {
			k.want(driver.FactQuery{Reach: ann.Only(), AsOf: at}, "new")
		}
		k.wantHistory(ann, old, "add >old by ", "close old> by "+c.Record.ID)
	}},
	{name: "supersede/closes", promise: "an added fact ends the facts that it supersedes at its ValidFrom, and they name it", run: func(k *kit) {
		old, older, other := k.add(ann, "old", from(before)), k.add(ann, "older", from(before)), k.add(ann, "other", from(before))
		c := superseding(k.adding("new", from(long)), old, older)
		k.apply(ann, by("me", c))
		for _, id := range []string{old, older} {
			got := k.get(ann, id)
			if !got.ValidTo.Equal(long) || got.SupersededBy != c.Record.ID || got.Version != 2 {
				k.Errorf("got valid to %v, superseded by %q, version %d want %v, %q, 2", got.ValidTo, got.SupersededBy, got.Version, long, c.Record.ID)
			}
			k.wantHistory(ann, id, "add >"+got.Content+" by ", "close "+got.Content+"> by "+c.Record.ID)
		}
		k.wantHistory(ann, c.Record.ID, "add >new by me")
		k.wantAny(driver.FactQuery{Reach: ann.Only()}, "new", "other")
		k.wantAny(driver.FactQuery{Reach: ann.Only(), AsOf: long.Add(-1000)}, "old", "older", "other")
		k.wantAny(driver.FactQuery{Reach: ann.Only(), AsOf: long}, "new", "other")
		k.get(ann, other)
	}},
	{name: "supersede/now", promise: "without a ValidFrom it ends them now: at no time are both valid, or neither", run: func(k *kit) {
		id := k.add(ann, "old", from(before))
		c := superseding(k.adding("new"), id)
		k.apply(ann, c)
		old, now := k.get(ann, id), k.get(ann, c.Record.ID)
		if !old.ValidTo.Equal(now.ValidFrom) {
			k.Errorf("got valid to %v and from %v want the same", old.ValidTo, now.ValidFrom)
		}
		k.want(driver.FactQuery{Reach: ann.Only()}, "new")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: now.ValidFrom}, "new")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: now.ValidFrom.Add(-1000)}, "old")
	}},
	{name: "supersede/same", promise: "a superseded fact with the content of the new fact stays valid, and supersedes the others", run: func(k *kit) {
		same, old := k.add(ann, "tea", from(before)), k.add(ann, "coffee", from(before))
		got := k.apply(ann, superseding(k.adding("tea.", from(long)), same, old))[0]
		if got != (driver.Applied{ID: same, Existed: true}) {
			k.Errorf("got %+v want the fact that existed", got)
		}
		k.want(driver.FactQuery{Reach: ann.Only()}, "tea")
		if got := k.get(ann, old); got.SupersededBy != same || !got.ValidTo.Equal(long) {
			k.Errorf("got superseded by %q at %v want %q, %v", got.SupersededBy, got.ValidTo, same, long)
		}
		if got := k.get(ann, same); got.Version != 1 || !got.ValidTo.IsZero() {
			k.Errorf("got %s want it as it was", brief(got.Fact))
		}
	}},
	{name: "supersede/refused", promise: "superseding a missing fact returns ErrNotFound, and superseding a fact that has ended returns ErrConflict", run: func(k *kit) {
		id, closed := k.add(ann, "old"), k.add(ann, "closed")
		k.apply(ann, closing(closed))
		k.refuse(driver.ErrNotFound, ann, superseding(k.adding("new"), id, idOf(7000)))
		k.refuse(driver.ErrConflict, ann, superseding(k.adding("new"), id, closed))
		k.want(driver.FactQuery{Reach: ann.Only()}, "old")
		k.wantHistory(ann, id, "add >old by ")
	}},
	{name: "supersede/race", promise: "of concurrent facts that supersede the same fact, one succeeds", run: func(k *kit) {
		for round := range k.size(20, 4) {
			id := k.add(ann, fmt.Sprint("old ", round))
			var won counter
			err := parallel(8, func(i int) error {
				c := driver.FactChange{Kind: driver.Add, Record: newRecord(fmt.Sprint("new ", round, " by ", i)), Supersedes: []string{id}}
				_, err := k.store.Apply(k.ctx, ann, []driver.FactChange{c})
				if err == nil {
					won.add()
				} else if errors.Is(err, driver.ErrConflict) {
					err = nil
				}
				return err
			})
			if err != nil || won.n != 1 {
				k.Fatalf("got %d that succeeded, error %v want 1", won.n, err)
			}
			if got := len(k.find(driver.FactQuery{Reach: ann.Only(), Limit: -1})); got != round+1 {
				k.Fatalf("got %d valid facts want %d", got, round+1)
			}
		}
	}},
	{name: "supersede/many", promise: "500 facts can be superseded at once: all new facts are valid now, and all old ones were valid before", run: func(k *kit) {
		n := k.size(500, 100)
		var now, then []string
		var olds []driver.FactChange
		for i := range n {
			then = append(then, fmt.Sprintf("customer c%d has plan a", i))
			olds = append(olds, k.adding(then[i], from(before)))
		}
		k.apply(ann, olds...)
		ids := map[string]string{}
		for _, r := range k.find(driver.FactQuery{Reach: ann.Only(), Limit: -1}) {
			ids[r.Content] = r.ID
		}
		for i := range n {
			text := fmt.Sprintf("customer c%d has plan b", i)
			k.apply(ann, superseding(k.adding(text, from(long)), ids[then[i]]))
			now = append(now, text)
		}
		k.wantAny(driver.FactQuery{Reach: ann.Only(), Limit: -1}, now...)
		k.wantAny(driver.FactQuery{Reach: ann.Only(), Limit: -1, AsOf: after}, now...)
		k.wantAny(driver.FactQuery{Reach: ann.Only(), Limit: -1, AsOf: long.Add(-1000)}, then...)
		for i := 0; i < n; i += 10 {
			terms := []string{fmt.Sprint("c", i)}
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: terms, Limit: 3}, now[i])
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only(), AsOf: before}, Terms: terms, Limit: 3}, then[i])
		}
	}},
}
