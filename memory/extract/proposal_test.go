package extract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

func TestFactHasAVerbatimQuote(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, said, evidence string
		want                 string // empty if there is no quote
		offset               int
	}{
		{"a part", "Hi. I like tea. Bye.", "I like tea", "I like tea", 4},
		{"the first of two", "tea, tea", "tea", "tea", 0},
		{"white space", "I like\n\t  tea", " I  like tea\n", "I like\n\t  tea", 0},
		{"ideographic space", "私は　茶", "私は 茶", "私は　茶", 0},
		{"user NFD, model NFC", "Ich mag Ka\u0308se.", "Käse", "Ka\u0308se", 8},
		{"user NFC, model NFD", "Ich mag Käse.", "Ka\u0308se", "Käse", 8},
		{"Hangul jamo", "커피", "\u110f\u1165\u1111\u1175", "커피", 0},
		{"emoji", "Tea ❤️ always", "❤️", "❤️", 4},
		{"after a partial match", "ana\u0301 ana", "ana", "ana", 6},

		{"other case", "I like tea", "i LIKE tea", "", 0},
		{"other marks", "I like tea!", "I like tea.", "", 0},
		{"other apostrophe", "I don’t smoke", "I don't smoke", "", 0},
		{"left out words", "I do not like tea", "I do … like tea", "", 0},
		{"reordered", "tea I like", "I like tea", "", 0},
		{"a base letter without its mark", "x\u0301", "x", "", 0},
		{"nothing", "I like tea", "", "", 0},
		{"white space only", "I like tea", " ", "", 0},
		{"marks only", "I like tea.", ".", "", 0},
		{"words of nobody", "I like tea", "I like coffee", "", 0},
		{"look-alike letters", "I am allergic to nuts", "I am аllergic to nuts", "", 0}, // Cyrillic
		{"invisible letters", "I like tea", "I like\u200b tea", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			turn := extract.Turn{Conversation: "thread-7", Number: 3, User: test.said, Assistant: "I like coffee"}
			f, err := turn.Fact(extract.Proposal{Content: "x", Evidence: test.evidence})
			if test.want == "" {
				rejection := new(extract.Rejection)
				require.ErrorAs(t, err, &rejection)
				assert.Equal(t, extract.Unquoted, rejection.Reason)
				return
			}
			require.NoError(t, err)
			q, ok := extract.Evidence(f)
			require.True(t, ok)
			assert.Equal(t, extract.Quote{Conversation: "thread-7", Turn: 3, Text: test.want, Offset: test.offset}, q)
			assert.Equal(t, test.want, test.said[q.Offset:q.Offset+len(q.Text)])
			assert.Equal(t, extract.Lowest, f.Trust)
		})
	}
}

// FuzzQuote checks that a quote is always a span of the user's words.
func FuzzQuote(f *testing.F) {
	f.Add("I like tea", "Hi. I like\ttea")
	f.Add("Ka\u0308se", "Käse \u0301 x\u0301")
	f.Add("각", "\u1100\u1161\u11a8")
	f.Add("\u0344", strings.Repeat("\u0301", 99)+"\xff\x00")
	f.Fuzz(func(t *testing.T, words, said string) {
		fact, err := extract.Turn{User: said}.Fact(extract.Proposal{Content: "x", Evidence: words})
		if err != nil {
			return
		}
		q, ok := extract.Evidence(fact)
		require.True(t, ok)
		said = strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\x00", "\ufffd")
		require.Equal(t, q.Text, said[q.Offset:q.Offset+len(q.Text)])
	})
}

func TestEvidenceOfOtherFacts(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{"", "{}", "null", "[]", "x", `{"weft.evidence":7}`, `{"weft.evidence":{}}`, `{"weft.evidence":{"turn":1}}`} {
		_, ok := extract.Evidence(memory.Fact{Metadata: json.RawMessage(metadata)})
		assert.False(t, ok, metadata)
	}
}

// Dropped proposals are counted by reason, and logged without their words.
func TestDroppedProposalsAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	m, log := newMemory(t), new(bytes.Buffer)
	refusing := extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
		verdicts := make([]extract.Verdict, len(claims))
		for i, c := range claims {
			verdicts[i] = extract.Verdict{Supported: c.Content != "likes rain", Doubt: "question"}
		}
		return verdicts, nil
	})
	l := newLearner(t, m, extract.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Verifier: refusing, Extractor: proposing(
		extract.Proposal{Content: "likes hail", Evidence: "I like hail"},
		extract.Proposal{Content: "likes hail", Evidence: ""},
		extract.Proposal{Content: "", Evidence: "I like fog"},
		extract.Proposal{Content: strings.Repeat("likes fog ", 2000), Evidence: "I like fog"},
		extract.Proposal{Content: "likes fog", Evidence: strings.Repeat("I like fog ", 200)},
		extract.Proposal{Content: "likes rain", Evidence: "I like rain"},
		extract.Proposal{Content: "likes fog", Evidence: "I like fog"},
	)})
	said := "Do I like rain? " + strings.Repeat("I like fog ", 200)
	learn(t, l, extract.Turn{Key: "1", Scope: ann, Conversation: "thread-7", User: said, Assistant: "I like hail"})
	assert.Equal(t, map[extract.Reason]int64{extract.Unquoted: 2, extract.Invalid: 3, extract.Refused: 1}, l.Stats().Dropped)
	assert.Equal(t, []string{"likes fog"}, known(t, m))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	assert.Len(t, lines, 6)
	for _, line := range lines {
		assert.Contains(t, line, "level=INFO")
		assert.Contains(t, line, "thread=thread-7")
		assert.NotContains(t, line, "like")
	}
	assert.Contains(t, log.String(), "reason=refused doubt=question")
}

// A fact whose kind or importance is nearly valid is still stored.
func TestNearlyValidProposals(t *testing.T) {
	t.Parallel()
	turn := extract.Turn{User: "I like tea"}
	for kind, want := range map[memory.Kind]memory.Kind{"Preferences": memory.Preference, "": memory.Plain, "nonsense": memory.Plain, " EPISODE ": memory.Episode, "procedure": memory.Procedural} {
		f, err := turn.Fact(extract.Proposal{Kind: kind, Content: "likes tea", Evidence: "I like tea"})
		require.NoError(t, err)
		assert.Equal(t, want, f.Kind, "%q", kind)
	}
	for importance, want := range map[float64]float64{7: 1, -3: 0, math.Inf(1): 1, 0.25: 0.25, math.NaN(): 0} {
		f, err := turn.Fact(extract.Proposal{Content: "likes tea", Evidence: "I like tea", Importance: importance})
		require.NoError(t, err)
		assert.InDelta(t, want, f.Importance, 0, "%v", importance)
	}
}
