package extract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// A sentence is an entry of testdata/sentences.json: a turn, a claim that it supports, and a
// claim that is false or says too much. Both quotes are verbatim.
type sentence struct {
	ID, Form, Turn string
	Right, Wrong   quoted
}

type quoted struct{ Content, Quote string }

// claims returns both claims. Every other sentence has the wrong claim first.
func (s sentence) claims(i int) [2]quoted {
	if i%2 == 0 {
		return [2]quoted{s.Right, s.Wrong}
	}
	return [2]quoted{s.Wrong, s.Right}
}

func readJSON[T any](t *testing.T, name string) (list []T) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &list))
	return list
}

func readSentences(t *testing.T) []sentence {
	t.Helper()
	return readJSON[sentence](t, "testdata/sentences.json")
}

func TestSentencesAreBalanced(t *testing.T) {
	t.Parallel()
	languages, doubtful := map[string]int{}, 0
	for _, s := range readSentences(t) {
		language, _, _ := strings.Cut(s.ID, "-")
		languages[language]++
		if s.Form != "plain" {
			doubtful++
		}
		assert.Contains(t, s.Turn, s.Right.Quote, s.ID)
		assert.Contains(t, s.Turn, s.Wrong.Quote, s.ID)
	}
	assert.Equal(t, map[string]int{"en": 10, "de": 10, "es": 10, "fr": 10, "ja": 10, "ar": 10}, languages)
	assert.Equal(t, 30, doubtful, "negations, conditions, quotations and statements about others")
}

// extracting returns an extractor whose model proposes the right and the wrong claim of each
// sentence.
func extracting(t *testing.T, sentences []sentence) extract.Extractor {
	t.Helper()
	var replies []llmtest.Reply
	for i, s := range sentences {
		var list []string
		for _, c := range s.claims(i) {
			data, err := json.Marshal(map[string]string{"kind": "fact", "content": c.Content, "evidence": c.Quote})
			require.NoError(t, err)
			list = append(list, string(data))
		}
		replies = append(replies, answer(strings.Join(list, ",")))
	}
	return extract.NewExtractor(llmtest.NewScript(replies...), extract.ExtractorOptions{})
}

// learnAll learns the turns of the sentences, one after the other.
func learnAll(t *testing.T, o extract.Options, sentences []sentence) (*memory.Memory, *extract.Learner) {
	t.Helper()
	o.Workers, o.Extractor = 1, extracting(t, sentences)
	m := newMemory(t)
	l := newLearner(t, m, o)
	for i, s := range sentences {
		learn(t, l, extract.Turn{Key: s.ID, Scope: ann, Conversation: s.ID, Number: int64(i), User: s.Turn})
	}
	return m, l
}

// Without a verifier, every proposal is stored with a verbatim quote of its turn and with
// Lowest trust, so recall leaves it out by default.
func TestSentencesWithoutVerifier(t *testing.T) {
	t.Parallel()
	sentences := readSentences(t)
	turns := map[string]string{}
	for _, s := range sentences {
		turns[s.ID] = s.Turn
	}
	m, l := learnAll(t, extract.Options{}, sentences)
	assert.Empty(t, l.Stats().Dropped)
	list := facts(t, m)
	assert.Len(t, list, 120)
	for _, f := range list {
		assert.Equal(t, extract.Lowest, f.Trust, f.Content)
		q, ok := extract.Evidence(f)
		require.True(t, ok, f.Content)
		said := turns[q.Conversation]
		require.LessOrEqual(t, q.Offset+len(q.Text), len(said))
		assert.Equal(t, said[q.Offset:q.Offset+len(q.Text)], q.Text)
	}
	for _, s := range sentences {
		recall := memory.Question{Reach: ann.Only(), Text: s.Turn}
		found, err := m.Recall(t.Context(), recall)
		require.NoError(t, err)
		assert.Empty(t, found, s.ID)
		found, err = m.Recall(t.Context(), recall, memory.FactFilter{Untrusted: true})
		require.NoError(t, err)
		assert.NotEmpty(t, found, s.ID)
	}
}

// With a verifier, no rejected fact is stored. The recorded answers of the verifier, in
// testdata/verdicts.json, have mistakes of both kinds: some true claims are rejected, and some
// false claims are accepted.
func TestSentencesWithVerifier(t *testing.T) {
	t.Parallel()
	type verdict struct {
		Number    int
		Supported bool
	}
	sentences := readSentences(t)
	var replies []llmtest.Reply
	refused := map[string]bool{}
	for i, r := range readJSON[struct {
		ID     string
		Answer json.RawMessage
	}](t, "testdata/verdicts.json") {
		require.Equal(t, sentences[i].ID, r.ID)
		replies = append(replies, llmtest.Call("answer", string(r.Answer)))
		var answered struct{ Verdicts []verdict }
		require.NoError(t, json.Unmarshal(r.Answer, &answered))
		for n, c := range sentences[i].claims(i) {
			refused[c.Content] = true
			for _, v := range answered.Verdicts {
				if v.Number == n+1 && v.Supported {
					refused[c.Content] = false
				}
			}
		}
	}
	model := llmtest.NewScript(replies...)
	m, l := learnAll(t, extract.Options{Verifier: extract.NewVerifier(model)}, sentences)
	assert.Len(t, model.Requests(), len(sentences), "one request for each turn")

	stored := map[string]bool{}
	for _, f := range facts(t, m) {
		stored[f.Content] = true
		assert.Contains(t, []memory.Trust{memory.Stated, memory.Inferred}, f.Trust, f.Content)
	}
	n, lost, wrong := 0, 0, 0
	for content, no := range refused {
		assert.Equal(t, !no, stored[content], fmt.Sprintf("stored %q", content))
		if no {
			n++
		}
	}
	for _, s := range sentences {
		if !stored[s.Right.Content] {
			lost++
		}
		if stored[s.Wrong.Content] {
			wrong++
		}
	}
	assert.Equal(t, map[extract.Reason]int64{extract.Refused: int64(n)}, l.Stats().Dropped)
	assert.Equal(t, 3, lost, "supported claims that the scripted verifier refuses")
	assert.Equal(t, 2, wrong, "unsupported claims that the scripted verifier lets through")
}
