package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("sales.csv", sales)
	foreign := a.session()
	a.token = "bob" // another user owns everything above
	others := id
	id = a.withFile("mine.csv", sales)
	const j = "Content-Type: application/json"
	in := "/api/sessions/" + id
	tests := []struct {
		name, method, path, body, header string
		status                           int
		want                             string
	}{
		{"no JSON", "POST", in + "/messages", `{"message":`, j, 400, "unexpected EOF"},
		{"a wrong field", "POST", in + "/messages", `{"massage":"x"}`, j, 400, "massage"},
		{"a wrong type", "POST", in + "/messages", `{"message":7}`, j, 400, "string"},
		{"an empty message", "POST", in + "/messages", `{"message":" "}`, j, 400, "The message is empty"},
		{"a long message", "POST", in + "/messages", `{"message":"` + strings.Repeat("x", api.MaxMessage+1) + `"}`, j, 413, "at most 20000 bytes"},
		{"a long body", "POST", in + "/messages", `{"message":"` + strings.Repeat("x", 9<<20) + `"}`, j, 413, "larger than 8388608 bytes"},
		{"another content type", "POST", in + "/messages", `{"message":"x"}`, "Content-Type: text/plain", 415, "application/json"},
		{"an image that is none", "POST", in + "/messages", `{"message":"x","images":[{"data":"aGk=","mimeType":"image/png"}]}`, j, 422, "PNG"},
		{"an image that is not there", "POST", in + "/messages", `{"message":"x","images":[{"resourceId":"../records.db"}]}`, j, 404, "no such file"},
		{"an image that is no base64", "POST", in + "/messages", `{"message":"x","images":[{"data":"%%"}]}`, j, 400, "base64"},
		{"an unknown session", "POST", "/api/sessions/none/messages", `{"message":"x"}`, j, 404, "no such session"},
		{"a foreign session", "POST", "/api/sessions/" + others + "/messages", `{"message":"x"}`, j, 404, "no such session"},
		{"a foreign thread", "GET", "/api/sessions/" + others, "", "", 404, "no such session"},
		{"foreign messages", "GET", "/api/sessions/" + others + "/messages", "", "", 404, "no such session"},
		{"foreign files", "GET", "/api/sessions/" + others + "/resources", "", "", 404, "no such session"},
		{"a foreign resume", "POST", "/api/sessions/" + others + "/resume", "", "", 404, "no such session"},
		{"a foreign deletion", "DELETE", "/api/sessions/" + foreign, "", "", 404, "no such session"},
		{"a path that escapes", "GET", "/api/sessions/..%2f..%2frecords.db/resources", "", "", 404, "no path"},
		{"nothing to go on with", "POST", in + "/resume", "", "", 409, "nothing to go on with"},
		{"an unknown address", "GET", "/api/none", "", "", 404, "no path"},
		{"an unknown method", "PUT", in + "/messages", "", "", 404, "no path"},
		{"an upload that is JSON", "POST", in + "/resources", `{}`, j, 415, "multipart/form-data"},
		{"an upload without a file", "POST", in + "/resources", "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n", "Content-Type: multipart/form-data; boundary=b", 400, "has no file"},
		{"an upload that breaks off", "POST", in + "/resources", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\na,b\n1,2", "Content-Type: multipart/form-data; boundary=b", 400, "broke off"},
		{"an upload to a foreign session", "POST", "/api/sessions/" + others + "/resources", "--b--\r\n", "Content-Type: multipart/form-data; boundary=b", 404, "no such session"},
	}
	for _, tt := range tests {
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		r := a.do(tt.method, tt.path, tt.body, headers...)
		var problem struct {
			Detail string `json:"detail"`
		}
		if err := json.Unmarshal([]byte(r.body), &problem); r.status != tt.status || err != nil || problem.Detail == "" || !strings.Contains(r.body, tt.want) {
			t.Errorf("%s: got %d %.200s, want %d and %q", tt.name, r.status, r.body, tt.status, tt.want)
		}
	}
	if r := a.do("GET", in+"/messages", ""); r.body != "[]\n" {
		t.Errorf("bad input was stored: %s", r.body)
	}
}

func TestBadUploads(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.session()
	tests := []struct {
		name, file, content string
		status              int
		want                string
	}{
		{"a workbook", "a.csv", "PK\x03\x04", 422, "Excel workbook"},
		{"an open quote", "a.csv", "a,b\n1,\"x\n2,y\n", 422, "never closed"},
		{"nothing", "a.csv", "", 422, "it is empty"},
		{"too large", "a.csv", "a,b\n" + strings.Repeat("1,2\n", 1<<19), 413, "larger than 1048576 bytes"},
	}
	for _, tt := range tests {
		if r := a.upload(id, tt.file, tt.content); r.status != tt.status || !strings.Contains(r.body, tt.want) {
			t.Errorf("%s: got %d %s, want %d and %q", tt.name, r.status, r.body, tt.status, tt.want)
		}
	}
	if r := a.do("GET", "/api/sessions/"+id+"/resources", ""); r.body != "[]\n" {
		t.Errorf("there are %s", r.body)
	}
	a.wantFiles(0)
}

