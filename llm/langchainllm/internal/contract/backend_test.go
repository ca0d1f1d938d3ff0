package contract_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm/langchainllm"
)

// A backend is a provider of langchaingo and the wire format of its API.
type backend struct {
	name     string
	provider langchainllm.Provider
	wires    bool // a Transport translates its requests and replies
	open     func(t *testing.T, url string, client *http.Client) llms.Model
	say      func(said) http.HandlerFunc
	read     func(asked) sent
}

// said is a reply, independent of the wire format.
type said struct {
	texts           []string
	calls           []saidCall
	reasoning       string
	stop            string // end, calls, length, filter
	in, out, cached int
	interleaved     bool // the arguments of the calls are streamed side by side
}

type saidCall struct{ id, name, arguments string }

func (s said) text() string { return strings.Join(s.texts, "") }

// sent is a request, independent of the wire format.
type sent struct {
	System string
	Turns  []turn
	Tools  []string
	Choice string
}

type turn struct {
	Role  string
	Parts []string
}

func say(texts ...string) said {
	return said{texts: texts, stop: "end", in: 10, out: 4, cached: 3}
}

func (s said) calling(calls ...saidCall) said {
	s.calls, s.stop = calls, "calls"
	return s
}

var backends = []backend{
	{name: "openai", provider: langchainllm.OpenAI, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "ollama", provider: langchainllm.Compatible, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "mistral", provider: langchainllm.MistralAPI, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "anthropic", provider: langchainllm.Anthropic, wires: true, open: openAnthropic, say: sayAnthropic, read: readAnthropic},
	{name: "googleai", provider: langchainllm.GoogleAI, wires: true, open: openGoogle, say: sayGoogle, read: readGoogle},
	{name: "bedrock", provider: langchainllm.Bedrock, open: openBedrock, say: sayBedrock, read: readAnthropic},
}

// each runs a test on every backend.
func each(t *testing.T, test func(t *testing.T, b backend)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// backendOf returns the backend with a name.
func backendOf(name string) backend {
	return backends[slices.IndexFunc(backends, func(b backend) bool { return b.name == name })]
}

// model opens a model of the backend that sends its requests to a fake.
func (b backend) model(t *testing.T, f *fake) *langchainllm.Model {
	t.Helper()
	client := &http.Client{Transport: toServer{f.URL, http.DefaultTransport}}
	if b.wires {
		client = (&langchainllm.Transport{Base: client.Transport}).Client()
	}
	return langchainllm.New(b.open(t, f.URL, client), langchainllm.Options{Provider: b.provider, Name: b.name})
}

func (b backend) bare(t *testing.T, f *fake) llms.Model {
	t.Helper()
	return b.open(t, f.URL, &http.Client{Transport: toServer{f.URL, http.DefaultTransport}})
}

// toServer sends every request to a server.
type toServer struct {
	url  string
	base http.RoundTripper
}

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body} // see plainBody of langchainllm
	}
	return s.base.RoundTrip(r)
}

func streams(r *http.Request) bool {
	var body struct{ Stream bool }
	return json.NewDecoder(r.Body).Decode(&body) == nil && body.Stream
}

func list(v any) []object {
	items, _ := v.([]any)
	var out []object
	for _, item := range items {
		o, _ := item.(object)
		out = append(out, o)
	}
	return out
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
