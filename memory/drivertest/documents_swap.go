package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/memory/driver"
)

var swapCases = []documentCase{
	{"swap/whole", "a source and its chunks are read as they were stored; the store sets revision, count and times", func(k *documentKit) {
		s := k.source("a.md")
		list := []driver.ChunkRecord{vector(passage("a.md", "one é 🙂 '\"\\ \n\t", 0), "m", 1, -0.5), passage("a.md", "two", 1)}
		list[1].Headings, list[1].Tokens, list[1].End = nil, 0, 1<<40
		k.swap(acme, swap(s, list...))
		got := k.get(acme, "a.md")
		if got.CreatedAt.IsZero() || !got.UpdatedAt.Equal(got.CreatedAt) {
			k.Errorf("got created at %v, updated at %v", got.CreatedAt, got.UpdatedAt)
		}
		want := s
		want.Scope, want.Revision, want.Chunks, want.CreatedAt, want.UpdatedAt = acme, 1, 2, got.CreatedAt, got.UpdatedAt
		if !reflect.DeepEqual(got, want) {
			k.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		k.wantChunks(got, list...)
	}},
	{"swap/little", "a source needs only an ID and a URI, and no chunks", func(k *documentKit) {
		s := driver.Source{ID: k.source("").ID, URI: "x", Format: "text"}
		k.swap(acme, swap(s))
		got := k.get(acme, "x")
		k.wantChunks(got)
		got.CreatedAt, got.UpdatedAt = time.Time{}, time.Time{}
		s.Scope, s.Revision = acme, 1
		if !reflect.DeepEqual(got, s) {
			k.Errorf("got\n%+v\nwant\n%+v", got, s)
		}
	}},
	{"swap/replace", "a swap replaces a source with all its chunks, and the source keeps its ID and CreatedAt", func(k *documentKit) {
		first := k.add(acme, "a", "one", "two", "three")
		other := k.add(acme, "b", "one")
		next := k.source("a")
		next.Revision, next.Title, next.Metadata, next.Model = 1, "New", nil, "m"
		k.swap(acme, swap(next, passages("a", "four", "two")...))
		got := k.get(acme, "a")
		if got.ID != first.ID || !got.CreatedAt.Equal(first.CreatedAt) || !got.UpdatedAt.After(first.UpdatedAt) || got.Revision != 2 || got.Title != "New" || got.Metadata != nil || got.Model != "m" {
			k.Errorf("got\n%+v\nafter\n%+v", got, first)
		}
		k.wantChunks(got, passages("a", "four", "two")...)
		k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"one", "two", "three", "four"}, Limit: 9}, "four", "two", "one")
		if now := k.get(acme, "b"); !reflect.DeepEqual(now, other) {
			k.Errorf("another source: got\n%+v\nwant\n%+v", now, other)
		}
	}},
	{"swap/all_or_none", "if one source cannot be swapped, no source of the change is", func(k *documentKit) {
		k.add(acme, "a", "one")
		again, fresh := k.source("a"), k.source("b")
		again.Revision = 7
		k.refuse(driver.ErrConflict, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(fresh, passages("b", "new")...), swap(again, passages("a", "newer")...)}})
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, "a")
		k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"one", "new", "newer"}, Limit: 9}, "one")
	}},
	{"swap/revision", "a swap with another revision than the source's returns ErrConflict, also if the source is missing or must be missing", func(k *documentKit) {
		k.add(acme, "a", "one")
		for _, revision := range []int64{0, 2, -1} {
			s := k.source("a")
			s.Revision = revision
			k.refuse(driver.ErrConflict, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(s, passages("a", "two")...)}})
		}
		s := k.source("none")
		s.Revision = 1
		k.refuse(driver.ErrConflict, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(s)}})
		k.wantChunks(k.get(acme, "a"), passages("a", "one")...)
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, "a")
	}},
	{"swap/scopes", "sources with one URI in several scopes are different", func(k *documentKit) {
		scopes := []driver.Scope{{}, acme, other, {Tenant: "acme", User: "u"}, {Tenant: "acme", Workspace: "u"}, {Tenant: "acme", Agent: "u"}}
		for i, s := range scopes {
			k.swap(s, swap(k.source("a"), passage(fmt.Sprint(i), fmt.Sprint("text ", i), 0)))
		}
		for i, s := range scopes {
			k.wantContents(k.chunks(whole(k.get(s, "a"))), fmt.Sprint("text ", i))
		}
	}},
	{"swap/many", "a change may have many sources and chunks", func(k *documentKit) {
		var swaps []driver.SourceSwap
		for i := range 100 {
			uri := fmt.Sprintf("%03d", i)
			var list []driver.ChunkRecord
			for n := range 30 {
				list = append(list, vector(passage(uri, fmt.Sprintf("chunk %d of %s", n, uri), n), "m", float32(i), float32(n)))
			}
			swaps = append(swaps, swap(k.source(uri), list...))
		}
		k.swap(acme, swaps...)
		for _, i := range []int{0, 57, 99} {
			k.wantChunks(k.get(acme, swaps[i].Source.URI), swaps[i].Chunks...)
		}
		if n := len(k.sources(driver.SourceQuery{Reach: acme.Only()})); n != 100 {
			k.Errorf("got %d sources want 100", n)
		}
	}},
	{"swap/quota", "a change that exceeds the quota is refused, and a change that adds nothing is not", func(k *documentKit) {
		quota := driver.SourceQuota{Sources: 2, Chunks: 4}
		change := func(uri string, revision int64, contents ...string) driver.SourceChange {
			s := k.source(uri)
			s.Revision = revision
			return driver.SourceChange{Scope: acme, Quota: quota, Swaps: []driver.SourceSwap{swap(s, passages(uri, contents...)...)}}
		}
		k.add(other, "full", "1", "2", "3", "4", "5")
		for _, c := range []driver.SourceChange{change("a", 0, "1", "2"), change("b", 0, "1", "2"), change("b", 1, "3", "4")} {
			if err := k.store.Swap(k.ctx, c); err != nil {
				k.Fatal(err)
			}
		}
		k.refuse(driver.ErrQuota, change("b", 2, "1", "2", "3"))
		k.refuse(driver.ErrQuota, change("c", 0))
		k.wantChunks(k.get(acme, "b"), passages("b", "3", "4")...)
		if err := k.store.Swap(k.ctx, change("b", 2, "5")); err != nil {
			k.Error(err)
		}
	}},
	{"swap/owned", "the caller may modify arguments and results afterwards without changing stored data", func(k *documentKit) {
		s, list := k.source("a"), []driver.ChunkRecord{vector(passage("a", "one", 0), "m", 1, 2)}
		k.swap(acme, swap(s, list...))
		s.Metadata[2], list[0].Embedding[0], list[0].Terms[0], list[0].Headings[0] = 'x', 9, "x", "x"
		list[0].Content = "x"
		search := driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"one"}, Limit: 9}
		for range 2 {
			got := k.get(acme, "a")
			k.wantChunks(got, vector(passage("a", "one", 0), "m"))
			c := k.wantFound(search, "one")
			if string(got.Metadata) != `{ "n": 1 }` || !slices.Equal(c.Records[0].Embedding, []float32{1, 2}) || !slices.Equal(c.Records[0].Terms, []string{"one"}) {
				k.Errorf("got metadata %s and the record %+v", got.Metadata, c.Records[0])
			}
			got.Metadata[2], c.Records[0].Embedding[0], c.Records[0].Terms[0], c.Records[0].Headings[0], c.Sources[0].Metadata[2] = 'y', 8, "y", "y", 'y'
			k.chunks(whole(got))[0].Headings[0] = "y"
		}
	}},
	{"swap/cancelled", "with a context that has ended, nothing is changed, and the context's error is returned", func(k *documentKit) {
		s := k.add(acme, "a", "one")
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		err := k.store.Swap(ctx, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(k.source("b"))}})
		_, err2 := k.store.Delete(ctx, driver.SourceQuery{Reach: acme.Only()})
		_, err3 := k.store.Search(ctx, driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"one"}, Limit: 9})
		var err4, err5 error
		for _, err4 = range k.store.Sources(ctx, driver.SourceQuery{Reach: acme.Only()}) {
		}
		for _, err5 = range k.store.Chunks(ctx, []driver.ChunkSpan{whole(s)}) {
		}
		for i, err := range []error{err, err2, err3, err4, err5} {
			if !errors.Is(err, context.Canceled) {
				k.Errorf("method %d: got error %v want context.Canceled", i, err)
			}
		}
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, "a")
	}},
}

