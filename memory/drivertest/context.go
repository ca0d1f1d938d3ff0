package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

var contextCases = []factCase{
	{name: "context/cancelled", promise: "with a context that has ended, no method reads or changes anything, and each returns the context's error", run: func(k *kit) {
		id := k.add(ann, "one", from(before), expiring(future))
		k.add(ann, "expired", from(before), expiring(long))
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		calls := map[string]func() error{
			"apply": func() error {
				_, err := k.store.Apply(ctx, ann, []driver.FactChange{deleting(id), k.adding("two")})
				return err
			},
			"find": func() error {
				for _, err := range k.store.Find(ctx, all(ann)) {
					return err
				}
				return nil
			},
			"search": func() error {
				_, err := k.store.Search(ctx, driver.FactSearch{Query: all(ann), Terms: []string{"one"}, Limit: 1})
				return err
			},
			"history": func() error {
				for _, err := range k.store.History(ctx, ann, id) {
					return err
				}
				return nil
			},
			"forget": func() error {
				_, err := k.store.Forget(ctx, ann)
				return err
			},
		}
		calls["sweep"] = func() error {
			_, err := k.store.Sweep(ctx, 10)
			return err
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, context.Canceled) {
				k.Errorf("%s: got error %v want context.Canceled", name, err)
			}
		}
		k.wantAny(all(ann), "one", "expired")
		k.wantHistory(ann, id, "add >one by ")
	}},
	{name: "context/while_reading", promise: "a Find whose context ends meanwhile returns the context's error", run: func(k *kit) {
		k.fill(ann, 500)
		ctx, cancel := context.WithCancel(k.ctx)
		n := 0
		var last error
		for _, err := range k.store.Find(ctx, all(ann)) {
			if err != nil {
				last = err
				continue
			}
			n++
			cancel()
		}
		if !errors.Is(last, context.Canceled) || n >= 500 {
			k.Errorf("got %d facts and then error %v want fewer than 500 and context.Canceled", n, last)
		}
		cancel()
	}},
	{name: "context/while_writing", promise: "a call that is cancelled meanwhile has applied all of its changes or none", run: func(k *kit) {
		for round := range k.size(30, 8) {
			ctx, cancel := context.WithCancel(k.ctx)
			var changes []driver.FactChange
			for i := range 60 {
				changes = append(changes, k.adding(fmt.Sprint("round ", round, " fact ", i)))
			}
			s := driver.Scope{Tenant: "acme", User: fmt.Sprint("u", round)}
			_ = parallel(2, func(i int) error {
				if i == 0 {
					_, err := k.store.Apply(ctx, s, changes)
					return err
				}
				for range round * 3 {
					k.find(driver.FactQuery{Reach: bob.Only()})
				}
				cancel()
				return nil
			})
			cancel()
			if got := len(k.find(all(s))); got != 0 && got != len(changes) {
				k.Errorf("round %d: got %d facts want 0 or %d", round, got, len(changes))
			}
		}
	}},
}

// odd has valid texts that are easily damaged in storage.
var odd = []string{
	"🙂👩‍👩‍👧‍👦🏳️‍🌈", "שלום עולם مرحبا \u202eabc\u202c", "e\u0301 a\u0308\u0323 Z̸̢̛a̷l̶g̵o̴", "\ufeffwith a mark", "日本語の文章", "line\nbreak\r\nand\ttab",
	"\u00a0\u2003odd spaces\u200b", "\x01\x02\x7f\u0085 controls", "\U0010ffff\ufffd\ufffe last of all", "'; DROP TABLE mem_fact; --", `" OR "1"="1`, `\'; SELECT pg_sleep(9)`,
	"%s %d %!v(MISSING) {{.}} ${HOME} $1 ?1 :name @p", "NULL", "<script>alert(1)</script>", `{"json":[1,2]}`, `back\slash \u0041 \n`, "x'00'", "trailing space ",
	strings.Repeat("long text é ", 16<<10/13), strings.Repeat("🙂", 4<<10), strings.Repeat("word ", 3<<10),
}

var textCases = []factCase{
	{name: "texts/content", promise: "valid text of any kind keeps its bytes and is found by its words", run: func(k *kit) {
		for i, text := range odd {
			r := k.record(text, words(strings.Fields(text)...))
			k.apply(ann, driver.FactChange{Kind: driver.Add, Record: r})
			got := k.get(ann, r.ID)
			k.wantValues(got, r)
			k.wantHistory(ann, r.ID, "add >"+text+" by ")
			if c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only(), IDs: []string{r.ID}}, Terms: r.Terms[:1], Limit: 5}); len(c.Records) != 1 {
				k.Errorf("text %d: got %d candidates want 1", i, len(c.Records))
			}
		}
	}},
	{name: "texts/everywhere", promise: "the same holds for text in all other fields", run: func(k *kit) {
		for _, text := range odd {
			if len(text) > 512 {
				text = text[:512]
				text = strings.ToValidUTF8(text, "")
			}
			s := driver.Scope{Tenant: text, Workspace: text, User: text, Agent: text}
			c := k.adding("fact of it", during(text, 1), near(text, 1), about(fmt.Sprintf(`{"a":%s}`, jsonText(text))), words(text))
			c.Actor, c.Job = text, text
			k.apply(s, c)
			k.want(driver.FactQuery{Reach: s.Only(), Conversation: text, Where: []driver.Condition{driver.Where("a", driver.Equal, text)}}, "fact of it")
			k.want(driver.FactQuery{Reach: s.Only(), Without: text})
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: s.Only()}, Terms: []string{text}, Limit: 5}, "fact of it")
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: s.Only()}, Embedding: []float32{1}, Model: text, Limit: 5}, "fact of it")
			k.wantHistory(s, c.Record.ID, "add >fact of it by "+text)
			if got := k.apply(s, c)[0]; got != (driver.Applied{}) {
				k.Errorf("job %.40q again: got %+v want nothing", text, got)
			}
			got := k.get(s, c.Record.ID)
			c.Record.Scope, c.Record.Version, c.Record.CreatedAt, c.Record.UpdatedAt, c.Record.ValidFrom = s, 1, got.CreatedAt, got.UpdatedAt, got.CreatedAt
			k.wantSame(got, c.Record)
			if n := k.forget(s); n != 1 {
				k.Errorf("forget: got %d facts want 1", n)
			}
		}
	}},
}

func jsonText(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}
