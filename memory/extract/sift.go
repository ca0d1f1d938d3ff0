package extract

import (
	"errors"
	"math"
	"strings"

	"github.com/weft-go/weft/memory"
)

// sifted is what becomes of the proposals of a turn.
type sifted struct {
	proposals []Proposal
	dropped   []Reason
	quoted    int64 // those of the proposals that are in the user's words now
}

// sift keeps the proposals that can be stored and that the user's words bear out. One that says what they do not
// becomes what they do say.
func (t *Turn) sift(proposals []Proposal) (s sifted) {
	for _, p := range proposals {
		p = p.normal()
		err := t.claim(p.Content, p.Evidence).Check()
		if own := t.own(p.Evidence); err != nil && own != "" && t.claim(own, own).Check() == nil {
			p.Content, err = own, nil
			s.quoted++
		}
		doubt, doubted := errors.AsType[*Doubt](err)
		switch {
		case doubted:
			s.dropped = append(s.dropped, doubt.Reason)
		case t.add(p).Record.Validate() != nil:
			s.dropped = append(s.dropped, Invalid)
		default:
			s.proposals = append(s.proposals, p)
		}
	}
	return s
}

func (t *Turn) claim(content, evidence string) Claim {
	return Claim{Content: content, Evidence: evidence, Said: t.User, User: t.Scope.User, At: t.At}
}

// maxOwn is how long a sentence of the user may be that is stored as it is.
const maxOwn = 500

// own returns the sentence of the user that an evidence is in, without the request to remember it.
func (t *Turn) own(evidence string) string {
	heard := hear(t.User)
	spots := heard.find(evidence)
	if len(spots) == 0 {
		return ""
	}
	for _, sentence := range heard.sentences {
		if !sentence.meets(spots[0]) {
			continue
		}
		text := sentence.of(heard.text)
		if at := asksFor.FindStringIndex(text); at != nil {
			text = text[at[1]:]
		}
		if text = strings.TrimSpace(text); len(text) <= maxOwn {
			return text
		}
	}
	return ""
}

// normal returns the proposal with what a memory takes in the place of what is nearly so.
func (p Proposal) normal() Proposal {
	p.Content = strings.TrimSpace(p.Content)
	p.Kind = kindOf(p.Kind)
	if math.IsNaN(p.Importance) {
		p.Importance = 0
	}
	p.Importance = min(max(p.Importance, 0), 1)
	return p
}

// kindOf returns the kind that a model or a program means.
func kindOf(k memory.Kind) memory.Kind {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(string(k))), "s")
	switch name {
	case "procedure":
		return memory.Procedural
	case "event":
		return memory.Episode
	case "relation":
		return memory.Relationship
	}
	if k = memory.Kind(name); k.Validate() != nil {
		return memory.Plain
	}
	return k
}

// merges reports whether a fact says what two others do, and nothing else.
func merges(content, known, added string) bool {
	s := hear(known + "\n" + added)
	fact := s.read(content)
	return !unseen(content, s.text) && len(s.missing(Claim{}, fact, span{0, len(s.text)})) == 0 &&
		(fact.not > 0) == (s.read(known).not+s.read(added).not > 0)
}
