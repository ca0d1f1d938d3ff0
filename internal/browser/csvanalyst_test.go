package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sales = "city;amount\nAthens;10\nBern;20,5\nAthens;40\n"

// upload writes a file and uploads the file in the page.
func (b *tab) upload(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	require.NoError(b.t, os.WriteFile(path, []byte(content), 0o600))
	b.do(chromedp.SetUploadFiles("#upload", []string{path}))
}

func analyst(t *testing.T, folder, pace string) *program {
	t.Helper()
	return start(t, "csvanalyst", "-addr", "127.0.0.1:0", "-data", folder, "-pace", pace)
}

func TestAnalystAnswersAndKeepsConversations(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.checkAccessibleNames()
	b.screenshot("empty")
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').innerText.includes('3 rows, 2 columns: city, amount')`)
	b.send("What is the total amount by city?")
	b.waitForAnswer("Bern: 20.5")
	assert.Equal(t, "What is the total amount by city?", b.text("article.user .words"))
	assert.Equal(t, "Tool aggregateCsvData answered", b.text("details.call summary"))
	b.do(chromedp.Click("details.call summary"))
	call := b.text("details.call pre")
	assert.Contains(t, call, `"groupBy"`)
	assert.Contains(t, call, "SELECT")
	b.wait(`document.querySelectorAll('svg .node.ran').length === 3 && document.querySelectorAll('svg .active').length === 0`)
	b.send("How many rows are in Athens?")
	b.waitForAnswer("There are 2 rows in sales.csv where city is Athens.")
	b.checkAccessibleNames()
	b.screenshot("answered")
	// A new conversation is empty. The first conversation can be opened again.
	b.do(chromedp.Click("#new"))
	b.wait(`document.querySelectorAll('article').length === 0`)
	b.do(chromedp.Click("#sessions button"))
	b.wait(`document.querySelectorAll('article').length === 4`)
}

func TestAnalystStreamsTheAnswer(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "60ms").url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	// The page records the texts and the active nodes that it shows.
	value[bool](b, `(() => { window.seen = []; window.nodes = new Set(); new MutationObserver(() => {
		const words = [...document.querySelectorAll('article.assistant .words')].pop();
		if (words && window.seen.at(-1) !== words.textContent) window.seen.push(words.textContent);
		for (const n of document.querySelectorAll('svg .active')) window.nodes.add(n.dataset.node);
	}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true }); return true; })()`)
	b.send("What is the average amount?")
	b.wait(`window.seen.length > 2`)
	b.screenshot("streaming")
	b.waitForAnswer("The average amount is 23.5, in sales.csv.")
	seen := value[[]string](b, `window.seen`)
	assert.GreaterOrEqual(t, len(seen), 5, "parts of the answer: %q", seen)
	for i := 1; i < len(seen); i++ {
		assert.True(t, strings.HasPrefix(seen[i], seen[i-1]), "%q was followed by %q", seen[i-1], seen[i])
	}
	assert.Len(t, value[[]string](b, `[...window.nodes]`), 3, "active nodes")
}

func TestAnalystResumesAfterItsProcessWasKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := analyst(t, folder, "1m")
	b := open(t, first.url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.send("What is the highest amount?")
	b.wait(`document.querySelector('details.call .done')`)
	b.wait(`document.getElementById('active').innerText === 'Running: agent'`)
	hash := value[string](b, `location.hash`)
	first.kill()
	b.waitUntilIdle()
	assert.NotEmpty(t, b.text("#problem"), "the message that the server is down")
	b.screenshot("gone")

	second := analyst(t, folder, "0s")
	b = open(t, second.url+"/"+hash)
	b.wait(`!document.getElementById('resume').hidden`)
	assert.Equal(t, "What is the highest amount?", b.text("article .words"))
	b.screenshot("found")
	b.do(chromedp.Click("#resume"))
	b.waitForAnswer("The highest amount is 40, in sales.csv.")
	b.screenshot("resumed")
	assert.True(t, value[bool](b, `document.getElementById('resume').hidden`), "the button to resume is hidden")
}

func TestAnalystResumesAStoppedRun(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "500ms").url)
	b.upload("sales.csv", sales)
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.send("What is the lowest amount?")
	b.wait(`document.querySelector('article.assistant')`)
	b.do(chromedp.Click("#stop"))
	b.wait(`!document.getElementById('resume').hidden`)
	b.do(chromedp.Click("#resume"))
	b.waitForAnswer("The lowest amount is 10, in sales.csv.")
}

func TestAnalystShowsErrorsAndEscapesText(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.upload("x.csv", "%PDF-1.7")
	b.wait(`document.getElementById('problem').innerText.includes('a PDF document')`)
	b.send("<img src=x onerror=alert(1)>")
	b.waitForAnswer("show the first 5 rows")
	assert.Zero(t, value[int](b, `document.querySelectorAll('#log img').length`), "images in the conversation")
	b.screenshot("errors")
}

func TestAnalystFitsNarrowWindows(t *testing.T) {
	t.Parallel()
	b := open(t, analyst(t, t.TempDir(), "0s").url)
	b.do(chromedp.EmulateViewport(380, 800))
	b.send("hello")
	b.waitForAnswer("show the first 5 rows")
	assert.False(t, value[bool](b, `document.documentElement.scrollWidth > window.innerWidth`), "the page is wider than the window")
	b.screenshot("narrow")
}
