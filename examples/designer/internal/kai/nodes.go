package kai

import (
	"context"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// ask calls the model and writes its reply.
func (k *kai) ask(ctx context.Context, s state.View) (state.Update, error) {
	turn, prompt := Iteration.Get(s)+1, SystemPrompt.Get(s)
	var update state.Update
	if last, _ := Messages.Last(s); k.options.Prompt != nil && ofServer(ctx) && last.Role == llm.RoleUser {
		turn, prompt = 1, k.options.Prompt(ctx)
		update = fresh(prompt)
	}
	graph.Emit(ctx, agent.Turn{Agent: "designer", Number: turn, Most: k.options.MaxIterations})
	messages := tools.Repair(Messages.Get(s)) // providers reject a call without an answer
	if prompt != "" {
		messages = append([]llm.Message{llm.System(prompt)}, messages...)
	}
	reply, err := agent.Ask(ctx, k.model, llm.Request{Messages: messages, Tools: k.tools.Specs()})
	if err != nil {
		return nil, err
	}
	update = append(update, Messages.Put(reply), Iteration.Put(turn))
	if reply.Usage != nil {
		update = append(update, InputTokens.Put(reply.Usage.Input), OutputTokens.Put(reply.Usage.Output))
	}
	if len(reply.ToolCalls) > 0 {
		return update, nil
	}
	text := reply.Text()
	update = append(update, FinalResponse.Put(&text))
	if k.options.Kit == nil {
		return update, nil
	}
	// Review enqueues the turn before this step is stored. With a durable queue, a crash cannot lose the turn.
	more, err := k.options.Kit.Review(ctx, s, &reply)
	return append(update, more...), err
}

// shouldContinue returns the node after agent: the end at the limit, tools for a reply with calls, else the end.
func shouldContinue(s state.View, limit int) string {
	last, _ := Messages.Last(s)
	switch {
	case Iteration.Get(s) >= limit:
		return graph.End
	case len(last.ToolCalls) > 0:
		return toolsNode
	}
	return graph.End
}

// critical reports whether a call waits for a person.
func (k *kai) critical(c llm.ToolCall) bool { return slices.Contains(k.options.Critical, c.Name) }

// next sends each call to a separate task. A call that waits for approval does not delay the others,
// and a call with a stored result does not run again.
func (k *kai) next(s state.View) (state.Update, error) {
	if shouldContinue(s, k.options.MaxIterations) == graph.End {
		return nil, nil
	}
	var out state.Update
	last, _ := Messages.Last(s)
	for _, c := range last.ToolCalls {
		node := toolsNode
		if k.critical(c) {
			node = approvalNode
		}
		out = append(out, graph.Send(node, called.Put(c)))
	}
	return out, nil
}

// makeCall runs the sent call. A critical call first waits for its approval.
func (k *kai) makeCall(ctx context.Context, s state.View) (state.Update, error) {
	c := called.Get(s)
	outcome, err := k.tools.Run(ctx, c, k.call)
	if err != nil {
		return nil, err
	}
	result := ToolResult{c.ID, c.Name, outcome.Message.Text(), outcome.Message.Status == llm.StatusError}
	return append(outcome.Update, Messages.Put(outcome.Message), ToolResults.Put(result)), nil
}
