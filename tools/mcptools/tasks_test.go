package mcptools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools/mcptools"
)

// reply returns the response to a request, from a server with a tool that runs only as a
// task.
func reply(request []byte) string {
	var in struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	if json.Unmarshal(request, &in) != nil || in.ID == nil {
		return ""
	}
	result := ""
	switch in.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"tasks","version":"1"}}`, in.Params.ProtocolVersion)
	case "tools/list":
		result = `{"tools":[` +
			`{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},` +
			`{"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
			`{"name":"plain","inputSchema":{"type":"object","properties":{"taskSupport":{"type":"string"}}}}]}`
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, in.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
}

// TestToolsThatRequireTasksAreLeftOut proves that a tool that the server runs only as a
// task is left out of the list, with an error in Refused.
func TestToolsThatRequireTasksAreLeftOut(t *testing.T) {
	t.Parallel()
	overHTTP := func(contentType, format string) func(*testing.T) mcptools.Endpoint {
		return func(t *testing.T) mcptools.Endpoint {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch text := reply(body); {
				case r.Method != http.MethodPost:
					w.WriteHeader(http.StatusMethodNotAllowed)
				case text == "":
					w.WriteHeader(http.StatusAccepted)
				default:
					w.Header().Set("Content-Type", contentType)
					_, _ = fmt.Fprintf(w, format, text)
				}
			}))
			t.Cleanup(s.Close)
			return mcptools.HTTP{URL: s.URL}
		}
	}
	endpoints := map[string]func(*testing.T) mcptools.Endpoint{
		"JSON over HTTP":   overHTTP("application/json", "%s"),
		"events over HTTP": overHTTP("text/event-stream", "event: message\ndata: %s\n\n"),
		"lines": func(t *testing.T) mcptools.Endpoint {
			return mcptools.Dial(func(context.Context) (mcp.Transport, error) {
				fromClient, toServer := io.Pipe()
				fromServer, toClient := io.Pipe()
				go func() {
					defer toClient.Close()
					for lines := bufio.NewScanner(fromClient); lines.Scan(); {
						if text := reply(lines.Bytes()); text != "" {
							_, _ = fmt.Fprintln(toClient, text)
						}
					}
				}()
				return &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil
			})
		},
	}
	for name, endpoint := range endpoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			c, err := mcptools.New(endpoint(t), mcptools.Options{Name: "tasks", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			defer c.Close()
			list, err := c.Tools(within(t))
			require.NoError(t, err)
			var names []string
			for _, tool := range list {
				names = append(names, tool.Name())
			}
			assert.Equal(t, []string{"either", "plain"}, names)
			assert.ErrorContains(t, c.Refused(), `tool "slow": the server runs it only as a task (execution.taskSupport is required), which this client does not support`)
			assert.Contains(t, log.String(), "tools of mcp server left out")
		})
	}
}
