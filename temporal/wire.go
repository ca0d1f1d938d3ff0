package temporal

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// maxInput is the maximum size of the input of a run, in bytes. Temporal keeps it in the history of
// the workflow, and limits a payload to 2 MB.
const maxInput = 1 << 20

// A wireWrite is the JSON form of a write of a caller. One of its fields is set.
type wireWrite struct {
	Write    json.RawMessage `json:"write,omitempty"` // a write to a channel
	Goto     string          `json:"goto,omitempty"`
	Send     *wireSend       `json:"send,omitempty"`
	Answer   *wireAnswer     `json:"answer,omitempty"`
	Begin    bool            `json:"begin,omitempty"`
	Continue bool            `json:"continue,omitempty"`
}

type wireSend struct {
	Node   string            `json:"node"`
	Over   bool              `json:"over,omitempty"`
	Writes []json.RawMessage `json:"writes,omitempty"`
}

type wireAnswer struct {
	Interrupt string          `json:"interrupt"`
	ID        string          `json:"id"`
	Value     json.RawMessage `json:"value"`
}

// encodeWrites returns the JSON form of the input of a run.
func encodeWrites(writes []state.Write) (json.RawMessage, error) {
	out := make([]wireWrite, 0, len(writes))
	for _, w := range writes {
		wire, err := encodeWrite(w)
		if err != nil {
			return nil, err
		}
		out = append(out, wire)
	}
	data, err := json.Marshal(out)
	if err == nil && len(data) > maxInput {
		err = fmt.Errorf("%w: the input has %d bytes of JSON, and Temporal can carry %d; store large values elsewhere, and pass their ids",
			checkpoint.ErrTooLarge, len(data), maxInput)
	}
	return data, err
}

func encodeWrite(w state.Write) (wireWrite, error) {
	switch s := w.Signal().(type) {
	case nil:
		data, err := json.Marshal(w)
		return wireWrite{Write: data}, err
	case engine.Goto:
		return wireWrite{Goto: s.Node}, nil
	case *engine.Send:
		send := &wireSend{Node: s.Node, Over: s.Over}
		for _, sent := range s.Writes {
			data, err := json.Marshal(sent)
			if err != nil {
				return wireWrite{}, err
			}
			send.Writes = append(send.Writes, data)
		}
		return wireWrite{Send: send}, nil
	case engine.Answer:
		return wireWrite{Answer: &wireAnswer{Interrupt: s.Interrupt, ID: s.ID, Value: s.Value}}, s.Err
	case engine.Turn:
		return wireWrite{Begin: s.Begin, Continue: !s.Begin}, nil
	default:
		return wireWrite{}, fmt.Errorf("%w: %s is no input of a run", graph.ErrSignal, s.Signal())
	}
}

// decodeWrites reads the input of a run. Nil is no input.
func decodeWrites(g *graph.Graph, data json.RawMessage) ([]state.Write, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var in []wireWrite
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	out := make([]state.Write, len(in))
	var errs []error
	for i, w := range in {
		var err error
		out[i], err = w.decode(g)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (w wireWrite) decode(g *graph.Graph) (state.Write, error) {
	switch {
	case w.Goto != "":
		return graph.Goto(w.Goto), nil
	case w.Send != nil:
		writes := make([]state.Write, len(w.Send.Writes))
		for i, data := range w.Send.Writes {
			var err error
			if writes[i], err = g.ReadWrite(data); err != nil {
				return state.Write{}, err
			}
		}
		if w.Send.Over {
			return graph.SendOver(w.Send.Node, writes...), nil
		}
		return graph.Send(w.Send.Node, writes...), nil
	case w.Answer != nil:
		return answer(w.Answer), nil
	case w.Begin:
		return graph.Begin(), nil
	case w.Continue:
		return graph.Continue(), nil
	}
	return g.ReadWrite(w.Write)
}

// answer returns an answer whose value is JSON already.
func answer(a *wireAnswer) state.Write { return engine.AnswerWrite(a.Interrupt, a.ID, a.Value) }
