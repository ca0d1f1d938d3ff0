package engine

import (
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// A pendingEncoder collects the pending writes of one task.
type pendingEncoder struct {
	plan  *Plan
	task  string
	index int // the index of the next pending write
	out   []checkpoint.Write
	err   error
}

func (e *pendingEncoder) add(channel string, k statecore.Kind, data []byte) {
	e.out = append(e.out, checkpoint.Write{Task: e.task, Index: e.index, Channel: channel, Kind: uint8(k), Data: data})
	e.index++
}

func (e *pendingEncoder) addJSON(channel string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		e.err = errors.Join(e.err, err)
		return
	}
	e.add(channel, 0, data)
}

func (e *pendingEncoder) write(w state.Write) {
	k, data, ok, err := e.plan.Schema.EncodeWrite(w.Write)
	if err != nil {
		e.err = errors.Join(e.err, err)
	} else if ok {
		e.add(w.Channel(), k, data)
	}
}

// routes adds a mark for each target and each sent task.
func (e *pendingEncoder) routes(targets []*Node, sends []sentTask) {
	for _, n := range targets {
		e.add(mark.Goto, 0, []byte(n.Name))
	}
	for _, s := range sends {
		stored, err := e.plan.encodeSend(s.node.Name, s.writes, s.over)
		if err != nil {
			e.err = errors.Join(e.err, err)
			continue
		}
		e.addJSON(mark.Send, stored)
	}
}

// end marks the end of the result of the task.
func (e *pendingEncoder) end() {
	if len(e.out) == 0 {
		e.add(mark.Done, 0, nil)
	}
	e.out[len(e.out)-1].Kind |= mark.EndOfResult
}

// encodeMark returns a pending write with a fixed index.
func encodeMark(task, channel string, index int, v any) (checkpoint.Write, error) {
	data, err := json.Marshal(v)
	return checkpoint.Write{Task: task, Index: index, Channel: channel, Data: data}, err
}
