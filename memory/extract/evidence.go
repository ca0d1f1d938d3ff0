package extract

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/weft-go/weft/memory"
)

// EvidenceKey is the key in the Metadata of a [memory.Fact] under which a fact's evidence is stored.
// Use [Evidence] to read it.
const EvidenceKey = "weft.evidence"

// maxQuote is the maximum length of a quote in bytes.
const maxQuote = 2000

// A Quote is the evidence of a fact: a verbatim span of the user's words in one turn.
type Quote struct {
	// Conversation and Turn name the turn, as [Turn.Conversation] and [Turn.Number] do.
	Conversation string `json:"conversation,omitempty"`
	Turn         int64  `json:"turn,omitempty"`
	// Text is the span, byte for byte as the user wrote it.
	Text string `json:"quote"`
	// Offset is the byte offset of the span in [Turn.User].
	Offset int `json:"offset"`
}

// Evidence returns the quote that supports a fact. It returns false if the fact has none,
// because no turn was its source.
func Evidence(f memory.Fact) (Quote, bool) {
	var metadata map[string]json.RawMessage
	if len(f.Metadata) == 0 || json.Unmarshal(f.Metadata, &metadata) != nil {
		return Quote{}, false
	}
	var q Quote
	if err := json.Unmarshal(metadata[EvidenceKey], &q); err != nil || q.Text == "" {
		return Quote{}, false
	}
	return q, true
}

// metadata returns the metadata of a fact that has the quote as its evidence.
func (q Quote) metadata() (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(map[string]Quote{EvidenceKey: q})
	return bytes.TrimSpace(b.Bytes()), err
}

// quote returns the first span of the user's words that equals the given words in Unicode NFC
// with each run of white space as one space. It returns false if there is no such span, or if
// the words have only punctuation.
func (t *Turn) quote(words string) (Quote, bool) {
	wanted := strings.TrimSpace(newAligned(words).text)
	if !strings.ContainsFunc(wanted, func(r rune) bool { return !unicode.IsPunct(r) && !unicode.IsSpace(r) }) {
		return Quote{}, false
	}
	said := newAligned(t.User)
	start, end, ok := said.find(wanted)
	if !ok {
		return Quote{}, false
	}
	return Quote{Conversation: t.Conversation, Turn: t.Number, Text: t.User[start:end], Offset: start}, true
}

// aligned is a normalized text with the positions of its characters in the original.
type aligned struct {
	text string
	// For the first byte of each character, starts has the start of the character in the
	// original; for the last byte, ends has its end. Other entries are -1.
	starts, ends []int32
}

// newAligned converts a text to Unicode NFC and replaces each run of white space by one space.
func newAligned(text string) *aligned {
	a := new(aligned)
	var b strings.Builder
	for at := 0; at < len(text); {
		part, size := " ", leadingSpace(text[at:])
		if size == 0 {
			size = max(norm.NFC.NextBoundaryInString(text[at:], true), 1)
			part = norm.NFC.String(text[at : at+size])
		}
		b.WriteString(part)
		for range len(part) {
			a.starts, a.ends = append(a.starts, -1), append(a.ends, -1)
		}
		a.starts[b.Len()-len(part)] = int32(at)
		at += size
		a.ends[b.Len()-1] = int32(at)
	}
	a.text = b.String()
	return a
}

// leadingSpace returns the number of bytes of white space at the beginning of a text.
func leadingSpace(text string) (size int) {
	for size < len(text) {
		r, n := utf8.DecodeRuneInString(text[size:])
		if !unicode.IsSpace(r) {
			break
		}
		size += n
	}
	return size
}

// find returns the first span of the original that has the given words. The span starts and
// ends with whole characters.
func (a *aligned) find(words string) (start, end int, ok bool) {
	for from := 0; ; from++ {
		i := strings.Index(a.text[from:], words)
		if i < 0 {
			return 0, 0, false
		}
		from += i
		if s, e := a.starts[from], a.ends[from+len(words)-1]; s >= 0 && e >= 0 {
			return int(s), int(e), true
		}
	}
}
