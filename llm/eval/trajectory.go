package eval

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A CallOrder says how [Trajectory] compares the tool calls of a run with the expected ones.
type CallOrder int

const (
	// SameCalls requires the expected calls in their order, and no others.
	SameCalls CallOrder = iota
	// InOrder requires the expected calls in their order. Other calls may be between them.
	InOrder
	// AnyOrder requires the expected calls in any order. There may be others.
	AnyOrder
)

// Trajectory compares the tool calls of [Answer.Messages] with [Case.Calls]. Score.Value is
// the share of the expected calls that the run made. With [SameCalls], it is the number of
// matching calls divided by the number of expected or actual calls, whichever is larger.
// Trajectory compares arguments as [JSON] does.
func Trajectory(order CallOrder) Scorer {
	return NewScorer("trajectory", func(_ context.Context, c Case, a Answer) (Score, error) {
		if order < SameCalls || order > AnyOrder {
			return Score{}, fmt.Errorf("the call order %d is unknown: %w", order, ErrInvalid)
		}
		var made []llm.ToolCall
		for _, m := range a.Messages {
			made = append(made, m.ToolCalls...)
		}
		found, missing := matches(c.Calls, made, order)
		total := len(c.Calls)
		if order == SameCalls {
			total = max(total, len(made))
		}
		if total == 0 {
			return Score{Value: 1}, nil
		}
		s := Score{Value: float64(found) / float64(total)}
		if s.Value < 1 {
			s.Reason = fmt.Sprintf("made %s", names(made))
			if len(missing) > 0 {
				s.Reason += ", without " + strings.Join(missing, ", ")
			}
		}
		return s, nil
	})
}

// matches returns the number of expected calls that were made, and the names of the missing
// calls. If the order matters, it uses the longest common subsequence.
func matches(want []Call, made []llm.ToolCall, order CallOrder) (found int, missing []string) {
	used := make([]bool, len(want))
	if order == AnyOrder {
		taken := make([]bool, len(made))
		// Match the expected calls with arguments first, since fewer calls match them.
		for _, exact := range []bool{true, false} {
			for i, w := range want {
				if exact != (len(w.Arguments) > 0) {
					continue
				}
				for j, m := range made {
					if !taken[j] && w.is(m) {
						taken[j], used[i] = true, true
						break
					}
				}
			}
		}
	} else {
		subsequence(want, made, used)
	}
	for i, w := range want {
		if used[i] {
			found++
		} else {
			missing = append(missing, w.Name)
		}
	}
	return found, missing
}

// subsequence marks the expected calls that are in a longest common subsequence.
func subsequence(want []Call, made []llm.ToolCall, used []bool) {
	best := make([][]int, len(want)+1)
	for i := range best {
		best[i] = make([]int, len(made)+1)
	}
	same := make([][]bool, len(want))
	for i := len(want) - 1; i >= 0; i-- {
		same[i] = make([]bool, len(made))
		for j := len(made) - 1; j >= 0; j-- {
			same[i][j] = want[i].is(made[j])
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if same[i][j] {
				best[i][j] = max(best[i][j], best[i+1][j+1]+1)
			}
		}
	}
	for i, j := 0, 0; i < len(want) && j < len(made); {
		switch {
		case same[i][j] && best[i][j] == best[i+1][j+1]+1:
			used[i] = true
			i, j = i+1, j+1
		case best[i+1][j] >= best[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// is reports whether the call m matches the expected call c.
func (c Call) is(m llm.ToolCall) bool {
	if c.Name != m.Name {
		return false
	}
	if len(c.Arguments) == 0 {
		return true
	}
	want, err := decode(c.Arguments)
	if err != nil {
		return false
	}
	arguments := []byte(m.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	got, err := decode(arguments)
	if err != nil {
		return false
	}
	var d difference
	d.compare("", want, got)
	return d.equal == d.leaves
}

func names(calls []llm.ToolCall) string {
	if len(calls) == 0 {
		return "no calls"
	}
	list := make([]string, len(calls))
	for i, c := range calls {
		list[i] = c.Name
	}
	return strings.Join(list, ", ")
}
