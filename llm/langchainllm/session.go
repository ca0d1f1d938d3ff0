package langchainllm

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A session is one reply: an attempt to stream it and, if the library garbled
// that, another one without streaming.
type session struct {
	model    *Model
	request  llm.Request
	question question
	yield    func(llm.Chunk, error) bool
	left     bool // the reader has left the loop

	shown   strings.Builder // the text that was yielded
	thought bool            // reasoning was yielded
	pending rawCalls
	spent   *llm.Usage // by an attempt that was thrown away
}

// An attempt is what one call of the library came to.
type attempt struct {
	answer   answer
	facts    wire.Facts
	err      error
	streamed bool
}

func (s *session) run(ctx context.Context) error {
	p := s.model.profile
	a := s.ask(ctx, !s.question.calls || p.streamTools)
	if s.left {
		return nil
	}
	again, err := s.judge(ctx, &a)
	if again {
		s.spent = s.usage(&a)
		if a, err = s.again(ctx); s.left {
			return nil
		}
	}
	if err != nil {
		return err
	}
	s.finish(&a)
	return nil
}

// again asks once more, without streaming, and fits the answer to what has been
// shown: a text that was shown stands.
func (s *session) again(ctx context.Context) (attempt, error) {
	a := s.ask(ctx, false)
	if s.left {
		return a, nil
	}
	if _, err := s.judge(ctx, &a); err != nil {
		return a, err
	}
	shown := s.shown.String()
	if strings.HasPrefix(a.answer.text, shown) {
		return a, nil
	}
	if len(a.answer.calls) == 0 {
		return a, s.model.broke("a second answer is not what was shown of the first")
	}
	a.answer.text = shown
	return a, nil
}

// judge says whether an attempt gave an answer, whether to ask again without
// streaming, or what is wrong.
func (s *session) judge(ctx context.Context, a *attempt) (again bool, err error) {
	m := s.model
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case a.facts.Failure != nil:
		return false, m.failed(a)
	case a.err != nil:
		return s.judgeError(a)
	case m.wired && !a.facts.Seen:
		return false, m.refused(errNotWired)
	}
	if a.streamed {
		return s.judgeStream(a)
	}
	return false, nil
}

func (s *session) judgeError(a *attempt) (again bool, err error) {
	said := a.err.Error()
	empty := s.model.profile.emptyFails && strings.HasSuffix(said, "no response")
	panicked := isPanic(a.err)
	tooLong := strings.Contains(said, "token too long")
	if a.streamed && (empty && s.shown.Len() == 0 || panicked || tooLong) {
		return true, nil
	}
	if empty && !a.streamed {
		// The library takes an empty answer for an error.
		a.err, a.answer = nil, answer{stop: "end_turn", usage: a.facts.Usage}
		return false, nil
	}
	if reason, ok := strings.CutPrefix(said, "completed due to "); ok && s.model.profile.limitFails {
		// The library loses a reply that did not come to its end. Why it did not
		// is all that is left.
		reason, _, _ = strings.Cut(reason, ".")
		a.err, a.answer = nil, answer{stop: reason}
		return false, nil
	}
	return false, s.model.failed(a)
}

// judgeStream finds out whether a stream is whole and the library has read it
// rightly.
func (s *session) judgeStream(a *attempt) (again bool, err error) {
	if a.facts.Understood {
		if !a.facts.Complete {
			return false, s.model.broke("the stream broke off before its end")
		}
		if strings.HasPrefix(a.answer.text, s.shown.String()) {
			return false, nil
		}
		return false, s.model.broke("the text that was streamed is not the text of the reply")
	}
	unsaid := a.answer.stop == "" || strings.HasSuffix(a.answer.stop, "Unspecified")
	lost := stopNamesCalls(a.answer.stop) && len(a.answer.calls) == 0
	switch {
	case s.pending.garbled || !a.answer.sound() || lost:
		return true, nil
	case !strings.HasPrefix(a.answer.text, s.shown.String()):
		return true, nil
	case s.model.profile.saysStop && unsaid && len(a.answer.calls) == 0:
		// It may have broken off: the library reports that as success.
		if s.shown.Len() == 0 {
			return true, nil
		}
		return false, s.model.broke("the stream ended and did not say why")
	}
	return false, nil
}

