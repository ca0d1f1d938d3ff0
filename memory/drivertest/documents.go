package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// RunDocuments checks the stores that open returns. Each call of open must return a new, empty store,
// and close it with tb.Cleanup. Several tests call open at the same time.
func RunDocuments(t *testing.T, open func(tb testing.TB) driver.DocumentStore) {
	t.Helper()
	for _, c := range allDocumentCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open)
		})
	}
}

func allDocumentCases() []documentCase {
	return slices.Concat(swapCases, keptCases, sourceCases, chunkCases, passageCases, removalCases, contestCases, lengthCases)
}

// A documentCase tests one promise.
type documentCase struct {
	name    string // group/case
	promise string
	run     func(k *documentKit)
}

func (c documentCase) check(tb testing.TB, open func(tb testing.TB) driver.DocumentStore) {
	tb.Helper()
	play(tb, c.promise, 2*time.Minute, open, func(ctx context.Context, store driver.DocumentStore) {
		c.run(&documentKit{TB: tb, ctx: ctx, store: store})
	})
}

// A documentKit has a new store and the helpers of a case.
type documentKit struct {
	testing.TB
	store driver.DocumentStore
	ctx   context.Context
	made  int
}

var (
	acme  = driver.Scope{Tenant: "acme"}
	other = driver.Scope{Tenant: "other"}
)

// source returns a new source.
func (k *documentKit) source(uri string) driver.Source {
	k.made++
	return driver.Source{
		ID: fmt.Sprintf("0197a6b0-7c1a-7e2f-8a3b-%012x", k.made), URI: uri, Title: "Title of " + uri, Version: "v1", Format: string(split.Markdown),
		Trust: driver.Inferred, Metadata: json.RawMessage(`{ "n": 1 }`), SHA256: strings.Repeat("ab", 32), Size: 1 << 33, Recipe: "r1",
	}
}

// passage returns a chunk with a text.
func passage(uri, content string, ordinal int) driver.ChunkRecord {
	sum := fmt.Sprintf("%016x", checksum(uri+"\x00"+content))
	return driver.ChunkRecord{
		Chunk: driver.Chunk{
			ID: "0197a6b0-7c1a-8e2f-" + sum[:4] + "-" + sum[4:], Ordinal: ordinal, Headings: []string{"A", "B > \"c\""}, Content: content,
			Start: ordinal * 100, End: ordinal*100 + len(content), Tokens: len(content) / 4,
		},
		Terms: strings.Fields(strings.ToLower(content)),
	}
}

func checksum(text string) (sum uint64) {
	sum = 14695981039346656037
	for _, c := range []byte(text) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}

func passages(uri string, contents ...string) []driver.ChunkRecord {
	list := make([]driver.ChunkRecord, len(contents))
	for i, content := range contents {
		list[i] = passage(uri, content, i)
	}
	return list
}

func vector(r driver.ChunkRecord, model string, v ...float32) driver.ChunkRecord {
	r.Model, r.Embedding = model, v
	return r
}

func kept(r driver.ChunkRecord) driver.ChunkRecord {
	return driver.ChunkRecord{Kept: true, Chunk: driver.Chunk{ID: r.ID, Ordinal: r.Ordinal, Start: r.Start, End: r.End, Model: r.Model}}
}

func swap(s driver.Source, chunks ...driver.ChunkRecord) driver.SourceSwap {
	return driver.SourceSwap{Source: s, Chunks: chunks}
}

func (k *documentKit) swap(s driver.Scope, swaps ...driver.SourceSwap) {
	k.Helper()
	if err := k.store.Swap(k.ctx, driver.SourceChange{Scope: s, Swaps: swaps}); err != nil {
		k.Fatalf("swap %d sources: %v", len(swaps), err)
	}
}

// add stores a source with chunks of these texts, and returns the stored source.
func (k *documentKit) add(s driver.Scope, uri string, contents ...string) driver.Source {
	k.Helper()
	k.swap(s, swap(k.source(uri), passages(uri, contents...)...))
	return k.get(s, uri)
}

func (k *documentKit) refuse(want error, c driver.SourceChange) {
	k.Helper()
	if err := k.store.Swap(k.ctx, c); !errors.Is(err, want) {
		k.Errorf("swap: got error %v want %v", err, want)
	}
}