var keptCases = []documentCase{
	{"kept/moved", "a kept chunk keeps its vector and words, at another place", func(k *documentKit) {
		one, two, three := vector(passage("a", "one", 0), "m", 1, 0), vector(passage("a", "two", 1), "m", 0, 1), passage("a", "three", 2)
		k.swap(acme, swap(k.source("a"), one, two, three))
		s := k.source("a")
		s.Revision = 1
		fresh := vector(passage("a", "zero", 0), "m", 1, 1)
		two.Ordinal, two.Start, two.End = 1, 7, 8
		three.Ordinal, three.Start, three.End = 2, 9, 10
		one.Ordinal, one.Start, one.End = 3, 11, 12
		k.swap(acme, swap(s, fresh, kept(two), kept(three), kept(one)))
		got := k.get(acme, "a")
		k.wantChunks(got, fresh, two, three, one)
		c := k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"two"}, Limit: 9}, "two")
		if r := c.Records[0]; !slices.Equal(r.Embedding, two.Embedding) || !slices.Equal(r.Terms, two.Terms) || r.Model != "m" {
			k.Errorf("got %+v want %+v", r, two)
		}
		s.Revision = 2
		k.swap(acme, swap(s, kept(one)))
		one.Ordinal = 3
		k.wantChunks(k.get(acme, "a"), one)
	}},
	{"kept/replaced", "a chunk that is not kept replaces the chunk with its ID", func(k *documentKit) {
		one := vector(passage("a", "one", 0), "old", 1)
		k.swap(acme, swap(k.source("a"), one))
		s := k.source("a")
		s.Revision = 1
		k.swap(acme, swap(s, vector(one, "new", 1, 2, 3)))
		k.wantChunks(k.get(acme, "a"), vector(one, "new"))
		k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Embedding: []float32{1}, Model: "old", Limit: 9})
		k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Embedding: []float32{1, 1, 1}, Model: "new", Limit: 9}, "one")
	}},
	{"kept/not_there", "keeping a chunk that the source does not have returns ErrConflict, also if another source has it", func(k *documentKit) {
		k.add(acme, "a", "one")
		k.add(acme, "b", "two")
		s := k.source("a")
		s.Revision = 1
		for _, r := range []driver.ChunkRecord{passage("a", "none", 1), passage("b", "two", 1)} {
			k.refuse(driver.ErrConflict, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(s, kept(passage("a", "one", 0)), kept(r))}})
		}
		k.wantChunks(k.get(acme, "a"), passages("a", "one")...)
		k.wantChunks(k.get(acme, "b"), passages("b", "two")...)
	}},
}

