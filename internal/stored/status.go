package stored

import (
	"encoding/json"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// pending holds the facts about a thread that the pending writes of a checkpoint contain.
type pending struct {
	done    map[string]bool   // the tasks that have finished
	open    map[string]bool   // the questions that have no answer
	tasks   map[string]string // the tasks that asked, by the id of the question
	prompts map[string]json.RawMessage
	asked   map[string]time.Time // zero for a question of an older version
	failed  map[string]bool      // the unfinished tasks that have failed
	pauses  bool                 // static pauses hold the thread
}

func readPending(writes []checkpoint.Write) pending {
	p := pending{done: map[string]bool{}, open: map[string]bool{}, tasks: map[string]string{}, prompts: map[string]json.RawMessage{}, asked: map[string]time.Time{}, failed: map[string]bool{}}
	for _, w := range writes {
		if w.Channel == mark.Done || w.Kind&mark.EndOfResult != 0 {
			p.done[w.Task] = true
		}
	}
	for _, w := range writes {
		switch {
		case w.Channel == mark.Ask && !p.done[w.Task]:
			p.ask(w.Task, w.Data)
		case w.Channel == mark.Error && w.Kind != mark.AsksAgain && !p.done[w.Task]:
			p.failed[w.Task] = true
		case w.Channel == mark.Stop: // the list is null if the run was drained or had too many supersteps
			p.pauses = len(w.Data) > 0 && string(w.Data) != "null" && string(w.Data) != "[]"
		}
	}
	for _, w := range writes {
		if w.Channel == mark.Answer {
			p.answer(w.Data)
		}
	}
	return p
}

func (p *pending) ask(task string, data []byte) {
	var list []struct {
		ID     string          `json:"id"`
		Prompt json.RawMessage `json:"prompt"`
		Asked  time.Time       `json:"asked"`
	}
	if json.Unmarshal(data, &list) == nil {
		for _, q := range list {
			p.asked[q.ID] = q.Asked
			p.open[q.ID], p.tasks[q.ID], p.prompts[q.ID] = true, task, q.Prompt
		}
	}
}

// An answer is the stored form of an answer. Refused means that the node refused the last answer.
type answer struct {
	ID      string          `json:"id"`
	Value   json.RawMessage `json:"value,omitempty"`
	Refused bool            `json:"refused,omitempty"`
}

func (p *pending) answer(data []byte) {
	var a answer
	if json.Unmarshal(data, &a) != nil || p.tasks[a.ID] == "" {
		return
	}
	if a.Refused {
		p.open[a.ID] = true
	} else {
		delete(p.open, a.ID)
	}
}

// waits reports whether a task that has not failed has an open question.
func (p *pending) waits() bool {
	for id := range p.open {
		if !p.failed[p.tasks[id]] {
			return true
		}
	}
	return false
}

// The statuses of a thread.
const (
	Idle        = "idle"        // no task is due
	Busy        = "busy"        // tasks are due
	Interrupted = "interrupted" // a question is open, or a static pause holds the thread
	Error       = "error"       // a task has failed, but not because it refused an answer; or the control of the checkpoint is damaged
)

// Waits reports whether the thread with this newest checkpoint waits: a task that has not failed has an open question, or
// a static pause holds the thread and no task has failed.
func Waits(c *checkpoint.Checkpoint) bool {
	p := readPending(c.Writes)
	return p.waits() || p.pauses && len(p.failed) == 0
}

// Changed returns the time at which the thread with this newest checkpoint of its graph has last changed: the time of the
// checkpoint, or the time at which its newest open question was asked, which may be later.
func Changed(c *checkpoint.Checkpoint) time.Time {
	p, last := readPending(c.Writes), c.Time
	for id := range p.open {
		if at := p.asked[id]; at.After(last) {
			last = at
		}
	}
	return last
}

// Due returns the nodes of the tasks that are due at a checkpoint, in the order of the tasks.
func Due(c *checkpoint.Checkpoint) []string {
	var ctl control
	if len(c.Control) == 0 || json.Unmarshal(c.Control, &ctl) != nil {
		return nil
	}
	due := ctl.Next
	for _, s := range ctl.Sends {
		due = append(due, s.Node)
	}
	return due
}

// StatusOf returns the status of the thread with this newest checkpoint of its graph. The checkpoint
// has its pending writes.
func StatusOf(c *checkpoint.Checkpoint) string {
	p := readPending(c.Writes)
	var ctl control
	if len(c.Control) > 0 && json.Unmarshal(c.Control, &ctl) != nil {
		return Error
	}
	switch {
	case p.waits():
		return Interrupted
	case len(p.failed) > 0:
		return Error
	case len(ctl.Next)+len(ctl.Sends) == 0:
		return Idle
	case p.pauses:
		return Interrupted
	}
	return Busy
}
