package tools_test

import (
	"context"
	"encoding/json"
	"io"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

type base struct {
	Trace string `json:"trace,omitempty"`
}

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// ownJSON implements its own JSON decoding.
type ownJSON struct{ hidden string }

func (o *ownJSON) UnmarshalJSON(text []byte) error {
	o.hidden = string(text)
	return nil
}

// everything has a field of every kind that arguments can have.
type everything struct {
	base
	Text    string            `json:"text" jsonschema:"some text"`
	Count   int               `json:"count"`
	Small   int8              `json:"small,omitempty"`
	Size    uint64            `json:"size,omitempty"`
	Ratio   float64           `json:"ratio,omitzero"`
	On      bool              `json:"on,omitempty"`
	Maybe   *int              `json:"maybe"`
	Where   *point            `json:"where"`
	Tags    []string          `json:"tags"`
	Corners [2]point          `json:"corners,omitempty"`
	Labels  map[string]int    `json:"labels,omitempty"`
	When    time.Time         `json:"when,omitzero"`
	Until   *time.Time        `json:"until"`
	Wait    time.Duration     `json:"wait,omitempty"`
	Bytes   []byte            `json:"bytes,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Open    any               `json:"open,omitempty"`
	Huge    *big.Int          `json:"huge"`
	Own     *ownJSON          `json:"own"`
	Address netip.Addr        `json:"address,omitzero"`
	Named   map[string][]bool `json:"named,omitempty"`
	Unnamed string            `json:",omitempty"`
	Skipped chan int          `json:"-"`
	_       func()
}

func returning[In any](in In) tools.Tool {
	return tools.New("tool", "Does something.", func(context.Context, In) (In, error) { return in, nil })
}

func mustSet(t testing.TB, list ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(list...)
	require.NoError(t, err)
	return set
}

func TestSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tool tools.Tool
		want string
	}{
		{"nothing", returning(struct{}{}), `{"type":"object","properties":{},"additionalProperties":false}`},
		{"a map", returning(map[string]*int{}), `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`},
		{"a pointer", returning(&point{}), `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},` +
			`"required":["x","y"],"additionalProperties":false}`},
		{
			"everything", tools.New("tool", "Does something.", func(context.Context, everything) (string, error) { return "", nil }),
			`{"type":"object","properties":{` +
				`"trace":{"type":"string"},` +
				`"text":{"type":"string","description":"some text"},` +
				`"count":{"type":"integer"},` +
				`"small":{"type":"integer","minimum":-128,"maximum":127},` +
				`"size":{"type":"integer","minimum":0},` +
				`"ratio":{"type":"number"},` +
				`"on":{"type":"boolean"},` +
				`"maybe":{"type":"integer"},` +
				`"where":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false},` +
				`"tags":{"type":"array","items":{"type":"string"}},` +
				`"corners":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false},"minItems":2,"maxItems":2},` +
				`"labels":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}},` +
				`"when":{"type":"string","format":"date-time"},` +
				`"until":{"type":"string","format":"date-time"},` +
				`"wait":{"type":"integer","description":"a duration in nanoseconds"},` +
				`"bytes":{"type":"string","description":"bytes in base64"},` +
				`"raw":{"description":"any JSON value"},` +
				`"open":{"description":"any JSON value"},` +
				`"huge":{"description":"an integer of any size"},` +
				`"own":{"description":"any JSON value"},` +
				`"address":{"type":"string"},` +
				`"named":{"type":"object","properties":{},"additionalProperties":{"type":"array","items":{"type":"boolean"}}},` +
				`"Unnamed":{"type":"string"}},` +
				`"required":["text","count","tags"],"additionalProperties":false}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			specs := mustSet(t, test.tool).Specs()
			assert.JSONEq(t, test.want, string(specs[0].Schema))
			assert.Equal(t, string(specs[0].Schema), string(test.tool.Spec().Schema))
		})
	}
}

// TestSchemaIsStable proves that the fields have the order of the type. A prompt cache
// depends on it.
func TestSchemaIsStable(t *testing.T) {
	t.Parallel()
	type in struct {
		B, A, C string
	}
	const want = `{"type":"object","properties":{"B":{"type":"string"},"A":{"type":"string"},"C":{"type":"string"}},` +
		`"required":["B","A","C"],"additionalProperties":{"not":{}}}`
	for range 20 {
		require.Equal(t, want, strings.Replace(string(returning(in{}).Spec().Schema), "false", `{"not":{}}`, 1))
	}
}

