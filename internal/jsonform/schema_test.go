package jsonform_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/jsonform"
)

type tree struct {
	Name string  `json:"name"`
	Kids []*tree `json:"kids,omitempty"`
}

type branches map[string]branches

type base struct {
	Kind string `json:"kind"`
}

type texted struct{}

func (texted) MarshalText() ([]byte, error)  { return nil, nil }
func (*texted) UnmarshalText(_ []byte) error { return nil }

type hooked struct{}

func (hooked) MarshalJSON() ([]byte, error)  { return nil, nil }
func (*hooked) UnmarshalJSON(_ []byte) error { return nil }

type fields struct {
	base
	Plain   int      `json:"plain"`
	Maybe   *float64 `json:"maybe"`
	Left    string   `json:"left,omitempty"`
	Zero    bool     `json:"zero,omitzero"`
	Quoted  int64    `json:"quoted,string"`
	Skipped func()   `json:"-"`
}

func TestSchemaOfUnnamedTypesIsInline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"bool", reflect.TypeFor[bool](), `{"type":"boolean"}`},
		{"named string", reflect.TypeFor[reflect.ChanDir](), `{"type":"integer"}`},
		{"unsigned", reflect.TypeFor[uint8](), `{"type":"integer","minimum":0}`},
		{"float", reflect.TypeFor[float32](), `{"type":"number"}`},
		{"time", reflect.TypeFor[time.Time](), `{"type":"string","format":"date-time"}`},
		{"duration", reflect.TypeFor[time.Duration](), `{"type":"integer"}`},
		{"raw", reflect.TypeFor[json.RawMessage](), `{}`},
		{"number", reflect.TypeFor[json.Number](), `{"type":"number"}`},
		{"any", reflect.TypeFor[any](), `{}`},
		{"pointer to any", reflect.TypeFor[*any](), `{}`},
		{"bytes", reflect.TypeFor[[]byte](), `{"type":["string","null"],"contentEncoding":"base64"}`},
		{"array", reflect.TypeFor[[2]string](), `{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":2}`},
		{"pointers", reflect.TypeFor[**string](), `{"type":["string","null"]}`},
		{"pointer to a slice", reflect.TypeFor[*[]int](), `{"type":["array","null"],"items":{"type":"integer"}}`},
		{"text", reflect.TypeFor[texted](), `{"type":"string"}`},
		{"own JSON", reflect.TypeFor[hooked](), `{}`},
		{"pointer to a struct", reflect.TypeFor[*tree](), `{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}`},
		{"struct without a name", reflect.TypeFor[struct{ A int }](), `{"type":"object","properties":{"A":{"type":"integer"}},"required":["A"]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal((&jsonform.SchemaBuilder{}).Of(test.typ))
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(data))
		})
	}
}

func TestSchemaOfNamedTypesIsADefinition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[tree](), `{"tree":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
			"kids":{"type":["array","null"],"items":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}}}}}`},
		{reflect.TypeFor[branches](), `{"branches":{"type":["object","null"],"additionalProperties":{"$ref":"#/$defs/branches"}}}`},
		{reflect.TypeFor[fields](), `{"fields":{"type":"object","required":["kind","plain","maybe","quoted"],"properties":{
			"kind":{"type":"string"},"plain":{"type":"integer"},"maybe":{"type":["number","null"]},"left":{"type":"string"},
			"zero":{"type":"boolean"},"quoted":{"type":"string"}}}}`},
	} {
		b := &jsonform.SchemaBuilder{}
		b.Of(test.typ)
		data, err := json.Marshal(b.Defs)
		require.NoError(t, err)
		assert.JSONEq(t, test.want, string(data))
	}
}

func TestSchemasOfTypesWithOneNameDiffer(t *testing.T) {
	t.Parallel()
	type tree struct{ Other bool }
	b := &jsonform.SchemaBuilder{Input: true}
	first, second := b.Of(outer()), b.Of(reflect.TypeFor[tree]())
	assert.NotEqual(t, first["$ref"], second["$ref"])
	assert.NotContains(t, b.Defs["tree"], "required", "input may lack fields")
	assert.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":false,"$schema":"`+jsonform.Draft+`"}`,
		string((&jsonform.SchemaBuilder{}).Object(map[string]jsonform.Schema{})))
}

func outer() reflect.Type { return reflect.TypeFor[tree]() }