var sourceCases = []documentCase{
	{"sources/order", "sources are ordered by the bytes of their URIs", func(k *documentKit) {
		uris := []string{"b", "a/b", "a", "B", "é", "日", "a b", "a-b", "Z", "10", "9", "🙂", "a%b", "a_b", `a\b`, "a'b"}
		for _, uri := range uris {
			k.add(acme, uri)
		}
		slices.Sort(uris)
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, uris...)
		n := 0
		for s, err := range k.store.Sources(k.ctx, driver.SourceQuery{Reach: acme.Only()}) {
			if n++; err != nil || s.URI != uris[n-1] {
				k.Errorf("source %d: got %q, error %v want %q", n, s.URI, err, uris[n-1])
			}
			if n == 3 {
				break
			}
		}
		k.add(acme, "after")
	}},
	{"sources/names", "a URI can be any text, and a prefix is not a pattern", func(k *documentKit) {
		for _, uri := range []string{"a%b/1", "a_b/1", "axb/1", `a\b/1`, "A%b/1", "'; DROP TABLE kb_source; --", strings.Repeat("x", driver.MaxURI)} {
			k.add(acme, uri)
		}
		for _, prefix := range []string{"a%b", "a_b", `a\b`, "A%"} {
			k.wantURIs(driver.SourceQuery{Reach: acme.Only(), Prefix: prefix}, prefix[:1]+strings.TrimSuffix(prefix[1:], "b")+"b/1")
		}
		k.wantURIs(driver.SourceQuery{Reach: acme.Only(), Prefix: "a", URIs: []string{"a_b/1", "A%b/1", "none", "a_b/1"}}, "a_b/1")
		k.wantURIs(driver.SourceQuery{Reach: acme.Only(), Prefix: strings.Repeat("x", 1000)}, strings.Repeat("x", driver.MaxURI))
		k.wantURIs(driver.SourceQuery{Reach: acme.Only(), URIs: []string{"none"}})
	}},
	{"sources/scopes", "a query selects its scope, and others only if its reach includes them", func(k *documentKit) {
		parts := []string{"", "x", "y"}
		var scopes []driver.Scope
		for _, tenant := range []string{"", "t"} {
			for _, w := range parts {
				for _, u := range parts {
					for _, a := range parts {
						scopes = append(scopes, driver.Scope{Tenant: tenant, Workspace: w, User: u, Agent: a})
					}
				}
			}
		}
		for i, s := range scopes {
			k.add(s, fmt.Sprintf("%03d", i), "word")
		}
		for _, s := range scopes {
			for flags := range 16 {
				q := driver.SourceQuery{Reach: driver.Reach{Scope: s, Inherit: flags&1 != 0, AnyWorkspace: flags&2 != 0, AnyUser: flags&4 != 0, AnyAgent: flags&8 != 0}}
				want := []string{}
				for i, has := range scopes {
					if q.Match(&driver.Source{Scope: has}) {
						want = append(want, fmt.Sprintf("%03d", i))
					}
				}
				k.wantURIs(q, want...)
				if flags%5 == 0 {
					c := k.search(driver.ChunkSearch{Query: q, Terms: []string{"word"}, Limit: 99})
					if len(c.Records) != len(want) || c.Chunks != int64(len(want)) || c.Frequency[0] != int64(len(want)) {
						k.Errorf("search %+v: got %d of %d chunks want %d", q, len(c.Records), c.Chunks, len(want))
					}
				}
			}
		}
	}},
	{"sources/conditions", "conditions on metadata work as they do for facts", func(k *documentKit) {
		for name, data := range documents {
			s := k.source(name)
			s.Metadata = nil
			if data != "" {
				s.Metadata = json.RawMessage(data)
			}
			k.swap(acme, swap(s, vector(passage(name, name, 0), "m", 1)))
			if got := string(k.get(acme, name).Metadata); got != data {
				k.Errorf("%s: got the metadata %s want %s", name, got, data)
			}
		}
		for _, c := range conditions {
			want := []string{}
			for _, name := range strings.Fields(c.want) {
				want = append(want, strings.ReplaceAll(name, "_", " "))
			}
			slices.Sort(want)
			for _, one := range c.forms() {
				q := driver.SourceQuery{Reach: acme.Only(), Where: []driver.Condition{one}}
				k.wantURIs(q, want...)
				if found := k.search(driver.ChunkSearch{Query: q, Embedding: []float32{1}, Model: "m", Limit: 99}); len(found.Records) != len(want) || found.Chunks != int64(len(want)) {
					k.Errorf("%q %s %s: searched: got %d of %d want %d", one.Path, c.op, c.value, len(found.Records), found.Chunks, len(want))
				}
			}
		}
	}},
	{"sources/trusted", "a query for trusted sources leaves out untrusted ones", func(k *documentKit) {
		for i, trust := range []driver.Trust{driver.Stated, driver.Inferred, driver.Untrusted} {
			s := k.source(fmt.Sprint(i))
			s.Trust = trust
			k.swap(acme, swap(s, passage(s.URI, "word "+s.URI, 0)))
		}
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, "0", "1", "2")
		k.wantURIs(driver.SourceQuery{Reach: acme.Only(), Trusted: true}, "0", "1")
		k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only(), Trusted: true}, Terms: []string{"word"}, Limit: 9}, "word 0", "word 1")
	}},
}

