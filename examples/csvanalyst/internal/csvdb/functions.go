package csvdb

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// maxMedian is the maximum number of values of a median, which are all in memory.
const maxMedian = 4_000_000

// init registers three functions that SQLite lacks: fold, which returns a text in lower case in any script; truth,
// which returns a boolean cell as yes or no; and median.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("truth", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			if v, ok := yesOrNo(text); ok {
				return v, nil
			}
		}
		return args[0], nil
	})
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return strings.ToLower(text), nil
		}
		return args[0], nil
	})
	sqlite.MustRegisterFunction("median", &sqlite.FunctionImpl{
		NArgs: 1, Deterministic: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return new(median), nil },
	})
}

// median collects the numbers of a group.
type median struct{ values []float64 }

// Step adds a value.
func (m *median) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if len(m.values) == maxMedian {
		return fmt.Errorf("a median is that of %d values at most", maxMedian)
	}
	switch v := args[0].(type) {
	case int64:
		m.values = append(m.values, float64(v))
	case float64:
		m.values = append(m.values, v)
	}
	return nil
}

// WindowInverse returns an error, since this package uses no window functions.
func (m *median) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return fmt.Errorf("median has no windows")
}

// WindowValue returns the median, or nil if there are no values.
func (m *median) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	n := len(m.values)
	if n == 0 {
		return nil, nil
	}
	slices.Sort(m.values)
	return (m.values[(n-1)/2] + m.values[n/2]) / 2, nil
}

// Final forgets the values.
func (m *median) Final(*sqlite.FunctionContext) { m.values = nil }
