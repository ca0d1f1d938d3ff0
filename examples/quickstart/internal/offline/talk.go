package offline

import (
	"encoding/json"

	"github.com/weft-go/weft/llm"
)

// A talk is the state of a conversation: the present question, the results of its tool
// calls so far, and the context of "it" and "that".
type talk struct {
	want    intent
	results []result
	past    past
}

// past is the context of "it" and "that".
type past struct {
	topic  string // of the last question that named one
	answer string // to the last question
	to     int    // the last line of the last answer of read_lines
}

// result is a call of a tool and its result.
type result struct {
	call   llm.ToolCall
	text   string
	failed bool
}

// read builds the state from the messages.
func read(messages []llm.Message) talk {
	var t talk
	for _, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			t.past = t.remember()
			t.want, t.results = understand(m.Text(), t.past), nil
			t.want.question = m.Text()
		case llm.RoleAssistant:
			for _, c := range m.ToolCalls {
				t.results = append(t.results, result{call: c})
			}
			if text := m.Text(); text != "" {
				t.want.answered = text
			}
		case llm.RoleTool:
			for i := range t.results {
				if t.results[i].call.ID == m.ToolCallID {
					t.results[i].text, t.results[i].failed = m.Text(), m.Status == llm.StatusError
				}
			}
		}
	}
	return t
}

// remember returns the context for the next turn. Notes and greetings do not change it.
func (t talk) remember() past {
	p := t.past
	if t.want.answered == "" || t.want.kind == save || t.want.kind == help {
		return p
	}
	p.topic, p.answer = "", t.want.answered
	if t.want.named {
		p.topic = t.want.topic
	}
	for _, r := range t.results {
		if a, ok := decode[passage](r); ok && r.call.Name == toolRead && len(a.Lines) > 0 {
			p.to = a.Lines[len(a.Lines)-1].Number
		}
	}
	return p
}

// The tools that the rules call, and the types of their results.
const (
	toolSearch  = "search"
	toolFind    = "find_lines"
	toolRead    = "read_lines"
	toolCount   = "count_words"
	toolOutline = "outline"
	toolSave    = "save_note"
)

type line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// found is a result of search.
type found struct {
	File     string   `json:"file"`
	Total    int      `json:"total"`
	Partly   int      `json:"partly"`
	Passages []place  `json:"passages"`
	Missing  []string `json:"missing"`
}

// place is a passage of the file.
type place struct {
	From    int    `json:"from"`
	To      int    `json:"to"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	Best    string `json:"best"`
	Code    bool   `json:"code"`
}

// foundLines is a result of find_lines.
type foundLines struct {
	Total  int    `json:"total"`
	Partly int    `json:"partly"`
	Lines  []line `json:"lines"`
}

type passage struct {
	Of    int    `json:"of"`
	Lines []line `json:"lines"`
	Left  int    `json:"left"`
}

type counted struct {
	From        int   `json:"from"`
	To          int   `json:"to"`
	Lines       int   `json:"lines"`
	Words       int   `json:"words"`
	Characters  int   `json:"characters"`
	Occurrences int   `json:"occurrences"`
	OnLines     []int `json:"on_lines"`
}

type outline struct {
	Headings []line `json:"headings"`
	More     int    `json:"more"`
	Opening  []line `json:"opening"`
}

type saved struct {
	Saved bool   `json:"saved"`
	File  string `json:"file"`
}

func decode[T any](r result) (T, bool) {
	var v T
	return v, !r.failed && json.Unmarshal([]byte(r.text), &v) == nil
}
