package pgmemory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// names are field names. Some of them would break a statement without quoting.
var names = []string{
	"a", "b", "", "A", "a.b", "0", "1", "-1", `"`, `'`, `\`, "$1", "$.a", "{a}", "{a,b}", "é", "日本", "%", "_", "?", "a'); DROP TABLE weft.mem_fact; --",
	`' OR '1'='1`, `" OR 1=1 --`, "::jsonb", "null", "@>", `\u0061`, "\u2028", strings.Repeat("n", 512), ";", "*/", "/*", "weft.", "\ttab",
}

// randomJSON returns a random value from a small set, so that equal values are frequent.
func randomJSON(r *rand.Rand, depth int) string {
	switch n := r.IntN(12); {
	case n < 4:
		return []string{
			"0", "-0", "0.0", "1", "1.0", "1e0", "10", "9", "9.5", "-3", "1e2", "100", "1e-300", "1e300", "123456789012345678901234567890", "9007199254740993",
			"9007199254740992", "0.1", "0.10", "1E+2", "1e-17000", "1e17000", "1.00000000000000000000000000000000000000000000000000000000000000000000000000000000001",
		}[r.IntN(23)]
	case n < 7:
		return []string{
			`"9"`, `"10"`, `""`, `"a"`, `"A"`, `"b"`, `"\u00e9"`, `"é"`, `"e\u0301"`, `"\ud800"`, `"\ufffd"`, `"日本"`, `"'"`, `"\\"`, `"\""`, `"1"`, `"true"`,
			`"'; DROP TABLE weft.mem_fact; --"`, `"\n"`, `"$1"`, `"number 1"`,
		}[r.IntN(21)]
	case n < 9 || depth == 0:
		return []string{"null", "true", "false"}[r.IntN(3)]
	case n < 10:
		var items []string
		for range r.IntN(4) {
			items = append(items, randomJSON(r, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return randomObject(r, depth-1)
}

func randomObject(r *rand.Rand, depth int) string {
	var fields []string
	for range r.IntN(4) {
		name, _ := json.Marshal(randomName(r))
		fields = append(fields, string(name)+" : "+randomJSON(r, depth))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func randomName(r *rand.Rand) string {
	if r.IntN(3) > 0 {
		return names[r.IntN(2)]
	}
	return names[r.IntN(len(names))]
}

func randomCondition(r *rand.Rand) driver.Condition {
	c := driver.Condition{Op: []driver.Op{
		driver.Equal, driver.NotEqual, driver.Less, driver.LessEqual, driver.Greater, driver.GreaterEqual, driver.In, driver.Has, driver.Exists,
	}[r.IntN(9)]}
	for range 1 + r.IntN(2)*r.IntN(3) {
		c.Path = append(c.Path, randomName(r))
	}
	if c.Op != driver.Exists {
		c.Value = json.RawMessage(randomJSON(r, 2))
	}
	return c
}

// For random metadata and conditions, the database selects the facts that Match accepts.
// WEFT_CONDITIONS sets the number of conditions.
func TestConditionsMatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newPlace(t).open(t).Facts()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	documents := map[string]json.RawMessage{}
	var changes []driver.FactChange
	for i := range 400 {
		c := adding(fmt.Sprint("document ", i))
		c.Record.Metadata = json.RawMessage(randomObject(r, 3))
		documents[c.Record.ID] = c.Record.Metadata
		changes = append(changes, c)
	}
	_, err := store.Apply(ctx, ann, changes)
	require.NoError(t, err)
	conditions := count(t, "WEFT_CONDITIONS", 500)
	asked, held := 0, 0
	for asked < conditions {
		c := randomCondition(r)
		if c.Validate() != nil {
			continue
		}
		asked++
		var want []string
		for id, data := range documents {
			if c.Match(data) {
				want = append(want, id)
			}
		}
		held += len(want)
		got := []string{}
		for f, err := range store.Find(ctx, driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{c}, Limit: -1}) {
			require.NoError(t, err, "%q %s %s: %v", c.Path, c.Op, c.Value, err)
			got = append(got, f.ID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q %s %s: got %d documents want %d", c.Path, c.Op, c.Value, len(got), len(want))
			for id, data := range documents {
				if slices.Contains(got, id) != slices.Contains(want, id) {
					t.Logf("such as %s", data)
					break
				}
			}
		}
	}
	t.Logf("%d conditions, held %d times", asked, held)
}

// Any text in scopes, names, terms, models and ids is safe in the statements.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newPlace(t).open(t).Facts()
	_, err := store.Apply(ctx, driver.Scope{Tenant: "other"}, []driver.FactChange{adding("a secret", 1)})
	assert.NoError(t, err, "apply")
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	text := func() string { return names[r.IntN(len(names))] }
	for i := range count(t, "WEFT_INJECTIONS", 500) {
		s := driver.Scope{Tenant: text(), Workspace: text(), User: text(), Agent: text()}
		c := adding(fmt.Sprint(text(), i), 1)
		c.Record.Model, c.Record.Conversation, c.Actor, c.Record.Terms = text(), text(), text(), []string{"x" + text()}
		_, err := store.Apply(ctx, s, []driver.FactChange{c})
		require.NoError(t, err, "apply %+v: %v", c, err)
		q := driver.FactQuery{
			Reach: driver.Reach{Scope: s, AnyAgent: i%2 == 0, Inherit: i%3 == 0}, Conversation: c.Record.Conversation, IDs: []string{c.Record.ID, text()}, Kinds: []driver.Kind{driver.Plain, driver.Kind(text())}, Limit: i % 7, Without: text() + "y",
		}
		found, err := store.Search(ctx, driver.FactSearch{Query: q, Terms: c.Record.Terms, Embedding: []float32{1}, Model: c.Record.Model, Limit: 5})
		require.NoError(t, err, "search %+v", q)
		require.Len(t, found.Records, 1, "search %+v", q)
		require.Equal(t, c.Record.ID, found.Records[0].ID, "search %+v", q)
		got := contents(t, store, q)
		require.Len(t, got, 1, "find %+v", q)
		require.Equal(t, c.Record.Content, got[0], "find %+v", q)
	}
}
