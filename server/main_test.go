package server_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(asServer); kind != "" {
		if err := serveChild(kind); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(closingIdle{pgtest.Main(m)})
}

// closingIdle closes the idle connections of the tests' clients after the tests.
type closingIdle struct{ pgtest.M }

func (m closingIdle) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return m.M.Run()
}
