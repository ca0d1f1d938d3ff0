package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/crashtest"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// asTeam and teamSchema are environment variables. If asTeam is set, the test binary runs or resumes
// the team until it is done or killed. The value of asTeam is "url " followed by the URL of a
// PostgreSQL server, whose schema is in teamSchema. Without a URL, the store is a SQLite file in the
// current folder.
const (
	asTeam     = "AGENT_TEST_TEAM"
	teamSchema = "AGENT_TEST_SCHEMA"
)

// team returns a supervisor that gives five tasks to one member in one reply. Three of the tasks send
// a mail, which a person has to approve. Each mail creates a file that is named after its idempotency
// key.
func team(store checkpoint.Store) (*graph.Graph, error) {
	send := tools.New("send", "Sends.", func(ctx context.Context, in struct {
		To string `json:"to"`
	},
	) (string, error) {
		working()
		key := strings.NewReplacer("/", "_", ":", "_").Replace(graph.IdempotencyKey(ctx))
		f, err := os.OpenFile("sent "+in.To+" "+key, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		return "sent to " + in.To, f.Close()
	})
	set, err := tools.NewSet(send)
	if err != nil {
		return nil, err
	}
	mailer, err := agent.New("mailer", llm.ModelFunc(mailerModel), set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("send")}},
	})
	if err != nil {
		return nil, err
	}
	return agent.New("boss", llm.ModelFunc(bossModel), nil, agent.Options{
		Use:   []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: mailer, Description: "It mails."})},
		Graph: graph.Options{Checkpoints: store},
	})
}

// begun prints a line once, when the process has the lease and begins to work.
var begun = sync.OnceFunc(func() { _, _ = fmt.Println("begun") })

// working simulates the time of a model call or a tool call.
func working() {
	begun()
	<-time.After(time.Millisecond)
}

var teamTasks = []string{"mail 0", "a", "mail 1", "b", "mail 2"}

func bossModel(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	working()
	if len(r.Messages) > 1 {
		return llmtest.NewScript(llmtest.Say("done")).Stream(ctx, r)
	}
	var calls []llm.ToolCall
	for i, task := range teamTasks {
		arguments, _ := json.Marshal(map[string]string{"task": task})
		calls = append(calls, llm.ToolCall{ID: fmt.Sprint("c", i), Name: "mailer", Arguments: arguments})
	}
	return llmtest.NewScript(llmtest.Calls(calls...)).Stream(ctx, r)
}

func mailerModel(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	working()
	task, last := r.Messages[0].Text(), r.Messages[len(r.Messages)-1]
	reply := llmtest.Say("answer to " + task)
	switch {
	case last.Role == llm.RoleTool:
		reply = llmtest.Say(task + ": " + last.Text())
	case strings.HasPrefix(task, "mail"):
		reply = llmtest.Calls(llm.ToolCall{ID: "send", Name: "send", Arguments: json.RawMessage(`{"to":"` + task + `"}`)})
	}
	return llmtest.NewScript(reply).Stream(ctx, r)
}

// runTeam runs or resumes the team. It answers one open question in each run.
func runTeam(url string) error {
	ctx := context.Background()
	store, closed, err := openTeam(ctx, url)
	if err != nil {
		return err
	}
	defer closed()
	g, err := team(store)
	if err != nil {
		return err
	}
	th := g.Thread("t")
	snap, err := th.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		snap, err = th.Invoke(ctx, agent.Messages.Put(llm.User("go")))
	}
	for err == nil && !snap.Done() {
		var open []graph.OpenQuestion[tools.Question]
		if open, err = agent.Approval.Open(snap); err != nil {
			return err
		}
		if len(open) == 0 {
			snap, err = th.Invoke(ctx)
			continue
		}
		q := open[len(open)-1]
		snap, err = th.Invoke(ctx, agent.Approval.Answer(q.ID, q.Prompt.Approve()))
	}
	if err == nil {
		_, err = fmt.Println(roles(snap))
	}
	return err
}

func openTeam(ctx context.Context, url string) (store checkpoint.Store, closed func(), err error) {
	if url == "" {
		s, err := sqlitecheckpoint.Open(ctx, "team.db", sqlitecheckpoint.Options{})
		return s, func() { _ = s.Close() }, err
	}
	s, err := pgcheckpoint.Open(ctx, url, pgcheckpoint.Options{Schema: os.Getenv(teamSchema), LeaseTime: time.Second, Busy: pgcheckpoint.Wait, MaxRecoveries: -1})
	return s, s.Close, err
}

// Sub-agents that are killed at random points answer their calls: no answer is lost or belongs to
// another call, and no mail is sent twice. WEFT_CRASHES sets the number of kills for each store; make
// crash sets it.
func TestKilledSubAgentsAnswerTheirCalls(t *testing.T) {
	t.Parallel()
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("WEFT_CRASHES")); err == nil {
		kills = n
	}
	for name, url := range map[string]string{"SQLite": "", "PostgreSQL": pgtest.DirectURL(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(kills), 7))
			killed, runs := 0, 0
			longest := time.Hour // the first run is not killed; it measures the duration of a run
			for ; killed < kills; runs++ {
				dir, schema := t.TempDir(), ""
				if url != "" {
					schema = pgtest.Schema(t)
				}
				for {
					start, after := time.Now(), longest
					if runs > 0 {
						after = time.Duration(rnd.Int64N(int64(longest)))
					}
					out, died := crashtest.Run(t, dir, after, asTeam+"="+"url "+url, teamSchema+"="+schema)
					if died {
						killed++
						continue
					}
					if runs == 0 {
						longest = time.Since(start)
					}
					require.Equal(t, "user:go | assistant | tool:mail 0: sent to mail 0 | tool:answer to a | tool:mail 1: sent to mail 1"+
						" | tool:answer to b | tool:mail 2: sent to mail 2 | assistant:done", strings.TrimSpace(out))
					break
				}
				sent, err := filepath.Glob(filepath.Join(dir, "sent *"))
				require.NoError(t, err)
				assert.Len(t, sent, 3, "one effect for each mail")
			}
			t.Logf("%d kills in %d runs", killed, runs)
		})
	}
}
