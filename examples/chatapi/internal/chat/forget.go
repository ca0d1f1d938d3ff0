package chat

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/tools"
)

// ForgetTool is the name of the tool that deletes facts about the user.
const ForgetTool = "forget_memory"

// A Forgotten is the result of forget_memory: the deleted facts, and the texts that match no fact.
type Forgotten struct {
	Forgotten []string `json:"forgotten"`
	// More is the number of deleted facts that Forgotten does not list.
	More     int      `json:"more,omitempty"`
	NotFound []string `json:"not_found,omitempty"`
	// Stays says where the words of the facts remain.
	Stays string `json:"stays"`
}

const stays = "Conversations in which the facts were said still have the words, until they are deleted."

// pending is the warning to a user while turns wait to be learned.
const pending = "Some earlier messages are still to be learned, and may bring a fact back. Ask again later."

type forgetIn struct {
	Facts      []string `json:"facts,omitempty" jsonschema:"the facts to forget, each copied exactly from the field content of recall_memory"`
	Everything bool     `json:"everything,omitempty" jsonschema:"true only if the user asks to forget everything"`
	Scope      tools.Bound[memory.Scope]
}

func (s *Service) forgetTool() tools.Tool {
	t := tools.New(ForgetTool, "Deletes facts about the user from the memory, for ever. Use it only when the user asks to forget something, after recall_memory. "+
		"Tell the user which facts were forgotten, and what stays.", s.forget)
	return tools.Preview(t.Annotate(tools.Annotations{Title: titles[ForgetTool], Destructive: true}), s.toForget)
}

// maxNamed limits the facts that a result lists, so that an answer has room for them.
const maxNamed = 100

// settling limits the time for which settle waits for queued turns. A turn that is learned later may bring
// a fact back.
const settling = 5 * time.Second

// A preview shows the user the effect of a call before it runs.
type preview struct {
	Facts []string `json:"will_be_forgotten"`
	More  int      `json:"more,omitempty"`
	Stays string   `json:"stays"`
}

// toForget returns the preview of a call. If the call names no known fact, it returns an error, which the
// model receives.
func (s *Service) toForget(ctx context.Context, in forgetIn) (preview, error) {
	ids, out, err := s.find(ctx, in)
	if err == nil && len(ids) == 0 && !in.Everything {
		err = errors.New("no fact has these texts: copy them from the field content of recall_memory")
	}
	return preview{out.Forgotten, out.More, out.Stays}, err
}

// find returns the ids of the facts that a call selects, and a result that lists them.
func (s *Service) find(ctx context.Context, in forgetIn) (ids []string, out Forgotten, err error) {
	out.Forgotten, out.Stays = []string{}, stays
	found := map[string]bool{}
	for f, err := range s.Facts(ctx, in.Scope.Value()) {
		if err != nil {
			return nil, out, err
		}
		asked := slices.ContainsFunc(in.Facts, func(text string) bool { return strings.TrimSpace(text) == f.Content })
		if asked || in.Everything {
			ids, found[f.Content] = append(ids, f.ID), true
			if len(out.Forgotten) < maxNamed {
				out.Forgotten = append(out.Forgotten, f.Content)
			}
		}
	}
	out.More = len(ids) - len(out.Forgotten)
	for _, text := range in.Facts {
		if !found[strings.TrimSpace(text)] {
			out.NotFound = append(out.NotFound, text)
		}
	}
	return ids, out, nil
}

func (s *Service) forget(ctx context.Context, in forgetIn) (Forgotten, error) {
	settled := s.settle(ctx)
	ids, out, err := s.find(ctx, in)
	if !settled {
		out.Stays += " " + pending
	}
	if err == nil && in.Everything {
		_, err = s.erase(ctx, in.Scope.Value(), nil)
	} else if err == nil && len(ids) > 0 {
		_, err = s.erase(ctx, in.Scope.Value(), ids)
	}
	return out, err
}

// erase removes the facts with the ids, all facts that they superseded, and the histories of these facts.
// With nil ids it removes all facts of the scope. With ids, n does not count the superseded facts. erase
// removes superseded facts first, the oldest before the others: if it fails, the next call with the same
// ids still finds the remaining ones.
func (s *Service) erase(ctx context.Context, scope memory.Scope, ids []string) (n int, err error) {
	q := memory.FactQuery{Reach: scope.Only(), Untrusted: true, Closed: true}
	if ids == nil {
		return s.memory.Erase(ctx, q)
	}
	older, err := s.replaced(ctx, q, ids)
	if err != nil {
		return 0, err
	}
	for q.IDs = range slices.Chunk(older, memory.MaxBatch) {
		if _, err := s.memory.Erase(ctx, q); err != nil {
			return 0, err
		}
	}
	for q.IDs = range slices.Chunk(ids, memory.MaxBatch) {
		removed, err := s.memory.Erase(ctx, q)
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// replaced returns the ids of the facts that the given facts superseded, directly or through others, the oldest first.
func (s *Service) replaced(ctx context.Context, q memory.FactQuery, by []string) (ids []string, err error) {
	older := map[string][]string{}
	q.Limit = -1
	for f, err := range s.memory.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if f.SupersededBy != "" {
			older[f.SupersededBy] = append(older[f.SupersededBy], f.ID)
		}
	}
	for len(by) > 0 {
		next := older[by[0]]
		delete(older, by[0])
		ids, by = append(ids, next...), append(slices.Clone(by[1:]), next...)
	}
	slices.Reverse(ids)
	return ids, nil
}

// settle learns the queued turns, so that no deleted fact comes back. It reports whether it learned them
// in time. The queue has the turns of all users.
func (s *Service) settle(ctx context.Context) bool {
	if s.learner == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	err := s.learner.Drain(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "turns are still to be learned while a user forgets", "error", err)
	}
	return err == nil
}

// Facts yields the facts that are known in a scope, the newest first.
func (s *Service) Facts(ctx context.Context, scope memory.Scope) iter.Seq2[memory.Fact, error] {
	if s.memory == nil {
		return func(func(memory.Fact, error) bool) {}
	}
	return s.memory.List(ctx, memory.FactQuery{Reach: scope.Only(), Untrusted: true, Limit: -1})
}

// ForgetFacts deletes one fact of a scope, or all facts if the id is empty, and returns their number.
// warning says why a fact may come back, or is empty.
func (s *Service) ForgetFacts(ctx context.Context, scope memory.Scope, id string) (n int, warning string, err error) {
	if s.memory == nil {
		return 0, "", nil
	}
	if !s.settle(ctx) {
		warning = pending
	}
	var ids []string
	if id != "" {
		ids = []string{id}
	}
	n, err = s.erase(ctx, scope, ids)
	if id != "" && errors.Is(err, memory.ErrInvalid) { // no fact has such an id
		return 0, warning, nil
	}
	return n, warning, err
}

// forgets reports whether messages call forget_memory. The turn is then not learned.
func forgets(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == ForgetTool })
	})
}
