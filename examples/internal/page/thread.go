package page

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// A Session is a line of the list of conversations.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// A Resource is a file of a session.
type Resource struct {
	ID           string `json:"id"`
	OriginalName string `json:"originalName"`
	MIMEType     string `json:"mimeType"`
	SizeBytes    int64  `json:"sizeBytes"`
	// Note says what is in it, or what is odd about it.
	Note string `json:"note,omitempty"`
}

// A Thread is a conversation as the page shows it when it is opened.
type Thread struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Messages []Message `json:"messages"`
	// Waits are the questions that are open.
	Waits []agent.Chunk `json:"waits"`
	// Unfinished says that a run broke off and can be resumed.
	Unfinished bool `json:"unfinished"`
}

// A Message is one of a conversation, with the tool calls that it asked for.
type Message struct {
	ID   string   `json:"id"`
	Role llm.Role `json:"role"`
	Text string   `json:"text"`
	// Images are data URLs, or addresses on this server.
	Images []string `json:"images,omitempty"`
	Calls  []Call   `json:"calls,omitempty"`
}

// A Call is a tool call and what came of it.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Answer    string          `json:"answer"`
	Failed    bool            `json:"failed"`
	Answered  bool            `json:"answered"`
}

// Of returns a thread with its open questions. A nil snapshot is that of a thread
// which has not run.
func Of(id, title string, snap *graph.Snapshot, messages []llm.Message) Thread {
	t := Thread{ID: id, Title: title, Messages: Messages(messages), Waits: []agent.Chunk{}}
	if snap == nil {
		return t
	}
	paused := graph.Paused{Pauses: snap.Pauses}
	events := func(yield func(graph.Event, error) bool) { yield(paused, nil) }
	for c, err := range agent.Chunks(events) {
		if err == nil {
			t.Waits = append(t.Waits, c)
		}
	}
	t.Unfinished = !snap.Done() && len(snap.Pauses) == 0
	return t
}

// Messages returns what users and assistants said, each call with its answer.
func Messages(messages []llm.Message) []Message {
	answers := map[string]llm.Message{}
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			answers[m.ToolCallID] = m
		}
	}
	out := []Message{}
	for _, m := range messages {
		if m.Role != llm.RoleUser && m.Role != llm.RoleAssistant {
			continue
		}
		p := Message{ID: m.ID, Role: m.Role, Text: m.Text()}
		for _, part := range m.Parts {
			if part.Type == llm.PartImage && len(part.Data) > 0 {
				p.Images = append(p.Images, "data:"+part.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(part.Data))
			}
		}
		for _, c := range m.ToolCalls {
			answer, ok := answers[c.ID]
			p.Calls = append(p.Calls, Call{
				ID: c.ID, Name: c.Name, Arguments: c.Arguments,
				Answer: answer.Text(), Answered: ok, Failed: answer.Status == llm.StatusError,
			})
		}
		out = append(out, p)
	}
	return out
}
