package middleware

import (
	"context"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A Finding is the result of a [Check]. The zero value lets the text pass.
type Finding struct {
	// Refuse, if not empty, ends the run with this text.
	Refuse string
	// Rewrite, if not empty, replaces the text.
	Rewrite string
	// Feedback, if not empty, makes the model reply again, with the feedback in its request. It
	// has no effect on a message of the user.
	Feedback string
}

// A Check judges a text, for example with rules or with a model.
type Check func(ctx context.Context, text string) (Finding, error)

// Guard checks each message of the user before the agent sees it, and each reply before it is
// stored. Either check may be nil. If a reply with tool calls has a text, the text is checked too.
// If the check refuses it, the tools do not run. Results of tools and structured answers are not
// checked. Removed text of a reply was already streamed. Put Guard first in Options.Use, so that it
// sees replies last.
func Guard(in, out Check) agent.Middleware {
	m := agent.Middleware{Name: "guard"}
	if in != nil {
		m.BeforeAgent = in.begin
	}
	if out != nil {
		m.AfterModel = func(ctx context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
			if reply.Text() == "" {
				return nil, nil
			}
			found, err := out(ctx, reply.Text())
			switch {
			case err != nil:
				return nil, err
			case found.Refuse != "":
				*reply = withText(*reply, found.Refuse)
				return nil, agent.Stop(llm.Message{})
			case found.Feedback != "":
				return state.Update{r.Messages.Put(llm.Relay(found.Feedback))}, agent.Jump(agent.ModelNode)
			case found.Rewrite != "":
				*reply = withText(*reply, found.Rewrite)
			}
			return nil, nil
		}
	}
	return m
}

// begin checks the messages of the user since the last reply.
func (check Check) begin(ctx context.Context, r agent.Run) (update state.Update, err error) {
	messages := r.Messages.Get(r.State)
	for len(messages) > 0 {
		last := messages[len(messages)-1]
		if messages = messages[:len(messages)-1]; last.Role == llm.RoleAssistant {
			break
		}
		if last.Role != llm.RoleUser {
			continue
		}
		found, err := check(ctx, last.Text())
		switch {
		case err != nil:
			return nil, err
		case found.Refuse != "":
			return nil, agent.Stop(llm.Assistant(found.Refuse))
		case found.Rewrite != "":
			update = append(update, r.Messages.Put(withText(last, found.Rewrite)))
		}
	}
	return update, nil
}

// withText returns the message with one text instead of its texts and reasoning.
func withText(m llm.Message, text string) llm.Message {
	parts := []llm.Part{llm.Text(text)}
	for _, p := range m.Parts {
		if p.Type != llm.PartText && p.Type != llm.PartReasoning {
			parts = append(parts, p)
		}
	}
	m.Parts = parts
	return m
}
