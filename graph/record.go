package graph

import (
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// record returns the pending writes that the outcome leaves.
func (t *task) record() ([]checkpoint.Write, error) {
	x := t.seldom()
	switch {
	case x.pauses != nil:
		data, err := json.Marshal(x.pauses)
		return []checkpoint.Write{{Task: t.id(), Index: indexAsk, Channel: markAsk, Data: data}}, err
	case x.err != nil:
		return []checkpoint.Write{{Task: t.id(), Index: indexError, Channel: markError, Data: []byte(x.err.Error())}}, nil
	}
	rec := recorder{g: t.run.g, task: t.id(), index: x.index}
	for _, w := range t.writes {
		rec.write(w)
	}
	for _, n := range t.routes().nodes {
		rec.add(markGoto, 0, []byte(n.name))
	}
	for _, s := range x.sends {
		stored, err := t.run.g.encodeSend(s)
		rec.addJSON(markSend, stored, err)
	}
	for _, w := range x.toParent {
		stored, err := t.run.storeParent(w)
		rec.addJSON(markParent, stored, err)
	}
	if x.memory != nil {
		rec.addJSON(markMemory, x.memory, nil)
	}
	rec.add(markDone, 0, nil)
	return rec.out, rec.err
}

// recorder makes pending writes of one task.
type recorder struct {
	g     *Graph
	task  string
	index int
	out   []checkpoint.Write
	err   error
}

func (c *recorder) add(channel string, k state.Kind, data []byte) {
	c.out = append(c.out, checkpoint.Write{Task: c.task, Index: c.index, Channel: channel, Kind: uint8(k), Data: data})
	c.index++
}

func (c *recorder) addJSON(channel string, v any, err error) {
	var data []byte
	if err == nil {
		data, err = json.Marshal(v)
	}
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	c.add(channel, 0, data)
}

func (c *recorder) write(w state.Write) {
	if w.Channel() == "" {
		return
	}
	k, data, ok, err := c.g.schema.EncodeWrite(w)
	if err != nil {
		c.err = errors.Join(c.err, err)
	} else if ok {
		c.add(w.Channel(), k, data)
	}
}
