package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weft-go/weft/llm"
)

// A request without a valid token gets the same answer, whatever else is wrong.
func TestUnauthorized(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u := p.newUser()
		with := func(change func(jwt.MapClaims)) string {
			c := p.claims(u.id)
			change(c)
			return signed(t, p.secret, c)
		}
		for what, token := range map[string]string{
			"no token":          "",
			"no token of ours":  "x.y.z",
			"another secret":    signed(t, []byte(testSecret+"!"), p.claims(u.id)),
			"run out":           with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
			"another issuer":    with(func(c jwt.MapClaims) { c["iss"] = "https://evil.example/auth/v1" }),
			"the anon key":      with(func(c jwt.MapClaims) { c["role"] = "anon"; delete(c, "sub") }),
			"the service's key": with(func(c jwt.MapClaims) { c["role"] = "service_role" }),
			"no user":           with(func(c jwt.MapClaims) { c["sub"] = "ann" }),
		} {
			u.token = token
			for _, body := range []any{map[string]string{"threadId": "research_x_1"}, "no object"} {
				same(t, what, u.post("/api/research", body), 401, `{"error":"Unauthorized"}`)
			}
			same(t, what, u.threads(), 401, `{"detail":"The request has no valid credentials."}`)
		}
	})
}

var threadForm = regexp.MustCompile(`^research_([0-9a-f]{10})_(\d{13})$`)

// A client begins a session about its own proposal, and continues it by the thread.
func TestResearch(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u := p.newUser()
		proposal := u.proposal()
		reply := u.post("/api/research", map[string]string{"proposalId": proposal, "documentId": u.document(rfp)})
		r := into[result](t, reply, 200)
		sum := sha256.Sum256([]byte(proposal))
		m := threadForm.FindStringSubmatch(r.ThreadID)
		if !r.Success || m == nil || m[1] != hex.EncodeToString(sum[:])[:10] || reply.header.Get("X-Thread-Id") != r.ThreadID {
			t.Fatalf("got %+v", r)
		}
		if s := r.State.Status; !s.DocumentLoaded || !s.ResearchComplete || !s.SolutionSought || r.State.RFPDocument.Text != rfp || r.State.RFPDocument.Metadata["name"] != "rfp.md" {
			t.Errorf("got state %+v", r.State)
		}
		answers := map[string]string{}
		for _, f := range r.State.Findings {
			answers[f.Topic] = f.Answer
		}
		for topic, want := range map[string]string{
			"requirements": "train 12 members of staff. [10]", "deadlines": "2027-04-02", "budget": "180,000 EUR", "evaluation": "I found no passage",
		} {
			if !strings.Contains(answers[topic], want) {
				t.Errorf("%s: got %q want %q", topic, answers[topic], want)
			}
		}
		if !strings.Contains(r.State.Solution, "I found no passage about: evaluation") {
			t.Errorf("got solution %q", r.State.Solution)
		}
		again := u.post("/api/research", map[string]any{"threadId": r.ThreadID, "more": "is passed over"})
		c := into[result](t, again, 200)
		if !c.Success || c.ThreadID != "" || !reflect.DeepEqual(c.State, r.State) {
			t.Errorf("continued: got %+v want %+v", c, r)
		}
		// This session has no checkpoint, as if the program was killed before the run stored anything.
		id := u.newThread(rfp)
		if r := into[result](t, u.post("/api/research", map[string]string{"threadId": id}), 200); !r.State.Status.SolutionSought {
			t.Errorf("got %+v", r)
		}
	})
}

// The answer for the data of another user is the same as for missing data.
func TestForeign(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		ann, bob := p.newUser(), p.newUser()
		proposal, doc := ann.proposal(), ann.document(rfp)
		r := into[result](t, ann.post("/api/research", map[string]string{"proposalId": proposal, "documentId": doc}), 200)
		const noSession, noProposal = `{"error":"Session not found or access denied"}`, `{"error":"Proposal not found or access denied"}`
		for what, thread := range map[string]string{"foreign": r.ThreadID, "unknown": "research_0000000000_1", "empty": "", "odd": "a\x00b", "long": strings.Repeat("x", 3000)} {
			same(t, what, bob.post("/api/research", map[string]string{"threadId": thread}), 404, noSession)
		}
		id := ann.newThread(rfp)
		same(t, "the session of a thread", bob.post("/api/research", map[string]string{"threadId": id}), 404, noSession)
		same(t, "a document for a thread", bob.upload("/api/documents?thread="+id, "x.md", "x"), 404, `{"error":"There is no thread `+id+`."}`)
		for _, path := range []string{"/state", "/history", "/runs"} {
			if a := bob.get("/threads/" + id + path); a.status != 404 {
				t.Errorf("%s: got %d %s", path, a.status, a.body)
			}
		}
		if a := bob.post("/threads/"+id+"/runs/wait", question("hi")); a.status != 404 {
			t.Errorf("a run: got %d %s", a.status, a.body)
		}
		same(t, "threads", bob.threads(), 200, "[]")
		for what, id := range map[string]string{"foreign": proposal, "unknown": bob.id, "in capitals": strings.ToUpper(proposal)} {
			same(t, what, bob.post("/api/research", map[string]string{"proposalId": id, "documentId": doc}), 404, noProposal)
		}
		// A caller finds only the caller's own documents.
		for _, id := range []string{doc, "../" + ann.id + "/" + doc, "nothing"} {
			b := into[result](t, bob.post("/api/research", map[string]string{"proposalId": bob.proposal(), "documentId": id}), 200)
			if b.State.Status.DocumentLoaded || b.State.RFPDocument.Text != "" || len(b.State.Errors) != 1 {
				t.Errorf("document %s: got %+v", id, b.State)
			}
		}
		c := into[result](t, ann.post("/api/research", map[string]string{"threadId": r.ThreadID}), 200)
		if !reflect.DeepEqual(c.State, r.State) {
			t.Errorf("after all that: got %+v want %+v", c.State, r.State)
		}
	})
}

