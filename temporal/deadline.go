package temporal

import (
	"encoding/json"
	"time"

	"github.com/weft-go/weft/graph"
)

// A Deadline gives a question of an interrupt an answer when nobody has answered it in time. [NewDeadline]
// makes it.
type Deadline struct {
	interrupt string
	of        func(p graph.Pause) (after time.Duration, answer json.RawMessage, err error)
}

// NewDeadline returns a deadline for the questions of an interrupt. The function returns the time
// after which a question gets an answer, and that answer. Zero means never. The time begins when the
// run has paused. A timer of the workflow measures it, so that it also passes while no worker lives; the
// next worker then resumes the thread with the answer.
//
// A prompt that cannot be decoded, or an answer that cannot be encoded, is an error of the run that paused. The
// question is then open without a deadline.
func NewDeadline[P, A any](i *graph.Interrupt[P, A], of func(prompt P) (after time.Duration, answer A)) Deadline {
	return Deadline{interrupt: i.Name(), of: func(p graph.Pause) (time.Duration, json.RawMessage, error) {
		open, err := i.Open(&graph.Snapshot{Pauses: []graph.Pause{p}})
		if err != nil || len(open) == 0 {
			return 0, nil, err
		}
		after, value := of(open[0].Prompt)
		if after <= 0 {
			return 0, nil, nil
		}
		wire, err := encodeWrite(i.Answer(p.ID, value))
		if err != nil {
			return 0, nil, err
		}
		return after, wire.Answer.Value, nil
	}}
}
