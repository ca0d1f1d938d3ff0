package extract_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

func TestTrustByProvenance(t *testing.T) {
	t.Parallel()
	turn := extract.Turn{User: "I  like tea. Bye."}
	same, err := turn.Fact(extract.Proposal{Content: "I like tea.", Evidence: "I  like tea"})
	require.NoError(t, err)
	other, err := turn.Fact(extract.Proposal{Content: "The user likes tea", Evidence: "I  like tea"})
	require.NoError(t, err)
	bare := memory.Fact{Content: "I like tea", Trust: memory.Stated}
	tests := []struct {
		name string
		fact memory.Fact
		from extract.Provenance
		want memory.Trust
	}{
		{"extracted", other, extract.Provenance{}, extract.Lowest},
		{"extracted in the same words", same, extract.Provenance{}, extract.Lowest},
		{"verified", other, extract.Provenance{Verified: true}, memory.Inferred},
		{"verified in the same words", same, extract.Provenance{Verified: true}, memory.Stated},
		{"by a tool", other, extract.Provenance{Tool: true}, memory.Inferred},
		{"by a tool in the same words", same, extract.Provenance{Tool: true}, memory.Inferred},
		{"by a tool, verified", same, extract.Provenance{Tool: true, Verified: true}, memory.Inferred},
		{"by a tool, mixed", same, extract.Provenance{Tool: true, Mixed: true}, extract.Lowest},
		{"by a tool, mixed and verified", other, extract.Provenance{Tool: true, Mixed: true, Verified: true}, memory.Inferred},
		{"without evidence", bare, extract.Provenance{Verified: true}, extract.Lowest},
		{"by a tool without evidence", bare, extract.Provenance{Tool: true, Verified: true}, extract.Lowest},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, extract.TrustOf(test.fact, test.from), test.name)
	}
}

// Lowest must be the level that recall leaves out.
func TestRecallLeavesOutLowestTrust(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	learn(t, newLearner(t, m, extract.Options{Extractor: echo}), extract.Turn{Key: "1", Scope: ann, User: "I like tea"})
	found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "tea"})
	require.NoError(t, err)
	assert.Empty(t, found)
	found, err = m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "tea"}, memory.FactFilter{Untrusted: true})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, extract.Lowest, found[0].Item.Trust)
}

func TestModelVerifier(t *testing.T) {
	t.Parallel()
	turn := extract.Turn{User: "I live in Oslo. \"I hate trains\", says Bob.", At: saturday}
	var list []memory.Fact
	for _, p := range []extract.Proposal{{Content: "The user lives in Oslo", Evidence: "I live in Oslo"}, {Content: "The user hates trains", Evidence: "I hate trains"}} {
		f, err := turn.Fact(p)
		require.NoError(t, err)
		list = append(list, f)
	}
	yes := extract.Verdict{Supported: true}
	refused := func(doubt string) extract.Verdict { return extract.Verdict{Doubt: doubt} }
	tests := []struct {
		name, answer string
		want         []extract.Verdict
	}{
		{"one of each", `{"number":1,"doubt":"none","supported":true},{"number":2,"doubt":"Quotation","supported":false}`, []extract.Verdict{yes, refused("quotation")}},
		{"in another order", `{"number":2,"doubt":"quotation","supported":false},{"number":1,"doubt":"","supported":true}`, []extract.Verdict{yes, refused("quotation")}},
		{"left out", `{"number":1,"doubt":"none","supported":true}`, []extract.Verdict{yes, {}}},
		{"a contradiction", `{"number":1,"doubt":"negation","supported":true},{"number":2,"doubt":"none","supported":false}`, []extract.Verdict{refused("negation"), refused("other")}},
		{"judged twice", `{"number":1,"doubt":"joke","supported":false},{"number":1,"doubt":"none","supported":true},{"number":9,"doubt":"none","supported":true}`, []extract.Verdict{refused("joke"), {}}},
		{"words of the user as doubt", `{"number":1,"doubt":"Oslo is secret","supported":false}`, []extract.Verdict{refused("other"), {}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(llmtest.Call("answer", `{"verdicts":[`+test.answer+`]}`))
			got, err := turn.Verify(t.Context(), extract.NewVerifier(model), list...)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
			require.Len(t, model.Requests(), 1, "one request for all claims")
			text := model.Requests()[0].Messages[1].Text()
			assert.Contains(t, text, `\"I hate trains\", says Bob.`)
			assert.Contains(t, text, "Saturday, 2026-11-21")
			assert.Contains(t, text, "The user lives in Oslo")
		})
	}
}

func TestModelVerifierErrors(t *testing.T) {
	t.Parallel()
	claim := extract.Claim{Content: "x", Quote: "x", Said: "x"}
	down := errors.New("down")
	_, err := extract.NewVerifier(llmtest.NewScript(llmtest.Fail(down))).Verify(t.Context(), []extract.Claim{claim})
	require.ErrorIs(t, err, down)
	_, err = extract.NewVerifier(llmtest.NewScript(llmtest.Call("answer", `{"verdicts":[]}`))).Verify(t.Context(), []extract.Claim{claim})
	require.ErrorIs(t, err, memory.ErrInvalid, "no verdict at all")
	_, err = extract.NewVerifier(llmtest.NewScript()).Verify(t.Context(), []extract.Claim{claim, {Content: "x", Quote: "y", Said: "y"}})
	require.ErrorIs(t, err, memory.ErrInvalid, "two turns")
	verdicts, err := extract.NewVerifier(llmtest.NewScript()).Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, verdicts)
}

// If the verifier fails, nothing is stored. The turn is tried again, and finally parked.
func TestVerifierErrorsAreRetried(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures int
		fail     extract.VerifierFunc
		stats    extract.Stats
		known    []string
	}{
		"twice":  {2, func(context.Context, []extract.Claim) ([]extract.Verdict, error) { return nil, errors.New("down") }, extract.Stats{Learned: 1, Facts: 1, Failed: 2}, []string{"I like tea"}},
		"always": {99, func(context.Context, []extract.Claim) ([]extract.Verdict, error) { return nil, errors.New("down") }, extract.Stats{Parked: 1, Failed: 3}, []string{}},
		"with verdicts": {99, func(context.Context, []extract.Claim) ([]extract.Verdict, error) {
			return []extract.Verdict{{Supported: true}}, errors.New("down")
		}, extract.Stats{Parked: 1, Failed: 3}, []string{}},
		"too few verdicts": {99, func(context.Context, []extract.Claim) ([]extract.Verdict, error) { return nil, nil }, extract.Stats{Parked: 1, Failed: 3}, []string{}},
		"a panic":          {99, func(context.Context, []extract.Claim) ([]extract.Verdict, error) { panic("ouch") }, extract.Stats{Parked: 1, Failed: 1}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, calls := newMemory(t), 0
				verifier := extract.VerifierFunc(func(ctx context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
					if calls++; calls <= test.failures {
						return test.fail(ctx, claims)
					}
					return trusting(ctx, claims)
				})
				l := newLearner(t, m, extract.Options{Extractor: echo, Verifier: verifier, Attempts: 3})
				learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "I like tea"})
				test.stats.Dropped = map[extract.Reason]int64{}
				assert.Equal(t, test.stats, l.Stats())
				assert.Equal(t, test.known, known(t, m))
			})
		})
	}
}
