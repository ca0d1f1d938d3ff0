package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

var (
	// says matches a sentence in which users say something of themselves.
	says = regexp.MustCompile(`(?i)^(?:(?:actually|also|and|but|by the way|no|now|oh|so|sorry|well),? )*((?:I|I['’]m|I['’]ve|my|we|our)\b[^?]+?)[ .!]*$`)
	// declines finds a request not to store something. It also finds other sentences; none of them becomes a fact.
	declines = regexp.MustCompile(`(?i)\b(?:(?:not|never|no need|without|(?:do|did|should|must|can|could|would)n['’]?t)\b[^.!?;]*\b(?:remember|stor|sav|keep|kept|record|not(?:e|ing)|learn|memori)\w*` +
		`|off the record|between (?:us|you and me)|to yourself)\b`)
)

// declined returns the words with which a message asks not to store something, or an empty text.
func declined(message string) string { return declines.FindString(message) }

const maxFacts = 5

// Extract is an [extract.ExtractorFunc]. It returns the sentences of the user that begin with "I", "my",
// "we" or "our", at most five. It finds nothing in a turn that asks not to store something.
func Extract(_ context.Context, t extract.Turn) (found []extract.Proposal, err error) {
	if declined(t.User) != "" {
		return nil, nil
	}
	for line := range strings.Lines(t.User) {
		for _, sentence := range sentences(line) {
			if m := says.FindStringSubmatch(sentence); m != nil && len(found) < maxFacts {
				found = append(found, extract.Proposal{Kind: memory.Plain, Content: m[1], Evidence: m[1], Importance: 0.5})
			}
		}
	}
	return found, nil
}

// Verifier supports every fact of [Extract], because Extract copies the user's words.
var Verifier = extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
	return slices.Repeat([]extract.Verdict{{Supported: true}}, len(claims)), nil
})
