package drivertest_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// The data of a memory is unchanged after an export to another memory and back, for any
// two backends.
func TestExportIsEqualAfterAnImport(t *testing.T) {
	t.Parallel()
	for from, openFrom := range kinds {
		for to, openTo := range kinds {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := openFrom(t), openTo(t)
				fill(t, source)
				want, counts := export(t, source, memory.TransferOptions{})
				assert.Equal(t, memory.Counts{Facts: 21, Documents: 9, Values: 15, Conversations: 12, Turns: 9}, counts)

				for _, added := range []memory.Counts{counts, {}} { // the second import must add nothing
					got, err := in(t, target).Import(context.Background(), strings.NewReader(want), memory.TransferOptions{})
					require.NoError(t, err)
					assert.Equal(t, added, got)
				}
				got, _ := export(t, target, memory.TransferOptions{})
				assertSameLines(t, want, got)
				assertUsable(t, target)
			})
		}
	}
}

// assertSameLines compares two texts line by line, so that a failure shows only the first lines that differ.
func assertSameLines(t *testing.T, want, got string) {
	t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	require.Equal(t, len(a), len(b), "lines")
	for i := range a {
		require.Equal(t, a[i], b[i], "line %d", i+1)
	}
}

// assertUsable finds, changes and adds an item of every kind.
func assertUsable(t *testing.T, in driver.Backend) {
	t.Helper()
	ctx := context.Background()
	m, err := memory.New(in, memory.Options{Embedder: letters{}})
	require.NoError(t, err)
	found, err := m.Recall(ctx, memory.Question{Reach: bob.Only(), Text: "coffee"})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	assert.Equal(t, "always liked coffee", found[0].Item.Content)
	again, err := m.Store(ctx, bob, memory.Fact{Content: "lives in Oslo", Trust: memory.Stated})
	require.NoError(t, err)
	assert.True(t, again[0].Existed, "a restored fact is known")

	base, err := knowledge.New(m, knowledge.Options{})
	require.NoError(t, err)
	results, err := base.Search(ctx, memory.Question{Reach: bob.Only(), Text: "changed"})
	require.NoError(t, err)
	require.NotEmpty(t, results)
	assert.Equal(t, "b.txt", results[0].Item.Source.URI)

	values := m.Values()
	n := values.In(bob, "settings", "a.b_%")
	item, err := n.Get(ctx, "two")
	require.NoError(t, err)
	changed, err := n.Put(ctx, "two", []byte(`2`), memory.PutOptions{Version: item.Version})
	require.NoError(t, err)
	assert.Greater(t, changed.Version, item.Version)

	h := m.Conversations()
	session, err := h.Get(ctx, bob, "talk")
	require.NoError(t, err)
	longer, err := h.Append(ctx, bob, memory.Turn{Session: "talk", Version: session.Version, Messages: []llm.Message{llm.User("Thanks")}})
	require.NoError(t, err)
	assert.EqualValues(t, 5, longer.Messages)
	hits, err := h.Search(ctx, memory.Question{Reach: bob.Only(), Text: "order"})
	require.NoError(t, err)
	assert.NotEmpty(t, hits)

	counts, err := in.Turns().Count(ctx)
	require.NoError(t, err)
	assert.Equal(t, 3, counts.Pending)
	assert.Equal(t, 3, counts.Parked)
}

// The export of a scope has all data of the scope and no data of other scopes.
func TestExportOfAScope(t *testing.T) {
	t.Parallel()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := open(t)
			fill(t, source)
			acme := memory.Scope{Tenant: "acme"}
			text, counts := export(t, source, memory.TransferOptions{Scope: &acme})
			assert.Equal(t, memory.Counts{Facts: 14, Documents: 6, Values: 10, Conversations: 8, Turns: 6}, counts)
			assert.NotContains(t, text, `"eve"`)
			_, counts = export(t, source, memory.TransferOptions{Scope: &memory.Scope{Tenant: "acme", User: "bob"}})
			assert.Equal(t, memory.Counts{Facts: 7, Documents: 3, Values: 5, Conversations: 4, Turns: 3}, counts)
		})
	}
}

// An import of a truncated file returns an error, and a second import of the whole file
// adds the rest.
func TestImportGoesOnAfterATruncatedFile(t *testing.T) {
	t.Parallel()
	source, target := kinds["in memory"](t), kinds["SQLite"](t)
	fill(t, source)
	text, counts := export(t, source, memory.TransferOptions{})

	for _, cut := range []int{len(text) / 3, len(text) * 2 / 3, len(text) - 40} {
		_, err := in(t, target).Import(context.Background(), strings.NewReader(text[:cut]), memory.TransferOptions{})
		require.ErrorIs(t, err, memory.ErrTruncated)
	}
	var last memory.Counts
	_, err := in(t, target).Import(context.Background(), strings.NewReader(text), memory.TransferOptions{Progress: func(c memory.Counts) { last = c }})
	require.NoError(t, err)
	assert.Less(t, last.Total(), counts.Total())
	got, _ := export(t, target, memory.TransferOptions{})
	assertSameLines(t, text, got)
}

