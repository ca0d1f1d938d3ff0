package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const sales = "city;amount\nAthens;10\nBern;20,5\nAthens;40\n"

// upload writes a file and uploads it by the page.
func (b *tab) upload(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.SetUploadFiles("#upload", []string{path}))
}

func analyst(t *testing.T, folder, pace string) *program {
	t.Helper()
	return start(t, "csvanalyst", "-addr", "127.0.0.1:0", "-data", folder, "-pace", pace)
}

func TestConversation(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.accessible()
	b.picture("empty")
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').innerText.includes('3 rows, 2 columns: city, amount')`)
	b.say("What is the total amount by city?")
	b.answers("Bern: 20.5")
	if got, want := b.text("article.user .words"), "What is the total amount by city?"; got != want {
		t.Errorf("the user said %q, want %q", got, want)
	}
	if got := b.text("details.call summary"); got != "Tool aggregateCsvData answered" {
		t.Errorf("the calls are %q", got)
	}
	b.do(chromedp.Click("details.call summary"))
	if got := b.text("details.call pre"); !strings.Contains(got, `"groupBy"`) || !strings.Contains(got, "SELECT") {
		t.Errorf("the call is shown as %q", got)
	}
	b.wait(`document.querySelectorAll('svg .node.ran').length === 3 && document.querySelectorAll('svg .active').length === 0`)
	b.say("How many rows are in Athens?")
	b.answers("There are 2 rows in sales.csv where city is Athens.")
	b.accessible()
	b.picture("answered")
	// The other conversation begins empty, and this one is found again.
	b.do(chromedp.Click("#new"))
	b.wait(`document.querySelectorAll('article').length === 0`)
	b.do(chromedp.Click("#sessions button"))
	b.wait(`document.querySelectorAll('article').length === 4`)
}

func TestStreamedAnswer(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "60ms").url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	// The page notes what it shows while it is shown.
	value[bool](b, `(() => { window.seen = []; window.nodes = new Set(); new MutationObserver(() => {
		const words = [...document.querySelectorAll('article.assistant .words')].pop();
		if (words && window.seen.at(-1) !== words.textContent) window.seen.push(words.textContent);
		for (const n of document.querySelectorAll('svg .active')) window.nodes.add(n.dataset.node);
	}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true }); return true; })()`)
	b.say("What is the average amount?")
	b.wait(`window.seen.length > 2`)
	b.picture("streaming")
	b.answers("The average amount is 23.5, in sales.csv.")
	seen := value[[]string](b, `window.seen`)
	if len(seen) < 5 {
		t.Errorf("the answer came in %d pieces: %q", len(seen), seen)
	}
	for i := 1; i < len(seen); i++ {
		if !strings.HasPrefix(seen[i], seen[i-1]) {
			t.Errorf("%q was followed by %q", seen[i-1], seen[i])
		}
	}
	if got := value[[]string](b, `[...window.nodes]`); len(got) != 3 {
		t.Errorf("the nodes that were active are %q", got)
	}
}

func TestResumedThread(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := analyst(t, folder, "1m")
	b := open(t, first.url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.say("What is the highest amount?")
	b.wait(`document.querySelector('details.call .done')`)
	b.wait(`document.getElementById('active').innerText === 'Running: agent'`)
	hash := value[string](b, `location.hash`)
	first.kill()
	b.ready()
	if b.text("#problem") == "" {
		t.Error("the page does not say that the server is gone")
	}
	b.picture("gone")

	second := analyst(t, folder, "0s")
	b = open(t, second.url+"/"+hash)
	b.wait(`!document.getElementById('resume').hidden`)
	if got := b.text("article .words"); got != "What is the highest amount?" {
		t.Errorf("the page shows %q", got)
	}
	b.picture("found")
	b.do(chromedp.Click("#resume"))
	b.answers("The highest amount is 40, in sales.csv.")
	b.picture("resumed")
	if value[bool](b, `!document.getElementById('resume').hidden`) {
		t.Error("there is still something to go on with")
	}
}

func TestStopAndGoOn(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "500ms").url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.say("What is the lowest amount?")
	b.wait(`document.querySelector('article.assistant')`)
	b.do(chromedp.Click("#stop"))
	b.wait(`!document.getElementById('resume').hidden`)
	b.do(chromedp.Click("#resume"))
	b.answers("The lowest amount is 10, in sales.csv.")
}

func TestProblemsAreTold(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.upload("x.csv", "%PDF-1.7")
	b.wait(`document.getElementById('problem').innerText.includes('a PDF document')`)
	b.say("<img src=x onerror=alert(1)>")
	b.answers("show the first 5 rows")
	if n := value[int](b, `document.querySelectorAll('#log img').length`); n != 0 {
		t.Errorf("the page made %d images of a text", n)
	}
	b.picture("told")
}

// On a telephone everything is there, below one another, and nothing is cut off.
func TestNarrow(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.do(chromedp.EmulateViewport(380, 800))
	b.say("hello")
	b.answers("show the first 5 rows")
	if value[bool](b, `document.documentElement.scrollWidth > window.innerWidth`) {
		t.Error("the page is wider than the window")
	}
	b.picture("narrow")
}