type (
	loop     struct{ Next *loop }
	Nickname string
	tagged   struct {
		base `json:"base"`
	}
	embedsName struct{ Nickname }
	embedsOwn  struct{ *base }
	quoted     struct {
		N int `json:"n,string"`
	}
	reads  struct{ From []io.Reader }
	calls  struct{ Back func() }
	badTag struct {
		N int `json:"n" jsonschema:"min=3"`
	}
	closed struct {
		Name string
		id   string
	}
	withheld struct {
		Name string
		note string `json:"-"`
	}
	byInt       struct{ M map[int]string }
	unwritable  struct{ C chan int }
	cannotWrite struct{}
)

func (cannotWrite) MarshalJSON() ([]byte, error) { panic("not of a zero value") }

func TestNewSetReportsEveryMistake(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, struct{}) (string, error) { return "", nil }
	tests := []struct {
		name string
		tool tools.Tool
		want string // part of the error; empty for none
	}{
		{"a good one", tools.New("good", "Does.", fn), ""},
		{"zero", tools.Tool{}, "was not made by New"},
		{"no name", tools.New("", "Does.", fn), `tool "": a name is`},
		{"bad name", tools.New("do it", "Does.", fn), `tool "do it": a name is`},
		{"no description", tools.New("bad", " \n", fn), `tool "bad": no description`},
		{"no function", tools.New[struct{}, string]("bad", "Does.", nil), "no function"},
		{"a string", returning(""), "want a struct or a map"},
		{"a list", returning([]int{}), "want a struct or a map"},
		{"any", returning[any](nil), "want a struct or a map"},
		{"a time", returning(time.Time{}), "want a struct or a map"},
		{"a type that holds itself", returning(loop{}), ""},
		{"embedded with a name", returning(tagged{}), "tagged.base: an embedded struct that is not exported"},
		{"embedded string", returning(embedsName{}), ""},
		{"embedded pointer to what is not exported", returning(embedsOwn{}), "embedsOwn.base: an embedded struct that is not exported"},
		{"not exported", returning(struct{ id string }{"x"}), `.id: is not exported and would be lost; export it, or tag it json:"-"`},
		{"not exported in a part", returning(struct{ Parts []closed }{[]closed{{id: "x"}}}), `Parts[].id: is not exported and would be lost`},
		{"not exported in an embedded struct", returning(struct{ closed }{}), "closed.id: is not exported and would be lost"},
		{"exported in an embedded struct that is not exported", returning(struct{ base }{}), ""},
		{"not exported and not for the model", returning(withheld{note: "x"}), ""},
		{"a quoted number", returning(quoted{}), `quoted.N: the JSON option "string" is unsupported`},
		{"an interface", returning(reads{}), "reads.From[]: an interface with methods is unsupported"},
		{"a function", returning(calls{}), "unsupported"},
		{"a bad tag", returning(badTag{}), "is a description, and must not begin with"},
		{"a map by number", returning(byInt{}), "unsupported map key"},
		{"a result that is a channel", tools.New("bad", "Does.", func(context.Context, struct{}) (chan int, error) { return nil, nil }), "result cannot be encoded"},
		{"a result that holds one", tools.New("bad", "Does.", func(context.Context, struct{}) (unwritable, error) { return unwritable{}, nil }), "result cannot be encoded"},
		{"a result that can not be zero", tools.New("odd", "Does.", func(context.Context, struct{}) (cannotWrite, error) { return cannotWrite{}, nil }), ""},
	}
	var all []tools.Tool
	for _, test := range tests {
		all = append(all, test.tool)
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set, err := tools.NewSet(test.tool)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			assert.Nil(t, set)
		})
	}
	all = append(all, tools.New("good", "Does.", fn))
	_, err := tools.NewSet(all...)
	require.ErrorContains(t, err, `two tools named "good"`)
	for _, test := range tests {
		require.ErrorContains(t, err, test.want)
	}

	bad := tools.New("twin", "", fn)
	_, err = tools.NewSet(bad, tools.New("twin", "Does.", fn))
	require.ErrorContains(t, err, bad.Err().Error())
	require.ErrorContains(t, err, `two tools named "twin"`, "although one of them has a mistake of its own")
}

func TestSetLooksUp(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, struct{}) (string, error) { return "", nil }
	set := mustSet(t, tools.New("b", "Second letter.", fn), tools.New("a", "First letter.", fn))
	assert.Equal(t, []string{"b", "a"}, set.Names())
	tool, ok := set.Lookup("a")
	require.True(t, ok)
	assert.Equal(t, "a", tool.Name())
	assert.Equal(t, "First letter.", tool.Spec().Description)
	_, ok = set.Lookup("c")
	assert.False(t, ok)
	specs := set.Specs()
	for i := range specs {
		clear(specs[i].Schema)
	}
	r := llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: set.Specs()}
	assert.NoError(t, r.Validate(), "a copy of the specs is not independent")
}

