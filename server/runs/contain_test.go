package runs_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/server/runs"
)

func TestBothIsContainedWhereAAndBAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b, want string
		none       bool
	}{
		{a: `{"x":1}`, b: ``, want: `{"x":1}`},
		{a: ``, b: `{"x":1}`, want: `{"x":1}`},
		{a: `{"x":1}`, b: `{"y":2}`, want: `{"x":1,"y":2}`},
		{a: `{"x":{"a":1}}`, b: `{"x":{"b":2}}`, want: `{"x":{"a":1,"b":2}}`},
		{a: `{"x":[1]}`, b: `{"x":[2]}`, want: `{"x":[1,2]}`},
		{a: `{"x":1}`, b: `{"x":1.0}`, want: `{"x":1}`},
		{a: `{"x":1}`, b: `{"x":2}`, none: true},
		{a: `{"x":1}`, b: `{"x":"1"}`, none: true},
		{a: `{"x":{}}`, b: `{"x":[]}`, none: true},
		{a: `{"x":`, b: `{"y":1}`, none: true},
		{a: `{"x":null}`, b: `{"x":null}`, want: `{"x":null}`},
		{a: `{"x":null}`, b: `{"x":false}`, none: true},
	} {
		got, ok := runs.Both(json.RawMessage(c.a), json.RawMessage(c.b))
		assert.Equal(t, !c.none, ok, "%s and %s", c.a, c.b)
		if ok {
			assert.JSONEq(t, c.want, string(got))
		}
	}
}
