package kai

import (
	"encoding/json"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// input returns the input of a turn: the user's message, the prompt, and counters at zero. Earlier
// messages are in the checkpoint.
func input(prompt, text string) state.Update {
	return append(fresh(prompt), Messages.Put(llm.User(text)))
}

// fresh returns the input of a turn without the message.
func fresh(prompt string) state.Update {
	return state.Update{
		SystemPrompt.Put(prompt),
		ToolResults.Overwrite(nil), CollectedProducts.Overwrite(nil),
		Iteration.Put(0), InputTokens.Overwrite(0), OutputTokens.Overwrite(0),
		FinalResponse.Put(nil), GenerationJob.Put(nil),
		TurnCount.Put(1),
	}
}

// A ToolResult is the result of a tool call, for programs that read the state.
type ToolResult struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Result string `json:"result"`
	Failed bool   `json:"failed,omitempty"`
}

// A Job is a 3D scene that was generated.
type Job struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Prompt   string   `json:"prompt"`
	Products []string `json:"products"`
	URL      string   `json:"url"`
	// Name and Type are for the page, which shows the scene as a file.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

// document returns the state as one JSON document, with the messages in LangChain's form.
func document(s state.View) (json.RawMessage, error) {
	said, err := llm.ToLangChain(Messages.Get(s))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"messages": json.RawMessage(said), "systemPrompt": SystemPrompt.Get(s), "toolResults": list(ToolResults.Get(s)),
		"collectedProducts": list(CollectedProducts.Get(s)), "iteration": Iteration.Get(s),
		"inputTokens": InputTokens.Get(s), "outputTokens": OutputTokens.Get(s), "turnCount": TurnCount.Get(s),
		"finalResponse": FinalResponse.Get(s), "generationJob": GenerationJob.Get(s),
	})
}

// list returns a copy of l that is never null in JSON.
func list[E any](l []E) []E { return append([]E{}, l...) }
