package riverqueue_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asReplica); dir != "" {
		if err := serveReplica(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}
