package browser_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is the timeout of each action in a page.
const patience = 30 * time.Second

// browsers lists the possible names of the Chromium program.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

var (
	binaries string // the folder of the compiled examples
	builds   sync.Map
)

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "weft-browser-"); err != nil {
		panic(err)
	}
	status := m.Run()
	if err := os.RemoveAll(binaries); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// build compiles an example and returns the path of the program. Later calls return the same
// path.
func build(t *testing.T, example string) string {
	t.Helper()
	once, _ := builds.LoadOrStore(example, sync.OnceValues(func() (string, error) {
		path := filepath.Join(binaries, example)
		cmd := exec.Command("go", "build", "-o", path, "./examples/"+example)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", &failure{string(out), err}
		}
		return path, nil
	}))
	path, err := once.(func() (string, error))()
	require.NoError(t, err)
	return path
}

type failure struct {
	out string
	err error
}

func (f *failure) Error() string { return f.err.Error() + ": " + f.out }

// program is a running example.
type program struct {
	url  string
	kill func()
}

// start starts an example and waits until it prints its address. The environment variables
// for a model and a database are not set.
func start(t *testing.T, example string, args ...string) *program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t, example), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &program{kill: sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // fails if the process has already exited
		_ = cmd.Wait()         // returns an error since the process was killed
	})}
	t.Cleanup(p.kill)
	for lines := bufio.NewScanner(out); p.url == "" && lines.Scan(); {
		if i := strings.Index(lines.Text(), "http://"); i >= 0 {
			p.url = strings.Fields(lines.Text()[i:])[0]
		}
	}
	require.NotEmpty(t, p.url, "%s printed no address", example)
	return p
}

// tab is a page in a separate browser process.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open opens an address in a new browser. An exception or a logged error of the page fails
// the test.
func open(t *testing.T, url string) *tab {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	require.NotEmpty(t, path, "Chromium is missing: install one of %q (apt-get install chromium)", browsers)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1300, 850))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	b := &tab{t, ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			assert.Fail(t, "exception in the page", "%s", e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
				assert.Fail(t, "error of the page", "%s", e.Entry.Text)
			}
		}
	})
	b.do(chromedp.Navigate(url), chromedp.WaitReady("body[data-ready]"))
	return b
}

// do runs actions in the page. It fails the test if they take longer than patience.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if len(actions) > 0 {
		if first := chromedp.FromContext(b.ctx); first.Target == nil { // the first action starts the browser, which must outlive ctx
			require.NoError(b.t, chromedp.Run(b.ctx, actions...))
			return
		}
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.screenshot("failed")
		require.NoError(b.t, err, "the page shows %q", b.text("body"))
	}
}

// value evaluates a JavaScript expression in the page.
func value[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, chromedp.Evaluate(expression, &v)), expression)
	return v
}

// wait waits until a JavaScript expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	b.do(chromedp.Poll("!!("+expression+")", nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// text returns the texts of all elements that match a selector, one per line.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return strings.Join(value[[]string](b, `[...document.querySelectorAll('`+selector+`')].map(e => e.innerText)`), "\n")
}

// send types a message and sends it with the Enter key.
func (b *tab) send(message string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#text", message+"\n"))
}

// waitUntilIdle waits until no run is active.
func (b *tab) waitUntilIdle() {
	b.t.Helper()
	b.wait(`!document.getElementById('send').disabled`)
}

// waitForAnswer waits until the page shows an answer that ends with a text.
func (b *tab) waitForAnswer(end string) {
	b.t.Helper()
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.trim().endsWith(` + quote(end) + `))`)
	b.waitUntilIdle()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

// screenshot writes a screenshot of the page to the folder of WEFT_SCREENSHOTS, if it is set.
func (b *tab) screenshot(name string) {
	folder := os.Getenv("WEFT_SCREENSHOTS")
	if folder == "" {
		return
	}
	var data []byte
	if !assert.NoError(b.t, chromedp.Run(b.ctx, chromedp.CaptureScreenshot(&data))) {
		return
	}
	file := filepath.Join(folder, strings.ReplaceAll(b.t.Name(), "/", "-")+"-"+name+".png")
	assert.NoError(b.t, os.WriteFile(file, data, 0o600))
}

// checkAccessibleNames asserts that every control of the page has an accessible name.
func (b *tab) checkAccessibleNames() {
	b.t.Helper()
	type value struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool  `json:"ignored"`
			Role    value `json:"role"`
			Name    value `json:"name"`
		} `json:"nodes"`
	}
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		roles[role]++
		switch role {
		case "button", "textbox", "img", "image", "link", "navigation", "log", "form", "complementary":
			assert.NotEmpty(b.t, name, "accessible name of a %s", role)
		}
	}
	for _, role := range []string{"main", "navigation", "log", "textbox", "button", "heading", "banner"} {
		assert.NotZero(b.t, roles[role], "elements with the role %s; the page has %v", role, roles)
	}
}

// upload writes a file and uploads the file in the page.
func (b *tab) upload(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	require.NoError(b.t, os.WriteFile(path, []byte(content), 0o600))
	b.do(chromedp.SetUploadFiles("#upload", []string{path}))
}
