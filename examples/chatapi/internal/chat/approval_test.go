package chat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
)

// contents are the facts about Ann, the newest first.
func contents(t *testing.T, s *chat.Service) (list []string) {
	t.Helper()
	for f, err := range s.Facts(t.Context(), ann) {
		require.NoError(t, err)
		list = append(list, f.Content)
	}
	return list
}

// Facts are forgotten at once if the user has named each of them in a request to forget. Otherwise the user is asked, as a
// document may tell the model to forget.
func TestForgettingAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, said, call string
		asks             bool
	}{
		{"one that is named", "Forget my allergy", `{"facts":["I am allergic to nuts"]}`, false},
		{"one that is not named", "Forget my address", `{"facts":["I am allergic to nuts"]}`, true},
		{"one of two", "Please forget the nuts", `{"facts":["I am allergic to nuts","I live in Oslo"]}`, true},
		{"no request", "What about nuts?", `{"facts":["I am allergic to nuts"]}`, true},
		{"another language", "Vergiss meine Allergie", `{"facts":["I am allergic to nuts"]}`, true},
		{"everything", "Forget everything, also the nuts and Oslo", `{"everything":true}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stores, err := store.Open(t.Context(), store.Config{Folder: t.TempDir()})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, stores.Close()) })
			model := llmtest.NewScript(llmtest.Call(chat.ForgetTool, tt.call), llmtest.Say("Done."))
			s := newService(t, stores, chat.Options{Model: model})
			_, err = s.Memory().Remember(t.Context(), ann, "I live in Oslo", "I am allergic to nuts")
			require.NoError(t, err)
			snap, session := say(t, s, memory.Session{}, tt.said)
			if !tt.asks {
				assert.Equal(t, "Done.", chat.Reply(snap))
				assert.Equal(t, []string{"I live in Oslo"}, contents(t, s))
				return
			}
			assert.Contains(t, chat.Reply(snap), "This will forget, for ever:")
			assert.Contains(t, chat.Reply(snap), "\n- I am allergic to nuts\n")
			assert.Len(t, contents(t, s), 2)
			snap, _ = say(t, s, session, "yes")
			assert.Equal(t, "Done.", chat.Reply(snap))
			assert.NotContains(t, contents(t, s), "I am allergic to nuts")
		})
	}
}

// A no forgets nothing. Another message forgets nothing either, and is answered.
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

// What was forgotten leaves no history, and neither do the older facts that it has replaced; on every store.
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
		say(t, s, memory.Session{}, "Forget that I live in Bern")
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