var chunkCases = []documentCase{
	{"chunks/spans", "chunks are returned in the order of the spans, and missing ones are left out", func(k *documentKit) {
		a, b := k.add(acme, "a", "a0", "a1", "a2", "a3"), k.add(acme, "b", "b0", "b1")
		span := func(s driver.Source, from, to int) driver.ChunkSpan {
			return driver.ChunkSpan{Scope: s.Scope, Source: s.ID, From: from, To: to}
		}
		k.wantContents(k.chunks(span(b, 1, 2), span(a, 1, 3)), "b1", "a1", "a2")
		k.wantContents(k.chunks(span(a, 3, 99), span(a, 0, 1)), "a3", "a0")
		k.wantContents(k.chunks(span(a, 2, 2), span(a, 3, 1), span(a, 9, 12), span(a, -2, 1)), "a0")
		k.wantContents(k.chunks(span(a, 0, 2), span(a, 1, 3)), "a0", "a1", "a1", "a2")
		k.wantContents(k.chunks())
	}},
	{"chunks/foreign", "the chunks of a source in another scope are not found", func(k *documentKit) {
		s := k.add(acme, "a", "secret")
		for _, scope := range []driver.Scope{{}, other, {Tenant: "acme", User: "u"}, {Tenant: "acme", Workspace: "w"}} {
			k.wantContents(k.chunks(driver.ChunkSpan{Scope: scope, Source: s.ID, To: 9}))
		}
		k.wantContents(k.chunks(driver.ChunkSpan{Scope: acme, Source: k.source("").ID, To: 9}, driver.ChunkSpan{Scope: acme, Source: "no id", To: 9}))
	}},
}

