package howto_test

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// retriever stands for a retriever of langchaingo, such as vectorstores.ToRetriever(store, 3).
type retriever struct{}

func (retriever) GetRelevantDocuments(context.Context, string) ([]schema.Document, error) {
	return []schema.Document{{PageContent: "Cups can be sent back within 30 days.", Metadata: map[string]any{"source": "returns.md", "row": 7}}}, nil
}

// docs:begin foreign

// A foreign adapts a Weft model, with its Retry, Limit and Fallback, to the chains of langchaingo.
// It supports texts only. Of the options of a call, it passes on the stop words and the maximum
// number of tokens.
type foreign struct{ model llm.Model }

func (f foreign) GenerateContent(ctx context.Context, in []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var asked llms.CallOptions
	for _, option := range options {
		option(&asked)
	}
	r := llm.Request{Stop: asked.StopWords, MaxTokens: asked.MaxTokens}
	for _, m := range in {
		text := ""
		for _, part := range m.Parts {
			t, ok := part.(llms.TextContent)
			if !ok {
				return nil, fmt.Errorf("a part of the type %T", part)
			}
			text += t.Text
		}
		switch m.Role {
		case llms.ChatMessageTypeSystem:
			r.Messages = append(r.Messages, llm.System(text))
		case llms.ChatMessageTypeAI:
			r.Messages = append(r.Messages, llm.Assistant(text))
		default:
			r.Messages = append(r.Messages, llm.User(text))
		}
	}
	reply, err := llm.Generate(ctx, f.model, r)
	if err != nil {
		return nil, err
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: reply.Text()}}}, nil
}

func (f foreign) Call(ctx context.Context, prompt string, o ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, f, prompt, o...)
}

// docs:end

// Nodes call langchaingo: here a retriever, and a prompt in place of a chain. The state has its own
// type, passage: the numbers in the map[string]any of a schema.Document would change their type in
// the store.
func Example_fromLangchaingo() {
	type passage struct {
		Text   string `json:"text"`
		Source string `json:"source"`
	}
	question, answer := state.Last[string]("question"), state.Last[string]("answer")
	found := state.Last[[]passage]("found")
	model := foreign{llm.Retry(llmtest.NewScript(llmtest.Say("Within 30 days.")), llm.RetryPolicy{})}

	b := graph.New("support", question, found, answer)
	b.Node("retrieve", func(ctx context.Context, s state.View) (state.Update, error) {
		documents, err := retriever{}.GetRelevantDocuments(ctx, question.Get(s))
		if err != nil {
			return nil, err
		}
		passages := make([]passage, len(documents))
		for i, d := range documents {
			source, _ := d.Metadata["source"].(string)
			passages[i] = passage{Text: d.PageContent, Source: source}
		}
		return state.Update{found.Put(passages)}, nil
	})
	b.Node("answer", func(ctx context.Context, s state.View) (state.Update, error) {
		prompt := fmt.Sprintf("Answer %q from %q.", question.Get(s), found.Get(s))
		text, err := llms.GenerateFromSinglePrompt(ctx, model, prompt) // or chains.Run(ctx, chain, prompt)
		return state.Update{answer.Put(text)}, err
	})
	b.Edge(graph.Start, "retrieve")
	b.Edge("retrieve", "answer")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), question.Put("Can I return my cups?")))
	fmt.Println(answer.Get(snap), found.Get(snap)[0].Source)
	// Output: Within 30 days. returns.md
}

var _ schema.Retriever = retriever{}