func (k *documentKit) sources(q driver.SourceQuery) (list []driver.Source) {
	k.Helper()
	for s, err := range k.store.Sources(k.ctx, q) {
		if err != nil {
			k.Fatalf("sources %+v: %v", q, err)
		}
		list = append(list, s)
	}
	return list
}

// get returns a source of a scope.
func (k *documentKit) get(s driver.Scope, uri string) driver.Source {
	k.Helper()
	list := k.sources(driver.SourceQuery{Reach: s.Only(), URIs: []string{uri}})
	if len(list) != 1 {
		k.Fatalf("source %q: found %d times want 1", uri, len(list))
	}
	return list[0]
}

func (k *documentKit) wantURIs(q driver.SourceQuery, uris ...string) {
	k.Helper()
	got := []string{}
	for _, s := range k.sources(q) {
		got = append(got, s.URI)
	}
	if !slices.Equal(got, uris) {
		k.Errorf("sources %+v: got %q want %q", q, got, uris)
	}
}

func (k *documentKit) chunks(spans ...driver.ChunkSpan) (list []driver.Chunk) {
	k.Helper()
	for c, err := range k.store.Chunks(k.ctx, spans) {
		if err != nil {
			k.Fatalf("chunks %+v: %v", spans, err)
		}
		list = append(list, c)
	}
	return list
}

func whole(s driver.Source) driver.ChunkSpan {
	return driver.ChunkSpan{Scope: s.Scope, Source: s.ID, To: 1 << 30}
}

// wantChunks requires that a source has exactly these chunks.
func (k *documentKit) wantChunks(s driver.Source, want ...driver.ChunkRecord) {
	k.Helper()
	got := k.chunks(whole(s))
	if len(got) != len(want) || s.Chunks != len(want) {
		k.Fatalf("chunks of %q: got %d, and it says %d, want %d", s.URI, len(got), s.Chunks, len(want))
	}
	for i, c := range want {
		c.Source = s.ID
		if !reflect.DeepEqual(got[i], c.Chunk) {
			k.Errorf("chunk %d of %q: got\n%+v\nwant\n%+v", i, s.URI, got[i], c.Chunk)
		}
	}
}

func (k *documentKit) wantContents(got []driver.Chunk, want ...string) {
	k.Helper()
	texts := []string{}
	for _, c := range got {
		texts = append(texts, c.Content)
	}
	if !slices.Equal(texts, want) {
		k.Errorf("got %q want %q", texts, want)
	}
}

func (k *documentKit) search(s driver.ChunkSearch) driver.ChunkCandidates {
	k.Helper()
	c, err := k.store.Search(k.ctx, s)
	if err != nil {
		k.Fatalf("search %+v: %v", s, err)
	}
	if len(c.Frequency) != len(s.Terms) {
		k.Fatalf("got %d frequencies want %d", len(c.Frequency), len(s.Terms))
	}
	sources := map[string]bool{}
	for _, x := range c.Sources {
		if sources[x.ID] {
			k.Errorf("source %q comes twice", x.URI)
		}
		sources[x.ID] = true
	}
	used := map[string]bool{}
	for _, r := range c.Records {
		used[r.Source] = true
		if !sources[r.Source] {
			k.Errorf("chunk %q comes without its source", r.Content)
		}
	}
	if len(used) != len(sources) {
		k.Errorf("got %d sources of %d chunks' sources", len(sources), len(used))
	}
	return c
}

// wantFound requires candidates with these contents, in any order.
func (k *documentKit) wantFound(s driver.ChunkSearch, contents ...string) driver.ChunkCandidates {
	k.Helper()
	c := k.search(s)
	got := []string{}
	for _, r := range c.Records {
		got = append(got, r.Content)
	}
	slices.Sort(got)
	slices.Sort(contents)
	if !slices.Equal(got, contents) {
		k.Errorf("search %+v: got %q want %q, in any order", s, got, contents)
	}
	return c
}

func (k *documentKit) delete(q driver.SourceQuery) int {
	k.Helper()
	n, err := k.store.Delete(k.ctx, q)
	if err != nil {
		k.Fatalf("delete %+v: %v", q, err)
	}
	return n
}
