package kai_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/internal/proof/questiontest"
)

// judged has the texts that the answer to each question must and must not contain. The text of an answer includes the
// calls that wait.
var judged = map[string]questiontest.Judgement{
	"designer-01": {Right: []string{"5 products", "P052 Swan", "P061 Womb", "P069 Utrecht", "P070 Red and Blue", "P077 Vanity Fair", "4,300 €", "5,200 €", "3,300 €", "3,200 €", "7,300 €"}, Wrong: []string{"P030", "P012"}},
	"designer-02": {Right: []string{"The cheapest of the 5 that I showed", "P070 Red and Blue", "3,200 €"}, Wrong: []string{"P052", "P085"}},
	"designer-03": {Refused: true, Right: []string{`did not understand "chiars"`}, Wrong: []string{"P0", "P1"}},
	"designer-04": {Refused: true, Right: []string{"Tell me which products first"}, Wrong: []string{"createQuote", "submitOrder"}},
	"designer-05": {Refused: true, Right: []string{`did not understand "no"`}, Wrong: []string{"createQuote", "submitOrder", "Quote Q-"}},
	"designer-06": {Right: []string{"4 products", "P064", "P073", "P074", "P075"}, Wrong: []string{"P010", "P068", "P076"}},
	"designer-07": {Right: []string{"4 products", "P035", "P094", "P095", "P106"}, Wrong: []string{"P099", "P093", "P082"}},
	"designer-08": {Right: []string{"P006 Barcelona Chair", "6,900 €", "75 × 75 × 77"}, Wrong: []string{"P141", "did not understand"}},
	"designer-09": {Refused: true, Right: []string{`did not understand "zeig"`, `"schwarze"`}, Wrong: []string{"P0", "P1"}},
	"designer-10": {Right: []string{"P056 PK61", "P111 Cylinda", "3 × P111", "1,860 €"}, Wrong: []string{"P066", "P060", "did not understand"}},
	"designer-11": {Refused: true, Right: []string{"did not understand", `"when"`, `"arrive"`}, Wrong: []string{"P0", "createQuote", "submitOrder"}},
	"designer-12": {Refused: true, Right: []string{"Nothing was ordered: this agent has no tool for it."}, Wrong: []string{"createQuote", "submitOrder", "is submitted"}},
}

// The agent answers each question correctly, or says that it cannot. The questions were written before anybody asked
// the agent one of them.
func TestQuestions(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t).platform(t, offline.Model{})
	for _, q := range questiontest.Of(t, "designer", judged) {
		in := kai.Turn{User: q.Conversation, Workspace: "w", Agent: "kai", Conversation: q.Conversation, Input: q.Text}
		if strings.HasPrefix(q.Setup, "agent scout") {
			in.Agent = "scout"
		}
		got := told(t, p, in)
		refused := false
		for _, refusal := range []string{"did not understand", "no tool for it", "Tell me which products first"} {
			refused = refused || strings.Contains(got, refusal)
		}
		judged[q.ID].Check(t, q, got, refused)
	}
}

// told returns the answer to a turn, and the calls that wait.
func told(t *testing.T, p *kai.Platform, in kai.Turn) string {
	t.Helper()
	r, err := p.Execute(t.Context(), in, nil)
	require.NoError(t, err)
	var b strings.Builder
	if r.Response != nil {
		b.WriteString(*r.Response)
	}
	for _, w := range r.Waits {
		b.WriteString("\n" + w.Question.Tool + " " + string(w.Question.Arguments))
	}
	return b.String()
}

