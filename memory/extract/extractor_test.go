package extract_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

func TestExtract(t *testing.T) {
	t.Parallel()
	fact := func(i int) string {
		return fmt.Sprintf(`{"kind":"fact","content":"fact %d","evidence":"said"}`, i)
	}
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  []string
	}{
		{"nothing", answer(``), nil},
		{"one", answer(`{"kind":" Preference","content":" likes tea ","evidence":"I like tea","importance":7}`), []string{"preference likes tea 1"}},
		{"at most five", answer(strings.Join([]string{fact(1), fact(2), fact(3), fact(4), fact(5), fact(6), fact(7)}, ",")), []string{"fact fact 1 0", "fact fact 2 0", "fact fact 3 0", "fact fact 4 0", "fact fact 5 0"}},
		{"no content, and another kind", answer(`{"kind":"fact","content":" ","evidence":""},{"kind":"mood","content":"x","evidence":"x"},` + fact(1)), []string{"fact x 0", "fact fact 1 0"}},
		{"kinds in other words", answer(`{"kind":"Preferences","content":"likes tea","evidence":"I like tea","importance":-1},{"kind":"relation","content":"x","evidence":"x"},{"kind":"episode","content":"y","evidence":"y"}`), []string{"preference likes tea 0", "relationship x 0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(test.reply)
			e := extract.NewExtractor(model, extract.ExtractorOptions{Instructions: "Names matter."})
			list, err := e.Extract(t.Context(), extract.Turn{User: `I like tea"}`, Assistant: "Noted."})
			require.NoError(t, err)
			var got []string
			for _, p := range list {
				got = append(got, fmt.Sprintf("%s %s %v", p.Kind, p.Content, p.Importance))
			}
			assert.Equal(t, test.want, got)
			asked := model.Requests()[0].Messages
			assert.Contains(t, asked[1].Text(), `"I like tea\"}"`)
			assert.Contains(t, asked[1].Text(), "Noted.")
			assert.Contains(t, asked[0].Text(), "Names matter.")
		})
	}
}

func TestExtractReturnsTheErrorOfTheModel(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	e := extract.NewExtractor(llmtest.NewScript(llmtest.Fail(down)), extract.ExtractorOptions{})
	_, err := e.Extract(t.Context(), extract.Turn{User: "x"})
	assert.ErrorIs(t, err, down)
}

func TestExtractPromptHasDateLanguageAndKinds(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(answer(``))
	e := extract.NewExtractor(model, extract.ExtractorOptions{Kinds: []memory.Kind{memory.Preference, memory.Episode}})
	_, err := e.Extract(t.Context(), extract.Turn{User: "x", At: saturday})
	require.NoError(t, err)
	r := model.Requests()[0]
	assert.Contains(t, r.Messages[1].Text(), "Saturday, 2026-11-21")
	assert.Contains(t, r.Messages[0].Text(), "user's language")
	assert.Contains(t, string(r.Tools[0].Schema), `"enum":["preference","episode"]`)
}
