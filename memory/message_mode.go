package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// Mode selects the messages of a turn that are stored.
type Mode int

// The modes.
const (
	// Full keeps all messages unchanged.
	Full Mode = iota
	// AnswersOnly keeps the texts of the system, the user and the assistant. It leaves out tool calls, tool
	// results, reasoning, and messages of the assistant without text.
	AnswersOnly
)

// String returns the name of the mode.
func (m Mode) String() string {
	switch m {
	case Full:
		return "full"
	case AnswersOnly:
		return "answers only"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

func (m Mode) keep(messages []llm.Message) ([]llm.Message, error) {
	switch m {
	case Full:
		return messages, nil
	case AnswersOnly:
		return Answers(messages), nil
	}
	return nil, fmt.Errorf("%v: %w", m, ErrInvalid)
}

// Answers returns the messages that [AnswersOnly] keeps. It does not change the given messages.
func Answers(messages []llm.Message) []llm.Message {
	var answers []llm.Message
	for _, m := range messages {
		switch m.Role {
		case llm.RoleTool:
			continue
		case llm.RoleAssistant:
			var says bool
			if m, says = answer(m); !says {
				continue
			}
		}
		answers = append(answers, m)
	}
	return answers
}

// answer returns an assistant's message with only its texts, images and files. It returns false if the message has none.
func answer(m llm.Message) (llm.Message, bool) {
	m = m.Clone()
	m.ToolCalls = nil
	if m.StopReason == llm.StopToolCalls {
		m.StopReason = ""
	}
	m.Parts = slices.DeleteFunc(m.Parts, func(p llm.Part) bool {
		return p.Type == llm.PartReasoning || p.Type == llm.PartOther || p.Type == llm.PartText && strings.TrimSpace(p.Text) == ""
	})
	return m, len(m.Parts) > 0
}
