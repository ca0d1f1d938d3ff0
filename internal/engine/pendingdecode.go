package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// endsResult reports whether the pending write is the last one of a task's result.
func endsResult(w *checkpoint.Write) bool {
	return w.Channel == mark.Done || w.Kind&mark.EndOfResult != 0
}

// These are the indexes of the marks that a later mark of the same kind replaces.
const (
	indexAsk   = -1
	indexError = -2
	indexVoid  = -3
	indexStop  = -4
)

// A Pause is a question or a static pause of a thread, in its stored form.
type Pause struct {
	Kind      string          `json:"kind"`
	ID        string          `json:"id,omitempty"`
	Node      string          `json:"node"`
	Path      string          `json:"path"`
	Interrupt string          `json:"interrupt,omitempty"`
	Key       string          `json:"key,omitempty"`
	Prompt    json.RawMessage `json:"prompt,omitempty"`
	Mark      string          `json:"mark,omitempty"` // see [Hooks.Stop]
	Asked     time.Time       `json:"asked,omitzero"` // zero if an older version stored the pause
}

// The kinds of a [Pause].
const (
	Question    = "question"
	PauseBefore = "before"
	PauseAfter  = "after"
)

// storedParent is the stored form of a write for the parent graph.
// The parent decodes it with its own channels. At most one of the fields is set.
type storedParent struct {
	Goto  string        `json:"goto,omitempty"`
	Send  *storedSend   `json:"send,omitempty"`
	Write *storedWrite  `json:"write,omitempty"`
	Up    *storedParent `json:"up,omitempty"` // a write for the parent of the parent
}

// A storedAnswer is the stored form of an answer to a question.
type storedAnswer struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
	// Refused means that the node rejected the stored answer, so the question is open.
	Refused bool `json:"refused,omitempty"`
}

// A storedOnce is the stored result of a side effect.
type storedOnce struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// A savedTask holds the decoded pending writes of one task.
type savedTask struct {
	done       bool
	whole      bool // a mark.Result holds the result; other writes of results do not count
	writes     state.Update
	targets    []*Node
	sends      []sentTask
	toParent   []storedParent
	persistent map[string]string
	asked      bool
	pauses     []Pause
	questions  map[string]*Pause // the questions by path, interrupt and key; see question
	once       map[string]json.RawMessage
	failed     bool // a failure was stored; [executor.delegate] may have cleared it since
	asksAgain  bool // the failure is that the task refused an answer
	failure    string
	next       int // the first free index of a pending write
}

// An openQuestion names the task and the interrupt of a question.
type openQuestion struct{ task, interrupt string }

// question returns a stored question. The argument path is the path of its task.
// It returns nil if the task has not asked the question before.
// The caller holds the lock of the task.
func (t *savedTask) question(path, interrupt, key string) *Pause {
	if t.questions == nil {
		t.questions = make(map[string]*Pause, len(t.pauses))
		for i := range t.pauses {
			if p := &t.pauses[i]; p.Kind == Question {
				t.questions[questionKey(p.Path, p.Interrupt, p.Key)] = p
			}
		}
	}
	return t.questions[questionKey(path, interrupt, key)]
}

// questionKey joins the parts that identify a question. Different parts give different keys.
func questionKey(parts ...string) string {
	var text []byte
	for _, p := range parts { // the length of each part keeps the text unambiguous
		text = append(strconv.AppendInt(text, int64(len(p)), 10), ':')
		text = append(text, p...)
	}
	return string(text)
}

// pendingWrites holds all decoded pending writes of a checkpoint.
// Writes of a run's caller belong to the task with the empty id.
type pendingWrites struct {
	tasks     map[string]*savedTask
	questions map[string]openQuestion    // the questions of unfinished tasks, by id
	answers   map[string]json.RawMessage // by the id of the question
	void      map[string]int             // for each task, the index below which results do not count
	missing   []string                   // stored targets that the graph does not have
	stopped   bool                       // a run stopped at the checkpoint without a failure
	stops     []Pause                    // the static pauses at which the run stopped
}

// task returns the task with the given id, which it adds if necessary.
func (p *pendingWrites) task(id string) *savedTask {
	t := p.tasks[id]
	if t == nil {
		t = &savedTask{}
		if p.tasks == nil {
			p.tasks = map[string]*savedTask{}
		}
		p.tasks[id] = t
	}
	return t
}

