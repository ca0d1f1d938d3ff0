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
	"github.com/stretchr/testify/require"
)

// patience is how long a page may take for anything.
const patience = 30 * time.Second

// browsers are the names under which Chromium may be found.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

var (
	binaries string // the folder of the examples that were built
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

// build builds an example once, and returns the program.
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

// program is an example that runs.
type program struct {
	url  string
	kill func()
}

// start starts an example that prints its address. Its environment names no model and
// no database.
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
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed, and says so
	})}
	t.Cleanup(p.kill)
	for lines := bufio.NewScanner(out); p.url == "" && lines.Scan(); {
		if i := strings.Index(lines.Text(), "http://"); i >= 0 {
			p.url = strings.Fields(lines.Text()[i:])[0]
		}
	}
	if p.url == "" {
		t.Fatalf("%s did not say where it listens", example)
	}
	return p
}

// tab is a page in a browser of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open opens an address. What the page complains about fails the test.
func open(t *testing.T, url string) *tab {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatalf("there is no Chromium: install one of %q (apt-get install chromium)", browsers)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1300, 850))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	b := &tab{t, ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page failed: %s", e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
				t.Errorf("the page complains: %s", e.Entry.Text)
			}
		}
	})
	b.do(chromedp.Navigate(url), chromedp.WaitReady("body[data-ready]"))
	return b
}

// do does something in the page, in time.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if len(actions) > 0 {
		if first := chromedp.FromContext(b.ctx); first.Target == nil { // the first use starts the browser, which must outlive ctx
			if err := chromedp.Run(b.ctx, actions...); err != nil {
				b.t.Fatal(err)
			}
			return
		}
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.picture("failed")
		b.t.Fatalf("%v; the page shows %q", err, b.text("body"))
	}
}

// value is what an expression of the page gives.
func value[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, &v)); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	b.do(chromedp.Poll("!!("+expression+")", nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// text is that of all elements of a kind, one a line.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return strings.Join(value[[]string](b, `[...document.querySelectorAll('`+selector+`')].map(e => e.innerText)`), "\n")
}

// say types a message and sends it with the Enter key.
func (b *tab) say(message string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#text", message+"\n"))
}

// ready waits until no run is under way.
func (b *tab) ready() {
	b.t.Helper()
	b.wait(`!document.getElementById('send').disabled`)
}

// answers waits for an answer that ends so.
func (b *tab) answers(end string) {
	b.t.Helper()
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.trim().endsWith(` + quote(end) + `))`)
	b.ready()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

// picture leaves a picture of the page.
func (b *tab) picture(name string) {
	folder := os.Getenv("WEFT_SCREENSHOTS")
	if folder == "" {
		return
	}
	var data []byte
	if err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot(&data)); err != nil {
		b.t.Error(err)
		return
	}
	file := filepath.Join(folder, strings.ReplaceAll(b.t.Name(), "/", "-")+"-"+name+".png")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.t.Error(err)
	}
}

// accessible checks that everything one can use has a name that is read out.
func (b *tab) accessible() {
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
			if name == "" {
				b.t.Errorf("a %s has no name", role)
			}
		}
	}
	for _, role := range []string{"main", "navigation", "log", "textbox", "button", "heading", "banner"} {
		if roles[role] == 0 {
			b.t.Errorf("the page has no %s: %v", role, roles)
		}
	}
}
