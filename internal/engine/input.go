package engine

import (
	"fmt"

	"github.com/weft-go/weft/state"
)

// An input holds the writes that the caller of a run passed, sorted by kind.
type input struct {
	writes  state.Update
	gotos   []Goto
	sends   []*Send
	answers []Answer
	begin   bool // the run begins a new turn
	resume  bool // the caller asks to continue the current turn
}

// readInput sorts the writes of a caller and rejects contradictory ones.
func readInput(writes []state.Write) (input, error) {
	var in input
	for _, w := range writes {
		if err := in.add(w); err != nil {
			return in, err
		}
	}
	in.resume = in.resume || in.hasTargets() || len(in.answers) > 0
	if in.begin && in.resume {
		return in, fmt.Errorf("%w: Begin starts a new turn; it cannot stand beside Continue, Goto, Send or an answer", ErrSignal)
	}
	in.begin = in.begin || len(in.writes) > 0 && !in.resume
	return in, nil
}

func (in *input) add(w state.Write) error {
	switch s := w.Signal().(type) {
	case nil:
		if w.Channel() != "" {
			in.writes = append(in.writes, w)
		}
	case Goto:
		in.gotos = append(in.gotos, s)
	case *Send:
		in.sends = append(in.sends, s)
	case Answer:
		in.answers = append(in.answers, s)
		return s.Err
	case Turn:
		in.begin = in.begin || s.Begin
		in.resume = in.resume || !s.Begin
	default:
		return fmt.Errorf("%s: %w: a caller gave it", s.Signal(), ErrSignal)
	}
	return nil
}

func (in *input) hasTargets() bool { return len(in.gotos)+len(in.sends) > 0 }

// targets returns the tasks that the caller schedules with Goto and Send.
func (in *input) targets(s *scope) (routed, error) {
	caller := &Task{scope: s, node: s.plan.Start}
	tx := s.plan.Schema.NewTx()
	for _, g := range in.gotos {
		if err := caller.addTarget(g.Node, s.plan.callerTargets(g.Node)); err != nil {
			return routed{}, err
		}
	}
	for _, send := range in.sends {
		if err := caller.addSend(tx, send, s.plan.callerTargets(send.Node)); err != nil {
			return routed{}, err
		}
	}
	return caller.routed(), nil
}

// callerTargets returns name as a list if the caller of a run may schedule that node.
// Otherwise it returns nil.
func (p *Plan) callerTargets(name string) []string {
	if name == End || p.byName[name] != nil {
		return []string{name}
	}
	return nil
}
