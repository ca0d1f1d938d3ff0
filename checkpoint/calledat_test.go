package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
)

func TestCalledAtNamesTheCheckpointOfTheCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		namespace, caller, id string
		ok                    bool
	}{
		{namespace: ""},
		{namespace: "~notes"},
		{namespace: "research@c1", id: "c1", ok: true},
		{namespace: "research[2]@c1", id: "c1", ok: true},
		{namespace: "research@c1/search@c2", caller: "research@c1", id: "c2", ok: true},
		{namespace: "~notes/search@c2", caller: "~notes", id: "c2", ok: true},
		{namespace: "other"},
	}
	for _, tt := range tests {
		caller, id, ok := checkpoint.CalledAt(tt.namespace)
		assert.Equal(t, tt.ok, ok, tt.namespace)
		assert.Equal(t, tt.caller, caller, tt.namespace)
		assert.Equal(t, tt.id, id, tt.namespace)
	}
}
