package extract_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann      = memory.Scope{User: "ann"}
	saturday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func newMemory(tb testing.TB) *memory.Memory {
	tb.Helper()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(tb, err)
	return m
}

func newLearner(tb testing.TB, m *memory.Memory, o extract.Options) *extract.Learner {
	tb.Helper()
	l, err := extract.New(m, o)
	require.NoError(tb, err)
	return l
}

// learn learns turns and waits for the result.
func learn(t *testing.T, l *extract.Learner, turns ...extract.Turn) {
	t.Helper()
	for _, turn := range turns {
		require.NoError(t, l.Learn(t.Context(), turn))
	}
	require.NoError(t, l.Drain(t.Context()))
}

// facts returns the valid facts of Ann, including those of Lowest trust.
func facts(tb testing.TB, m *memory.Memory) (list []memory.Fact) {
	tb.Helper()
	for f, err := range m.List(tb.Context(), memory.FactQuery{Reach: ann.Only(), Untrusted: true, Limit: -1}) {
		require.NoError(tb, err)
		list = append(list, f)
	}
	return list
}

// known returns the sorted contents of the facts of Ann, including those of Lowest trust.
func known(tb testing.TB, m *memory.Memory) []string {
	tb.Helper()
	contents := []string{}
	for _, f := range facts(tb, m) {
		contents = append(contents, f.Content)
	}
	slices.Sort(contents)
	return contents
}

// echo proposes each sentence of the user.
var echo = extract.ExtractorFunc(func(_ context.Context, t extract.Turn) ([]extract.Proposal, error) {
	var list []extract.Proposal
	for sentence := range strings.SplitSeq(t.User, ". ") {
		list = append(list, extract.Proposal{Kind: memory.Plain, Content: sentence, Evidence: sentence})
	}
	return list, nil
})

// proposing is an extractor that always returns the same proposals.
func proposing(list ...extract.Proposal) extract.Extractor {
	return extract.ExtractorFunc(func(context.Context, extract.Turn) ([]extract.Proposal, error) { return list, nil })
}

// trusting is a verifier that supports every claim.
var trusting = extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
	return slices.Repeat([]extract.Verdict{{Supported: true}}, len(claims)), nil
})

// deciding is a decider that always returns the same decision.
func deciding(d extract.Decision) extract.Decider {
	return extract.DeciderFunc(func(_ context.Context, qs []extract.Question) ([]extract.Decision, error) {
		return slices.Repeat([]extract.Decision{d}, len(qs)), nil
	})
}

func answer(facts string) llmtest.Reply { return llmtest.Call("answer", `{"facts":[`+facts+`]}`) }
