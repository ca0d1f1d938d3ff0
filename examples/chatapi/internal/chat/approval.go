package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// heard is what the user has said in this turn.
type heard string

// approval makes [ForgetTool] ask, because nothing brings a fact back. It does not ask about facts that the user has
// named in a request to forget.
func approval() tools.Options {
	return tools.Options{
		Bind: tools.Bindings{tools.Bind(func(_ context.Context, v state.View) (heard, error) { return said(v), nil })},
		Approval: tools.Approval{
			Rule: tools.Named(ForgetTool),
			Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
				if words, _ := tools.BoundFrom[heard](ctx); named(string(words), q) {
					return q.Approve(), nil
				}
				return agent.Approval.WaitKey(ctx, key, q)
			},
		},
	}
}

// said returns the words of the user since the last answer.
func said(v state.View) heard {
	var parts []string
	for _, m := range agent.Messages.All(v) {
		switch {
		case m.Role == llm.RoleUser && !m.Relayed():
			parts = append(parts, m.Text())
		case m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			parts = nil
		}
	}
	return heard(strings.Join(parts, "\n"))
}

// asking finds the words of a request to forget. In other languages than English the tool asks.
var asking = regexp.MustCompile(`(?i)\b(?:forget|delete|erase|remove)\b`)

// named reports whether the user has asked to forget, and has said a word of each fact that a call would forget.
func named(words string, q tools.Question) bool {
	var in forgetIn
	if json.Unmarshal(q.Arguments, &in) != nil || in.Everything || !asking.MatchString(words) {
		return false
	}
	for _, fact := range in.Facts {
		if !share(words, fact) {
			return false
		}
	}
	return true
}

// little are words that name nothing.
const little = " the and are was for not but that this with you your has have had like likes love prefer live from about who what when all "

// share reports whether two texts have a word in common, or words with the same first five letters: "allergy" and
// "allergic".
func share(a, b string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	for _, x := range words(a) {
		for _, y := range words(b) {
			same := x == y || len(x) >= 5 && len(y) >= 5 && x[:5] == y[:5]
			if same && len(x) > 2 && !strings.Contains(little, " "+x+" ") {
				return true
			}
		}
	}
	return false
}

// question returns what a session asks its user, or an empty text.
func question(snap *graph.Snapshot) string {
	open, err := agent.Approval.Open(snap)
	if err != nil || len(open) == 0 {
		return ""
	}
	var about preview
	if err := json.Unmarshal(open[0].Prompt.Preview, &about); err != nil {
		return open[0].Prompt.Text()
	}
	text := "This will forget, for ever:"
	for _, fact := range about.Facts {
		text += "\n- " + tools.VisibleLine(fact)
	}
	if about.More > 0 {
		text += fmt.Sprintf("\nand %d more facts.", about.More)
	}
	return text + "\nAnswer \"yes\" to forget it. Any other message keeps it."
}

// yes is the answer that approves.
var yes = regexp.MustCompile(`(?i)^\s*(?:yes|y|ok)(?:,? please)?[\s.!]*$`)

// answer answers the question that is open in a session. It reports whether the message was the answer: a message that
// is no yes and no plain no is a request of its own.
func (s *Service) answer(ctx context.Context, thread *graph.Thread, text string) (snap *graph.Snapshot, answered bool, err error) {
	if snap, err = thread.Snapshot(ctx); err != nil || len(snap.Pauses) == 0 {
		return nil, false, nil //nolint:nilerr // a session without a state has no question; a store that fails fails the run
	}
	open, err := agent.Approval.Open(snap)
	if err != nil || len(open) == 0 {
		return nil, false, err
	}
	agreed := yes.MatchString(text)
	var writes []state.Write
	for _, one := range open {
		decision := one.Prompt.Reject("The user does not want this.")
		if agreed {
			decision = one.Prompt.Approve()
		}
		writes = append(writes, agent.Approval.Answer(one.ID, decision))
	}
	snap, err = thread.Invoke(ctx, writes...)
	return snap, agreed || no.MatchString(text), err
}

// no is the answer that declines, and says nothing else.
var no = regexp.MustCompile(`(?i)^\s*(?:no|n)(?:,? thanks?)?[\s.!]*$`)
