package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// maxListed is the greatest number of checkpoints that -history shows.
const maxListed = 50

// list shows the checkpoints of the conversation, newest first, including those of
// other branches.
func (s *session) list(ctx context.Context) error {
	out := s.console
	out.sayf("%-*s  %4s  %-6s  %-19s  %-12s  %s\n", shortID, "checkpoint", "step", "source", "time", "next", "last message")
	follows := "" // the parent of the checkpoint in the line above
	n := 0
	for info, err := range s.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		if n++; n > maxListed {
			continue
		}
		// History reads no states; a snapshot is the state of one checkpoint.
		at, err := s.thread.At(info.ID).Snapshot(ctx)
		if err != nil {
			return err
		}
		if follows != "" && follows != info.ID {
			out.sayf("  (that followed %s)\n", brief(follows))
		}
		follows = info.Parent
		next := strings.Join(info.Next, ",")
		if next == "" {
			next = "-"
		}
		out.sayf("%-*s  %4d  %-6s  %-19s  %-12s  %s\n", shortID, brief(info.ID), info.Step, info.Source,
			info.Time.Local().Format("2006-01-02 15:04:05"), clip(next, 12), lastMessage(at))
	}
	if n > maxListed {
		out.sayf("and %d older ones\n", n-maxListed)
	}
	if waiting := len(s.here.Pauses); waiting > 0 {
		out.line("waits", "for your answer: "+s.command("-resume yes|no"))
	}
	return nil
}

func lastMessage(v state.View) string {
	m, ok := agent.Messages.Last(v)
	switch {
	case !ok:
		return "-"
	case len(m.ToolCalls) > 0:
		return clip("calls "+callNames(m.ToolCalls), 50)
	}
	who := string(m.Role)
	if m.Role == llm.RoleTool {
		who += " " + m.Name
	}
	return clip(who+": "+m.Text(), 50)
}

func callNames(calls []llm.ToolCall) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// shortID is the number of characters of a checkpoint id that are shown.
const shortID = 10

// brief returns the end of an id. The beginning is a time, which is almost the same for
// all checkpoints of a run.
func brief(id string) string {
	return id[max(0, len(id)-shortID):]
}

// goBack sets the session to the checkpoint whose id contains the value of the flag -at.
func (s *session) goBack(ctx context.Context) error {
	var found []string
	for info, err := range s.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		if info.ID == s.at {
			found = []string{info.ID}
			break
		}
		if strings.Contains(info.ID, s.at) {
			found = append(found, info.ID)
		}
	}
	switch len(found) {
	case 0:
		return wrong("conversation %q has no checkpoint %s; -history lists them", s.options.thread, s.at)
	case 1:
	default:
		return wrong("%d checkpoints of conversation %q have %s in their id; give more of it", len(found), s.options.thread, s.at)
	}
	s.from = s.thread.At(found[0])
	here, err := s.from.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", found[0], err)
	}
	s.here = here
	return nil
}