// Wherever a file is cut, the error names the line of the cut, and each document and conversation is stored with all
// its chunks and messages or not at all.
func TestImportOfACutFileStoresNoHalfItem(t *testing.T) {
	t.Parallel()
	source := kinds["in memory"](t)
	fill(t, source)
	text, _ := export(t, source, memory.TransferOptions{Scope: &memory.Scope{Tenant: "acme", User: "bob"}})
	whole := map[string]bool{}
	for _, item := range items(text) {
		whole[item] = true
	}
	end := 0
	for i, line := range strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") {
		for _, cut := range []int{end, end + len(line)/2} { // before the line, and in the middle of it
			if cut == 0 || i%13 != 0 { // an empty file is no export, and each 13th line is enough
				continue
			}
			target := kinds["in memory"](t)
			_, err := in(t, target).Import(t.Context(), strings.NewReader(text[:cut]), memory.TransferOptions{})
			require.ErrorIs(t, err, memory.ErrTruncated)
			require.ErrorContains(t, err, fmt.Sprintf("line %d: ", i+1))
			got, _ := export(t, target, memory.TransferOptions{})
			for _, item := range items(got) {
				require.True(t, whole[item], "cut in line %d: %s", i+1, item)
			}
		}
		end += len(line)
	}
}

var lineNumber = regexp.MustCompile(`,"line":\d+}\n$`)

// items returns the items of an export, without line numbers. A document includes the lines of its chunks, and a
// conversation the lines of its messages.
func items(text string) (all []string) {
	for line := range strings.Lines(text) {
		line = lineNumber.ReplaceAllString(line, "}\n")
		switch {
		case strings.HasPrefix(line, `{"chunk"`), strings.HasPrefix(line, `{"message"`):
			all[len(all)-1] += line
		case !strings.HasPrefix(line, `{"counts"`):
			all = append(all, line)
		}
	}
	return all
}

