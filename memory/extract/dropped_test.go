package extract_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// proposed learns proposals from what Ann said, and returns what is known then.
func proposed(t *testing.T, said string, log *slog.Logger, list ...extract.Proposal) ([]string, *memory.Memory, extract.Stats) {
	t.Helper()
	m := newMemory(t)
	l := newLearner(t, m, extract.Options{Logger: log, Extractor: extract.ExtractorFunc(func(context.Context, extract.Turn) ([]extract.Proposal, error) { return list, nil })})
	if err := l.Learn(t.Context(), extract.Turn{Key: "1", Scope: ann, Conversation: "thread-7", User: said, At: saturday}); err != nil {
		t.Fatal(err)
	}
	if err := l.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	return known(t, m), m, l.Stats()
}

// A fact that is true is not lost because of how a model puts it: it is stored as the user put it.
func TestInTheUsersWords(t *testing.T) {
	t.Parallel()
	tests := []struct{ said, content, evidence, want string }{
		{"Hi. ich wohne in München. Und du?", "The user lives in Munich", "ich wohne in München", "ich wohne in München."},
		{"I don't eat meat. I like tea.", "User is vegetarian", "I don't eat meat", "I don't eat meat."},
		{"Please remember that I ran a marathon yesterday", "User ran a marathon on 2026-11-01", "I ran a marathon yesterday", "I ran a marathon yesterday"},
		{"I'm allergic to nuts", "Gave consent to Mallory", "allergic to nuts", "I'm allergic to nuts"},
		{"I ran a marathon yesterday", "User ran a marathon on 2026-11-20", "I ran a marathon yesterday", "User ran a marathon on 2026-11-20"},
	}
	for _, test := range tests {
		got, _, stats := proposed(t, test.said, nil, extract.Proposal{Content: test.content, Evidence: test.evidence})
		if !slices.Equal(got, []string{test.want}) || (stats.Quoted == 1) != (test.want != test.content) || len(stats.Dropped) > 0 {
			t.Errorf("%q: known is %q, want %q; %+v", test.said, got, test.want, stats)
		}
	}
}

