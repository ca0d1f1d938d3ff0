package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

var goodbyes = []string{"quit", "exit", "bye", "q", ":q"}

// converse asks the user for questions until the input ends.
func (s *session) converse(ctx context.Context) error {
	s.talking = true
	s.welcome()
	for {
		if s.typed {
			s.console.say(s.console.style(bold, "> "))
		}
		text, given, err := s.lines.line(ctx)
		if err != nil {
			s.console.say("\n")
			return &stoppedError{}
		}
		text = strings.TrimSpace(text)
		switch {
		case !given && s.typed:
			s.console.say("\n")
			return nil
		case !given, slices.Contains(goodbyes, strings.ToLower(text)):
			return nil
		case text == "":
			continue
		}
		s.question = text
		if err := s.next(ctx); err != nil {
			return err
		}
		if err := s.ask(ctx); err != nil {
			return err
		}
		s.console.say("\n")
	}
}

// next sets the session to the end of the conversation.
func (s *session) next(ctx context.Context) error {
	s.from = s.thread
	here, err := s.thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.here = here
	// An open question stays in the history. The next message leaves it unanswered.
	s.drop = len(here.Pauses) > 0
	return nil
}

// welcome prints the file of the conversation, and how to end it.
func (s *session) welcome() {
	if !s.typed || s.verbose {
		return
	}
	s.console.say(fmt.Sprintf("%s, %d lines. Ask about it. Ctrl-D ends the conversation; it is stored.\n",
		short(s.path), s.desk.Text.Len()))
	s.console.dim("Answers come from: " + s.model + ".")
	s.hinted = true
}

// unfinished reports whether the conversation has a run or a question to resume.
func unfinished(here *graph.Snapshot) bool {
	return here != nil && !here.Done()
}
