package agentmemory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/tools"
)

// The names of the tools.
const (
	StoreTool   = "store_memory"
	RecallTool  = "recall_memory"
	ForgetTool  = "forget_memory" // with Options.Forget
	ContextTool = "get_user_context"
	SearchTool  = "search_knowledge_base"
)

var toolNames = []string{StoreTool, RecallTool, ForgetTool, ContextTool, SearchTool}

// Tools returns the tools for the fields of the options that are set. [Kit.Middleware] has them.
// A graph of your own with the tools also needs [Kit.Bind].
func (k *Kit) Tools() (list []tools.Tool) {
	if k.options.Facts != nil {
		list = append(list,
			tools.New(StoreTool, "Remembers a fact about the user for later conversations. Use it when the user asks you to remember something, or says something that will matter. If the fact corrects a known one, name that one in replaces.", k.store),
			tools.New(RecallTool, "Looks up what is known about the user and what was said before.", k.recall),
		)
	}
	if k.options.Facts != nil && k.options.Forget {
		t := tools.New(ForgetTool, "Removes a fact about the user for ever. Use it only when the user asks you to forget something; look up the fact first if you do not know its exact text.", k.forget)
		list = append(list, t.Annotate(tools.Annotations{Destructive: true}))
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
	Content  string       `json:"content" jsonschema:"the fact, one whole sentence in the user's language that can be understood by itself; it repeats the user's statement and adds nothing"`
	Evidence string       `json:"evidence" jsonschema:"one continuous part of the user's last message that states the fact, copied exactly"`
	Kind     *memory.Kind `json:"kind,omitempty" enum:"preference,fact,context,relationship,episode,procedural" jsonschema:"fact if it is left out"`
	Replaces string       `json:"replaces,omitempty" jsonschema:"only if the user corrects a known fact that is no longer true: the content of that fact, copied exactly"`
	Scope    tools.Bound[memory.Scope]
	Heard    tools.Bound[heard]
}

// keptApart is the result for a fact that is stored with [extract.Lowest] trust.
const keptApart = "Kept apart and not used yet, since a tool or a file was read in this turn: ask the user to repeat it in their next message, and store it then."

// verifyTimeout limits the check of one fact by the verifier.
const verifyTimeout = 30 * time.Second

// store stores a fact with the evidence that the model gives.
func (k *Kit) store(ctx context.Context, in storeIn) (string, error) {
	scope := in.Scope.Value()
	if err := k.check(scope); err != nil {
		return "", err
	}
	f, from, err := k.fact(ctx, in)
	if err != nil {
		return "", fmt.Errorf("nothing was stored: %w", err)
	}
	f.Trust = extract.TrustOf(f, from)
	if from.Mixed && k.options.Confirm != nil {
		if yes, err := k.options.Confirm(ctx, f); err != nil || !yes {
			return "The user does not want this to be stored.", err
		}
		from.Verified = true
		f.Trust = extract.TrustOf(f, from)
	}
	replaces := in.Replaces
	if f.Trust == extract.Lowest || memory.SameText(replaces, f.Content) { // such a fact replaces nothing
		replaces = ""
	}
	stored, err := patient(ctx, k, scope, func(ctx context.Context) (memory.Stored, error) { return k.put(ctx, scope, f, replaces) })
	switch {
	case err != nil:
		return "", err
	case f.Trust == extract.Lowest:
		return keptApart, nil
	case replaces != "":
		return "Remembered. The fact that it replaces is no longer used.", nil
	case stored.Existed:
		return "This was known already.", nil
	}
	return "Remembered.", nil
}

// put stores a fact. If the argument replaces is not empty, put ends the validity of the facts with this text.
func (k *Kit) put(ctx context.Context, scope memory.Scope, f memory.Fact, replaces string) (memory.Stored, error) {
	var old []string
	if replaces != "" {
		for known, err := range k.options.Facts.List(ctx, memory.FactQuery{Reach: scope.Only(), Untrusted: true}) {
			if err != nil {
				return memory.Stored{}, err
			}
			if memory.SameText(known.Content, replaces) {
				old = append(old, known.ID)
			}
		}
		if len(old) == 0 {
			done, err := k.replaced(ctx, scope, f, replaces)
			if err == nil && !done.Existed {
				err = errors.New("nothing was stored: " + unknownFact)
			}
			return done, err
		}
	}
	return k.options.Facts.Supersede(ctx, scope, f, old...)
}

// replaced returns the valid fact that has the text of f and has already replaced a fact whose text is in the argument
// replaces, or a zero Stored. So a call that is repeated after a crash succeeds.
func (k *Kit) replaced(ctx context.Context, scope memory.Scope, f memory.Fact, replaces string) (memory.Stored, error) {
	same, by := map[string]bool{}, []string{}
	for known, err := range k.options.Facts.List(ctx, memory.FactQuery{Reach: scope.Only(), Untrusted: true, Closed: true}) {
		switch {
		case err != nil:
			return memory.Stored{}, err
		case memory.SameText(known.Content, f.Content) && known.ValidTo.IsZero():
			same[known.ID] = true
		case memory.SameText(known.Content, replaces) && known.SupersededBy != "":
			by = append(by, known.SupersededBy)
		}
	}
	for _, id := range by {
		if same[id] {
			return memory.Stored{ID: id, Existed: true}, nil
		}
	}
	return memory.Stored{}, nil
}

// copyContent tells the model how to name a fact.
const copyContent = "copy the content of a fact exactly, as the prompt or recall_memory shows it"

// unknownFact tells the model that no fact has a text that it named.
const unknownFact = "no known fact has this text: " + copyContent

// fact returns the fact of a call with its evidence, and how it was obtained. It returns an
// error if the evidence is not in the user's words, or if the verifier rejects the fact.
func (k *Kit) fact(ctx context.Context, in storeIn) (memory.Fact, extract.Provenance, error) {
	heard := in.Heard.Value()
	from := extract.Provenance{Tool: true, Mixed: heard.mixed}
	turn := extract.Turn{Scope: in.Scope.Value(), Number: heard.turn, User: heard.said, At: time.Now().UTC(), Conversation: threadOf(ctx)}
	p := extract.Proposal{Content: in.Content, Evidence: in.Evidence}
	if in.Kind != nil {
		p.Kind = *in.Kind
	}
	f, err := turn.Fact(p)
	if err != nil || k.options.Verifier == nil {
		return f, from, err
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	verdicts, err := turn.Verify(ctx, k.options.Verifier, f)
	if err != nil {
		return f, from, err
	}
	if !verdicts[0].Supported {
		return f, from, &extract.Rejection{Reason: extract.Refused, Doubt: verdicts[0].Doubt}
	}
	from.Verified = true
	return f, from, nil
}

type recallIn struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words"`
	Limit *int   `json:"limit,omitempty" jsonschema:"how many facts at most"`
	Scope tools.Bound[memory.Scope]
}

// maxRecalled is the largest number of facts that a model can ask for.
const maxRecalled = 50

// recall returns the facts that match a query.
func (k *Kit) recall(ctx context.Context, in recallIn) (string, error) {
	ask := k.options.Recall
	ask.Reach.Scope, ask.Text = in.Scope.Value(), in.Query
	if in.Limit != nil {
		ask.Limit = min(max(*in.Limit, 1), maxRecalled)
	}
	found, err := patient(ctx, k, ask.Reach.Scope, func(ctx context.Context) ([]memory.Hit[memory.Fact], error) {
		return k.options.Facts.Recall(ctx, ask, k.options.Only)
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "Nothing is known about this.", nil
	}
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = formatFact(f.Item)
	}
	return strings.Join(lines, "\n"), nil
}

type contextIn struct {
	Scope tools.Bound[memory.Scope]
}

// context returns the summary of the user's profile, which all agents share.
func (k *Kit) context(ctx context.Context, in contextIn) (string, error) {
	scope := in.Scope.Value()
	scope.Agent = ""
	return patient(ctx, k, scope, func(ctx context.Context) (string, error) {
		c, err := LoadContext(ctx, k.options.Profiles, scope)
		return c.Summary(), err
	})
}

type searchIn struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words"`
	Scope tools.Bound[memory.Scope]
}

// search searches the documents of the user and of the user's workspace.
func (k *Kit) search(ctx context.Context, in searchIn) (string, error) {
	ask := k.options.Search
	ask.Reach.Scope, ask.Reach.Inherit, ask.Text = in.Scope.Value(), true, in.Query
	ask.Reach.Scope.Agent = ""
	found, err := patient(ctx, k, in.Scope.Value(), func(ctx context.Context) ([]memory.Hit[knowledge.Passage], error) {
		return k.options.Knowledge.Search(ctx, ask, k.options.Documents)
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "The documents say nothing about this.", nil
	}
	return knowledge.Prompt(found), nil
}
