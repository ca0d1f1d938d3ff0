package analyst

import (
	"context"
	"errors"

	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// Local is the user of a program without authentication.
const Local = "local"

// Conversation returns the graph for a server. It runs the graph of the service as a subgraph, and keeps the
// conversation in [agent.Messages]. These include the tool results, so that a page can show them. The thread is the
// session. [Service.Run] cannot be used for these sessions.
func (s *Service) Conversation() (*graph.Graph, error) {
	b := graph.New("conversation", agent.Messages, sessionID, currentQuery, currentQueryImages)
	b.Node("receive", s.analyst.receive)
	b.SubgraphWith("analyse", s.graph, graph.SubgraphOptions{
		Private: []state.Handle{messages}, // the two graphs have different messages
		Input: func(outer state.View) (state.Update, error) {
			return state.Update{messages.Put(new(before(agent.Messages.Get(outer))))}, nil
		},
		Output: func(_, inner state.View) (state.Update, error) {
			return state.Update{agent.Messages.Put(said.Get(inner)...)}, nil
		},
	})
	b.Edge(graph.Start, "receive")
	b.Edge("receive", "analyse")
	b.Edge("analyse", graph.End)
	return b.Compile(graph.Options{Checkpoints: s.graph.Checkpoints()})
}

// receive takes the newest message as the question, and stores it in the session of the thread.
func (a *analyst) receive(ctx context.Context, s state.View) (state.Update, error) {
	m, ok := agent.Messages.Last(s)
	if !ok || m.Role != llm.RoleUser {
		return nil, errors.New("the last message is not one of a user")
	}
	run, _ := graph.FromContext(ctx)
	user := server.UserID(ctx)
	if user == "" {
		user = Local
	}
	session, err := a.records.EnsureSession(ctx, user, run.Thread)
	if err != nil {
		return nil, err
	}
	text, images := m.Text(), imagesOf(m)
	if err := files.CheckImages(images); err != nil {
		return nil, err
	}
	_, err = graph.Once(ctx, "stored", func(ctx context.Context) (int64, error) {
		return a.records.CreateMessage(ctx, records.Message{SessionID: session.ID, Role: string(llm.RoleUser), Content: text, Images: images})
	})
	return state.Update{sessionID.Put(&session.ID), currentQuery.Put(&text), currentQueryImages.Put(&images)}, err
}

func imagesOf(m llm.Message) []records.Image {
	images := []records.Image{}
	for _, p := range m.Parts {
		if p.Type == llm.PartImage {
			images = append(images, records.Image{Data: p.Data, MIMEType: p.MIMEType})
		}
	}
	return images
}

// before returns the history: the messages before the newest one.
func before(all []llm.Message) []message {
	history := []message{}
	for _, m := range all[:max(0, len(all)-1)] {
		text := m.Text()
		switch last := len(history) - 1; {
		case m.Role == llm.RoleUser:
			history = append(history, message{m.Role, text, imagesOf(m)})
		case m.Role != llm.RoleAssistant || text == "":
		case last >= 0 && history[last].Role == llm.RoleAssistant:
			history[last].Content += paragraph + text
		default:
			history = append(history, message{Role: m.Role, Content: text})
		}
	}
	return withoutOldImages(history)
}