// tried reports whether a task of the superstep after the checkpoint has stored a pending write,
// such as a result, a question or an error.
func (p *pendingWrites) tried() bool {
	_, caller := p.tasks[""]
	return len(p.tasks) > 1 || len(p.tasks) == 1 && !caller
}

// begun reports whether a run stopped at the checkpoint or in the superstep after it.
// If so, a static pause before that superstep must not take effect again.
func (p *pendingWrites) begun() bool { return p != nil && (p.stopped || p.tried()) }

// decodePending decodes the pending writes of a checkpoint and sorts them by task.
func (p *Plan) decodePending(writes []checkpoint.Write) (*pendingWrites, error) {
	writes = p.sortWrites(writes)
	d := newPendingDecoder(p, writes)
	for i := range writes {
		if w := &writes[i]; w.Channel == mark.Void {
			if err := d.decodeVoid(w.Data); err != nil {
				return nil, err
			}
		}
	}
	for i := range writes { // decode of a question depends on whether the task is done
		w := &writes[i]
		if !endsResult(w) {
			continue
		}
		if id := p.currentTask(w.Task); w.Index >= d.out.void[id] {
			d.task(id).done = true
		}
	}
	for i := range writes {
		w := &writes[i]
		id := p.currentTask(w.Task)
		t := d.task(id)
		t.next = max(t.next, w.Index+1)
		if isResult(w) && (w.Index < d.out.void[id] || t.whole && w.Channel != mark.Result) {
			continue
		}
		if err := d.decode(id, t, w); err != nil {
			return nil, fmt.Errorf("pending write %d of task %q: %w", w.Index, w.Task, err)
		}
	}
	return d.out, nil
}

// sortWrites returns the pending writes in the order in which they apply.
// It omits writes that a rollback removed.
// Writes of a task under a former name come before writes under its present name.
// It does not change its argument.
func (p *Plan) sortWrites(writes []checkpoint.Write) []checkpoint.Write {
	gone := func(w checkpoint.Write) bool { return w.Channel == mark.Gone }
	if len(p.Renamed) == 0 && !slices.ContainsFunc(writes, gone) {
		return writes
	}
	var former, present []checkpoint.Write
	for _, w := range writes {
		switch {
		case gone(w):
		case p.currentTask(w.Task) != w.Task:
			former = append(former, w)
		default:
			present = append(present, w)
		}
	}
	return append(former, present...)
}

// relocate replaces former names of nodes and tasks in stored pauses by present names.
// The argument path is the path of the run that restores the pauses.
func (p *pendingWrites) relocate(plan *Plan, path string) {
	depth := 0
	if path != "" {
		depth = strings.Count(path, "/") + 1
	}
	for id, t := range p.tasks {
		for i := range t.pauses {
			pause := &t.pauses[i]
			pause.Node = plan.current(pause.Node)
			if tasks := strings.Split(pause.Path, "/"); len(tasks) > depth {
				_, inner, isInner := strings.Cut(tasks[depth], "~")
				if tasks[depth] = id; isInner {
					tasks[depth] += "~" + inner
				}
				pause.Path = joinPath(path, strings.Join(tasks[depth:], "/"))
			}
		}
	}
	for i := range p.stops {
		stop := &p.stops[i]
		stop.Node = plan.current(stop.Node)
		stop.Path = joinPath(path, stop.Node)
	}
}

// isResult reports whether a pending write is part of the result of a task.
func isResult(w *checkpoint.Write) bool {
	switch w.Channel {
	case mark.Ask, mark.Answer, mark.Once, mark.Error, mark.Void, mark.Stop:
		return false
	}
	return w.Task != ""
}

// decodeVoid decodes a void mark: for each task, an index.
// Results of the task with a smaller index do not count.
func (d *pendingDecoder) decodeVoid(data []byte) error {
	var stored map[string]int
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	d.out.void = map[string]int{}
	for task, below := range stored {
		id := d.plan.currentTask(task)
		d.out.void[id] = max(d.out.void[id], below)
	}
	return nil
}

// A pendingDecoder decodes the pending writes of a checkpoint.
type pendingDecoder struct {
	plan *Plan
	out  *pendingWrites
	tx   *statecore.Tx // a transaction on the empty state; nil before the first Send

	last   *savedTask // the last result of the method task
	lastID string
}