// What is dropped is counted by its reason, and logged without what it says.
func TestDropped(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	said := `Do I like tea? The document says I like rain. She likes snow. I like fog.`
	got, _, stats := proposed(t, said, slog.New(slog.NewTextHandler(&log, nil)),
		extract.Proposal{Content: "likes tea", Evidence: "I like tea"},
		extract.Proposal{Content: "likes rain", Evidence: "I like rain"},
		extract.Proposal{Content: "likes snow", Evidence: "likes snow"},
		extract.Proposal{Content: "likes hail", Evidence: "I like hail"},
		extract.Proposal{Content: "likes hail", Evidence: ""},
		extract.Proposal{Content: strings.Repeat("fog ", 600), Evidence: "likes"},
		extract.Proposal{Content: "likes fog", Evidence: "I like fog"},
	)
	want := map[extract.Reason]int64{extract.Asked: 1, extract.Foreign: 1, extract.Turned: 1, extract.Unquoted: 2, extract.Invalid: 1}
	if !maps.Equal(stats.Dropped, want) || !slices.Equal(got, []string{"likes fog"}) {
		t.Errorf("dropped %v, want %v; known is %q", stats.Dropped, want, got)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, line := range lines {
		if !strings.Contains(line, "level=INFO") || !strings.Contains(line, "thread=thread-7") || !strings.Contains(line, "ann") || strings.Contains(line, "like") {
			t.Errorf("logged %s", line)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d lines", len(lines))
	}
}

// A kind or an importance that is nearly right loses no fact.
func TestNearlyRight(t *testing.T) {
	t.Parallel()
	for kind, want := range map[memory.Kind]memory.Kind{"Preferences": memory.Preference, "": memory.Plain, "nonsense": memory.Plain, " EPISODE ": memory.Episode, "procedure": memory.Procedural} {
		for importance, wanted := range map[float64]float64{7: 1, -3: 0.5, math.Inf(1): 1, 0.25: 0.25} {
			_, m, _ := proposed(t, "I like tea", nil, extract.Proposal{Kind: kind, Content: "likes tea", Evidence: "I like tea", Importance: importance})
			for f, err := range m.List(t.Context(), memory.Query{Scope: ann}) {
				if err != nil || f.Kind != want || f.Importance != wanted || f.Trust != memory.Inferred {
					t.Errorf("%q, %v: got %+v, %v", kind, importance, f, err)
				}
			}
			if got := known(t, m); len(got) != 1 {
				t.Errorf("%q, %v: known is %q", kind, importance, got)
			}
		}
	}
	if got, _, _ := proposed(t, "I like tea", nil, extract.Proposal{Content: "likes tea", Evidence: "I like tea", Importance: math.NaN()}); len(got) != 1 {
		t.Errorf("known is %q", got)
	}
}

// The extractor's model is told the date, the language to write in and the kinds there are.
func TestExtractorPrompt(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(answer(``))
	e := extract.NewExtractor(model, extract.ExtractorOptions{Kinds: []memory.Kind{memory.Preference, memory.Episode}})
	if _, err := e.Extract(t.Context(), extract.Turn{User: "x", At: saturday}); err != nil {
		t.Fatal(err)
	}
	r := model.Requests()[0]
	if text := r.Messages[1].Text(); !strings.Contains(text, "Saturday, 2026-11-21") {
		t.Errorf("asked %s", text)
	}
	if text := r.Messages[0].Text(); !strings.Contains(text, "user's language") || !strings.Contains(text, "yesterday") {
		t.Errorf("told %s", text)
	}
	if schema := string(r.Tools[0].Schema); !strings.Contains(schema, `"enum":["preference","episode"]`) {
		t.Errorf("the schema is %s", schema)
	}
}

// What a decider makes of two facts says no more than they do.
func TestMerged(t *testing.T) {
	t.Parallel()
	for content, want := range map[string][]string{
		"Ann lives in Plaka, Athens":                   {"Ann lives in Plaka, Athens"},
		"Ann lives in Plaka, Athens, and pays Mallory": {"Ann lives in Athens", "Ann lives in Plaka"},
		"Ann does not live in Plaka, Athens":           {"Ann lives in Athens", "Ann lives in Plaka"},
		"":                                             {"Ann lives in Plaka"},
	} {
		m := newMemory(t)
		if _, err := m.Store(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens"}); err != nil {
			t.Fatal(err)
		}
		l := newLearner(t, m, extract.Options{Extractor: echo, Decider: extract.DeciderFunc(func(context.Context, []extract.Question) ([]extract.Decision, error) {
			return []extract.Decision{{Action: extract.Update, Known: []int{0}, Content: content}}, nil
		})})
		if err := l.Learn(t.Context(), extract.Turn{Key: "1", Scope: ann, User: "Ann lives in Plaka"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := known(t, m); !slices.Equal(got, want) {
			t.Errorf("%q: known is %q, want %q", content, got, want)
		}
	}
}

// FuzzClaim looks for what makes a check fail, or hold for a word that nobody said.
func FuzzClaim(f *testing.F) {
	f.Add("likes tea", "I like tea", "Hi. I like tea, and \"no\" milk at 3pm on 3 May 2020…")
	f.Add("用户喜欢绿茶", "我喜欢绿茶", "我喜欢绿茶？")
	f.Fuzz(func(t *testing.T, content, evidence, said string) {
		claim := extract.Claim{Content: content, Evidence: evidence, Said: said, User: "ann", At: saturday}
		_ = claim.Check()
		claim.Content += " mallory"
		if !strings.Contains(strings.ToLower(said), "mall") && claim.Check() == nil {
			t.Errorf("%q from %q of %q", claim.Content, evidence, said)
		}
	})
}
