package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/internal/proof/questiontest"
)

// judged has the right answers to the questions about research. The author of the questions had read only the
// README. The answer to a refused question says that no passage has all its words.
var judged = map[string]questiontest.Judgement{
	"research-01": {Right: []string{"27 February 2026 at 12:00 noon"}, Wrong: []string{"6 February", "31 August"}},
	"research-02": {Wrong: []string{"27 February"}, Refused: true},
	"research-03": {Right: []string{"310,000 pounds, including five years of maintenance"}},
	"research-04": {Right: []string{"price (40 percent), accessibility (35 percent) and maintenance (25 percent)"}},
	"research-05": {Right: []string{"nine ticket machines", "four ferry piers"}, Wrong: []string{"48", "8 hours"}},
	"research-06": {Right: []string{"Banknotes are not required."}},
	"research-07": {Right: []string{"Paper is not accepted."}},
	"research-08": {Wrong: []string{"["}, Refused: true},
	"research-09": {Wrong: []string{"[", "ravensmoor"}, Refused: true},
	"research-10": {Refused: true},
	"research-11": {Wrong: []string{"48 hours"}, Refused: true},
	"research-12": {Wrong: []string{"10 seconds"}, Refused: true},
}

// TestQuestions proves that the offline model, which needs no API key, answers none of the questions wrongly.
func TestQuestions(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, newOffline())
	u := p.newUser()
	threads := map[string]string{}
	for _, q := range questiontest.Of(t, "research", judged) {
		if threads[q.Conversation] == "" {
			threads[q.Conversation] = u.newThread("")
			path := filepath.Join(questiontest.Folder(t), "docs", "tender.txt")
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
		judged[q.ID].Check(t, q, answer, strings.HasPrefix(answer, "I found no passage"))
	}
}
