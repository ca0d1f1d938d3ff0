package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// shapes match sentences with facts that are worth remembering.
var shapes = []struct {
	kind memory.Kind
	form *regexp.Regexp
}{
	{memory.Preference, regexp.MustCompile(`(?i)^(i|we) prefer\b`)},
	{memory.Relationship, regexp.MustCompile(`(?i)^(my|our) client is\b`)},
	{memory.Context, regexp.MustCompile(`(?i)^(i|we) discussed\b`)},
	{memory.Plain, regexp.MustCompile(`(?i)^(i am|i'm|we are|we're) working on\b`)},
}

var (
	sentence = regexp.MustCompile(`[^.!?\n]+\??`)
	// asking finds a word that marks a request or a question.
	asking = regexp.MustCompile(`(?i)\b(find|show|need|want|how|what|which|quote|order|make)\b|\?`)
)

// Facts returns the facts in a message of a user that are worth remembering. A request or a question has none.
func Facts(said string) (facts []extract.Proposal) {
	for _, text := range sentence.FindAllString(said, -1) {
		text = strings.TrimSpace(text)
		for _, s := range shapes {
			if s.form.MatchString(text) && !asking.MatchString(text) {
				facts = append(facts, extract.Proposal{Kind: s.kind, Content: text, Evidence: text, Importance: 0.5})
			}
		}
	}
	return facts
}

// withoutFacts returns a text without the sentences that are facts.
func withoutFacts(said string) string {
	return sentence.ReplaceAllStringFunc(said, func(text string) string {
		if len(Facts(text)) > 0 {
			return " "
		}
		return text
	})
}

// Extractor finds facts in a turn by rules, without a model.
var Extractor = extract.ExtractorFunc(func(_ context.Context, t extract.Turn) ([]extract.Proposal, error) {
	return Facts(t.User), nil
})

// Verifier supports every claim, since [Extractor] copies the user's words.
var Verifier = extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
	return slices.Repeat([]extract.Verdict{{Supported: true}}, len(claims)), nil
})