// newPendingDecoder returns a decoder with room for the tasks of these writes.
func newPendingDecoder(p *Plan, writes []checkpoint.Write) *pendingDecoder {
	tasks := 0
	for i := range writes {
		if i == 0 || writes[i].Task != writes[i-1].Task {
			tasks++
		}
	}
	return &pendingDecoder{plan: p, out: &pendingWrites{
		tasks:     make(map[string]*savedTask, tasks),
		questions: make(map[string]openQuestion, tasks),
		answers:   map[string]json.RawMessage{},
	}}
}

// task returns the task with the given id.
// It is fast for successive calls with one id.
func (d *pendingDecoder) task(id string) *savedTask {
	if d.last == nil || d.lastID != id {
		d.last, d.lastID = d.out.task(id), id
	}
	return d.last
}

// decode decodes one pending write of the task t.
func (d *pendingDecoder) decode(id string, t *savedTask, w *checkpoint.Write) (err error) {
	switch w.Channel {
	case mark.Void, mark.Done: // decodePending has decoded them before
	case mark.Result:
		err = d.decodeResult(id, t, w)
	case mark.Error:
		t.failed, t.failure, t.asksAgain = true, string(w.Data), w.Kind == mark.AsksAgain
	case mark.Goto:
		t.targets = append(t.targets, d.plan.findNodes([]string{string(w.Data)}, &d.out.missing)...)
	case mark.Send:
		err = d.decodeSend(t, w.Data)
	case mark.Parent:
		var s storedParent
		err = json.Unmarshal(w.Data, &s)
		t.toParent = append(t.toParent, s)
	case mark.Persist:
		err = json.Unmarshal(w.Data, &t.persistent)
	case mark.Ask:
		t.asked = true
		if t.done {
			return nil
		}
		t.pauses = nil // replace the pauses of a mark under a former name
		err = json.Unmarshal(w.Data, &t.pauses)
		for i := range t.pauses {
			p := &t.pauses[i]
			d.out.questions[p.ID] = openQuestion{task: id, interrupt: p.Interrupt}
		}
	case mark.Answer:
		if !t.done {
			err = d.decodeAnswer(w.Data)
		}
	case mark.Once:
		err = t.decodeOnce(w.Data)
	case mark.Stop:
		d.out.stopped = true
		err = json.Unmarshal(w.Data, &d.out.stops)
	default:
		err = d.decodeWrite(t, w)
	}
	return err
}

// decodeWrite decodes a write to a channel of the graph.
func (d *pendingDecoder) decodeWrite(t *savedTask, w *checkpoint.Write) error {
	write, err := d.plan.Schema.DecodeWrite(w.Channel, statecore.Kind(w.Kind&^mark.EndOfResult), w.Data)
	t.writes = append(t.writes, state.Write{Write: write})
	return err
}

func (t *savedTask) decodeOnce(data []byte) error {
	var o storedOnce
	err := json.Unmarshal(data, &o)
	if t.once == nil {
		t.once = map[string]json.RawMessage{}
	}
	t.once[o.Key] = o.Value
	return err
}

// decodeResult decodes a whole result, which replaces an earlier result of the task.
func (d *pendingDecoder) decodeResult(id string, t *savedTask, w *checkpoint.Write) error {
	var parts []checkpoint.Change
	err := json.Unmarshal(w.Data, &parts)
	t.whole, t.writes, t.targets, t.sends, t.toParent, t.persistent = true, nil, nil, nil, nil, nil
	for i := range parts {
		if p := &parts[i]; err == nil {
			err = d.decode(id, t, &checkpoint.Write{Task: w.Task, Channel: p.Channel, Kind: p.Kind, Data: p.Data})
		}
	}
	return err
}

func (d *pendingDecoder) decodeSend(t *savedTask, data []byte) error {
	var stored storedSend
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	if d.tx == nil {
		d.tx = d.plan.Schema.NewTx()
	}
	s, err := d.plan.decodeSend(d.tx, stored)
	if err != nil {
		return err
	}
	if s.node.Run == nil {
		d.out.missing = append(d.out.missing, stored.Node)
	}
	t.sends = append(t.sends, s)
	return nil
}

func (d *pendingDecoder) decodeAnswer(data []byte) error {
	var a storedAnswer
	err := json.Unmarshal(data, &a)
	if d.out.answers[a.ID] = a.Value; a.Refused {
		delete(d.out.answers, a.ID)
	}
	return err
}