// No condition of a request is dropped silently, and no action is guessed.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t).platform(t, offline.Model{})
	for _, tt := range []struct {
		said  []string
		right []string
		wrong []string
	}{
		{[]string{"wood chairs"}, []string{"18 products", "P015"}, []string{"P085", "P087", "plastic", "steel"}},
		{[]string{"find chairs", "quote 4 of the ninth"}, []string{`"quantity":4`, "createQuote"}, nil},
		{[]string{"find red armchairs", "quote 4 of the ninth"}, []string{"has 5 products, so it has no number 9"}, []string{"createQuote"}},
		{[]string{"find red armchairs", "quote #3"}, []string{`did not understand "#"`}, []string{"createQuote"}},
		{[]string{"find red armchairs", "quote 3"}, []string{`did not understand "3"`}, []string{"createQuote"}},
		{[]string{"find red armchairs", "find chairs of gold velvet", "quote 4 of the second"}, []string{"createQuote"}, nil},
		{[]string{"find red armchairs", "quote 4 of the second and two of the fifth"}, []string{`did not understand "two"`}, []string{"createQuote"}},
		{[]string{"find red armchairs", "quote 4 of the second, but not the wool one"}, []string{`did not understand "not"`}, []string{"createQuote"}},
		{[]string{"find red armchairs", "the cheapest and the most expensive"}, []string{`did not understand "most", "expensive"`}, []string{"The cheapest", "The most expensive"}},
		{[]string{"find red armchairs", "order 2 of the cheapest"}, []string{`"product_id":"P070","quantity":2`}, nil},
		{[]string{"find red armchairs", "quote 2 of them"}, []string{`{"product_id":"P077","quantity":2}`}, nil},
		{[]string{"find chairs and quote all of them"}, []string{"Which of them?"}, []string{"createQuote"}},
		{[]string{"find chairs", "do not quote the first"}, []string{`did not understand "not"`}, []string{"createQuote"}},
		{[]string{"find red armchairs and quote 2 of the Tizio"}, []string{`did not understand "tizio"`}, []string{"createQuote", "P0"}},
		{[]string{"the cheapest and the most expensive lamp"}, []string{`did not understand "most", "expensive"`}, []string{"The cheapest", "The most expensive"}},
		{[]string{"find the cheapest lamp"}, []string{"P095 Eclisse", "The cheapest of the 10 that I showed"}, nil},
		{[]string{"quote 3 of the cosiest oak chair"}, []string{`did not understand "cosiest"`}, []string{"createQuote"}},
		{[]string{"chairs cheaper than last year"}, []string{`did not understand "than"`}, []string{"P0"}},
		{[]string{"find a cosy armchair"}, []string{`did not understand "cosy"`}, []string{"P0"}},
		{[]string{"sofas under $5000"}, []string{`did not understand "under", "$"`}, []string{"P0"}},
		{[]string{"lamps under 300 dollars"}, []string{`did not understand "dollars"`}, []string{"P0"}},
		{[]string{"lamps under 1.100 euros"}, []string{`did not understand "under", "1.100"`}, []string{"P0"}},
		{[]string{"lamps not under 300"}, []string{`did not understand "not"`}, []string{"P0"}},
		{[]string{"lamps under 300, and chairs under 200"}, []string{`did not understand "chairs", "under", "200"`}, []string{"P0"}},
		{[]string{"lamps between 1000 and 1100 euros"}, []string{`did not understand "1000", "1100"`}, []string{"P0"}},
		{[]string{"lamps over 9k"}, []string{`did not understand "9k"`}, []string{"P0"}},
		{[]string{"oak or walnut chairs under 600"}, []string{`did not understand "or", "walnut"`}, []string{"P0"}},
		{[]string{"a sofa, but not leather or wool"}, []string{`did not understand "or", "wool"`}, []string{"P0"}},
		{[]string{"a sofa, not leather and brown"}, []string{`did not understand "brown"`}, []string{"P0"}},
		{[]string{"any sofa but leather"}, []string{`did not understand "but"`}, []string{"P0"}},
		{[]string{"a sofa, but not leather", "and under 9000?"}, []string{`did not understand "and", "under", "9000"`}, []string{"P0"}},
		{[]string{"a sofa, but not leather", "not wool"}, []string{`did not understand "not", "wool"`}, []string{"P0"}},
		{[]string{"find red armchairs", "and lamps?"}, []string{`did not understand "and", "lamps"`}, []string{"P0"}},
		{[]string{"find red armchairs", "quote 2 of the leather"}, []string{"did not understand"}, []string{"createQuote"}},
		{[]string{"find red armchairs", "make a 3D scene of 2 of the first"}, []string{"did not understand"}, []string{"generate3D"}},
		{[]string{"find red armchairs", "make a 3D scene of all of them, but not the first"}, []string{`did not understand "not"`}, []string{"generate3D"}},
		{[]string{"find red armchairs", "which of those is the cheapest and leather"}, []string{"did not understand"}, []string{"P0"}},
		{[]string{"find red armchairs", "no, order it"}, []string{`did not understand "no"`}, []string{"createQuote"}},
		{[]string{"how much are the Swan and the Egg?"}, []string{"No product fits all of this"}, nil},
		{[]string{"chairs and leather sofas"}, []string{`did not understand "sofas"`}, []string{"P0"}},
		{[]string{"non-leather sofas"}, []string{`did not understand "non-leather"`}, []string{"P0"}},
		{[]string{"I don't want a red chair"}, []string{`did not understand "don't"`}, []string{"P0"}},
		{[]string{"lamps not by Castiglioni"}, []string{`did not understand "not"`}, []string{"P0"}},
		{[]string{"metal stools"}, []string{"No product fits all of this: stool; metal."}, []string{"P0"}},
		{[]string{"tables wider than 2 m"}, []string{`did not understand "than", "2"`}, []string{"P0"}},
		{[]string{"a table at most 80 cm wide"}, []string{`did not understand "80"`}, []string{"P0"}},
		{[]string{"a table not wider than 80 cm, not wider than 1 m"}, []string{`did not understand "not", "than", "1"`}, []string{"P0"}},
		{[]string{"chairs from 1950"}, []string{`did not understand "1950"`}, []string{"P0"}},
		{[]string{"chairs from the 1950s"}, []string{`did not understand "1950s"`}, []string{"P0"}},
		{[]string{"lamps from the 1960s"}, []string{`did not understand "1960s"`}, []string{"No product", "P0"}},
		{[]string{"modern-1950s chairs"}, []string{`did not understand "modern-1950s"`}, []string{"P0"}},
		{[]string{"the most expensive lamp"}, []string{`did not understand "most", "expensive"`}, []string{"P0"}},
		{[]string{"how much is the Egg chair?"}, []string{`No product fits all of this: chair; with "egg".`}, []string{"P0"}},
		{[]string{"quote 2 of the Egg chair"}, []string{"No product fits all of this"}, []string{"createQuote"}},
		{[]string{"show me lamps by Castiglioni"}, []string{"P096", "P099", "4 products"}, []string{"P092"}},
		{[]string{"find CH24"}, []string{"P043 Wishbone"}, nil},
		{[]string{"how much does P999 cost"}, []string{`did not understand "p999"`}, nil},
		{[]string{"I need 6 oak chairs under 600"}, []string{`did not understand "6"`}, []string{"P0"}},
		{[]string{"find one chair"}, []string{`did not understand "one"`}, []string{"P0"}},
		{[]string{"Show me dining tables in walnut"}, []string{`did not understand "dining"`}, []string{"P0"}},
		{[]string{"Show me tables in walnut", "quote 2 of the cheapest"}, []string{`"product_id":"P065","quantity":2`}, nil},
		{[]string{"quote six Wishbone chairs"}, []string{`{"items":[{"product_id":"P043","quantity":6}]}`}, nil},
		{[]string{"Quote 6 of the Swan and 2 of the J39"}, []string{`did not understand "2"`}, []string{"createQuote"}},
		{[]string{"quote 2 of P050 and 3 of P999"}, []string{`did not understand "3"`}, []string{"createQuote"}},
		{[]string{"quote 2 of P050 and P042"}, []string{"No product fits all of this"}, []string{"createQuote"}},
		{[]string{"quote 2 oak chairs"}, []string{"Which of them?"}, []string{"createQuote"}},
		{[]string{"quote 0 of P050"}, []string{`did not understand "0"`}, []string{"createQuote"}},
		{[]string{"I need 4 chairs and 1 table"}, []string{`did not understand "4", "1", "table"`}, []string{"P0", "P1"}},
		{[]string{"how much are 6 Wishbone chairs?"}, []string{"6 × P043", "4,140 €"}, []string{"createQuote", "did not understand"}},
		{[]string{"order 2 of P050 and do not quote it"}, []string{`did not understand "not"`}, []string{"createQuote"}},
		{[]string{"what's the weather"}, []string{`did not understand "what's"`, "Rules answer here"}, []string{"P0"}},
		{[]string{"hello"}, []string{`did not understand "hello"`, "Rules answer here"}, []string{"P0"}},
	} {
		got := ""
		for _, text := range tt.said {
			got = told(t, p, kai.Turn{User: "ann", Workspace: "w", Agent: "kai", Conversation: tt.said[0] + tt.said[len(tt.said)-1], Input: text})
		}
		for _, text := range tt.right {
			assert.Contains(t, got, text, "%q", tt.said)
		}
		for _, text := range tt.wrong {
			assert.NotContains(t, got, text, "%q", tt.said)
		}
	}
}
