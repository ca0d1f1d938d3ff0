package server

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// ClientTools is a channel for the tools of a client of the OpenAI or the AG-UI protocol. A graph with this channel
// gets the tools with each run. If the graph has [Options.Input], it must name this channel. If the model calls such a
// tool, the graph must end: the client sends the results as the messages of the next run. The server refuses a request
// with tools to a graph without this channel.
var ClientTools = state.LastWins[[]llm.ToolSpec]("client_tools")

// conversation returns the channel with the messages of a conversation, or "" if the graph has none. It is the channel
// "messages" if that holds a list of messages, or else the first channel that does.
func (s *served) conversation() string {
	if s.channels.messages["messages"] {
		return "messages"
	}
	i := slices.IndexFunc(s.draw.Channels, func(d state.Description) bool { return s.channels.messages[d.Name] })
	if i < 0 {
		return ""
	}
	return s.draw.Channels[i].Name
}

// has reports whether the graph has a channel.
func (s *served) has(channel string) bool {
	return slices.ContainsFunc(s.draw.Channels, func(d state.Description) bool { return d.Name == channel })
}

// withMessages adds new messages of the conversation to the input of a run.
func (s *served) withMessages(input map[string]any, messages []any) error {
	name := s.conversation()
	if !s.takes(name) {
		return invalid("The graph %s takes no messages of clients: Options.Input does not name its channel %q.", s.name, name)
	}
	input[name] = messages
	return nil
}

// withTools adds the tools of a client to the input of a run.
func (s *served) withTools(input map[string]any, specs []llm.ToolSpec) error {
	switch {
	case s.takes(ClientTools.Name()):
		input[ClientTools.Name()] = slices.Concat([]llm.ToolSpec{}, specs) // never null
	case len(specs) > 0:
		return invalid("The graph %s takes no tools of a client: it has no channel %q that clients may write.", s.name, ClientTools.Name())
	}
	return nil
}

// chatGraph returns the graph of an assistant. It returns an error if the graph has no conversation.
func (c *call) chatGraph(assistant string) (*served, error) {
	a, err := c.assistantOf(ActionRead, assistant)
	if err != nil {
		return nil, err
	}
	g := c.s.graphs[a.Graph]
	if g.conversation() == "" {
		return nil, invalid("The graph %s has no channel of messages.", g.name)
	}
	return g, nil
}

// observe calls f for each event of a run until it ends. It cancels the run if the client leaves.
func (c *call) observe(a *activeRun, f func(*runs.Event) error) error {
	log, err := c.s.openLog(c.ctx(), a.thread)
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	before, err := log.before(c.ctx(), a.id)
	if err != nil {
		return err
	}
	err = c.follow(log, a.id, before, func(int64, int64) error { return errTooSlow }, f)
	if err != nil && c.ctx().Err() != nil {
		err = errors.Join(err, c.s.cancelRuns(context.WithoutCancel(c.ctx()), []string{a.id}, false, false))
	}
	return err
}

var errTooSlow = errors.New("the client takes the events of the run too slowly: some are no longer kept")

// openOf returns the open questions of a thread, or none if it does not exist yet.
func (c *call) openOf(thread string) ([]graph.Pause, error) {
	snap, err := c.idleSnapshot(thread)
	if err != nil {
		return nil, err
	}
	return openQuestions(snap), nil
}

// threadID returns the UUID of the thread that a client names by any text. A text that is a UUID is the id itself. Any
// other text means a different thread for each user.
func (c *call) threadID(name string) string {
	if isUUID(name) {
		return name
	}
	return nameID(nameID(oidNamespace, "thread of "+c.user.ID), name)
}
