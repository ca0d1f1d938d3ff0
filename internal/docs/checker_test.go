package docs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

const module = "github.com/weft-go/weft"

// A checker checks the commands in documents. Its fields hold the names that commands
// may use.
type checker struct {
	server   http.Handler
	makefile string
	required string // the go.mod files
	packages string // of npm and PyPI, which `make clients` installs
	flags    map[string][]string
	reseal   string // the source of weft-reseal
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	s, err := server.New(server.Options{Stored: memcheckpoint.New(memcheckpoint.Options{}), Runs: memruns.New()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(t.Context())) })
	return &checker{
		server: s, makefile: read(t, "Makefile"), required: read(t, "go.mod", "temporal/go.mod", "benchmarks/go.mod"),
		packages: read(t, "internal/clients/*/package.json", "internal/clients/python/requirements.txt"),
		flags:    flagsOf(t), reseal: read(t, "cmd/weft-reseal/main.go"),
	}
}

// read returns the texts of the files that patterns match.
func read(t *testing.T, patterns ...string) (all string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all += string(text) + "\n"
		}
	}
	return all
}

// utilities lists programs that every Unix has, and jq and openssl.
var utilities = []string{"cat", "cut", "grep", "jq", "mkdir", "mktemp", "openssl", "sed", "tr"}

// check returns the problem of a command in a document, or "" if there is none.
func (c *checker) check(d document, argv []string) string {
	name, args := argv[0], argv[1:]
	switch {
	case slices.Contains(utilities, name) || name == "weft": // a test of cmd/weft checks the commands of weft
		return ""
	case name == "xargs":
		i := slices.IndexFunc(args, func(a string) bool { return a == "weft" })
		return unless(i > 0, "xargs of an unknown program")
	case strings.HasPrefix(name, "scripts/"):
		return unless(exists(name), "there is no such program")
	}
	switch name {
	case "go":
		return c.golang(d, args)
	case "make":
		return c.make(args)
	case "weft-reseal":
		i := slices.IndexFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-") && !strings.Contains(c.reseal, strconv.Quote(a[1:]))
		})
		return unless(i < 0, "an unknown flag")
	case "curl":
		return c.curl(d, args)
	case "git":
		known := args[0] == "clone" && strings.Join(args[1:], " ") == "https://"+module || args[0] == "tag" || args[0] == "push"
		return unless(known, "not the repository")
	case "docker":
		i := slices.Index(args, "-f")
		return unless(args[0] == "compose" && i > 0 && exists(args[i+1]), "there is no such file")
	case "npm", "venv/bin/pip":
		return c.install(args)
	case "python3":
		return unless(slices.Equal(args, []string{"-m", "venv", "venv"}), "not the module venv")
	case "venv/bin/python":
		return unless(slices.ContainsFunc(d.blocks, func(b block) bool { return path.Base(b.source) == args[0] }), "the page has no such program")
	}
	return "the test does not know the program " + name
}

func unless(ok bool, problem string) string {
	if ok {
		return ""
	}
	return problem
}

// exists reports whether the repository has a file or folder.
func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

func (c *checker) make(args []string) string {
	for _, arg := range args {
		variable, _, set := strings.Cut(arg, "=")
		if found := strings.Contains(c.makefile, "\n"+arg+":") || set && strings.Contains(c.makefile, variable); !found {
			return "the Makefile has no " + arg
		}
	}
	return ""
}

// install checks the packages that npm or pip installs, and the templates of npm.
func (c *checker) install(args []string) string {
	switch {
	case args[0] == "run" && args[1] == "dev":
		return ""
	case args[0] == "create" || args[0] == "install":
	default:
		return "an unknown command"
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") || args[0] == "create" && !strings.Contains(arg, "@") {
			continue
		}
		name, version := arg, ""
		if i := strings.LastIndex(arg, "@"); i > 0 {
			name, version = arg[:i], strings.TrimPrefix(arg[i+1:], "latest")
		}
		known := strings.Contains(c.packages, strconv.Quote(name)+`:"`+version) || version == "" && strings.Contains(c.packages, "\n"+name+"==")
		if !known {
			return "make clients does not install " + arg
		}
	}
	return ""
}

var local = regexp.MustCompile(`^(?:http://)?(?:127\.0\.0\.1|localhost):\d+(/[^ ]*)$`)

// curl sends the request to a server, and returns a problem if the server has no such route. It does not check a
// document whose folder has a test of the README.md.
func (c *checker) curl(d document, args []string) string {
	method, address, body := "", "", ""
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-X":
			method = args[i+1]
			i++
		case arg == "-d":
			body = args[i+1]
			i++
		case arg == "-H" || arg == "-F" || arg == "-w":
			i++
		case !strings.HasPrefix(arg, "-"):
			address = arg
		}
	}
	files, err := filepath.Glob(filepath.Join(root, path.Dir(d.path), "*_test.go"))
	if err != nil {
		return err.Error()
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), `"README.md"`) {
			return ""
		}
	}
	m := local.FindStringSubmatch(address)
	switch {
	case m == nil:
		return "an unknown server"
	case body != "" && !json.Valid([]byte(body)):
		return "the body is not JSON"
	case body != "" && method == "":
		method = http.MethodPost
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, "http://127.0.0.1:8123"+m[1], strings.NewReader(body)) //nolint:noctx // the server answers at once
	r.RemoteAddr = "127.0.0.1:1"
	c.server.ServeHTTP(w, r)
	if w.Code == http.StatusForbidden || w.Code == http.StatusMethodNotAllowed || strings.Contains(w.Body.String(), "There is no path") {
		return "the server answers " + w.Body.String()
	}
	return ""
}
