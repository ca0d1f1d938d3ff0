package durable_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if step := os.Getenv(asStep); step != "" {
		os.Exit(takeStep(step))
	}
	if url, ok := strings.CutPrefix(os.Getenv(asTeam), "url "); ok {
		if err := runTeam(url); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
