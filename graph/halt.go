package graph

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

// pauseAt stops the run if one of the nodes is named by a static pause.
func (r *run) pauseAt(at []string, kind PauseKind, nodes []string) bool {
	for _, name := range slices.Compact(slices.Clone(nodes)) {
		if slices.Contains(at, name) || slices.Contains(at, AllNodes) {
			r.pauses = append(r.pauses, Pause{Kind: kind, Node: name, Path: join2(r.path, name)})
		}
	}
	return r.pauses != nil
}

// halt notes at the current checkpoint that a run stopped there in good order,
// so that the next one goes on with what is due. A run that finds no such note,
// as one behind a crash does, comes to the static pauses anew.
func (r *run) halt(at []Pause) error {
	if r.journal == nil {
		if at == nil {
			return nil
		}
		return fmt.Errorf("a pause %s %q: %w", at[0].Kind, at[0].Node, ErrNoStore)
	}
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	r.touched.Store(true)
	return r.journal.write(r.ctx, r.key(), []checkpoint.Write{{Index: indexStop, Channel: markStop, Data: data}})
}

// AllNodes stands for every node in [Options.PauseBefore] and
// [Options.PauseAfter].
const AllNodes = "*"
