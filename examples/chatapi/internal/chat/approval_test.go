package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// contents returns the facts about Ann, the newest first.
func contents(t *testing.T, s *chat.Service) (list []string) {
	t.Helper()
	for f, err := range s.Facts(t.Context(), ann) {
		require.NoError(t, err)
		list = append(list, f.Content)
	}
	return list
}

// The service asks the user before it deletes facts, whatever the user said: a rule cannot tell a request
// to forget from "don't forget", and a document may tell the model to forget.
func TestForgettingAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said, call string
		left       []string
	}{
		{"Forget my allergy", `{"facts":["I am allergic to nuts"]}`, []string{"I live in Oslo"}},
		{"Don't forget that I am allergic to nuts", `{"facts":["I am allergic to nuts"]}`, []string{"I live in Oslo"}},
		{"Can you forget my tea?", `{"facts":["I am allergic to nuts"]}`, []string{"I live in Oslo"}},
		{"Forget everything, also the nuts and Oslo", `{"everything":true}`, nil},
	} {
		t.Run(tt.said, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, llmtest.Call(chat.ForgetTool, tt.call), llmtest.Say("Done."))
			snap, session := say(t, s, memory.Session{}, tt.said)
			assert.Contains(t, chat.Reply(snap), "This will forget, for ever:")
			assert.Contains(t, chat.Reply(snap), "\n- I am allergic to nuts\n")
			assert.Len(t, contents(t, s), 2)
			snap, _ = say(t, s, session, "yes")
			assert.Equal(t, "Done.", chat.Reply(snap))
			assert.Equal(t, tt.left, contents(t, s))
		})
	}
}

// A yes approves all open calls, so the question lists the facts of all of them.
func TestForgettingShowsAllThatIsAsked(t *testing.T) {
	t.Parallel()
	calls := llmtest.Calls(
		llm.ToolCall{ID: "one", Name: chat.ForgetTool, Arguments: []byte(`{"facts":["I am allergic to nuts"]}`)},
		llm.ToolCall{ID: "two", Name: chat.ForgetTool, Arguments: []byte(`{"facts":["I live in Oslo"]}`)},
	)
	s := newScripted(t, calls, llmtest.Say("Done."))
	snap, session := say(t, s, memory.Session{}, "Forget my allergy and my address")
	assert.Contains(t, chat.Reply(snap), "\n- I am allergic to nuts\n")
	assert.Contains(t, chat.Reply(snap), "\n- I live in Oslo\n")
	assert.Equal(t, 1, strings.Count(chat.Reply(snap), "This will forget"))
	snap, _ = say(t, s, session, "yes")
	assert.Equal(t, "Done.", chat.Reply(snap))
	assert.Empty(t, contents(t, s))
}

// If no fact has the text, there is no question: the model gets an error that names recall_memory.
func TestForgettingWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newScripted(t, llmtest.Call(chat.ForgetTool, `{"facts":["I have a cat"]}`), llmtest.Say("I know no cat."))
	snap, _ := say(t, s, memory.Session{}, "Forget my cat")
	assert.Equal(t, "I know no cat.", chat.Reply(snap))
	assert.Contains(t, agent.Messages.Get(snap)[3].Text(), "recall_memory")
	assert.Len(t, contents(t, s), 2)
}

// newScripted returns a service with two facts about Ann, whose model gives these replies.
func newScripted(t *testing.T, replies ...llmtest.Reply) *chat.Service {
	t.Helper()
	stores, err := store.Open(t.Context(), store.Config{Folder: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stores.Close()) })
	s := newService(t, stores, chat.Options{Model: llmtest.NewScript(replies...)})
	_, err = s.Memory().Remember(t.Context(), ann, "I live in Oslo", "I am allergic to nuts")
	require.NoError(t, err)
	return s
}