// For a file that is not an export, or has an item that cannot be stored, the error names
// the line.
func TestImportRefusesWhatIsNoExport(t *testing.T) {
	t.Parallel()
	head := `{"format":"weft memory","version":1}` + "\n"
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"empty file":        {"", memory.ErrFormat, "empty"},
		"no JSON":           {"hello", memory.ErrFormat, "line 1"},
		"another format":    {`{"format":"csv","version":1}`, memory.ErrFormat, "csv"},
		"a newer version":   {`{"format":"weft memory","version":2}`, memory.ErrFormat, "version 2"},
		"an unknown line":   {head + `{"poem":{}}`, memory.ErrFormat, "line 2"},
		"a chunk alone":     {head + `{"chunk":{"id":"x"}}`, memory.ErrFormat, "line 2"},
		"two items":         {head + `{"fact":{"id":"0190f3a0-0000-7000-8000-000000000001","scope":{}},"chunk":{}}`, memory.ErrFormat, "line 2: 2 items"},
		"item and counts":   {head + `{"fact":{"id":"0190f3a0-0000-7000-8000-000000000001","scope":{}},"counts":{"facts":1}}`, memory.ErrFormat, "line 2: 2 items"},
		"item in the head":  {`{"format":"weft memory","version":1,"fact":{}}`, memory.ErrFormat, "line 1: 2 items"},
		"an invalid fact":   {head + `{"fact":{"id":"7","scope":{}}}` + "\n" + `{"counts":{}}`, memory.ErrInvalid, `lines 2 to 3: fact "7"`},
		"an invalid vector": {head + `{"fact":{"id":"7","vector":"AA"}}`, memory.ErrFormat, "base64"},
		"an invalid state":  {head + `{"turn":{"key":"k","state":"lost"}}` + "\n" + `{"counts":{}}`, memory.ErrInvalid, "lost"},
		"a name too long":   {head + `{"value":{"scope":{},"namespace":["a"],"key":"` + strings.Repeat("k", 600) + `","value":1}}` + "\n" + `{"counts":{}}`, memory.ErrInvalid, "512"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := in(t, kinds["in memory"](t)).Import(context.Background(), strings.NewReader(c.text), memory.TransferOptions{})
			require.ErrorIs(t, err, c.want)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// A fact that occurs twice in a list is stored once, with its history.
func TestRestoreStoresAnIDOnce(t *testing.T) {
	t.Parallel()
	source := kinds["in memory"](t)
	fillFacts(t, source, ann)
	var list []driver.SavedFact
	for one, err := range source.Facts().Dump(t.Context(), nil) {
		require.NoError(t, err)
		list = append(list, one, one)
	}
	for name, open := range kinds {
		facts := open(t).Facts()
		n, err := facts.Restore(t.Context(), list)
		require.NoError(t, err, name)
		assert.Equal(t, len(list)/2, n, name)
		for i := 0; i < len(list); i += 2 {
			at := 0
			for one, err := range facts.Dump(t.Context(), nil) {
				require.NoError(t, err, name)
				if one.ID == list[i].ID {
					assert.Equal(t, list[i].History, one.History, name)
					at++
				}
			}
			assert.Equal(t, 1, at, name)
		}
	}
}

// If any line is missing or repeated, the error names the place, and the complete items before it are stored. The test
// tries every seventh line, or all lines if WEFT_FAULTS is 1.
func TestImportNamesTheMissingLine(t *testing.T) {
	t.Parallel()
	source := kinds["in memory"](t)
	fill(t, source)
	text, _ := export(t, source, memory.TransferOptions{Scope: &memory.Scope{Tenant: "acme", User: "bob"}})
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	each := 7 // all lines take minutes with the race detector
	if os.Getenv("WEFT_FAULTS") == "1" {
		each = 1
	}
	for i := 1; i < len(lines)-1; i += each {
		for name, c := range map[string]struct {
			before, changed []string
			says            string
		}{
			"missing": {lines[:i], slices.Concat(lines[:i], lines[i+1:]), fmt.Sprintf("line %d: it was line %d of the export", i+1, i+2)},
			"twice":   {lines[:i+1], slices.Concat(lines[:i+1], lines[i:]), fmt.Sprintf("line %d: it was line %d of the export", i+2, i+1)},
		} {
			target := kinds["in memory"](t)
			_, err := in(t, target).Import(t.Context(), strings.NewReader(strings.Join(c.changed, "")), memory.TransferOptions{})
			require.ErrorIs(t, err, memory.ErrTruncated, "%s: %s", name, lines[i])
			require.ErrorContains(t, err, c.says, "%s: %s", name, lines[i])
			got, _ := export(t, target, memory.TransferOptions{})
			require.Equal(t, complete(c.before), items(got), "%s: line %d", name, i+1)
		}
	}
}

// complete returns the items in the first lines of an export. If the last item is a document or conversation, complete
// leaves it out, because some of its lines may be missing.
func complete(lines []string) []string {
	all := items(strings.Join(lines, ""))
	if last := all[len(all)-1]; strings.HasPrefix(last, `{"document"`) || strings.HasPrefix(last, `{"conversation"`) {
		all = all[:len(all)-1]
	}
	return all
}

// An export of an older version has no line numbers. Import accepts the complete export, and returns an error if the
// line of a fact, value or document is missing.
func TestImportOfAnExportWithoutLineNumbers(t *testing.T) {
	t.Parallel()
	source, target := kinds["in memory"](t), kinds["in memory"](t)
	fill(t, source)
	text, counts := export(t, source, memory.TransferOptions{})
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		lines[i] = lineNumber.ReplaceAllString(lines[i], "}\n")
	}
	added, err := in(t, target).Import(t.Context(), strings.NewReader(strings.Join(lines, "")), memory.TransferOptions{})
	require.NoError(t, err)
	assert.Equal(t, counts, added)
	got, _ := export(t, target, memory.TransferOptions{})
	assertSameLines(t, text, got)
	for prefix, want := range map[string]error{`{"fact"`: memory.ErrTruncated, `{"value"`: memory.ErrTruncated, `{"document"`: memory.ErrFormat} {
		without := slices.Clone(lines)
		at := slices.IndexFunc(without, func(l string) bool { return strings.HasPrefix(l, prefix) })
		require.Positive(t, at)
		_, err := in(t, kinds["in memory"](t)).Import(context.Background(), strings.NewReader(strings.Join(slices.Delete(without, at, at+1), "")), memory.TransferOptions{})
		require.ErrorIs(t, err, want, prefix)
	}
}

// If a backend lacks a store, memory.New returns an error with the name of the store.
func TestBackendsHaveEveryPart(t *testing.T) {
	t.Parallel()
	whole := inmemory.New(inmemory.Options{})
	for name, without := range map[string]func(*driver.Stores){
		"facts":         func(s *driver.Stores) { s.FactStore = nil },
		"values":        func(s *driver.Stores) { s.ValueStore = nil },
		"documents":     func(s *driver.Stores) { s.DocumentStore = nil },
		"conversations": func(s *driver.Stores) { s.ConversationStore = nil },
		"turns":         func(s *driver.Stores) { s.TurnStore = nil },
	} {
		s := whole
		without(&s)
		_, err := memory.New(s, memory.Options{})
		require.ErrorIs(t, err, memory.ErrInvalid)
		require.ErrorContains(t, err, name)
		_, err = memory.New(inmemory.Fill(s), memory.Options{})
		require.NoError(t, err)
	}
}
