package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	ann := memory.Scope{Tenant: "t", Workspace: "w", User: "ann", Agent: "a"}
	tests := []struct {
		scope memory.Scope
		want  bool
	}{
		{ann, true},
		{memory.Scope{Tenant: "t"}, true},
		{memory.Scope{Tenant: "t", User: "ann"}, true},
		{memory.Scope{User: "ann"}, false},
		{memory.Scope{Tenant: "t", User: "bob"}, false},
		{memory.Scope{Tenant: "t", Workspace: "v"}, false},
		{memory.Scope{Tenant: "t", Agent: "b"}, false},
	}
	for _, test := range tests {
		got := test.scope.Covers(ann)
		assert.Equal(t, test.want, got, "%s covers %s", test.scope, ann)
	}
}
