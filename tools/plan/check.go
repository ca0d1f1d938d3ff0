package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/tools"
)

// ErrInvalid is returned when a plan has mistakes.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#planerrinvalid.
var ErrInvalid = errors.New("invalid plan")

// Check returns all mistakes of a plan, with a text for the model that wrote the plan. The
// error wraps [ErrInvalid]. Mistakes are: an id that is empty, used twice or contains
// braces; a tool, dependency or reference that does not exist; arguments that do not fit the
// tool; and, if there is no other mistake, a cycle of dependencies. Arguments with references
// are checked only when the plan runs. The argument done has results of earlier actions, to
// which the plan may refer.
func Check(set *tools.Set, actions []tools.Action, done map[string]Result) error {
	_, err := order(set, actions, done)
	return err
}

// Ordered reports whether an action has a dependency or refers to the result of another
// action.
func Ordered(actions []tools.Action) bool {
	known := idsOf(actions, nil)
	for _, a := range actions {
		if ids, _ := references(a.Arguments, known); len(ids) > 0 || len(a.DependsOn) > 0 {
			return true
		}
	}
	return false
}

// Hash returns a hash of actions in their order. It identifies a plan, for example in a
// question about it. It does not cover the tools, the bound values or the results that
// arguments refer to, so it does not replace [Questions] and [Approved].
func Hash(actions []tools.Action) (string, error) {
	text, err := json.Marshal(actions)
	if err != nil {
		return "", fmt.Errorf("plan: hash: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// idsOf returns a function that reports whether an id belongs to an action or a result.
func idsOf(actions []tools.Action, done map[string]Result) func(string) bool {
	ids := make(map[string]bool, len(actions)+len(done))
	for _, a := range actions {
		ids[a.ID] = a.ID != ""
	}
	for id := range done {
		ids[id] = true
	}
	return func(id string) bool { return ids[id] }
}

// order checks a plan and returns, for each action, the ids that it waits for.
func order(set *tools.Set, actions []tools.Action, done map[string]Result) (map[string][]string, error) {
	known := idsOf(actions, done)
	waits := make(map[string][]string, len(actions))
	var mistakes []error
	for i, a := range actions {
		if _, taken := waits[a.ID]; taken {
			mistakes = append(mistakes, fmt.Errorf("two actions have the id %q", a.ID))
		}
		if a.ID == "" || strings.ContainsAny(a.ID, "{}") {
			mistakes = append(mistakes, fmt.Errorf("action %d has the id %q; want one that is not empty and has no braces", i, a.ID))
		}
		needs, err := check(set, a, known)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("action %q: %w", a.ID, err))
		}
		waits[a.ID] = needs
	}
	if len(mistakes) == 0 {
		if circle := circleIn(actions, waits); circle != nil {
			mistakes = append(mistakes, fmt.Errorf("the actions wait for each other in a circle: %s", strings.Join(circle, " → ")))
		}
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("plan: %w: %w", ErrInvalid, errors.Join(mistakes...))
	}
	return waits, nil
}

// check checks one action and returns the ids that it waits for.
func check(set *tools.Set, a tools.Action, known func(string) bool) ([]string, error) {
	var mistakes []error
	t, ok := set.Lookup(a.Tool)
	if !ok {
		mistakes = append(mistakes, fmt.Errorf("there is no tool %q", a.Tool))
	}
	for _, id := range a.DependsOn {
		if !known(id) {
			mistakes = append(mistakes, fmt.Errorf("it depends on %q, and there is no such action", id))
		}
	}
	referred, err := references(a.Arguments, known)
	if ok && err == nil && len(referred) == 0 {
		var plain json.RawMessage // the arguments with escapes resolved
		if plain, err = inject(a.Arguments, nil, false); err == nil {
			_, err = t.Check(plain)
		}
	}
	needs := slices.Clone(a.DependsOn)
	for _, id := range referred {
		if !slices.Contains(needs, id) {
			needs = append(needs, id)
		}
	}
	return needs, errors.Join(append(mistakes, err)...)
}

// circleIn returns the ids of a cycle of dependencies, or nil. The first id is repeated at
// the end.
func circleIn(actions []tools.Action, waits map[string][]string) []string {
	finished, at := map[string]bool{}, map[string]int{}
	var path []string
	var visit func(id string) []string
	visit = func(id string) []string {
		if i, ok := at[id]; ok {
			return append(slices.Clone(path[i:]), id)
		}
		if finished[id] {
			return nil
		}
		at[id] = len(path)
		path = append(path, id)
		for _, next := range waits[id] {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		path = path[:len(path)-1]
		delete(at, id)
		finished[id] = true
		return nil
	}
	for _, a := range actions {
		if circle := visit(a.ID); circle != nil {
			return circle
		}
	}
	return nil
}
