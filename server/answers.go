package server

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// checkAnswers refuses answers to questions that are not open. If the run does not begin at once, or not at the newest
// state, the run checks its answers itself.
func (c *call) checkAnswers(q *runRequest, thread string, g *served) error {
	if q.Command == nil || q.at() != "" || q.AfterSeconds > 0 || len(answersByID(q.Command.Resume)) == 0 {
		return nil
	}
	r, err := c.s.o.Runs.Get(c.ctx(), runs.Thread, thread)
	if err != nil || r.Status == threadBusy {
		return err
	}
	snap, err := g.graph.Thread(thread).Snapshot(c.ctx())
	if err != nil {
		return nil //nolint:nilerr // the thread has no state, or the run will return the error
	}
	if err := checkIDs(q.Command.Resume, openQuestions(snap)); err != nil {
		return invalid("command.resume: %v.", err)
	}
	return nil
}

// readAnswers returns the answers to open questions. The JSON is the answer to the only question, or an object with one
// answer for each id. An object is read as answers by id if all its keys are ids of open questions, or have the form of
// such ids.
func readAnswers(resume json.RawMessage, open []graph.Pause) (state.Update, error) {
	var byID map[string]json.RawMessage
	if json.Unmarshal(resume, &byID) == nil && len(byID) > 0 {
		var answered []graph.Pause
		for _, p := range open {
			if _, ok := byID[p.ID]; ok {
				answered = append(answered, p)
			}
		}
		if len(answered) == len(byID) {
			return answersTo(answered, byID)
		}
		if err := checkIDs(resume, open); err != nil && len(open) > 0 {
			return nil, &requestError{"RuntimeError", err.Error()}
		}
	}
	switch len(open) {
	case 0:
		return nil, &requestError{"EmptyInputError", "the thread has no open question to answer"}
	case 1:
		return answersTo(open, map[string]json.RawMessage{open[0].ID: resume})
	}
	return nil, &requestError{"RuntimeError", fmt.Sprintf("the thread has %d open questions; name the id of each answer", len(open))}
}

// checkIDs returns an error if all keys of an object have the form of ids of questions, and one of them is not open. Such
// an object is not read as the answer to the only open question, because the client may have meant an older question.
func checkIDs(resume json.RawMessage, open []graph.Pause) error {
	for _, id := range slices.Sorted(maps.Keys(answersByID(resume))) {
		if !isOpen(id, open) {
			return fmt.Errorf("%w; an answer whose own keys have the form of ids needs the id of its question as a key around it", noQuestion(id, open))
		}
	}
	return nil
}

func isOpen(id string, open []graph.Pause) bool {
	return slices.ContainsFunc(open, func(p graph.Pause) bool { return p.ID == id })
}

// answersByID returns the fields of an object whose keys all have the form of ids of questions. For other values, it
// returns nil.
func answersByID(resume json.RawMessage) map[string]json.RawMessage {
	var byID map[string]json.RawMessage
	if json.Unmarshal(resume, &byID) != nil {
		return nil
	}
	for id := range byID {
		if data, err := hex.DecodeString(id); err != nil || len(data) != 16 || strings.ToLower(id) != id {
			return nil
		}
	}
	return byID
}

// noQuestion returns the error of an answer to a question that is not open.
func noQuestion(id string, open []graph.Pause) error {
	ids := make([]string, len(open))
	for i, p := range open {
		ids[i] = p.ID
	}
	switch len(ids) {
	case 0:
		return fmt.Errorf("no open question has the id %s; the thread has no open question", shortened(id))
	case 1:
		return fmt.Errorf("no open question has the id %s; the open one is %s", shortened(id), ids[0])
	}
	return fmt.Errorf("no open question has the id %s; the open ones are %s", shortened(id), strings.Join(ids, ", "))
}

// answersTo returns the answers to the questions, or an error for one that does not fit its question.
func answersTo(questions []graph.Pause, answers map[string]json.RawMessage) (state.Update, error) {
	var out state.Update
	for _, p := range questions {
		answer, err := stored.CheckAnswer(p.Prompt, answers[p.ID])
		if err != nil {
			return nil, wrongInput("question %s: %v", p.ID, err)
		}
		out = append(out, engine.AnswerWrite(p.Interrupt, p.ID, answer))
	}
	return out, nil
}
