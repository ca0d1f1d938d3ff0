package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// shapes are sentences that say something worth knowing later.
var shapes = []struct {
	kind memory.Kind
	form *regexp.Regexp
}{
	{memory.Preference, regexp.MustCompile(`(?i)\b(i|we) (really |always |usually )?(prefer|like|love|hate|dislike|do not like|don't like)\b`)},
	{memory.Relationship, regexp.MustCompile(`(?i)\b(my|our) (client|contractor|architect|supplier|boss|partner|colleague|customer) (is|are)\b`)},
	{memory.Context, regexp.MustCompile(`(?i)\b(we|i) (talked about|discussed|decided|agreed)\b`)},
	{memory.Plain, regexp.MustCompile(`(?i)\b((i am|i'm|we are|we're) working on|(my|our) (budget|project|office|house|flat|room|deadline) (is|has)|i live in)\b`)},
}

var sentence = regexp.MustCompile(`[^.!?\n]+`)

// A Fact is what a sentence says.
type Fact struct {
	Kind memory.Kind
	Text string
}

// Facts returns what a user's words say that is worth knowing later. A question says nothing.
func Facts(said string) (facts []Fact) {
	for _, at := range sentence.FindAllStringIndex(said, -1) {
		if at[1] < len(said) && said[at[1]] == '?' {
			continue
		}
		text := strings.TrimSpace(said[at[0]:at[1]])
		for _, s := range shapes {
			if s.form.MatchString(text) {
				facts = append(facts, Fact{s.kind, text})
				break
			}
		}
	}
	return facts
}

// withoutFacts returns a text without the sentences that only tell something.
func withoutFacts(said string) string {
	return sentence.ReplaceAllStringFunc(said, func(text string) string {
		if len(Facts(text)) > 0 && !searching.MatchString(text) {
			return " "
		}
		return text
	})
}

// Extractor finds facts in a turn by rules, as a model's extractor does by asking.
var Extractor = extract.ExtractorFunc(func(_ context.Context, t extract.Turn) (list []extract.Proposal, err error) {
	for _, f := range Facts(t.User) {
		list = append(list, extract.Proposal{Kind: f.Kind, Content: f.Text, Evidence: f.Text, Importance: 0.5})
	}
	return list, nil
})

// Verifier supports every fact of [Extractor], which copies the user's words and asks nobody.
var Verifier = extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
	return slices.Repeat([]extract.Verdict{{Supported: true}}, len(claims)), nil
})
