package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/internal/crashtest"
)

// asFlow is an environment variable. If it is set, the test binary runs or resumes a flow in
// the current folder. Its value is the version of the flow's code.
const asFlow = "FLOW_TEST_VERSION"

const crashTasks = 200

// crashFlow returns version v of a flow. All versions have 200 tasks, in different orders and
// groups. Version v lacks one of the tasks 0 to 199, and has task 1000+v, which no other version
// has. The output is the sum of the numbers of the tasks.
func crashFlow(store checkpoint.Store, v int, log func(event, key string)) (*flow.Flow[string, int], error) {
	task := func(n int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			log("ran", fmt.Sprint(n))
			return n, nil
		}
	}
	return flow.New(fmt.Sprint("version ", v), func(ctx context.Context, _ string) (int, error) {
		numbers := rand.New(rand.NewPCG(uint64(v), 1)).Perm(crashTasks)
		numbers = slices.DeleteFunc(numbers, func(n int) bool { return n == v%crashTasks })
		numbers = slices.Insert(numbers, v%crashTasks, 1000+v)
		sum := 0
		add := func(key, n int, err error) error {
			if err == nil {
				log("done", fmt.Sprint(key))
				sum += n
			}
			return err
		}
		one, many, rest := numbers[:v%100], numbers[v%100:100+v%100], numbers[100+v%100:]
		for _, n := range one {
			got, err := flow.Do(ctx, fmt.Sprint(n), task(n))
			if err := add(n, got, err); err != nil {
				return 0, err
			}
		}
		got, err := flow.Map(ctx, many, 1+v%9, func(n int) string { return fmt.Sprint(n) },
			func(ctx context.Context, n int) (int, error) { return task(n)(ctx) })
		if err != nil {
			return 0, err
		}
		for i, n := range many {
			if err := add(n, got[i], nil); err != nil {
				return 0, err
			}
		}
		var futures []*flow.Future[int]
		for _, n := range rest {
			futures = append(futures, flow.Go(ctx, fmt.Sprint(n), task(n)))
		}
		for i, f := range futures {
			n, err := f.Wait(ctx)
			if err := add(rest[i], n, err); err != nil {
				return 0, err
			}
		}
		return sum, nil
	}, graph.Options{Checkpoints: store})
}

// runCrashFlow runs or resumes the flow and prints its output.
func runCrashFlow(version string) (err error) {
	ctx := context.Background()
	v, err := strconv.Atoi(version)
	if err != nil {
		return err
	}
	events, err := os.OpenFile("events", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, events.Close()) }()
	store, err := sqlitecheckpoint.Open(ctx, "flow.db", sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	begun := sync.OnceFunc(func() { _, _ = fmt.Println("begun") })
	f, err := crashFlow(store, v, func(event, key string) {
		begun()
		_, _ = events.WriteString(event + " " + key + "\n") // one call of write, so a kill cannot cut the line
	})
	if err != nil {
		return err
	}
	thread := f.Thread("t")
	snap, err := thread.Snapshot(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		snap, err = thread.Invoke(ctx, f.Input("go"))
	case err == nil && !snap.Done():
		snap, err = thread.Invoke(ctx)
	}
	if err == nil {
		_, err = fmt.Println(f.Output(snap))
	}
	return err
}

// A flow that is killed at random points resumes with changed code: tasks are added, removed and
// reordered. A task that has completed does not run again. WEFT_CRASHES sets the number of kills;
// make crash sets it.
func TestKilledFlowResumesUnderChangedCode(t *testing.T) {
	t.Parallel()
	kills := 12
	if n, err := strconv.Atoi(os.Getenv("WEFT_CRASHES")); err == nil {
		kills = n
	}
	rnd := rand.New(rand.NewPCG(uint64(kills), 3))
	killed, runs, stored := 0, 0, 0
	longest := time.Hour // the first run is not killed; it measures the duration of a run
	for ; killed < kills; runs++ {
		dir := t.TempDir()
		var sums []string // the outputs of the versions that ran
		for {
			start, after := time.Now(), longest
			if runs > 0 {
				after = time.Duration(rnd.Int64N(int64(longest)))
			}
			version := rnd.IntN(1000)
			sums = append(sums, fmt.Sprint(crashTasks*(crashTasks-1)/2-version%crashTasks+1000+version))
			out, died := crashtest.Run(t, dir, after, asFlow+"="+fmt.Sprint(version))
			if died {
				killed++
				continue
			}
			if runs == 0 {
				longest = time.Since(start)
			}
			events, err := os.ReadFile(filepath.Join(dir, "events"))
			require.NoError(t, err)
			again, completed := runsAfterCompletion(string(events))
			assert.Empty(t, again, "tasks that ran after they had completed")
			stored += completed
			assert.Contains(t, sums, out, "an earlier version may have completed before its process died")
			break
		}
	}
	t.Logf("%d kills in %d runs; %d tasks completed", killed, runs, stored)
}

// runsAfterCompletion returns the keys of tasks that ran after they had completed, and the number
// of tasks that completed.
func runsAfterCompletion(events string) (again []string, completed int) {
	done := map[string]bool{}
	for line := range strings.Lines(events) {
		event, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case event == "done":
			done[key] = true
		case done[key]:
			again = append(again, key)
		}
	}
	return again, len(done)
}
