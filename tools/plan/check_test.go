package plan_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

func TestCheckReportsEveryMistake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		actions []tools.Action
		want    []string // parts of the error; nil for a valid plan
	}{
		{"nothing", nil, nil},
		{"a good one", []tools.Action{act("a", "say", `{"text":"$${a}"}`), act("b", "say", `{"text":"${a} ${old.0}"}`, "a")}, nil},
		{"no arguments", []tools.Action{act("a", "say", ``)}, nil},
		{"a result as a number", []tools.Action{act("a", "say", ``), act("b", "echo", `{"n":"${a}"}`)}, nil},
		{"ids", []tools.Action{act("", "say", ``), act("{x}", "say", ``), act("a", "say", ``), act("a", "say", ``)}, []string{`action 0 has the id ""`, `"{x}"`, `two actions have the id "a"`}},
		{"tools", []tools.Action{act("a", "sing", ``), act("b", "", ``)}, []string{`action "a": there is no tool "sing"`, `there is no tool ""`}},
		{"dependencies", []tools.Action{act("a", "say", ``, "b", "c")}, []string{`depends on "b"`, `depends on "c"`}},
		{"references", []tools.Action{act("a", "say", `{"text":"${b}"}`)}, []string{`there is no action for the reference "${b}"`, "$${"}},
		{"an empty reference", []tools.Action{act("a", "say", `{"text":"${}"}`)}, []string{`reference "${}"`}},
		{"a reference that stays open", []tools.Action{act("a", "say", `{"any":[{"x":"${b"}]}`)}, []string{`any: [0]: x: the reference "${b" is not closed`}},
		{"arguments", []tools.Action{act("a", "say", `{"text":7}`), act("b", "say", `[]`), act("c", "say", `{`), act("d", "say", `{} {}`)}, []string{"text: want a string, got 7", "not an object", "not JSON", "more than one value"}},
		{"itself", []tools.Action{act("a", "say", `{"text":"${a}"}`)}, []string{"in a circle: a → a"}},
		{"a circle", []tools.Action{act("a", "say", ``, "old", "d"), act("b", "say", ``, "a"), act("c", "say", `{"text":"${b.x}"}`), act("d", "say", ``, "c")}, []string{"in a circle: a → d → c → b → a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			err := plan.Check(s.set(t), test.actions, map[string]plan.Result{"old": {Success: true, Message: `["x"]`}})
			if len(test.want) == 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, plan.ErrInvalid)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
			_, err = plan.Run(t.Context(), s.set(t), test.actions, plan.Options{Done: map[string]plan.Result{"old": {}}})
			require.ErrorIs(t, err, plan.ErrInvalid)
			assert.Empty(t, s.calls)
		})
	}
}

func TestRunInjectsResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, first, second, want string
	}{
		{"a text", `{"text":"a\"b"}`, `{"text":"<${a}>"}`, `{"text":"<a\"b>"}`},
		{"a text alone", `{"text":"a"}`, `{"text":"${a}"}`, `{"text":"a"}`},
		{"a text that reads as a number", `{"text":"12"}`, `{"text":"${a}"}`, `{"text":"12"}`},
		{"a number", `{"text":"12"}`, `{"n":"${a}"}`, `{"n":12}`},
		{"a large number", `{"text":"9007199254740993"}`, `{"n":"${a}"}`, `{"n":9007199254740993}`},
		{"JSON in text", `{"text":"{\"x\":[1,\"<\"]}"}`, `{"text":"got ${a.x} and ${a.x.1}"}`, `{"text":"got [1,\"<\"] and <"}`},
		{"a value", `{"text":"{\"x\":[1,{\"y\":null}]}"}`, `{"any":["${a.x.1}","${a.x}"]}`, `{"any":[{"y":null},[1,{"y":null}]]}`},
		{"JSON where a text fits", `{"text":"{\"x\":1}"}`, `{"text":"${a}"}`, `{"text":"{\"x\":1}"}`},
		{"an escape", `{"text":"a"}`, `{"text":"$${a} ${a} $$${a}"}`, `{"text":"${a} a $${a}"}`},
		{"a result that looks like a reference", `{"text":"$${a} $${b}"}`, `{"text":"${a}"}`, `{"text":"${a} ${b}"}`},
		{"keys are left alone", `{"text":"a"}`, `{"any":{"${a}":"${a}"}}`, `{"any":{"${a}":"a"}}`},
		{"none", `{"text":"a"}`, `{"any":{"x":[1.50,true,null]}}`, `{"any":{"x":[1.5,true,null]}}`},
		{"a key that is not there", `{"text":"{}"}`, `{"text":"${a.x}"}`, `there is no a.x in the result of "a"`},
		{"an item that is not there", `{"text":"[1]"}`, `{"text":"${a.1}"}`, `there is no a.1 in the result of "a", a list of 1`},
		{"a path into a text", `{"text":"word"}`, `{"text":"${a.x.y}"}`, `there is no a.x in the result of "a", which is a text and not JSON`},
		{"a key with dots", `{"text":"{\"v1.2\":{\"x.y.z\":\"deep\"}}"}`, `{"text":"${a.v1.2.x.y.z}"}`, `{"text":"deep"}`},
		{"the shorter of two keys", `{"text":"{\"x\":{\"y\":\"inner\"},\"x.y\":\"outer\"}"}`, `{"text":"${a.x.y}"}`, `{"text":"inner"}`},
		{"a value that does not fit", `{"text":"[1]"}`, `{"n":"${a}"}`, `invalid arguments for echo: n: want an integer, got an array`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			results, err := plan.Run(t.Context(), s.set(t), []tools.Action{act("b", "echo", test.second), act("a", "say", test.first)}, plan.Options{})
			require.NoError(t, err)
			got := results["b"]
			if strings.HasPrefix(test.want, "{") {
				assert.True(t, got.Success)
				assert.Equal(t, test.want, got.Message)
			} else {
				assert.False(t, got.Success)
				assert.Contains(t, got.Message, test.want)
			}
		})
	}
}

