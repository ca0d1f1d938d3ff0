package offline

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// tells are beginnings of what users say of themselves. A sentence that begins with I or we may have one later, as in "I
// sold it, my car is now red". It is kept as a whole then.
const tells = `i am|i'm|i’m|i live|i work|i use|i need|i have|i like|i love|i prefer|i hate|i don't like|i do not like|i moved|i have moved|i['’]ve moved|i no longer|my|our|we are|we use|call me`

var (
	// abbreviated finds a title, an initial other than I, or a letter after a stop at the end: "Dr", "J", "e.g".
	abbreviated = regexp.MustCompile(`(?:^|\s)(?:Dr|Mr|Mrs|Ms|St|Prof|[^\P{Lu}I])$|\.\p{L}$`)

	ends = regexp.MustCompile(`[.!;\n]+(?:\s+|$)`)
	says = regexp.MustCompile(`(?i)^(?:(?:well|and|but|so|by the way|also|no|oh|sorry|actually|now),? )*((?:` + tells + `)\b.+|(?:i don['’]t|i do not)\b.+\bany ?more\b.*` +
		`|(?:i|we)\b.+(?:, | and | but )(?:and |but |so |now )*(?:` + tells + `)\b.+)$`)
	// moves matches "I moved the table": something else was moved, and the user lives where before.
	moves   = regexp.MustCompile(`(?i)^i(?: have|['’]ve)? moved (?:the|my|our|it|his|her|their)\b`)
	prefers = regexp.MustCompile(`(?i)^(?:i like|i love|i prefer|i hate|i don't like|i do not like)\b`)
)

const maxFacts = 5

// Extract finds what a user says of themselves: sentences that begin as such sentences do. It is a
// [extract.ExtractorFunc], and gives five facts at most. It finds nothing in a turn that asks not to store something.
func Extract(_ context.Context, t extract.Turn) ([]extract.Proposal, error) {
	if declined(t.User) != "" {
		return nil, nil
	}
	var found []extract.Proposal
	for _, sentence := range statements(t.User) {
		if fact, _, ok := toRemember(sentence); ok {
			sentence = fact
		}
		m := says.FindStringSubmatch(sentence)
		if m == nil || strings.HasSuffix(sentence, "?") || moves.MatchString(m[1]) || len(found) == maxFacts {
			continue
		}
		p := extract.Proposal{Kind: memory.Plain, Content: m[1], Evidence: m[1], Importance: 0.5}
		if prefers.MatchString(m[1]) {
			p.Kind = memory.Preference
		}
		found = append(found, p)
	}
	return found, nil
}

// statements cuts a text behind the stops that end sentences. The stop of an abbreviation ends one if a line or the text
// ends there.
func statements(text string) (list []string) {
	begin := 0
	for _, at := range ends.FindAllStringIndex(text, -1) {
		if within := text[at[0]] == '.' && at[1] < len(text) && !strings.Contains(text[at[0]:at[1]], "\n"); within && abbreviated.MatchString(text[begin:at[0]]) {
			continue
		}
		list = append(list, strings.TrimSpace(text[begin:at[0]]))
		begin = at[1]
	}
	return append(list, strings.TrimSpace(text[begin:]))
}

// Verifier supports every fact of [Extract], which copies the user's words and asks nobody.
var Verifier = extract.VerifierFunc(func(_ context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
	return slices.Repeat([]extract.Verdict{{Supported: true}}, len(claims)), nil
})
