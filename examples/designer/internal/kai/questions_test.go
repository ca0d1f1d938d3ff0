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

// judged says what the answer to each question must and must not contain. The waits of an answer are part of its text.
var judged = map[string]questiontest.Judgement{
	"designer-01": {Right: []string{"5 products", "P052 Swan", "P061 Womb", "P069 Utrecht", "P070 Red and Blue", "P077 Vanity Fair", "4,300 €", "5,200 €", "3,300 €", "3,200 €", "7,300 €"}, Wrong: []string{"P030", "P012"}},
	"designer-02": {Right: []string{"The cheapest of the 5 that I showed", "P070 Red and Blue", "3,200 €"}, Wrong: []string{"P052", "P085"}},
	"designer-03": {Right: []string{"4 products", "P042", "P043", "P050", "P114", `I read "chiars" as "chair"`}, Wrong: []string{"P046", "P031"}},
	"designer-04": {Right: []string{"createQuote", `"product_id":"P050","quantity":8`}, Wrong: []string{"submitOrder", "P043", "P042"}},
	"designer-05": {Right: []string{"createQuote", `"product_id":"P050","quantity":6`}, Wrong: []string{`"quantity":8`, "Quote Q-"}},
	"designer-06": {Right: []string{"4 products", "P064", "P073", "P074", "P075"}, Wrong: []string{"P010", "P068", "P076"}},
	"designer-07": {Right: []string{"4 products", "P035", "P094", "P095", "P106"}, Wrong: []string{"P099", "P093", "P082"}},
	"designer-08": {Right: []string{"P006 Barcelona Chair", "6,900 €", "75 × 75 × 77"}, Wrong: []string{"P141", "did not understand"}},
	"designer-09": {Refused: true, Right: []string{`did not understand "zeig"`, `"schwarze"`}, Wrong: []string{"P0", "P1"}},
	"designer-10": {Right: []string{"P056 PK61", "P111 Cylinda", "3 × P111", "1,860 €"}, Wrong: []string{"P066", "P060", "did not understand"}},
	"designer-11": {Refused: true, Right: []string{"did not understand", `"when"`, `"arrive"`}, Wrong: []string{"P0", "createQuote", "submitOrder"}},
	"designer-12": {Refused: true, Right: []string{"Nothing was ordered: this agent has no tool for it."}, Wrong: []string{"createQuote", "submitOrder", "is submitted"}},
}

