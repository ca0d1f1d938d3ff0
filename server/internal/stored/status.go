package stored

import (
	"encoding/json"

	"github.com/weft-go/weft/checkpoint"
)

// pending is what the pending writes of a checkpoint tell about its thread.
type pending struct {
	done            map[string]bool // the tasks that have finished
	open            map[string]bool // the questions that have no answer
	failed, stopped bool
}

func readPending(writes []checkpoint.Write) pending {
	p := pending{done: map[string]bool{}, open: map[string]bool{}}
	for _, w := range writes {
		if w.Channel == "$done" || w.Kind&0x80 != 0 {
			p.done[w.Task] = true
		}
	}
	for _, w := range writes {
		switch {
		case w.Channel == "$ask" && !p.done[w.Task]:
			p.ask(w.Data)
		case w.Channel == "$error":
			p.failed = p.failed || !p.done[w.Task]
		case w.Channel == "$stop":
			p.stopped = true
		}
	}
	for _, w := range writes {
		if w.Channel == "$answer" {
			p.answer(w.Data)
		}
	}
	return p
}

func (p *pending) ask(data []byte) {
	var list []struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(data, &list) == nil {
		for _, q := range list {
			p.open[q.ID] = true
		}
	}
}

func (p *pending) answer(data []byte) {
	var a struct {
		ID      string `json:"id"`
		Refused bool   `json:"refused"`
	}
	if json.Unmarshal(data, &a) == nil && !a.Refused {
		delete(p.open, a.ID)
	}
}

// statusOf returns the status of the thread with this newest checkpoint: interrupted if a
// question is open or a static pause holds it, error if a task failed, busy if tasks are due.
func statusOf(c *checkpoint.Checkpoint) string {
	p := readPending(c.Writes)
	var ctl control
	if len(c.Control) > 0 && json.Unmarshal(c.Control, &ctl) != nil {
		return "error"
	}
	switch {
	case len(p.open) > 0:
		return "interrupted"
	case p.failed:
		return "error"
	case len(ctl.Next)+len(ctl.Sends) == 0:
		return "idle"
	case p.stopped:
		return "interrupted"
	}
	return "busy"
}