// The server refuses an invalid request before it does anything, and says why.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, nil)
	u := p.newUser()
	for what, c := range map[string]struct {
		kind, body, want string
		status           int
	}{
		"no JSON":             {"application/json", `{"threadId":`, `{"error":"Invalid request format","details":"unexpected EOF"}`, 400},
		"nothing":             {"application/json", ``, `{"error":"Invalid request format","details":"the body is empty"}`, 400},
		"two values":          {"application/json", `{"threadId":"x"} {}`, `{"error":"Invalid request format","details":"there is more than one value"}`, 400},
		"null":                {"application/json", `null`, `{"error":"Invalid request format","details":"the body is null, and has to be an object"}`, 400},
		"an empty object":     {"application/json", `{}`, `{"error":"Invalid request format","details":{"documentId":"is missing","proposalId":"is missing"}}`, 400},
		"a thread of 7":       {"application/json", `{"threadId":7}`, `{"error":"Invalid request format","details":{"threadId":"has to be a text"}}`, 400},
		"a thread of null":    {"application/json", `{"threadId":null}`, `{"error":"Invalid request format","details":{"threadId":"has to be a text"}}`, 400},
		"no UUID":             {"application/json", `{"proposalId":"7","documentId":"x"}`, `{"error":"Invalid request format","details":{"proposalId":"has to be a UUID"}}`, 400},
		"no document":         {"application/json", `{"proposalId":"` + u.id + `","documentId":""}`, `{"error":"Invalid request format","details":{"documentId":"is empty"}}`, 400},
		"SQL for a proposal":  {"application/json", `{"proposalId":"' OR 1=1 --","documentId":"x"}`, `{"error":"Invalid request format","details":{"proposalId":"has to be a UUID"}}`, 400},
		"another type":        {"text/plain", `{}`, `{"error":"The content type has to be application/json."}`, 415},
		"no type":             {"", `{}`, `{"error":"The content type has to be application/json."}`, 415},
		"more than a MiB":     {"application/json", `{"threadId":"` + strings.Repeat("x", 1<<20) + `"}`, `{"error":"The body may have at most 1048576 bytes."}`, 413},
		"an address of mine":  {"application/json", `[1]`, `{"error":"Invalid request format","details":"json: cannot unmarshal array into Go value of type map[string]jsontext.Value"}`, 400},
		"a proposal of a map": {"application/json", `{"proposalId":{},"documentId":[]}`, `{"error":"Invalid request format","details":{"documentId":"has to be a text","proposalId":"has to be a text"}}`, 400},
	} {
		a := u.send(http.MethodPost, "/api/research", c.kind, strings.NewReader(c.body))
		if what == "an address of mine" { // the text comes from Go's decoder, so compare only its beginning
			if a.status != 400 || !strings.HasPrefix(a.body, `{"error":"Invalid request format","details":"json: cannot unmarshal array`) {
				t.Errorf("a list: got %d %s", a.status, a.body)
			}
			continue
		}
		same(t, what, a, c.status, c.want)
	}
	same(t, "no thread", u.upload("/api/documents?thread="+u.id, "a.md", "x"), 404, `{"error":"There is no thread `+u.id+`."}`)
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, nil)
	p.Reader.PDF.Program = "no-such-program"
	u := p.newUser()
	for what, c := range map[string]struct {
		text, want string
		status     int
	}{
		"no text":       {"a\x00b", `{"error":"This file can not be used.","details":"it is neither text in UTF-8 nor a PDF"}`, 422},
		"another code":  {"Gr\xfc\xdfe", `{"error":"This file can not be used.","details":"it is neither text in UTF-8 nor a PDF"}`, 422},
		"nothing":       {" \n", `{"error":"This file can not be used.","details":"it has no text"}`, 422},
		"a PDF":         {"%PDF-1.7", `{"error":"This file can not be used.","details":"it is a PDF, and pdftotext is not installed here; upload its text"}`, 422},
		"a long text":   {strings.Repeat("word ", 1<<20), `{"error":"The text may have at most 4194304 bytes."}`, 413},
		"a large file ": {strings.Repeat("x", 33<<20), `{"error":"The body may have at most 33554432 bytes."}`, 413},
	} {
		same(t, what, u.upload("/api/documents", "a.md", c.text), c.status, c.want)
	}
	const form = `{"error":"The content type has to be multipart/form-data, with a field file."}`
	same(t, "no form", u.post("/api/documents", struct{}{}), 415, form)
	a := u.send(http.MethodPost, "/api/documents", "multipart/form-data; boundary=x", strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc"))
	same(t, "broke off", a, 400, `{"error":"Invalid request format","details":{"file":"is missing, or the form broke off"}}`)
}

