package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-go/weft/internal/pgtest"
)

// The second process books the parts that the first one has not booked. It repeats only the booking
// in which the first one was killed.
func TestKillBetween(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "postgres")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	schema := pgtest.Schema(t)
	for range 2 { // the second run deletes the thread of the first one
		cmd := exec.CommandContext(t.Context(), program, "-schema", schema)
		cmd.Env = append(os.Environ(), "DATABASE_URL="+pgtest.DirectURL(t))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := `process 1: booking the flight
process 1: booking the hotel
process 1 was killed
process 2: there is a trip already: going on
process 2: booking the hotel
process 2: booking the car
process 2: answer: All is booked.
step `
		if !strings.HasPrefix(string(out), want) {
			t.Errorf("got %s\nwant %s", out, want)
		}
	}
}

func TestWithoutDatabase(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Env = append(os.Environ(), "DATABASE_URL=")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "DATABASE_URL is not set") {
		t.Errorf("got error %v, output %s", err, out)
	}
}
