package extract

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A Claim is a fact that is said to be in what a user wrote. Its Check is no proof that it is: it keeps
// what somebody else said, in a document or through a tool, from being passed off as the user's,
// and what the user said from being turned into something else.
type Claim struct {
	// Content is the fact, and Evidence are the words that say so, as they were written. Left out words
	// are "…" or "...".
	Content, Evidence string
	// Said is what the user wrote, and nobody else.
	Said string
	// User names the user: a fact may have the name where the user says I. It may be an id, or empty.
	User string
	// At is when it was said. A fact may name the day that yesterday was.
	At time.Time
}

// Reason says why something is not stored as a fact of a user.
type Reason string

// The reasons.
const (
	Unquoted Reason = "unquoted" // the evidence is not what the user wrote
	Asked    Reason = "asked"    // the evidence is a question
	Foreign  Reason = "foreign"  // the user quotes or reports somebody else there
	Turned   Reason = "turned"   // the fact turns round what the user said, or tears it out of a sentence
	Beyond   Reason = "beyond"   // the fact says what the user did not say
	Invalid  Reason = "invalid"  // a memory does not store such a fact
)

// A Doubt is why a [Claim] does not hold. Its text is fit for the model that made the claim.
type Doubt struct {
	Reason Reason
	// Words are those that the fact has and the user did not say, or the other way round.
	Words []string
}

// Error says what to do about it.
func (d *Doubt) Error() string {
	words := strings.Join(d.Words, `", "`)
	switch d.Reason {
	case Unquoted:
		return "the evidence is not what the user wrote in this turn: copy the words of theirs that say so, exactly as they are"
	case Asked:
		return "the evidence is a question of the user, and states nothing"
	case Foreign:
		return "the user quotes or reports there what somebody else says, which is no fact of theirs"
	case Invalid:
		return fmt.Sprintf("the fact or its evidence is too long: write one sentence, and %d bytes at most", maxClaim)
	case Turned:
		if words != "" {
			return fmt.Sprintf("the user's sentence also has %q, and the fact says something else without it", words)
		}
		return "the fact says something else than the user's sentence does: keep its subject and its order"
	}
	if words == "" {
		return "the fact says nothing that the user said"
	}
	return fmt.Sprintf(`the user did not say "%s": write the fact in the user's own words and language, and quote all that says so`, words)
}

// maxClaim is how many bytes a fact may have, and its evidence.
const maxClaim = 2000

// maxSpots is how many places are looked at that have the words of an evidence.
const maxSpots = 8

// Check returns nil if the user's own words say what the fact says, and else a [*Doubt]: every word of the fact that
// means something has to be in the evidence, in another form or as a pronoun, number or date written
// in another way, and what the sentence of the evidence says besides must not change it.
func (c Claim) Check() error {
	if unseen(c.Content, c.Said) {
		return &Doubt{Reason: Beyond}
	}
	if len(c.Content) > maxClaim || len(c.Evidence) > maxClaim {
		return &Doubt{Reason: Invalid}
	}
	heard := hear(c.Said)
	spots := heard.find(c.Evidence)
	if len(spots) == 0 {
		return &Doubt{Reason: Unquoted}
	}
	for _, t := range tokens(c.User) {
		heard.names[t.text] = len(t.text) > 1
	}
	var doubt *Doubt
	for _, at := range spots {
		d := heard.supports(c, at)
		if d == nil {
			return nil
		}
		if doubt == nil {
			doubt = d
		}
	}
	return doubt
}

// unseen reports whether a text has characters that nobody sees, and that are not in another.
func unseen(text, said string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		odd := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t'
		return odd && (!strings.ContainsRune(said, r) || unicode.Is(unicode.Bidi_Control, r)) || r >= 0xE0000 && r < 0xE0200
	})
}

// A speech is what a user wrote.
type speech struct {
	text      string
	words     []token
	sentences []span
	foreign   []span          // what is quoted
	names     map[string]bool // of the user
	glue      map[string]bool
	english   bool
}

func hear(text string) *speech {
	s := &speech{text: text, words: tokens(text), sentences: sentences(text), foreign: foreign(text), names: map[string]bool{}}
	s.glue = glueOf(s.words)
	s.english = s.glue["the"] // which no other language has
	return s
}

// find returns where the words of an evidence are, one after the other.
func (s *speech) find(evidence string) (spots []span) {
	var parts [][]token
	for part := range strings.SplitSeq(strings.ReplaceAll(evidence, "...", "…"), "…") {
		if words := tokens(part); len(words) > 0 {
			parts = append(parts, words)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	for from := 0; len(spots) < maxSpots; from++ {
		first, next := s.after(parts[0], from)
		if first < 0 {
			break
		}
		from = first
		for _, part := range parts[1:] {
			if _, next = s.after(part, next); next < 0 {
				return spots
			}
		}
		at := span{s.words[first].start, s.words[next-1].end}
		if len(parts) == 1 || s.single(at) {
			spots = append(spots, at)
		}
	}
	return spots
}

// after returns where words follow each other, from a place on, and where that ends.
func (s *speech) after(part []token, from int) (first, end int) {
search:
	for i := from; i+len(part) <= len(s.words); i++ {
		for k, t := range part {
			if s.words[i+k].text != t.text {
				continue search
			}
		}
		return i, i + len(part)
	}
	return -1, -1
}

// single reports whether a part of the speech is in one sentence.
func (s *speech) single(at span) bool {
	n := 0
	for _, sentence := range s.sentences {
		if sentence.meets(at) {
			n++
		}
	}
	return n == 1
}

// supports says why the words at a place do not say what a fact says. Each sentence of the fact has to be in one of
// theirs.
func (s *speech) supports(c Claim, at span) *Doubt {
	for _, f := range s.foreign {
		if f.meets(at) {
			return &Doubt{Reason: Foreign}
		}
	}
	said, content := false, people.Replace(c.Content)
	for _, part := range sentences(content) {
		fact := s.read(part.of(content))
		if fact.empty() {
			continue
		}
		said = true
		doubt, held := &Doubt{Reason: Beyond}, false
		for _, sentence := range s.sentences {
			if !sentence.meets(at) {
				continue
			}
			d := s.holds(c, fact, sentence, at)
			if held = held || d == nil; held {
				break
			}
			if doubt.Reason == Beyond && (len(doubt.Words) == 0 || len(d.Words) < len(doubt.Words)) {
				doubt = d
			}
		}
		if !held {
			return doubt
		}
	}
	if !said {
		return &Doubt{Reason: Beyond}
	}
	return nil
}
