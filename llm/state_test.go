package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// apply returns the state after steps of writes.
func apply(t *testing.T, schema *statecore.Schema, steps ...state.Update) state.View {
	t.Helper()
	view := schema.Empty()
	for _, writes := range steps {
		tx := schema.Begin(view)
		for i, w := range writes {
			require.NoError(t, statecore.Apply(tx, i, []state.Write{w}))
		}
		next, err := tx.Finish(true)
		require.NoError(t, err)
		view = next
	}
	return view
}

func TestMessagesMerge(t *testing.T) {
	t.Parallel()
	messages := state.Keyed("messages", llm.ByID)
	schema, err := statecore.NewSchema[state.Handle](messages)
	require.NoError(t, err)
	named := func(id, text string) llm.Message { return llm.ByID.WithID(llm.User(text), id) }
	start := state.Update{messages.Put(named("1", "a"), named("2", "b"), named("3", "c"))}
	tests := []struct {
		name string
		step state.Update
		want string
	}{
		{"append", state.Update{messages.Put(named("4", "d"))}, "a b c d"},
		{"replace in place", state.Update{messages.Put(named("2", "B"))}, "a B c"},
		{"replace and append", state.Update{messages.Put(named("5", "e"), named("1", "A"))}, "A b c e"},
		{"remove", state.Update{messages.Remove("2")}, "a c"},
		{"remove what is not there", state.Update{messages.Remove("9")}, "a b c"},
		{"remove all", state.Update{messages.Clear()}, ""},
		{"remove all and begin anew", state.Update{messages.Clear(), messages.Put(named("6", "f"))}, "f"},
		{"one id twice in a write", state.Update{messages.Put(named("7", "g"), named("7", "h"))}, "a b c h"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range messages.Get(apply(t, schema, start, test.step)) {
				got = append(got, m.Text())
			}
			assert.Equal(t, test.want, strings.Join(got, " "))
		})
	}
}

// TestMessagesAreStamped proves that messages get ids before they are stored, so that a message is
// not duplicated if its step runs again.
func TestMessagesAreStamped(t *testing.T) {
	t.Parallel()
	messages := state.Keyed("messages", llm.ByID)
	schema, err := statecore.NewSchema[state.Handle](messages)
	require.NoError(t, err)
	write := messages.Put(llm.User("a"), llm.User("b"))
	_, stored, ok, err := schema.EncodeWrite(write.Core())
	require.NoError(t, err)
	require.True(t, ok, "the write is not stored")
	var written []llm.Message
	require.NoError(t, json.Unmarshal(stored, &written), "%s", stored)
	got := messages.Get(apply(t, schema, state.Update{write}, state.Update{write}))
	require.Len(t, got, 2)
	assert.NotEmpty(t, got[0].ID)
	assert.NotEqual(t, got[0].ID, got[1].ID)
	assert.Equal(t, written[0].ID, got[0].ID, "the stored id")
}

func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	usage := state.NewChannel("usage", llm.SumUsage)
	schema, err := statecore.NewSchema[state.Handle](usage)
	require.NoError(t, err)
	one := llm.Usage{Input: 10, Output: 5, Total: 15, Cached: 4, CacheWrite: 1, Reasoning: 2}
	got := usage.Get(apply(t, schema, state.Update{usage.Put(one), usage.Put(one)}, state.Update{usage.Put(one)}))
	assert.Equal(t, one.Add(one).Add(one), got)
}

// TestMessagesArePruned proves that a channel is pruned with Prune after each step.
func TestMessagesArePruned(t *testing.T) {
	t.Parallel()
	p := llm.Pruning{MaxTokens: 6, MinMessages: 2, Counter: byLength}
	messages := state.Keyed("messages", llm.ByID).Prune(func(m []llm.Message) []llm.Message { return llm.Prune(m, p) })
	schema, err := statecore.NewSchema[state.Handle](messages)
	require.NoError(t, err)
	var steps []state.Update
	for _, m := range talk("s:s u:aa c1:bb r1:cc a:dd u:ee") {
		steps = append(steps, state.Update{messages.Put(m)})
	}
	assert.Equal(t, "s:s a:dd u:ee", told(messages.Get(apply(t, schema, steps...))))
}
