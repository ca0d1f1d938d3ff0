package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

const diffUsage = `usage: weft threads diff THREAD [FROM] [TO] [flags]

Prints what differs between the states of two checkpoints: "+" is only in TO, "-" only in FROM, and "~" has
changed. Without TO it is the newest checkpoint, and without FROM the parent of TO. weft threads tail prints
the ids of the checkpoints.
`

// A change is a difference between two states.
type change struct {
	Op   string          `json:"op"`   // "+", "-" or "~"
	Path string          `json:"path"` // such as messages[2].text
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

func runDiff(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, diffUsage).ofDatabase().ofServer().asJSON()
	if err := c.parse(args, "THREAD", "[FROM]", "[TO]"); err != nil {
		return err
	}
	t, err := c.source.threads(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	from, to, err := c.ends(ctx, t)
	if err != nil {
		return err
	}
	before := map[string]json.RawMessage{}
	if from != "" {
		if before, err = t.values(ctx, c.args[0], from); err != nil {
			return err
		}
	}
	after, err := t.values(ctx, c.args[0], to)
	if err != nil {
		return err
	}
	list := differences(before, after)
	if c.json {
		if list == nil {
			list = []change{}
		}
		return printJSON(c.out, map[string]any{"thread": c.args[0], "from": from, "to": to, "changes": list})
	}
	for i := range list {
		c.printChange(&list[i])
	}
	if len(list) == 0 {
		say(c.err, "The states are equal.")
	}
	return nil
}

// ends returns the ids of the two checkpoints to compare. An empty id stands for the state of a new thread.
func (c *call) ends(ctx context.Context, t threads) (from, to string, err error) {
	given := append(slices.Clone(c.args[1:]), "", "")
	from, to = given[0], given[1]
	if from != "" && to != "" {
		return from, to, nil
	}
	found := false
	for s, err := range t.history(ctx, c.args[0], 1) {
		if err != nil {
			return "", "", err
		}
		found, to = true, s.ID
		if from == "" {
			from = s.Parent
		}
	}
	if !found && c.source.server != "" {
		return "", "", fmt.Errorf("thread %q has no checkpoint yet", c.args[0])
	}
	if !found {
		return "", "", missing(c.args[0], "")
	}
	return from, to, nil
}

func (c *call) printChange(d *change) {
	switch d.Op {
	case "+":
		say(c.out, "+ %s = %s", cell(d.Path), brief(d.To, "  ", 200))
	case "-":
		say(c.out, "- %s = %s", cell(d.Path), brief(d.From, "  ", 200))
	default:
		say(c.out, "~ %s: %s -> %s", cell(d.Path), brief(d.From, "  ", 200), brief(d.To, "  ", 200))
	}
}

// differences returns the differences between two states, in the order of the channel names.
func differences(from, to map[string]json.RawMessage) []change {
	var out []change
	compareObjects("", from, to, &out)
	return out
}

func compare(path string, from, to json.RawMessage, out *[]change) {
	if sameJSON(from, to) {
		return
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal(from, &a) == nil && json.Unmarshal(to, &b) == nil && a != nil && b != nil {
		compareObjects(path, a, b, out)
		return
	}
	var x, y []json.RawMessage
	if json.Unmarshal(from, &x) == nil && json.Unmarshal(to, &y) == nil && x != nil && y != nil {
		for i := range max(len(x), len(y)) {
			at := path + "[" + strconv.Itoa(i) + "]"
			switch {
			case i >= len(x):
				*out = append(*out, change{Op: "+", Path: at, To: y[i]})
			case i >= len(y):
				*out = append(*out, change{Op: "-", Path: at, From: x[i]})
			default:
				compare(at, x[i], y[i], out)
			}
		}
		return
	}
	*out = append(*out, change{"~", path, from, to})
}

func compareObjects(path string, a, b map[string]json.RawMessage, out *[]change) {
	keys := append(sortedKeys(a), sortedKeys(b)...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		at := key
		if path != "" {
			at = path + "." + key
		}
		x, inA := a[key]
		y, inB := b[key]
		switch {
		case !inA:
			*out = append(*out, change{Op: "+", Path: at, To: y})
		case !inB:
			*out = append(*out, change{Op: "-", Path: at, From: x})
		default:
			compare(at, x, y, out)
		}
	}
}

// sameJSON compares two values without regard to white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