func stopNamesCalls(stop string) bool { return stop == "tool_calls" || stop == "tool_use" }

// show yields a chunk, and reports false when the reader has left.
func (s *session) show(c llm.Chunk) bool {
	switch {
	case c.Text == "" && c.Signature == "":
		return true
	case c.Kind == llm.ChunkReasoning:
		s.thought = true
	case s.model.profile.callsInText && s.pending.take(c.Text):
		// What else comes by this way is shown with the end of the text.
		return true
	default:
		s.shown.WriteString(c.Text)
	}
	if !s.yield(c, nil) {
		s.left = true
	}
	return !s.left
}

// finish yields what has not been shown of an answer.
func (s *session) finish(a *attempt) {
	for _, chunk := range s.rest(a) {
		if !s.yield(chunk, nil) {
			s.left = true
			return
		}
	}
}

func (s *session) rest(a *attempt) []llm.Chunk {
	var chunks []llm.Chunk
	if !s.thought {
		for _, t := range append(a.answer.reasoning, thought{text: a.facts.Reasoning}) {
			if t != (thought{}) {
				chunks = append(chunks, llm.Chunk{Kind: llm.ChunkReasoning, Text: t.text, Signature: t.signature})
			}
		}
	}
	if text := a.answer.text[s.shown.Len():]; text != "" {
		chunks = append(chunks, llm.Chunk{Kind: llm.ChunkText, Text: text})
	}
	for i, call := range a.answer.calls {
		if i < len(a.facts.Signatures) {
			call.Signature = a.facts.Signatures[i]
		}
		chunks = append(chunks, llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: call})
	}
	if a.facts.Stop != "" {
		a.answer.stop = a.facts.Stop
	}
	end := llm.Chunk{Kind: llm.ChunkEnd, Metadata: a.answer.metadata(), Usage: s.usage(a)}
	end.StopReason = stopReason(a.answer.stop, len(a.answer.calls) > 0)
	if end.StopReason == "" && a.answer.text != "" {
		end.StopReason = llm.StopEnd
	}
	if s.spent != nil && end.Usage != nil {
		sum := s.spent.Add(*end.Usage)
		end.Usage = &sum
	}
	return append(chunks, end)
}

// usage prefers what the wire told: the libraries lose half of it.
func (s *session) usage(a *attempt) *llm.Usage {
	if a.facts.Usage != nil {
		return a.facts.Usage
	}
	if a.streamed && s.model.profile.wrongUsage {
		return nil
	}
	return a.answer.usage
}

// rawCalls are pieces of tool calls that a library streams as if they were text,
// with no sign of which call they belong to.
type rawCalls struct {
	seen    bool
	last    string // arguments of the newest call
	garbled bool   // two calls may have been mixed up
}

type rawCall struct {
	Type     *string `json:"type"`
	Function *struct {
		Name      *string `json:"name"`
		Arguments string  `json:"arguments"`
	} `json:"function"`
}

// take reports whether a piece of text is withheld: it is a list of pieces of
// tool calls, or comes after one. A text that only looks like one is shown at
// the end, with the rest of the reply's text.
func (r *rawCalls) take(text string) bool {
	var calls []rawCall
	if !strings.HasPrefix(text, `[{"`) || json.Unmarshal([]byte(text), &calls) != nil {
		return r.seen
	}
	for _, call := range calls {
		if call.Type == nil || call.Function == nil || call.Function.Name == nil {
			return r.seen
		}
	}
	for _, call := range calls {
		if *call.Type == "" && call.Function.Arguments != "" {
			r.last += call.Function.Arguments
			continue
		}
		// The next call begins while the arguments of this one are not whole:
		// the rest of them will be added to the wrong call.
		r.garbled = r.garbled || r.seen && !json.Valid([]byte(r.last))
		r.seen, r.last = true, call.Function.Arguments
	}
	return true
}