// The questions that were written before anybody tried one are answered rightly, or refused honestly.
func TestQuestions(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t).platform(t, offline.Model{})
	for _, q := range questiontest.Of(t, "designer", judged) {
		in := kai.Turn{User: q.Conversation, Workspace: "w", Agent: "kai", Conversation: q.Conversation, Input: q.Text}
		if strings.HasPrefix(q.Setup, "agent scout") {
			in.Agent = "scout"
		}
		got := told(t, p, in)
		judged[q.ID].Check(t, q, got, strings.Contains(got, "did not understand") || strings.Contains(got, "no tool for it"))
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
		{[]string{"wooden chairs"}, []string{"18 products", "P015"}, []string{"P085", "P087", "plastic", "steel"}},
		{[]string{"find chairs", "quote 4 of the ninth"}, []string{`"quantity":4`, "createQuote"}, nil},
		{[]string{"find red armchairs", "quote 4 of the ninth"}, []string{"has 5 products, so it has no number 9"}, []string{"createQuote"}},
		{[]string{"find red armchairs", "quote #3"}, []string{`{"items":[{"product_id":"P052","quantity":1}]}`}, nil},
		{[]string{"find red armchairs", "quote 4 of # 2"}, []string{`"quantity":4`, "createQuote"}, nil},
		{[]string{"find red armchairs", "the cheapest and the most expensive"}, []string{`did not understand "most", "expensive"`}, []string{"The cheapest", "The most expensive"}},
		{[]string{"the cheapest and the most expensive lamp"}, []string{`did not understand "most", "expensive"`}, []string{"The cheapest", "The most expensive"}},
		{[]string{"find red armchairs", "quote 4"}, []string{"Which of them?"}, []string{"createQuote"}},
		{[]string{"find red armchairs", "order 2 of the cheapest"}, []string{`"product_id":"P070","quantity":2`}, nil},
		{[]string{"find red armchairs", "find chairs of gold velvet", "quote 4 of the second"}, []string{"createQuote"}, nil},
		{[]string{"quote 3 of the cosiest oak chair"}, []string{`did not understand "cosiest"`, "nothing was quoted"}, []string{"createQuote"}},
		{[]string{"chairs cheaper than last year"}, []string{`did not understand "cheaper"`, `"year"`}, nil},
		{[]string{"find a cosy armchair"}, []string{`did not understand "cosy", and looked without it`, "armchair"}, nil},
		{[]string{"sofas under $5000"}, []string{`did not understand "under", "$5000"`}, nil},
		{[]string{"lamps under 300 dollars"}, []string{`did not understand "dollars"`}, nil},
		{[]string{"a lamp between 1,000 and 1.100 euros"}, []string{"P098", "P103", "2 products"}, []string{"P101", "P097"}},
		{[]string{"lamps over 9k"}, []string{"P102", "1 product"}, []string{"P096"}},
		{[]string{"oak or walnut chairs under 600"}, []string{"P042", "P050", "2 products"}, []string{"P053"}},
		{[]string{"chairs that are not plastic or leather under 400"}, []string{"P041", "P087", "2 products"}, []string{"P081", "P030"}},
		{[]string{"metal stools"}, []string{"Nothing in the catalogue fits: stool; metal"}, []string{"P0"}},
		{[]string{"tables wider than 2 m"}, []string{`did not understand "wider", "2", "m"`}, nil},
		{[]string{"a table at most 80 cm wide"}, []string{`did not understand "most", "80", "cm", "wide"`}, []string{"P0"}},
		{[]string{"chairs from 1950"}, []string{"P022", "P023", `with "1950"`}, []string{"P049"}},
		{[]string{"the most expensive lamp"}, []string{`did not understand "most", "expensive"`}, []string{"P0"}},
		{[]string{"how much is the Egg chair?"}, []string{"No product fits all of that", "P051 Egg", "7,900 €"}, nil},
		{[]string{"quote 2 of the Egg chair"}, []string{"No product fits all of that", "Nothing was quoted"}, []string{"createQuote"}},
		{[]string{"show me lamps by Castiglioni"}, []string{"P096", "P099", "4 products"}, []string{"P092"}},
		{[]string{"tell me about CH24"}, []string{"P043 Wishbone"}, nil},
		{[]string{"what does P999 cost"}, []string{`did not understand "p999"`}, nil},
		{[]string{"I need 6 oak chairs under 600"}, []string{"P042"}, []string{"did not understand"}},
		{[]string{"Show me dining tables in walnut"}, []string{`did not understand "dining", and looked without it`, "P065 Florence Knoll Table", `1 product ("table" in the name; walnut)`}, []string{"Nothing in the catalogue fits"}},
		{[]string{"Show me tables in walnut", "quote 2 of the cheapest"}, []string{`"product_id":"P065","quantity":2`}, nil},
		{[]string{"Quote 6 of the Series 7 and 2 of the J39"}, []string{`{"items":[{"product_id":"P050","quantity":6},{"product_id":"P114","quantity":2}]}`}, nil},
		{[]string{"Please quote six Wishbone chairs, 2 of P050 and one Tizio lamp"}, []string{`{"items":[{"product_id":"P043","quantity":6},{"product_id":"P050","quantity":2},{"product_id":"P092","quantity":1}]}`}, nil},
		{[]string{"Quote 6 Series 7, 2 J39 and a Tizio lamp"}, []string{`{"product_id":"P114","quantity":2},{"product_id":"P092","quantity":1}]}`}, nil},
		{[]string{"I need 4 chairs and 1 table"}, []string{"Ask for one kind of product at a time"}, []string{"P0", "P1"}},
		{[]string{"I need 4 chairs under 300 and a lamp"}, []string{"Ask for one kind of product at a time"}, []string{"P0", "P1"}},
		{[]string{"find red armchairs", "quote 4 of the second and two of the fifth"}, []string{`{"items":[{"product_id":"P069","quantity":4},{"product_id":"P077","quantity":2}]}`}, nil},
		{[]string{"find red armchairs", "quote 4 of the second and two of the ninth"}, []string{"has 5 products, so it has no number 9"}, []string{"createQuote"}},
		{[]string{"how much are 6 Series 7 and 2 Wishbone chairs?"}, []string{"6 × P050", "2 × P043", "Together: 4,920 €"}, []string{"createQuote", "did not understand"}},
		{[]string{"quote 6 of the Series 7 and 2 of the cosiest sofa"}, []string{`did not understand "cosiest"`, "nothing was quoted"}, []string{"createQuote"}},
		{[]string{"quote 2 of P050 and 3 oak chairs"}, []string{"Which of them?"}, []string{"createQuote"}},
		{[]string{"quote 2 of P050 and 3 of P999"}, []string{`did not understand "p999"`}, []string{"createQuote"}},
		{[]string{"how much are 2 lamps between 250 and 270 euros and 3 Tizio lamps"}, []string{"did not understand"}, []string{"Together", "createQuote"}},
		{[]string{"what's the weather"}, []string{`did not understand "weather"`, "Rules answer here"}, []string{"P0"}},
		{[]string{"hello"}, []string{"Rules answer here"}, []string{"P0"}},
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
