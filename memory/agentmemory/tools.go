package agentmemory

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/learn"
	"github.com/weft-go/weft/tools"
)

// The names of the tools.
const (
	StoreTool  = "store_memory"
	RecallTool = "recall_memory"
)

// Tools returns the tools of what the options name. They go into the agent's set, and into
// any other that has the scope, and for store_memory is [Kit.Extend]ed.
func (k *Kit) Tools() []tools.Tool {
	if k.options.Facts == nil {
		return nil
	}
	return []tools.Tool{
		tools.New(StoreTool, "Remembers a fact about the user for later conversations. Use it when the user asks you to remember something, or says something that will matter.", k.store),
		tools.New(RecallTool, "Looks up what is known about the user and what was said before.", k.recall),
	}
}

type storeIn struct {
	Content  string       `json:"content" jsonschema:"the fact, one whole sentence that can be understood by itself"`
	Evidence string       `json:"evidence" jsonschema:"the user's own words that say so, exactly as they are"`
	Kind     *memory.Kind `json:"kind,omitempty" jsonschema:"preference, fact, context or relationship; fact if it is left out"`
	Scope    tools.Bound[memory.Scope]
	Said     tools.Bound[words]
}

func (k *Kit) store(ctx context.Context, in storeIn) (string, error) {
	if !learn.Grounded(in.Evidence, string(in.Said.Value())) {
		return "", fmt.Errorf("the user did not say this: %s stores only what the user says, and evidence has to be their words", StoreTool)
	}
	f := memory.Fact{Kind: memory.Plain, Content: in.Content}
	if in.Kind != nil {
		f.Kind = *in.Kind
	}
	stored, err := k.options.Facts.Store(ctx, in.Scope.Value(), f)
	if err != nil {
		return "", err
	}
	if stored[0].Existed {
		return "This was known already.", nil
	}
	return "Remembered.", nil
}

type recallIn struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words"`
	Limit *int   `json:"limit,omitempty" jsonschema:"how many facts at most"`
	Scope tools.Bound[memory.Scope]
}

// maxRecalled is how many facts a model may ask for.
const maxRecalled = 50

func (k *Kit) recall(ctx context.Context, in recallIn) (string, error) {
	ask := k.options.Recall
	ask.Query.Scope, ask.Text = in.Scope.Value(), in.Query
	if in.Limit != nil {
		ask.Query.Limit = min(max(*in.Limit, 1), maxRecalled)
	}
	found, err := k.options.Facts.Recall(ctx, ask)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "Nothing is known about this.", nil
	}
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = line(f.Fact)
	}
	return strings.Join(lines, "\n"), nil
}