// An internal error reaches the log, and not the client.
func TestInternalError(t *testing.T) {
	broken := func() llm.Model {
		return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				yield(llm.Chunk{}, errors.New("postgres://admin:pa55word@10.0.0.1 said no"))
			}
		})
	}
	inPlaces(t, broken, func(t *testing.T, p *place) {
		u := p.newUser()
		proposal, doc := u.proposal(), u.document(rfp)
		a := u.post("/api/research", map[string]string{"proposalId": proposal, "documentId": doc})
		same(t, "the model", a, 500, `{"error":"Internal server error"}`)
		if !strings.Contains(p.said.String(), "said no") {
			t.Errorf("the log has %q", p.said.String())
		}
		thread := a.header.Get("X-Thread-Id")
		same(t, "continued", u.post("/api/research", map[string]string{"threadId": thread}), 500, `{"error":"Internal server error"}`)
		if s, err := p.account(u).Session(t.Context(), thread); err != nil || s.Status != "failed" || s.Proposal != proposal {
			t.Errorf("got session %+v, error %v", s, err)
		}
		panics := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { panic("pa55word") })
		p.Model = panics
		same(t, "a panic", u.post("/api/research", map[string]string{"threadId": thread}), 500, `{"error":"Internal server error"}`)
		if err := p.Backend.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, "the database", u.post("/api/research", map[string]string{"threadId": thread}), 500, `{"error":"Internal server error"}`)
	})
}

// A second run of a busy thread gets a conflict. The first run finishes.
func TestBusy(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		g := newGate()
		p.Model = g
		u := p.newUser()
		body := map[string]string{"proposalId": u.proposal(), "documentId": u.document(rfp)}
		first := make(chan answer, 1)
		go func() { first <- u.post("/api/research", body) }()
		<-g.waits
		thread := p.sessionsOf(u)[0].Thread
		const busy = `{"error":"This session is busy with another request."}`
		same(t, "the second", u.post("/api/research", map[string]string{"threadId": thread}), 409, busy)
		if p.server.Secret != nil { // in the project there are sessions of other tests
			if n, err := p.Backend.CleanUp(t.Context(), 0); n != 0 || err != nil {
				t.Errorf("cleaned up %d, error %v", n, err)
			}
		}
		close(g.open)
		r := into[result](t, <-first, 200)
		if r.ThreadID != thread || !r.State.Status.SolutionSought {
			t.Errorf("got %+v", r)
		}
		g.once(t)
	})
}

// If a client of /api/research hangs up, the run ends. The next run keeps the findings and does not ask for them
// again.
func TestHangUp(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		g := newGate()
		p.Model = g
		u := p.newUser()
		body := fmt.Sprintf(`{"proposalId":%q,"documentId":%q}`, u.proposal(), u.document(rfp))
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := u.try(ctx, http.MethodPost, "/api/research", "application/json", strings.NewReader(body))
			gone <- err
		}()
		<-g.waits
		thread := p.sessionsOf(u)[0].Thread
		hangUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		g.unlock()
		a := patiently(t, func() answer { return u.post("/api/research", map[string]string{"threadId": thread}) })
		r := into[result](t, a, 200)
		if !r.State.Status.SolutionSought || len(r.State.Findings) != 6 {
			t.Errorf("got %+v", r)
		}
		g.once(t)
		if len(g.asked) != 6 { // five topics and the solution
			t.Errorf("asked %v, want not the first topic again", g.asked)
		}
	})
}

// patiently repeats a request while an unfinished run holds the thread.
func patiently(t *testing.T, ask func() answer) answer {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		if a := ask(); a.status != http.StatusConflict || time.Now().After(end) {
			return a
		}
	}
}