func TestNilSetHasNoTools(t *testing.T) {
	t.Parallel()
	var set *tools.Set
	assert.Nil(t, set.Names())
	assert.Nil(t, set.Specs())
	answer := mustCall(t, set, llm.ToolCall{ID: "1", Name: "f"}, tools.Options{})
	assert.Equal(t, `there is no tool "f"; there are no tools`, answer.Text())
}

type (
	listsBound struct{ Users []tools.Bound[userID] }
	mapsBound  struct {
		Users map[string]tools.Bound[userID]
	}
	pointsToBound struct{ User *tools.Bound[userID] }
	shadowsBound  struct {
		User tools.Bound[userID] `json:"user"`
		Name string              `json:"User"`
	}
	left     struct{ Same string }
	right    struct{ Same string }
	sameName struct {
		left
		right
	}
	shadows struct {
		base
		Other string `json:"trace"`
	}
	leftOut struct {
		base `json:"-"`
	}
	dashed struct {
		At   []byte `json:"-,"` //nolint:staticcheck // its meaning is tested
		Left []byte `json:"-"`
	}
	tooLarge struct {
		N int64 `json:"n" enum:"9007199254740993"`
	}
	manyMistakes struct {
		Back func()
		C    chan int
		N    int `enum:"one"`
	}
	manyTags struct {
		N int `json:"n" enum:"one"`
		M int `json:"m" enum:"two"`
	}
)

// TestTypesThatWouldMislead proves that NewSet reports every field and type that a schema
// cannot describe, or whose value would not reach the function.
func TestTypesThatWouldMislead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tool tools.Tool
		want []string
	}{
		{"a list of bound values", returning(listsBound{}), []string{"listsBound.Users[]: a Bound must be a field of the struct"}},
		{"a map of bound values", returning(mapsBound{}), []string{"mapsBound.Users[]: a Bound must be a field of the struct"}},
		{"arguments that are bound values", returning(map[string]tools.Bound[userID]{}), []string{"a Bound must be a field of the struct"}},
		{"a pointer to a bound value", returning(pointsToBound{}), []string{"pointsToBound.User: a Bound must be a field of the struct"}},
		{"an argument like a bound one", returning(shadowsBound{}), []string{`"User" differs from it in capitals only`}},
		{"an argument like a fixed one", tools.Fix[userID](rawTool(`{"properties":{"user":{},"USER":{}}}`), "user"), []string{`"USER" differs from it in capitals only`}},
		{"two fields of one name", returning(sameName{}), []string{`sameName.right.Same: its JSON name, "Same", is also the name of the field tools_test.sameName.left.Same; rename one of them`}},
		{"an integer that schemas do not hold", returning(tooLarge{}), []string{"tooLarge.N: enum tag: 9007199254740993 is too large"}},
		{"everything", tools.New[manyMistakes, chan int]("do it", "", nil), []string{
			"a name is", "no description", "no function", "manyMistakes.Back: a value of type func()",
			"manyMistakes.C: a value of type chan int", "the result cannot be encoded",
		}},
		{"several tags", returning(manyTags{}), []string{"manyTags.N: enum tag", "manyTags.M: enum tag"}},
		{"everything of a raw tool", tools.Raw(llm.ToolSpec{Name: "do it"}, nil), []string{"a name is", "no description", "no function", "its schema cannot be read"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.NewSet(test.tool)
			for _, want := range test.want {
				require.Error(t, err)
				assert.Equal(t, 1, strings.Count(err.Error(), want), "%q in %v", want, err)
			}
		})
	}
}

// TestFieldsAreReadAsByEncodingJSON proves that an outer field shadows an embedded field of
// the same name, and that an embedded struct tagged "-" is left out.
func TestFieldsAreReadAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	var outer shadows
	assert.Equal(t, "ok", callWith(t, capture(&outer), `{"trace":"a"}`).Text())
	assert.Equal(t, shadows{Other: "a"}, outer)
	assert.NotContains(t, string(returning(leftOut{}).Spec().Schema), "trace")
}

// TestFieldNamedDash proves that a field tagged "-," has the name "-".
func TestFieldNamedDash(t *testing.T) {
	t.Parallel()
	var got dashed
	answer := callWith(t, capture(&got), `{"-":"aGk="}`)
	assert.Equal(t, llm.StatusSuccess, answer.Status, answer.Text())
	assert.Equal(t, "hi", string(got.At))
}
