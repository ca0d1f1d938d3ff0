package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/state"
)

// An Interrupt is a kind of question that a node asks a person or another system. P
// is the type of its prompt, and A the type of its answer. Declare it as a package
// variable. It is safe for concurrent use.
//
// Package server adds the JSON schema of A to the question in the state and the stream of a thread, and its pages show a form
// for the schema. If interrupts of one name have different types of answers, there is no schema and no form.
//
// If the JSON of a prompt is an object with the JSON schema of the answers in the field "schema", package server sends
// this schema instead. The server and the command weft then refuse an answer that does not fit. The form begins
// with the answer in the field "default". Answer does not read these fields. Give P a field of the type
// [encoding/json.RawMessage] for the schema, so that the schema is stored unchanged.
//
//	var Approve = graph.NewInterrupt[Order, bool]("approve")
//
//	func submit(ctx context.Context, s state.View) (state.Update, error) {
//		ok, err := Approve.Wait(ctx, order)
//		if err != nil {
//			return nil, err // no answer yet: the run pauses here
//		}
//		…
//	}
type Interrupt[P, A any] struct{ name string }

// NewInterrupt returns an interrupt. Questions are stored with its name, so the name
// must not change.
func NewInterrupt[P, A any](name string) *Interrupt[P, A] {
	engine.DeclareAnswer(name, reflect.TypeFor[A]())
	return &Interrupt[P, A]{name}
}

// Name returns the interrupt's name.
func (i *Interrupt[P, A]) Name() string { return i.name }

// Wait returns the answer to a question. While there is no answer, it records the
// question and returns an error, which the node must return. The run pauses when the
// other tasks of its superstep have ended. Once there is an answer, the node runs
// again from its beginning. Put side effects after Wait, into [Once], or into another
// node.
//
// A node that asks several questions of one interrupt uses [Interrupt.WaitKey]; a
// second Wait is an [ErrDuplicateKey]. In a run that has no thread or no store, Wait
// returns [ErrNoStore].
func (i *Interrupt[P, A]) Wait(ctx context.Context, prompt P) (A, error) {
	return i.WaitKey(ctx, "", prompt)
}

// WaitKey is [Interrupt.Wait] for a node with several questions. The key identifies
// the question; the order of the calls does not matter. To ask several questions at
// once, call WaitKey for each and return the joined errors.
func (i *Interrupt[P, A]) WaitKey(ctx context.Context, key string, prompt P) (answer A, err error) {
	t := engine.TaskOf(ctx)
	if t == nil {
		return answer, fmt.Errorf("graph: interrupt %q: %w", i.name, ErrNotInNode)
	}
	data, err := jsonform.Marshal(prompt)
	if err != nil {
		return answer, fmt.Errorf("graph: interrupt %q: the prompt: %w", i.name, err)
	}
	given, err := t.Ask(i.name, key, data)
	switch {
	case err != nil:
		return answer, fmt.Errorf("graph: interrupt %q: %w", i.name, err)
	case given == nil:
		question := i.name
		if key != "" {
			question += "/" + key
		}
		return answer, &pauseError{fmt.Errorf("graph: waiting for an answer to %q; return this error from the node", question)}
	}
	read := jsonform.Unmarshal[A] // data that an earlier run has read stays readable
	if given.New {
		read = jsonform.Read[A]
	}
	if answer, err = read(given.Answer); err != nil {
		err = &pauseError{fmt.Errorf("graph: interrupt %q: the answer %s cannot be read, and the question is open again: %w", i.name, given.Answer, err)}
		return answer, errors.Join(err, t.Reject(given.Question, err))
	}
	return answer, nil
}

// An OpenQuestion is a question of an [Interrupt] that has no answer yet.
type OpenQuestion[P any] struct {
	Pause
	// Prompt is the decoded prompt.
	Prompt P
}

// Open returns the open questions of this interrupt in a thread, in task order. It
// returns an error if a stored prompt cannot be read as a P.
func (i *Interrupt[P, A]) Open(s *Snapshot) ([]OpenQuestion[P], error) {
	var out []OpenQuestion[P]
	for _, p := range s.Pauses {
		if p.Kind != Question || p.Interrupt != i.name {
			continue
		}
		q := OpenQuestion[P]{Pause: p}
		var err error
		if q.Prompt, err = jsonform.Unmarshal[P](p.Prompt); err != nil {
			return nil, fmt.Errorf("graph: interrupt %q: prompt of question %s: %w", i.name, p.ID, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// Answer returns the answer to an open question, as input of the thread's next run.
// The input of a run may have any number of answers. If the input has nothing else, tasks with
// other open questions keep waiting. An id that is not open in the thread is an
// [ErrNoQuestion].
//
// An answer that does not decode into A, has a field that A does not have, or is null
// where A has no nil, fails the node and the nodes around its subgraph, even if they
// handle the error. The question is open again, and the thread waits for an answer. If A has
// UnmarshalJSON, this method decides which fields an answer may have. A field that is null or
// missing is the zero value. In later runs, fields that A no longer has are ignored.
func (i *Interrupt[P, A]) Answer(id string, answer A) state.Write {
	data, err := jsonform.Marshal(answer)
	if err != nil {
		err = fmt.Errorf("interrupt %q: the answer: %w", i.name, err)
		if written, werr := json.Marshal(answer); werr == nil {
			if _, rerr := jsonform.Read[A](written); rerr != nil { // the type refuses the answer
				err = fmt.Errorf("interrupt %q: the answer %s cannot be read, and the question is still open: %w", i.name, written, rerr)
			}
		}
	}
	return signal(engine.Answer{Interrupt: i.name, ID: id, Value: data, Err: err})
}
