package memory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

// Recall finds a fact by other forms of its words.
func TestRecallWords(t *testing.T) {
	t.Parallel()
	pasted := strings.Repeat("Dear team, the minutes of meeting number seven list twelve open points about budgets. ", 20)
	var numbered strings.Builder
	for i := range 300 {
		numbered.WriteString("line" + strings.Repeat("x", i%60) + string(rune('a'+i%26)) + " ")
	}
	for _, c := range []struct{ fact, text string }{
		{"Lives in Oslo with her partner", "where do I live?"},
		{"Leaves for work at seven", "when does she leave?"},
		{"Prefers window seats", "what are her preferences?"},
		{"Has an allergy to nuts", "any allergies?"},
		{"Her favourite colours are green and blue", "which colour is her favourite?"},
		{"Takes 50mg of aspirin", "how much is 50 mg"},
		{"Phone: +44 7700 900123", "who is +447700900123"},
		{"Her favourite band is The Who", "The Who"},
		{"Her favourite band is The Who", "the who"},
		{"The dog is called Rex", pasted + numbered.String() + "What is my dog called?"},
		{"The dog is called Rex", "What is my dog called? " + numbered.String() + pasted},
		{"The dog is called Rex", strings.Repeat(pasted, 10) + "What is my dog called?"},
	} {
		m := newMemory(t, memory.Options{})
		scope := memory.Scope{User: "ann"}
		for _, content := range []string{c.fact, "Plays chess", "Owns two bikes"} { // newer ones
			_, err := m.Store(t.Context(), scope, memory.Fact{Content: content, Trust: memory.Stated})
			require.NoError(t, err)
		}
		found, err := m.Recall(t.Context(), memory.Question{Reach: scope.Only(), Text: c.text})
		require.NoError(t, err)
		require.NotEmpty(t, found, "%.60q found nothing", c.text)
		assert.Equal(t, c.fact, found[0].Item.Content, "%.60q", c.text)
	}
}

// A question with only stop words finds the newest facts, unless a fact has a name with these words.
func TestRecallStopped(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	scope := memory.Scope{User: "ann"}
	for _, content := range []string{"Plays chess", "Owns two bikes"} {
		_, err := m.Store(t.Context(), scope, memory.Fact{Content: content, Trust: memory.Stated})
		require.NoError(t, err)
	}
	found, err := m.Recall(t.Context(), memory.Question{Reach: scope.Only(), Text: "who are you?"})
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, "Owns two bikes", found[0].Item.Content)
}

// Texts with different Unicode compositions of the same letters are stored once. Texts that differ in an
// accent are different facts.
func TestStoreComposed(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	for _, c := range []struct {
		content string
		existed bool
	}{
		{"Meets at the Café in Việt", false},
		{"Meets at the Cafe\u0301 in Vie\u0323\u0302t", true},
		{"Meets at the Cafe in Viet", false},
		{"Plays ピアノ", false},
		{"Plays ヒ\u309Aアノ", true},
		{"Says да, й", false},
		{"Says да, и\u0306", true},
	} {
		stored, err := m.Store(t.Context(), memory.Scope{User: "ann"}, memory.Fact{Content: c.content, Trust: memory.Stated})
		require.NoError(t, err, "%q", c.content)
		assert.Equal(t, c.existed, stored[0].Existed, "%q", c.content)
	}
}
