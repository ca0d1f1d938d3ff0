package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// w3 is W1 with every superstep stored in memory.
var w3 = workload{
	name:    "W3",
	what:    "agent loop, stored in memory",
	unit:    "superstep",
	sizes:   []int{101, 1001, 10001},
	payload: text64,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: w3Floor},
		// A checkpoint of eino holds the whole state: 1,001 steps take a minute.
		{name: eino, setUp: w3Eino, upTo: 101},
		{name: weft, setUp: w3Weft},
	},
	targets: func(r results) []target {
		targets := []target{flat(r, 101, 10001, 1.1)}
		for _, n := range []int{101, 1001, 10001} {
			targets = append(targets, timesFloor(r, n, 3.5),
				bytesOfFloor(r, n, 2, "heap kept a thread", heapOf))
		}
		return targets
	},
}

// A deltaLog is a run of the floor: its state, and the change of each step as JSON.
type deltaLog struct {
	state mapState
	log   []byte
}

// append logs the change of one step.
func (l *deltaLog) append(messages []string, count int) error {
	change, err := json.Marshal(delta{messages, count})
	l.log = append(l.log, change...)
	return err
}

type delta struct {
	Messages []string `json:"messages"`
	Count    int      `json:"count"`
}

// loggedLoop is the map loop that logs every change.
func loggedLoop(p payload, n int) (*deltaLog, error) {
	l := &deltaLog{state: newMapState()}
	for {
		update := agentNode(p, l.state)
		if err := l.append(update["messages"].([]string), update["count"].(int)); err != nil {
			return nil, err
		}
		l.state.add(update)
		if l.state["count"].(int) >= n {
			return l, nil
		}
		update = toolsNode(p, l.state)
		if err := l.append(update["messages"].([]string), update["count"].(int)); err != nil {
			return nil, err
		}
		l.state.add(update)
	}
}

// trim returns a copy without spare capacity, so that the heap that the floor keeps is
// the heap that it needs.
func (l *deltaLog) trim() *deltaLog {
	return &deltaLog{
		log:   slices.Clone(l.log),
		state: mapState{"messages": slices.Clone(l.state["messages"].([]string)), "count": l.state["count"]},
	}
}

func w3Floor(_ context.Context, w workload, n int) (subject, error) {
	var threads []*deltaLog
	return subject{
		run: func(context.Context) (o outcome, err error) {
			l, err := loggedLoop(w.payload, n)
			if err != nil {
				return o, err
			}
			threads = append(threads, l)
			o.fromMap(l.state)
			return o, nil
		},
		trim: func() {
			for i, l := range threads {
				threads[i] = l.trim()
			}
		},
		keeps: true,
	}, nil
}

// An einoMemory keeps checkpoints of eino.
type einoMemory map[string][]byte

func (m einoMemory) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := m[id]
	return data, ok, nil
}

func (m einoMemory) Set(_ context.Context, id string, data []byte) error {
	m[id] = data
	return nil
}

func init() { schema.RegisterName[*einoState]("benchmarks_state") }

// w3Eino stores every step in the only way that eino has: it interrupts the run after
// each node, which writes a checkpoint, and resumes it.
func w3Eino(ctx context.Context, w workload, n int) (subject, error) {
	var final *einoState
	step := func(ctx context.Context, _ int) (count int, err error) {
		err = compose.ProcessState(ctx, func(_ context.Context, s *einoState) error {
			s.Messages = append(s.Messages, w.payload.message(s.Count))
			s.Count++
			count, final = s.Count, s
			return nil
		})
		return count, err
	}
	memory := einoMemory{}
	g, err := einoLoop(ctx, einoParts[int]{
		step: step,
		done: func(count int) bool { return count >= n },
	}, compose.WithCheckPointStore(memory), compose.WithInterruptAfterNodes([]string{"agent", "tools"}))
	if err != nil {
		return subject{}, err
	}
	threads := 0
	return subject{
		run: func(ctx context.Context) (outcome, error) {
			threads++
			id := compose.WithCheckPointID(strconv.Itoa(threads))
			for range n + 1 {
				_, err := g.Invoke(ctx, 0, id)
				if err == nil {
					return outcome{messages: final.Messages, count: final.Count}, nil
				}
				if _, stopped := compose.ExtractInterruptInfo(err); !stopped {
					return outcome{}, err
				}
			}
			return outcome{}, fmt.Errorf("no end after %d steps", n)
		},
		keeps: true,
	}, nil
}

func w3Weft(ctx context.Context, w workload, n int) (subject, error) {
	return inMemory(ctx, n, weftStep(w.payload), newThreads)
}
