package langchainllm

import (
	"context"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A session gets one reply. Without a [Transport], the library can garble a streamed reply. The
// session then asks once more, without streaming.
type session struct {
	model    *Model
	request  llm.Request
	question question
	yield    func(llm.Chunk, error) bool
	left     bool // the reader has left the loop

	called, answered bool // called: a tool call was yielded; answered: a text or a part was yielded

	shown   strings.Builder // the text that was yielded
	thought bool            // reasoning was yielded
	spent   *llm.Usage      // the usage of an attempt that was discarded
}

// An attempt is the result of one call of the library.
type attempt struct {
	answer   answer
	facts    wire.Facts
	err      error
	streamed bool
}

func (s *session) run(ctx context.Context) error {
	p := s.model.profile
	if p.dialect != wire.None {
		return s.runWired(ctx)
	}
	a := s.ask(ctx, !p.noStream && (!s.question.calls || p.streamTools))
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

// again asks once more, without streaming. The session cannot take back the text that it has
// yielded. If the second answer does not begin with this text, again keeps the yielded text if
// the answer has tool calls, and otherwise returns an error.
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

// judge reports whether to ask again without streaming, or returns the error of an attempt.
func (s *session) judge(ctx context.Context, a *attempt) (again bool, err error) {
	m := s.model
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case a.facts.Failure != nil:
		return false, m.failed(a)
	case a.err != nil:
		return s.judgeError(a)
	}
	if a.streamed {
		return s.judgeStream(a)
	}
	return false, nil
}

func (s *session) judgeError(a *attempt) (again bool, err error) {
	said := a.err.Error()
	if a.streamed && (isPanic(a.err) || strings.Contains(said, "token too long")) {
		return true, nil
	}
	if reason, ok := strings.CutPrefix(said, "completed due to "); ok && s.model.profile.limitFails {
		// The library loses a reply that was cut off. Only the reason is left.
		reason, _, _ = strings.Cut(reason, ".")
		a.err, a.answer = nil, answer{stop: reason}
		return false, nil
	}
	return false, s.model.failed(a)
}

// judgeStream checks that a stream is whole and that the library read it correctly.
func (s *session) judgeStream(a *attempt) (again bool, err error) {
	unsaid := a.answer.stop == "" || strings.HasSuffix(a.answer.stop, "Unspecified")
	lost := stopNamesCalls(a.answer.stop) && len(a.answer.calls) == 0
	switch {
	case !a.answer.sound() || lost:
		return true, nil
	case !strings.HasPrefix(a.answer.text, s.shown.String()):
		return true, nil
	case s.model.profile.saysStop && unsaid && len(a.answer.calls) == 0:
		// The stream can have broken off, which the library reports as success.
		if s.shown.Len() == 0 {
			return true, nil
		}
		return false, s.model.broke("the stream ended and did not say why")
	}
	return false, nil
}

func stopNamesCalls(stop string) bool { return stop == "tool_calls" || stop == "tool_use" }

// show yields a chunk. It reports false if the reader has left the loop.
func (s *session) show(c llm.Chunk) bool {
	switch {
	case c.Text == "" && c.Signature == "":
		return true
	case c.Kind == llm.ChunkReasoning:
		s.thought = true
	default:
		s.shown.WriteString(c.Text)
	}
	if !s.yield(c, nil) {
		s.left = true
	}
	return !s.left
}

// finish yields the rest of an answer.
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
		for _, t := range a.answer.reasoning {
			chunks = append(chunks, llm.Chunk{Kind: llm.ChunkReasoning, Text: t.text, Signature: t.signature})
		}
	}
	if text := a.answer.text[s.shown.Len():]; text != "" {
		chunks = append(chunks, llm.Chunk{Kind: llm.ChunkText, Text: text})
	}
	for _, call := range a.answer.calls {
		chunks = append(chunks, llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: call})
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

// usage returns the usage of an attempt, or nil if the library's numbers are wrong.
func (s *session) usage(a *attempt) *llm.Usage {
	if a.streamed && s.model.profile.wrongUsage {
		return nil
	}
	return a.answer.usage
}
