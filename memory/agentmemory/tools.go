package agentmemory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/tools"
)

// The names of the tools.
const (
	StoreTool   = "store_memory"
	RecallTool  = "recall_memory"
	ContextTool = "get_user_context"
	SearchTool  = "search_knowledge_base"
)

var toolNames = []string{StoreTool, RecallTool, ContextTool, SearchTool}

// Tools returns the tools of what the options name. They go into the agent's set, and into
// any other that has the scope, and for store_memory is [Kit.Extend]ed.
func (k *Kit) Tools() (list []tools.Tool) {
	if k.options.Facts != nil {
		list = append(list,
			tools.New(StoreTool, "Remembers a fact about the user for later conversations. Use it when the user asks you to remember something, or says something that will matter.", k.store),
			tools.New(RecallTool, "Looks up what is known about the user and what was said before.", k.recall),
		)
	}
	if k.options.Profiles != nil {
		list = append(list, tools.New(ContextTool, "Tells the user's plan, usage and preferences.", k.context))
	}
	if k.options.Knowledge != nil {
		list = append(list, tools.New(SearchTool, "Searches the documents of the organisation. Use it for what they may say: products, rules, procedures.", k.search))
	}
	return list
}

type storeIn struct {
	Content  string       `json:"content" jsonschema:"the fact, one whole sentence in the user's language and own words that can be understood by itself; I and my become the user"`
	Evidence string       `json:"evidence" jsonschema:"the whole clause of the user's last message that says so, copied exactly as it is"`
	Kind     *memory.Kind `json:"kind,omitempty" enum:"preference,fact,context,relationship,episode,procedural" jsonschema:"fact if it is left out"`
	Scope    tools.Bound[memory.Scope]
	Heard    tools.Bound[heard]
}

const keptApart = "Kept apart, and not used yet, as a tool or a file was read in this turn: ask the user to say it once more in their next message, and store it then."

func (k *Kit) store(ctx context.Context, in storeIn) (string, error) {
	scope, heard := in.Scope.Value(), in.Heard.Value()
	claim := extract.Claim{Content: in.Content, Evidence: in.Evidence, Said: heard.said, User: scope.User, At: time.Now()}
	if err := claim.Check(); err != nil {
		return "", fmt.Errorf("nothing was stored, as the user did not say this: %w", err)
	}
	f := memory.Fact{Kind: memory.Plain, Content: strings.TrimSpace(in.Content), Trust: memory.Inferred}
	if in.Kind != nil {
		f.Kind = *in.Kind
	}
	if k.options.Stated {
		f.Trust = memory.Stated
	}
	apart := heard.read && k.options.Confirm == nil
	if apart {
		f.Trust = memory.Untrusted
	} else if heard.read {
		if yes, err := k.options.Confirm(ctx, f); err != nil || !yes {
			return "This is not to be remembered.", err
		}
	}
	stored, err := patient(ctx, k, scope, func(ctx context.Context) ([]memory.Stored, error) { return k.options.Facts.Store(ctx, scope, f) })
	switch {
	case err != nil:
		return "", err
	case apart:
		return keptApart, nil
	case stored[0].Existed:
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
	found, err := patient(ctx, k, ask.Query.Scope, func(ctx context.Context) ([]memory.Found, error) { return k.options.Facts.Recall(ctx, ask) })
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

type contextIn struct {
	Scope tools.Bound[memory.Scope]
}

// context tells what the user's context says, which is the same for all agents.
func (k *Kit) context(ctx context.Context, in contextIn) (string, error) {
	scope := in.Scope.Value()
	scope.Agent = ""
	return patient(ctx, k, scope, func(ctx context.Context) (string, error) { return k.options.Profiles.Summary(ctx, scope) })
}

type searchIn struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words"`
	Scope tools.Bound[memory.Scope]
}

// search looks in what the user's workspace knows, and the user.
func (k *Kit) search(ctx context.Context, in searchIn) (string, error) {
	ask := k.options.Search
	ask.Query.Scope, ask.Query.Inherit, ask.Text = in.Scope.Value(), true, in.Query
	ask.Query.Scope.Agent = ""
	found, err := patient(ctx, k, in.Scope.Value(), func(ctx context.Context) ([]knowledge.Result, error) {
		return k.options.Knowledge.Search(ctx, ask)
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "The documents say nothing about this.", nil
	}
	return knowledge.Prompt(found), nil
}
