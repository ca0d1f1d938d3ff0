// Package offline has a model and an extractor that need no key and no network, so that the example runs
// anywhere. The model has rules for a few forms of messages. A rule chooses a tool, and answers with the
// result of the tool. For a message of another form, the answer lists the forms. Like a language model, it
// sees only the request: the messages, the results of tools, and the offered tools.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
)

// Model is the offline model. Pace is the wait before each word of an answer. Zero means
// no wait. A Model is safe for concurrent use.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// A step is a tool call that was made for the message, and its answer.
type step struct {
	tool, answer string
	failed       bool
}

// A talk is a parsed request: the last message of the user, the tools, and the tool calls after the
// message.
type talk struct {
	message string
	tools   []string // that may be called
	steps   []step
}

// read parses a request. A request may offer tools and forbid to call them.
func read(r llm.Request) (t talk) {
	if r.ToolChoice.Mode != llm.ToolsNone {
		for _, spec := range r.Tools {
			t.tools = append(t.tools, spec.Name)
		}
	}
	names := map[string]string{}
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleUser:
			t.message, t.steps = strings.Join(strings.Fields(m.Text()), " "), nil
		case llm.RoleAssistant:
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
		case llm.RoleTool:
			t.steps = append(t.steps, step{names[m.ToolCallID], m.Text(), m.Status == llm.StatusError})
		}
	}
	return t
}

// The forms of messages, without a greeting.
var (
	greeting = regexp.MustCompile(`(?i)^(?:(?:hi|hello|please)[,!.]* +)+`)
	remember = regexp.MustCompile(`(?i)^remember that ([^?]+?)[ .!]*$`)
	// A reason may follow: "Forget my allergy, I don't have it anymore".
	forget     = regexp.MustCompile(`(?i)^forget (.+?)(?:, i\b.*)?[ .!]*$`)
	everything = regexp.MustCompile(`(?i)^everything(?: you know)?(?: about me)?$`)
	ofAccount  = regexp.MustCompile(`(?i)^(?:(?:,? and )?(?:what is my (?:plan|usage)|what are my preferences|which plan am i on|how many requests did i use))+\?*$`)
	ofAll      = regexp.MustCompile(`(?i)^what do you know about me\?*$`)
	asks       = regexp.MustCompile(`(?i)\?$|^(?:who|what|when|where|which|how)\b`)
)

const honest = "Rules answer here, and no language model (set a key in the environment to choose one)."

// Forms lists the forms of messages. It ends the answer to a message of another form.
const Forms = `Say one thing in a message, such as "Remember that …", "Forget …", "What do you know about me?" or "What is my plan?", or ask in words of your facts or documents.`

// reply returns the next message: a tool call or the answer.
func reply(r llm.Request) llm.Message {
	t := read(r)
	request := greeting.ReplaceAllString(t.message, "")
	kept, gone, not := remember.FindStringSubmatch(request), forget.FindStringSubmatch(request), declined(t.message)
	switch n := len(t.steps); {
	case n > 0 && t.steps[n-1].failed:
		return llm.Assistant(failure(t.steps[n-1].answer))
	case len(t.tools) == 0:
		return llm.Assistant(fmt.Sprintf("You said: %.200q. %s I have no memory and no documents here, so there is nothing that I can look up.", t.message, honest))
	case not != "":
		return llm.Assistant(fmt.Sprintf("I keep no fact of this message, because it says %q. What I know already stays: say \"forget\" with words of it to remove it. "+
			"The conversation has the message until it is deleted. If you asked something, ask it in another message.", not))
	case len(sentences(request)) > 1: // no rule handles several sentences
	case kept != nil:
		return t.remember(kept[1])
	case gone != nil:
		return t.forget(gone[1])
	case ofAccount.MatchString(request):
		return t.account()
	case ofAll.MatchString(request):
		return t.tellAll()
	case asks.MatchString(request) && len(keywords(request)) > 0:
		return t.lookUp(request)
	}
	return llm.Assistant(fmt.Sprintf("You said: %.200q. %s %s", t.message, honest, Forms))
}

// account answers with the plan, the usage and the preferences of the user, after a call of the tool that reads them.
func (t talk) account() llm.Message {
	if answer, called := t.answerOf(agentmemory.ContextTool); called {
		return llm.Assistant(answer)
	}
	return t.call(agentmemory.ContextTool, map[string]any{})
}

// failure says why a call of a tool failed.
func failure(answer string) string {
	if strings.Contains(answer, "rejected") {
		return "Nothing was forgotten."
	}
	return "That did not work: " + answer
}

// answerOf returns the answer of a tool, and whether it was called.
func (t talk) answerOf(tool string) (answer string, called bool) {
	i := slices.IndexFunc(t.steps, func(s step) bool { return s.tool == tool })
	if i < 0 {
		return "", false
	}
	return t.steps[i].answer, true
}

func (t talk) call(tool string, arguments map[string]any) llm.Message {
	data, err := json.Marshal(arguments)
	if err != nil {
		return llm.Assistant("I can not write the call of " + tool + ".")
	}
	return llm.Assistant("", llm.ToolCall{ID: fmt.Sprintf("call_%d", len(t.steps)+1), Name: tool, Arguments: data})
}
