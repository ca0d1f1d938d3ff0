package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/research/internal/offline"
)

const questions = "../../internal/proof/testdata/questions/"

// judged are the questions of research in questions.json, which were written from the README alone. An
// answer says every text, and no text of not. One that is refused says that there is no passage with
// all of the words; it may quote the closest one.
var judged = map[string]struct {
	says    []string
	not     []string
	refused bool
}{
	"research-01": {says: []string{"27 February 2026 at 12:00 noon"}, not: []string{"6 February", "31 August"}},
	"research-02": {says: []string{"6 February 2026"}, not: []string{"27 February"}, refused: true},
	"research-03": {says: []string{"310,000 pounds, including five years of maintenance"}},
	"research-04": {says: []string{"price (40 percent), accessibility (35 percent) and maintenance (25 percent)"}},
	"research-05": {says: []string{"nine ticket machines", "four ferry piers"}, not: []string{"48", "8 hours"}},
	"research-06": {says: []string{"Banknotes are not required."}},
	"research-07": {says: []string{"Paper is not accepted."}},
	"research-08": {says: []string{"English, Welsh and Polish"}, refused: true},
	"research-09": {not: []string{"[", "ravensmoor"}, refused: true},
	"research-10": {refused: true},
	"research-11": {says: []string{"repair a fault within 8 hours on working days"}, not: []string{"48 hours"}, refused: true},
	"research-12": {not: []string{"10 seconds"}, refused: true},
}

// TestQuestions proves that no question is answered wrongly without a key.
func TestQuestions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(questions + "questions.json")
	require.NoError(t, err)
	var all []struct{ ID, System, Conversation, Setup, Text string }
	require.NoError(t, json.Unmarshal(data, &all))
	p := onSQLite(t, newOffline())
	u := p.newUser()
	threads, asked := map[string]string{}, 0
	for _, q := range all {
		if q.System != "research" {
			continue
		}
		asked++
		if threads[q.Conversation] == "" {
			threads[q.Conversation] = u.newThread("")
			path := questions + "docs/tender.txt"
			if strings.Contains(q.Setup, "examples/research/README.md") {
				path = "README.md"
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			into[map[string]any](t, u.upload("/api/documents?thread="+threads[q.Conversation], filepath.Base(path), string(text)), 201)
		}
		said := u.asks(threads[q.Conversation], q.Text).Values.Messages
		answer := ""
		for i, m := range said {
			if m.Type == "human" && m.Content == q.Text {
				next := slices.IndexFunc(said[i:], func(m message) bool { return m.Type == "ai" })
				require.Positive(t, next, q.ID)
				answer, _ = said[i+next].Content.(string)
			}
		}
		answer, _, _ = strings.Cut(answer, "\n\n"+offline.Note)
		want, ok := judged[q.ID]
		require.True(t, ok, q.ID)
		t.Logf("%s %s\n%s", q.ID, q.Text, answer)
		assert.Equal(t, want.refused, strings.HasPrefix(answer, "I found no passage"), q.ID)
		for _, text := range want.says {
			assert.Contains(t, answer, text, q.ID)
		}
		for _, text := range want.not {
			assert.NotContains(t, answer, text, q.ID)
		}
	}
	assert.Len(t, judged, asked)
}