// wantFiles checks how many files are stored: a CSV file has a database beside it.
func (a *app) wantFiles(n int) {
	a.t.Helper()
	left, err := filepath.Glob(filepath.Join(a.folder, "files", "*"))
	if err != nil || len(left) != n {
		a.t.Errorf("the files are %v, %v, want %d", left, err, n)
	}
}

func TestNamesOfUploads(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.session()
	for name, want := range map[string]string{
		"../../../etc/cron.d/x.csv": "x.csv", `..\..\boot.ini`: "boot.ini", "..": "upload.csv", "a\u200bb.csv": "ab.csv",
	} {
		var r api.Resource
		got := a.upload(id, name, sales)
		if err := json.Unmarshal([]byte(got.body), &r); err != nil || r.OriginalName != want {
			t.Errorf("%q is called %q, %v (%s), want %q", name, r.OriginalName, err, got.body, want)
		}
	}
	a.wantFiles(8)
	if r := a.do("DELETE", "/api/sessions/"+id, ""); r.status != http.StatusNoContent {
		t.Errorf("the deletion: %d %s", r.status, r.body)
	}
	a.wantFiles(0)
	if r := a.do("GET", "/api/sessions/"+id, ""); r.status != http.StatusNotFound {
		t.Errorf("the session: %d", r.status)
	}
}

// held is a model that waits after the first word of its answer.
func held(asked chan<- struct{}, release <-chan struct{}) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			if !yield(llm.Chunk{Kind: llm.ChunkText, Text: "first "}, nil) {
				return
			}
			asked <- struct{}{}
			select {
			case <-ctx.Done():
				yield(llm.Chunk{}, ctx.Err())
			case <-release:
				_ = yield(llm.Chunk{Kind: llm.ChunkText, Text: "second"}, nil) && yield(llm.Chunk{Kind: llm.ChunkEnd}, nil)
			}
		}
	})
}

func TestSecondRequestOnABusySession(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	a := start(t, t.TempDir(), held(asked, release))
	id := a.session()
	var first string
	var both sync.WaitGroup
	both.Go(func() { first = a.ask(id, "one") })
	<-asked
	if r := a.json("POST", "/api/sessions/"+id+"/messages", `{"message":"two"}`); r.status != http.StatusConflict || !strings.Contains(r.body, "busy") {
		t.Errorf("the second got %d %s", r.status, r.body)
	}
	if r := a.do("DELETE", "/api/sessions/"+id, ""); r.status != http.StatusConflict {
		t.Errorf("the deletion got %d %s", r.status, r.body)
	}
	close(release)
	both.Wait()
	if first != "first second" {
		t.Errorf("the first got %q", first)
	}
	r := a.do("GET", "/api/sessions/"+id+"/messages", "")
	if strings.Contains(r.body, "two") || !strings.Contains(r.body, "first second") {
		t.Errorf("stored are %s", r.body)
	}
}

// If a client hangs up, its run ends and can be resumed.
func TestHangUp(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	a := start(t, t.TempDir(), held(asked, release))
	id := a.session()
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", a.url+"/api/sessions/"+id+"/messages", strings.NewReader(`{"message":"one"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := a.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	hangUp()
	res.Body.Close()
	var session api.Session
	for !session.Unfinished { // wait until the thread has an unfinished run
		if err := json.Unmarshal([]byte(a.do("GET", "/api/sessions/"+id, "").body), &session); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	for {
		again := a.do("POST", "/api/sessions/"+id+"/resume", "")
		if again.status == http.StatusConflict {
			<-time.After(20 * time.Millisecond) // the first run is still ending
			continue
		}
		if again.body != "first second" {
			t.Errorf("the resumed run: %d %s", again.status, again.body)
		}
		break
	}
	<-asked // by the resumed run
	if all := a.do("GET", "/api/sessions/"+id+"/messages", "").body; strings.Count(all, `"role"`) != 2 || !strings.Contains(all, "first second") {
		t.Errorf("stored are %s", all)
	}
	if r := a.do("POST", "/api/sessions/"+id+"/resume", ""); r.body != "first second" || len(asked) != 0 {
		t.Errorf("a run that is finished ran again: %d %s", r.status, r.body)
	}
}

func TestHangUpWhileUploading(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.session()
	body, writer := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", a.url+"/api/sessions/"+id+"/resources", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = fmt.Fprintf(writer, "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\na,b\n%s", strings.Repeat("1,2\n", 10000))
		writer.CloseWithError(io.ErrClosedPipe) // the client breaks the connection off
	})
	if res, err := a.client.Do(r); err == nil {
		res.Body.Close()
		t.Errorf("the upload was answered: %d", res.StatusCode)
	}
	sending.Wait()
	a.end() // waits for the handler
	a.wantFiles(0)
}

