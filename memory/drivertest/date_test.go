package drivertest_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

var (
	march    = time.Date(2026, time.March, 5, 23, 30, 0, 0, time.FixedZone("UTC-1", -3600)) // 6 March in UTC
	november = time.Date(2025, time.November, 20, 12, 0, 0, 0, time.UTC)
)

// Every backend finds a fact of a conversation by the date of its turn, even after a change of its content.
func TestFactIsFoundByTheDateOfItsTurn(t *testing.T) {
	t.Parallel()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := in(t, open(t))
			stored, err := m.Store(t.Context(), ann,
				memory.Fact{Content: "Bought a bicycle", Conversation: "c1", ValidFrom: march, Trust: memory.Stated},
				memory.Fact{Content: "Sold the car", Conversation: "c1", ValidFrom: november, Trust: memory.Stated},
				memory.Fact{Content: "Likes tea", ValidFrom: march, Trust: memory.Stated}, // without a conversation
			)
			require.NoError(t, err)
			find := func(text, want string) {
				t.Helper()
				found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: text})
				require.NoError(t, err)
				require.Len(t, found, 1, text)
				assert.Equal(t, want, found[0].Item.Content, text)
			}
			find("what about 6 March?", "Bought a bicycle")
			find("2026-03-06", "Bought a bicycle")
			find("what happened in November 2025?", "Sold the car")
			require.NoError(t, m.Update(t.Context(), ann, stored[0].ID, memory.Edit{Content: "Bought a tandem"}))
			find("what about 6 March?", "Bought a tandem")
		})
	}
}

// Every backend finds a message by the date on which it was stored. An imported message keeps its date.
func TestMessageIsFoundByItsDate(t *testing.T) {
	t.Parallel()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := in(t, open(t))
			find := func(text string) (texts []string) {
				t.Helper()
				found, err := m.Conversations().Search(t.Context(), memory.Question{Reach: ann.Only(), Text: text})
				require.NoError(t, err)
				for _, hit := range found {
					texts = append(texts, hit.Item.Text())
				}
				return texts
			}
			_, err := m.Import(t.Context(), oldMessages(t), memory.TransferOptions{})
			require.NoError(t, err)
			assert.Equal(t, []string{"I bought a bicycle"}, find("what about 6 March?"))
			assert.Equal(t, []string{"I bought a bicycle"}, find("2026-03-06"))
			assert.Equal(t, []string{"I sold the car"}, find("what did I say in November?"))

			before := time.Now().UTC()
			_, err = m.Conversations().Append(t.Context(), ann, memory.Turn{Session: "new", Messages: []llm.Message{llm.User("I like tea")}})
			require.NoError(t, err)
			after := time.Now().UTC() // may be the next day
			assert.Contains(t, find(before.Format(time.DateOnly)+" "+after.Format(time.DateOnly)), "I like tea")
		})
	}
}

// oldMessages returns the export of a memory with a message of 6 March 2026 and one of 20 November 2025.
func oldMessages(t *testing.T) *bytes.Buffer {
	t.Helper()
	b := inmemory.New(inmemory.Options{})
	saved := driver.SavedSession{Session: driver.Session{ID: "old", Scope: ann, CreatedAt: november, UpdatedAt: march, Messages: 2}}
	for id, m := range []struct {
		text string
		at   time.Time
	}{{"I sold the car", november}, {"I bought a bicycle", march}} {
		data, err := llm.ToLangChain([]llm.Message{llm.User(m.text)})
		require.NoError(t, err)
		var entries []json.RawMessage
		require.NoError(t, json.Unmarshal(data, &entries))
		saved.Rows = append(saved.Rows, driver.MessageRow{ID: string(rune('1' + id)), Role: llm.RoleUser, Text: m.text, Data: entries[0], At: m.at})
	}
	_, err := b.Conversations().Restore(t.Context(), []driver.SavedSession{saved})
	require.NoError(t, err)
	var file bytes.Buffer
	_, err = in(t, b).Export(t.Context(), &file, memory.TransferOptions{})
	require.NoError(t, err)
	return &file
}
