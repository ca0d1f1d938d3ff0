package durable_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if step := os.Getenv(asStep); step != "" {
		os.Exit(takeStep(step))
	}
	goleak.VerifyTestMain(m)
}
