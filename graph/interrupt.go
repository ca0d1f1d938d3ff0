package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-go/weft/state"
)

// An Interrupt is a question that a node can ask and wait for: P is what is
// asked, A the answer. Declare it once, as a package variable; it is safe for
// concurrent use. A question and its answer are stored as a channel's values
// are; what would not come back as it was is refused, with [state.ErrRoundTrip].
//
//	var Approve = graph.NewInterrupt[Order, bool]("approve")
//
//	func submit(ctx context.Context, s state.View) (state.Update, error) {
//		ok, err := Approve.Wait(ctx, Current.Get(s))
//		if err != nil {
//			return nil, err // no answer yet: the run pauses here
//		}
//		…
//	}
type Interrupt[P, A any] struct{ name string }

// NewInterrupt returns an interrupt. Its name tells it apart in storage.
func NewInterrupt[P, A any](name string) *Interrupt[P, A] { return &Interrupt[P, A]{name} }

// Name returns the interrupt's name.
func (i *Interrupt[P, A]) Name() string { return i.name }

// Wait returns the answer to a question, or notes the question and returns an
// error that the node must return: the run then pauses when the other tasks of
// its superstep have ended. Once there is an answer the node runs again from
// its top, so side effects belong behind Wait, in [Once], or in a node of
// their own.
//
// A node asks several questions of one interrupt by [Interrupt.Key]; the same
// question twice is an [ErrDuplicateKey]. Without a thread and a store Wait
// returns [ErrNoStore].
func (i *Interrupt[P, A]) Wait(ctx context.Context, prompt P) (A, error) {
	return i.wait(ctx, "", prompt)
}

// Key returns the interrupt's question of that key, for a node that has
// several. A question is known by its key, not by the order of the calls. To
// ask several at once, call Wait for each and return their errors joined.
func (i *Interrupt[P, A]) Key(key string) Keyed[P, A] { return Keyed[P, A]{i, key} }

// Keyed is one of several questions of an [Interrupt] in a node.
type Keyed[P, A any] struct {
	interrupt *Interrupt[P, A]
	key       string
}

// Wait is [Interrupt.Wait] for this question.
func (k Keyed[P, A]) Wait(ctx context.Context, prompt P) (A, error) {
	return k.interrupt.wait(ctx, k.key, prompt)
}

func (i *Interrupt[P, A]) wait(ctx context.Context, key string, prompt P) (answer A, err error) {
	t := taskOf(ctx)
	if t == nil {
		return answer, fmt.Errorf("graph: interrupt %q: %w", i.name, ErrNotInNode)
	}
	if t.run.journal == nil {
		return answer, fmt.Errorf("graph: interrupt %q: %w", i.name, ErrNoStore)
	}
	data, err := state.Encode(prompt)
	if err != nil {
		return answer, fmt.Errorf("graph: interrupt %q: the prompt: %w", i.name, err)
	}
	p := Pause{
		Kind: Question, ID: t.questionID(i.name, key), Node: t.node.name, Path: join2(t.run.path, t.id()),
		Interrupt: i.name, Key: key, Prompt: data,
	}
	given, ok, err := t.ask(p)
	switch {
	case err != nil:
		return answer, err
	case !ok:
		return answer, &pauseError{question: fmt.Sprintf("%q", join2(i.name, key))}
	}
	if answer, err = state.Decode[A](given); err != nil {
		err = fmt.Errorf("graph: interrupt %q: the answer %s cannot be read, and the question is open again: %w", i.name, given, err)
		return answer, errors.Join(err, t.reject(p.ID))
	}
	return answer, nil
}

// questionID is the same whenever the task runs again.
func (t *task) questionID(name, key string) string {
	parts := [...]string{t.run.root.thread, t.run.ns, t.run.cur, t.id(), name, key}
	var text []byte
	for _, p := range parts { // with its length, so that no two lists have one text
		text = append(strconv.AppendInt(text, int64(len(p)), 10), ':')
		text = append(text, p...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// ask returns the answer to a question, or notes that it is open.
func (t *task) ask(p Pause) (answer json.RawMessage, ok bool, err error) {
	x := t.own()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.keys[p.ID] {
		return nil, false, x.blame(fmt.Errorf("graph: interrupt %q, key %q: %w", p.Interrupt, p.Key, ErrDuplicateKey))
	}
	if x.keys == nil {
		x.keys = map[string]bool{}
	}
	x.keys[p.ID] = true
	if answer, ok = t.run.root.answers[p.ID]; ok { // the map is not changed while tasks run
		return answer, true, nil
	}
	x.asked = append(x.asked, p)
	return nil, false, nil
}

// blame notes a failure that fails the task whatever its node returns. The
// task's lock is held.
func (x *rare) blame(err error) error {
	x.fault = errors.Join(x.fault, err)
	return err
}

// reject takes an answer back that the node can not read.
func (t *task) reject(question string) error {
	data, err := json.Marshal(storedAnswer{ID: question, Refused: true})
	if err != nil {
		return err
	}
	return t.remember(markAnswer, data)
}

// again forgets the questions of an attempt before the node is run once more.
func (t *task) again() {
	x := t.own()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked, x.keys = nil, nil
}

// A Pending is an open question of an [Interrupt].
type Pending[P any] struct {
	Pause
	// Prompt is what is asked.
	Prompt P
}

// Pending returns the open questions of this interrupt in a thread, in task
// order. It is an error if a stored prompt can not be read as a P.
func (i *Interrupt[P, A]) Pending(s *Snapshot) ([]Pending[P], error) {
	var out []Pending[P]
	for _, p := range s.Pauses {
		if p.Kind != Question || p.Interrupt != i.name {
			continue
		}
		q := Pending[P]{Pause: p.clone()}
		var err error
		if q.Prompt, err = state.Decode[P](p.Prompt); err != nil {
			return nil, fmt.Errorf("graph: interrupt %q: prompt of question %s: %w", i.name, p.ID, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// Answer returns the answer to an open question, as input of the thread's next
// run. A run may be given any number of answers; if it is given nothing else,
// tasks whose questions got none keep waiting. An id that is not open in the
// thread is an [ErrNoQuestion]. An answer that the node can not read fails the
// node, and the question is open again.
func (i *Interrupt[P, A]) Answer(id string, answer A) state.Write {
	data, err := state.Encode(answer)
	if err != nil {
		err = fmt.Errorf("interrupt %q: the answer: %w", i.name, err)
	}
	return state.NewSignal(answerSignal{interrupt: i.name, id: id, value: data, err: err})
}