var contestCases = []documentCase{
	{"contest/one_wins", "of concurrent swaps of one revision, one succeeds, and the others return ErrConflict", func(k *documentKit) {
		const writers, rounds = 8, 10
		for round := range rounds {
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := []string{}
			for i := range writers {
				s := k.source("a")
				s.Revision = int64(round)
				s.Title = fmt.Sprintf("%d by %d", round, i)
				wg.Go(func() {
					err := suitetest.Recovered(func() error {
						return k.store.Swap(k.ctx, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(s, passage("a", s.Title, 0))}})
					})
					if err == nil {
						mu.Lock()
						defer mu.Unlock()
						won = append(won, s.Title)
					} else if !errors.Is(err, driver.ErrConflict) {
						k.Errorf("got error %v want ErrConflict", err)
					}
				})
			}
			wg.Wait()
			got := k.get(acme, "a")
			if len(won) != 1 || got.Title != won[0] || got.Revision != int64(round+1) {
				k.Fatalf("round %d: %q won, and revision %d is %q", round, won, got.Revision, got.Title)
			}
			k.wantContents(k.chunks(whole(got)), won[0])
		}
	}},
	{"contest/whole", "a search during swaps sees each source as it was before or after its swap", func(k *documentKit) {
		contents := func(revision int) []string {
			list := make([]string, 5)
			for i := range list {
				list[i] = fmt.Sprintf("word %d of %d", i, revision)
			}
			return list
		}
		k.add(acme, "a", contents(0)...)
		var wg sync.WaitGroup
		done := make(chan struct{})
		wg.Go(func() {
			defer close(done)
			for revision := 1; revision <= 30; revision++ {
				s := k.source("a")
				s.Revision = int64(revision)
				if err := suitetest.Recovered(func() error {
					return k.store.Swap(k.ctx, driver.SourceChange{Scope: acme, Swaps: []driver.SourceSwap{swap(s, passages("a", contents(revision)...)...)}})
				}); err != nil {
					k.Error(err)
				}
			}
		})
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			c, err := k.store.Search(k.ctx, driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"word"}, Limit: 99})
			if err != nil || len(c.Records) != 5 || len(c.Sources) != 1 || c.Frequency[0] != 5 || c.Chunks != 5 {
				k.Errorf("got %d chunks of %d, error %v want 5", len(c.Records), c.Chunks, err)
				break
			}
			for _, r := range c.Records {
				if want := fmt.Sprintf("word %d of %d", r.Ordinal, c.Sources[0].Revision-1); r.Content != want {
					k.Errorf("got %q want %q", r.Content, want)
				}
			}
		}
		wg.Wait()
	}},
}
