//go:build phoenix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPhoenixShowsTheTrace sends the traces of the example to the Phoenix of PHOENIX_URL, and reads
// them back: the spans are nested, the tokens are summed, a cost is computed, and the run that was
// resumed names the trace of its pause. The target phoenix of the Makefile runs it.
func TestPhoenixShowsTheTrace(t *testing.T) {
	address := os.Getenv("PHOENIX_URL")
	require.NotEmpty(t, address, "run make phoenix")
	project := "weft-" + time.Now().Format("20060102-150405.000000")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", address+"/v1/traces")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name="+project)
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	require.NoError(t, run(t.Context(), io.Discard, os.Getenv, 0))

	const want = 33
	var spans []phoenixSpan
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		spans = phoenixSpans(c, address, project)
		assert.Equal(c, want, len(spans)) // not Len, which prints all spans
	}, 30*time.Second, 200*time.Millisecond)

	byID, roots := map[string]phoenixSpan{}, []phoenixSpan{}
	for _, s := range spans {
		byID[s.Context.Span] = s
		if s.Parent == "" {
			roots = append(roots, s)
		}
	}
	require.Len(t, roots, 2)
	for _, s := range spans { // each span has the parent that its name requires
		if s.Parent == "" {
			continue
		}
		parent, found := byID[s.Parent]
		require.True(t, found, s.Name)
		kind, _, _ := strings.Cut(s.Name, " ")
		parentKind, _, _ := strings.Cut(parent.Name, " ")
		assert.Equal(t, map[string]string{
			"superstep": "invoke_workflow", "task": "superstep", "chat": "task", "execute_tool": "task", "invoke_workflow": "task",
		}[kind], parentKind, s.Name)
		switch kind {
		case "chat":
			assert.Equal(t, "LLM", s.Kind)
			assert.NotEmpty(t, s.Attributes["llm.input_messages.0.message.role"], "%v", s.Attributes)
		case "execute_tool":
			assert.Equal(t, "TOOL", s.Kind)
		}
	}
	paused, resumed := roots[0], roots[1]
	if paused.Attributes["weft.outcome"] != "paused" {
		paused, resumed = resumed, paused
	}
	assert.Equal(t, paused.Context.Trace, resumed.Attributes["weft.pause.trace_id"])
	assert.Equal(t, "customer-7", resumed.Attributes["session.id"])

	totals := phoenixTotals(t, address, project)
	assert.EqualValues(t, 1350, totals.Prompt)
	assert.EqualValues(t, 118, totals.Completion)
	assert.Positive(t, totals.Cost.Total.Cost)
	t.Logf("%d spans, %v tokens in and %v out, %v USD", len(spans), totals.Prompt, totals.Completion, totals.Cost.Total.Cost)
}

// TestPhoenixShowsTheCalendar sends the traces of two processes of the calendar: the first one pauses before a
// node, and the second one resumes with the answer and names the trace of the first one.
func TestPhoenixShowsTheCalendar(t *testing.T) {
	address := os.Getenv("PHOENIX_URL")
	require.NotEmpty(t, address, "run make phoenix")
	project, folder := "calendar-"+time.Now().Format("20060102-150405.000000"), t.TempDir()
	for _, message := range []string{"delete my meeting with John", "yes"} {
		cmd := exec.CommandContext(t.Context(), "go", "run", "../calendar", "-offline", "-data", folder, message)
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+address+"/v1/traces", "OTEL_RESOURCE_ATTRIBUTES=openinference.project.name="+project)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	var roots []phoenixSpan
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		roots = nil
		for _, s := range phoenixSpans(c, address, project) {
			if s.Parent == "" {
				roots = append(roots, s)
			}
		}
		assert.Len(c, roots, 2)
	}, 30*time.Second, 200*time.Millisecond)
	paused, resumed := roots[0], roots[1]
	if paused.Attributes["weft.outcome"] != "paused" {
		paused, resumed = resumed, paused
	}
	assert.Equal(t, "done", resumed.Attributes["weft.outcome"])
	assert.Equal(t, paused.Context.Trace, resumed.Attributes["weft.pause.trace_id"])
}

