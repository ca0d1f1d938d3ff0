package memory_test

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/memory"
)

// Recall finds the fact that answers a question in other forms of its words.
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
		{"Is allergic to nuts", "any allergies?"},
		{"Her favourite colour is green", "favorite color"},
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
			if _, err := m.Store(t.Context(), scope, memory.Fact{Content: content, Trust: memory.Stated}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := m.Recall(t.Context(), memory.Recall{Query: memory.FactQuery{Reach: scope.Only()}, Text: c.text})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 || found[0].Item.Content != c.fact {
			t.Errorf("%.60q did not find %q first: %v", c.text, c.fact, found)
		}
	}
}

// Nothing but words that are left out finds the newest, if no name is made of them.
func TestRecallStopped(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	scope := memory.Scope{User: "ann"}
	for _, content := range []string{"Plays chess", "Owns two bikes"} {
		if _, err := m.Store(t.Context(), scope, memory.Fact{Content: content, Trust: memory.Stated}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := m.Recall(t.Context(), memory.Recall{Query: memory.FactQuery{Reach: scope.Only()}, Text: "who are you?"})
	if err != nil || len(found) != 2 || found[0].Item.Content != "Owns two bikes" {
		t.Errorf("got %v, %v", found, err)
	}
}

// A text is stored once, in whichever way its letters are put together. An accent makes another word.
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
		if err != nil || stored[0].Existed != c.existed {
			t.Errorf("%q: got %+v, %v", c.content, stored, err)
		}
	}
}
