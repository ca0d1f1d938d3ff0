package middleware

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// A Detector finds personal data of one kind in a text.
type Detector struct {
	// Kind names the kind of data in placeholders, such as EMAIL.
	Kind string
	// Pattern finds candidates.
	Pattern *regexp.Regexp
	// Valid, if not nil, reports whether a candidate is data of this kind.
	Valid func(text string) bool
}

// Personal returns detectors of e-mail addresses, telephone numbers with a country code, payment
// cards, IBANs and IP addresses. They find only data with a fixed form: for names and addresses,
// write your own detector.
func Personal() []Detector {
	return []Detector{
		{"EMAIL", regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`), nil},
		{"IBAN", regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`), validIBAN},
		{"CARD", regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`), validCard},
		{"PHONE", regexp.MustCompile(`\+\d(?:[ ()./-]{0,2}\d){6,14}\b`), nil},
		{"IP", regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b|(?:\b[0-9A-Fa-f]{1,4}|:)(?::[0-9A-Fa-f]{0,4}){2,7}`), func(s string) bool {
			_, err := netip.ParseAddr(s)
			return err == nil && strings.ContainsAny(s, "0123456789")
		}},
	}
}

// validCard checks the digits of a payment card by Luhn's formula.
func validCard(text string) bool {
	sum, n := 0, 0
	for _, r := range slices.Backward([]byte(text)) {
		if r < '0' || r > '9' {
			continue
		}
		d := int(r - '0')
		if n++; n%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return n >= 13 && sum%10 == 0
}

// validIBAN checks the check digits of an IBAN (ISO 7064, mod 97-10).
func validIBAN(text string) bool {
	s := strings.ReplaceAll(text, " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, r := range s[4:] + s[:4] {
		if r >= 'A' {
			rest = (rest*100 + int(r-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(r-'0')) % 97
		}
	}
	return rest == 1
}

// Redact keeps personal data from the model. In each request, it replaces every value that a
// detector finds in the messages by a placeholder such as [EMAIL_1]. Equal values have the same
// placeholder. In the reply it replaces the placeholders by the values, in the text and in the
// arguments of tool calls, so tools and the stored conversation have the values. The streamed
// reply has the placeholders. The system prompt, images and files are not changed.
// The placeholder of a number is a string.
//
// The detectors run in order. A detector does not search the placeholders of earlier detectors. If a
// message already has the text of a placeholder, Redact takes the next number, so that the text stays
// unchanged.
//
// The middleware before Redact in Options.Use sees the values, and so do the models of [Shorten] and
// [SelectTools] there. Sub-agents see the values too: give each sub-agent a Redact. Do not put Redact
// before Shorten: a stored summary would have placeholders, whose numbers change.
func Redact(detectors ...Detector) agent.Middleware {
	return agent.Middleware{Name: "redact", Err: checkDetectors(detectors), WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		r := newRedaction(detectors, c.Request.Messages...)
		messages := slices.Clone(c.Request.Messages)
		for i, m := range messages {
			messages[i] = mapTexts(m, r.hide)
		}
		c.Request.Messages = messages
		reply, err := next(ctx, c)
		if err == nil {
			reply.Message = mapTexts(reply.Message, r.restore)
		}
		return reply, err
	}}
}

// RedactReplies replaces personal data in the replies of the model permanently, before they are
// stored. It does not change the arguments of tool calls and structured answers. The data was
// already streamed.
func RedactReplies(detectors ...Detector) agent.Middleware {
	return agent.Middleware{Name: "redact replies", Err: checkDetectors(detectors), WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		reply, err := next(ctx, c)
		if err == nil {
			calls := reply.Message.ToolCalls
			reply.Message = mapTexts(reply.Message, newRedaction(detectors, reply.Message).hide)
			reply.Message.ToolCalls = calls
		}
		return reply, err
	}}
}

// checkDetectors returns an error for a detector without a pattern.
func checkDetectors(detectors []Detector) error {
	for i, d := range detectors {
		if d.Pattern == nil {
			return fmt.Errorf("detector %d (%s) has no Pattern; set one", i+1, d.Kind)
		}
	}
	return nil
}

// A redaction maps values to placeholders in one request.
type redaction struct {
	detectors    []Detector
	taken        map[string]bool   // texts of the messages that look like placeholders
	placeholders map[string]string // by value
	counts       map[string]int    // by kind
	values       []string          // pairs of a placeholder and its value
}

var placeholder = regexp.MustCompile(`\[[^\[\]\n]{1,100}_\d+\]`)

func newRedaction(detectors []Detector, messages ...llm.Message) *redaction {
	r := &redaction{detectors: detectors, taken: map[string]bool{}, placeholders: map[string]string{}, counts: map[string]int{}}
	take := func(text string) {
		for _, found := range placeholder.FindAllString(text, -1) {
			r.taken[found] = true
		}
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			take(p.Text)
		}
		for _, c := range m.ToolCalls {
			take(string(c.Arguments))
		}
	}
	return r
}

// hide replaces the values in a text by placeholders.
func (r *redaction) hide(text string) string {
	pieces := []string{text} // every second one is a placeholder
	for _, d := range r.detectors {
		var next []string
		for i, piece := range pieces {
			if i%2 == 0 {
				next = append(next, r.split(d, piece)...)
			} else {
				next = append(next, piece)
			}
		}
		pieces = next
	}
	return strings.Join(pieces, "")
}

// split returns the text before the first value of a detector, its placeholder, the text up to the
// next value, and so on.
func (r *redaction) split(d Detector, text string) (pieces []string) {
	end := 0
	for _, at := range d.Pattern.FindAllStringIndex(text, -1) {
		value := text[at[0]:at[1]]
		if value == "" || d.Valid != nil && !d.Valid(value) {
			continue
		}
		pieces = append(pieces, text[end:at[0]], r.replace(d.Kind, value))
		end = at[1]
	}
	return append(pieces, text[end:])
}

// replace returns the placeholder of a value.
func (r *redaction) replace(kind, value string) string {
	if p := r.placeholders[value]; p != "" {
		return p
	}
	for {
		r.counts[kind]++
		p := fmt.Sprintf("[%s_%d]", kind, r.counts[kind])
		if r.taken[p] {
			continue
		}
		r.placeholders[value] = p
		r.values = append(r.values, p, value)
		return p
	}
}

func (r *redaction) restore(text string) string {
	return strings.NewReplacer(r.values...).Replace(text)
}

// mapTexts returns a message with its texts changed, also in the arguments of tool calls.
func mapTexts(m llm.Message, change func(string) string) llm.Message {
	m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	for i, p := range m.Parts {
		if p.Type == llm.PartText {
			m.Parts[i].Text = change(p.Text)
		}
	}
	for i, c := range m.ToolCalls {
		m.ToolCalls[i].Arguments = mapJSON(c.Arguments, change)
	}
	return m
}
