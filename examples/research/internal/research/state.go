package research

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A Document is the document of a run.
type Document struct {
	ID       string            `json:"id"`
	Text     string            `json:"text"`
	Metadata map[string]string `json:"metadata"`
}

// Status says which steps of a run are done.
type Status struct {
	DocumentLoaded   bool `json:"documentLoaded"`
	ResearchComplete bool `json:"researchComplete"`
	SolutionSought   bool `json:"solutionSought"`
}

// A Finding is the model's answer on a topic. Places are the lines that the model was shown.
type Finding struct {
	Topic    string   `json:"topic"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Places   []string `json:"places"`
}

// State is the state in the form for other programs.
type State struct {
	RFPDocument Document      `json:"rfpDocument"`
	Status      Status        `json:"status"`
	Messages    []WireMessage `json:"messages"`
	Findings    []Finding     `json:"findings"`
	Solution    string        `json:"solution,omitempty"`
	Errors      []string      `json:"errors,omitempty"`
}

// A WireMessage is a message in the form of LangChain: Content is a text or a list.
type WireMessage struct {
	Type    string                     `json:"type"`
	Content json.RawMessage            `json:"content"`
	More    map[string]json.RawMessage `json:"additional_kwargs,omitempty"`
}

// StateOf reads the state of a view.
func StateOf(v state.View) (*State, error) {
	messages, err := wire(Messages.Get(v))
	if err != nil {
		return nil, err
	}
	return &State{
		RFPDocument: RFPDocument.Get(v), Status: Progress.Get(v), Messages: messages,
		Findings: append([]Finding{}, Findings.Get(v)...), Solution: Solution.Get(v), Errors: Errors.Get(v),
	}, nil
}

func wire(messages []llm.Message) ([]WireMessage, error) {
	data, err := llm.ToLangChain(messages)
	if err != nil {
		return nil, fmt.Errorf("research: messages: %w", err)
	}
	var stored []struct {
		Type string      `json:"type"`
		Data WireMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fmt.Errorf("research: messages: %w", err)
	}
	out := make([]WireMessage, len(stored))
	for i, m := range stored {
		out[i] = WireMessage{m.Type, m.Data.Content, m.Data.More}
	}
	return out, nil
}