// TestPhoenixShowsTheResearch sends the trace of a document that the research reads: each request to the model is below the
// task that made it, and the tokens are summed.
func TestPhoenixShowsTheResearch(t *testing.T) {
	address := os.Getenv("PHOENIX_URL")
	require.NotEmpty(t, address, "run make phoenix")
	project, folder := "research-"+time.Now().Format("20060102-150405.000000"), t.TempDir()
	program := filepath.Join(folder, "research")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../research").CombinedOutput()
	require.NoError(t, err, "%s", out)
	start := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, append(args, "-data", folder)...)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+address+"/v1/traces", "OTEL_RESOURCE_ATTRIBUTES=openinference.project.name="+project)
		return cmd
	}
	token, err := start("-token").Output()
	require.NoError(t, err)
	server := start("-addr", "127.0.0.1:0", "-pace", "0s")
	lines, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	base := ""
	for scan := bufio.NewScanner(lines); base == "" && scan.Scan(); {
		if url, found := strings.CutSuffix(scan.Text(), "/chat/"); found {
			base = url
		}
	}
	post := func(path, kind, body string, answer any) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api"+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		r.Header.Set("Content-Type", kind)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Less(t, response.StatusCode, 300, path)
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
	}
	var document struct{ DocumentID, ProposalID string }
	const form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"bid.txt\"\r\nContent-Type: text/plain\r\n\r\n" +
		"Proposals are due on 1 May. The budget is 20,000 EUR. Bids are evaluated by price.\r\n--b--\r\n"
	post("/documents", "multipart/form-data; boundary=b", form, &document)
	post("/proposals", "application/json", "{}", &document)
	asked, err := json.Marshal(map[string]string{"proposalId": document.ProposalID, "documentId": document.DocumentID})
	require.NoError(t, err)
	var answer struct{ Success bool }
	post("/research", "application/json", string(asked), &answer)
	require.True(t, answer.Success)
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.NoError(t, server.Wait())

	parents := map[string]string{"superstep": "invoke_workflow", "task": "superstep", "chat": "task"}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		spans, names, found := phoenixSpans(c, address, project), map[string]string{}, map[string]int{}
		for _, s := range spans {
			names[s.Context.Span], _, _ = strings.Cut(s.Name, " ")
		}
		for _, s := range spans {
			kind := names[s.Context.Span]
			assert.Equal(c, parents[kind], names[s.Parent], s.Name)
			found[kind]++
		}
		assert.Equal(c, 1, found["invoke_workflow"])
		assert.Greater(c, found["chat"], 1)
		assert.Positive(c, phoenixTotal(c, address, project).Prompt)
	}, 30*time.Second, 200*time.Millisecond)
}

type phoenixSpan struct {
	Name    string `json:"name"`
	Kind    string `json:"span_kind"`
	Parent  string `json:"parent_id"`
	Context struct {
		Trace string `json:"trace_id"`
		Span  string `json:"span_id"`
	} `json:"context"`
	Attributes map[string]any `json:"attributes"`
}

// phoenixSpans returns the spans of a project; none if it does not exist yet.
func phoenixSpans(t require.TestingT, address, project string) []phoenixSpan {
	response, err := http.Get(address + "/v1/projects/" + project + "/spans?limit=100") //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var page struct{ Data []phoenixSpan }
	if response.StatusCode != http.StatusNotFound {
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NoError(t, json.NewDecoder(response.Body).Decode(&page))
	}
	return page.Data
}

type phoenixSums struct {
	Name       string
	Prompt     float64                                `json:"tokenCountPrompt"`
	Completion float64                                `json:"tokenCountCompletion"`
	Cost       struct{ Total struct{ Cost float64 } } `json:"costSummary"`
}

// phoenixTotals returns the sums of a project. Costs are computed after the spans are stored.
func phoenixTotals(t *testing.T, address, project string) (found phoenixSums) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		found = phoenixTotal(c, address, project)
		assert.Positive(c, found.Cost.Total.Cost)
	}, 30*time.Second, 500*time.Millisecond)
	return found
}

// phoenixTotal returns the sums of a project so far.
func phoenixTotal(t require.TestingT, address, project string) phoenixSums {
	query, err := json.Marshal(map[string]string{
		"query": "{ projects { edges { node { name tokenCountPrompt tokenCountCompletion costSummary { total { cost } } } } } }",
	})
	require.NoError(t, err)
	response, err := http.Post(address+"/graphql", "application/json", bytes.NewReader(query)) //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			Projects struct{ Edges []struct{ Node phoenixSums } }
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	for _, e := range answer.Data.Projects.Edges {
		if e.Node.Name == project {
			return e.Node
		}
	}
	return phoenixSums{}
}
