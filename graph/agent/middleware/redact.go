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
func Redact(detectors ...Detector) agent.Middleware {
	return agent.Middleware{Name: "redact", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		r := &redaction{detectors: detectors, placeholders: map[string]string{}, counts: map[string]int{}}
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
// stored. It does not change the arguments of tool calls. The data was already streamed.
func RedactReplies(detectors ...Detector) agent.Middleware {
	return agent.Middleware{Name: "redact replies", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		reply, err := next(ctx, c)
		if err == nil {
			calls := reply.Message.ToolCalls
			r := &redaction{detectors: detectors, placeholders: map[string]string{}, counts: map[string]int{}}
			reply.Message = mapTexts(reply.Message, r.hide)
			reply.Message.ToolCalls = calls
		}
		return reply, err
	}}
}

// A redaction maps values to placeholders in one request.
type redaction struct {
	detectors    []Detector
	placeholders map[string]string
	counts       map[string]int // by kind
	values       []string       // pairs of a placeholder and its value
}

func (r *redaction) hide(text string) string {
	for _, d := range r.detectors {
		text = d.Pattern.ReplaceAllStringFunc(text, func(value string) string {
			if d.Valid != nil && !d.Valid(value) {
				return value
			}
			p := r.placeholders[value]
			if p == "" {
				r.counts[d.Kind]++
				p = fmt.Sprintf("[%s_%d]", d.Kind, r.counts[d.Kind])
				r.placeholders[value] = p
				r.values = append(r.values, p, value)
			}
			return p
		})
	}
	return text
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
