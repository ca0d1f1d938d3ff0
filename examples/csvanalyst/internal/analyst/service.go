package analyst

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvtools"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// historyImages is the maximum number of bytes of earlier images that the model sees again.
const historyImages = 2 << 20

// A Service runs the graph. It is safe for concurrent use, by any number of sessions.
type Service struct {
	records *records.DB
	graph   *graph.Graph
	analyst *analyst
}

// New returns a service that keeps the threads of its graph in the store.
func New(model llm.Model, r *records.DB, f *files.Store, store checkpoint.Store) (*Service, error) {
	set, err := csvtools.New(f.Database)
	if err != nil {
		return nil, err
	}
	a := &analyst{model: model, tools: set, records: r, files: f}
	g, err := initializeGraph(a, store)
	return &Service{r, g, a}, err
}

// Graph returns the graph of the service. The thread of a session has the session's id.
func (s *Service) Graph() *graph.Graph { return s.graph }

// Tools returns the tools that the model can call.
func (s *Service) Tools() []tools.Tool { return s.analyst.tools.Tools() }

// A Turn is a message of a user in a session.
type Turn struct {
	User, Session, Text string
	Images              []records.Image
}

// StreamAgent runs the graph for a message and yields the text of the model in pieces. Together the pieces are
// exactly the stored answer. For an unknown session StreamAgent yields [records.ErrNotFound] and stores nothing.
func (s *Service) StreamAgent(ctx context.Context, t Turn) iter.Seq2[string, error] {
	return Words(s.Run(ctx, t))
}

// Words yields the text of the model in a run.
func Words(chunks iter.Seq2[agent.Chunk, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		message, begun := "", false
		for c, err := range chunks {
			if err != nil {
				yield("", err)
				return
			}
			if c.Kind != agent.ChunkText {
				continue
			}
			text := c.Text
			if begun && c.MessageID != message {
				text = paragraph + text
			}
			message, begun = c.MessageID, true
			if !yield(text, nil) {
				return
			}
		}
	}
}

// Run is like StreamAgent, but yields all chunks of the run. It stores the user's message before the graph starts,
// and deletes the message if the session is busy.
func (s *Service) Run(ctx context.Context, t Turn) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if _, err := s.records.Session(ctx, t.User, t.Session); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		history, err := s.history(ctx, t.Session)
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		row := records.Message{SessionID: t.Session, Role: string(llm.RoleUser), Content: t.Text, Images: t.Images}
		id, err := s.records.CreateMessage(ctx, row)
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		events := s.graph.Thread(t.Session).Stream(ctx,
			sessionID.Put(&t.Session), messages.Put(&history), csvMetadata.Put(&[]csvResource{}),
			currentQuery.Put(&t.Text), currentQueryImages.Put(new(append([]records.Image{}, t.Images...))))
		for c, err := range complete(agent.Chunks(events)) {
			if errors.Is(err, checkpoint.ErrConflict) {
				err = errors.Join(err, s.records.DeleteMessage(context.WithoutCancel(ctx), id))
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Resume resumes a run that did not finish.
func (s *Service) Resume(ctx context.Context, user, session string) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if _, err := s.records.Session(ctx, user, session); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		for c, err := range complete(agent.Chunks(s.graph.Thread(session).Stream(ctx))) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// history returns the earlier messages of a session. It drops old images, because each run stores the state.
func (s *Service) history(ctx context.Context, session string) ([]message, error) {
	rows, err := s.records.Messages(ctx, session)
	if err != nil {
		return nil, err
	}
	out := make([]message, len(rows))
	for i, row := range rows {
		out[i] = message{llm.Role(row.Role), row.Content, row.Images}
	}
	return withoutOldImages(out), nil
}

// withoutOldImages keeps the newest images of a history, up to historyImages bytes.
func withoutOldImages(history []message) []message {
	left := historyImages
	for i := len(history) - 1; i >= 0; i-- {
		all := history[i].Images
		history[i].Images = nil
		for _, image := range all {
			if left -= len(image.Data); left >= 0 {
				history[i].Images = append(history[i].Images, image)
			}
		}
	}
	return history
}

// complete adds the text that the run did not stream: an answer that the model did not write, or that an earlier
// run stored.
func complete(chunks iter.Seq2[agent.Chunk, error]) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		var said strings.Builder
		last := ""
		for c, err := range chunks {
			switch c.Kind {
			case agent.ChunkValue:
				if _, whole := c.Value.(llm.Message); whole {
					continue // a tool result, which has a chunk of its own
				}
			case agent.ChunkText:
				if said.Len() > 0 && c.MessageID != last {
					said.WriteString(paragraph)
				}
				said.WriteString(c.Text)
				last = c.MessageID
			case agent.ChunkEnd:
				tail, ok := tailOf(c.Snapshot, said.String())
				if !ok {
					yield(agent.Chunk{}, fmt.Errorf("analyst: what was streamed is not the answer"))
					return
				}
				rest := agent.Chunk{Kind: agent.ChunkText, Node: "agent", MessageID: last, Text: tail}
				if tail != "" && !yield(rest, nil) {
					return
				}
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// tailOf returns the part of the answer that was not streamed. It returns false if the streamed text is not a part
// of the answer.
func tailOf(snap *graph.Snapshot, said string) (string, bool) {
	all := messages.Get(snap)
	if len(all) == 0 || !snap.Done() {
		return "", true
	}
	answer := all[len(all)-1].Content
	if tail, ok := strings.CutPrefix(answer, said); ok {
		return tail, true
	}
	return "", strings.HasSuffix(answer, said) // an earlier run streamed the beginning
}