// TestIdsMayHoldDots proves that a reference refers to the longest known id.
func TestIdsMayHoldDots(t *testing.T) {
	t.Parallel()
	var s stage
	results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
		act("f.x", "say", `{"text":"outer"}`), act("f.x:0", "say", `{"text":"{\"y\":\"inner\"}"}`), act("b", "say", `{"text":"${f.x} ${f.x:0.y}"}`),
	}, plan.Options{})
	require.NoError(t, err)
	assert.Equal(t, "outer inner", results["b"].Message)
}

func TestOrderedAndHash(t *testing.T) {
	t.Parallel()
	free := []tools.Action{act("a", "say", `{"text":"$${b}"}`), act("b", "say", ``)}
	assert.False(t, plan.Ordered(free), "free actions are ordered")
	assert.False(t, plan.Ordered(nil), "free actions are ordered")
	for _, last := range []tools.Action{act("c", "say", ``, "a"), act("c", "say", `{"text":"${a}"}`)} {
		assert.True(t, plan.Ordered(append(slices.Clone(free), last)))
	}
	hashes := map[string]bool{}
	for _, actions := range [][]tools.Action{nil, free, free[:1], {free[1], free[0]}, {act("a", "say", `{"text":"x"}`)}} {
		hash, err := plan.Hash(actions)
		require.NoError(t, err)
		assert.False(t, hashes[hash])
		hashes[hash] = true
	}
	_, err := plan.Hash([]tools.Action{act("a", "say", `{`)})
	assert.Error(t, err, "hashed what is not JSON")
}

// FuzzReferences runs plans of two actions with any text in the arguments of the second. It
// proves that such a plan is invalid and runs nothing, or has a result for each action, and
// that the text with all references escaped is passed to the tool unchanged.
func FuzzReferences(f *testing.F) {
	for _, text := range []string{"${a}", "$${a}", "${a.x.0}", "$$${", "${", "}${a}{", "${a.}", "$", "${${a}}", "\x00${b}"} {
		f.Add(text, "word")
		f.Add(text, `{"x":["${b}"]}`)
	}
	var s stage
	set := s.set(f)
	f.Fuzz(func(t *testing.T, text, result string) {
		s.calls = nil
		first, err := json.Marshal(said{Text: strings.ReplaceAll(result, "${", "$${")})
		require.NoError(t, err)
		second, err := json.Marshal(said{Text: text})
		require.NoError(t, err)
		list := []tools.Action{act("a", "say", string(first)), act("b", "echo", string(second))}
		results, err := plan.Run(t.Context(), set, list, plan.Options{})
		if errors.Is(err, plan.ErrInvalid) {
			require.Empty(t, s.calls)
		} else {
			require.NoError(t, err)
			require.Len(t, results, 2)
		}
		escaped, err := json.Marshal(said{Text: strings.ReplaceAll(text, "${", "$${")})
		require.NoError(t, err)
		results, err = plan.Run(t.Context(), set, []tools.Action{act("c", "say", string(escaped))}, plan.Options{})
		var given said // the text after a round trip through JSON
		require.NoError(t, json.Unmarshal(second, &given))
		require.NoError(t, err)
		require.Equal(t, given.Text, results["c"].Message)
	})
}