func TestAnswerIsStreamedAsText(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("sales.csv", sales)
	r := a.json("POST", "/api/sessions/"+id+"/messages", `{"message":"how many rows?"}`)
	if r.body != "There are 5 rows in sales.csv." || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %q, of type %s", r.body, r.header.Get("Content-Type"))
	}
}

// pixel returns an image of one pixel.
func pixel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dataURL(data []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
}

func TestImages(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"))
	a := start(t, t.TempDir(), model)
	id := a.session()
	var stored api.Resource
	if err := json.Unmarshal([]byte(a.upload(id, "dot.png", string(pixel(t))).body), &stored); err != nil || stored.MIMEType != "image/png" {
		t.Fatalf("the upload is %+v, %v", stored, err)
	}
	encoded := base64.StdEncoding.EncodeToString(pixel(t))
	for _, images := range []string{`{"resourceId":"` + stored.ID + `"}`, `{"data":"` + encoded + `","mimeType":"text/html","originalName":"d.png"}`} {
		if r := a.json("POST", "/api/sessions/"+id+"/messages", `{"message":"what is it?","images":[`+images+`]}`); r.status != http.StatusOK {
			t.Fatalf("got %d %s", r.status, r.body)
		}
	}
	for i, r := range model.Requests() {
		last := r.Messages[len(r.Messages)-1].Parts
		if len(last) != 2 || last[1].MIMEType != "image/png" || !bytes.Equal(last[1].Data, pixel(t)) {
			t.Errorf("request %d ends with %+v", i, last)
		}
	}
	if all := a.do("GET", "/api/sessions/"+id+"/messages", "").body; strings.Count(all, `"images":1`) != 2 {
		t.Errorf("stored are %s", all)
	}
}

func TestImagesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := startWith(t, config{folder: folder, maxUpload: 16 << 20, logger: slog.New(slog.DiscardHandler)}, llmtest.NewScript())
	id := a.session()
	large := string(pixel(t)) + strings.Repeat("x", 4<<20)
	if r := a.upload(id, "large.png", large); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("the upload: %d %s", r.status, r.body)
	}
	a.wantFiles(0)
	encoded := base64.StdEncoding.EncodeToString([]byte(large))
	if r := a.json("POST", "/api/sessions/"+id+"/messages", `{"message":"x","images":[{"data":"`+encoded+`"}]}`); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("the message: %d %s", r.status, r.body)
	}
}

func TestPageIsServed(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	if r := a.do("GET", "/", ""); r.status != http.StatusOK || !strings.Contains(r.body, "<title>CSV analyst</title>") {
		t.Errorf("got %d %.80s", r.status, r.body)
	}
	if r := a.do("GET", "/assistants/csvanalyst/graph?xray=true", ""); !strings.Contains(r.body, `loadCsvMetadata`) {
		t.Errorf("the studio is told %s", r.body)
	}
}

// The program removes the remains of a killed upload when it starts.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.csv.part", "x.csv.db.half"} {
		if err := os.WriteFile(filepath.Join(folder, "files", name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, folder, offline.Model{}).wantFiles(0)
}

// Quotas bound files, sessions and bytes, on the routes and for threads of the page.
func TestQuotas(t *testing.T) {
	t.Parallel()
	c := config{folder: t.TempDir(), maxUpload: 1 << 20, logger: slog.New(slog.DiscardHandler), limits: records.Limits{Sessions: 2, Files: 2, Bytes: 400}}
	a := startWith(t, c, offline.Model{})
	refused := func(r reply, why string) {
		t.Helper()
		if r.status != http.StatusInsufficientStorage || !strings.Contains(r.body, why) {
			t.Errorf("got %d %s, want 507 with %q", r.status, r.body, why)
		}
	}
	id := a.withFile("one.csv", "a\n1\n")
	if r := a.upload(id, "two.csv", "a\n1\n"); r.status != http.StatusCreated {
		t.Fatalf("the second file: %d %s", r.status, r.body)
	}
	refused(a.upload(id, "three.csv", "a\n1\n"), "a conversation may have 2 files")
	a.wantFiles(4)
	thread, _ := a.thread("three.csv", "a\n1\n")
	refused(a.json("POST", "/api/sessions", "{}"), "a user may have 2 conversations")
	refused(a.uploadTo("/api/files?thread="+thread, "large.csv", "a\n"+strings.Repeat("1\n", 300)), "the files of all users may have")
	a.wantFiles(6)
	a.token = "bob" // another user
	if r := a.json("POST", "/api/sessions", "{}"); r.status != http.StatusCreated {
		t.Errorf("another user: %d %s", r.status, r.body)
	}
	a.token = ""
	if r := a.do("DELETE", "/api/sessions/"+id, ""); r.status != http.StatusNoContent {
		t.Fatalf("the deletion: %d %s", r.status, r.body)
	}
	a.withFile("again.csv", "a\n1\n")
}

// Other users of the machine can read none of the files, even if they can open the folder.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	a.withFile("sales.csv", sales)
	seen := 0
	err := filepath.WalkDir(a.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 4 {
		t.Errorf("%d files, %v", seen, err)
	}
}
