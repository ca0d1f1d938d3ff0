package browser_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

func designer(t *testing.T, folder string) *program {
	t.Helper()
	return start(t, "designer", "-serve", "127.0.0.1:0", "-data", folder)
}

const quoteRequest = "find oak chairs under 700 and quote 6 of the first"

func TestDesignerCallsTheToolAfterApproval(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.checkAccessibleNames()
	b.send(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.waitUntilIdle()
	assert.Contains(t, b.text(".question"), "May createQuote be called?")
	assert.Equal(t, "Approve", value[string](b, `document.activeElement.textContent`))
	assert.Equal(t, "Waiting for you: human_approval", b.text("#active"))
	b.screenshot("asked")
	b.checkAccessibleNames()
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.waitUntilIdle()
	assert.Equal(t, "", b.text(".question"))
	b.screenshot("approved")
}

func TestDesignerShowsTheReasonOfARejection(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.send(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.waitUntilIdle()
	b.do(chromedp.SendKeys(".question input", "too dear"), chromedp.Click(`//button[text()="Reject"]`))
	b.wait(`[...document.querySelectorAll('details.call')].some(e => e.textContent.includes('too dear'))`)
	b.waitUntilIdle()
	b.screenshot("rejected")
}

func TestDesignerCallsTheToolWithEditedArguments(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.send(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.waitUntilIdle()
	b.do(chromedp.Click(`//button[text()="Change the arguments"]`))
	value[string](b, `(() => { const a = document.querySelector('.question textarea'); return a.value = a.value.replace('6', '7'); })()`)
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.waitUntilIdle()
	assert.Contains(t, b.text("article.assistant .words"), `"quantity":7`)
}

func TestDesignerAcceptsTheApprovalInAnotherProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := designer(t, folder)
	b := open(t, first.url)
	b.send(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.waitUntilIdle()
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, designer(t, folder).url+"/"+hash)
	b.wait(`document.querySelector('.question')`)
	b.screenshot("found")
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.waitUntilIdle()
}

func TestCalendarAsksBeforeItDeletes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"Yes": "I've deleted your meeting with John", "No": ""} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			b := open(t, start(t, "calendar", "-serve", "127.0.0.1:0", "-data", t.TempDir()).url)
			b.checkAccessibleNames()
			b.send("Delete my meeting with John")
			b.wait(`document.querySelector('.question')`)
			b.waitUntilIdle()
			assert.Contains(t, b.text(".question"), "This will delete the calendar event: 'Meeting with John'")
			b.screenshot("asked")
			before := value[int](b, `document.querySelectorAll('article.assistant').length`)
			b.do(chromedp.Click(`//button[text()="` + answer + `"]`))
			b.wait(`document.querySelectorAll('article.assistant').length > ` + string(rune('0'+before)))
			b.waitUntilIdle()
			b.screenshot("done")
			got := b.text("article.assistant .words")
			assert.Contains(t, got, want)
			assert.Equal(t, want != "", strings.Contains(got, "I've deleted"), "the answer is %q", got)
		})
	}
}

func TestChatAPIKeepsTheConversationOverARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "chatapi", "-addr", "127.0.0.1:0", "-data", folder)
	b := open(t, first.url)
	b.checkAccessibleNames()
	b.send("hello")
	b.wait(`document.querySelector('article.assistant')`)
	b.waitUntilIdle()
	said := b.text("article .words")
	b.screenshot("answered")
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, start(t, "chatapi", "-addr", "127.0.0.1:0", "-data", folder).url+"/"+hash)
	b.wait(`document.querySelectorAll('article').length === 2`)
	assert.Equal(t, said, b.text("article .words"))
}

func TestResearchKeepsTheConversationOverARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "research", "-addr", "127.0.0.1:0", "-data", folder)
	b := open(t, first.url)
	b.checkAccessibleNames()
	b.upload("tender.txt", "Request for proposals\n\nThe bridge must carry 40 tonnes. Proposals are due on 3 May 2027.\nThe budget is 200,000 euros.\n")
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.send("When are proposals due?")
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.includes('3 May 2027'))`)
	b.waitUntilIdle()
	b.screenshot("answered")
	said := b.text("article .words")
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, start(t, "research", "-addr", "127.0.0.1:0", "-data", folder).url+"/"+hash)
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.includes('3 May 2027'))`)
	assert.Equal(t, said, b.text("article .words"))
}

// A resumed run does not repeat the streamed answers of the killed process. The page shows
// these answers after the run has resumed.
func TestResearchShowsStoredAnswersAfterAResume(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "research", "-addr", "127.0.0.1:0", "-data", folder, "-pace", "40ms")
	b := open(t, first.url)
	b.upload("tender.txt", "Request for proposals\n\nThe bridge must carry 40 tonnes. Proposals are due on 3 May 2027.\nThe budget is 200,000 euros.\n")
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.send("What must the bridge carry?")
	b.wait(`document.querySelectorAll('article.assistant').length === 3`) // then two answers are stored
	hash := value[string](b, `location.hash`)
	const answer = `document.querySelector('article.assistant .words')?.textContent`
	before := value[string](b, answer)
	first.kill()
	b = open(t, start(t, "research", "-addr", "127.0.0.1:0", "-data", folder, "-pace", "0s").url+"/"+hash)
	b.wait(`!document.getElementById('resume').hidden`)
	assert.Equal(t, "", b.text("article.assistant .words"))
	b.do(chromedp.Click("#resume"))
	b.wait(answer + ` === ` + strconv.Quote(before))
	b.waitUntilIdle()
	b.screenshot("resumed")
	said := b.text("article .words")
	b.do(chromedp.Reload(), chromedp.WaitReady("body[data-ready]"))
	assert.Equal(t, said, b.text("article .words"))
}
