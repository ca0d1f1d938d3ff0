package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	w := workload{
		name: "W0", unit: "step", sizes: []int{10, 100, 1000},
		targets: func(r results) []target {
			return []target{
				timesFloor(r, 10, 4), fractionOfEino(r, 10, 6),
				bytesOfFloor(r, 10, 2, "heap", func(s sample) float64 { return s.heap }),
				flat(r, 10, 100, 1.1),
				atMost(r, 100, 8, "allocs", func(s sample) float64 { return s.allocs }),
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
	if err != nil {
		t.Fatal(err)
	}
	if met {
		t.Error("got all met, want two missed")
	}
	want := `workload size floor eino weft /floor /eino allocs B target got
W0 10 steps 100 ns 2.4 µs 350 ns 3.5 0.146 5 640 <= 4 x floor 3.5 met
<= 1/6 of eino (0.167) 0.146 met
<= 2 x floor's 50 B heap 1.5 met
W0 100 steps 100 ns - 420 ns 4.2 - 8.5 700 flat: <= 1.1 x n=10 1.2 MISSED
<= 8 allocs 8.5 MISSED
`
	if got := squeeze(out.String()); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := "5 targets, 3 met, 2 missed\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant it to end with %q", out.String(), want)
	}
}

// A ratio is that of samples of one round: a machine that was slow in one, or
// grows slower, does not change it.
func TestRatio(t *testing.T) {
	t.Parallel()
	r := results{
		{floor, 1}: {{ns: 100}, {ns: 200}, {ns: 100}, {ns: 400}, {ns: 800}},
		{weft, 1}:  {{ns: 210}, {ns: 400}, {ns: 900}, {ns: 760}, {ns: 1600}},
	}
	if got := ratio(r, cell{weft, 1}, cell{floor, 1}, perUnit); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got, ok := r.median(cell{weft, 1}); !ok || got.ns != 760 {
		t.Errorf("median: got %v, %t, want 760", got.ns, ok)
	}
	if got := ratio(r, cell{weft, 1}, cell{floor, 10}, perUnit); !math.IsNaN(got) {
		t.Errorf("of what was not measured: got %v, want NaN", got)
	}
}

// squeeze makes the widths of columns irrelevant.
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
		if got := tt.give.met(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
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
		if got := median(tt.give); got != tt.want {
			t.Errorf("median of %v: got %v, want %v", tt.give, got, tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for give, want := range map[float64]string{
		187.4: "187 ns", 2670: "2.67 µs", 23_400: "23.4 µs", 999_960: "1000 µs", 3.3e6: "3.3 ms", 99.96: "100 ns",
	} {
		if got := duration(give); got != want {
			t.Errorf("duration of %v: got %q, want %q", give, got, want)
		}
	}
	if got := number(math.NaN()); got != "-" {
		t.Errorf("number of NaN: got %q, want -", got)
	}
}

func TestProcessor(t *testing.T) {
	t.Parallel()
	if got, want := processor(filepath.Join("testdata", "cpuinfo")), "Example 9000 Processor"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := processor(filepath.Join("testdata", "missing")), "unknown processor"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for size, p := range map[int]payload{64: text64, 1024: text1024} {
		if got := len(p.at(7)); got != size {
			t.Errorf("got %d bytes, want %d", got, size)
		}
		if p.at(0) == p.at(1) {
			t.Errorf("messages of %d bytes: two are equal", size)
		}
	}
}
