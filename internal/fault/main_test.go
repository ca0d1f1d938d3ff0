//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// roles maps the role of a process of [fault.Spawn] to the function that it runs.
var roles = map[string]func(ctx context.Context, args []string) error{}

func TestMain(m *testing.M) {
	if name := fault.Role(); name != "" {
		if err := roles[name](context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}
