package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	t.Parallel()
	w := workload{
		name: "W0", unit: "step", sizes: []int{10, 100, 1000},
		targets: func(r results) []target {
			return []target{
				timesFloor(r, 10, 4), ofEino(r, 10, 0.2),
				bytesOfFloor(r, 10, 2, "heap", heapOf),
				flat(r, 10, 100, 1.1),
				atMost(r, cell{weft, 100}, 8, "allocs", allocsOf),
			}
		},
	}
	r := results{
		{floor, 10}:  {{ns: 100, heap: 50}},
		{eino, 10}:   {{ns: 2400}},
		{weft, 10}:   {{ns: 350, allocs: 5, bytes: 640, heap: 75}},
		{floor, 100}: {{ns: 100}},
		{weft, 100}:  {{ns: 420, allocs: 8.5, bytes: 700}},
	}
	var tab table
	tab.add(w, r)
	var out bytes.Buffer
	met, err := tab.print(&out)
	require.NoError(t, err)
	assert.False(t, met)
	want := `workload size floor eino weft /floor /eino allocs B target got
W0 10 steps 100 ns 2.4 µs 350 ns 3.5 0.146 5 640 <= 4 x floor 3.5 met
<= 0.2 x eino 0.146 met
<= 2 x floor's 50 B heap 1.5 met
W0 100 steps 100 ns - 420 ns 4.2 - 8.5 700 flat: <= 1.1 x n=10 1.2 MISSED
<= 8 allocs 8.5 MISSED
`
	got, _, _ := strings.Cut(squeeze(out.String()), "\nTimes, ")
	assert.Equal(t, want, got)
	assert.True(t, strings.HasSuffix(out.String(), "5 targets, 3 met, 2 missed\n"), out.String())

	out.Reset()
	_, err = tab.markdown(&out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), `| workload | size | floor | eino | weft | targets: got |
| --- | --- | --- | --- | --- | --- |
| W0 | 10 steps | 100 ns | 2.4 µs | 350 ns | ≤ 4 × floor: 3.5 · ≤ 0.2 × eino: 0.146 · ≤ 2 × floor's 50 B heap: 1.5 |
| W0 | 100 steps | 100 ns | - | 420 ns | **flat: ≤ 1.1 × n=10: 1.2** · **≤ 8 allocs: 8.5** |
`)
}

// TestRatioOfRounds checks that a ratio does not change when the machine is slow in
// some rounds.
func TestRatioOfRounds(t *testing.T) {
	t.Parallel()
	r := results{
		{floor, 1}: {{ns: 100}, {ns: 200}, {ns: 100}, {ns: 400}, {ns: 800}},
		{weft, 1}:  {{ns: 210}, {ns: 400}, {ns: 900}, {ns: 760}, {ns: 1600}},
	}
	assert.InDelta(t, 2, ratio(r, cell{weft, 1}, cell{floor, 1}, timeOf), 0)
	got, ok := r.median(cell{weft, 1})
	assert.True(t, ok)
	assert.InDelta(t, 760, got.ns, 0)
	assert.True(t, math.IsNaN(ratio(r, cell{weft, 1}, cell{floor, 10}, timeOf)), "a cell that was not measured")
}

// squeeze replaces the padding of columns by one space.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestTargetMet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give target
		want bool
	}{
		{"below an upper bound", target{got: 1.9, bound: 2}, true},
		{"at an upper bound", target{got: 2, bound: 2}, true},
		{"above an upper bound", target{got: 2.1, bound: 2}, false},
		{"below a lower bound", target{got: 1.9, bound: 2, least: true}, false},
		{"above a lower bound", target{got: 2.1, bound: 2, least: true}, true},
		{"not measured", target{got: math.NaN(), bound: 2}, false},
		{"infinite", target{got: math.Inf(1), bound: 2, least: true}, false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.give.met(), tt.name)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		give []float64
		want float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 9, 2}, 3},
	} {
		assert.InDelta(t, tt.want, median(tt.give), 0, "median of %v", tt.give)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for give, want := range map[float64]string{
		187.4: "187 ns", 2670: "2.67 µs", 23_400: "23.4 µs", 999_960: "1000 µs", 3.3e6: "3.3 ms", 99.96: "100 ns",
	} {
		assert.Equal(t, want, duration(give))
	}
	assert.Equal(t, "-", number(math.NaN()))
	assert.Equal(t, "stopped", duration(math.Inf(1)))
}

func TestProcessor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Example 9000 Processor", processor(filepath.Join("testdata", "cpuinfo")))
	assert.Equal(t, "unknown processor", processor(filepath.Join("testdata", "missing")))
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for size, p := range map[int]payload{64: text64, 1024: text1024} {
		assert.Len(t, p.at(7), size)
		assert.NotEqual(t, p.at(0), p.at(1))
	}
}
