package browser_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func designer(t *testing.T, folder string) *program {
	t.Helper()
	return start(t, "designer", "-serve", "127.0.0.1:0", "-data", folder)
}

const quoteRequest = "find oak chairs under 700 and quote 6 of the first"

func TestDesignerApproval(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.accessible()
	b.say(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.ready()
	if got := b.text(".question"); !strings.Contains(got, "May createQuote be called?") {
		t.Errorf("the question is %q", got)
	}
	if got := value[string](b, `document.activeElement.textContent`); got != "Approve" {
		t.Errorf("the focus is on %q", got)
	}
	if got := b.text("#active"); got != "Waiting for you: human_approval" {
		t.Errorf("the graph says %q", got)
	}
	b.picture("asked")
	b.accessible()
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.ready()
	if got := b.text(".question"); got != "" {
		t.Errorf("there is still the question %q", got)
	}
	b.picture("approved")
}

func TestDesignerRejection(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.say(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.ready()
	b.do(chromedp.SendKeys(".question input", "too dear"), chromedp.Click(`//button[text()="Reject"]`))
	b.wait(`[...document.querySelectorAll('details.call')].some(e => e.textContent.includes('too dear'))`)
	b.ready()
	b.picture("rejected")
}

func TestDesignerChangedArguments(t *testing.T) {
	t.Parallel()
	b := open(t, designer(t, t.TempDir()).url)
	b.say(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.ready()
	b.do(chromedp.Click(`//button[text()="Change the arguments"]`))
	value[string](b, `(() => { const a = document.querySelector('.question textarea'); return a.value = a.value.replace('6', '7'); })()`)
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.ready()
	if got := b.text("article.assistant .words"); !strings.Contains(got, `"quantity":7`) {
		t.Errorf("the answer is %q", got)
	}
}

// The question outlives the process that asked it, and the page that showed it.
func TestDesignerApprovalInAnotherProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := designer(t, folder)
	b := open(t, first.url)
	b.say(quoteRequest)
	b.wait(`document.querySelector('.question')`)
	b.ready()
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, designer(t, folder).url+"/"+hash)
	b.wait(`document.querySelector('.question')`)
	b.picture("found")
	b.do(chromedp.Click(`//button[text()="Approve"]`))
	b.wait(`[...document.querySelectorAll('details.call summary')].some(e => e.innerText === 'Tool createQuote answered')`)
	b.ready()
}

func TestCalendarAsksBeforeItDeletes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"Yes": "I've deleted your meeting with John", "No": ""} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			b := open(t, start(t, "calendar", "-serve", "127.0.0.1:0", "-data", t.TempDir()).url)
			b.accessible()
			b.say("Delete my meeting with John")
			b.wait(`document.querySelector('.question')`)
			b.ready()
			if got := b.text(".question"); !strings.Contains(got, "This will delete the calendar event: 'Meeting with John'") {
				t.Errorf("the question is %q", got)
			}
			b.picture("asked")
			before := value[int](b, `document.querySelectorAll('article.assistant').length`)
			b.do(chromedp.Click(`//button[text()="` + answer + `"]`))
			b.wait(`document.querySelectorAll('article.assistant').length > ` + string(rune('0'+before)))
			b.ready()
			b.picture("done")
			if got := b.text("article.assistant .words"); !strings.Contains(got, want) || strings.Contains(got, "I've deleted") != (want != "") {
				t.Errorf("the answer is %q, want %q", got, want)
			}
		})
	}
}

func TestChatAPIConversation(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "chatapi", "-addr", "127.0.0.1:0", "-data", folder)
	b := open(t, first.url)
	b.accessible()
	b.say("hello")
	b.wait(`document.querySelector('article.assistant')`)
	b.ready()
	said := b.text("article .words")
	b.picture("answered")
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, start(t, "chatapi", "-addr", "127.0.0.1:0", "-data", folder).url+"/"+hash)
	b.wait(`document.querySelectorAll('article').length === 2`)
	if got := b.text("article .words"); got != said {
		t.Errorf("the page shows %q, want %q", got, said)
	}
}

func TestResearchConversation(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "research", "-addr", "127.0.0.1:0", "-data", folder)
	b := open(t, first.url)
	b.accessible()
	b.upload("tender.txt", "Request for proposals\n\nThe bridge must carry 40 tonnes. Proposals are due on 3 May 2027.\nThe budget is 200,000 euros.\n")
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.say("When are proposals due?")
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.includes('3 May 2027'))`)
	b.ready()
	b.picture("answered")
	said := b.text("article .words")
	hash := value[string](b, `location.hash`)
	first.kill()
	b = open(t, start(t, "research", "-addr", "127.0.0.1:0", "-data", folder).url+"/"+hash)
	b.wait(`[...document.querySelectorAll('article.assistant .words')].some(e => e.innerText.includes('3 May 2027'))`)
	if got := b.text("article .words"); got != said {
		t.Errorf("the page shows %q, want %q", got, said)
	}
}

// What a run remembers of before it was killed is not sent again, and is shown all the same when it has gone on.
func TestResearchGoesOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := start(t, "research", "-addr", "127.0.0.1:0", "-data", folder, "-pace", "40ms")
	b := open(t, first.url)
	b.upload("tender.txt", "Request for proposals\n\nThe bridge must carry 40 tonnes. Proposals are due on 3 May 2027.\nThe budget is 200,000 euros.\n")
	b.wait(`document.getElementById('resources').children.length === 1`)
	b.say("What must the bridge carry?")
	b.wait(`document.querySelectorAll('article.assistant').length === 3`) // so two answers are remembered
	hash := value[string](b, `location.hash`)
	const answer = `document.querySelector('article.assistant .words')?.textContent`
	before := value[string](b, answer)
	first.kill()
	b = open(t, start(t, "research", "-addr", "127.0.0.1:0", "-data", folder, "-pace", "0s").url+"/"+hash)
	b.wait(`!document.getElementById('resume').hidden`)
	if got := b.text("article.assistant .words"); got != "" {
		t.Errorf("the page shows %q of a step that has not ended", got)
	}
	b.do(chromedp.Click("#resume"))
	b.wait(answer + ` === ` + strconv.Quote(before))
	b.ready()
	b.picture("resumed")
	said := b.text("article .words")
	b.do(chromedp.Reload(), chromedp.WaitReady("body[data-ready]"))
	if got := b.text("article .words"); got != said {
		t.Errorf("the page shows %q, and when it is opened again %q", said, got)
	}
}