// A no deletes nothing. Another message also deletes nothing, and gets an answer.
func TestForgettingIsDeclined(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"No, thanks.": "Kept.", "What is the time?": "Late."} {
		stores, err := store.Open(t.Context(), store.Config{Folder: t.TempDir()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stores.Close()) })
		model := llmtest.NewScript(llmtest.Call(chat.ForgetTool, `{"everything":true}`), llmtest.Say("Kept."), llmtest.Say("Late."))
		s := newService(t, stores, chat.Options{Model: model})
		_, err = s.Memory().Remember(t.Context(), ann, "I live in Oslo")
		require.NoError(t, err)
		_, session := say(t, s, memory.Session{}, "Forget everything")
		snap, session := say(t, s, session, answer)
		assert.Equal(t, want, chat.Reply(snap), answer)
		assert.Equal(t, []string{"I live in Oslo"}, contents(t, s))
		stored, err := s.Messages(t.Context(), session)
		require.NoError(t, err)
		assert.Equal(t, want, stored[len(stored)-1].Text())
	}
}

// A deleted fact leaves no history, and neither do the facts that it superseded.
func TestForgettingLeavesNoHistory(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, stores *store.Stores, _ store.Config) {
		s := newService(t, stores, chat.Options{Model: llmtest.NewScript(llmtest.Call(chat.ForgetTool, `{"facts":["I live in Bern"]}`), llmtest.Say("Done."))})
		m := s.Memory()
		tea, err := m.Remember(t.Context(), ann, "I like tea")
		require.NoError(t, err)
		first, err := m.Remember(t.Context(), ann, "I live in Oslo")
		require.NoError(t, err)
		second, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "I live in Rome", Trust: memory.Stated}, first[0].ID)
		require.NoError(t, err)
		third, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "I live in Bern", Trust: memory.Stated}, second.ID)
		require.NoError(t, err)
		_, session := say(t, s, memory.Session{}, "Forget that I live in Bern")
		say(t, s, session, "yes")
		assert.Equal(t, []string{"I like tea"}, contents(t, s))
		for _, id := range []string{first[0].ID, second.ID, third.ID} {
			for e, err := range m.History(t.Context(), ann, id) {
				require.NoError(t, err)
				t.Errorf("the history has %q and %q", e.Before, e.After)
			}
		}
		n := 0
		for _, err := range m.History(t.Context(), ann, tea[0].ID) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 1, n, "the history of another fact")
	})
}

// If a deletion fails, the named fact remains, so that the user can ask again.
func TestForgettingBreaksOff(t *testing.T) {
	t.Parallel()
	stores, err := store.Open(t.Context(), store.Config{Folder: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stores.Close()) })
	broken, m := *stores, stores.Memory
	erasures := &failing{FactStore: m.Facts()}
	broken.Memory = driver.Stores{
		FactStore: erasures, ValueStore: m.Values(), DocumentStore: m.Documents(), ConversationStore: m.Conversations(), TurnStore: m.Turns(),
	}
	s := newService(t, &broken, chat.Options{Model: llmtest.NewScript()})
	old := ""
	for _, city := range []string{"Oslo", "Rome", "Bern"} {
		f := memory.Fact{Content: "I live in " + city, Trust: memory.Stated}
		if old == "" {
			list, err := s.Memory().Store(t.Context(), ann, f)
			require.NoError(t, err)
			old = list[0].ID
			continue
		}
		stored, err := s.Memory().Supersede(t.Context(), ann, f, old)
		require.NoError(t, err)
		old = stored.ID
	}
	_, _, err = s.ForgetFacts(t.Context(), ann, old)
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, []string{"I live in Bern"}, contents(t, s))
	erasures.whole = true
	n, _, err := s.ForgetFacts(t.Context(), ann, old)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	for f, err := range s.Memory().List(t.Context(), memory.FactQuery{Reach: ann.Only(), Untrusted: true, Closed: true}) {
		require.NoError(t, err)
		t.Errorf("%s is left", f.Content)
	}
}

var errBroken = errors.New("broken")

// failing is a store whose first erasure succeeds. Later erasures fail until whole is set.
type failing struct {
	driver.FactStore
	erased, whole bool
}

func (f *failing) Apply(ctx context.Context, s memory.Scope, changes []memory.FactChange) ([]memory.Applied, error) {
	if changes[0].Kind == driver.Erase {
		if f.erased && !f.whole {
			return nil, errBroken
		}
		f.erased = true
	}
	return f.FactStore.Apply(ctx, s, changes)
}
