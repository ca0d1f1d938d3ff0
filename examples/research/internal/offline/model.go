// Package offline is a model that needs no key and no network. Its rules quote the sentences of the given passages
// that seem to answer the question. If there are none, the answer says so. Like a language model, it sees the
// messages and nothing else.
package offline

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
)

// Model is the offline model. Pace is the wait before each word of an answer. Zero means
// no wait. A Model is safe for concurrent use.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// ModelName returns the name of the offline models, for traces.
func (Model) ModelName() llm.ModelName { return rules.Model{}.ModelName() }

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// Note ends the first answer to a question in a conversation.
const Note = "Rules answer here, and no language model: they quote sentences of the document, and understand nothing. For a model, set `OPENAI_API_KEY`, or see the README."

// reply answers the last message of the user.
func reply(r llm.Request) llm.Message {
	last := len(r.Messages) - 1
	for ; last >= 0 && r.Messages[last].Role != llm.RoleUser; last-- {
	}
	if last < 0 {
		return llm.Assistant(nothing)
	}
	text := answer(r.Messages[last].Text())
	noted := slices.ContainsFunc(r.Messages[:last], func(m llm.Message) bool { return strings.HasSuffix(m.Text(), Note) })
	if !noted && strings.HasPrefix(r.Messages[last].Text(), "Question: ") {
		text += "\n\n" + Note
	}
	return llm.Assistant(text)
}
